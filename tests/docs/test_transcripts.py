"""Each conversation that the README and the pages show is held with the program itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.client import DEADLINE, ROOT, Agent, environment, terminal_input
from tests.docs.transcripts import Block, Names, blocks, do_as_human, value
from tui_tasks.settings import paths

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


CONSOLES = [one for one in BLOCKS if one.kind == "console" and one.page != "first-day.md"]


def shell(folder: Path) -> dict[str, str]:
    """Make a `tui-tasks` for a shell in a folder; return the environment that finds it."""
    commands = folder / "bin"
    commands.mkdir()
    program = commands / "tui-tasks"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tui_tasks "$@"\n')
    program.chmod(0o755)
    return environment(folder, COLUMNS="80", PATH=f"{commands}:{os.environ['PATH']}")


def hold(block: Block, names: Names, env: dict[str, str], folder: Path) -> Path:
    """Run the commands of a block and compare what they print; return the folder in which it ends."""
    printed, place = "", folder.parent / "place"
    with terminal_input() as terminal:
        for sign, text in [*block.steps, ("$", "true")]:
            if sign == "=":
                names.match(text, printed)
                printed = ""
                continue
            assert printed == "", f"the page does not show {printed}"
            done = subprocess.run(
                ["bash", "-c", f'{names.put_in(text)}\npwd > "{place}"'],
                stdin=terminal if "person" in block.options else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=folder,
                timeout=DEADLINE,
                check=False,
            )
            folder = Path(place.read_text().strip())
            printed = done.stdout.decode().removesuffix("\n")
    return folder


@pytest.mark.parametrize("block", CONSOLES, ids=named)
def test_a_shell_prints_what_a_page_shows(block: Block, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    env = shell(home) | {"TUI_TASKS_DB": str(home / "tasks.db")}
    hold(block, Names(), env, home)


def test_the_first_day_goes_as_its_page_shows(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    env, names = shell(folder), Names()
    del env["TUI_TASKS_CONFIG"]
    days = [one for one in BLOCKS if one.page == "first-day.md"]
    assert len(days) > 5
    for block in days:
        folder = hold(block, names, env, folder)
    (settings,) = tmp_path.rglob("tui-tasks/config.toml")
    assert list(paths.findings_on_private_settings(settings)) == [], "doctor calls these problems"


def test_the_first_day_installs_the_program_as_the_readme_does() -> None:
    page = (ROOT / "tui_tasks" / "docs" / "first-day.md").read_text()
    assert len(re.findall(r"^```bash", page, re.MULTILINE)) == 1
    (command,) = re.findall(r"^```bash\n(.*)\n```", page, re.MULTILINE)
    assert command in (ROOT / "README.md").read_text()
