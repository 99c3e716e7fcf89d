"""`tui-tasks help`: every page, in a pipe as it stands, on a terminal as wide as that is."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests import fork_server
from tests.contract.client import DEADLINE, ROOT, environment, program
from tests.docs import manual_page
from tests.started import Started
from tui_tasks.cli.command_table import COMMANDS
from tui_tasks.cli.help import GROUPS, OTHER_NAMES, for_terminal, topics
from tui_tasks.cli.main import main

TOPICS = sorted(page.stem for page in (ROOT / "tui_tasks" / "docs").glob("*.md"))


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return fork_server.run(
        program("help", *arguments),
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        timeout=DEADLINE,
        check=False,
    )


@pytest.mark.parametrize("topic", TOPICS)
def test_a_pipe_is_given_the_page_as_it_stands(topic: str, tmp_path: Path) -> None:
    done = run(tmp_path, topic)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (ROOT / "tui_tasks" / "docs" / f"{topic}.md").read_text()


def test_without_a_topic_each_is_listed_by_group_with_its_subject(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 0
    listed, _, hint = done.stdout.rstrip().rpartition("\n\n")
    assert [line for line in listed.splitlines() if line.endswith(":")] == [f"{group}:" for group in GROUPS]
    rows = [line.split(maxsplit=1) for line in listed.splitlines() if re.match(r"  \S", line)]
    assert [topic for topic, _ in rows] == ["commands", *topics()]
    assert ["protocol", "The contract for a program on the other end of the pipe"] in rows
    assert ["sharing", "A project for a folder; a file for a team"] in rows
    assert not any(about.startswith(("#", "key,")) for _, about in rows)
    assert hint == "tui-tasks help TOPIC prints a page."


def test_every_page_is_in_one_group() -> None:
    assert sorted(topics()) == TOPICS


@pytest.mark.parametrize(("old", "new"), OTHER_NAMES.items())
def test_another_name_of_a_page_shows_it(old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert old not in TOPICS
    assert main(["help", old]) == 0
    assert capsys.readouterr().out == (ROOT / "tui_tasks" / "docs" / f"{new}.md").read_text()


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        ("first day", "first-day"),
        ("First_Day", "first-day"),
        ("suprvising", "supervising"),
        ("inbox", "supervising"),
        ("jobs", "scheduling"),
        ("worktree", "work"),
        ("time travel", "supervising"),
        ("theme", "configuration"),
        ("marks", "supervising"),
    ],
)
def test_a_near_name_or_a_word_that_a_page_is_about_shows_it(words, topic, capsys) -> None:
    assert main(["help", *words.split()]) == 0
    assert capsys.readouterr().out == (ROOT / "tui_tasks" / "docs" / f"{topic}.md").read_text()


def test_help_of_a_command_is_that_commands_own(capsys) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["help", "ls"])
    assert capsys.readouterr().out.startswith("usage: tui-tasks ls ")
    # A page has its name before a command.
    assert main(["help", "work"]) == 0
    assert capsys.readouterr().out.startswith("# Work\n")


def test_another_word_names_the_three_nearest_topics(capsys) -> None:
    assert main(["help", "skedxyz"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert re.fullmatch(
        r"tui-tasks: no page skedxyz; near are [a-z-]+, [a-z-]+, [a-z-]+. `tui-tasks help` lists all\n", printed.err
    )


def test_neither_the_screen_nor_the_state_is_imported_for_it(tmp_path: Path) -> None:
    needless = "{'textual', 'rich', 'peewee', 'msgspec', 'tui_tasks.core.store'} & set(sys.modules)"
    script = (
        f"import sys; from tui_tasks.cli.main import main; main(['help', 'tools']); sys.exit(str({needless} or ''))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(tmp_path), timeout=DEADLINE
    )
    assert done.stderr.strip() == ""
    assert done.stdout.startswith("# Tools\n")


def test_a_topic_that_there_is_not_is_wrong_usage_and_told_with_those_that_there_are(tmp_path: Path) -> None:
    done = run(tmp_path, "protection-col")
    assert done.returncode == 2
    assert "protocol" in done.stderr
    assert done.stdout == ""


def test_a_database_is_neither_needed_nor_made(tmp_path: Path) -> None:
    assert run(tmp_path, "security").returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_is_given_the_page_formatted_to_its_width_through_the_pager(tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    env = {**environment(tmp_path), "PAGER": "sed 's/^/paged /'", "TERM": "xterm", "COLUMNS": "60"}
    with Started(program("help", "security"), stdout=end, stdin=end, env=env) as process:
        os.close(end)
        printed = b""
        # A terminal whose other end is closed tells an error in place of its end.
        while piece := _read(terminal):
            printed += piece
    os.close(terminal)
    assert process.returncode == 0
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in printed.decode().splitlines()]
    assert all(line.startswith("paged ") and len(line) <= len("paged ") + 60 for line in lines)
    assert not any("##" in line or "**" in line or line.startswith("paged |") for line in lines)
    assert "a power cut" in " ".join(lines)
    assert "(isolation);" in " ".join(lines)


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[isolation](isolation.md)", "isolation"),
        ("[events and errors](events-and-errors.md)", "events and errors"),
        ("[rules](protocol.md#5-lists)", "rules (`help protocol`)"),
        ("[uv](https://docs.astral.sh/uv/)", "[uv](https://docs.astral.sh/uv/)"),
    ],
)
def test_a_link_on_a_terminal_is_a_topic_of_help(link: str, shown: str) -> None:
    assert for_terminal(link) == shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def test_the_manual_page_has_every_command_and_no_fault_that_its_readers_find(tmp_path: Path) -> None:
    done = run(tmp_path, "--man")
    assert (done.returncode, done.stderr) == (0, "")
    page = tmp_path / "tui-tasks.1"
    page.write_text(done.stdout)
    for name in COMMANDS:
        assert f"\\fBtui-tasks {name}\\fR" in done.stdout.replace("\\-", "-"), name
    assert all(f"\n.TP\n.B {status}\n" in done.stdout for status in ("0", "1", "2", "130", "128 + N"))
    for reader in (["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-ww", "-man", "-z"]):
        if shutil.which(reader[0]) is not None:
            found = subprocess.run([*reader, str(page)], capture_output=True, text=True, timeout=DEADLINE)
            assert (found.stdout, found.stderr) == ("", "")


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="argparse words its help anew in later versions")
def test_the_manual_page_is_that_of_the_commands_there_are() -> None:
    assert manual_page.FILE.read_text() == manual_page.text(), "python -m tests.docs.tools_page writes it anew"
