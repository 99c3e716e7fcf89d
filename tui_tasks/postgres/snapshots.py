"""Snapshots on the server: a database file, compressed, from which a new replica begins. Old entries can go then."""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from tui_tasks.core.commit import elapsed
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.private_files import make_private
from tui_tasks.core.journal import journal
from tui_tasks.core.maintenance import backup
from tui_tasks.core.store import Store
from tui_tasks.postgres import companions

CHUNK: Final = 1 << 20

# What is one machine's own, and no part of the state.
_OWN: Final = ("activity", "beat", "asker", "connection", "run_log", "work_count", "unfinished_change")

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
        db.sql("DELETE FROM view WHERE NOT (key >= 'until:' AND key < 'until;')")


def put(file: Path, connection: Connection, covered: Covered) -> None:
    """Store a closed database file on the server, unless there is a snapshot of the same entry."""
    seq = covered.seq
    if seq == 0 or connection.execute("SELECT 1 FROM tui_tasks.snapshots() WHERE seq = %s", (seq,)).fetchone():
        return
    with Store(str(file)) as copy:
        copy.db.sql("PRAGMA journal_mode = delete")
    packed = file.with_suffix(".packed")
    make_private(str(packed))
    pack = zlib.compressobj(6)
    with file.open("rb") as plain, packed.open("wb") as out:
        while block := plain.read(CHUNK):
            out.write(pack.compress(block))
        out.write(pack.flush())
    chunks = -(-packed.stat().st_size // CHUNK)
    with packed.open("rb") as data, connection.transaction():
        for number in range(chunks):
            connection.execute(
                "SELECT tui_tasks.put_snapshot(%s, %s, %s, %s, %s, %s, %s)",
                (*covered, number, chunks, data.read(CHUNK)),
            )


def put_replica(replica: Database, connection: Connection) -> int:
    """Store a replica as it is on the server; return its newest entry."""
    with tempfile.TemporaryDirectory(prefix=".snapshot-", dir=Path(replica.path).parent) as folder:
        part = Path(folder) / "copy.db"
        replica.copy_to(str(part), backup.PAGES_A_STEP, None)
        with Store(str(part)) as copy:
            mark = elapsed.mark(copy.db)
            number = companions.number(copy.db)
            covered = Covered(*journal.head(copy.db), number, 0 if mark is None else mark.passed)
            strip(copy.db)
        put(part, connection, covered)
    return covered.seq


def fetch(connection: Connection, part: Path) -> int | None:
    """Write the newest snapshot to a file; return the number of its newest companion, None if there is no snapshot."""
    found = connection.execute("SELECT seq, chunks, number FROM tui_tasks.snapshots() LIMIT 1").fetchone()
    if found is None:
        return None
    make_private(str(part))
    unpack = zlib.decompressobj()
    with part.open("wb") as file:
        for number in range(found[1]):
            row = connection.execute(
                "SELECT data FROM tui_tasks.snapshot WHERE seq = %s AND chunk = %s", (found[0], number)
            ).fetchone()
            assert row is not None
            data = bytes(row[0])
            # A little of compressed data can be very much.
            while data:
                file.write(unpack.decompress(data, CHUNK))
                data = unpack.unconsumed_tail
        file.write(unpack.flush())
    return int(found[2])


def build(path: str, connection: Connection, now: int) -> bool:
    """Make a replica, or put another in its place, of the newest snapshot; return False if there is none.

    Processes that have the old one open go on with the new one.

    Raises:
        DatabaseRefused: the snapshot is not sound.
        StorageFailed: it cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix=".snapshot-", dir=Path(path).parent) as folder:
        part = Path(folder) / "copy.db"
        number = fetch(connection, part)
        if number is None:
            return False
        with Store(str(part)) as copy, copy.db.transaction(write=True):
            companions.put_number(copy.db, number)
        backup.finish(part)
        restored = backup.restore(path, part, now)
        # The server had all of the old one, too.
        if restored.aside is not None:
            backup.remove(Path(restored.aside))
        return True
