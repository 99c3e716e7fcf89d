"""What is written into each program's settings: its events, our command, limits that leave time to answer."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tui_tasks.hooks import abilities, entries
from tui_tasks.hooks.main import PROGRAMS
from tui_tasks.hooks.replies import forms

COMMAND = ["/with a space/tui-tasks", "hook", "x"]


@pytest.mark.parametrize("program", ["claude", "codex", "gemini"])
def test_each_event_runs_our_command_once(program: str) -> None:
    made = entries.hook_settings(program, COMMAND, 50)
    assert set(made["hooks"]) == set(entries.events(program))
    for groups in made["hooks"].values():
        [group] = groups
        [hook] = group["hooks"]
        assert hook["type"] == "command"
        assert shlex.split(hook["command"]) == COMMAND
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize(
    ("program", "event", "unit"), [("claude", "PermissionRequest", 1), ("gemini", "BeforeTool", 1000)]
)
def test_the_program_gives_a_hook_up_only_after_it_has_waited(program: str, event: str, unit: int) -> None:
    [group] = entries.hook_settings(program, COMMAND, 50)["hooks"][event]
    assert group["hooks"][0]["timeout"] > 50 * unit


@pytest.mark.parametrize("program", ["claude", "codex", "gemini"])
def test_events_that_can_be_answered_are_run_and_waited_for(program: str) -> None:
    made = entries.hook_settings(program, COMMAND, 50)["hooks"]
    answered = {forms.TOOL_EVENTS[program], forms.END_EVENTS[program]}
    for event in answered:
        assert "async" not in made[event][0]["hooks"][0]


def test_the_plugin_for_opencode_runs_our_command(tmp_path: Path) -> None:
    text = entries.opencode_plugin(COMMAND, "/out box")
    assert f"const COMMAND = {json.dumps(COMMAND)}" in text
    assert 'const OUTBOX = "/out box"' in text
    if shutil.which("node") is None:
        return
    plugin = tmp_path / "plugin.mjs"
    plugin.write_text(text)
    subprocess.run(["node", "--check", plugin], check=True)


def test_every_program_says_what_it_cannot_do() -> None:
    for program in PROGRAMS:
        for ability in ("permission", "always", "edit_input", "question", "message", "pause", "stop"):
            why = abilities.why_not(program, ability)
            assert why is None or why.endswith(".")
    assert abilities.why_not("gemini", "permission") is not None
    assert abilities.why_not("claude", "permission") is None
