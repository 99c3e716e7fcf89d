"""Who is there, over real processes: hooks, agents of the channel, calls, kill -9 (docs: protocol, section 10)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server
from tests.contract.client import DEADLINE, Agent, environment, program
from tests.entries import all_entries
from tests.hooks.screens import screen
from tests.started import Started
from tui_tasks import clock
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import agent_views
from tui_tasks.core.store import Store
from tui_tasks.hooks.follower import following


@pytest.fixture
def db(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path / "state" / "tasks.db"


def run(db: Path, *arguments: str, stdin: str | None = None) -> str:
    done = fork_server.run(
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


def newest(db: Path) -> int:
    with Store(str(db), read_only=True) as store:
        return journal.newest(store.db)


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
    with Started(
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


@pytest.mark.linux
def test_an_agent_whose_process_is_suspended_is_stopped_whatever_it_was_doing(db: Path) -> None:
    with Hooked(db) as working, Hooked(db) as waiting, Agent(db, "--agent", "ann", start=Started) as ann:
        working.tells("a", "UserPromptSubmit", prompt="go")
        waiting.tells("b", "PermissionRequest", tool_name="Bash", tool_input={"command": "ls"})
        ann.ok("tasklist:display")
        everyone = {"claude-1": working.process, "claude-2": waiting.process, "ann": ann.process}
        states = {"claude-1": "working", "claude-2": "waiting", "ann": "idle"}
        assert {name: agent["state"] for name, agent in agents(db).items()} == states
        for process in everyone.values():
            os.kill(process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        assert {name: agent["state"] for name, agent in agents(db).items()} == dict.fromkeys(states, "stopped")
        with Store(str(db)) as store:
            seen = {member.name: member for member in agent_views.everyone(store.db, 0)}
            assert {name: member.state for name, member in seen.items()} == dict.fromkeys(states, "stopped")
            assert all((member.since or 0) >= member.newest.at for member in seen.values())
        for process in everyone.values():
            os.kill(process.pid, signal.SIGCONT)
        assert {name: agent["state"] for name, agent in agents(db).items()} == states


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
        event = witness.event()  # whoever is there notices
        assert (event["event"], event["actor"]) == ("ask.withdrawn", "system")
        assert event["ask"]["reason"] == "the process that asked is no more"
        assert agents(db)["ann"]["state"] == "gone"
    with Store(str(db)) as store:
        assert ask_queries.open_asks(store.db) == []


def test_a_question_under_an_idempotency_key_outlives_its_asker(db: Path) -> None:
    request = {"tool": "ask", "arguments": {"question": "Shall I?"}, "idempotency_key": "k"}
    with Agent(db, "--agent", "ann") as asker, Agent(db, "--agent", "ben") as witness:
        witness.ok("control:subscribe")
        asker.write(request)
        assert witness.event()["event"] == "ask.opened"
        asker.kill()
    agents(db)
    with Store(str(db)) as store:
        assert len(ask_queries.open_asks(store.db)) == 1


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


# A program that runs a hook for each line that it is given, by so many processes in between, and says what it printed.
HOOKED = """
import json, subprocess, sys
HOOK = [sys.executable, "-m", "tui_tasks", "hook"]
BETWEEN = [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"]
for line in sys.stdin:
    program, payload, between = json.loads(line)
    if program == "itself":
        words, given = [sys.executable, "-c", sys.argv[1], *sys.argv[1:]], payload
    else:
        words, given = BETWEEN * between + [*HOOK, program, "--db", sys.argv[2]], json.dumps(payload)
    done = subprocess.run(words, input=given.encode(), capture_output=True)
    print(json.dumps([done.returncode, done.stdout.decode(), done.stderr.decode()]), flush=True)
"""


class Hooked:
    """A process of an agent program."""

    def __init__(self, db: Path) -> None:
        words = [sys.executable, "-c", HOOKED, HOOKED, str(db)]
        env = environment(db.parent)
        self.process = Started(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def tells(self, session: str, event: str, program: str = "claude", between: int = 0, **fields: object) -> str:
        """Run a hook that names a session; return what it printed."""
        return self._runs(program, {"session_id": session, "hook_event_name": event, **fields}, between)

    def starts(self, *lines: tuple[str, str]) -> None:
        """Run such a program below this one, which tells of its sessions and events."""
        told = [["claude", {"session_id": session, "hook_event_name": event}, 0] for session, event in lines]
        printed = self._runs("itself", "".join(json.dumps(line) + "\n" for line in told), 0)
        assert printed == '[0, "", ""]\n' * len(lines)

    def _runs(self, program: str, payload: object, between: int) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([program, payload, between]) + "\n")
        self.process.stdin.flush()
        status, printed, errors = json.loads(self.process.stdout.readline())
        assert (status, errors) == (0, "")
        return str(printed)

    def __enter__(self) -> Hooked:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def refusals(db: Path) -> list[tuple[str, dict[str, Any]]]:
    with Store(str(db)) as store:
        return [(entry.actor, entry.new or {}) for entry in all_entries(store.db) if entry.kind == "agent.refused"]


@pytest.mark.linux
@pytest.mark.parametrize("between", [0, 2])
def test_a_hook_from_under_the_process_of_another_session_is_refused_and_told_once(db: Path, between: int) -> None:
    with Hooked(db) as victim, Hooked(db) as forger, screen(db) as human:
        victim.tells("v", "UserPromptSubmit", prompt="go")
        forger.tells("f", "UserPromptSubmit", prompt="else")
        human.look()
        human.does(SendMessage("claude-1", "The word is xyzzy."))
        human.look()
        before = agents(db)["claude-1"]
        for event in ("Stop", "UserPromptSubmit", "PermissionRequest", "SessionEnd"):
            fields = {"prompt": "forged", "tool_name": "Bash", "tool_input": {"command": "evil"}}
            with following(str(db), clock.now, wanted=event == "PermissionRequest"):
                assert forger.tells("v", event, between=between, **fields) == ""
        human.look()
        assert ask_queries.open_asks(human.store.db) == []
        assert agents(db)["claude-1"] == before
        said = "a hook from under the process of claude-2 named the session of claude-1"
        assert refusals(db) == [("claude-2", {"tool": "hook claude", "message": said})]
        assert "The word is xyzzy." in victim.tells("v", "Stop")


@pytest.mark.linux
def test_payloads_that_waited_are_judged_each_after_those_before_it(db: Path) -> None:
    with Hooked(db) as victim, Hooked(db) as forger:
        forger.tells("f", "SessionStart")
        victim.tells("v", "UserPromptSubmit", prompt="go")
        forger.tells("v", "UserPromptSubmit", prompt="forged")
        victim.tells("v", "PreToolUse", tool_name="Bash")
        assert agents(db)["claude-2"]["last_prompt"] == "go"
    assert [actor for actor, _ in refusals(db)] == ["claude-1"]


@pytest.mark.linux
def test_an_agent_that_another_agent_has_started_speaks_for_itself_and_goes_on_later(db: Path) -> None:
    with Hooked(db) as outer:
        outer.tells("o", "SessionStart")
        outer.starts(("i", "SessionStart"), ("i", "Stop"))
        assert {name: agent["session"] for name, agent in agents(db).items()} == {"claude-1": "o", "claude-2": "i"}
        # In another process, as by `claude --resume`.
        outer.starts(("i", "SessionStart"))
        outer.tells("o", "Stop")
    assert refusals(db) == []


@pytest.mark.linux
def test_each_command_that_only_reads_says_at_once_that_a_killed_agent_is_gone(db: Path) -> None:
    run(db, "add", "one")
    with Hooked(db) as claude, Agent(db, "--agent", "ann") as ann:
        claude.tells("a", "UserPromptSubmit", prompt="go")
        ann.ok("control:claim", uid="#1")
        found = agents(db)
        assert (found["claude-1"]["state"], found["ann"]["state"]) == ("working", "working")
        ann.kill()
        claude.process.kill()
        claude.process.wait(DEADLINE)
    before = newest(db)
    found = agents(db, "--read-only")
    assert (found["claude-1"]["state"], found["ann"]["state"]) == ("gone", "gone")
    for command in (["ls"], ["show", "1"], ["agents", "--read-only"], ["digest"]):
        assert "gone" in run(db, *command), command
    assert json.loads(run(db, "call", "control:agents", "--read-only")) == list(found.values())
    assert newest(db) == before
