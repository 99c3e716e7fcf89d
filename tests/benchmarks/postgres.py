"""A team's server, as the program appends to it, against a bare loop of psycopg that inserts and commits the same.

The cluster is private, on this machine, with its writes synced to the disk. Without PostgreSQL nothing is measured.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from tests.benchmarks import postgres_machines, yardstick
from tests.benchmarks.figures import Figure, Place
from tests.postgres.cluster import Cluster, Unavailable
from tests.postgres.journal_writer import entries
from tui_tasks.core.errors import WriteConflict
from tui_tasks.postgres.journal_client import JournalClient
from tui_tasks.postgres.team_server import server_id

ROUNDS: Final = 5
FLIGHT: Final = 64
WRITERS: Final = 8
_DURABLE: Final = {"fsync": "on", "full_page_writes": "on", "autovacuum": "on"}
_TASK: Final = {"new": '{"name":"a task\'s name","description":"what is to be done there"}' + " " * 600, "image": "{}"}
_INSERT: Final = f"INSERT INTO bare VALUES ({', '.join(['%s'] * 14)})"

Connection = psycopg.Connection[Any]


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    try:
        cluster = Cluster.make(**_DURABLE)
    except Unavailable as error:
        print(f"postgres: not measured: {error}", file=sys.stderr)
        return
    try:
        yield from _measured(cluster, place.seconds(2.0))
        yield from postgres_machines.measure(cluster, place)
    finally:
        cluster.release()


def _measured(cluster: Cluster, seconds: float) -> Iterator[Figure]:
    with (
        cluster.database() as name,
        contextlib.closing(_Writer(cluster.conninfo(name))) as ours,
        psycopg.connect(cluster.conninfo(name)) as bare,
    ):
        bare.execute("CREATE TABLE bare (LIKE tui_tasks.journal INCLUDING ALL)")
        bare.commit()
        alone, one, many = [], [], []
        for _ in range(ROUNDS):
            alone.append(_bare(bare, seconds))
            one.append(_appends(ours, 1, seconds))
            many.append(_appends(ours, FLIGHT, seconds))
        loop, middle = statistics.median(alone), statistics.median
        what, against = "entries appended to a server", "a bare insert and commit of each"
        ratio = middle(each / theirs for each, theirs in zip(one, alone, strict=True))
        yield Figure(f"{what}, one in flight", against, ratio * loop, loop, "1/s", 0.7, "higher")
        ratio = middle(each / theirs for each, theirs in zip(many, alone, strict=True))
        yield Figure(f"{what}, {FLIGHT} in flight", against, ratio * loop, loop, "1/s", 4.0, "higher")
        took = _in_turn(cluster, name, seconds)
        yield Figure(
            f"{WRITERS} writers at once: an append, p99", "50 ms", yardstick.p(took, 99) * 1000, 50, "ms", 1, "lower"
        )


def _bare(connection: Connection, seconds: float) -> float:
    row = connection.execute("SELECT coalesce(max(seq), 0) FROM bare").fetchone()
    assert row is not None
    head = (row[0], b"")
    # Entries are made beforehand: what is measured is the server.
    rows = entries(head, *[_TASK] * int(seconds * 20_000))
    begin = time.perf_counter()
    done = 0
    for each in rows:
        connection.execute(_INSERT, each)
        connection.commit()
        done += 1
        if time.perf_counter() - begin > seconds:
            break
    return done / (time.perf_counter() - begin)


class _Writer:
    """A machine as the program writes: what others have written comes with the lock, if it is taken."""

    def __init__(self, url: str) -> None:
        self._client = JournalClient(url, server_id(url))
        self._head = (0, b"")

    def append(self, count: int) -> None:
        """Append entries in one transaction."""
        now = self._client.optimistic_time()
        if now is not None:
            rows = entries(self._head, *[_TASK] * count)
            with contextlib.suppress(WriteConflict):
                self._client.append_next(self._head, 0, rows, [], now, 0)
                self._head = rows[-1][0], rows[-1][-1]
                return
        news = self._client.lock(self._head[0], 0)
        while not news.is_complete:
            self._client.release()
            newest = self._client.news(self._head[0], 0).entries[-1]
            self._head = newest[0], newest[-1]
            news = self._client.lock(self._head[0], 0)
        head = news.head.seq, bytes(news.head.hash)
        rows = entries(head, *[_TASK] * count)
        self._client.append(head, rows, [], news.head.now, news.head.passed)
        self._head = rows[-1][0], rows[-1][-1]

    def close(self) -> None:
        self._client.close()


def _appends(writer: _Writer, count: int, seconds: float) -> float:
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        writer.append(count)
        done += count
    return done / (time.perf_counter() - begin)


def _in_turn(cluster: Cluster, name: str, seconds: float) -> list[float]:
    """Return how long each append of several processes took; threads would wait for one another's interpreter."""
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(WRITERS) as pool:
        each = pool.starmap(_times, [(cluster.conninfo(name), seconds)] * WRITERS, 1)
    return [second for took in each for second in took]


def _times(url: str, seconds: float) -> list[float]:
    took: list[float] = []
    with contextlib.closing(_Writer(url)) as writer:
        writer.append(1)
        end = time.perf_counter() + seconds
        while (at := time.perf_counter()) < end:
            writer.append(1)
            took.append(time.perf_counter() - at)
    return took
