"""The runs of a job: their source, and how they are drawn."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import job_rows
from tui_tasks.core.read.job_rows import RunLine
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import age_lasts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.schedule import job_text


class RunsOfJob:
    """The runs of a job, newest first: a `Source` of rows."""

    def __init__(self, db: Database, job_uid: str) -> None:
        self._db = db
        self._job = job_uid

    def first(self, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_rows.older(self._db, self._job, limit)

    def last(self, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_rows.newer(self._db, self._job, limit)

    def after(self, row: RunLine, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_rows.older(self._db, self._job, limit, row.id)

    def before(self, row: RunLine, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_rows.newer(self._db, self._job, limit, row.id)

    def find(self, keys: Collection[str]) -> dict[str, RunLine]:
        """See `Source`."""
        found = (job_rows.run_line(self._db, key) for key in keys)
        return {run.uid: run for run in found if run is not None and run.job_uid == self._job}

    def key(self, row: RunLine) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: RunLine) -> int:
        """See `Source`."""
        return -row.id

    def place(self, row: RunLine) -> int:
        """See `Source`; runs would have to be counted."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1


class RunRows(RowDrawing[RunLine]):
    """Draws runs, one in each line."""

    def draw(self, row: RunLine, look_: RowLook, line: int) -> Sequence[Part]:
        """`>✗ Sat 21 Nov 08:00  schedule  failed 41s  exit 1  smtp: 535 ...`."""
        context, width = self.context, look_.width
        now, ascii_only = context.clock.now(), context.ascii_only
        shown = job_text.run_look(row)
        at = context.clock.time_of(row.at) if row.at is not None else "-"
        if row.started_at is not None and row.ended_at is None:
            self.lasts(age_lasts(row.started_at, now))
        words = [job_text.went(row, now)] if width < 70 else [f"{row.trigger:<8}", job_text.went(row, now)]
        if row.attempt > 1:
            words.append(f"attempt {row.attempt}")
        if row.exit_code and not (row.reason or "").startswith("exit"):
            words.append(f"exit {row.exit_code}")
        head = f" {at:>16}  {' '.join(words)}" if width >= 60 else f" {at}  {' '.join(words)}"
        why = f"  {row.why}" if row.why else ""
        room = max(0, width - 2 - cell_len(head) - 1)
        return (
            (
                sign("cursor", ascii_only=ascii_only) if look_.cursor else " ",
                "$primary bold" if look_.focused else "$muted",
            ),
            (shown.mark(ascii_only=ascii_only), shown.color),
            (safe_line(head, width - 3), ""),
            (fit(why, room) if room > 4 else "", "$muted"),
        )

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw what to do next."""
        return [("   It has never run.", "$muted")] if line == 1 else ()
