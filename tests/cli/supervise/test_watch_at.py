"""`watch --at`: which moments it takes, and the whole program on a terminal."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.engine.databases import add
from tests.terminals import Terminal
from tui_tasks.cli.main import main
from tui_tasks.core.store import Store


@pytest.fixture
def written(store: Store) -> Store:
    for number in range(1, 4):
        add(store, f"task number {number}")
    return store


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("someday", "someday is not an instant: give an age (90m, 8h, 2d), a time (18:00)"),
        ("2126-01-01", "2126-01-01 is in the future, or the number of an entry"),
        ("1999-12-31", "1999-12-31 is earlier than the journal, which begins with entry 1, Fri 2 Jan"),
        ("9999", "there is no entry 9,999 yet"),
    ],
)
def test_what_cannot_be_shown_is_wrong_usage_that_says_what_is_taken(
    written: Store, when: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--db", written.path, "watch", "--at", when]) == 2
    assert f"tui-tasks watch: --at: {said}" in capsys.readouterr().err


def test_a_database_without_a_past_is_refused(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", store.path, "watch", "--at", "1h"]) == 1
    assert capsys.readouterr().err == "tui-tasks: nothing has been written yet, so there is no past to show\n"


def test_at_goes_with_the_screen(written: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", written.path, "watch", "--plain", "--at", "1h"]) == 2
    assert "--at goes with the screen" in capsys.readouterr().err


@pytest.fixture
def terminal(written: Store, tmp_path: Path) -> Iterator[Terminal]:
    """A terminal on which the program shows the second entry, with a folder of its own for temporary files."""
    (tmp_path / "scratch").mkdir()
    command = [sys.executable, "-m", "tui_tasks", "--db", written.path, "watch", "--at", "2"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "scratch"), "TZ": "UTC"}
    running = Terminal(command, lines=24, columns=80, piped=False, environment=environment)
    yield running
    running.close()


def test_the_program_shows_the_past_and_leaves_nothing_behind(
    written: Store, terminal: Terminal, tmp_path: Path
) -> None:
    shown = ("task number 2", "as it was", Path(written.path).name)
    terminal.wait_for(lambda: all(map(terminal.shows, shown)))
    assert not terminal.shows("task number 3")
    terminal.type(">")
    terminal.wait_for(lambda: terminal.shows("task number 3"))
    terminal.type("{")
    terminal.wait_for(lambda: not terminal.shows("task number"))
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.ends() == 128 + signal.SIGTERM
    terminal.assert_given_back()
    assert not list((tmp_path / "scratch").glob("tui-tasks-past-*"))


# The program, with a replay that goes on until it is left.
ENDLESS = """
import sys, time
from tui_tasks.core.maintenance.past_state import PastState

def build(self, seq, report):
    while True:
        time.sleep(0.01)  # as long as a real replay works between two reports
        report(1, 100)

PastState.build = build
from tui_tasks.cli.main import main
sys.exit(main())
"""


@pytest.fixture
def replaying(written: Store, tmp_path: Path) -> Iterator[Terminal]:
    """A terminal on which the program replays the journal."""
    (tmp_path / "scratch").mkdir()
    command = [sys.executable, "-c", ENDLESS, "--db", written.path, "watch", "--at", "2"]
    running = Terminal(
        command, lines=24, columns=80, piped=False, environment=os.environ | {"TMPDIR": str(tmp_path / "scratch")}
    )
    running.wait_for(lambda: running.shows("Replaying the journal (Esc leaves)"))
    yield running
    running.close()


@pytest.mark.parametrize(("key", "status"), [("\x1b", 0), ("q", 0), ("\x03", 130)])
def test_a_key_leaves_while_the_journal_is_replayed(replaying: Terminal, tmp_path: Path, key: str, status: int) -> None:
    replaying.type("\x1b[A")
    replaying.type("x")
    assert replaying.process.poll() is None, "a key that is neither does nothing"
    replaying.wait_for(lambda: not select.select([replaying.slave], [], [], 0)[0])
    replaying.type(key)
    assert replaying.ends() == status
    assert termios.tcgetattr(replaying.slave) == replaying.before
    assert not any(line.strip() for line in replaying.screen.display), "no key is shown, nor the progress left"
    assert not list((tmp_path / "scratch").iterdir())


def test_a_signal_that_ends_the_replay_gives_the_terminal_back(replaying: Terminal, tmp_path: Path) -> None:
    replaying.process.send_signal(signal.SIGTERM)
    assert replaying.ends() == 128 + signal.SIGTERM
    assert termios.tcgetattr(replaying.slave) == replaying.before
    assert not list((tmp_path / "scratch").iterdir())
