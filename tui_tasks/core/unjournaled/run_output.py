"""The output of a run, outside the journal: how much is kept, and its pieces.

The first and the last half of 1 MiB are kept, as they arrive. A piece is a row, numbered by its offset in the whole
output. What lies between head and tail is dropped as more arrives; a gap between two pieces shows how much.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, fn, slot
from tui_tasks.core.schema.job_tables import RunLogRow as L

HEAD: Final = 512 * 1024
TAIL: Final = 512 * 1024

_PUT_PIECE = Statement(lambda: L.insert({L.run_uid: slot("run"), L.start: slot("start"), L.data: slot("data")}))
_DROP_PIECE = Statement(lambda: L.delete().where((L.run_uid == slot("run")) & (L.start == slot("start"))))
_DROP_PIECES = Statement(
    lambda: L.delete().where((L.run_uid == slot("run")) & (L.start >= slot("head")) & (L.start < slot("tail")))
)
_PIECES = Statement(
    lambda: (
        L.select(L.start, L.data)
        .where((L.run_uid == slot("run")) & (L.start + fn.LENGTH(L.data) > slot("since")))
        .order_by(L.start)
    )
)


@dataclass(frozen=True, slots=True)
class RunLog:
    """The stored output of a run.

    Attributes:
        pieces: (offset, bytes), in order.
        total: how many bytes there were in all.
    """

    pieces: tuple[tuple[int, bytes], ...]
    total: int

    @property
    def text(self) -> str:
        """Return the output as text. A line marks what was dropped; bytes that are not UTF-8 read as U+FFFD."""
        spans: list[tuple[int, bytearray]] = []
        for start, piece in self.pieces:
            if spans and spans[-1][0] + len(spans[-1][1]) == start:
                spans[-1][1].extend(piece)
            else:
                spans.append((start, bytearray(piece)))
        shown, reached = "", 0
        for start, data in spans:
            if start > reached:
                shown += "\n" * (shown != "" and not shown.endswith("\n"))
                shown += f"[… {start - reached:,} bytes left out …]\n"
            shown += data.decode(errors="replace")
            reached = start + len(data)
        return shown


def write_output(db: Database, run_uid: str, pieces: Iterable[tuple[int, bytes]], total: int) -> None:
    """Store pieces of output, in a transaction of their own; a piece replaces an earlier one of the same offset.

    `total` is how many bytes there have been. No piece extends across the end of the head.
    """
    with db.transaction(write=True):
        for start, data in pieces:
            db.run(_DROP_PIECE, {"run": run_uid, "start": start})
            db.run(_PUT_PIECE, {"run": run_uid, "start": start, "data": data})
        if total - TAIL > HEAD:
            db.run(_DROP_PIECES, {"run": run_uid, "head": HEAD, "tail": total - TAIL})


def read_output(db: Database, run_uid: str, since: int = 0) -> RunLog:
    """Return the stored output of a run; with `since`, only the pieces that extend beyond that byte."""
    pieces = tuple((start, bytes(data)) for start, data in db.all(_PIECES, run=run_uid, since=since))
    return RunLog(pieces, pieces[-1][0] + len(pieces[-1][1]) if pieces else since)
