"""The tables as they were after any journal entry, in a private folder: built by replay, read like any database."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from tui_tasks.core import schema
from tui_tasks.core.commit import compaction
from tui_tasks.core.engine import open_checks
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import storage_errors
from tui_tasks.core.errors import Conflict, StorageFailed
from tui_tasks.core.maintenance import replay
from tui_tasks.core.maintenance.replay import allow_any_order, apply_entries, apply_together
from tui_tasks.core.schema.tables import STATE

PREFIX: Final = "tui-tasks-past-"
_LOCK: Final = "lock"


class ScratchFolder:
    """A folder of mode 0700, locked as long as its process lives.

    Attributes:
        path: the path of the folder.
    """

    def __init__(self) -> None:
        """Make the folder, and remove those of processes that have ended.

        Raises:
            OSError: it cannot be made.
        """
        remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder with its contents."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_abandoned() -> None:
    """Remove the folders of this user whose processes ended without removing them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            stat_result = folder.lstat()
            if stat.S_ISDIR(stat_result.st_mode) and stat_result.st_uid == os.geteuid():
                _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


WINDOW: Final = 20_000
"""How many entries it can go back without a replay."""
SNAPSHOT_EVERY: Final = 200_000
"""The entries between two snapshots at first. If there are too many, every other one is dropped, which doubles it."""
MAX_SNAPSHOTS: Final = 4
# Entries between two reports of the progress.
_AT_ONCE: Final = 10_000
_RECORDED_AT_ONCE: Final = 2_000

# Indexes that are faster made after many rows were written, and not needed to write them.
_LATER: Final = ("task_column", "task_ready", "task_urgency", "log_of_task")

Report = Callable[[int, int], None]
"""Called with the number of entries replayed, and of all to replay."""


class _Snapshot(NamedTuple):
    seq: int
    path: Path


