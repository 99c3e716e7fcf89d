"""The scripted agent of `tui-tasks demo`, with a real `serve` for the screen that it speaks to."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Talk
from tests.contract.client import environment, program
from tests.started import DEADLINE, Started
from tests.terminals import Terminal
from tui_tasks.cli.supervise import demo
from tui_tasks.core.operations.asks import PauseAgent, ResumeAgent
from tui_tasks.core.operations.tasks import DeleteTask
from tui_tasks.core.read import ask_queries, job_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store

AT_ONCE = [sys.executable, "-c", "from tui_tasks.cli.supervise import demo; demo.PACE = 0; demo._agent()"]


class Between:
    """Passes on the agent's requests, and what it gets for them, line by line."""

    def __init__(self, db: Path) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        pipes["env"] = environment(db.parent)
        self.agent = Started(AT_ONCE, **pipes)
        self.serve = Started(program("serve", "--no-scheduler", "--db", str(db)), **pipes)

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


def test_the_script_shows_each_thing_that_there_is_and_nothing_in_it_is_refused(talk: Talk) -> None:
    replies: list[dict[str, Any]] = []

    def send(tool: str, *, wait: bool = True, why: str = "", **arguments: Any) -> Any:
        lines = talk.lines({"tool": tool, "args": arguments, "agent": demo.NAME, "thoughts": [why]})
        replies.extend(lines)
        assert wait == (len(lines) == 1)
        return lines[0]["result"] if wait else None

    pauses = sum(1 for _ in itertools.islice(demo._script(send), 30))
    assert pauses == 30, "the agent has work without end"
    assert all(reply["ok"] for reply in replies)
    db = talk.store.db
    home = task_queries.find_list(db, "tasklist")
    assert home is not None
    tasks = task_queries.tasks(db, home.id)
    assert [task.status for task in tasks] == ["done", "done", "pending", "done", "failed", "in_progress"]
    assert all(task.description for task in tasks)
    assert [len(task_records.logs(db, task.uid)) > 0 for task in tasks] == [True, True, False, True, True, True]
    (asked,) = ask_queries.open_asks(db)
    assert (asked.task_uid, asked.options) == (tasks[2].uid, ("pyjwt", "jose"))
    (job,) = job_queries.jobs(db)
    assert job.next_run is not None


def test_a_task_that_the_human_changed_meanwhile_does_not_end_the_agent(between: Between, path: Path) -> None:
    made = [between.hear("id", between.request()["id"]) for _ in range(7)][1:]
    first = made[0]["result"]["uid"]
    with Store(str(path)) as store:
        store.commit(DeleteTask(first), actor="human", now=1)
        request = between.request()
        assert (request["tool"], request["args"]) == ("tasklist:set_task_in_progress", {"uid": first})
        assert between.hear("id", request["id"])["error"]["code"] == "not_found"
    assert between.request()["tool"] == "tasklist:log_task_progress"


@pytest.mark.parametrize("gone", ["stdin", "stdout"])
def test_the_agent_ends_without_a_word_when_the_screen_has(gone: str, tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    agent = Started(AT_ONCE, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(tmp_path))
    assert agent.stdout is not None
    assert json.loads(agent.stdout.readline())["tool"] == "control:subscribe"
    if gone == "stdout":
        agent.stdout.close()
        assert agent.stdin is not None
        agent.stdin.write(b'{"id": 0, "ok": true, "result": {"seq": 0}}\n')
        agent.stdin.flush()
        assert agent.wait(DEADLINE) == 0
        assert agent.stderr is not None
        assert agent.stderr.read() == b""
    else:
        assert agent.communicate(timeout=DEADLINE)[1] == b""
        assert agent.returncode == 0


SCREEN = """
import os, sys
from tui_tasks.cli.supervise import demo
def screen(db):
    request = os.read(0, 65536)
    os.write(1, b'{"id": 0, "ok": true, "result": {"seq": 0}}\\n')
    request += os.read(0, 65536)
    print(db, os.path.isdir(os.path.dirname(db)), request.count(b"\\n"), file=sys.stderr)
    if sys.argv[1] == "raise":
        raise SystemError("the screen has failed")
    return 7
sys.exit(demo.run(screen))
"""


@pytest.mark.parametrize("how", ["return", "raise"])
def test_a_screen_is_given_the_agents_pipe_and_leaves_nothing_behind(tmp_path: Path, how: str) -> None:
    env = environment(tmp_path, TMPDIR=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", SCREEN, how], env=env, capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode == (7 if how == "return" else 1)
    database, was_there, requests = done.stderr.splitlines()[0].split()
    assert (was_there, requests) == ("True", "2")
    assert ("`tui-tasks help first-day` is a guide" in done.stderr) == (how == "return")
    assert Path(database).is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_demo_shows_the_agent_at_work_and_leaves_nothing_behind(tmp_path: Path) -> None:
    env = environment(tmp_path, TMPDIR=str(tmp_path))
    terminal = Terminal([*program("demo")], lines=24, columns=80, environment=env)
    try:
        terminal.wait_for(lambda: terminal.shows("Inventory GA usage"))
        terminal.wait_for(lambda: terminal.shows("Audit CloudFlare"))
        os.write(terminal.master, b"q")
        assert terminal.process.wait(DEADLINE) == 0
    finally:
        terminal.close()
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("tui-tasks-demo-")] == []
