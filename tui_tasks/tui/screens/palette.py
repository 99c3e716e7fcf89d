"""The palette and the help: pickers of all that can be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tui_tasks.core.read import views
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import Actor
from tui_tasks.tui.screens.picker import PaletteEntry, Picker

if TYPE_CHECKING:
    from tui_tasks.tui.keys.action_lookup import ActionLookup
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.themes.theme_manager import ThemeManager

MAX_LISTS = 500


def palette(context: Context, lookup: ActionLookup, themes: ThemeManager) -> Picker:
    """Return the palette: all actions that can be performed here, all themes, lists and saved views."""
    before = themes.current
    actions = [replace(entry, beside=context.keymap.key_of(name)) for name, entry in _actions(lookup).items()]
    entries = [*actions, *_themes(themes, context), *_lists(context), *_views(context)]
    return Picker(context, ":", entries, left=lambda: themes.apply(before))


# The groups of the help with their scopes, in order.
_GROUPS: Final = {
    "tasks": "Tasks",
    "list": "List",
    "board": "Board",
    "rows": "Moving",
    "past": "Time travel",
    "app": "Everywhere",
    "log": "Log",
    "jobs": "Schedule",
    "runs": "Runs of a job",
    "asks": "What needs you",
    "inbox": "Both parts of what needs you",
    "review": "What agents have filed",
    "failed": "Checks that have failed",
    "agents": "Agents",
    "digest": "While you were away",
    "link": "A branch or a commit",
    "agent": "An agent",
    "overlay": "Agents, stats and what needs you",
}


def help_screen(context: Context, lookup: ActionLookup) -> Picker:
    """Return the help: all actions in groups, with keys and ids; groups that can be used here come first."""
    here = _actions(lookup)
    groups: dict[str, list[PaletteEntry]] = {scope: [] for scope in _GROUPS}
    for action in ACTIONS.values():
        scope = next(scope for scope in _GROUPS if scope in action.scopes)
        entry = here.get(action.id) or PaletteEntry(action.title, words=action.help, why_not=_place(action))
        groups[scope].append(replace(entry, key=context.keymap.keys_of(action.id), beside=action.id))
    entries: list[PaletteEntry] = []
    for scope in sorted(groups, key=lambda scope: all(entry.run is None for entry in groups[scope])):
        if groups[scope]:
            entries += [PaletteEntry(_GROUPS[scope], heading=True), *groups[scope]]
    return Picker(context, "?", entries)


def _place(action: Action) -> str:
    return "with watch --at" if "past" in action.scopes else f"in the {min(action.scopes)}"


def _actions(lookup: ActionLookup) -> dict[str, PaletteEntry]:
    """Return the actions that the focused widget and its ancestors offer now, by id."""
    entries: dict[str, PaletteEntry] = {}
    for actor in lookup.actors():
        for action in actor.offers():
            if action.id not in entries:
                why = actor.why_not(action) or ""
                words = f"{action.help} {action.id}"
                entries[action.id] = PaletteEntry(action.title, why_not=why, run=_does(actor, action.id), words=words)
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
    return [PaletteEntry(f"Theme: {titles.get(name, name)}", run=keep(name), look=apply(name)) for name in themes.names]


def _lists(context: Context) -> list[PaletteEntry]:
    def go(list_id: int) -> Callable[[], None]:
        return lambda: context.navigation.show_list(list_id)

    found = list(context.state.lists.values())[-MAX_LISTS:]
    archived = {True: "archived, "}
    return [
        PaletteEntry(
            f"List: {safe_line(each.name, 80)}",
            archived.get(each.archived, "") + count(each.total, "task"),
            run=go(each.id),
        )
        for each in sorted(found, key=lambda each: each.archived)
    ]


def _views(context: Context) -> list[PaletteEntry]:
    def use(text: str) -> Callable[[], None]:
        return lambda: context.navigation.filter_by(text)

    saved = dict(context.config.views) | views.filters(context.db)
    return [
        PaletteEntry(f"View: {safe_line(name, 80)}", safe_line(text, 40), run=use(text)) for name, text in saved.items()
    ]
