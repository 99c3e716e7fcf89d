"""An acknowledged write survives `kill -9` of any process at any instant.

Eight clients write through processes of their own (five `serve`, one with the screen, one `mcp`, one with `TodoTool`)
that are killed one by one or all at once: while they open, recover, commit, checkpoint. What was not answered is sent
again under the same key. Each round begins with no database, which is held to its invariants whenever all are dead.
(Schedulers and supervisors are killed at each of their steps by `tests/runner/test_scheduler_service.py`.)
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import selectors
import shutil
import signal
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.soak import todo_loop
from tests.soak.budget import Budget
from tests.soak.forked import Forked
from tests.soak.ledger import Author, Tally, Write
from tests.soak.soundness import found
from tui_tasks.cli import main

# Imported once here, so that what is forked need not.
for _name in (
    *("channel.loop", "state.hosting", "channel.session", "mcp_server.handlers"),
    *("cli.supervise.screen_program", "dialects.tool_table", "tui.app.task_app"),
):
    import_module(f"tui_tasks.{_name}")

KILLS = 10_000
A_ROUND = 250
PACE = 0.02
"""Seconds between two kills, on average."""
ALL_AT_ONCE = 0.04
PATIENCE = 60.0


class Client:
    """A client and its process: sends again what was not answered, keeps some requests in flight."""

    def __init__(self, folder: Path, name: str, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.author = Author(name, chance, keyed=self.has_keys)
        self.process: Forked | None = None
        self.flight = 1
        self.busy = 0
        self._held = b""

    has_keys = True
    ends_with = 0
    weight = 1.0
    """How often it is the one that is killed: what takes longer to start is to come to write too."""

    def start(self) -> Forked:
        options = ["--db", str(self.folder / "tasks.db"), "--agent", self.author.name, "--no-scheduler"]
        return Forked(partial(main.main, ["serve", *options]))

    def connect(self) -> None:
        self.process, self._held = self.start(), b""
        self.flight = self.chance.choice((1, 2, 4, 16))
        self.greet()

    def greet(self) -> None:
        """Send again what was not answered."""
        for write in self.author.waiting:
            self.send(write)

    def send(self, write: Write) -> None:
        assert self.process is not None
        self.process.send(write.line)

    def top_up(self) -> None:
        """Have as many requests on their way as may be."""
        while self.in_flight < self.flight:
            self.send(self.author.next())

    @property
    def in_flight(self) -> int:
        return len(self.author.waiting)

    def read(self) -> None:
        """Take in what the process has written."""
        assert self.process is not None
        data = os.read(self.process.output, 1 << 16)
        assert data, f"{self.author.name} ended by itself with {self.process.reap()}: {self.last_words()}"
        self.take(data)

    def take(self, data: bytes) -> None:
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            self.hear(json.loads(line))

    def hear(self, answer: Any) -> None:
        replies = answer if isinstance(answer, list) else [answer]
        if self.has_keys and any(not reply["ok"] and reply["error"]["code"] == "busy" for reply in replies):
            # On a machine with much else to do, eight can keep one waiting for too long.
            self.busy += 1
            self.send(self.author.try_again())
        else:
            self.author.heard(answer)

    def bury(self) -> int:
        """The process is dead or dying: what it had written counts, a line that it did not finish does not."""
        assert self.process is not None
        self.take(self.process.rest())
        status = self.process.reap()
        self.process = None
        return status

    def drain(self) -> None:
        """Take what is of no interest out of the way."""

    def last_words(self) -> str:
        """What it said of its end, where that went nowhere else."""
        return ""

    def end(self) -> int:
        """Let the process end in order; return its exit status."""
        assert self.process is not None
        self.process.close_input()
        return self.bury()

    def check(self) -> None:
        """Hold what is there against what only this client knows."""


class McpClient(Client):
    """The same over MCP, which has neither keys nor an order: one at a time, and never again."""

    has_keys = False

    def start(self) -> Forked:
        options = ["--db", str(self.folder / "tasks.db"), "--agent", self.author.name]
        return Forked(partial(main.main, ["mcp", *options]))

    def greet(self) -> None:
        self.flight = 1
        self.author.forget_waiting()
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        self._message(method="initialize", id="hello", params=hello)
        self._message(method="notifications/initialized")

    def _message(self, **message: Any) -> None:
        assert self.process is not None
        self.process.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def send(self, write: Write) -> None:
        params = {"name": write.value["tool"].replace(":", "_"), "arguments": write.value["args"]}
        self._message(method="tools/call", id=write.id, params=params)

    def hear(self, answer: Any) -> None:
        if answer["id"] == "hello":
            return
        write = next(write for write in self.author.waiting if write.id == answer["id"])
        self.author.waiting.remove(write)
        result = answer["result"]
        assert not result.get("isError"), answer
        held = result.get("structuredContent") or {}
        self.author.acknowledge(write, [held.get("result", held)], 0)


class ScreenClient(Client):
    """The screen on a pseudo-terminal, and the pipe beside it."""

    ends_with = 128 + signal.SIGTERM
    weight = 0.25

    def __init__(self, folder: Path, name: str, chance: random.Random) -> None:
        super().__init__(folder, name, chance)
        self._painted = b""
        self.terminal, self._slave = os.openpty()
        os.set_blocking(self.terminal, False)

    def start(self) -> Forked:
        options = ["--db", str(self.folder / "tasks.db"), "--agent", self.author.name, "--no-scheduler"]
        return Forked(partial(_on_terminal, os.ttyname(self._slave), options))

    def drain(self) -> None:
        """Read what was painted, for a terminal that nobody reads stops the screen."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.terminal, 1 << 16):
                self._painted = (self._painted + data)[-8_000:]

    def last_words(self) -> str:
        self.drain()
        return self._painted.decode(errors="replace")

    def end(self) -> int:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGTERM)
        return self.bury()


