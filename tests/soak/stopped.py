"""One that stops stops nobody else: a reader, a writer within a transaction, a terminal, a closed pipe.

Replies are never dropped; writes that cannot be had say `busy`, and can be tried again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from pathlib import Path

from tests.soak.budget import Budget
from tests.soak.native import Faults, preloaded
from tests.soak.soundness import found
from tests.soak.speaking import Speaker, memory, program, serve
from tests.started import until
from tests.terminals import Terminal

UNREAD = 100_000
"""Requests of a client that does not read."""
STOPS = 40
CLOSED = 200
MAX_HELD = 24 << 20
"""What a process may grow by for a reader who stands still: a backlog of 1 MiB, and what SQLite caches."""
PATIENCE = 60.0


class Beside:
    """Another client at work on the same database, whose every request is served at once."""

    def __init__(self, database: Path) -> None:
        self._speaker = serve(database, "--agent", "beside")
        self.slowest = 0.0
        self.served = 0

    def read(self) -> float:
        """Read, and return how long that took."""
        began = time.monotonic()
        self._speaker.ok("tasklist:get_task_in_progress")
        return time.monotonic() - began

    def write(self) -> None:
        began = time.monotonic()
        self._speaker.ok("tasklist:add_task", name=f"beside {self.served}")
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.served += 1

    def end(self) -> None:
        assert self._speaker.end() == 0


def reader(folder: Path, budget: Budget) -> str:
    """A client that asks and hears events, and does not read."""
    database = folder / "reader" / "tasks.db"
    beside = Beside(database)
    with serve(database) as speaker:
        speaker.ok("control:subscribe", since=0)
        before = memory(speaker.pid)
        total = budget.of(UNREAD)
        lines = b"".join(
            json.dumps({"id": at, "tool": "tasklist:get_task_in_progress" if at % 10 else "tasklist:add_task",
                        "args": {} if at % 10 else {"name": f"unread {at}", "description": "x" * 300}}).encode() + b"\n"
            for at in range(total)
        )  # fmt: skip
        sending = threading.Thread(target=speaker.send, args=(lines,))
        sending.start()
        for _ in range(budget.of(2_000)):
            beside.write()
        held = memory(speaker.pid) - before
        lagged, ids = 0, []
        while len(ids) < total:
            value = speaker.hear()
            if "ok" in value:
                assert value["ok"], value
                ids.append(value["id"])
            else:
                lagged += value["event"] == "lagged"
        sending.join()
    beside.end()
    assert ids == list(range(total)), "a reply was dropped, or came in another place"
    assert held < MAX_HELD, f"{held:,} bytes held for a reader who stood still"
    texts = found(database, replay=False).texts
    assert all(texts[f"unread {at}"] == 1 for at in range(0, total, 10))
    return (
        f"a reader who stood still: {total:,} replies in order afterwards, {held / 2**20:.1f} MiB held, {lagged} times "
        f"told that it lagged; {beside.served:,} writes of another meanwhile, the slowest in {beside.slowest:.3f} s"
    )


def writer(folder: Path, budget: Budget) -> str:
    """SIGSTOP in the midst of a commit; then it goes on, or is killed."""
    database = folder / "writer" / "tasks.db"
    chance = random.Random(19)
    faults = Faults(folder / "writer-faults")
    env = preloaded(folder, database.parent, faults=faults.file)
    beside, other = Beside(database), serve(database, "--agent", "other")
    beside.write()
    monitor = Speaker(*program("watch", "--plain", "--db", database))
    assert b"Listening" in (monitor.line() or b"")
    speaker = serve(database, env=env)
    waits, reads = [], []
    for number in budget.times(STOPS):
        speaker.ok("tasklist:add_task", name=f"before {number}")
        faults.begin("write", match="-wal", skip=chance.randint(0, 8), times=1, action="stop")
        _stop_writing(speaker, f"stopped {number}")
        faults.end()
        reads.append(beside.read())
        waits.append(_refused_as_busy(other, number))
        reads.append(beside.read())
        if number % 2:
            os.kill(speaker.pid, signal.SIGCONT)
            assert speaker.hear()["ok"]
        else:
            speaker.kill()
            speaker = serve(database, env=env)
        other.ok("tasklist:add_task", {"idempotency_key": f"k{number}"}, name=f"other {number}")
        beside.write()
        _follow(monitor, f"beside {beside.served - 1}")
    for one in (speaker, other):
        assert one.end() == 0
    beside.end()
    monitor.kill()
    texts = found(database).texts
    assert all(texts[f"{who} {at}"] == 1 for who in ("before", "other") for at in range(len(waits)))
    return (
        f"a writer stopped within its commit {len(waits)} times: others read on (the slowest in {max(reads):.3f} s), "
        f"their writes were told `busy` after {max(waits):.1f} s at the most, and done at the second try"
    )


def _refused_as_busy(other: Speaker, number: int) -> float:
    """Have one write while another is stopped in a commit: how long it waited to be told so (s)."""
    began = time.monotonic()
    refused = other.ask("tasklist:add_task", {"idempotency_key": f"k{number}"}, name=f"other {number}")
    waited = time.monotonic() - began
    assert refused["error"]["code"] == "busy", refused
    assert refused["error"]["data"] == {"retryable": True}
    return waited


def _add(name: str) -> bytes:
    return json.dumps({"tool": "tasklist:add_task", "args": {"name": name}}).encode() + b"\n"


def _follow(monitor: Speaker, text: str) -> None:
    """Wait until a monitor tells of something."""
    while text.encode() not in (line := monitor.line() or b""):
        assert line, "the monitor has ended"


def _stop_writing(speaker: Speaker, name: str) -> None:
    """Have it write until it stops."""
    while not _is_stopped(speaker.pid):
        speaker.send(_add(name))
        until(lambda: _is_stopped(speaker.pid) or _has_line(speaker), "the writer to stop")


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def _has_line(speaker: Speaker) -> bool:
    """Whether it has answered; the answer is taken."""
    try:
        return speaker.line(0.0) is not None
    except TimeoutError:
        return False


def terminal(folder: Path, budget: Budget) -> str:
    """A terminal that takes no more: the pipe beside it is served as ever."""
    database = folder / "terminal" / "tasks.db"
    screen = Terminal([*program("--db", database, "--no-scheduler")])
    try:
        screen.wait_for(lambda: screen.shows("asks"))
        screen.stop_draining()
        assert screen.process.stdin is not None
        assert screen.process.stdout is not None
        total, slowest = budget.of(2_000, 200), 0.0
        for number in range(total):
            began = time.monotonic()
            screen.process.stdin.write(_add(f"shown {number}"))
            screen.process.stdin.flush()
            assert json.loads(screen.process.stdout.readline())["ok"]
            slowest = max(slowest, time.monotonic() - began)
    finally:
        screen.close()
    texts = found(database, replay=False).texts
    assert all(texts[f"shown {number}"] == 1 for number in range(total))
    return f"a terminal that takes no more: {total:,} writes through the pipe, the slowest in {slowest:.3f} s"


def closed(folder: Path, budget: Budget) -> str:
    """A client that goes without a word, its replies unread."""
    database = folder / "closed" / "tasks.db"
    chance = random.Random(23)
    beside = Beside(database)
    acknowledged, times = [], 0
    for number in budget.times(CLOSED, 3):
        speaker = serve(database)
        names = [f"gone {number}.{at}" for at in range(200)]
        for name in names:
            speaker.send(_add(name))
        for name in names[: chance.randint(0, 20)]:
            assert speaker.hear()["ok"]
            acknowledged.append(name)
        pipes = [speaker.process.stdin, speaker.process.stdout]
        chance.shuffle(pipes)
        for pipe in pipes:
            assert pipe is not None
            pipe.close()
        assert speaker.process.wait(PATIENCE) == 0
        beside.write()
        times += 1
    beside.end()
    texts = found(database, replay=False).texts
    assert all(texts[name] == 1 for name in acknowledged)
    return (
        f"{times} clients that closed their pipes: each process ended in order, {len(acknowledged)} acknowledged kept"
    )


def soak(folder: Path, budget: Budget) -> str:
    return "; ".join(part(folder, budget) for part in (reader, writer, terminal, closed))
