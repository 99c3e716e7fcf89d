"""The lines above every pane and every screen, each with its place: the title and what is next, the agents, the counts
in a rule, and below it what needs the human by its words; and the rule below that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import events

from tui_tasks.core.job_snapshots import is_late
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import MINUTE, SECOND, age_lasts, due, duration
from tui_tasks.text.word_cuts import safe_words
from tui_tasks.tui.layout import NARROW, PANES, WIDE, has_air, is_compact
from tui_tasks.tui.needs.agent_entries import one_line
from tui_tasks.tui.needs.need_counts import Changes
from tui_tasks.tui.needs.open_needs import ALL, Kind, Need, Needs
from tui_tasks.tui.painting.line_painter import DrawParts, FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Group, Part, parts_width
from tui_tasks.tui.widgets.agent_line import AgentLines
from tui_tasks.tui.widgets.counts_line import Counts, counts_line
from tui_tasks.tui.widgets.foot_line import as_of_words
from tui_tasks.tui.widgets.needs_lines import ROWS_BELOW, NeedsLines

if TYPE_CHECKING:
    from textual.geometry import Size
    from textual.widget import Widget

    from tui_tasks.core.snapshots import Task
    from tui_tasks.tui.state.context import Context

_BEHIND_SECONDS: Final = 2.0
"""After so long without its server a replica counts as behind."""
# In cells: what parts the two sides of the first line at least, where there is room on a wide screen, and elsewhere.
_WIDE_GAP: Final = 4
_GAP: Final = 2

# In cells: the longest names of a task, of a job and of a list; the shortest of a task beside a job's whole name,
# beside the file, and elsewhere; the longest and the shortest of a task that is not ready.
_TASK: Final = 100
_JOB: Final = 24
_LEAST_JOB: Final = 8
_LEAST_TITLE: Final = 9
_LIST: Final = 16
_SHORT_TASK: Final = 12
_LEAST_TASK: Final = 6
_UNREADY: Final = 40
_LEAST_UNREADY: Final = 10
_NONE: Final = "no task is ready"
# In cells: what stands around the title of a rule and what has changed.
_AROUND_CHANGES: Final = 7


class TopLine(FrameLine):
    """At the left the panes or a screen's title; at the right project, file and mode, and what is next.

    `note` returns a text that replaces the right side, `counts` what a small screen shows there in a width.
    `has_jobs`: whether the jobs stand below with their names. `on_part` is called with the number of the clicked part.
    """

    def __init__(
        self,
        context: Context,
        left: DrawParts,
        *,
        id: str,
        note: Callable[[], str] = lambda: "",
        counts: DrawParts = lambda width: (),
        has_jobs: Callable[[], bool] = lambda: False,
        on_part: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(context, left, self._state, id=id, is_bar=True)
        self._title = left
        self._note = note
        self._counts = counts
        self._has_jobs = has_jobs
        self._on_part = on_part

    def _state(self, width: int) -> Sequence[Part]:
        """`auth.db  live  next #8 Backup drill  ◷ audit in 12h`, as much as there is room for.

        In the past, its moment.
        """
        context = self.context
        if note := self._note():
            return [(f"{note} ", "$state-needs-you bold")]
        title = parts_width(self._title(width))
        if is_compact(self.app.size) and (counts := self._counts(width - title - 3)):
            return counts
        if width < NARROW:
            return ()
        room = width - title - 1 - (_WIDE_GAP if width >= WIDE else _GAP)
        if context.link.as_of is not None:
            return [(f"{as_of_words(context, context.link.as_of, room)} ", "$state-overdue")]
        fitting = (
            parts for parts in map(_trimmed, self._ways(room, is_wide=width >= WIDE)) if parts_width(parts) <= room
        )
        return [*next(fitting, _trimmed(self._place(has_file=False))), (" ", "")]

    def _ways(self, room: int, *, is_wide: bool) -> Iterator[list[Part]]:
        """Yield the whole right side, the longest first: the file gives way, then the ends of the names of the task and
        of the job, the job's name to its number, the job, and last the task's name.
        """
        place, (named, numbered) = self._place(has_file=False), self._next_job()
        long, short = self._next_task(room)
        with_file = self._place(has_file=True)
        yield [*with_file, *long[0], *named]
        yield [*place, *long[0], *named]
        if self._has_jobs():
            yield [*place, *long[0], *numbered]
        yield from ([*place, *both] for both in self._shared(room - parts_width(place) + 2))
        if not named and is_wide:
            yield from ([*with_file, *task] for task in long)
        yield from ([*place, *task, *numbered] for task in (*long, *short[:-1]))
        yield from ([*place, *task] for task in (*long, *short))
        yield [*place, *numbered]

    def _place(self, *, has_file: bool) -> list[Part]:
        """Return the project, the file and the mode; that there is no project stands beside the file alone."""
        context, projects = self.context, self.context.state.projects
        parts: list[Part] = []
        if projects.chosen or (has_file and projects.title):
            parts.append((f"  {projects.title}", "bold"))
        if has_file:
            parts.append((f"  {safe_line(context.link.name, 24)}", "$muted"))
        if (behind := context.link.db.seconds_behind()) is not None and behind > _BEHIND_SECONDS:
            since = f" {duration(int(behind * SECOND), 1)}" if MINUTE <= behind * SECOND < float("inf") else ""
            parts.append((f"  server away{since}", "$state-overdue"))
        elif context.link.read_only:
            parts.append(("  read only", "$state-overdue"))
        elif has_file:
            parts.append(("  live", "$muted"))
        return parts

    def _next_task(self, room: int) -> tuple[list[list[Part]], list[list[Part]]]:
        """Return the task that is suggested next, with its list if another is shown, or that none of those left can
        start, and why: the ways with room for a job's name beside them, and the shorter ones; the longest first.
        """
        task, state = self.context.state.next_task, self.context.state
        if task is None:
            none = list(self._none())
            is_left = any(home.pending for home in state.project_lists)
            return (none, none[-1:]) if is_left else ([[]], [])
        ascii_only = self.context.ascii_only
        before: Part = (f"  next {self._where(task)}", "$muted")
        most = max(1, min(room, cell_len(one_line(task.name, _TASK))))
        long, short = (
            [
                [before, (f"#{task.number} {_cut(task.name, cells, ascii_only=ascii_only)}", "")]
                for cells in range(*ends)
            ]
            for ends in ((most, min(most, _SHORT_TASK) - 1, -1), (min(most, _SHORT_TASK), _LEAST_TASK - 1, -1))
        )
        return long, [*short, [before, (f"#{task.number}", "")]]

    def _shared(self, room: int) -> Iterator[list[Part]]:
        """Yield the task and the job that are next with the end of the task's name cut, else those of both names, each
        to half of the room that both leave; nothing where the job's would be too short. Why a task is not ready gives
        way before.
        """
        task, now = self.context.state.next_task, self.context.clock.now()
        job = next((job for job in self.context.state.next_jobs if not is_late(job.when, now)), None)
        if job is None:
            return
        ascii_only = self.context.ascii_only
        when, name = due(job.when, now), one_line(job.name, _JOB, ascii_only=ascii_only)
        before = f"  {sign('scheduled', ascii_only=ascii_only)} "
        if task is None:
            yield from ([*none, (f"{before}{name} {when}", "$muted")] for none in list(self._none())[:-1])
            task, _ = self.context.state.why_none_next
        if task is None:
            return
        where = self._where(task)
        left = room - cell_len(f"  next {where}#{task.number} {before} {when}")
        title = one_line(task.name, _TASK, ascii_only=ascii_only)
        halves = max(left // 2, left - cell_len(title))
        cells = cell_len(name) if left - cell_len(name) >= _LEAST_TITLE else min(cell_len(name), halves)
        if cells >= min(cell_len(name), _LEAST_JOB) and left - cells >= min(cell_len(title), _LEAST_JOB):
            title, name = (
                safe_line(text, most, ascii_only=ascii_only) for text, most in ((title, left - cells), (name, cells))
            )
            yield [(f"  next {where}", "$muted"), (f"#{task.number} {title}", ""), (f"{before}{name} {when}", "$muted")]

    def _where(self, task: Task) -> str:
        """Return `in web ` for a task of a list that is not shown."""
        state = self.context.state
        home = state.lists.get(task.list_id)
        if home is None or home.id == state.list_id:
            return ""
        return f"in {_cut(home.name, _LIST, ascii_only=self.context.ascii_only)} "

    def _none(self) -> Iterator[list[Part]]:
        """Yield which task is next though it is not ready, and when it is, the longest first: `next, after #5: #6 Write
        tests`, `next #6 after #5`. Else yield why none is ready, or that.
        """
        task, why = self.context.state.why_none_next
        if task is None:
            yield from ([(f"  {words}", "$muted")] for words in ([f"none ready: {why}"] if why else []) + [_NONE])
            return
        most = max(1, min(_UNREADY, cell_len(one_line(task.name))))
        for cells in range(most, min(most, _LEAST_UNREADY) - 1, -1):
            name = _cut(task.name, cells, ascii_only=self.context.ascii_only)
            yield [(f"  next, {why}: ", "$muted"), (f"#{task.number} {name}", "")]
        yield [("  next ", "$muted"), (f"#{task.number}", ""), (f" {why}", "$muted")]

    def _next_job(self) -> tuple[list[Part], list[Part]]:
        """Return the next job that is due: `◷ Server status in 14m` and `◷ S1 in 14m`."""
        now, ascii_only = self.context.clock.now(), self.context.ascii_only
        job = next((job for job in self.context.state.next_jobs if not is_late(job.when, now)), None)
        if job is None:
            return [], []
        self.lasts(age_lasts(job.when, now))
        when, mark = due(job.when, now), sign("scheduled", ascii_only=ascii_only)
        texts = (
            f"{_cut(job.name, _JOB, ascii_only=ascii_only)} {when}",
            f"S{job.number} {when}",
        )
        named, numbered = ([(f"  {mark} {text}", "$muted")] for text in texts)
        return named, numbered

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        at = self.part_number(event.x)
        if at is not None and self._on_part is not None:
            self._on_part(at)


def pane_tabs(context: Context, *, id: str) -> TopLine:
    """Return the line of the panes; a click shows one."""
    panes, navigation = list(PANES), context.navigation
    return TopLine(
        context,
        partial(_tabs, context),
        id=id,
        has_jobs=lambda: navigation.pane_name in ("log", "schedule"),
        on_part=lambda at: navigation.show_pane(panes[at]),
    )


def _tabs(context: Context, width: int) -> list[Part]:
    """` [1 List]  2 Board ...`; closer together where what is next needs the room."""
    parts: list[Part] = []
    gap = "  " if width >= WIDE else " "
    for number, (name, title) in enumerate(PANES.items(), 1):
        here, text = name == context.navigation.pane_name, f"{number} {title}"
        parts.append((f"{gap if parts else ' '}{f'[{text}]' if here else text}", "$primary bold" if here else "$muted"))
    return parts


def _trimmed(parts: list[Part]) -> list[Part]:
    """Return parts without the blanks before the first."""
    return [(parts[0][0].lstrip(), parts[0][1]), *parts[1:]] if parts else parts


def _cut(name: str, cells: int, *, ascii_only: bool) -> str:
    """Return a name in so many cells, cut between words if one fits."""
    words = safe_words(one_line(name), cells, ascii_only=ascii_only)
    return words or one_line(name, cells, ascii_only=ascii_only)


class ChangesRule(FrameLine):
    """A rule across the screen, with a title at its left. On a small screen, which has no line of counts with words,
    what has changed is at its right.
    """

    def __init__(
        self,
        context: Context,
        title: Callable[[], Sequence[Part]] = lambda: (),
        *,
        id: str | None = None,
        has_changes: bool = True,
        has_rows: Callable[[], bool] | None = None,
    ) -> None:
        """`has_rows`: see `end_of_rows`; without it, above a pane, air parts the rule from the counts."""
        super().__init__(context, self._rule, id=id)
        self._title = title
        self._has_changes = has_changes
        self._has_rows = has_rows

    def _rule(self, width: int) -> Sequence[Part]:
        title = self._title()
        if is_compact(self.app.size):
            room = width - parts_width(title) - _AROUND_CHANGES
            return rule_parts(self.context, width, title, Changes(self.context).within(room))
        if title or (has_air(self.app.size) and self._has_rows is None):
            return rule_parts(self.context, width, title)
        return end_of_rows(self.context, width, self._has_rows)


def end_of_rows(context: Context, width: int, has_rows: Callable[[], bool] | None = None) -> Sequence[Part]:
    """Return the rule without words that ends the rows of what needs the human. Where there are none it is empty: two
    rules would stand one below the other. `has_rows`: whether there are any; by default, above a pane.
    """
    is_there = has_rows() if has_rows is not None else bool(Needs(context).all())
    return rule_parts(context, width) if is_there else ()


class ChangesLine(FrameLine):
    """What has changed, below the counts of a screen; on a small screen it stands in a rule instead."""

    SCOPED_CSS = False
    DEFAULT_CSS = "Screen.-narrow ChangesLine, Screen.-short ChangesLine { display: none; }"

    def __init__(self, context: Context, begins: Callable[[], int]) -> None:
        """`begins` returns since when the screen tells what happened, as its title says."""
        changes = Changes(context)
        super().__init__(context, lambda width: changes.line(width, begins()))


class ScreenHead:
    """The lines above a screen that lies over the panes, from its title to the rule.

    The ids are `id-title`, `id-now`, `id-agents`, `id-needs` and `id-rule`.
    """

    def __init__(
        self,
        context: Context,
        title: DrawParts,
        *,
        id: str,
        kinds: Callable[[], Collection[Kind]] = lambda: ALL,
        leaves_out: Callable[[Need], bool] = lambda need: False,
        below: int = ROWS_BELOW,
        most: Callable[[], int] | None = None,
        note: Callable[[], str] = lambda: "",
        counts: Callable[[int], Sequence[Group]] | None = None,
        begins: Callable[[], int] = lambda: 0,
        has_row: bool = True,
        has_agents: bool = False,
        rows: Callable[[], Sequence[Part]] = lambda: (),
    ) -> None:
        """`kinds` returns what stands in rows of its own, as the screen does not list it itself; `leaves_out` whether
        it lists one of these all the same; `below` rows are kept for the screen. `most`: see `NeedsLines`. `note`: see
        `TopLine`. `counts` returns the screen's own counts for a width: then nothing else here counts. `begins`: see
        `ChangesLine`. `has_row`: see `counts_line`. `has_agents`: whether the screen lists the agents. `rows` returns
        the title of the rule above the screen's rows, which a small screen leaves out.
        """
        self.title = TopLine(context, title, id=f"{id}-title", note=note, counts=self._in_title)
        self._in_short = Counts(context, self.title.lasts)
        self._agents = AgentLines(context, id=f"{id}-agents", has_list=has_agents)
        self._counts = counts_line(context, id=f"{id}-now", own=counts, has_row=has_row)
        self._changes = ChangesLine(context, begins) if counts is not None else None
        self._needs = NeedsLines(
            context,
            id=f"{id}-needs",
            kinds=kinds,
            leaves_out=leaves_out,
            below=below,
            most=most,
            has_changes=has_row and counts is None,
        )
        self._rows = rows
        self._rule = ChangesRule(context, self._title_of_rows, id=f"{id}-rule", has_rows=lambda: self._needs.has_needs)

    def _title_of_rows(self) -> Sequence[Part]:
        return () if is_compact(self._rule.app.size) else self._rows()

    def _in_title(self, room: int) -> Sequence[Part]:
        """Return the counts for the line of the title where they have no line of their own."""
        return () if self._counts.display else self._in_short.beside_title(room)

    def compose(self) -> Iterator[Widget]:
        """Compose the lines."""
        yield self.title
        yield self._agents
        yield self._counts
        if self._changes is not None:
            yield self._changes
        yield self._needs
        yield self._rule

    def height(self, screen: Size) -> int:
        """Return the number of lines on a screen of a size."""
        if is_compact(screen):
            return 3
        held = (line.get_content_height(screen, screen, screen.width) for line in (self._agents, self._needs))
        return 2 + sum(held) + self._rule.display

    def most(self, screen: Size) -> int:
        """Return the same with as many rows of what needs the human as there may be."""
        if is_compact(screen):
            return self.height(screen)
        return 2 + self._agents.get_content_height(screen, screen, screen.width) + self._needs.most() + 1

    def free_needs(self) -> None:
        """Draw what needs the human again, without the lines that are empty by now."""
        self._needs.free()

    def redraw(self) -> None:
        """Draw the lines again."""
        for line in (self.title, self._agents, self._counts, self._changes, self._needs, self._rule):
            if line is not None:
                line.redraw()
