"""Speaks with the server: connects again where it was away, takes the lock of the journal, reads what is new, appends,
and learns how a commit ended.

A turn is two messages, `lock` and `append`. An optimistic write begins without the lock, and is one message,
`append_next`. The server refuses it if others have written since; then it is decided again with the lock.
"""

from __future__ import annotations

import contextlib
import logging
import math
import select
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import psycopg
from psycopg import errors

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.open_checks import SCHEMA
from tui_tasks.core.errors import Busy, DatabaseRefused, OutcomeUnknown, RoleRefused, WriteConflict
from tui_tasks.postgres import Report, server_snapshots, team_server
from tui_tasks.postgres.companions import JournalEnd, News
from tui_tasks.postgres.team_server import Row, first_line, only_row, open_connection, prepare, too_new

PAGE: Final = 1_000
"""So many entries are read at a time."""
AFTER_AWAY_SECONDS: Final = 0.5
"""A server that could not be reached is tried again after this."""
OUTCOME_SECONDS: Final = 5.0
"""How long the outcome of a commit is asked for after its connection was lost."""

LOCKED: Final = 200
"""So many are read under the lock, if they are short; who lacks more reads them before."""

_LOCK: Final = "BEGIN; EXECUTE lock_head({}, {}, {})"
_APPEND: Final = b"EXECUTE append(%b); COMMIT"
_HEAD: Final = "SELECT seq, hash, passed, now, number, journal, needs FROM tui_tasks.head, tui_tasks.about"
_TIME: Final = "SELECT greatest(now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) FROM tui_tasks.head"
_NEWS: Final = f"SELECT {journal.COLUMN_NAMES} FROM tui_tasks.journal WHERE seq > %s ORDER BY seq LIMIT %s"
COMPANIONS: Final = "SELECT kind, key, value, number FROM tui_tasks.companion WHERE number > %s ORDER BY number"
_GONE_ON: Final = "TT001"

# It warns of each pipeline whose connection was lost, which is handled here.
logging.getLogger("psycopg").setLevel(logging.ERROR)

_decode = msgspec.json.Decoder().decode

USED_SECONDS: Final = 1.0
"""A connection that has answered no longer ago is taken to be whole."""
LOCKED_WRITES: Final = 8
"""After others have written meanwhile, so many writes take the lock: several busy writers queue."""


class OptimisticWrites:
    """Decides which writes of one client begin without the lock, by what it has seen of the server.

    A connection that was idle, lost, or has something to read takes the lock: it is tried before anything is written.
    """

    def __init__(self) -> None:
        self._answered_at = -math.inf
        self._server_now = 0
        self._locked = 0

    def note_answer(self, server_now: int) -> None:
        """Record the server's time, in microseconds, as of an answer that has just come."""
        self._answered_at, self._server_now = time.monotonic(), server_now

    def note_lock(self, *, has_news: bool) -> None:
        """Record that a write has taken the lock; `has_news`: others had written since the last one."""
        self._locked = LOCKED_WRITES if has_news else max(0, self._locked - 1)

    def note_conflict(self) -> None:
        """Record that a write was refused, because others have written."""
        self._locked = LOCKED_WRITES

    def note_lost(self) -> None:
        """Record that the connection has ended."""
        self._answered_at = -math.inf

    def server_time(self, socket: int) -> int | None:
        """Return the server's time, never ahead of it, if the next write may begin without the lock; else None.

        `socket` is that of the connection, in autocommit.
        """
        idle = time.monotonic() - self._answered_at
        if self._locked or idle > USED_SECONDS or _has_news(socket):
            return None
        return self._server_now + int(idle * 1_000_000)


def _has_news(socket: int) -> bool:
    """Return whether a socket has data or its end to read, or is broken."""
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))


