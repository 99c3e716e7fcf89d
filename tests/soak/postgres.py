"""Two machines with two agents each on one server, while clients are killed and stopped and the server crashes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.contract.client import ROOT
from tests.soak.budget import Budget
from tests.soak.native import NotHere
from tests.started import Started

_WRITER = """
import sys, time
from tui_tasks.state.state import ToolError, open_state
url, agent, path = sys.argv[1:]
with open(path) as done:
    number = len(done.read().split())
with open(path, "a", buffering=1) as done:
    while True:
        try:
            with open_state(url, agent=agent) as state:
                while True:
                    state.call("tasklist:add_task", {"name": f"{agent} {number}"}, idempotency_key=str(number))
                    done.write(f"{number}\\n")
                    number += 1
        except ToolError as error:
            if error.code not in ("busy", "unknown"):
                raise
            time.sleep(0.05)
"""


def soak(folder: Path, budget: Budget) -> str:
    try:
        from tests.postgres.cluster import Cluster, Unavailable
    except ImportError as error:
        raise NotHere(f"{error.name} is not installed") from None
    try:
        cluster = Cluster.make()
    except Unavailable as error:
        raise NotHere(str(error)) from None
    try:
        with cluster.database() as name:
            return _soak(folder, budget, cluster, cluster.conninfo(name))
    finally:
        cluster.release()


def _soak(folder: Path, budget: Budget, cluster, url: str) -> str:
    chance = random.Random(30)
    # A machine that does not know the server yet needs it to be there.
    _replicas(folder, url)
    writers = [_started(folder, url, number) for number in range(4)]
    kills = stops = crashes = 0
    for _ in budget.times(2_000, least=12):
        time.sleep(chance.uniform(0.3, 1.0))
        number = chance.randrange(4)
        fault = chance.random()
        for at, writer in enumerate(writers):
            assert writer.poll() is None, (
                f"a writer has ended by itself: {(folder / f'errors{at}').read_text()[-2000:]}"
            )
        if fault < 0.5:
            writers[number].end()
            writers[number] = _started(folder, url, number)
            kills += 1
        elif fault < 0.75:
            writers[number].send_signal(signal.SIGSTOP)
            time.sleep(chance.uniform(0.5, 3.0))
            writers[number].send_signal(signal.SIGCONT)
            stops += 1
        else:
            cluster.restart("immediate")
            crashes += 1
    for writer in writers:
        writer.end()
    acknowledged = {
        f"agent{number} {line}" for number in range(4) for line in (folder / f"done{number}").read_text().split()
    }
    there, digests = _replicas(folder, url)
    lost = len(acknowledged.difference(there))
    doubled = len(there) - len(set(there))
    assert acknowledged, "nothing was written"
    assert (lost, doubled) == (0, 0), (lost, doubled)
    assert digests[0] == digests[1], "the replicas differ"
    return (
        f"{len(acknowledged):,} acknowledged, {kills} kills, {stops} stops and {crashes} crashes of the server: "
        "0 lost, 0 doubled, equal replicas"
    )


def _environment(folder: Path, number: int) -> dict[str, str]:
    named = {"XDG_STATE_HOME": str(folder / f"machine{number % 2}"), "TUI_TASKS_CONFIG": str(folder / "none.toml")}
    return {**os.environ, **named}


def _started(folder: Path, url: str, number: int) -> Started:
    done = folder / f"done{number}"
    done.touch()
    command = [sys.executable, "-c", _WRITER, url, f"agent{number}", str(done)]
    # It says at each start how old its replica is, where the server is just away.
    with (folder / f"errors{number}").open("ab") as errors:
        return Started(command, cwd=ROOT, env=_environment(folder, number), stderr=errors)


def _replicas(folder: Path, url: str) -> tuple[list[str], list[str]]:
    """Return the names of the tasks, and the hash of each machine's replica."""
    from tests.postgres.machines import digest, names
    from tui_tasks.state.state import open_state

    found: list[str] = []
    digests = []
    for number in range(2):
        before = dict(os.environ)
        os.environ.update(_environment(folder, number))
        try:
            with contextlib.closing(open_state(url, agent="reader")) as state:
                found = names(state)
                digests.append(digest(state._session.store.path))
        finally:
            os.environ.clear()
            os.environ.update(before)
    return found, digests
