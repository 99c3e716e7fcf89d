"""Pickers of places to go to: of projects, each with its numbers of open tasks, of agents, and of what needs the human;
and of the tasks in all lists that match a filter, each with its list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec
from textual.timer import Timer
from textual.widgets import Input

from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.pages.task_filter import Filter
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.core.snapshots import TaskList
from tui_tasks.dialects.requests.filter_syntax import Parsed, parse
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.needs.need_counts import Count, NeedCounts
from tui_tasks.tui.needs.open_needs import Kind, Need, Needs
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.screens.picker import EntriesFound, EntryRows, PaletteEntry, Picker
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks.shown_words import STEP, ShownWords
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.textual_overrides import LEAST_TIMER

NO_PROJECT: Final = "(no project)"
ALL: Final = "All projects"
# In cells: the most and the least room for a name, and the room for the counts, in full and on a small screen.
_NAME: Final = 24
_SHORTEST: Final = 8
_COUNTS: Final = 56
_COUNTS_SMALL: Final = 20


@dataclass(frozen=True, slots=True)
class ProjectEntry(PaletteEntry):
    """A project to choose. `needs`: the counts of what needs the human, as above every pane."""

    is_chosen: bool = False
    unfinished: int = 0
    agents: int = 0
    working: int = 0
    needs: Sequence[Count] = ()


class ProjectRows(EntryRows):
    """Draws projects, one in each line."""

    def draw(self, row: Any, row_look: RowLook, line: int) -> Sequence[Part]:
        """Draw the name, and the counts in columns behind it."""
        entry: ProjectEntry = row.entry
        is_small = row_look.width < _COUNTS + _SHORTEST
        counts = self._counts(entry, is_small=is_small)
        room = row_look.width - 5 - (_COUNTS_SMALL if is_small else _COUNTS)
        name = fit(entry.title, max(_SHORTEST, min(_NAME, room)), ascii_only=self.context.ascii_only)
        mark = "*" if entry.is_chosen else " "
        head = [
            ("> " if row_look.cursor else "  ", "$primary bold"),
            (f"{mark} ", "$changed"),
            (f"{name} ", ""),
            *counts,
        ]
        room = row_look.width - sum(cell_len(text) for text, _ in head)
        ways = [
            [part for count in entry.needs for part in (count.mark, (f"{words(count)}{gap}", ""))]
            for words, gap in ((_words, "   "), (_words, "  "), (_number, "  "), (_number, " "))[2 * is_small :]
        ]
        return (*head, *next((way for way in ways if sum(cell_len(text) for text, _ in way) <= room + 1), ways[-1]))

    def _counts(self, entry: ProjectEntry, *, is_small: bool) -> list[Part]:
        if is_small:
            parts = [(f"{entry.unfinished:>4} ", "$muted")]
            working = f"{look('in_progress').mark(ascii_only=self.context.ascii_only)} {entry.working:<2}"
            return [*parts, (working if entry.agents else " " * len(working), "$state-in-progress")]
        agents = count(entry.agents, "agent") if entry.agents else "no agent"
        works = f", {entry.working} work{'s' if entry.working == 1 else ''}" if entry.working else ""
        return [
            (f"{f'{entry.unfinished} open':<10}", "$muted"),
            (f"{agents + works:<21}", "$state-in-progress" if entry.working else "$muted"),
        ]


class ProjectPicker(Picker):
    """The screen. Its counts follow what agents do while it is open."""

    def __init__(self, context: Context, choose: Callable[[str | None], None]) -> None:
        self._choose = choose
        super().__init__(
            context, "/", entries(context, choose), enter="Show", drawing=ProjectRows(context), is_chooser=True
        )

    def changed(self, changes: StateChanges) -> None:
        """Count again after changes."""
        self.agents_changed()

    def agents_changed(self) -> None:
        """Count again; the typed text stays, and the cursor stays on its project."""
        window = self.window
        title = window.row.entry.title if window.row is not None else None
        self._entries = entries(self.context, self._choose)
        matching = EntriesFound(self._entries, self.query_one(Input).value)
        rows = matching.first(len(self._entries))
        window.show(matching, next((matching.key(row) for row in rows if row.entry.title == title), None))


class _Counts:
    """The counts of one project, or of all."""

    def __init__(self) -> None:
        self.unfinished = self.agents = self.working = 0
        self.needs: list[Need] = []


def entries(context: Context, choose: Callable[[str | None], None]) -> list[ProjectEntry]:
    """Return the entry for all projects, then each project by name, then what belongs to none."""
    state = context.state
    projects = state.projects
    total, of = _Counts(), defaultdict[str, _Counts](_Counts)
    for home in state.active_lists:
        if home.total or home.project:
            for counts in (total, of[home.project or ""]):
                counts.unfinished += home.pending + home.in_progress
    for member in state.members:
        if member.is_there:
            for counts in (total, *(of[name] for name in projects.of_member(member) or ("",))):
                counts.agents += 1
                counts.working += member.state == "working"
    for need in Needs(context).all():
        total.needs.append(need)
        if not need.is_rest:
            of[_project_of(context, need)].needs.append(need)
    counted = NeedCounts(context, lambda span: None)

    def entry(title: str, name: str | None, counts: _Counts) -> ProjectEntry:
        needs = [count for count in counted.of(counts.needs, has_slow=False) if count.short[0] in "123456789"]
        numbers = {**vars(counts), "needs": needs}
        return ProjectEntry(title, run=lambda: choose(name), is_chosen=projects.chosen == name, **numbers)

    for project in (projects.first, projects.chosen):
        if project is not None:
            of[project]  # also before it has a list
    named = [entry(safe_line(name, 80), name, of[name]) for name in sorted(of.keys() - {""})]
    without = [entry(NO_PROJECT, "", of[""])] if "" in of else []
    return [entry(ALL, None, total), *named, *without]


def _project_of(context: Context, need: Need) -> str:
    """Return the project of what needs the human: of its question, its task, else its agent; a job has none."""
    projects = context.state.projects
    if need.kind == Kind.ASKS:
        return projects.of_ask(need.row)
    return (projects.of_task(need.task) if need.job is None else "") or projects.of_agent(need.agent)


def _words(of: Count) -> str:
    return of.text


def _number(of: Count) -> str:
    return of.short


# The most tasks shown; more than that call for a narrower filter.
MAX_FOUND: Final = 200
# Lists searched between two pauses, in which keys are handled, and the length of a pause in seconds.
_LISTS_AT_ONCE: Final = 20
_PAUSE: Final = LEAST_TIMER


class SearchAll(Picker):
    """Searches the lists one after the other, the current one first, and goes to the chosen task."""

    def __init__(self, context: Context, *, chosen: Callable[[str], None] | None = None) -> None:
        """`chosen` is called with the uid of the chosen task, instead of going there."""
        super().__init__(context, "/", ())
        self._chosen = chosen or self._go_to
        self._found: list[TaskLine] = []
        self._wanted = Filter()
        self._shown = ShownWords(context)
        self._homes: list[TaskList] = []
        self._rank = list_pages.FIRST
        self._going_on: Timer | None = None

    def on_mount(self) -> None:
        """Show what can be typed."""
        self._search("")

    def _search(self, text: str) -> None:
        """Start again with another filter."""
        parsed = parse(text, typing=True)
        if self._going_on is not None:
            self._going_on.stop()
        self.context.say(parsed.problem)
        self._found.clear()
        now, state = local_time(self.context.clock.now(), self.context.clock.zone), self.context.state
        self._wanted = Filter(parsed.of_tasks, state.seen.changed_tasks, now, needing=state.tasks_needing_you)
        self._homes = self._lists(parsed) if parsed.terms else []
        self._rank = list_pages.FIRST
        self._go_on()

    def _lists(self, parsed: Parsed) -> list[TaskList]:
        """Return the lists to search: those of `list:` if there is any, else all."""
        context = self.context
        named = [term for term in parsed.lists if not term.negated]
        without = [term.value.casefold() for term in parsed.lists if term.negated]

        def is_meant(home: TaskList) -> bool:
            name = home.name.casefold()
            wanted = not named or any(name.startswith(term.value.casefold()) for term in named)
            return wanted and not any(name.startswith(value) for value in without)

        # An archived list is searched only when it is named.
        lists = context.state.lists.values()
        homes = [home for home in lists if home.total and is_meant(home) and (named or not home.archived)]
        return sorted(homes, key=lambda home: home.id != context.state.list_id)

    def _go_on(self) -> None:
        """Search the next lists, or the next part of a long one."""
        read = 0
        for _ in range(_LISTS_AT_ONCE):
            if not self._homes or len(self._found) >= MAX_FOUND:
                break
            room = MAX_FOUND - len(self._found)
            home = self._homes[0].id
            read += self._shown.read_on(home)
            if read >= STEP:
                break
            wanted = msgspec.structs.replace(self._wanted, shown=partial(self._shown.of_list, home))
            page = list_pages.after(self.context.db, home, self._rank, room, wanted)
            self._found += page
            if page.reached is not None:
                self._rank = page.reached
                break
            self._rank = list_pages.FIRST
            del self._homes[0]
        is_over = not self._homes or len(self._found) >= MAX_FOUND
        self._show(is_over=is_over)
        self._going_on = None if is_over else self.set_timer(_PAUSE, self._go_on)

    def _show(self, *, is_over: bool) -> None:
        cursor = self.window.cursor
        if not self._wanted and not self._found:
            self._drawing.empty = "words, #12, #tag, @agent, !priority, status:open, due:<3d, list:NAME"
        else:
            self._drawing.empty = "Nothing matches in any list: try fewer words." if is_over else "Looking further..."
        self.window.show(EntriesFound([self._entry(task) for task in self._found], ""), cursor)
        number = f"{len(self._found)}{'' if is_over and len(self._found) < MAX_FOUND else '+'}"
        head = [(number, "found", "")] if self._found else []
        go = "Go there" if self._chosen == self._go_to else "This one"
        self.query_one(FootLine).hint(("Enter", go, ""), ("↑↓", "Choose", ""), ("Esc", "Close", ""), *head)

    def _entry(self, task: TaskLine) -> PaletteEntry:
        context = self.context
        state = look(context.state.status_of(task)).mark(ascii_only=context.ascii_only)
        number = f"#{task.number}".ljust(context.state.number_width + 2)
        home = context.state.lists.get(task.list_id)
        where = safe_line(home.name, 24, ascii_only=context.ascii_only) if home is not None else ""
        return PaletteEntry(f"{state} {number}{task.name}", where, run=lambda: self._chosen(task.uid))

    def _go_to(self, uid: str) -> None:
        self.context.navigation.close_overlays()
        self.context.navigation.go_to(uid)
