"""A machine's replica of a server's journal: an SQLite file like any other, whose changes go to the server first.

A transaction of the state takes the replica's write lock, then the journal's lock on the server. What others have
written since is applied. Then the rules decide as they do on one file, the new entries are appended on the server, the
server commits, and the replica after it. A replica that misses the last step catches up by the journal.

Rows that must not part from the entries travel with them (`companions`).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

from tui_tasks import clock
from tui_tasks.core import machine_leases
from tui_tasks.core.commit import database_clock, journal
from tui_tasks.core.commit.apply import TOUCHING, apply, touch
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Busy, DatabaseRefused, OutcomeUnknown, Refusal, StorageFailed, WritesJournal
from tui_tasks.core.schema.tables import STATE
from tui_tasks.postgres import Report, companions, no_report
from tui_tasks.postgres.replica_files import age_of, machine_in, note_contact, server_of

if TYPE_CHECKING:
    from tui_tasks.postgres.replica_following import Follower

_SECOND: Final = 1_000_000
_TIME_SECONDS: Final = 60.0
"""The server is asked for its time again after this."""
_decode = msgspec.json.Decoder().decode


class BehindCut(StorageFailed):
    """The server has dropped entries that a replica lacks."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=True)


class Replica(Database):
    """A replica, used by one thread like any database."""

    def __init__(self, path: str, *, read_only: bool = False, makes: bool = True) -> None:
        """Open a replica; `makes`: create it if there is none.

        Raises:
            DatabaseRefused: it cannot be used.
        """
        real = Path(path).resolve()
        self._url, self._id = server_of(str(real))
        self.machine = machine_in(real.parent)
        self._client: Any = None
        self._is_shared = False
        self._collects = False
        self._begun: tuple[int, bytes] = (0, b"")
        self._server_now = 0
        # How far the server's clock is ahead of this machine's, in microseconds, and when that was seen.
        self._ahead = 0
        self._time_seen = -math.inf
        self._follower: Follower | None = None
        self._elapsed = database_clock.Elapsed(clock.uptime)
        super().__init__(path, read_only=read_only, makes=makes)

    def _prepare(self, connection: Any) -> None:
        self._collects = False
        if not self.read_only:
            # A power cut loses the last transactions of the replica; the journal brings them back.
            connection.execute("PRAGMA synchronous = normal")

    def _joined(self) -> Any:
        """Return the client of the server; psycopg is imported at the first use."""
        if self._client is None:
            self._client = client_class()(self._url, self._id)
        return self._client

    @contextlib.contextmanager
    def state_transaction(self, *, write: bool) -> Iterator[int | None]:
        """Hold a transaction whose entries the server's journal gets, before the replica commits; yield its time."""
        with as_refusals():
            self._is_shared = write
            try:
                with self.transaction(write=write):
                    yield self._server_now if write else None
            finally:
                self._is_shared = False

    @contextlib.contextmanager
    def local_transaction(self) -> Iterator[None]:
        """See `Database.local_transaction`; the server is not asked."""
        with self.transaction(write=True):
            self._begin_collecting()
            seq = journal.newest(self)
            yield
            if journal.newest(self) != seq or _is_shared(companions.collected(self)):
                raise WritesJournal

    def _begin(self, write: bool) -> None:
        super()._begin(write)
        if write and self._is_shared:
            self._lock_journal()

    def _roll_back(self) -> None:
        super()._roll_back()
        # What the transaction may have made for collecting was rolled back with it.
        self._collects = False
        if self._is_shared and self._client is not None:
            self._client.release()

    def _commit(self) -> None:
        if not self._is_shared:
            super()._commit()
            return
        self._publish()
        try:
            super()._commit()
        except Exception as error:
            raise OutcomeUnknown(
                f"the server has it, and {self.path} could not be written ({error}); if you send it again, use its "
                "idempotency key"
            ) from error

    def _acknowledge(self) -> None:
        # What was written is on the server, whatever became of the file.
        if not self._is_shared:
            super()._acknowledge()

    def _lock_journal(self) -> None:
        """Take the journal's lock, and apply what others have written since."""
        client = self._joined()
        while True:
            seq, _ = journal.head(self)
            news = client.lock(seq, companions.number(self))
            if news.is_complete and not news.is_cut:
                break
            client.release()
            is_complete = False
            while not is_complete:
                news = client.news(journal.newest(self), companions.number(self))
                if news.is_cut:
                    raise Busy(
                        "this machine's replica is older than the server's journal, and is built again; try again"
                    )
                self._apply(news)
                is_complete = news.is_complete
        self._apply(news)
        self._begun = journal.head(self)
        if self._begun != (news.head.seq, bytes(news.head.hash)):
            raise self._other_history()
        self._server_now = news.head.now
        self._note_time(news.head.now)
        self._begin_collecting()
        note_contact(self.path)

    def _begin_collecting(self) -> None:
        if not self._collects:
            companions.collect(self)
            self._collects = True
        companions.forget(self)

    def let_others_write(self, seconds: float) -> None:
        """See `Database.let_others_write`. A long change shows that this machine is there."""
        if self._is_lease_due():
            self._renew_lease()
        super().let_others_write(seconds)

    def _publish(self) -> None:
        """Append what this transaction wrote, and let the server commit."""
        seq, _ = self._begun
        entries = self.sql(f"SELECT {_COLUMNS} FROM journal WHERE seq > ? ORDER BY seq", (seq,)).fetchall()
        beside = companions.collected(self)
        if not entries and not _is_shared(beside):
            self._client.release()
            return
        if any(row[4] == "journal" for row in entries):
            raise StorageFailed(
                "a database on a server has no compaction of its own: nothing was written", retryable=False
            )
        if any("\0" in text for row in entries for text in row if isinstance(text, str)):
            raise StorageFailed("a database on a server holds no NUL character: nothing was written", retryable=False)
        mark = database_clock.mark(self)
        entries = [(*row[:-1], bytes(row[-1])) for row in entries]
        passed = mark.passed if mark is not None else 0
        number = self._client.append(self._begun, entries, beside, self._server_now, passed)
        if number is not None:
            companions.put_number(self, number)
        # For `let_others_write`, which goes on after this commit.
        companions.forget(self)

    def _apply(self, news: Any) -> None:
        """Apply what the server has and this replica lacks, within the open write transaction.

        Raises:
            StorageFailed: the replica belongs to another history.
        """
        seq, last = journal.head(self)
        for row in news.entries:
            if row[0] <= seq:
                continue
            values = dict(zip(_NAMES, row[:-1], strict=True))
            if row[0] != seq + 1 or (linked := journal.append(self, last, values)) != bytes(row[-1]):
                raise self._other_history()
            seq, last = seq + 1, linked
            _apply_row(self, row)
        if not news.is_complete:
            return
        companions.apply(self, news.companions)
        self._advance(news.head.passed)

    def _advance(self, passed: int) -> None:
        """Let the database's own instant, by which leases end, be no earlier than on other machines."""
        mark, up = database_clock.mark(self), clock.uptime()
        here = 0 if mark is None else mark.passed
        if mark is not None and mark.machine == up.machine:
            here += max(0, up.up - mark.up)
        if passed and (mark is None or here + _SECOND < passed):
            database_clock.put_mark(self, database_clock.Mark(up.machine, up.up, passed, clock.now() + self._ahead))

    def _other_history(self) -> StorageFailed:
        return StorageFailed(
            f"{self.path} does not fit the server's journal: delete it, and it is built again from the server",
            retryable=False,
        )

    def catch_up(self, report: Report = no_report) -> None:
        """Apply what the server has and this replica lacks, in transactions of its own and without the journal's lock.

        Raises:
            Busy: the server is away.
            StorageFailed: the replica cannot be written, or belongs to another history.
        """
        with as_refusals():
            client = self._joined()
            while True:
                seq, hashed = journal.head(self)
                news = client.news(seq, companions.number(self))
                if news.is_cut:
                    raise BehindCut(f"{self.path} is older than the server's journal: it is built again")
                if seq > news.head.seq or (seq == news.head.seq and hashed != bytes(news.head.hash)):
                    raise self._other_history()
                # A process of this machine that has just committed on the server commits here meanwhile.
                if (news.entries or news.companions) and not self._has(news):
                    with self.transaction(write=True):
                        self._apply(news)
                report("applying entries", journal.newest(self), news.head.seq)
                if news.is_complete:
                    note_contact(self.path)
                    return

    def _has(self, news: Any) -> bool:
        return bool(journal.newest(self) >= news.head.seq and companions.number(self) >= news.head.number)

    def build(self, report: Report = no_report) -> bool:
        """Put the server's newest snapshot in the place of this replica; return False if there is none.

        Raises:
            Busy: the server is away.
            DatabaseRefused, StorageFailed: it cannot be used or written.
        """
        with as_refusals():
            is_built = bool(self._joined().build(self.path, clock.now(), report))
        self.open_again()
        return is_built

    def cut(self, last: int, report: Report = no_report) -> int:
        """Store this replica as a snapshot on the server, and drop the entries up to `last` there; return how many.

        Raises:
            Busy: the server is away.
            StorageFailed: this role may not.
        """
        with as_refusals():
            self.catch_up()
            return int(self._joined().cut(self, last, report))

    def follow(self) -> None:
        """Apply what other machines write, in a thread, while this is open; one process of a machine does so."""
        if self._follower is None:
            from tui_tasks.postgres.replica_following import Follower  # it opens a replica of its own

            self._follower = Follower(self.path)

    def renew_lease(self) -> None:
        """Renew this machine's lease.

        Raises:
            Busy: the server is away.
            StorageFailed: this role may not write.
        """
        if self._is_lease_due():
            with self.state_transaction(write=True):
                self._renew_lease()

    def _is_lease_due(self) -> bool:
        return machine_leases.is_lease_due(self, self._elapsed.look(self, clock.now() + self._ahead))

    def _renew_lease(self) -> None:
        machine_leases.renew_lease(self, self._elapsed.record(self, clock.now() + self._ahead))

    @property
    def address(self) -> str:
        """See `Database.address`."""
        return self._url

    def server_time(self, now: int) -> int:
        """Return the server's time of day; while it is away, by how far its clock was ahead before."""
        if time.monotonic() - self._time_seen > _TIME_SECONDS:
            with contextlib.suppress(Refusal), as_refusals():
                self._note_time(self._joined().time())
            # A server that does not answer is not asked each time.
            self._time_seen = time.monotonic()
        return now + self._ahead

    def _note_time(self, server_now: int) -> None:
        self._ahead, self._time_seen = server_now - clock.now(), time.monotonic()

    @property
    def name(self) -> str:
        """The name of the database on the server."""
        return unquote(urlsplit(self._url).path.strip("/")) or "server"

    def seconds_behind(self) -> float | None:
        """Return the seconds since the replica was last as new as its server."""
        age = age_of(self.path)
        return float("inf") if age is None else age

    def close(self) -> None:
        """Close the connections."""
        if self._follower is not None:
            self._follower.stop()
        if self._client is not None:
            self._client.close()
        super().close()


