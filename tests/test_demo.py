"""The scripted agent of `tui-tasks demo`, with a real `serve` for the screen that it speaks to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.client import environment, program
from tui_tasks import demo
from tui_tasks.core.operations import PauseAgent, ResumeAgent
from tui_tasks.core.store import Store

AT_ONCE = [sys.executable, "-c", "from tui_tasks import demo; demo.PACE = 0; demo._agent()"]


class Between:
    """Passes on the agent's requests, and what it gets for them, line by line."""

    def __init__(self, db: Path) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        pipes["env"] = environment(db.parent)
        self.agent = subprocess.Popen(AT_ONCE, **pipes)
        self.serve = subprocess.Popen(program("serve", "--no-scheduler", "--db", str(db)), **pipes)

    def request(self) -> dict[str, Any]:
        """Pass on the agent's next request."""
        line = self.agent.stdout.readline()
        assert line, "the agent has ended"
        self.serve.stdin.write(line)
        return json.loads(line)

    def hear(self, name: str, value: object) -> dict[str, Any]:
        """Pass on what comes, up to the line in which `name` is that value."""
        while True:
            line = self.serve.stdout.readline()
            assert line, "the channel has ended"
            self.agent.stdin.write(line)
            heard = json.loads(line)
            if heard.get(name) == value:
                return heard

    def end(self) -> None:
        for process in (self.agent, self.serve):
            process.kill()
            process.communicate()


@pytest.fixture
def between(path: Path) -> Iterator[Between]:
    with Store(str(path)):
        pass
    made = Between(path)
    yield made
    made.end()


def test_an_agent_that_is_paused_waits_and_goes_on_where_it_was(between: Between, path: Path) -> None:
    for _ in range(2):
        between.hear("id", between.request()["id"])
    with Store(str(path)) as store:
        store.commit(PauseAgent(demo.NAME, "lunch"), actor="human", now=1)
        refused = between.request()
        assert between.hear("id", refused["id"])["error"]["code"] == "paused"
        store.commit(ResumeAgent(demo.NAME), actor="human", now=2)
    between.hear("event", "agent.resumed")
    assert between.request() == refused
    assert between.hear("id", refused["id"])["result"]["name"] == refused["args"]["name"]
    assert between.request()["args"]["name"] != refused["args"]["name"]
