"""What the human has for an agent reaches it with the next event that can carry it: once, in the order sent."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.entries import all_entries
from tests.hooks.playing import Done, claude, hook, is_silent
from tests.hooks.screens import NOBODY_WAITS, Screen, asking, screen
from tests.started import DEADLINE, Started
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.asks import DeliverMessages, PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.hooks import PROGRAM_NAMES, hook_command, hook_forms, hooks_folder
from tui_tasks.hooks.hook_folder import Folder
from tui_tasks.hooks.replies import message_folders, reply_sender


def printed_json(done: Done) -> Any:
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def context(event: str, done: Done) -> str:
    output = printed_json(done)["hookSpecificOutput"]
    assert output.pop("hookEventName") == event
    text = output.pop("additionalContext")
    assert output == {}
    return str(text)


class At:
    """A program's session, and the human at the screen beside it."""

    def __init__(self, human: Screen, db: Path, program: str = "claude") -> None:
        self.human, self.db, self.program = human, db, program
        self.event("SessionStart")

    def event(self, name: str, **more: Any) -> Done:
        done = hook(self.program, claude(name, **more), "--db", str(self.db), home=self.db.parent)
        self.human.look()
        return done

    def writes(self, text: str, **more: Any) -> None:
        self.human.does(SendMessage(f"{self.program}-1", text, **more))
        self.human.look()

    def kinds(self, *wanted: str) -> list[str]:
        entries = all_entries(self.human.store.db)
        return [f"{entry.kind} by {entry.actor}" for entry in entries if entry.kind in wanted]


def test_a_message_goes_with_the_next_event_that_can_carry_it_and_once(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, NOBODY_WAITS) as human:
        at = At(human, db)
        at.writes("Use ünittest.")
        at.writes("Not pytest.")
        assert [one.state for one in message_queries.newest(human.store.db, "claude-1", 9)] == ["waiting", "waiting"]
        assert is_silent(at.event("Notification"))
        text = context("PreToolUse", at.event("PreToolUse", tool_name="Bash"))
        assert text.count("The human who supervises you wrote at ") == 2
        assert text.index(":\nUse ünittest.") < text.index(":\nNot pytest.")
        assert is_silent(at.event("PostToolUse", tool_name="Bash"))
        assert at.kinds("message.sent", "message.delivered") == [
            "message.sent by human",
            "message.sent by human",
            "message.delivered by claude-1",
            "message.delivered by claude-1",
        ]
        assert [one.state for one in message_queries.newest(human.store.db, "claude-1", 9)] == [
            "delivered",
            "delivered",
        ]
        at.writes("One more.")
        assert "One more." in context("PostToolUse", at.event("PostToolUse", tool_name="Bash"))
        assert message_folders.sessions(Folder(f"{db}-hooks", make=False)) == []


CARRIERS = [
    *[("claude", event, "context") for event in sorted(hook_forms.CONTEXT_EVENTS["claude"])],
    ("claude", "Stop", {"decision": "block"}),
    *[("codex", event, "context") for event in sorted(hook_forms.CONTEXT_EVENTS["codex"])],
    ("codex", "Stop", {"decision": "block"}),
    *[("gemini", event, "context") for event in sorted(hook_forms.CONTEXT_EVENTS["gemini"])],
    ("gemini", "AfterAgent", {"decision": "deny"}),
]


@pytest.mark.parametrize(("program", "event", "form"), CARRIERS)
def test_each_program_gets_it_in_its_own_form(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], program: str, event: str, form: Any
) -> None:
    with Folder(str(tmp_path / "hooks"), make=True) as folder:
        session_folder = message_folders.opened(folder, program, "s-1", make=True)
        assert session_folder is not None
        message_folders.put(session_folder, 7, "Stop\nthat.")
        carry_out(folder, program, claude(event))
        output = json.loads(capfdbinary.readouterr().out)
        if form == "context":
            assert output == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "Stop\nthat."}}
        else:
            assert output == form | {"reason": "Stop\nthat."}
        assert message_folders.delivered_until(session_folder) == 7
        session_folder.close()


def carry_out(folder: Folder, program: str, payload: dict[str, Any]) -> None:
    hook_command._carry_out(folder, program, {"program": program}, json.dumps(payload).encode())