_NAMES: Final = (
    *("seq", "at", "actor", "kind", "entity", "uid", "task"),
    *("change", "undoes", "old", "new", "image", "why"),
)
_COLUMNS: Final = f"{', '.join(_NAMES)}, hash"


def _apply_row(db: Database, row: tuple[Any, ...]) -> None:
    """Apply the change of an entry, as replay does."""
    _, at, actor, _, entity, uid, task, _, _, old, new, image, *_ = row
    if new is not None and entity in STATE:
        apply(db, entity, uid, None if old is None else _decode(old), _decode(new))
    if entity in TOUCHING and task is not None and image is not None:
        touch(db, task, _decode(image)["version"], at, actor)


def _is_shared(beside: list[tuple[str, str, str | None]]) -> bool:
    """Return whether the server is to have rows that came without entries.

    That a payload was processed matters elsewhere only where it left an entry.
    """
    return any(kind != "taken_in" for kind, _, _ in beside)


@contextlib.contextmanager
def as_refusals() -> Iterator[None]:
    """Raise what the program cannot use on the server as what a request is refused with.

    Raises:
        StorageFailed: the block raised `DatabaseRefused`.
    """
    try:
        yield
    except DatabaseRefused as refused:
        raise StorageFailed(str(refused), retryable=False) from None


def client_class() -> Any:
    """Import the client of the server, which takes longer than all else of a short command.

    Raises:
        DatabaseRefused: psycopg is not installed.
    """
    try:
        from tui_tasks.postgres.journal_client import JournalClient
    except ImportError:
        raise DatabaseRefused(
            "a server's journal needs the extra `postgres`: pip install 'tui-tasks[postgres]'"
        ) from None
    return JournalClient
