"""Who is there, over real processes: hooks, agents of the channel, calls, kill -9 (docs: protocol, section 10)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.contract.client import DEADLINE, Agent, environment, program
from tui_tasks.core.read import asks
from tui_tasks.core.store import Store


@pytest.fixture
def db(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path / "state" / "tasks.db"


def run(db: Path, *arguments: str, stdin: str | None = None) -> str:
    done = subprocess.run(
        program(*arguments, "--db", str(db)),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env=environment(db.parent),
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def agents(db: Path, *options: str) -> dict[str, dict[str, Any]]:
    return {agent["agent"]: agent for agent in json.loads(run(db, "agents", "--json", *options))}


def payload(event: str, **fields: object) -> str:
    return json.dumps({"session_id": "s", "hook_event_name": event, **fields})


# A program that starts a hook, and stays.
AGENT = """
import subprocess, sys
subprocess.run([sys.executable, "-m", "tui_tasks", "hook", "claude", "--db", sys.argv[1]], input=sys.argv[2].encode())
print("told", flush=True)
sys.stdin.read()
"""


def test_a_session_is_there_while_its_process_is_and_then_gone(db: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", AGENT, str(db), payload("UserPromptSubmit", prompt="go")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(db.parent),
    ) as claude:
        assert claude.stdout is not None
        assert claude.stdout.readline() == b"told\n"
        found = agents(db)["claude-1"]
        assert (found["state"], found["last_prompt"]) == ("working", "go")
        claude.kill()
    assert agents(db)["claude-1"]["state"] == "gone"


def test_an_agent_of_the_channel_is_there_as_long_as_a_connection_of_that_name_is(db: Path) -> None:
    run(db, "call", "tasklist:add_task", "name=one", "--agent", "caller")
    with Agent(db, "--agent", "ann") as one, Agent(db, "--agent", "ann") as other:
        one.ok("tasklist:add_task", name="two")
        other.ok("tasklist:display", {"agent": "ben"})
        found = agents(db)
        assert {name: agent["state"] for name, agent in found.items()} == {
            "caller": "gone",
            "ann": "idle",
            "ben": "idle",
        }
        assert found["ann"]["program"] is None
        assert found["ann"]["session"] is None
        other.ok("tasklist:display")
        one.kill()
        assert agents(db)["ann"]["state"] == "idle"
        other.finish()
    assert {agent["state"] for agent in agents(db).values()} == {"gone"}


def test_a_question_of_a_killed_asker_is_withdrawn_and_told_why(db: Path) -> None:
    with Agent(db, "--agent", "ann") as asker, Agent(db, "--agent", "ben") as witness:
        witness.ok("control:subscribe")
        asker.write({"tool": "ask", "arguments": {"question": "Shall I?"}})
        assert witness.event()["event"] == "ask.opened"
        assert agents(db)["ann"]["state"] == "waiting"
        asker.kill()
        killed_at = time.monotonic()
        event = witness.event()
        # Whoever is there notices.
        assert time.monotonic() - killed_at < DEADLINE
        assert (event["event"], event["actor"]) == ("ask.withdrawn", "system")
        assert event["ask"]["reason"] == "the process that asked is no more"
        assert agents(db)["ann"]["state"] == "gone"
    with Store(str(db)) as store:
        assert asks.open_asks(store.db) == []


def test_a_question_under_an_idempotency_key_outlives_its_asker(db: Path) -> None:
    request = {"tool": "ask", "arguments": {"question": "Shall I?"}, "idempotency_key": "k"}
    with Agent(db, "--agent", "ann") as asker, Agent(db, "--agent", "ben") as witness:
        witness.ok("control:subscribe")
        asker.write(request)
        assert witness.event()["event"] == "ask.opened"
        asker.kill()
    agents(db)
    with Store(str(db)) as store:
        assert len(asks.open_asks(store.db)) == 1


def test_a_question_for_which_its_asker_has_a_ticket_outlives_it(db: Path) -> None:
    with Agent(db, "--agent", "ann") as asker:
        ticket = asker.ok("ask", question="Shall I?", wait=0)
        assert ticket["state"] == "open"
        asker.kill()
    assert agents(db)["ann"]["state"] == "gone"
    with Agent(db, "--agent", "ann") as again:
        assert again.ok("control:answer_of", ask=ticket["ask"])["state"] == "open"


def test_a_process_that_stays_takes_in_what_hooks_leave(db: Path) -> None:
    with Agent(db) as agent:
        agent.ok("control:subscribe")
        run(db, "hook", "claude", stdin=payload("UserPromptSubmit", prompt="go"))
        kinds = [agent.event()["event"] for _ in range(4)]
        assert kinds == ["session.started", "list.created", "task.created", "session.prompted"]


def test_a_read_only_look_writes_nothing(db: Path) -> None:
    run(db, "add", "one")
    run(db, "hook", "claude", stdin=payload("UserPromptSubmit", prompt="go"))
    assert "claude-1" not in agents(db, "--read-only")
    assert "claude-1" in agents(db)