@pytest.mark.parametrize(
    "payload",
    [
        claude("PreToolUse", agent_id="subagent"),
        claude("PreToolUse", session="another"),
        claude("SessionEnd"),
        {"session_id": "s-1"},
        {"hook_event_name": "PreToolUse"},
        ["PreToolUse", "s-1"],
    ],
    ids=str,
)
def test_what_is_not_the_agents_own_event_carries_nothing(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], payload: Any
) -> None:
    with Folder(str(tmp_path / "hooks"), make=True) as folder:
        session_folder = message_folders.opened(folder, "claude", "s-1", make=True)
        assert session_folder is not None
        message_folders.put(session_folder, 7, "Hello")
        carry_out(folder, "claude", payload)
        assert capfdbinary.readouterr().out == b""
        assert [file.state for file in message_folders.files(session_folder)] == [""]
        session_folder.close()


def test_a_message_that_could_not_be_printed_waits_for_the_next_event(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, NOBODY_WAITS) as human:
        at = At(human, db)
        at.writes("Hello")
        command = f"'{sys.executable}' -m tui_tasks hook claude --db '{db}' >/dev/full"
        subprocess.run(["/bin/sh", "-c", command], input=json.dumps(claude("PreToolUse")).encode(), check=True)
        human.look()
        assert "Hello" in context("PostToolUse", at.event("PostToolUse"))


def test_a_message_whose_hook_was_killed_before_it_printed_waits_again(tmp_path: Path) -> None:
    with Folder(str(tmp_path / "hooks"), make=True) as folder:
        session_folder = message_folders.opened(folder, "claude", "s-1", make=True)
        assert session_folder is not None
        message_folders.put(session_folder, 7, "Hello")
        with Started([sys.executable, "-c", "pass"]) as ended:
            pass
        session_folder.rename("000000000007.message", f"000000000007.message.claimed-{ended.pid}")
        assert message_folders.claim(session_folder, (message_folders.MESSAGE,)) == []
        message_folders.give_back(session_folder)
        [(file, text)] = message_folders.claim(session_folder, (message_folders.MESSAGE,))
        assert (file.number, text) == (7, "Hello")
        message_folders.give_back(session_folder)
        assert [one.state for one in message_folders.files(session_folder)] == [f"claimed-{os.getpid()}"]
        session_folder.close()


def test_hooks_that_run_at_once_deliver_a_message_once(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, NOBODY_WAITS) as human:
        at = At(human, db)
        for number in range(5):
            at.writes(f"<{number}>")
        payload = json.dumps(claude("PostToolUse")).encode()
        running = [asking("claude", payload, db) for _ in range(6)]
        with contextlib.ExitStack() as stack:
            started = [stack.enter_context(each) for each in running]
            outputs = [process.communicate(timeout=DEADLINE)[0].decode() for process in started]
        human.look()
        assert sorted(number for number in range(5) for output in outputs if f"<{number}>" in output) == list(range(5))
        assert message_queries.waiting(human.store.db, "claude-1") == ()


def test_a_message_that_came_by_the_agents_own_channel_is_not_given_again(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, NOBODY_WAITS) as human:
        at = At(human, db)
        at.writes("Hello")
        human.does(DeliverMessages("claude-1"), actor="claude-1")
        human.look()
        assert is_silent(at.event("PreToolUse"))


def test_a_message_is_taken_back_until_a_hook_has_claimed_it(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, NOBODY_WAITS) as human:
        at = At(human, db)
        at.writes("Hello")
        at.writes("Goodbye")
        store, first = human.store, message_queries.waiting(human.store.db, "claude-1")[0]
        goodbye = message_queries.sent_last(store.db)
        assert goodbye is not None and goodbye.text == "Goodbye"
        reply_sender.withdraw(store, goodbye, first.sent_at)
        assert message_queries.sent_last(store.db) == first
        assert [one.message.text for one in message_queries.newest(store.db, "claude-1", 9)] == ["Hello"]
        said = context("PreToolUse", at.event("PreToolUse", tool_name="Bash"))
        assert "Hello" in said and "Goodbye" not in said
        with pytest.raises(Conflict, match="claude-1 has the message already"):
            reply_sender.withdraw(store, first, first.sent_at)
        at.writes("Wait")
        (wait,) = message_queries.waiting(store.db, "claude-1")
        with Folder(hooks_folder(str(db)), make=False) as folder:
            session_folder = message_folders.opened(folder, "claude", "s-1", make=False)
            assert session_folder is not None
            with session_folder:
                message_folders.claim(session_folder, (message_folders.MESSAGE,))
        with pytest.raises(Conflict, match="claude-1 has the message already"):
            reply_sender.withdraw(store, wait, wait.sent_at)
        assert message_queries.waiting(store.db, "claude-1") == (wait,)


