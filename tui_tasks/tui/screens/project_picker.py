"""The picker of projects, each with its numbers of open tasks, of agents, and of what needs the human."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from textual.widgets import Input

from tui_tasks.core.read.overview import StateChanges
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import fit, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.screens.picker import EntriesFound, EntryRows, PaletteEntry, Picker

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

NO_PROJECT: Final = "(no project)"
ALL: Final = "All projects"
# In cells: the most and the least room for a name, and the width of the counts, in full and on a small screen.
_NAME: Final = 24
_SHORTEST: Final = 8
_COUNTS: Final = 57
_COUNTS_SMALL: Final = 17


@dataclass(frozen=True, slots=True)
class ProjectEntry(PaletteEntry):
    """A project to choose. `needed` counts open questions, and tasks with a failed check or whose agent is gone."""

    is_chosen: bool = False
    unfinished: int = 0
    failed: int = 0
    agents: int = 0
    working: int = 0
    needed: int = 0


class ProjectRows(EntryRows):
    """Draws projects, one in each line."""

    def draw(self, row: Any, look_: RowLook, line: int) -> Sequence[Part]:
        """Draw the name, and the counts in columns behind it."""
        entry: ProjectEntry = row.entry
        is_small = look_.width < _COUNTS + _SHORTEST
        counts = self._counts(entry, is_small=is_small)
        room = look_.width - 5 - (_COUNTS_SMALL if is_small else _COUNTS)
        name = fit(entry.title, max(_SHORTEST, min(_NAME, room)), ascii_only=self.context.ascii_only)
        mark = "*" if entry.is_chosen else " "
        return (("> " if look_.cursor else "  ", "$primary bold"), (f"{mark} ", "$changed"), (f"{name} ", ""), *counts)

    def _counts(self, entry: ProjectEntry, *, is_small: bool) -> list[Part]:
        def mark(state: str) -> str:
            return look(state).mark(ascii_only=self.context.ascii_only)

        if is_small:
            parts = [(f"{entry.unfinished:>4} ", "$muted")]
            parts.append((f"{mark('in_progress')}{entry.working:<2}" if entry.agents else "   ", "$state-in-progress"))
            parts.append((f" {mark('needs_you')}{entry.needed}" if entry.needed else "", "$state-needs-you"))
            return [*parts, (f" {mark('failed')}{entry.failed}" if entry.failed else "", "$state-failed")]
        agents = count(entry.agents, "agent") if entry.agents else "no agent"
        works = f", {entry.working} work{'s' if entry.working == 1 else ''}" if entry.working else ""
        needs = f"{entry.needed} need{'s' if entry.needed == 1 else ''} you"
        return [
            (f"{f'{entry.unfinished} open':<10}", "$muted"),
            (f"{agents + works:<21}", "$state-in-progress" if entry.working else "$muted"),
            (f"{mark('needs_you')} {needs}   " if entry.needed else "", "$state-needs-you"),
            (f"{mark('failed')} {entry.failed} failed" if entry.failed else "", "$state-failed"),
        ]


class ProjectPicker(Picker):
    """The screen. Its counts follow what agents do while it is open."""

    def __init__(self, context: Context, choose: Callable[[str | None], None]) -> None:
        self._choose = choose
        super().__init__(context, "/", entries(context, choose), enter="Show", drawing=ProjectRows(context))

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
        self.unfinished = self.failed = self.agents = self.working = self.needed = 0


def entries(context: Context, choose: Callable[[str | None], None]) -> list[ProjectEntry]:
    """Return the entry for all projects, then each project by name, then what belongs to none."""
    state = context.state
    projects = state.projects
    total, of = _Counts(), defaultdict[str, _Counts](_Counts)
    for home in state.active_lists:
        if home.total or home.project:
            for counts in (total, of[home.project or ""]):
                counts.unfinished += home.pending + home.in_progress
                counts.failed += home.failed
    for member in state.members:
        if member.is_there:
            for counts in (total, *(of[name] for name in projects.of_member(member) or ("",))):
                counts.agents += 1
                counts.working += member.state == "working"
    for name in (*map(projects.of_ask, state.asks), *map(projects.of_task, (*state.unproven, *state.only_left))):
        for counts in (total, of[name]):
            counts.needed += 1

    def entry(title: str, name: str | None, counts: _Counts) -> ProjectEntry:
        return ProjectEntry(title, run=lambda: choose(name), is_chosen=projects.chosen == name, **vars(counts))

    for project in (projects.first, projects.chosen):
        if project is not None:
            of[project]  # also before it has a list
    named = [entry(safe_line(name, 80), name, of[name]) for name in sorted(of.keys() - {""})]
    without = [entry(NO_PROJECT, "", of[""])] if "" in of else []
    return [entry(ALL, None, total), *named, *without]
