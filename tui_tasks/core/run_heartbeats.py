"""What is kept of the process of a run, outside the journal: its heartbeat, and the output.

A scheduler makes the heartbeat when it claims a run, and it passes to the run's supervisor; only its holder may begin
the run.

Of the output the first and the last half of 1 MiB are kept, as they arrive. A piece is a row, numbered by its offset in
the whole output. What lies between head and tail is dropped as more arrives; a gap between two pieces shows how much.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, fn, slot
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.schema.agent_tables import HeartbeatRow as B
from tui_tasks.core.schema.job_tables import RunLogRow as L
from tui_tasks.core.schema.tables import columns
from tui_tasks.core.snapshots import reader

_COLUMNS = tuple(columns(B).values())
_read = reader(Heartbeat, B)

_FIND = Statement(lambda: B.select(*_COLUMNS).where(B.run_uid == slot("run_uid")))
_ALL = Statement(lambda: B.select(*_COLUMNS).order_by(B.run_uid))
_PUT = Statement(lambda: B.insert({column: slot(column.name) for column in _COLUMNS}))
_BEAT = Statement(lambda: B.update({B.at: slot("at")}).where(B.run_uid == slot("run_uid")))
_DROP = Statement(lambda: B.delete().where(B.run_uid == slot("run_uid")))


def heartbeat_of(db: Database, run_uid: str) -> Heartbeat | None:
    """Return the heartbeat of the process that holds a run, or None."""
    row = db.one(_FIND, run_uid=run_uid)
    return _read(row) if row else None


def heartbeats(db: Database) -> list[Heartbeat]:
    """Return the heartbeat of every process that holds a run."""
    return [_read(row) for row in db.all(_ALL)]


def put_heartbeat(db: Database, heartbeat: Heartbeat) -> None:
    """Record that a process holds a run, within the transaction that decided so."""
    drop_heartbeat(db, heartbeat.run_uid)
    db.run(_PUT, {name: getattr(heartbeat, name) for name in heartbeat.__struct_fields__})


def renew_heartbeat(db: Database, run_uid: str, now: int) -> None:
    """Record that the process that holds the run is alive."""
    with db.transaction(write=True):
        db.run(_BEAT, {"run_uid": run_uid, "at": now})


def drop_heartbeat(db: Database, run_uid: str) -> None:
    """Delete the heartbeat of a run that has ended, within the transaction that recorded its end."""
    db.run(_DROP, {"run_uid": run_uid})


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
                shown += (
                    "" if shown.endswith("\n") or not shown else "\n"
                ) + f"[… {start - reached:,} bytes left out …]\n"
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
