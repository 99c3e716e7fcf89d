"""The lines of the schedule: jobs, column titles, and the rules between its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tui_tasks.core.read.jobs import job_rows
from tui_tasks.core.read.jobs.job_rows import JobLine
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, fit
from tui_tasks.tui.painting.frame_line import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.schedule import job_text

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


def columns(width: int) -> tuple[int, int, int, int, int]:
    """Return the widths in cells of task, when, last run, next and history."""
    if width >= 100:
        rest = width - 7 - 19 - 14 - job_rows.HISTORY - 1
        return rest * 9 // 20, rest - rest * 9 // 20, 19, 14, job_rows.HISTORY + 1
    rest = width - 7 - 18 - 12 - 1
    return rest // 2, rest - rest // 2, 18, 12, 0


class JobRows(RowDrawing[JobLine]):
    """Draws jobs, one in each line."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._numbers: dict[str, int] = {}

    def number(self, uid: str) -> int:
        """Return a job's number: its place among all jobs, counted from 1."""
        return self._numbers.get(uid, 0)

    def renumber(self, uids: Iterable[str]) -> set[str]:
        """Number all jobs in this order; return those whose number changed."""
        before, self._numbers = self._numbers, {uid: number for number, uid in enumerate(uids, 1)}
        return {uid for uid, number in self._numbers.items() if before.get(uid) != number}

    def draw(self, row: JobLine, look_: RowLook, line: int) -> Sequence[Part]:
        """`>✗ S4  Digest mail   08:00 daily    failed 4h ago   in 11h   ✓✓✓✗✗`."""
        context, width = self.context, look_.width
        now, ascii_only, job = context.clock.now(), context.ascii_only, row.job
        state = job_text.state(row, now)
        shown = job_text.job_look(state)
        self.lasts(job_text.lasts(row, now))
        number = f" S{self.number(job.uid):<3}"
        next_ = job_text.next_(job, now, ascii_only=ascii_only)
        head = (
            (
                sign("cursor", ascii_only=ascii_only) if look_.cursor else " ",
                "$primary bold" if look_.focused else "$muted",
            ),
            (shown.mark(ascii_only=ascii_only), shown.color),
            (number, "$muted"),
        )
        quiet = "$muted" if not job.enabled else ""
        urgent = shown.color if state == "overdue" else quiet
        if width < 60:
            room = max(1, width - 2 - len(number) - cell_len(next_) - 2)
            return (*head, (fit(job.name, room), quiet), (f" {next_} ", urgent or "$muted"))
        task, when, last, next_wide, history = columns(width)
        last_ink = "$state-failed" if row.failing else "$state-in-progress" if row.running is not None else "$muted"
        return (
            *head,
            (fit(job.name, task - 1) + " ", quiet),
            (fit(job_text.when(job), when - 1) + " ", "$muted"),
            (fit(job_text.last(row, now), last - 1) + " ", last_ink),
            (fit(next_, next_wide - 1) + " ", urgent),
            *(self._history(row) if history else ()),
        )

    def _history(self, row: JobLine) -> list[Part]:
        ascii_only = self.context.ascii_only
        if not row.history:
            return [(sign("log", ascii_only=ascii_only), "$muted")]
        looks = (look(outcome) for outcome in row.history)
        return [(each.mark(ascii_only=ascii_only), each.color) for each in looks]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw what to do next."""
        new = self.context.keymap.key_of("job_new")
        more = ": by a cron schedule, by dates, or run by hand" if width >= 60 else ""
        text = ("   Nothing is scheduled.", "", f"   {new:<5} add a job{more}")
        return [(text[line - 1], "" if line == 1 else "$muted")] if 0 < line <= len(text) else ()


def titles(width: int) -> list[Part]:
    """Return the titles of the columns: `       task    when    last run    next    history`."""
    task, when, last, next_, history = columns(width)
    titled = f"{'task':<{task}}{'when':<{when}}{'last run' if width >= 100 else 'last':<{last}}{'next':<{next_}}"
    return [(f"       {titled}{'history' if history else ''}", "$muted")]


class TitledRule(FrameLine):
    """A rule with a title in it: `─ next 24 h ──────`."""

    def __init__(self, context: Context, *, id: str) -> None:
        super().__init__(context, self._titled, id=id)
        self._title = ""

    def _titled(self, width: int) -> Sequence[Part]:
        if not self._title:
            return rule_parts(self.context, width)
        rule = sign("rule", ascii_only=self.context.ascii_only)
        title = fit(self._title, min(cell_len(self._title), max(1, width - 4)))
        return [(f"{rule} ", "$rule"), (title, "$muted"), (f" {rule * max(0, width - 3 - cell_len(title))}", "$rule")]

    def say(self, title: str) -> None:
        """Set the title, any text; it is made safe here."""
        self._title = title
        self.again()