def test_messages_of_a_session_that_has_ended_stay_in_the_database(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, NOBODY_WAITS) as human:
        at = At(human, db)
        at.writes("Hello")
        assert is_silent(at.event("SessionEnd"))
        human.look()
        assert message_folders.sessions(Folder(f"{db}-hooks", make=False)) == []
        assert len(message_queries.waiting(human.store.db, "claude-1")) == 1
        at.event("SessionStart", source="resume")
        assert "Hello" in context("UserPromptSubmit", at.event("UserPromptSubmit", prompt="go on"))


@pytest.mark.parametrize(
    ("program", "event", "form"),
    [
        ("claude", "PreToolUse", "permission"),
        ("codex", "PreToolUse", "permission"),
        ("gemini", "BeforeTool", "deny"),
    ],
)
def test_a_paused_agent_runs_no_tool_and_hears_why(tmp_path: Path, program: str, event: str, form: str) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, NOBODY_WAITS) as human:
        at = At(human, db, program)
        human.does(PauseAgent(f"{program}-1", "wait for the deploy"))
        human.look()
        output = printed_json(at.event(event, tool_name="Bash"))
        if form == "permission":
            output = output["hookSpecificOutput"]
            assert output.pop("hookEventName") == event
            assert output.pop("permissionDecision") == "deny"
            why = output.pop("permissionDecisionReason")
        else:
            assert output.pop("decision") == "deny"
            why = output.pop("reason")
        assert output == {}
        assert "has paused you: wait for the deploy" in why
        human.does(ResumeAgent(f"{program}-1"))
        human.look()
        assert is_silent(at.event(event, tool_name="Bash"))


def test_a_tool_is_held_until_the_pause_is_over(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db) as human:
        At(human, db)
        human.does(PauseAgent("claude-1", "wait"))
        human.look()
        payload = json.dumps(claude("PreToolUse", tool_name="Bash")).encode()
        with asking("claude", payload, db) as process:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.4)
            human.does(ResumeAgent("claude-1"))
            human.look()
            assert process.communicate(timeout=DEADLINE) == (b"", b"")


def test_the_human_ends_a_turn(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, NOBODY_WAITS) as human:
        at = At(human, db)
        at.event("UserPromptSubmit", prompt="go")
        at.writes("Wrong branch.", ends_turn=True)
        output = printed_json(at.event("PostToolUse", tool_name="Bash"))
        assert output["continue"] is False
        assert output["stopReason"].endswith(":\nWrong branch.")
        seen = session_queries.seen(human.store.db, "claude-1")
        assert seen is not None
        assert seen.state == "interrupted"
        assert is_silent(at.event("UserPromptSubmit", prompt="again"))
        assert is_silent(at.event("PreToolUse", tool_name="Bash"))
        assert message_queries.waiting(human.store.db, "claude-1") == ()


def test_a_turn_that_is_over_is_not_ended_nor_the_next_one(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, NOBODY_WAITS) as human:
        at = At(human, db)
        at.event("UserPromptSubmit", prompt="go")
        at.writes("Stop.", ends_turn=True)
        assert is_silent(at.event("Stop"))
        assert is_silent(at.event("UserPromptSubmit", prompt="again"))
        assert is_silent(at.event("PreToolUse", tool_name="Bash"))


@settings(max_examples=100, deadline=None)
@given(program=st.sampled_from(PROGRAM_NAMES), session=st.text(max_size=300))
def test_the_name_of_a_sessions_folder_leads_nowhere_else(program: str, session: str) -> None:
    name = message_folders.name_of(program, session)
    assert name.startswith(f"{program}-")
    assert len(name) <= 200
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_%")
