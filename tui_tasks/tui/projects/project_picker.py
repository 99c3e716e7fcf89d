"""The switcher: each project in a line, with what is open there, who works, and what needs the human."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from textual.widgets import Input

from tui_tasks.core.read import fleet
from tui_tasks.core.read.fleet import Member
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import fit, safe_line
from tui_tasks.text.times import DAY, count
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.screens.palette import EntriesFound, PaletteEntry, PaletteList, Picker
from tui_tasks.tui.state.database_link import StateChanges
from tui_tasks.tui.widgets.styles import Part

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

NO_PROJECT: Final = "(no project)"
ALL: Final = "All projects"
# In cells: the longest name that is shown whole, the shortest room for one, and what the counts take.
_NAME: Final = 24
_SHORTEST: Final = 8
_COUNTS: Final = 57
_COUNTS_SMALL: Final = 17


@dataclass(frozen=True, slots=True)
class ProjectEntry(PaletteEntry):
    """A project to choose. `needed` counts questions and tasks that have failed a check."""

    is_chosen: bool = False
    unfinished: int = 0
    failed: int = 0
    agents: int = 0
    working: int = 0
    needed: int = 0


class ProjectList(PaletteList):
    """Projects, a line each."""

    def draw(self, row: Any, look_: RowLook, line: int) -> Sequence[Part]:
        """The name at the left; behind it the counts, in columns."""
        entry: ProjectEntry = row.entry
        is_small = look_.width < _COUNTS + _SHORTEST
        counts = self._counts(entry, is_small=is_small)
        room = look_.width - 4 - (_COUNTS_SMALL if is_small else _COUNTS)
        name = fit(entry.title, max(_SHORTEST, min(_NAME, room)), ascii_only=self.context.ascii_only)
        mark = "*" if entry.is_chosen else " "
        return ((" >" if look_.cursor else "  ", "$primary bold"), (mark, "$changed"), (f"{name} ", ""), *counts)

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
    """The screen. What agents do while it is open is counted at once."""

    WINDOW = ProjectList

    def __init__(self, context: Context, choose: Callable[[str | None], None]) -> None:
        self._choose = choose
        super().__init__(context, "P", entries(context, choose))

    def changed(self, changes: StateChanges) -> None:
        """Count again; what was typed and the cursor stay."""
        window = self.query_one(ProjectList)
        self._entries = entries(self.context, self._choose)
        window.show(EntriesFound(self._entries, self.query_one(Input).value), window.cursor)


def entries(context: Context, choose: Callable[[str | None], None]) -> list[ProjectEntry]:
    """Return all projects by name, after an entry for all of them and before what belongs to none."""
    projects, state = context.state.projects, context.state
    lists = [home for home in state.shelf if home.total or home.project]
    members = [one for one in fleet.everyone(context.db, context.clock.now() - DAY) if one.state != "gone"]
    of_lists = [(home.project or "", home) for home in lists]
    of_members = [(projects.of_member(member) or ("",), member) for member in members]
    needed = [projects.of_ask(ask) for ask in state.asks] + [projects.of_task(uid) for uid in state.unproven]
    names = {name for name, _ in of_lists} | {name for of, _ in of_members for name in of} | set(needed)

    def entry(title: str, name: str | None) -> ProjectEntry:
        homes = [home for of, home in of_lists if name in (None, of)]
        here = [member for of, member in of_members if name is None or name in of]
        return ProjectEntry(
            title,
            run=lambda: choose(name),
            is_chosen=projects.chosen == name,
            unfinished=sum(home.pending + home.in_progress for home in homes),
            failed=sum(home.failed for home in homes),
            agents=len(here),
            working=sum(map(_works, here)),
            needed=sum(name in (None, of) for of in needed),
        )

    found = [entry(ALL, None), *(entry(safe_line(name, 80), name) for name in sorted(names - {""}))]
    return [*found, entry(NO_PROJECT, "")] if "" in names else found


def _works(member: Member) -> bool:
    return member.state == "working"
