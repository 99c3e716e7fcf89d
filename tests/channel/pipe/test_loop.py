"""The channel at work on two pipes, where its storage or its clock cannot be had from a real process."""

import fcntl
import itertools
import json
import os
import select
import socket
import threading

import pytest

from tests.conftest import Clock
from tests.started import DEADLINE
from tui_tasks.channel import loop
from tui_tasks.channel.loop import ControlChannel
from tui_tasks.channel.session import Session
from tui_tasks.channel.waits import Waits
from tui_tasks.core.commit import journal
from tui_tasks.core.engine import commit_watch
from tui_tasks.core.engine.database import Database, sqlite3
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.operations.work import StartWork
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import TABLE


@pytest.fixture
def pipes(path):
    """A channel on its own thread: what writes to it, and what its replies are read from, with room for a lot."""
    to_channel, requests = os.pipe()
    replies, from_channel = os.pipe()
    fcntl.fcntl(replies, fcntl.F_SETPIPE_SZ, 1024 * 1024)

    def serve() -> None:
        with Store(str(path)) as store:
            ControlChannel(Session(store, TABLE, Identity(), Clock()), to_channel, from_channel).run()
        os.close(from_channel)

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    with os.fdopen(requests, "wb") as writing, os.fdopen(replies, "rb") as reading:
        yield writing, reading
        writing.close()
        serving.join(DEADLINE)
        assert not serving.is_alive()
    os.close(to_channel)


def ask(pipes, tool: str, **arguments) -> dict:
    writing, reading = pipes
    writing.write(json.dumps({"tool": tool, "arguments": arguments}).encode() + b"\n")
    writing.flush()
    return json.loads(reading.readline())


def test_a_lease_of_a_year_does_not_end_the_channel(path, pipes, monkeypatch):
    monkeypatch.setattr(loop, "AWAKE_SECONDS", -1.0)
    now = Clock()()
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="human", now=now)
        (task,) = store.commit(AddTask("Rotate keys", home.uid), actor="human", now=now)
        store.commit(StartWork(task.uid, "robot", "/repo", "/trees/1"), actor="human", now=now)
    for _ in range(2):
        assert ask(pipes, "tasklist:display")["ok"]


def test_a_long_past_is_told_without_waiting_for_anything_new(pipes, monkeypatch):
    # Nobody looks for commits again until long after this test.
    monkeypatch.setattr(commit_watch, "SAFETY_NET", 3600.0)
    writing, reading = pipes
    for _ in range(4):
        batch = [{"tool": "tasklist:add_task", "arguments": {"name": "n" * 300}}] * 500
        writing.write(json.dumps(batch).encode() + b"\n")
        writing.flush()
        assert len(json.loads(reading.readline())) == 500
    writing.write(b'{"tool": "control:subscribe", "arguments": {"since": 0}}\n')
    writing.flush()
    assert json.loads(reading.readline())["ok"]
    told = reading.read1().count(b"\n") if reading.peek() else 0
    while told < 2_000:
        ready, _, _ = select.select([reading], [], [], DEADLINE)
        assert ready, f"nothing more came after {told}"
        told += reading.read1(65536).count(b"\n")
    assert told == 2_000


def test_an_event_of_another_process_is_told_when_it_is_committed_not_at_the_next_look(path, pipes, monkeypatch):
    monkeypatch.setattr(commit_watch, "SAFETY_NET", 3600.0)
    # A busy disk may take seconds from the write of a commit to its sync.
    monkeypatch.setattr(commit_watch, "LADDER", (*commit_watch.LADDER, 1.0, 3.0, 10.0, 30.0))
    assert ask(pipes, "control:subscribe")["ok"]
    with Store(str(path)) as other:
        for number in range(3):
            other.commit(EnsureList(str(number), "task"), actor="human", now=Clock()())
            _, reading = pipes
            assert select.select([reading], [], [], DEADLINE)[0]
            assert json.loads(reading.readline())["event"] == "list.created"


@pytest.mark.parametrize("broken", [(Database, "_begin"), (journal, "head")])
def test_a_disk_that_fails_is_told_and_when_it_is_back_service_goes_on(pipes, monkeypatch, broken):
    def fail(*_):
        raise sqlite3.OperationalError("disk I/O error")

    assert ask(pipes, "tasklist:add_task", name="one")["ok"]
    with monkeypatch.context() as failing:
        failing.setattr(*broken, fail)
        failing.setattr(commit_watch.Watch, "changed", lambda *_: True)
        for tool, arguments in (("tasklist:display", {}), ("tasklist:add_task", {"name": "two"})):
            error = ask(pipes, tool, **arguments)["error"]
            assert (error["code"], error["data"]) == ("storage_error", {"retryable": True})
    assert len(ask(pipes, "tasklist:display")["result"]) == 1
    assert ask(pipes, "tasklist:add_task", name="two")["ok"]


