"""Many processes write through every dialect at once: each total is exact, and no lock is seen.

In the ordinary run a short form. The whole of it, 8 processes with 1,000 writes each and 16 claimers on 1,000 tasks:

    TUI_TASKS_TEST_FULL=1 pytest tests/contract/test_many_processes.py
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.contract.client import Agent
from tests.contract.test_processes import at_once, sound
from tui_tasks.core.operations.tasks import AddTask, CreatePlan
from tui_tasks.core.store import Store

FULL = bool(os.environ.get("TUI_TASKS_TEST_FULL"))
WRITERS, WRITES = (8, 1_000) if FULL else (8, 50)
CLAIMERS, CLAIMED = (16, 1_000) if FULL else (4, 120)
NOW = 1_767_352_934_000_000
IN_FLIGHT = 12


@pytest.fixture
def db(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path / "state" / "tasks.db"


@dataclass
class Author:
    """One agent and what there must be of it in the end, by what it was told."""

    agent: Agent
    name: str
    chance: random.Random
    writes: int = 0
    made: int = 0
    names: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    items: dict[str, str] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    counted: int = 0
    shared: str = ""

    def text(self) -> str:
        self.made += 1
        return f"{self.name} {self.made}"

    def write(self, how_many: int) -> None:
        """Write so many times, several requests in flight and alone, until each was done."""
        alone = [self.count_up, self.complete, self.begin_and_finish, self.take_and_give_back, self.add_and_undo]
        while self.writes < how_many:
            left = how_many - self.writes
            if left >= IN_FLIGHT and self.chance.random() < 0.5:
                self.several(IN_FLIGHT)
            else:
                self.chance.choice(alone)(left)

    # Several in flight

    def several(self, count: int) -> None:
        kinds = [self.add, self.add_batch, self.add_twice, self.note, self.link, self.merge, self.plan]
        lines, expected = [], []
        for _ in range(count):
            line, told = self.chance.choice(kinds)()
            lines.append(line)
            expected.append(told)
        flat = [value for line in lines for value in (line if isinstance(line, tuple) else (line,))]
        self.agent.write(*flat)
        for line, told in zip(lines, expected, strict=True):
            replies = [self.agent.reply() for _ in (line if isinstance(line, tuple) else (line,))]
            for reply in replies:
                assert all(part["ok"] for part in (reply if isinstance(reply, list) else [reply])), reply
            assert all(reply["result"] == replies[0]["result"] for reply in replies[1:]), "one key, one reply"
            told()
            self.writes += 1

    def add(self) -> tuple[Any, Callable[[], None]]:
        name = self.text()
        return request("tasklist:add_task", name=name), lambda: self.names.append(name)

    def add_batch(self) -> tuple[Any, Callable[[], None]]:
        names = [self.text() for _ in range(3)]
        return [request("tasklist:add_task", name=name) for name in names], lambda: self.names.extend(names)

    def add_twice(self) -> tuple[Any, Callable[[], None]]:
        name = self.text()
        line = {**request("tasklist:add_task", name=name), "idempotency_key": name}
        return (line, line), lambda: self.names.append(name)

    def note(self) -> tuple[Any, Callable[[], None]]:
        text = self.text()
        if self.chance.random() < 0.5:
            line = request("tasklist:log_task_progress", uid=self.shared, message=text)
        else:
            line = request("update_task", id=self.shared, notes=text)
        return line, lambda: self.notes.append(text)

    def link(self) -> tuple[Any, Callable[[], None]]:
        node = self.text()
        line = request("tasks", action="link_nodes", task_id=self.shared, node_ids=[node])
        return line, lambda: self.nodes.append(node)

    def merge(self) -> tuple[Any, Callable[[], None]]:
        keys = [f"{self.name}-{n}" for n in self.chance.sample(range(6), 2)]
        text = self.text()
        items = [{"id": key, "content": text, "status": "pending"} for key in keys]
        return request("todo", merge=True, todos=items), lambda: self.items.update(dict.fromkeys(keys, text))

    def plan(self) -> tuple[Any, Callable[[], None]]:
        title = self.text()
        tasks = [{"title": "a", "id": "a"}, {"title": "b", "depends_on": ["a"]}]
        return request("create_plan", title=title, tasks=tasks), lambda: self.plans.append(title)

    # One at a time

    def count_up(self, left: int) -> None:
        """Raise a number that everybody raises, only if nobody has since it was read."""
        while True:
            task = self.agent.ok("control:task", uid=self.shared)
            number = str(int(task["description"] or "0") + 1)
            arguments = {"action": "update", "task_id": self.shared, "description": number}
            reply = self.agent.ask("task", {"if_version": task["version"]}, **arguments)
            if reply["ok"]:
                break
            assert reply["error"]["code"] == "conflict", reply
            assert reply["error"]["data"]["version"] > task["version"]
        self.counted += 1
        self.writes += 1

    def complete(self, left: int) -> None:
        if left < 2:
            return
        title = self.text()
        made = self.agent.ok("task", action="create", title=title, tags=["many"])["structuredContent"]["task"]
        arguments = {"task_id": made["task_id"], "status": "completed", "result": {"of": title}}
        assert "memory_id" in self.agent.ok("task", action="update", **arguments)["structuredContent"]
        self.results.append(title)
        self.writes += 2

    def begin_and_finish(self, left: int) -> None:
        """One task of the list may be in progress: begin one of its own where no other stands in the way."""
        if left < 3:
            return
        name = self.text()
        uid = self.agent.ok("tasklist:add_task", name=name)["uid"]
        self.names.append(name)
        reply = self.agent.ask("tasklist:set_task_in_progress", uid=uid)
        assert reply["ok"] or "in_progress" in reply["error"]["data"], reply
        self.agent.ok("tasklist:set_task_skipped", uid=uid)
        self.writes += 2 + reply["ok"]

    def take_and_give_back(self, left: int) -> None:
        if left < 3:
            return
        plan = self.agent.ok("create_plan", title=self.text(), tasks=[{"title": "only"}])
        self.plans.append(plan["title"])
        held = self.agent.ok("control:claim", list=plan["plan_id"])
        assert held["task"]["uid"] == plan["tasks"][0]["id"]
        assert self.agent.ok("control:release", claim=held["claim"])["status"] == "pending"
        self.writes += 3

    def add_and_undo(self, left: int) -> None:
        if left < 2:
            return
        self.agent.ok("tasklist:add_task", name=self.text())
        self.agent.ok("control:undo")
        self.writes += 2


def request(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def test_mixed_writes_of_eight_processes_are_all_there_and_no_more(db):
    with ExitStack() as stack:
        agents = [stack.enter_context(Agent(db, "--agent", f"agent-{n}", is_patient=True)) for n in range(WRITERS)]
        shared = agents[0].ok("task", action="create", title="shared")["structuredContent"]["task"]["task_id"]
        authors = [Author(agent, f"w{n}", random.Random(n), shared=shared) for n, agent in enumerate(agents)]
        at_once(lambda author: author.write(WRITES), authors)
        assert [author.writes for author in authors] == [WRITES] * WRITERS
        assert_all_is_there(agents[-1], authors, shared)
        entries = history(agents[0])
        for agent in agents:
            assert agent.finish() == []
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    begun, in_progress = Counter(), set()
    for entry in entries:
        if entry["event"] == "task.updated" and entry["task"]["list"] == "tasklist" and "status" in entry["changes"]:
            begun[entry["actor"]] += {"in_progress": 1}.get(entry["changes"]["status"][1], 0)
            begun[entry["actor"]] -= {"in_progress": 1}.get(entry["changes"]["status"][0], 0)
            in_progress.add(begun[entry["actor"]])
    assert in_progress == {0, 1}, "each agent has one task in progress at most"
    sound(db)


def assert_all_is_there(agent: Agent, authors: list[Author], shared: str) -> None:
    names = [task["name"] for task in agent.ok("tasklist:display")]
    for author in authors:
        assert [name for name in names if name.startswith(f"{author.name} ")] == author.names, "in its own order"
    assert len(names) == sum(len(author.names) for author in authors)

    task = agent.ok("control:task", uid=shared)
    notes = Counter(entry["message"] for entry in agent.ok("tasklist:get_task_logs", uid=shared))
    assert notes == Counter(note for author in authors for note in author.notes)
    assert sorted(task["node_ids"]) == sorted(node for author in authors for node in author.nodes)
    counted = sum(author.counted for author in authors)
    assert task["description"] == (str(counted) if counted else "")
    assert task["version"] == 1 + counted + notes.total() + len(task["node_ids"]), "each change raised it by one"

    items = {key: text for author in authors for key, text in author.items.items()}
    shown = {item["id"]: item["content"] for item in todo(agent, items)}
    assert shown == items
    memories = agent.ok("memory", action="list")
    expected = sorted(title for author in authors for title in author.results)
    assert sorted(memory["content"]["of"] for memory in memories["memories"]) == expected
    assert agent.ok("task", action="list", tags=["many"])["structuredContent"]["total"] == len(expected)
    plans = sorted(plan["title"] for plan in agent.ok("get_plans")["plans"])
    assert plans == sorted(title for author in authors for title in author.plans)


def todo(agent: Agent, items: dict[str, str]) -> list[dict[str, str]]:
    """The list, read by writing back two items as they are."""
    some = [{"id": key, "content": text} for key, text in list(items.items())[:2]]
    return agent.ok("todo", merge=True, todos=some)["todos"] if len(some) == 2 else []


def history(agent: Agent) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    since: int | None = 0
    while since is not None:
        page = agent.ok("control:history", since=since, limit=5_000)
        entries += page["entries"]
        since = page["next"]
    return entries


def test_claimers_in_many_processes_take_each_task_once_and_in_the_order_of_urgency(db):
    chance = random.Random(5)
    with Store(str(db)) as store:
        plans = store.commit(*[CreatePlan(f"plan {n}") for n in range(3)], actor="human", now=NOW)
        adds = [
            AddTask(str(n), chance.choice(plans).uid, priority=chance.choice([1, 2, 3, 50])) for n in range(CLAIMED)
        ]
        tasks = store.commit(*adds, actor="human", now=NOW)
    in_order = [task.uid for task in sorted(tasks, key=lambda task: (task.priority, task.id))]

    def work(agent: Agent) -> list[str]:
        """Take tasks of any list until there is none, and deal with them in every way there is."""
        taken = []
        while held := agent.ok("control:claim"):
            uid, claim = held["task"]["uid"], held["claim"]
            taken.append(uid)
            match len(taken) % 4:
                case 0:
                    agent.ok("tasklist:set_task_done", uid=uid)
                case 1:
                    agent.ok("task", action="update", task_id=uid, status="completed", result={"n": 1})
                case 2:
                    assert agent.ok("control:heartbeat", claim=claim)["claim"] == claim
                case 3:
                    agent.ok("update_task", id=uid, status="cancelled", notes="not needed")
        return taken

    with ExitStack() as stack:
        agents = [stack.enter_context(Agent(db, "--agent", f"agent-{n}", is_patient=True)) for n in range(CLAIMERS)]
        taken = at_once(work, agents)
        entries = history(agents[0])
        for agent, uids in zip(agents, taken, strict=True):
            for uid in uids[:3]:
                assert agent.ok("control:task", uid=uid)["agent"] == f"agent-{agents.index(agent)}"
            assert agent.finish() == []
    assert Counter(uid for uids in taken for uid in uids) == Counter(in_order)
    assert [entry["task"]["uid"] for entry in entries if entry["event"] == "claim.taken"] == in_order
    sound(db)