class PastState:
    """A private database with the tables as they were; used by one thread.

    Attributes:
        path: the path of the private database.
    """

    def __init__(self, source: Database, *, window: int = WINDOW, snapshot_every: int = SNAPSHOT_EVERY) -> None:
        """Create the database with the earliest state that the journal of `source` has.

        Raises:
            StorageFailed: there is no room for it.
        """
        self._source, self._file = source, source.file
        self._window, self._spacing = window, snapshot_every
        with contextlib.ExitStack() as failed:
            try:
                self._folder = ScratchFolder()
            except OSError as error:
                raise StorageFailed(f"no folder for the past can be made: {error.strerror}", retryable=True) from error
            failed.callback(self._folder.remove)
            self.path = str(self._folder.path / "past.db")
            self._db = schema.opened(self.path)
            failed.callback(self._db.close)
            self._later = _later_indexes(self._db)
            self._begin()
            failed.pop_all()

    def _begin(self) -> None:
        # The database is not needed after a crash.
        self._db.sql("PRAGMA synchronous = off")
        self._db.sql("PRAGMA cache_size = -64000")
        with self._source.transaction(write=False), self._db.transaction(write=True):
            allow_any_order(self._db)
            replay.install(self._db)
            replay.skip_to(self._db, compaction.restore_base(self._source, self._db))
            if (base := compaction.base(self._source)) is not None:
                self._db.sql(f"CREATE TABLE base ({', '.join(base._fields)})")
                self._db.sql("INSERT INTO base VALUES (?, ?, ?, ?, ?)", base)
        self._snapshots: list[_Snapshot] = []
        self._take_snapshot()

    @property
    def seq(self) -> int:
        """Return the last entry that the tables have."""
        return replay.seq(self._db)

    def build(self, seq: int, report: Report = lambda done, total: None) -> None:
        """Replay up to the first state to show, taking snapshots; other connections see the states in between.

        An exception from `report` ends it.

        Raises:
            StorageFailed: the journal cannot be read, or there is no room.
            Conflict: an entry is damaged.
        """
        unrecorded = seq - self._window
        with self._db.transaction(write=True):
            self._drop_indexes()
        while self.seq < unrecorded:
            at = self.seq
            with self._db.transaction(write=True):
                self._replay_unrecorded(at, min(unrecorded, at + min(_AT_ONCE, self._spacing)))
            if self.seq - self._snapshots[-1].seq >= self._spacing:
                self._take_snapshot()
            report(self.seq, seq)
        with self._db.transaction(write=True):
            self._make_indexes()
        self.move_to(seq, lambda done, total: report(unrecorded + done if unrecorded > 0 else done, seq))

    def move_to(self, seq: int, report: Report = lambda done, total: None) -> None:
        """Show the state after an entry that can be shown (`moments`).

        Other connections see it once it is complete. An exception from `report` ends it, and leaves the state as it
        was.

        Raises:
            StorageFailed: the journal cannot be read, the database was replaced, or there is no room.
            Conflict: the entries in between are damaged, or were compacted away meanwhile.
        """
        self._refuse_replaced()
        if self.seq > seq >= replay.since(self._db):
            with self._db.transaction(write=True):
                replay.go_back(self._db, seq)
            return
        if self.seq > seq:
            with self._snapshot_at_hand(seq), self._db.transaction(write=True):
                self._return_to_snapshot()
                self._replay_to(seq, report)
            return
        with self._db.transaction(write=True):
            self._replay_to(seq, report)

    def _refuse_replaced(self) -> None:
        self._source.data_version()
        if self._source.file != self._file:
            raise StorageFailed(
                f"{self._source.path} was replaced: leave, and start time travel again", retryable=False
            )

    def _replay_to(self, seq: int, report: Report) -> None:
        begin = at = self.seq
        unrecorded = seq - self._window
        if begin < unrecorded:
            replay.stop(self._db)
        while at < seq:
            if at < unrecorded:
                upto = min(unrecorded, at + _AT_ONCE)
                self._replay_unrecorded(at, upto)
            else:
                upto = min(seq, at + _RECORDED_AT_ONCE)
                self._replay_recorded(at, upto)
            at = upto
            report(at - begin, seq - begin)
        if unrecorded > replay.since(self._db):
            replay.forget(self._db, unrecorded)

    def _replay_recorded(self, after: int, upto: int) -> None:
        replay.record(self._db)
        for entry in self._checked(apply_entries(self._source, self._db, after, upto), after, upto):
            replay.begin_entry(self._db, entry)

    def _replay_unrecorded(self, after: int, upto: int) -> None:
        for _ in self._checked(apply_together(self._source, self._db, after, upto), after, upto):
            pass
        replay.skip_to(self._db, upto)

    def _checked(self, entries: Iterator[int], after: int, upto: int) -> Iterator[int]:
        """Yield what `entries` yields, and refuse damaged and missing entries."""
        last = after
        try:
            for last in entries:
                yield last
        except msgspec.DecodeError as error:
            raise Conflict(f"entry {last:,} of the journal is damaged: see tui-tasks doctor") from error
        if last != upto:
            raise Conflict(f"entries after {last:,} were compacted away meanwhile: leave, and start again")

    def _drop_indexes(self) -> None:
        for name in self._later:
            self._db.sql(f"DROP INDEX IF EXISTS {name}")

    def _make_indexes(self) -> None:
        for sql in self._later.values():
            self._db.sql(sql)

    def _take_snapshot(self) -> None:
        snapshot = _Snapshot(self.seq, self._folder.path / f"snapshot-{self.seq}.db")
        with storage_errors(self.path):
            self._db.copy_to(str(snapshot.path), -1, None)
        self._snapshots.append(snapshot)
        if len(self._snapshots) > MAX_SNAPSHOTS:
            for dropped in self._snapshots[1::2]:
                dropped.path.unlink()
            del self._snapshots[1::2]
            self._spacing *= 2

    @contextlib.contextmanager
    def _snapshot_at_hand(self, seq: int) -> Iterator[None]:
        """Attach the nearest snapshot before an entry as `snapshot` during the block."""
        nearest = max(snapshot for snapshot in self._snapshots if snapshot.seq <= seq)
        with storage_errors(self.path):
            self._db.sql("ATTACH ? AS snapshot", (str(nearest.path),))
        try:
            yield
        finally:
            self._db.sql("DETACH snapshot")

    def _return_to_snapshot(self) -> None:
        """Copy the tables from the attached snapshot, within the write transaction."""
        replay.stop(self._db)
        # SQLite copies a table as it is where both have the same indexes.
        self._drop_indexes()
        for table in STATE:
            self._db.sql(f"DELETE FROM main.{table}")
            self._db.sql(f"INSERT INTO main.{table} SELECT * FROM snapshot.{table}")
        self._make_indexes()
        replay.skip_to(self._db, self._db.scalar("SELECT seq FROM snapshot.position"))

    def close(self) -> None:
        """Delete the database and its folder."""
        self._db.close()
        self._folder.remove()

    def __enter__(self) -> PastState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _later_indexes(db: Database) -> dict[str, str]:
    """Return the SQL of the indexes `_LATER`, by name."""
    rows = db.sql("SELECT name, sql FROM sqlite_master WHERE type = 'index'").fetchall()
    return {name: sql for name, sql in rows if name in _LATER}


# SQLite resolves a name among temporary tables and views first.
_VIEWS: Final = (
    "CREATE TEMP VIEW journal AS SELECT * FROM live.journal WHERE seq <= (SELECT seq FROM main.position)",
    # The output of a run that had ended has not changed since.
    "CREATE TEMP VIEW run_log AS SELECT * FROM live.run_log "
    "WHERE run_uid IN (SELECT uid FROM main.run WHERE state = 'final')",
    # The end of an agent's last connection is known; of earlier ones nothing is.
    "CREATE TEMP VIEW connection AS SELECT * FROM live.connection WHERE closed_at IS NOT NULL",
    "CREATE TEMP VIEW view AS SELECT * FROM live.view WHERE key GLOB 'filter:*' OR key IN ('seen', 'hidden')",
)


class PastReader(Database):
    """A read-only connection to a `PastState`; the journal is read from the live database.

    Saved filters, and what the human has dismissed, are the current ones. What is not in the journal is absent: what
    each agent was doing between two entries, and who was connected, but for when the last connection of an agent ended.
    """

    def __init__(self, path: str, live: str) -> None:
        """Open the past at `path` of the database at `live`.

        Raises:
            DatabaseRefused: one of them cannot be used.
        """
        self._live = live
        super().__init__(path, read_only=True)

    def _prepare(self, connection: Any) -> None:
        connection.execute("PRAGMA query_only = 0")
        connection.execute("ATTACH ? AS live", (open_checks.uri(self._live, "mode=ro"),))
        for view in _VIEWS:
            connection.execute(view)
        connection.execute("PRAGMA query_only = 1")
