"""The human's answer to what a program asks for reaches that program, and nothing else ever allows anything."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.client import DEADLINE, environment
from tests.hooks.processes import COMMAND, claude, hook, is_silent
from tests.hooks.screens import asking, screen, until
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read.asks import open_asks
from tui_tasks.hooks import folder
from tui_tasks.hooks.presence import screen_presence
from tui_tasks.hooks.replies import answer_file, answers

SUGGESTION = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "make:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}
OTHER = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
QUESTIONS = [
    {"question": "Which db?", "header": "DB", "options": [{"label": "sqlite"}, {"label": "pg"}], "multiSelect": False},
    {"question": "Which port?", "header": "Port", "options": [{"label": "1"}, {"label": "2"}], "multiSelect": False},
]


def permission(**more: Any) -> bytes:
    asked = claude("PermissionRequest", tool_name="Bash", tool_input={"command": "make"}, **more)
    return json.dumps(asked).encode()


def decision(process: "subprocess.Popen[bytes]") -> Any:
    output, errors = process.communicate(timeout=DEADLINE)
    assert (process.returncode, errors) == (0, b"")
    told = json.loads(output)["hookSpecificOutput"]
    assert told.pop("hookEventName") == "PermissionRequest"
    return told.pop("decision")


def ends_silently(process: "subprocess.Popen[bytes]") -> bool:
    output, errors = process.communicate(timeout=DEADLINE)
    return (process.returncode, output, errors) == (0, b"", b"")


@pytest.mark.parametrize("program", ["claude", "codex"])
def test_a_permission_is_allowed_by_the_humans_answer(tmp_path: Path, program: str) -> None:
    db = tmp_path / "tasks.db"
    with screen(db) as human, asking(program, permission(), db) as process:
        assert "make" in human.ask().question
        human.answers("Allow")
        assert decision(process) == {"behavior": "allow"}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Deny", "The human denied this."),
        ("Deny: use ninja", "use ninja"),
        ("no way, use ninja", "no way, use ninja"),
        ("allow", "allow"),
        ("Allow it", "Allow it"),
    ],
)
def test_every_other_answer_denies_with_the_humans_words(tmp_path: Path, answer: str, words: str) -> None:
    db = tmp_path / "tasks.db"
    with screen(db) as human, asking("claude", permission(), db) as process:
        human.answers(answer)
        assert decision(process) == {"behavior": "deny", "message": words}


def test_what_the_program_suggests_can_be_allowed_always(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    asked = permission(permission_suggestions=[OTHER, SUGGESTION])
    with screen(db) as human, asking("claude", asked, db) as process:
        options = human.ask().options
        assert options == (
            "Allow",
            "Allow always: mode acceptEdits (session)",
            "Allow always: Bash(make:*) (localSettings)",
            "Deny",
        )
        human.answers(options[2])
        assert decision(process) == {"behavior": "allow", "updatedPermissions": [SUGGESTION]}


def test_a_tool_runs_with_the_input_that_the_human_has_edited(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db) as human, asking("claude", permission(), db) as process:
        human.answers("Allow", updated_input={"command": "make -n"})
        assert decision(process) == {"behavior": "allow", "updatedInput": {"command": "make -n"}}


def test_a_question_takes_no_edited_input(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    asked = claude("PermissionRequest", tool_name="AskUserQuestion", tool_input={"questions": QUESTIONS[:1]})
    with screen(db) as human, asking("claude", json.dumps(asked).encode(), db):
        answer = AnswerAsk(human.ask().uid, "pg", {"a": 1})
        with pytest.raises(InvalidArgument, match="no tool"):
            human.does(answer)


@pytest.mark.parametrize(
    ("questions", "answer", "given"),
    [
        (QUESTIONS[:1], "pg", {"Which db?": "pg"}),
        (QUESTIONS[:1], "neither:\nuse files", {"Which db?": "neither:\nuse files"}),
        (QUESTIONS, "pg\n2", {"Which db?": "pg", "Which port?": "2"}),
        (QUESTIONS, "whatever", {"Which db?": "whatever", "Which port?": "whatever"}),
    ],
)
def test_questions_get_the_humans_answers(
    tmp_path: Path, questions: list[object], answer: str, given: dict[str, str]
) -> None:
    db = tmp_path / "tasks.db"
    asked = claude("PermissionRequest", tool_name="AskUserQuestion", tool_input={"questions": questions})
    with screen(db) as human, asking("claude", json.dumps(asked).encode(), db) as process:
        human.answers(answer)
        assert decision(process) == {
            "behavior": "allow",
            "updatedInput": {"questions": questions, "answers": given},
        }


def test_opencode_gets_answers_for_its_plugin(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    asked = {"id": "per_1", "sessionID": "ses_1", "permission": "edit", "patterns": ["a"], "metadata": {}, "always": []}
    payload = json.dumps({"id": "evt_1", "type": "permission.asked", "properties": asked}).encode()
    with screen(db) as human, asking("opencode", payload, db) as process:
        human.answers("Deny: not there")
        output, _ = process.communicate(timeout=DEADLINE)
    assert json.loads(output) == {"permission": {"id": "per_1", "reply": "reject", "message": "not there"}}


@pytest.mark.parametrize("waits", [None, {}, {"claude": 0}, {"codex": 9}], ids=str)
def test_nobody_is_waited_for_where_nobody_could_answer(tmp_path: Path, waits: dict[str, float] | None) -> None:
    db = tmp_path / "tasks.db"
    if waits is None:
        assert is_silent(hook("claude", permission(), "--db", str(db), home=tmp_path))
        return
    with screen_presence.announced(str(db), waits):
        assert is_silent(hook("claude", permission(), "--db", str(db), home=tmp_path))


def test_a_screen_that_was_killed_is_no_screen(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    code = (
        "import sys, time\n"
        "from tui_tasks.hooks.presence import screen_presence as presence\n"
        "with presence.announced(sys.argv[1], {'claude': 50}):\n"
        "    print(1, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(db)], stdout=subprocess.PIPE, env=environment(tmp_path)
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with asking("claude", permission(), db) as process:
            with folder.Folder(f"{db}-hooks", make=False) as beside:
                until(lambda: answer_file.waiting(beside))
            other.send_signal(signal.SIGKILL)
            other.wait()
            assert ends_silently(process)
    with screen_presence.announced(str(db), {}):
        assert len(list((tmp_path / "tasks.db-hooks" / "screens").iterdir())) == 1


def test_a_hook_waits_as_long_as_the_settings_say_and_no_longer(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db, {"claude": 0.3}) as human, asking("claude", permission(), db) as process:
        ask = human.ask()
        assert answers.why_unanswerable(str(db), ask) is None
        assert ends_silently(process)
        assert answers.why_unanswerable(str(db), ask) is not None
        human.answers("Allow")
    assert list((tmp_path / "tasks.db-hooks" / "answers").iterdir()) == []


def test_a_request_that_was_answered_at_the_terminal_lets_the_hook_go(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db) as human, asking("claude", permission(), db) as process:
        human.ask()
        hook("claude", claude("PostToolUse", tool_name="Bash"), "--db", str(db), home=tmp_path)
        human.look()
        assert open_asks(human.store.db) == []
        assert ends_silently(process)


def test_an_answer_that_is_not_the_humans_allows_nothing(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db) as human, asking("claude", permission(), db) as process:
        human.does(AnswerAsk(human.ask().uid, "Allow"), actor="claude-1")
        human.look()
        assert ends_silently(process)


def test_an_answer_to_another_request_allows_nothing(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with screen(db) as human, asking("claude", permission(), db) as process:
        name = (human.ask().request or {})["answer"]
        with folder.Folder(f"{db}-hooks", make=False) as beside:
            bound_to = answer_file.request_hash(permission(cwd="/elsewhere"))
            assert answer_file.send(beside, name, bound_to, b'{"allow": true}')
        assert ends_silently(process)


def test_a_hook_whose_program_is_gone_ends(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    given = tmp_path / "payload"
    given.write_bytes(permission())
    command = " ".join(f"'{word}'" for word in [*COMMAND, "claude", "--db", str(db)])
    with screen(db) as human:
        program = subprocess.Popen(
            ["/bin/sh", "-c", f"{command} <'{given}' & echo $!; wait"],
            stdout=subprocess.PIPE,
            env=environment(tmp_path),
        )
        assert program.stdout is not None
        program.stdout.readline()
        human.ask()
        program.kill()
        # The hook has the pipe open as long as it lives.
        assert program.stdout.read() == b""
        program.wait()


def test_two_requests_at_once_each_get_their_own_answer(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with (
        screen(db) as human,
        asking("claude", permission(), db) as one,
        asking("codex", permission(), db) as two,
    ):
        for ask in human.asks(2):
            human.does(AnswerAsk(ask.uid, "Allow" if ask.agent == "claude-1" else "Deny"))
        human.look()
        assert decision(one)["behavior"] == "allow"
        assert decision(two)["behavior"] == "deny"


def test_pipes_that_killed_hooks_have_left_are_removed(tmp_path: Path) -> None:
    with (
        folder.Folder(str(tmp_path / "hooks"), make=True) as beside,
        folder.Folder(answer_file.FOLDER, make=True, inside=beside) as waiting,
    ):
        for name, age in (("old", 3600), ("new", 0)):
            os.mkfifo(name, dir_fd=waiting.fd)
            os.utime(name, (answer_file.time.time() - age,) * 2, dir_fd=waiting.fd)
        assert answer_file.waiting(beside) == []
        assert waiting.names() == ["new"]


def test_a_question_of_gemini_for_which_its_hook_waits_is_asked_and_answered(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    asks = claude("BeforeTool", tool_name="ask_user", tool_input={"questions": QUESTIONS[:1]})
    with screen(db) as human, asking("gemini", json.dumps(asks).encode(), db) as process:
        ask = human.ask()
        assert ask.options == ("sqlite", "pg")
        human.answers("pg")
        output, _ = process.communicate(timeout=DEADLINE)
        told = json.loads(output)
        assert told == {"decision": "deny", "reason": "The human has answered already: Which db? pg"}


@pytest.mark.parametrize(
    ("program", "payload"),
    [
        ("gemini", claude("BeforeTool", tool_name="read_file", tool_input={})),
        ("gemini", claude("AfterTool", tool_name="ask_user", tool_input={"questions": QUESTIONS})),
        ("claude", claude("PreToolUse", tool_name="Bash", tool_input={})),
        ("opencode", {"type": "session.idle", "properties": {"sessionID": "s"}}),
    ],
    ids=["another tool", "after the tool", "before a tool", "idle"],
)
def test_an_event_that_asks_nothing_waits_for_nobody(tmp_path: Path, program: str, payload: dict[str, Any]) -> None:
    db = tmp_path / "tasks.db"
    # Far longer than the test may take.
    with screen(db, {program: 10 * DEADLINE}), asking(program, json.dumps(payload).encode(), db) as process:
        assert ends_silently(process)
