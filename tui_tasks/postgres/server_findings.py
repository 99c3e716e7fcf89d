"""What `doctor` says of a server: whether this machine's replica is as its journal, and what else is wrong there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import psycopg

from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Busy, DatabaseRefused
from tui_tasks.postgres import companions, server_snapshots
from tui_tasks.postgres.journal_client import JournalClient
from tui_tasks.postgres.replica import Replica
from tui_tasks.postgres.replica_files import server_of
from tui_tasks.postgres.roles import LOCK
from tui_tasks.postgres.team_server import first_line, only_row, place, prepare
from tui_tasks.text.times import SECOND

AT_ONCE: Final = 100_000
"""So many of the newest entries are compared without being asked."""
WRONG: Final = 30 * SECOND
"""Microseconds by which two clocks may differ."""
_PAGE: Final = 5_000
_HEAD: Final = (
    "SELECT seq, hash, number, now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
    "(SELECT coalesce(min(seq), 0) FROM tui_tasks.journal) FROM tui_tasks.head"
)

Connection = psycopg.Connection[Any]


def compare(replica: Replica, now: int, *, whole: bool) -> Iterator[str]:
    """Yield one line about the server, then a sentence for each problem. `now`: in microseconds since the epoch.

    `whole`: compare all entries, which may take long; else the newest `AT_ONCE`.
    """
    mine = f"the replica of machine {replica.machine} is {replica.seconds_behind() or 0.0:.0f} s old"
    url, its_id = server_of(replica.path)
    client = JournalClient(url, its_id)
    try:
        connection = client.connected()
        yield f"{place(url)}: {_about(connection)}; {mine}"
        clocks = list(_clocks(connection, now))  # comparing the entries may take long
        yield from _differences(replica, connection, whole=whole)
        yield from clocks
    except (Busy, DatabaseRefused) as error:
        yield f"{place(url)}: not compared; {mine}"
        yield str(error)
    except psycopg.Error as error:
        yield f"{place(url)} cannot be read: {first_line(error)}"
    finally:
        client.close()


def _about(connection: Connection) -> str:
    database = prepare(connection)
    snapshot = server_snapshots.newest(connection)
    held = only_row(connection.execute(_HEAD))
    covered = "no snapshot" if snapshot is None else f"a snapshot at entry {snapshot[0].seq:,}"
    version = connection.info.parameter_status("server_version")
    return (
        f"PostgreSQL {version}, tables of version {database.schema}, entries {held[5]:,} to {held[0]:,}, {covered}, "
        f"{_rights(connection)}"
    )


def _rights(connection: Connection) -> str:
    writes = connection.execute("SELECT has_function_privilege(%s, 'EXECUTE')", (LOCK,)).fetchone()
    return f"role {connection.info.user} {'writes' if writes == (True,) else 'only reads'}"


def _differences(replica: Replica, connection: Connection, *, whole: bool) -> Iterator[str]:
    seq, different = _end_differs(replica, connection)
    if different and not replica.read_only:
        # A process of this machine commits on the server before it does here, with the write lock.
        with replica.transaction(write=True):
            seq, different = _end_differs(replica, connection)
    if different:
        yield different
    wrong = _first_other(replica, connection, 0 if whole else seq - AT_ONCE, seq)
    if wrong is not None:
        yield (
            f"entry {wrong:,} is not the same here and on the server: one of them was altered. Compare both with a "
            f"backup; see {_other_history(replica)}"
        )


def _end_differs(replica: Replica, connection: Connection) -> tuple[int, str]:
    """Return the newest entry that both have, and how the ends of both differ, if they do."""
    held = only_row(connection.execute(_HEAD))
    seq, hashed = journal.head(replica)
    newest, number = held[0], held[2]
    if seq > newest:
        more = seq - newest
        return newest, f"this machine's replica has {more:,} entries more than the server: the server was set back"
    if seq < newest:
        return seq, (
            f"this machine's replica lacks {newest - seq:,} entries of the server: it catches up when it is used"
        )
    if bytes(hashed) != bytes(held[1]):
        return seq, f"entry {seq:,} is another one on the server: see {_other_history(replica)}"
    if companions.number(replica) != number:
        lacks = "this machine's replica lacks replies or leases that the server has"
        return seq, f"{lacks}: see {_other_history(replica)}"
    return seq, ""


def _other_history(replica: Replica) -> str:
    return f"`tui-tasks help scale`; {replica.path} can be deleted, and is built again"


def _first_other(replica: Replica, connection: Connection, after: int, upto: int) -> int | None:
    """Return the first entry that both have and that is not the same in both."""
    page = f"WHERE seq > {{0}} AND seq <= {{0}} ORDER BY seq LIMIT {_PAGE}"
    there_ = f"SELECT {journal.COLUMN_NAMES} FROM tui_tasks.journal {page.format('%s')}"
    here_ = f"SELECT {journal.COLUMN_NAMES} FROM journal {page.format('?')}"
    after = max(after, journal.oldest(replica) - 1)
    while there := connection.execute(there_, (after, upto)).fetchall():
        here = {row[0]: (*row[:-1], bytes(row[-1])) for row in replica.sql(here_, (there[0][0] - 1, upto)).fetchall()}
        for row in there:
            if here.get(row[0]) != (*row[:-1], bytes(row[-1])):
                return int(row[0])
        after = there[-1][0]
    return None


def _clocks(connection: Connection, now: int) -> Iterator[str]:
    held = only_row(connection.execute(_HEAD))
    last, clock = held[3], held[4]
    if abs(clock - now) > WRONG:
        apart = timedelta(seconds=abs(clock - now) // SECOND)
        yield f"this machine's clock is {apart} {'behind' if now < clock else 'ahead of'} the server's: set one right"
    if last - clock > WRONG:
        ahead = timedelta(seconds=(last - clock) // SECOND)
        yield (
            f"the server gave times {ahead} ahead of its clock: entries get no earlier ones until then. If its clock "
            "is right now, run `UPDATE tui_tasks.head SET now = 0` there"
        )
