"""Two machines on a team's server, each a process with a replica of its own: how soon one sees what the other writes,
and how long a new one takes to begin.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg

from tests.benchmarks import yardstick
from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.painted import Painted, first_tasks
from tests.postgres.cluster import Cluster
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.store import Store
from tui_tasks.postgres import moving, no_report
from tui_tasks.postgres.replica_files import replica_of

SAMPLES: Final = 500
TASKS: Final = 1_000


def measure(cluster: Cluster, place: Place) -> Iterator[Figure]:
    """What machines take on a cluster."""
    took = list(_commits(cluster, place))
    what = "a commit on one machine, painted on another, p99"
    yield Figure(what, "50 ms", yardstick.p(took, 99), 50, "ms", 1.0, "lower")
    seconds = _new_replica(cluster, place)
    yield Figure(f"a new replica of {place.many:,} tasks, from a snapshot", "1 min", seconds, 60, "s", 1.0, "lower")


def _commits(cluster: Cluster, place: Place) -> Iterator[float]:
    """Yield the milliseconds from a commit here until another machine's screen has painted it."""
    chance = random.Random(1)
    with _moved(cluster, place, TASKS) as url:
        command = [sys.executable, "-m", "tui_tasks", "--db", url, "--no-scheduler"]
        there = _machine(place, "there")
        with _state_in(there), contextlib.closing(Store(replica_of(url))) as first:
            first.db.catch_up()
        with (
            _state_in(there),
            Painted(command, place.folder, b"Quit") as screen,
            _state_in(_machine(place, "here")),
            contextlib.closing(Store(replica_of(url))) as store,
        ):
            store.db.catch_up()
            screen.stand(1.0)
            uids = first_tasks(store, 20)
            for number in range(place.times(SAMPLES)):
                screen.drain(chance.uniform(0.05, 0.15))
                # Only changed cells are painted: it differs from what stood in its row in every letter.
                name = "".join(chr(ord("A") + (number + letter) % 26) for letter in range(12))
                edit = EditTask(uids[number % len(uids)], {"name": name})
                store.commit(edit, actor="writer", now=time.time_ns() // 1000)
                begin = time.perf_counter()
                yield (screen.wait_for(name.encode()) - begin) * 1000


def _new_replica(cluster: Cluster, place: Place) -> float:
    """Return the seconds that the first command of a new machine takes, which fetches the snapshot."""
    with _moved(cluster, place, place.many) as url:
        environment = {**os.environ, "XDG_STATE_HOME": str(_machine(place, "new")), "TUI_TASKS_CONFIG": os.devnull}
        begin = time.perf_counter()
        command = [sys.executable, "-m", "tui_tasks", "agents", "--read-only", "--db", url]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


@contextlib.contextmanager
def _moved(cluster: Cluster, place: Place, tasks: int) -> Iterator[str]:
    """Have a server with a list of so many tasks; yield its URL."""
    with cluster.database() as name:
        connection: Any = psycopg.connect(cluster.conninfo(name), autocommit=True)
        with contextlib.closing(connection):
            moving.to_server(place.filled(tasks), connection, no_report)
        yield cluster.conninfo(name)


def _machine(place: Place, name: str) -> Path:
    folder = place.folder / name
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.contextmanager
def _state_in(folder: Path) -> Iterator[None]:
    """Have the replicas of what is opened or started in a folder."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("XDG_STATE_HOME")
        if before is not None:
            os.environ["XDG_STATE_HOME"] = before