class JournalClient:
    """A connection to the server of one replica, used by one thread.

    Attributes:
        optimistic: decides which writes begin without the lock.
    """

    def __init__(self, url: str, id: str) -> None:
        self._url, self._id = url, id
        self._connection: psycopg.Connection[Any] | None = None
        self._listening: psycopg.Connection[Any] | None = None
        self._failed_at: float | None = None
        self._why = ""
        self.optimistic = OptimisticWrites()

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        self.optimistic.note_lost()
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()

    def connected(self) -> psycopg.Connection[Any]:
        """Return the connection, after making it where there is none.

        Raises:
            Busy: the server cannot be reached; it is asked again only some time after it could not.
            DatabaseRefused: the server has another journal by now, or needs a newer program.
        """
        if self._connection is not None and not self._connection.closed:
            return self._connection
        if self._failed_at is not None and time.monotonic() - self._failed_at < AFTER_AWAY_SECONDS:
            raise self._away(self._why)
        try:
            connection = open_connection(self._url)
            try:
                database = prepare(connection)
                # With statements of its own, psycopg would deallocate all of them after a rollback.
                connection.prepare_threshold = None
                connection.execute(team_server.PREPARE)
            except BaseException:
                connection.close()
                raise
        except psycopg.Error as error:
            self._failed_at = time.monotonic()
            raise self._away(first_line(error)) from None
        if database.id != self._id:
            connection.close()
            raise DatabaseRefused("the server has another journal than this replica")
        self._failed_at = None
        self._connection = connection
        return connection

    def _away(self, why: str) -> Busy:
        self._why = why
        return Busy(f"the server of this database cannot be reached: {why}")

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """Translate errors of the server in a block that writes nothing.

        Raises:
            Busy: it is away, or others hold the journal.
            RoleRefused: this role may not do it.
        """
        try:
            yield
        except errors.InsufficientPrivilege as error:
            self.close()
            raise RoleRefused(first_line(error)) from None
        except errors.LockNotAvailable:
            self.close()
            raise Busy("other machines have held the journal for 2 s; try again") from None
        except psycopg.Error as error:
            self.close()
            raise self._away(first_line(error)) from None

    def lock(self, seq: int, number: int) -> News:
        """Begin a transaction, take the journal's lock, and return what the replica lacks.

        Raises:
            Busy: nothing was written.
            RoleRefused: this role only reads.
        """
        was_connected = self._connection is not None
        try:
            return self._lock(seq, number)
        except errors.InsufficientPrivilege as error:
            role = self.connected().info.user
            self.close()
            refused = first_line(error)
            why = f"role {role} only reads: it may not write" if "lock_head" in refused else refused
            raise RoleRefused(why) from None
        except (errors.OperationalError, errors.InterfaceError, errors.AdminShutdown) as error:
            # A connection that stood idle may have been cut long ago: a new one is tried once.
            self.close()
            if not was_connected or isinstance(error, errors.LockNotAvailable):
                with self._asking():
                    raise
        with self._asking():
            return self._lock(seq, number)

    def _lock(self, seq: int, number: int) -> News:
        done = self.connected().execute(_LOCK.format(seq, number, LOCKED).encode())
        done.nextset()
        row = only_row(done)
        head = JournalEnd(*row[:-2])
        entries, companions = (None if text is None else _decode(text) for text in row[-2:])
        news = News(
            head,
            seq,
            [(*each[:-1], bytes.fromhex(each[-1])) for each in entries or ()],
            companions or [],
            (entries is not None or head.seq <= seq) and (companions is not None or head.number <= number),
        )
        if news.head.journal > SCHEMA:
            raise DatabaseRefused(too_new("the server", f"schema {news.head.journal}", SCHEMA, news.head.needs))
        self.optimistic.note_answer(head.now)
        self.optimistic.note_lock(has_news=head.seq > seq or head.number > number)
        return news

    def optimistic_time(self) -> int | None:
        """Return the server's time for a write that may begin without the lock; None: take the lock."""
        connection = self._connection
        if connection is None or connection.closed:
            return None
        return self.optimistic.server_time(connection.fileno())

    def news(self, seq: int, number: int) -> News:
        """Return what the replica lacks, without the lock, as of one moment.

        Raises:
            Busy: the server is away.
        """
        with self._asking():
            connection = self.connected()
            with connection.pipeline():
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                head = connection.execute(_HEAD)
                entries = connection.execute(_NEWS, (seq, PAGE))
                companions = connection.execute(COMPANIONS, (number,))
                connection.execute("COMMIT")
            page = entries.fetchall()
            return News(JournalEnd(*only_row(head)), seq, page, companions.fetchall(), len(page) < PAGE)

    def hash_at(self, seq: int) -> bytes | None:
        """Return the hash of an entry; None if the server has none of that number.

        Raises:
            Busy: the server is away.
        """
        with self._asking():
            row = self.connected().execute("SELECT hash FROM tui_tasks.journal WHERE seq = %s", (seq,)).fetchone()
            return None if row is None else bytes(row[0])

    def build(self, path: str, now: int, report: Report) -> bool:
        """Put the newest snapshot in the place of a replica; see `server_snapshots`."""
        with self._asking():
            return server_snapshots.build(path, self.connected(), now, report)

    def cut(self, replica: Database, last: int, report: Report) -> int:
        """Store a replica as a snapshot, and drop the entries up to `last` on the server; return how many.

        Raises:
            Busy: the server is away.
            RoleRefused: this role may not.
        """
        with self._asking():
            connection = self.connected()
            covered = server_snapshots.put_replica(replica, connection, report)
            return int(only_row(connection.execute("SELECT tui_tasks.cut(%s)", (min(last, covered),)))[0])

    def wait_for_news(self, seconds: float) -> None:
        """Wait until the server says that the journal has gone on, or some time has passed.

        Raises:
            Busy: the server is away.
        """
        with self._asking():
            connection = self.connected()
            if connection is not self._listening:
                connection.execute("LISTEN tui_tasks")
                self._listening = connection
            for _ in connection.notifies(timeout=seconds, stop_after=1):
                pass

    def time(self) -> int:
        """Return the server's time of day, in microseconds since the epoch.

        Raises:
            Busy: it is away.
        """
        with self._asking():
            return int(only_row(self.connected().execute(_TIME))[0])

    def release(self) -> None:
        """End the transaction without effect."""
        connection = self._connection
        if connection is None:
            return
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            self.close()

    def append(
        self, head: tuple[int, bytes], entries: Sequence[Row], companions: Sequence[Row], now: int, passed: int
    ) -> int | None:
        """Append to the locked journal and commit; return the newest companion's number.

        Return None if the connection was lost and the entries were found on the server after all.

        Raises:
            Busy: nothing was written.
            RoleRefused: this role may not write such entries.
            OutcomeUnknown: the connection was lost, and whether the server committed could not be learned.
        """
        connection = self.connected()
        try:
            escape = psycopg.pq.Escaping(connection.pgconn).escape_literal
            parameters = team_server.appended(head, entries, companions, now, passed)
            return int(only_row(connection.execute(_APPEND % b", ".join(map(escape, parameters))))[0])
        except psycopg.Error as error:
            self._learn_outcome(error, entries)
            return None

    def append_next(
        self,
        head: tuple[int, bytes],
        number: int,
        entries: Sequence[Row],
        companions: Sequence[Row],
        now: int,
        passed: int,
    ) -> int | None:
        """Do as `append` does, without the lock; `number` is that of the newest companion that the replica has.

        Raises:
            WriteConflict: nothing was written: others have written or have the lock, or a clock has jumped.
            Busy, RoleRefused, OutcomeUnknown: as for `append`.
        """
        try:
            parameters = team_server.appended((*head, number, SCHEMA), entries, companions, now, passed)
            server_now = team_server.run_prepared(self.connected(), b"append_next", parameters)
        except psycopg.Error as error:
            self._learn_outcome(error, entries)
            return None
        if server_now is None:
            self.optimistic.note_conflict()
            raise WriteConflict
        self.optimistic.note_answer(server_now)
        return number + len(companions)

    def _learn_outcome(self, error: psycopg.Error, entries: Sequence[Row]) -> None:
        """Return if the entries were appended in spite of an error.

        Raises:
            Busy, RoleRefused, OutcomeUnknown: as for `append`.
        """
        # Only a statement that the server has refused leaves the connection whole, and its commit was not run.
        connection = self._connection
        is_lost = connection is None or connection.closed or isinstance(error, errors.OperationalError)
        self.close()
        if isinstance(error, errors.InsufficientPrivilege):
            raise RoleRefused(first_line(error)) from None
        if error.sqlstate == _GONE_ON:
            raise Busy("others have written meanwhile, and nothing was written: try again") from None
        if not is_lost:
            raise error
        if not self._was_appended(entries, first_line(error)):
            raise Busy(f"the connection to the server was lost, and nothing was written: {first_line(error)}") from None

    def _was_appended(self, entries: Sequence[Row], why: str) -> bool:
        """Return whether the server has the entries.

        The lock is taken first: the backend of the lost connection may still be committing.

        Raises:
            OutcomeUnknown: this cannot be learned in time.
        """
        deadline = time.monotonic() + OUTCOME_SECONDS
        while True:
            try:
                seq, hashed = (entries[-1][0], bytes(entries[-1][-1])) if entries else (0, b"")
                news = self.lock(seq, 1 << 62)
                return bool(entries) and news.head.seq >= seq and self.hash_at(seq) == hashed
            except Busy:
                if time.monotonic() > deadline:
                    raise OutcomeUnknown(
                        f"the connection to the server was lost during a commit ({why}). The change may be written "
                        "or not: send it again with its idempotency key"
                    ) from None
                time.sleep(0.05)
            finally:
                self.release()
