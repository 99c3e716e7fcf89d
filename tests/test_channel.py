"""The channel at work on two pipes, where its storage or its clock cannot be had from a real process."""

import json
import os
import threading

import pytest

from tests.conftest import Clock
from tui_tasks.channel import Channel
from tui_tasks.core import queries
from tui_tasks.core.database import sqlite3
from tui_tasks.core.store import Store
from tui_tasks.dialects.base import Identity
from tui_tasks.dialects.table import TABLE
from tui_tasks.session import Session
from tui_tasks.watch import Watch


@pytest.fixture
def pipes(path):
    """A channel on its own thread: what writes to it, and what its replies are read from."""
    to_channel, requests = os.pipe()
    replies, from_channel = os.pipe()

    def serve() -> None:
        with Store(str(path)) as store:
            Channel(Session(store, TABLE, Identity(), Clock()), to_channel, from_channel).run()
        os.close(from_channel)

    serving = threading.Thread(target=serve)
    serving.start()
    with os.fdopen(requests, "wb", buffering=0) as writing, os.fdopen(replies, "rb") as reading:
        yield writing, reading
        writing.close()
        serving.join(30)
        assert not serving.is_alive()
    os.close(to_channel)


def ask(pipes, tool: str, **arguments) -> dict:
    writing, reading = pipes
    writing.write(json.dumps({"tool": tool, "arguments": arguments}).encode() + b"\n")
    return json.loads(reading.readline())


@pytest.mark.parametrize("broken", ["next_lapse", "agent"])
def test_a_disk_that_fails_is_told_and_when_it_is_back_service_goes_on(pipes, monkeypatch, broken):
    def fail(*_):
        raise sqlite3.OperationalError("disk I/O error")

    assert ask(pipes, "tasklist:add_task", name="one")["ok"]
    with monkeypatch.context() as failing:
        failing.setattr(queries, broken, fail)
        failing.setattr(Watch, "changed", lambda *_: True)
        for tool, arguments in (("tasklist:display", {}), ("tasklist:add_task", {"name": "two"})):
            error = ask(pipes, tool, **arguments)["error"]
            assert (error["code"], error["data"]) == ("storage_error", {"retryable": True})
    assert len(ask(pipes, "tasklist:display")["result"]) == 1
    assert ask(pipes, "tasklist:add_task", name="two")["ok"]
