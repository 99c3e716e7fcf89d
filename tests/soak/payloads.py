"""What agents write does nothing to a terminal: every text field, on every pane, dialog and title, as sixty payloads.

On a real pseudo-terminal. Every byte that the program writes must be of its own kinds, no marker may be within a
sequence, no action may run, and what stands behind a text must stand where it stood.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.payloads import MIXED, PAYLOADS, leaks, spills, text
from tests.soak.budget import Budget
from tests.soak.hostile import fill
from tests.soak.speaking import program
from tests.terminals import Terminal
from tui_tasks import clock
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

SIZES = ((120, 40), (80, 24), (40, 12))
ESCAPE = "\x1b"
TOGETHER = 3
"""So many screens at once: each is waited for most of the time."""
QUIET, NOTHING = 0.06, 0.3
_MARKER = re.compile(r"zq(\d\d)([a-z]+)")
# The fields that must have been on a screen, or this would prove nothing.
FIELDS = frozenset(
    ("agent", "blocked", "descr", "domain", "failed", "failing", "kept", "list", "log", "note", "option", "other",
     "outcome", "output", "plan", "prompt", "question", "second", "system", "tag", "theirs", "thoughts", "title",
     "view")
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """Keys, and what is then to be on the screen."""

    keys: str
    shows: str = ""


LIST = (
    Step("\r"),
    Step("\t\x04\x04"),
    Step("\x1b"),
    Step("jjjg"),
    Step("e", "Description"),
    Step("\t\t\x1b[B\x1b[B\x1b[F"),
    Step("\x1b\x1b"),
    Step("s", "Esc"),
    Step("\x1b"),
    Step("m", "Esc"),
    Step("\x1b"),
    Step(":move\r", "Esc"),
    Step("\x1b"),
    Step("Y", "Esc"),
    Step("m"),
    Step("Vd", "no"),
    Step("\x1b\x1b"),
    Step("/who:\t", "/"),
    Step("\x15tag:\t"),
    Step("\x15list:\t"),
    Step("\x1b\x1b"),
    Step("n@x #y"),
    Step("\x1b\x1b"),
)
AROUND = (
    Step("?", "Here:"),
    Step("\x1b"),
    Step(":zq", ":"),
    Step("\x15list"),
    Step("\x1b"),
    Step("a", "Esc"),
    Step("\r"),
    Step("a", "Esc"),
    Step("m"),
    Step("\x1b"),
    Step("x"),
    Step("\x1b\x1b\x1b"),
    Step("A", "Esc"),
    Step("m"),
    Step("\x1b"),
    Step("P"),
    Step("\x1b"),
    Step("\r"),
    Step("1"),
    Step("S"),
    Step("\x1b1"),
)
BOARD = (Step("2"), Step("l"), Step("\r"), Step("\x1b\x1b"), Step("llll"), Step("\r"), Step("\x1b\x1b"), Step("hhhhh"))
LOG = (
    Step("3g"),
    # At the end of an entry stands why it was made.
    *(step for _ in range(2) for step in (Step("\r"), Step("G"), Step("\x1bj"))),
    Step("\x04"),
    Step("\x04"),
    *(step for _ in range(12) for step in (Step("\r"), Step("\x1bj"))),
    Step("G\r"),
    *(step for _ in range(4) for step in (Step("\r"), Step("\x1bk"))),
    Step("3/who:\t", "/"),
    Step("\x1b\x1b"),
    Step(":export\r"),
    Step("\x1b"),
)
JOBS = (
    Step("4"),
    Step("j"),
    Step("\r"),
    Step("\r"),
    Step("\x1b\x1b4"),
    Step("k\r"),
    Step("\r\x06"),
    Step("\x1b\x1b4"),
    Step("e", "Zone"),
    Step("\t\t\t\t\t\x1b[F"),
    Step("\t\x1b[F\x1b[B"),
    Step("\x1b\x1b"),
    Step(":run with\r"),
    Step("\x1b"),
    Step("d"),
    Step("\x1b"),
    Step("1"),
)
ALL = (LIST, AROUND, BOARD, LOG, JOBS)
# One look at each pane and at what is typed in.
GLANCE = (
    (
        Step("\r", "Esc Back"),
        Step("e", "Description"),
        Step("\x1b", "[1 List]"),
        Step("a", "Esc Back"),
        Step("\x1b", "[1 List]"),
        Step("A", " Agents "),
        Step("j", "Enter shows them"),
        Step("\r", "Enter folds them"),
        Step("j", "Its log"),
        Step("\x1b", "[1 List]"),
    ),
    (
        Step("2", "[2 Board]"),
        Step("3", "[3 Log]"),
        Step("\r", "Esc"),
        Step("\x1b"),
        Step("4", "[4 Schedule]"),
        Step("e", "Zone"),
        Step("\x1b", "[4 Schedule]"),
        Step("1", "[1 List]"),
    ),
)


class Paper(Terminal):
    """A terminal for commands that print much: all of it is kept, and none of it shown."""

    def take(self, data: bytes) -> None:
        self.raw += data


class Walk:
    """One screen, walked through with the keyboard and the mouse."""

    def __init__(self, database: Path, columns: int, lines: int) -> None:
        home = {"TUI_TASKS_CONFIG": str(database.parent / "config.toml"), "HOME": str(database.parent)}
        command = program("--db", database, "--no-scheduler")
        self.terminal = Terminal(command, lines=lines, columns=columns, piped=False, environment=home)
        self.seen: set[str] = set()
        self.screens = 0
        self.terminal.wait_for(lambda: self.terminal.shows("? Help") and not self.terminal.shows("No tasks yet"))
        self._settle(0)

    def step(self, step: Step) -> None:
        """Press the keys one by one, and look at what came of it."""
        for key in re.findall(r"\x1b\[.|.", step.keys, re.DOTALL):
            self.press(key)
        if step.shows:
            self.terminal.wait_for(lambda: self._shows(step))
        self.look()

    def _shows(self, step: Step) -> bool:
        if step.keys == ESCAPE and not self.terminal.shows(step.shows):
            # A screen that was still being opened may not have heard it.
            self.press(ESCAPE)
        return self.terminal.shows(step.shows)

    def paste(self, text: str) -> None:
        """Send what a terminal sends for a paste."""
        painted = len(self.terminal.raw)
        self.terminal.type_bytes(text.encode("utf-8", "replace"))
        self._settle(painted)

    def press(self, key: str) -> None:
        painted = len(self.terminal.raw)
        # By itself it could be the beginning of another key's sequence, and would be waited on.
        self.terminal.type("\x1b[27u" if key == ESCAPE else key)
        self._settle(painted)

    def settle(self) -> None:
        """Wait until nothing is painted any more."""
        self._settle(len(self.terminal.raw))

    def _settle(self, painted: int) -> None:
        """Wait until something is painted, where anything is, and then nothing more."""
        length, since = painted, time.monotonic()
        while time.monotonic() - since < (QUIET if length != painted else NOTHING):
            if len(self.terminal.raw) != length:
                length, since = len(self.terminal.raw), time.monotonic()
            time.sleep(0.01)  # looked at a hundred times a second

    def look(self) -> None:
        """Nothing may have moved, and nothing may have ended."""
        assert self.terminal.process.poll() is None, self.terminal.screen.display
        # It may be in the midst of painting.
        self.terminal.wait_for(lambda: not self._spills())
        self.screens += 1
        for line in self.terminal.screen.display:
            self.seen |= {field for _, field in _MARKER.findall(line)}

    def _spills(self) -> list[str]:
        with self.terminal.screen.lock:
            return spills(self.terminal.screen)

    def click_all(self) -> int:
        """Click on everything that looks as if it did something; return how often."""
        clicks = [
            (line.index("@cl") + 2, row) for row, line in enumerate(self.terminal.screen.display, 1) if "@cl" in line
        ]
        for column, row in clicks:
            self.terminal.type(f"\x1b[<0;{column + 1};{row}M\x1b[<0;{column + 1};{row}m")
            self._settle(0)
            self.look()
            self.press(ESCAPE)
        return len(clicks)

    def end(self) -> None:
        """Quit; the stream must be the program's own, whole."""
        for _ in range(4):
            self.press(ESCAPE)
        self.terminal.type("q")
        assert self.terminal.ends() == 0, self.terminal.screen.display
        self.terminal.assert_given_back()
        found = leaks(self.terminal.raw, told=True)
        assert not found, found[:3]