@pytest.fixture
def sockets(path):
    """A channel on one socket, as programs get it that start others with sockets for pipes."""
    ours, theirs = socket.socketpair()
    ended = []

    def serve() -> None:
        with Store(str(path)) as store:
            ControlChannel(Session(store, TABLE, Identity(), Clock()), theirs.fileno(), theirs.fileno()).run()
        ended.append(True)

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    yield ours
    ours.close()
    serving.join(DEADLINE)
    theirs.close()
    assert ended == [True]


def test_a_program_that_ends_with_a_reply_unread_is_the_end_of_the_input(sockets):
    sockets.sendall(b'{"tool": "tasklist:display"}\n')
    assert select.select([sockets], [], [], DEADLINE)[0]
    assert sockets.recv(4096, socket.MSG_PEEK).endswith(b"\n")


def test_a_stop_that_comes_after_the_end_writes_nowhere(path, tmp_path):
    read_from, write_to = os.pipe()
    os.close(write_to)
    with Store(str(path)) as store, (tmp_path / "replies").open("wb") as replies:
        channel = ControlChannel(Session(store, TABLE, Identity(), Clock()), read_from, replies.fileno())
        channel.run()
        # As many as were closed, so that one of them has the number of the pipe that woke the channel.
        files = [(tmp_path / str(number)).open("w+b") for number in range(4)]
        channel.stop()
        for file in files:
            file.close()
    assert [(tmp_path / str(number)).read_bytes() for number in range(4)] == [b""] * 4
    os.close(read_from)


def test_while_the_replies_stand_unread_no_more_requests_are_taken(pipes):
    writing, reading = pipes
    ask(pipes, "tasklist:add_task", name="long", description="x" * 100_000)
    line = json.dumps({"tool": "tasklist:display", "ignored": "x" * 20_000}).encode() + b"\n"
    os.set_blocking(writing.fileno(), False)
    requests, sent = line * 300, 0
    while sent < len(requests) and select.select([], [writing], [], 2)[1]:
        sent += os.write(writing.fileno(), requests[sent : sent + 65_536])
    assert sent < 60 * len(line), "requests are taken though 30 MB of replies would have to be held"
    os.set_blocking(writing.fileno(), True)
    rest = threading.Thread(target=lambda: (writing.write(requests[sent:]), writing.flush()), daemon=True)
    rest.start()
    for _ in range(300):
        assert json.loads(reading.readline())["ok"]
    rest.join(DEADLINE)


def test_requests_that_come_while_others_are_read_share_their_commit(path, tmp_path):
    add = b'{"tool": "tasklist:add_task", "arguments": {"name": "a"}}\n'
    to_channel, requests = os.pipe()
    instants, late = itertools.count(), []

    def clock() -> int:
        """Advance at each call; the first one during `run` is for the arguments of the first request."""
        if late:
            os.write(requests, late.pop())
            os.close(requests)
        return next(instants)

    with Store(str(path)) as store, (tmp_path / "replies").open("wb") as replies:
        channel = ControlChannel(Session(store, TABLE, Identity(), clock), to_channel, replies.fileno())
        os.write(requests, add * 2)
        late.append(add)
        channel.run()
        made = [entry.at for entry in journal.since(store.db, 0, 100) if entry.kind == "task.created"]
    os.close(to_channel)
    assert len(made) == 3
    assert len(set(made)) == 1, "a transaction has one instant"


def test_waits_are_looked_at_once_for_a_commit_of_another_and_answered_by_it(path, tmp_path, monkeypatch):
    monkeypatch.setattr(commit_watch, "LADDER", (0.0001, 0.001, 0.002))
    monkeypatch.setattr(commit_watch, "SAFETY_NET", 0.001)
    to_channel, requests = os.pipe()
    looks, turns = [], 10

    def counted(waits: Waits, *, ending: bool) -> list:
        looks.append(len(waits._waiting))
        return settled(waits, ending=ending)

    settled = Waits.settle
    monkeypatch.setattr(Waits, "settle", counted)
    with Store(str(path)) as store, Store(str(path)) as other, (tmp_path / "replies").open("wb+") as replies:
        channel = ControlChannel(Session(store, TABLE, Identity(), Clock()), to_channel, replies.fileno())
        question = {"tool": "ask", "args": {"question": "Which one?"}}
        os.write(requests, b"".join(json.dumps(question | {"id": at}).encode() + b"\n" for at in range(3)))
        for _ in range(turns):
            channel._turn()
        # The last for its own requests: when the watch begins, others may have written before.
        assert looks in ([3], [3, 3])
        looks.clear()
        other.commit(EnsureList("another", "task"), actor="human", now=Clock()())
        for _ in range(turns):
            channel._turn()
        assert looks == [3]
        asked = ask_queries.open_asks(other.db)
        other.commit(AnswerAsk(asked[1].uid, "This one"), actor="human", now=Clock()())
        for _ in range(turns):
            channel._turn()
        # Once more after the reply, as the end of one wait may end another.
        assert looks == [3, 3, 2]
        replies.seek(0)
        (reply,) = map(json.loads, replies.read().splitlines())
        assert (reply["id"], reply["result"]["answer"]) == (1, "This one")
    os.close(to_channel)
    os.close(requests)
