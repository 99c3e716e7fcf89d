"""What is written into each program's settings: its events, our command, limits that leave time to answer."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tui_tasks.cli.admin import program_entries
from tui_tasks.hooks import PROGRAM_NAMES, hook_forms
from tui_tasks.hooks.replies import reply_sender
from tui_tasks.settings.config import SessionSettings

SHELLS = [shell for shell in ("sh", "bash", "zsh", "fish") if shutil.which(shell)]
COMMAND = ["/with a space/tui-tasks", "hook", "x"]


@pytest.mark.parametrize("program", ["claude", "codex", "gemini"])
def test_each_event_runs_our_command_once(program: str) -> None:
    made = hook_forms.hook_settings(program, COMMAND)
    assert set(made["hooks"]) == set(hook_forms.events(program))
    for groups in made["hooks"].values():
        [group] = groups
        [hook] = group["hooks"]
        assert hook["type"] == "command"
        assert program_entries.hook_argv(hook["command"]) == COMMAND
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize(
    ("program", "event", "unit"),
    [("claude", "PermissionRequest", 1), ("codex", "PermissionRequest", 1), ("gemini", "BeforeTool", 1000)],
)
def test_no_setting_lets_a_hook_wait_longer_than_its_program(program: str, event: str, unit: int) -> None:
    [group] = hook_forms.hook_settings(program, COMMAND)["hooks"][event]
    longest = msgspec.json.schema(SessionSettings)["$defs"]["SessionSettings"]["properties"]["wait"]["anyOf"][0]
    assert longest["maximum"] == 3600
    assert group["hooks"][0]["timeout"] > 3600 * unit


@pytest.mark.parametrize("program", ["claude", "codex", "gemini"])
def test_events_that_can_be_answered_are_run_and_waited_for(program: str) -> None:
    made = hook_forms.hook_settings(program, COMMAND)["hooks"]
    answered = {hook_forms.TOOL_EVENTS[program], hook_forms.END_EVENTS[program]}
    for event in answered:
        assert "async" not in made[event][0]["hooks"][0]


@pytest.fixture
def broken(tmp_path: Path) -> Callable[[str], list[str]]:
    """Make a command that does not start, or fails, in one of the ways in which an installation breaks."""

    def make(how: str) -> list[str]:
        script = tmp_path / "it's" / "tui-tasks"
        text = {
            "interpreter gone": "#!/nowhere/python3",
            "killed": "#!/bin/sh\nkill -9 $$",
            "2": "#!/bin/sh\necho no >&2\nexit 2",
        }
        if how != "folder gone":
            script.parent.mkdir()
            script.write_text(text.get(how, "#!/bin/sh") + "\n")
            script.chmod(0o644 if how == "no right to execute" else 0o755)
        return ["tui-tasks-that-is-not-on-path" if how == "not on PATH" else str(script), "hook", "claude"]

    return make


@pytest.mark.parametrize(
    "how", ["not on PATH", "interpreter gone", "folder gone", "no right to execute", "killed", "wrong usage"]
)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_hook_that_cannot_start_succeeds_and_prints_nothing(
    broken: Callable[[str], list[str]], how: str, shell: str
) -> None:
    line = hook_forms.shell_command(broken(how))
    done = subprocess.run([shell, "-c", line], input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_answer_reaches_the_program_through_the_line(tmp_path: Path) -> None:
    script = tmp_path / "tui-tasks"
    script.write_text('#!/bin/sh\ncat\necho "$@"\necho trouble >&2\n')
    script.chmod(0o755)
    line = hook_forms.shell_command([str(script), "hook", "claude", "--project", "it's $HOME"])
    done = subprocess.run(["sh", "-c", line], input=b"given\n", capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"given\nhook claude --project it's $HOME\n"


def test_every_program_says_what_it_cannot_do() -> None:
    for program in PROGRAM_NAMES:
        for ability in ("permission", "always", "edit_input", "question", "message", "pause", "stop"):
            why = reply_sender.why_not(program, ability)
            assert why is None or why.endswith(".")
    assert reply_sender.why_not("gemini", "permission") is not None
    assert reply_sender.why_not("claude", "permission") is None