def _on_terminal(terminal: str, options: list[str]) -> int:
    os.setsid()
    # The leader of a session that opens a terminal has it for its own.
    os.dup2(os.open(terminal, os.O_RDWR), 2)
    return main.main(options)


class TodoClient(Client):
    """A program with `TodoTool`: each call replaces the list by three items of its number."""

    def __init__(self, folder: Path, name: str, chance: random.Random) -> None:
        super().__init__(folder, name, chance)
        self._sent = self._told = 0

    def start(self) -> Forked:
        return Forked(partial(todo_loop.main, str(self.folder)))

    def greet(self) -> None:
        self._sent = self._told

    def top_up(self) -> None:
        assert self.process is not None
        if self._sent == self._told:
            self._sent += 1
            self.process.send(b"%d\n" % self._sent)

    @property
    def in_flight(self) -> int:
        return self._sent - self._told

    def hear(self, answer: Any) -> None:
        assert answer["success"], answer
        self._told = self._sent
        self.author.done += 1

    def check(self) -> None:
        file = self.folder / "todos.json"
        if not self._told and not file.exists():
            return
        number = todo_loop.number_of(file.read_text())
        assert self._told <= number <= self._told + 1, f"todos.json has {number}, {self._told} was acknowledged"


class Round:
    """Eight clients on a new database, killed so many times."""

    def __init__(self, folder: Path, chance: random.Random, tally: Tally) -> None:
        self.folder = folder
        self.chance = chance
        self.tally = tally
        kinds = [Client] * 5 + [ScreenClient, McpClient, TodoClient]
        self.clients = [kind(folder, f"writer-{at}", random.Random(chance.random())) for at, kind in enumerate(kinds)]
        self.authors = [client.author for client in self.clients]

    def run(self, kills: int, budget: Budget) -> int:
        """Kill so many times, then let all finish; return the number of kills."""
        for client in self.clients:
            client.connect()
        done = 0
        while done < kills and not (done and budget.is_over):
            self._work(self.chance.expovariate(1 / PACE))
            if self.chance.random() < ALL_AT_ONCE:
                done += self._kill(self.clients)
                self._check()
            else:
                done += self._kill(self.chance.choices(self.clients, [client.weight for client in self.clients]))
        done += self._kill(self.clients)
        self._check()
        self._finish()
        return done

    def _work(self, seconds: float) -> None:
        """Let the clients write for a while; the clock runs from when they are all read dry."""
        with selectors.DefaultSelector() as selector:
            for client in self.clients:
                assert client.process is not None
                client.top_up()
                selector.register(client.process.output, selectors.EVENT_READ, client)
            deadline = time.monotonic() + seconds
            while (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    key.data.read()
                    key.data.top_up()
            for client in self.clients:
                client.drain()

    def _kill(self, clients: list[Client]) -> int:
        for client in clients:
            assert client.process is not None
            client.process.kill()
        for client in clients:
            assert client.bury() == -9, "it had ended by itself"
        if len(clients) == 1:
            clients[0].connect()
        return len(clients)

    def _check(self) -> None:
        """All are dead: look at what they left, then go on."""
        self.tally.check(self.authors, found(self.folder / "tasks.db", replay=False))
        for client in self.clients:
            client.check()
            client.connect()

    def _finish(self) -> None:
        """Have everything answered, end in order, and look once more, by the journal too."""
        deadline = time.monotonic() + PATIENCE
        for client in self.clients:
            while client.in_flight and not isinstance(client, McpClient):
                assert time.monotonic() < deadline, f"{client.author.name} waits for replies in vain"
                client.read()
            status = client.end()
            assert status == client.ends_with, f"{client.author.name} ended with {status}"
        self.tally.check(self.authors, found(self.folder / "tasks.db"))
        self.tally.close(self.authors)
        refused = [refusal["error"] for author in self.authors for refusal in author.refusals]
        assert not refused, refused[:3]


def soak(folder: Path, budget: Budget) -> str:
    chance = random.Random(7)
    tally = Tally()
    killed, repeats, busy = 0, 0, 0
    for _ in budget.times(KILLS // A_ROUND):
        place = folder / "round"
        round_ = Round(place, chance, tally)
        killed += round_.run(min(A_ROUND, budget.of(KILLS)), budget)
        repeats += sum(author.repeats for author in round_.authors)
        busy += sum(client.busy for client in round_.clients)
        shutil.rmtree(place)
    return (
        f"{killed:,} kills under 8 writers: {tally.acknowledged:,} writes acknowledged, {tally.lost} lost, "
        f"{tally.doubled} doubled ({repeats:,} were sent again on purpose, {busy} since they were told `busy`), "
        "invariants and integrity_check held"
    )
