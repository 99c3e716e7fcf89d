"""The palette and the help: pickers of all that can be done, and the legend of each glyph and colour of the screen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks.task_names import number_of
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text.glyphs import AGENT_LOOKS, BAR, LOOKS, PROOF_LOOKS, SIGNS, sign
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.action_table import ACTIONS, SCOPES, Action
from tui_tasks.tui.keys.actions import Actor
from tui_tasks.tui.painting.styles import NEW
from tui_tasks.tui.screens.picker import PaletteEntry, Picker, words_of
from tui_tasks.tui.tasks.filter_actions import delete_view, rename_view

if TYPE_CHECKING:
    from tui_tasks.tui.app.navigation import ActionLookup
    from tui_tasks.tui.painting.theme_file import ThemeManager
    from tui_tasks.tui.state.context import Context


MAX_LISTS = 500

_NO_ACTIONS: Final = (
    ("save write w w!", "Save", "Nothing to do: every change is saved at once."),
    ("refresh reload redraw", "Refresh", "Nothing to do: the screen follows every change by itself."),
    ("backup restore", "Backup", "In a shell: tui-tasks backup"),
    ("import", "Import", "In a shell: tui-tasks import"),
)
"""What people look for that is no action: words for it, its name, and where it is or why there is nothing to do."""


def palette(context: Context, lookup: ActionLookup, themes: ThemeManager) -> Picker:
    """Return the palette: all actions that can be performed here, all themes, lists and saved views."""
    before = themes.current
    here = _actions(lookup)
    actions = [replace(entry, beside=_key(context, name)) for name, entry in here.items() if name != "palette"]
    each_theme = _themes(themes, context)
    chooser = PaletteEntry(
        "Themes: choose one",
        run=lambda: context.push(Picker(context, ":", each_theme, left=lambda: themes.apply(before))),
        word="theme",
    )
    entries = [*actions, chooser, *each_theme, *_lists(context), *_views(context)]

    def typed(text: str) -> list[PaletteEntry]:
        return [*_numbered(context, text), *_elsewhere(here, words_of(text)), *_in_a_shell(words_of(text))]

    return Picker(context, ":", entries, left=lambda: themes.apply(before), typed=typed)


def _elsewhere(here: Collection[str], text: str) -> list[PaletteEntry]:
    """Return the actions of other panes and screens that have the typed words: each says where it is."""
    return [
        PaletteEntry(action.title, words=action.also, word=action.word, why_not=_place(action))
        for action in ACTIONS.values()
        if action.id not in here and (text == action.word or _has_words(action, text.split())) and text
    ]


def _in_a_shell(text: str) -> list[PaletteEntry]:
    """Return what else has the typed word, and where it is."""
    return [
        PaletteEntry(name, words=words, word=text, why_not=where)
        for words, name, where in _NO_ACTIONS
        if text in words.split()
    ]


def _has_words(action: Action, words: Sequence[str]) -> bool:
    """Return whether an action is looked for by one of the words at least, and has the others in its title."""
    found = {action.word, *action.also.split()}
    title = {word.strip(":;,()") for word in action.title.casefold().split()}
    return not found.isdisjoint(words) and found | title >= set(words)


def _key(context: Context, id: str) -> str:
    return context.keymap.key_of(id) if context.keymap.has_key(id) else ""


def _numbered(context: Context, text: str) -> list[PaletteEntry]:
    """Return what goes to the task whose number was typed."""
    number = number_of(text)
    task = list_pages.line_of_number(context.db, number) if number is not None else None
    if task is None:
        return []
    uid, home = task.uid, context.state.lists.get(task.list_id)
    where = safe_line(home.name, 24) if home is not None else ""
    return [PaletteEntry(f"#{number} {safe_line(task.name, 80)}", where, run=lambda: context.navigation.go_to(uid))]


def help_screen(context: Context, lookup: ActionLookup) -> Picker:
    """Return the help: what can be done here, everywhere, not now and elsewhere, with keys and ids, then the legend."""
    here, here_name = _actions(lookup), f"Here: {_here(lookup)}"
    groups: dict[str, list[PaletteEntry]] = {}
    # A key that works as well for an action here does not do there what it does everywhere; nor do numbers that answer.
    own = [ACTIONS[each] for each in here if "app" not in ACTIONS[each].scopes]
    taken = {action.habit for action in own} - {""}
    taken |= {context.keymap.keys_of(action.id) for action in own if action.verb == "number"}
    for scope, name in SCOPES.items():
        for action in ACTIONS.values():
            if scope != next(each for each in SCOPES if each in action.scopes) or action.id in _OPTIONS[1:]:
                continue
            entry = here.get(action.id) or PaletteEntry(action.title, words=action.also, why_not=_place(action))
            key = context.keymap.keys_of(action.id)
            if action.id in here and action.habit in taken and action.keys:
                key = f"{key} {action.habit}"
            elif scope == "app" and key in taken:
                key = "" if action.verb == "number" else f"{context.keymap.key_of('palette')} {action.short.casefold()}"
            entry = replace(entry, key=key, beside=action.id)
            if action.id == _OPTIONS[0]:
                dash, last = "-" if context.ascii_only else "–", context.keymap.keys_of(_OPTIONS[-1])
                entry = replace(entry, title="Answer with the option of that number", run=None)
                entry = replace(entry, key=f"{entry.key}{dash}{last}")
            group = name if action.id not in here or scope == "app" else here_name
            if action.id in here and entry.why_not:
                group = _NOT_NOW
            groups.setdefault(group, []).append(entry)
    # What has a key comes first.
    groups.get(here_name, []).sort(key=lambda entry: entry.key.startswith(": "))
    first = [here_name, SCOPES["app"], _NOT_NOW]
    entries: list[PaletteEntry] = []
    for group in sorted(groups, key=lambda group: first.index(group) if group in first else len(first)):
        entries += [*([_PART] if entries else []), PaletteEntry(group, heading=True), *groups[group]]
    lines = legend(ascii_only=context.ascii_only)
    entries += [_PART, PaletteEntry("Legend: what glyphs and colours mean", heading=True)]
    entries += [PaletteEntry(line.words, key=line.mark, color=line.color, words=_LEGEND) for line in lines]
    return Picker(context, "?", entries, closes_by_quit=True)


# The keys of these stand in one row, which gives no answer.
_OPTIONS: Final = tuple(f"ask_{number}" for number in range(1, 10))
_OF_BOARD: Final = ("card_left", "card_right", "column_left", "column_right")
_NOT_NOW: Final = "Not now: Enter says why"
# An empty line before a heading.
_PART: Final = PaletteEntry("", heading=True)
_LEGEND: Final = "legend glyph glyphs symbol symbols icon colour colours color colors meaning"


def _here(lookup: ActionLookup) -> str:
    """Return the name of the pane or screen that keys act on."""
    return next((name for actor in lookup.actors() if (name := getattr(actor, "NAME", ""))), "")


def _place(action: Action) -> str:
    if "app" in action.scopes:
        return "Only with watch --at."
    if action.id in _OF_BOARD:
        return "Only in the board."
    if "tasks" in action.scopes:
        return "Only in the list or the board."
    place = next(SCOPES[scope] for scope in SCOPES if scope in action.scopes).partition(":")[0]
    return f"Only in the {place.lower()}."


def _actions(lookup: ActionLookup) -> dict[str, PaletteEntry]:
    """Return the actions that the focused widget and its ancestors offer now, by id."""
    entries: dict[str, PaletteEntry] = {}
    for actor in lookup.actors():
        for action in actor.offers():
            if action.id not in entries:
                why = actor.why_not(action) or ""
                words = f"{action.word} {action.also} {action.id}"
                entries[action.id] = PaletteEntry(
                    actor.title_of(action),
                    why_not=why,
                    run=_does(actor, action.id),
                    words=words,
                    word=action.word or action.verb,
                )
    return {each: entries[each] for each in ACTIONS if each in entries}


def _does(actor: Actor, id: str) -> Callable[[], None]:
    def does() -> None:
        actor.action_act(id)

    return does


def _themes(themes: ThemeManager, context: Context) -> list[PaletteEntry]:
    def apply(name: str) -> Callable[[], None]:
        return lambda: themes.apply(name)

    def keep(name: str) -> Callable[[], None]:
        return lambda: context.run(themes.keep(name, context.say))

    titles = {"ansi": "ansi (terminal colours)"}
    words = "colors colours look"
    return [
        PaletteEntry(f"Theme: {titles.get(name, name)}", run=keep(name), look=apply(name), words=words)
        for name in themes.names
    ]


def _lists(context: Context) -> list[PaletteEntry]:
    def go(list_id: int) -> Callable[[], None]:
        return lambda: context.navigation.open_list(list_id)

    lists = list(context.state.lists.values())[-MAX_LISTS:]
    archived = {True: "archived, "}
    return [
        PaletteEntry(
            f"List: {safe_line(each.name, 80)}",
            archived.get(each.archived, "") + count(each.total, "task"),
            run=go(each.id),
        )
        for each in sorted(lists, key=lambda each: each.archived)
    ]


def _views(context: Context) -> list[PaletteEntry]:
    """Return the views of the configuration and the saved ones; the latter can be renamed and deleted, too."""

    def use(text: str) -> Callable[[], None]:
        return lambda: context.navigation.filter_by(text)

    def change(does: Callable[[Context, str], Coroutine[Any, Any, None]], name: str) -> Callable[[], None]:
        return lambda: context.run(does(context, name))

    saved = local_values.filters(context.db)
    every = (dict(context.config.views) | saved).items()
    entries = [PaletteEntry(f"View: {safe_line(name, 80)}", safe_line(text, 40), run=use(text)) for name, text in every]
    for title, does in (("Rename", rename_view), ("Delete", delete_view)) if not context.link.read_only else ():
        # Nothing beside them, as it would cut the name.
        entries += [PaletteEntry(f"{title} the view {safe_line(name, 80)}", run=change(does, name)) for name in saved]
    return entries


class LegendLine(NamedTuple):
    """One glyph or colour, its style, and what it means."""

    mark: str
    color: str
    words: str


_SIGN_WORDS: Final = {
    "changed": (NEW, "changed since you looked"),
    "cursor": ("$primary bold", "the cursor"),
    "scheduled": ("$muted", "a job and its next time"),
    "status": ("$muted", "a new status, in the log"),
    "log": ("$muted", "a message in the log"),
    "none": ("$muted", "nothing here"),
    "rule": ("$rule", "a line between parts; in the log: where you looked last"),
    "divider": ("$rule", "a line between columns; before text of several lines"),
    "wrapped": ("$muted", "a long line continues"),
    "tee": ("$rule", "where lines meet"),
    "foot": ("$rule", "where lines meet"),
}
# What the word for the state of an agent means.
_AGENT_WORDS: Final = {
    "working": "is at its task or prompt",
    "waiting": "stands still until you answer",
    "stuck": "does not get on; the reason is beside it",
    "quiet": "has a task, and was not heard for long",
    "gone": "has ended or lost its task, and left something undone",
    "failed": "an error has ended its turn",
    "idle": "has nothing to do",
    "paused": "you have paused it",
    "to review": "its work waits for your review",
    "finished": "has ended, and left nothing open",
    "offline": "was cut off with nothing open, or you have seen what it left",
}
_OTHERS: Final = (
    LegendLine("?", "$state-needs-you", "before a question: its agent works on until you answer"),
    LegendLine("+", "$changed bold", "marked; in the log: new"),
    LegendLine("=", "$changed", "an answer or a decision, in the log"),
    LegendLine("~", "$muted", "an edit, in the log"),
    LegendLine("x", "$muted", "a deletion, in the log"),
    LegendLine("▁▂▃▄▅▆▇█", "$state-in-progress", "activity or number over time, low to high"),
    LegendLine("━", "~primary", "a number as a bar, in the statistics"),
    LegendLine("▏▎▍▌▋▊▉", "$muted", "part of a bar in charts; runs of a job"),
    LegendLine("–", "$state-skipped", "in a job's history: due times that were skipped or missed"),
    LegendLine("▐", "$muted", "the part of a list that is on screen"),
    LegendLine("⏎", "$muted", "a line ends, in a command"),
    LegendLine("▸", "$muted", "several lines in one: Enter shows them"),
    LegendLine("…", "$muted", "text that is cut"),
    LegendLine("±", "$secondary", "an edit, in an agent's record"),
    LegendLine("⧉", "$muted", "links: branch, commit, pull request or file"),
    LegendLine("↑↓←→", "$muted", "keys of the cursor; more above or below"),
)
_COLORS: Final = (
    LegendLine("Aa", "$key", "a key to press"),
    LegendLine("Aa", "$state-needs-you", "needs you"),
    LegendLine("Aa", "$state-in-progress", "in progress"),
    LegendLine("Aa", "$state-done", "done, passed, added"),
    LegendLine("Aa", "$state-failed", "failed, removed, cannot be undone"),
    LegendLine("Aa", "$state-overdue", "overdue, quiet, stuck, gone with a task"),
    LegendLine("Aa", "$state-blocked", "blocked by another task"),
    LegendLine("Aa", "$state-pending", "pending"),
    LegendLine("Aa", "$state-skipped", "skipped or cancelled"),
    LegendLine("Aa", "$muted", "less important"),
    LegendLine("Aa", "$primary", "where you are"),
)


def legend(*, ascii_only: bool) -> list[LegendLine]:
    """Return all lines: a glyph with several meanings has one line for each colour."""
    words: dict[tuple[str, str], list[str]] = {}
    # The worst of a word comes first.
    agents = {look.word: look for look in reversed(AGENT_LOOKS.values())}
    looks = (look for state, look in LOOKS.items() if state not in ("stuck", "quiet", "left", "stopped"))
    for look in (*looks, *PROOF_LOOKS.values()):
        meanings = words.setdefault((look.mark(ascii_only=ascii_only), look.color), [])
        if look.word not in meanings:
            meanings.append(look.word)
    lines = [LegendLine(mark, color, ", ".join(each)) for (mark, color), each in words.items()]
    signs = [LegendLine(sign(name, ascii_only=ascii_only), *_SIGN_WORDS[name]) for name in SIGNS]
    states = [
        LegendLine(agents[word].mark(ascii_only=ascii_only), agents[word].color, f"agent {word}: {meaning}")
        for word, meaning in _AGENT_WORDS.items()
    ]
    progress = "progress: done, skipped and failed in their colours, then what is open"
    progress_line = LegendLine(BAR[ascii_only], LOOKS["done"].color, progress)
    return [*lines, *states, *signs, progress_line, *_OTHERS, *_COLORS]
