"""A machine's replica of a server's journal: an SQLite file like any other, whose changes go to the server first.

A transaction of the state takes the replica's write lock, then the journal's lock on the server. What others have
written since is applied. Then the rules decide as they do on one file, the new entries are appended on the server, the
server commits, and the replica after it. A replica that misses the last step catches up by the journal.

A transaction that its caller can repeat may begin without the journal's lock (`journal_client`). If others have
written meanwhile, or it wrote nothing that the server could check, it is repeated with the lock.

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

from tui_tasks import clock
from tui_tasks.core.commit import database_clock, journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import (
    Busy,
    DatabaseRefused,
    OutcomeUnknown,
    Refusal,
    StorageFailed,
    WriteConflict,
    WritesJournal,
)
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.postgres import Report, companions, no_report
from tui_tasks.postgres.companions import apply_news, other_history
from tui_tasks.postgres.replica_files import age_of, machine_in, note_contact, server_of

if TYPE_CHECKING:
    from tui_tasks.postgres.replica_following import ReplicaFollower

_TIME_SECONDS: Final = 60.0
"""The server is asked for its time again after this."""


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
        self._is_repeatable = False
        self._is_optimistic = False
        self._collects = False
        self._begun: tuple[int, bytes] = (0, b"")
        self._server_now = 0
        # How far the server's clock is ahead of this machine's, in microseconds, and when that was seen.
        self._ahead = 0
        self._time_seen = -math.inf
        self._follower: ReplicaFollower | None = None
        self._database_clock = database_clock.DatabaseClock(clock.uptime)
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
    def state_transaction(self, *, write: bool, is_repeatable: bool = False) -> Iterator[int | None]:
        """Hold a transaction whose entries the server's journal gets, before the replica commits; yield its time.

        Raises:
            WriteConflict: with `is_repeatable`; what was decided may be outdated, and refusals too.
        """
        with as_refusals():
            self._is_shared, self._is_repeatable = write, is_repeatable
            try:
                with self.transaction(write=write):
                    yield self._server_now if write else None
            finally:
                self._is_shared = self._is_repeatable = self._is_optimistic = False

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
            self._is_optimistic = self._is_repeatable and self._begin_optimistic()
            if not self._is_optimistic:
                self._lock_journal()

    def _begin_optimistic(self) -> bool:
        """Begin without the journal's lock if that is worth trying; return whether it is.

        The time is the server's as it is reckoned here, and no earlier than the newest entry's.
        """
        now = self._joined().optimistic_time()
        newest = None if now is None else self.sql("SELECT at FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
        if now is None or newest is None:
            return False
        self._begun = journal.head(self)
        self._server_now = max(now, newest[0])
        self._begin_collecting()
        return True

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
                apply_news(self, news, self._ahead)
                is_complete = news.is_complete
        apply_news(self, news, self._ahead)
        self._begun = journal.head(self)
        if self._begun != (news.head.seq, bytes(news.head.hash)):
            raise other_history(self.path)
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
        entries = self.sql(f"SELECT {journal.COLUMN_NAMES} FROM journal WHERE seq > ? ORDER BY seq", (seq,)).fetchall()
        beside = companions.collected(self)
        if not entries and not _is_shared(beside):
            if self._is_optimistic:
                self._client.optimistic.note_conflict()
                raise WriteConflict
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
        number = self._append(entries, beside, mark.database_now if mark is not None else 0)
        if number is not None:
            companions.put_number(self, number)
        # For `let_others_write`, which goes on after this commit.
        companions.forget(self)

    def _append(self, entries: list[Any], beside: list[Any], passed: int) -> int | None:
        """Append on the server; return the newest companion's number, None if only that was not learned."""
        client, now = self._client, self._server_now
        if not self._is_optimistic:
            number: int | None = client.append(self._begun, entries, beside, now, passed)
            return number
        number = client.append_next(self._begun, companions.number(self), entries, beside, now, passed)
        note_contact(self.path)
        return number

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
                    raise other_history(self.path)
                # A process of this machine that has just committed on the server commits here meanwhile.
                if (news.entries or news.companions) and not self._has(news):
                    with self.transaction(write=True):
                        apply_news(self, news, self._ahead)
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
            from tui_tasks.postgres.replica_following import ReplicaFollower  # it opens a replica of its own

            self._follower = ReplicaFollower(self.path)

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
        return heartbeats.is_lease_due(self, self._database_clock.look(self, clock.now() + self._ahead))

    def _renew_lease(self) -> None:
        heartbeats.renew_lease(self, self._database_clock.record(self, clock.now() + self._ahead))

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
