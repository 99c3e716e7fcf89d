"""Status changes, logs and reads through `serve`, against the same work in bare sqlite3 on the same rows."""

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.serve import Make, Serve, line, many_in_flight
from tui_tasks.core.engine.driver import connect

TASKS: Final = 1_000
ROUNDS: Final = 5
FLIGHT: Final = 64
WANTED: Final = 0.4
_TASK: Final = "uid, name, description, status"


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    path = place.folder / "reads.db"
    serve = Serve(path)
    serve.send(b"".join(line("tasklist:add_task", name=f"task {n}", description="to be done") for n in range(TASKS)))
    uids = [json.loads(reply)["result"]["uid"] for reply in serve.replies(TASKS).split(b"\n")]
    bare = Bare(path, uids)
    yield from _compared(place, serve, _each_done_and_undone(uids), bare.change, "status changes")
    yield from _compared(
        place, serve, _each(uids, "tasklist:log_task_progress", message="done so far"), bare.log, "logs"
    )
    yield from _compared(place, serve, _each(uids, "tasklist:get_task"), bare.read, "reads by uid")
    display = line("tasklist:display")
    yield from _compared(place, serve, lambda: display, bare.display, f"`display` of {TASKS:,} tasks")
    serve.close()
    bare.close()


def _each(uids: list[str], tool: str, **arguments: Any) -> Make:
    return itertools.cycle([line(tool, uid=uid, **arguments) for uid in uids]).__next__


def _each_done_and_undone(uids: list[str]) -> Make:
    tools = ("tasklist:set_task_done", "tasklist:set_task_pending")
    return itertools.cycle([line(tool, uid=uid) for tool in tools for uid in uids]).__next__


def _compared(place: Place, serve: Serve, make: Make, bare: Callable[[], object], what: str) -> Iterator[Figure]:
    """In turn, as the disk's mood changes by the second; the median of the ratios counts."""
    seconds = place.seconds(1.0)
    many_in_flight(serve, make, seconds / 5, FLIGHT)
    loops = [_rate(bare, seconds / 5)]
    ratios = []
    for _ in range(ROUNDS):
        loops.append(_rate(bare, seconds))
        ratios.append(many_in_flight(serve, make, seconds, FLIGHT) / loops[-1])
    loop = statistics.median(loops[1:])
    ours = statistics.median(ratios) * loop
    yield Figure(f"{what} through `serve`, {FLIGHT} in flight", "bare sqlite3", ours, loop, "1/s", WANTED, "higher")


def _rate(do: Callable[[], object], seconds: float) -> float:
    """How often a second something can be done."""
    done = 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        do()
        done += 1
    return done / (time.perf_counter() - begin)


class Bare:
    """A copy of a database of ours, driven with plain SQL: each write is a durable transaction with a journal."""

    def __init__(self, path: Path, uids: list[str]) -> None:
        copy = path.with_name("bare-reads.db")
        source = connect(path)
        self._db = connect(copy)
        source.backup(self._db)
        source.close()
        self._db.execute("PRAGMA journal_mode = wal")
        self._db.execute("PRAGMA synchronous = full")
        self._db.execute("PRAGMA wal_autocheckpoint = 4000")
        self._db.execute("CREATE TABLE told (id INTEGER PRIMARY KEY, at REAL, uid TEXT, kind TEXT, old TEXT, new TEXT)")
        self._next = itertools.cycle(uids).__next__
        self._status = itertools.cycle(["done"] * len(uids) + ["pending"] * len(uids)).__next__
        self._log = itertools.count(1_000_000).__next__

    def change(self) -> None:
        """Set a task's status, and tell of it."""
        uid, status = self._next(), self._status()
        run = self._db.execute
        run("BEGIN IMMEDIATE")
        task = run(f"SELECT {_TASK}, version FROM task WHERE uid = ?", (uid,)).fetchone()
        run("UPDATE task SET status = ?, version = ?, updated_at = ? WHERE uid = ?", (status, task[4] + 1, 1, uid))
        self._tell(uid, "task.updated", {"status": task[3]}, {"status": status})
        run("COMMIT")
        json.dumps({"uid": uid, "name": task[1], "description": task[2], "status": status})

    def log(self) -> None:
        """Add a log entry, and tell of it."""
        uid, number = self._next(), self._log()
        run = self._db.execute
        run("BEGIN IMMEDIATE")
        run(f"SELECT {_TASK} FROM task WHERE uid = ?", (uid,)).fetchone()
        values = (number, str(number), uid, 1, "agent", "done so far", 0)
        run("INSERT INTO log (id, uid, task_uid, at, agent, message, deleted) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        run("UPDATE task SET version = version + 1, updated_at = ? WHERE uid = ?", (1, uid))
        self._tell(uid, "task.logged", None, {"message": "done so far"})
        run("COMMIT")
        json.dumps({"timestamp": "2025-01-02 11:23:54", "message": "done so far"})

    def _tell(self, uid: str, kind: str, old: Any, new: Any) -> None:
        values = (time.time(), uid, kind, json.dumps(old), json.dumps(new))
        self._db.execute("INSERT INTO told (at, uid, kind, old, new) VALUES (?, ?, ?, ?, ?)", values)

    def read(self) -> str:
        """A task as JSON."""
        row = self._db.execute(f"SELECT {_TASK} FROM task WHERE uid = ?", (self._next(),)).fetchone()
        return json.dumps(dict(zip(_TASK.split(", "), row, strict=True)))

    def display(self) -> str:
        """Every task as JSON, in order."""
        rows = self._db.execute(f"SELECT {_TASK} FROM task WHERE list_id = 1 AND deleted = 0 ORDER BY rank").fetchall()
        names = _TASK.split(", ")
        return json.dumps([dict(zip(names, row, strict=True)) for row in rows])

    def close(self) -> None:
        """Close it."""
        self._db.close()