def _conflict(walk: Walk, database: Path, number: int) -> None:
    """Somebody else changes the task that the human is about to save."""
    walk.step(Step("e", "Description"))
    walk.step(Step("x"))
    with Store(str(database)) as store:
        mine = next(task for home in task_queries.lists(store.db) for task in task_queries.tasks(store.db, home.id)
                    if task.name.startswith(text(number, "title", 10_000)[:40]))  # fmt: skip
        changes = {"name": text(number, "theirs", 10_000), "description": text(number, "theirs")}
        store.commit(EditTask(mine.uid, changes), actor=text(number, "agent", 200), now=clock.now())
    walk.step(Step("\x13"))
    walk.step(Step("\x1b"))
    walk.step(Step("\x1b\x1b"))


def screen(folder: Path, number: int, size: tuple[int, int] = SIZES[0], parts: Sequence[Sequence[Step]] = ALL) -> Walk:
    """Walk through everything with one payload everywhere."""
    database = folder / f"{number}-{size[0]}" / "tasks.db"
    fill(database, [number])
    walk = Walk(database, *size)
    try:
        for part in parts:
            for step in part:
                walk.step(step)
            walk.click_all()
        if parts is ALL:
            walk.step(Step("1a", "Esc"))
            walk.step(Step("\r\x1b"))
            _conflict(walk, database, number)
        walk.end()
    except AssertionError as error:
        name = [*PAYLOADS, "one of each kind"][number]
        error.add_note(f"payload {number} ({name}) at {size[0]}x{size[1]}")
        raise
    finally:
        walk.terminal.close()
    return walk


