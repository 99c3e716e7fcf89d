"""Each conversation that the README and the pages show is held with the program itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.client import DEADLINE, ROOT, Agent, environment
from tests.docs.transcripts import Block, Names, blocks, do_as_human, value

PAGES = [ROOT / "README.md", ROOT / ".github" / "CONTRIBUTING.md", *sorted((ROOT / "tui_tasks" / "docs").glob("*.md"))]
BLOCKS = [block for page in PAGES for block in blocks(page)]


def named(block: Block) -> str:
    return f"{block.page}:{block.line}"


def test_there_are_conversations_to_hold() -> None:
    assert {block.kind for block in BLOCKS} == {"transcript", "console"}


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.kind == "transcript"], ids=named)
def test_serve_says_what_a_page_shows(block: Block, tmp_path: Path) -> None:
    db, names, expected = tmp_path / "tasks.db", Names(), 0
    with Agent(db, "--no-scheduler", *block.options) as agent:
        for sign, text in block.steps:
            if sign == ">":
                agent.send(names.put_in(text).encode() + b"\n")
            elif sign == "#":
                do_as_human(db, text)
            else:
                shown = value(text)
                is_event = isinstance(shown, dict) and "event" in shown
                names.match(shown, agent.event() if is_event else agent.reply())
                expected += 1
        agent.finish()
        assert len(agent.lines) == expected, agent.lines[expected:]


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.kind == "console"], ids=named)
def test_a_shell_prints_what_a_page_shows(block: Block, tmp_path: Path) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    program = commands / "tui-tasks"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tui_tasks "$@"\n')
    program.chmod(0o755)
    names, printed = Names(), ""
    home = environment(tmp_path, TUI_TASKS_DB=str(tmp_path / "tasks.db"), COLUMNS="80")
    for sign, text in [*block.steps, ("$", "true")]:
        if sign == "=":
            names.match(text, printed)
            printed = ""
            continue
        assert printed == "", f"the page does not show {printed}"
        done = subprocess.run(
            ["bash", "-c", names.put_in(text)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=home | {"PATH": f"{commands}:{os.environ['PATH']}"},
            cwd=tmp_path,
            timeout=DEADLINE,
            check=False,
        )
        printed = done.stdout.decode().removesuffix("\n")
