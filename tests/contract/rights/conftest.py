"""Databases in which the rights of agents are tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.client import Agent
from tests.contract.rights.attempts import HUMANS, NOW, OWN
from tui_tasks.core.operations.asks import OpenAsk, PauseAgent
from tui_tasks.core.store import Store


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A database in which a question is open and an agent is paused."""
    path = tmp_path / "state" / "tasks.db"
    with Store(str(path)) as store:
        (asked,) = store.commit(OpenAsk("May I?", (), None, None), actor="agent", now=NOW)
        store.commit(PauseAgent("other", "wait"), actor="human", now=NOW)
        HUMANS["control:answer"]["uid"] = asked.uid
    return path


@pytest.fixture
def two_lists(db):
    """What alice has in another list: her task with a memory, a claimed one, a plan, a job."""
    with Agent(db, "--agent", "alice") as alice:
        board = {"list": "theirs"}
        done = alice.ok("task", board, action="create", title="secret done")["structuredContent"]["task"]["task_id"]
        alice.ok("task", action="update", task_id=done, status="completed", result={"key": "secret"})
        task = alice.ok(OWN, board, name="secret task")["uid"]
        alice.ok("tasklist:log_task_progress", uid=task, message="secret log")
        held = alice.ok("control:claim", list="theirs")
        plan = alice.ok("create_plan", title="secret plan", tasks=[{"title": "secret step"}])
        job = alice.ok("scheduler:create_adhoc_task", name="secret job", system_prompt="", prompt="secret")
        memory = alice.ok("memory", action="list")["memories"][0]
        alice.ok(OWN, {"list": "mine"}, name="open to all")
        assert alice.finish() == []
    return {
        "task": task,
        "done": done,
        "claim": held["claim"],
        "plan": plan["plan_id"],
        "job": job["uuid"],
        "memory": memory["memory_id"],
    }