def commands(folder: Path, number: int, most: int = 100) -> int:
    """What the commands for a shell print on a terminal, refusals with hostile names among them; how many were run."""
    database = folder / f"{number}-commands" / "tasks.db"
    fill(database, [number])
    name = text(number, "name", 300).replace("\0", "")
    with Store(str(database)) as store:
        uids = [task.uid for home in task_queries.lists(store.db) for task in task_queries.tasks(store.db, home.id)]
    lines = [
        ("ls",), ("ls", "--json"), ("next",), ("prime",), ("doctor",), ("show", name), ("ls", "--list", name),
        ("show", uids[-1]), ("show", uids[-1], "--json"), ("call", name), ("call", "control:task", f"uid={name}"),
        ("call", "control:history"), ("call", "--help", name), ("call", "ask", name),
        ("add", "--new", name, "--list", name),
        ("ls", "--db", f"/nowhere/{name}/x"), ("next", "--agent", "human", "--list", name), ("done", uids[0]),
    ]  # fmt: skip
    for line in lines[:most]:
        terminal = Paper(program("--db", database, *line), lines=24, columns=80, piped=False)
        status = terminal.ends()
        terminal.close()
        assert status in (0, 1, 2), (line, terminal.raw)
        assert b"Traceback" not in terminal.raw, terminal.raw.decode()
        # JSON has every letter as it is: in columns nothing stands behind it.
        sequences = [leak.what for leak in leaks(terminal.raw) if "width" not in leak.what and "marks" not in leak.what]
        sequences += re.findall(r"\x1b.{0,20}", terminal.raw.decode())
        assert not sequences, (number, line, sequences[:3])
    return min(most, len(lines))


def monitor(folder: Path, numbers: Sequence[int]) -> None:
    """`watch --plain` hears of everything that is written with every payload."""
    database = folder / "plain" / "tasks.db"
    fill(database, [])
    terminal = Terminal(program("watch", "--plain", "--db", database), lines=24, columns=200, piped=False)
    terminal.wait_for(lambda: terminal.shows("Listening"))
    fill(database, list(numbers))
    with Store(str(database)) as store:
        (home, *_) = task_queries.lists(store.db)
        store.commit(AddTask("the end of it", home.uid), actor="agent", now=clock.now())
    terminal.wait_for(lambda: terminal.shows("the end of it"))
    terminal.close()
    assert not leaks(terminal.raw), leaks(terminal.raw)[:3]
    assert b"\x1b" not in terminal.raw


def _everywhere(folder: Path, budget: Budget, number: int) -> tuple[int, Walk] | None:
    """One payload in all commands and on the screen, where there is time for it; how many commands were run."""
    if budget.is_over:
        return None
    run, walk = commands(folder, number), screen(folder, number, SIZES[number % len(SIZES)])
    for place in folder.glob(f"{number}-*"):
        shutil.rmtree(place)
    print(f"  payload {number}: {walk.screens} screens", file=sys.stderr, flush=True)
    return run, walk


def soak(folder: Path, budget: Budget) -> str:
    monitor(folder, range(len(PAYLOADS)))
    if budget.share < 1:
        run, walks = commands(folder, MIXED, most=4), [screen(folder, MIXED, parts=GLANCE)]
    else:
        with ThreadPoolExecutor(TOGETHER) as pool:
            done = [both for both in pool.map(partial(_everywhere, folder, budget), range(len(PAYLOADS))) if both]
        run, walks = sum(number for number, _ in done), [walk for _, walk in done]
        seen = {field for walk in walks for field in walk.seen}
        assert len(walks) < len(PAYLOADS) or seen >= FIELDS, f"never on a screen: {FIELDS - seen}"
    screens = sum(walk.screens for walk in walks)
    return (
        f"{len(PAYLOADS)} payloads to a plain monitor; {len(walks)} everywhere, on {screens:,} screens and from "
        f"{run} commands: no byte of theirs went out, no action ran, nothing moved"
    )
