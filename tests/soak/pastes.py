"""A paste presses no key: sixty payloads, each inside a paste, into every pane, dialog and line of the screen.

On a real pseudo-terminal, and by tmux's own `paste-buffer -p`. Behind each payload stand sequences that have ended
pastes too early and keys that would delete, approve, quit: nothing is written, and the screen stays where it is.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.payloads import MIXED, PAYLOADS, text
from tests.soak.budget import Budget
from tests.soak.payloads import ESCAPE, TOGETHER, Step, Walk
from tests.soak.speaking import program
from tests.terminals import Terminal
from tests.tui.evening import Jobs
from tests.tui.plan import Plan
from tui_tasks.core.read.pages import log_pages
from tui_tasks.core.store import Store

BEGIN, END = "\x1b[200~", "\x1b[201~"
# What ended pastes before their end, or looks as if it did; and keys that must not be pressed.
KEYS = "dddd yq:2\x04\x10sdy\rm1"
BEHIND = (
    f"\x1b]0;t\x07{KEYS}",
    f"\x1bP$q{KEYS}",
    f"\x1b{KEYS}",
    f"\x1b[{KEYS}",
    f"{END}{KEYS}",
    f"\n{KEYS}\n\x1b[38;5;{KEYS}",
    f"{END}{KEYS}{BEGIN}{KEYS}",
)
MAX = 2_000
AT_ONCE = 4
"""So many payloads are pasted at each visit to a place: together they are less than a line of text takes."""


@dataclass(frozen=True)
class Place:
    """Keys that go to a place from the list, what is on the screen there, and how often Esc leads back."""

    keys: str
    shows: str
    back: int = 1


PLACES = (
    Place("", "[1 List]", 0),
    Place("\r", "[1 List]"),
    Place("v", "[1 List]"),
    Place("/", "[1 List]", 2),
    Place("n", "[1 List]", 2),
    Place("e", "Description", 2),
    Place("s", "in progress"),
    Place("m", "Esc Back"),
    Place(":move\r", "Esc Close"),
    Place("Y", "Markdown"),
    Place("Vd", "Esc Back", 2),
    Place(":new list\r", "Esc Back"),
    Place("?", "Esc Close"),
    Place(":", "Esc Close"),
    Place("a", "Inbox   "),
    Place("ar", "Inbox   ", 3),
    Place("ad", "Inbox   ", 3),
    Place("A", "Enter Its log"),
    Place("Am", "Esc Back", 2),
    Place("S", "Stats"),
    Place("2", "[2 Board]", 0),
    Place("2/", "[2 Board]", 2),
    Place("2n", "[2 Board]", 2),
    Place("3", "[3 Log]", 0),
    Place("3\r", "[3 Log]"),
    Place("3/", "[3 Log]", 2),
    Place("3:export\r", "Esc Back"),
    Place("4", "[4 Schedule]", 0),
    Place("4/", "[4 Schedule]", 2),
    Place("4e", "Zone", 2),
    Place("4d", "Esc Back"),
    Place("4\r", "running for", 2),
)


def pasted(number: int) -> str:
    """What is pasted: a payload, and something that would press keys behind it."""
    return text(number, "paste", MAX) + BEHIND[number % len(BEHIND)]


def newest(database: Path) -> int:
    with Store(str(database), read_only=True) as store:
        return log_pages.edges(store.db)[1]


def screen(folder: Path, numbers: Sequence[int], places: Sequence[Place] = PLACES) -> int:
    """Paste a few payloads everywhere, one after the other; return how often."""
    database = folder / f"pastes-{numbers[0]}" / "tasks.db"
    database.parent.mkdir()
    Jobs(Plan(database))
    before = newest(database)
    walk = Walk(database, 120, 40)
    try:
        for place in places:
            # What the last place has shown may stand there still.
            walk.terminal.type("1")
            walk.step(Step("", "[1 List]"))
            walk.settle()
            if place.shows != "[1 List]":
                walk.terminal.wait_for(lambda place=place: not walk.terminal.shows(place.shows))
            walk.terminal.type(place.keys)
            walk.step(Step("", place.shows))
            walk.settle()
            for number in numbers:
                walk.paste(f"{BEGIN}{pasted(number)}{END}")
                told = (place, number, [*PAYLOADS, "one of each kind"][number])
                assert walk.terminal.process.poll() is None, ("a paste ended the screen", told)
                # What the foot says of a paste of several lines stands there instead of the keys.
                assert any(map(walk.terminal.shows, (place.shows, "lines was pasted"))), (
                    told,
                    walk.terminal.screen.display,
                )
                assert newest(database) == before, ("a paste acted", told)
            for _ in range(place.back):
                walk.press(ESCAPE)
            walk.step(Step("", "[" if place.back else place.shows))
        walk.end()
        assert newest(database) == before
    finally:
        walk.terminal.close()
    shutil.rmtree(database.parent)
    return len(places) * len(numbers)


def through_tmux(folder: Path, numbers: Sequence[int]) -> int:
    """Paste payloads by tmux into the list and into a line; return how often. 0: there is no tmux."""
    if shutil.which("tmux") is None:
        return 0
    place = folder / "tmux"
    place.mkdir()
    plan = Plan(place / "tasks.db")
    before = newest(place / "tasks.db")
    tmux = ["tmux", "-f", "/dev/null", "-S", str(place / "socket")]
    command = shlex.join(program("--db", plan.path, "--no-scheduler"))
    settings = {"TUI_TASKS_CONFIG": str(place / "config.toml"), "TMUX": ""}
    outside = Terminal([*tmux, "new-session", command], lines=40, columns=120, piped=False, environment=settings)
    times = 0
    try:
        outside.wait_for(lambda: outside.shows("Ship auth flow") and outside.shows("? Help"))
        for number in numbers:
            (place / "buffer").write_text(pasted(number).replace("\0", ""), errors="replace")
            subprocess.run([*tmux, "load-buffer", str(place / "buffer")], check=True)
            for keys, shows in (("1", "[1 List]"), ("m", "Esc Back")):
                outside.type(keys)
                outside.wait_for(lambda shows=shows: outside.shows(shows))
                subprocess.run([*tmux, "paste-buffer", "-p"], check=True)
                # What has come behind the paste is looked at before the answer to a key behind it.
                outside.type("?" if keys == "1" else ESCAPE)
                outside.wait_for(
                    lambda keys=keys: outside.shows("Esc Close") if keys == "1" else outside.shows("? Help")
                )
                assert newest(place / "tasks.db") == before, f"payload {number}: tmux's paste acted"
                if keys == "1":
                    outside.type(ESCAPE)
                    outside.wait_for(lambda: outside.shows("? Help"))
                times += 1
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)
        outside.close()
    return times


def _everywhere(folder: Path, budget: Budget, numbers: Sequence[int]) -> int:
    if budget.is_over:
        return 0
    times = screen(folder, numbers)
    print(f"  payloads {numbers[0]} to {numbers[-1]}: {times} times", file=sys.stderr, flush=True)
    return times


def soak(folder: Path, budget: Budget) -> str:
    if budget.share < 1:
        payloads, times, by_tmux = 1, screen(folder, [MIXED], PLACES[::4]), through_tmux(folder, [MIXED])
    else:
        few = [range(len(PAYLOADS))[at : at + AT_ONCE] for at in range(0, len(PAYLOADS), AT_ONCE)]
        with ThreadPoolExecutor(TOGETHER) as pool:
            times = sum(pool.map(partial(_everywhere, folder, budget), few))
        payloads, by_tmux = times // len(PLACES), through_tmux(folder, range(len(PAYLOADS)))
    return f"{payloads} payloads pasted {times:,} times, and {by_tmux} times by tmux: no action ran"
