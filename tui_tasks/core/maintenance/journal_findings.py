"""What `doctor` checks of a database: that SQLite can read it, the hash chain of its journal, its tables against a
replay of the journal, and who keeps the write-ahead log growing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Final, cast

import msgspec

from tui_tasks.core import schema
from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.commit.compaction import Base
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import READ_ERRORS, sqlite3
from tui_tasks.core.engine.orm import Model, Statement, slot
from tui_tasks.core.maintenance import table_findings
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.schema.tables import STATE, model_of
from tui_tasks.core.schema.tables import JournalRow as J

_encode = msgspec.json.Encoder().encode
_TYPES: Final = {int, str, NoneType}
_COMPACTION_ENTRY = Statement(lambda: J.select(J.kind, J.new).where(J.seq == slot("seq")))


def findings(db: Database) -> Iterator[str]:
    """Yield a sentence for each defect of a database."""
    yield from readable(_findings(db))


def readable(problems: Iterator[str]) -> Iterator[str]:
    """Yield findings; a failed read is the last of them, as altered values may have any type, or not be UTF-8."""
    try:
        yield from problems
    except (*READ_ERRORS, TypeError, ValueError, msgspec.MsgspecError) as error:
        yield f"not all of it can be read: {error.__cause__ or error}. Restore a backup"


def _findings(db: Database) -> Iterator[str]:
    for (said,) in db.sql("PRAGMA integrity_check(20)"):
        if said != "ok":
            yield f"SQLite finds it damaged: {said}. Restore a backup"
    yield from altered(db)
    yield from table_findings.contradictions(db)


def altered(db: Database) -> Iterator[str]:
    """Yield a sentence that names the first entry which does not follow from the one before it; nothing if all do."""
    broken = broken_link(db)
    if broken is not None:
        yield f"the journal was altered at or before entry {broken}. Compare it with a backup"


def broken_link(db: Database) -> int | None:
    """Return the seq of the first entry that does not follow from the one before it; None if all do.

    In a compacted journal, the compaction's record has the hash that the oldest entry follows from. While the old
    entries are still being deleted, the oldest is not verified; the last of them must have the recorded hash.
    """
    base = compaction.base(db)
    first, cut = journal.oldest(db), base.last if base else 0
    if first > cut + 1:
        return first
    previous = (base.hash if base else b"") if first == cut + 1 else None
    expected = first
    rows = db.sql(f"SELECT {', '.join(c.column_name for c in journal.COLUMNS)} FROM journal ORDER BY seq")
    try:
        if base and not _tells_of(db, base):
            return base.seq
        for row in rows:
            seq, hashed = row[0], row[-1]
            is_cut = base is not None and seq == cut
            # An altered value may have any type.
            if seq != expected or not isinstance(hashed, bytes) or (is_cut and hashed != cast(Base, base).hash):
                return int(seq)
            # JSON cannot tell a blob from the text that is its Base64, so a blob is refused before hashing.
            if not _TYPES.issuperset(map(type, row[:-1])):
                return int(seq)
            if previous is not None and journal.link(previous, row[:-1]) != hashed:
                return int(seq)
            previous, expected = hashed, seq + 1
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        # A text was altered so that it is not UTF-8.
        return int(expected)
    return None


def _tells_of(db: Database, base: Base) -> bool:
    """Return whether the entry that should record the compaction does so."""
    row = db.one(_COMPACTION_ENTRY, seq=base.seq)
    expected_json = _encode({"last": base.last, "hash": base.hash.hex()}).decode()[:-1]
    return row is not None and row[0] == "journal.compacted" and str(row[1]).startswith(expected_json)


AT_ONCE: Final = 100_000
"""The most entries to replay without being asked, which takes a few seconds."""
_MAX: Final = 10
"""The most rows that are reported."""


def is_quick(db: Database) -> bool:
    """Return whether there are few enough entries to replay them without being asked."""
    return journal.newest(db) - journal.oldest(db) < AT_ONCE


def differences(db: Database) -> Iterator[str]:
    """Yield a sentence for each row that differs from the replay. The journal itself must be sound."""
    with tempfile.TemporaryDirectory(prefix="tui-tasks-") as folder, db.transaction(write=False):
        other = schema.opened(str(Path(folder) / "replayed.db"))
        try:
            # The folder is deleted at the end of the check.
            other.sql("PRAGMA synchronous = off")
            replay(db, other)
            lines = (said for table in STATE for said in _of_table(table, db, other))
            yield from (said for said, _ in zip(lines, range(_MAX), strict=False))
            if next(lines, None) is not None:
                yield "more rows differ from the journal"
        finally:
            other.close()


def _of_table(table: str, db: Database, other: Database) -> Iterator[str]:
    mine, from_journal = _rows(table, db), _rows(table, other)
    row, by_journal = next(mine, None), next(from_journal, None)
    while row is not None or by_journal is not None:
        if by_journal is None or (row is not None and row[0] < by_journal[0]):
            assert row is not None
            yield _sentence(table, row[1], "is in the tables, but not by the journal")
            row = next(mine, None)
        elif row is None or by_journal[0] < row[0]:
            yield _sentence(table, by_journal[1], "is in the journal, but not in the tables")
            by_journal = next(from_journal, None)
        else:
            if row != by_journal:
                yield _sentence(table, row[1], f"differs from the journal ({_fields(row[1], by_journal[1])})")
            row, by_journal = next(mine, None), next(from_journal, None)


def _rows(table: str, db: Database) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Yield the rows of a table with their keys, in the order of the keys."""
    keys = _keys(model_of(table))
    cursor = db.sql(f"SELECT * FROM {table} ORDER BY {', '.join(keys)}")
    columns = [column[0] for column in cursor.description]
    for row in cursor:
        fields = dict(zip(columns, row, strict=True))
        yield tuple(fields[key] for key in keys), fields


