"""Snapshots on the server: a database file, compressed, from which a new replica begins. Old entries can go then."""

from __future__ import annotations

import fcntl
import tempfile
import zlib
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from tui_tasks.core.commit import database_clock, journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.file_writes import make_private
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.maintenance import backup, database_findings
from tui_tasks.core.maintenance.replay import PASSED_OVER
from tui_tasks.core.store import Store
from tui_tasks.postgres import Report, companions

CHUNK: Final = 1 << 20
PACKING: Final = "packing a snapshot, bytes"
STORING: Final = "storing it, bytes"
FETCHING: Final = "fetching a replica, bytes"
UNPACKING: Final = "unpacking it, bytes"
CHECKING: Final = "checking it"
# What is one machine's own, and no part of the state.
_OWN: Final = ("activity", "connection", "phone_answer", "run_log")

Connection = psycopg.Connection[Any]


class Covered(NamedTuple):
    """What a snapshot has: the entries up to `seq`, the companions up to `number`, and the instant `passed`."""

    seq: int
    hash: bytes
    number: int
    passed: int


def strip(db: Database) -> None:
    """Delete from a copy what is this machine's own."""
    with db.transaction(write=True):
        for table in _OWN:
            db.sql(f"DELETE FROM {table}")
        shared = ("until:", "until;", PASSED_OVER, f"{PASSED_OVER[:-1]};")
        db.sql("DELETE FROM view WHERE NOT (key >= ? AND key < ?) AND NOT (key >= ? AND key < ?)", shared)


def put(file: Path, connection: Connection, covered: Covered, report: Report) -> None:
    """Store a closed database file on the server, unless there is a snapshot of the same entry."""
    seq = covered.seq
    if seq == 0 or connection.execute("SELECT 1 FROM tui_tasks.snapshots() WHERE seq = %s", (seq,)).fetchone():
        return
    with Store(str(file)) as copy:
        copy.db.sql("PRAGMA journal_mode = delete")
    packed = file.with_suffix(".packed")
    make_private(str(packed))
    pack = zlib.compressobj(3)  # as small but for a tenth, in half the time of the usual 6
    total = file.stat().st_size
    with file.open("rb") as plain, packed.open("wb") as out:
        while block := plain.read(CHUNK):
            report(PACKING, plain.tell(), total)
            out.write(pack.compress(block))
        out.write(pack.flush())
    chunks = -(-packed.stat().st_size // CHUNK)
    with packed.open("rb") as data, connection.transaction():
        for number in range(chunks):
            report(STORING, number * CHUNK, chunks * CHUNK)
            connection.execute(
                "SELECT tui_tasks.put_snapshot(%s, %s, %s, %s, %s, %s, %s)",
                (*covered, number, chunks, data.read(CHUNK)),
            )


def put_replica(replica: Database, connection: Connection, report: Report) -> int:
    """Store a replica as it is on the server; return its newest entry."""
    with tempfile.TemporaryDirectory(prefix=".snapshot-", dir=Path(replica.path).parent) as folder:
        part = Path(folder) / "copy.db"
        replica.copy_to(str(part), backup.PAGES_A_STEP, None)
        with Store(str(part)) as copy:
            mark = database_clock.mark(copy.db)
            number = companions.number(copy.db)
            covered = Covered(*journal.head(copy.db), number, 0 if mark is None else mark.database_now)
            strip(copy.db)
        put(part, connection, covered, report)
    return covered.seq


def newest(connection: Connection) -> tuple[Covered, int] | None:
    """Return what the newest snapshot has, and in how many chunks it is; None if there is none."""
    row = connection.execute("SELECT seq, hash, number, passed, chunks FROM tui_tasks.snapshots() LIMIT 1").fetchone()
    return None if row is None else (Covered(row[0], bytes(row[1]), *row[2:4]), row[4])


def fetch(connection: Connection, part: Path, report: Report) -> Covered | None:
    """Write the newest snapshot to a file; return what it has, None if there is no snapshot.

    What was fetched before a cut is beside `part`, and is not fetched again.

    Raises:
        DatabaseRefused: its journal is not the server's.
    """
    while (snapshot := newest(connection)) is not None:
        covered, chunks = snapshot
        packed = part.with_name(f"{part.name}.{covered.seq}.packed")
        for other in part.parent.glob(f"{part.name}.*.packed"):
            if other != packed:
                other.unlink(missing_ok=True)
        if _fetch_chunks(connection, packed, covered.seq, chunks, report):
            is_sound = _unpack(packed, part, report) and _fits(part, covered, report)
            packed.unlink()
            if not is_sound:
                raise DatabaseRefused("the snapshot from the server is damaged, or not of its journal: try again")
            return covered
    return None


def _fetch_chunks(connection: Connection, packed: Path, seq: int, chunks: int, report: Report) -> bool:
    """Append the chunks that the file has not; return False if a newer snapshot has taken the place of this one."""
    make_private(str(packed))
    with packed.open("r+b") as file:
        begin = min(packed.stat().st_size // CHUNK, chunks - 1)
        file.truncate(begin * CHUNK)
        file.seek(begin * CHUNK)
        for chunk in range(begin, chunks):
            report(FETCHING, chunk * CHUNK, chunks * CHUNK)
            row = connection.execute(
                "SELECT data FROM tui_tasks.snapshot WHERE seq = %b AND chunk = %b", (seq, chunk), binary=True
            ).fetchone()
            if row is None:
                return False
            file.write(row[0])
    return True


def _unpack(packed: Path, part: Path, report: Report) -> bool:
    """Unpack a whole file; return False if it is damaged."""
    whole = part.with_name(f"{part.name}.unpacked")
    make_private(str(whole))
    unpack = zlib.decompressobj()
    total = packed.stat().st_size
    try:
        with packed.open("rb") as file, whole.open("wb") as out:
            while data := file.read(CHUNK):
                report(UNPACKING, file.tell(), total)
                # A little of compressed data can be very much.
                while data:
                    out.write(unpack.decompress(data, CHUNK))
                    data = unpack.unconsumed_tail
            out.write(unpack.flush())
    except zlib.error:
        return False
    whole.replace(part)
    return unpack.eof


def _fits(part: Path, covered: Covered, report: Report) -> bool:
    """Return whether the journal of a file is the server's, up to the entry of the snapshot."""
    report(CHECKING, 0, 1)
    with Store(str(part)) as copy:
        return journal.head(copy.db) == covered[:2] and database_findings.broken_link(copy.db) is None


def build(path: str, connection: Connection, now: int, report: Report) -> bool:
    """Make a replica, or put another in its place, of the newest snapshot; return False if there is none.

    Processes that have the old one open go on with the new one. Several that build at once do so one by one.

    Raises:
        DatabaseRefused: the snapshot is not sound.
        StorageFailed: it cannot be written.
    """
    part = Path(path).with_name(f".{Path(path).name}.part")
    with Path(f"{path}-server").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        snapshot = newest(connection)
        if snapshot is not None and Path(path).exists() and _seq(path) >= snapshot[0].seq:
            return True  # another process has built it meanwhile
        try:
            covered = fetch(connection, part, report)
            if covered is None:
                return False
            with Store(str(part)) as copy, copy.db.transaction(write=True):
                companions.put_number(copy.db, covered.number)
            backup.finish(part)
            aside = backup.replace(path, part, now)
        finally:
            backup.remove(part)
        # The server had all of the old one, too.
        if aside is not None:
            backup.remove(aside)
        return True


def _seq(path: str) -> int:
    with Store(path, read_only=True) as store:
        return journal.newest(store.db)