def _keys(model: type[Model]) -> list[str]:
    meta: Any = model._meta
    return [field.column_name for field in meta.get_primary_keys()]


def _fields(row: Mapping[str, Any], by_journal: Mapping[str, Any]) -> str:
    return ", ".join(name for name in row if row[name] != by_journal.get(name))


def _sentence(table: str, row: Mapping[str, Any], what: str) -> str:
    uid = row["uid"] if "uid" in row else row["task_uid"]
    return f"{table} {uid} {what}: it was changed by other means, or entries were cut off. Compare it with a backup"


LARGE: Final = 96 << 20
"""Bytes: a checkpoint runs at 16 MiB, one large change may need more, and 64 MiB may be kept for reuse."""
_PROC: Final = Path("/proc")


def log_findings(database: Path, proc: Path = _PROC) -> Iterator[str]:
    """Yield a finding where the log is large, with the processes to look at."""
    log = Path(f"{database}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size < LARGE:
        return
    begun = f"{log} has grown to {size >> 20} MiB: a process that is stopped during a read holds it. "
    others = list(_processes_using(database, proc))
    stopped = [f"kill -CONT {pid} ({command})" for pid, command, state in others if state in "Tt"]
    if stopped:
        yield f"{begun}Continue or end the stopped process: {', '.join(stopped)}"
    elif others:
        yield f"{begun}End what does not answer among {', '.join(f'{pid} ({command})' for pid, command, _ in others)}"
    else:
        yield f"{begun}Look for a stopped tui-tasks (state T in ps), and continue or end it"


def _processes_using(database: Path, proc: Path) -> Iterator[tuple[int, str, str]]:
    """Yield id, command line and state of other processes with the database open, as far as /proc shows them."""
    for place in sorted(proc.glob("[0-9]*"), key=lambda place: int(place.name)):
        try:
            if int(place.name) != os.getpid() and any(
                handle.readlink() == database for handle in (place / "fd").iterdir()
            ):
                command = (place / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").replace("\0", " ")
                state = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                yield int(place.name), command, state
        except OSError:  # the process has ended, or is another user's
            continue
