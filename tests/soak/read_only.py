"""Read only is read only: monitors change neither file nor journal, and do not hold the write-ahead log back.

Three monitors (`watch`, `watch --pane log`, `watch --plain`) on terminals of their own are given every key there is
while nobody writes: the file stays what it was, to the byte and the time of its last change. Then they follow clients
that write, and in the end the journal holds the clients' entries alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.soak.budget import Budget
from tests.soak.load import Load
from tests.soak.quiet_terminal import ESCAPE, QuietTerminal
from tests.soak.soundness import found
from tests.soak.speaking import program
from tui_tasks.core.engine.database import sqlite3
from tui_tasks.core.store import Store
from tui_tasks.tui.keys.action_table import ACTIONS

WRITES: Final = 100_000
MAX_LOG: Final = 64 << 20
"""What the write-ahead log may come to: what `journal_size_limit` lets stand."""
KINDS: Final = {"list": (), "log": ("--pane", "log"), "plain": ("--plain",)}
TYPED: Final = {"question_mark": "?", "slash": "/", "full_stop": ".", "exclamation_mark": "!", "colon": ":",
                "left_square_bracket": "[", "right_square_bracket": "]", "plus": "+", "enter": "\r", "tab": "\t",
                "space": " ", "down": "\x1b[B", "up": "\x1b[A", "home": "\x1b[H", "end": "\x1b[F",
                "pagedown": "\x1b[6~", "pageup": "\x1b[5~", "left": "\x1b[D", "right": "\x1b[C"}  # fmt: skip
WRITING: Final = (
    "INSERT INTO view (key, value) VALUES ('x', 'x')",
    "UPDATE journal SET actor = 'x'",
    "DELETE FROM task",
    "CREATE TABLE x (y)",
    "DROP TABLE task",
    "PRAGMA user_version = 99",
    "PRAGMA application_id = 1",
    "REINDEX",
    "VACUUM",
)


class Monitor(QuietTerminal):
    """A monitor on a terminal."""

    def __init__(self, database: Path, *options: str) -> None:
        settings = {"TUI_TASKS_CONFIG": str(database.with_name("none.toml"))}
        super().__init__(program("watch", "--db", database, *options), lines=24, columns=100, environment=settings)

    def descriptors(self, database: Path) -> Iterator[int]:
        """How it has the database's file open: the flags of each descriptor."""
        for place in Path(f"/proc/{self.process.pid}/fd").iterdir():
            # One that was open for a moment may be closed by now.
            with contextlib.suppress(FileNotFoundError):
                if place.readlink() == database:
                    told = Path(f"/proc/{self.process.pid}/fdinfo/{place.name}").read_text()
                    yield int(next(line.split()[1] for line in told.splitlines() if line.startswith("flags")), 8)


@contextlib.contextmanager
def monitors(database: Path) -> Iterator[dict[str, Monitor]]:
    """The three of them, each listening; they end in order."""
    with contextlib.ExitStack() as stack:
        made: dict[str, Monitor] = {}
        for name, options in KINDS.items():
            made[name] = Monitor(database, *options)
            stack.callback(made[name].close)
        made["plain"].wait_for(lambda: made["plain"].shows("Listening"))
        for name in ("list", "log"):
            made[name].wait_for(lambda name=name: made[name].shows("read only"))
        yield made
        for one in made.values():
            one.process.send_signal(signal.SIGTERM)
        for one in made.values():
            assert one.ends() in (128 + signal.SIGTERM, -signal.SIGTERM)


def state(database: Path) -> tuple[Any, ...]:
    """What the file holds, which it is, and when it was last changed; the log beside it must be empty."""
    log = Path(f"{database}-wal")
    assert not log.exists() or not log.stat().st_size, "something was written to the log"
    told = database.stat()
    return hashlib.sha256(database.read_bytes()).hexdigest(), told.st_ino, told.st_mtime_ns, told.st_size


def keys() -> list[str]:
    """Every key of every action, those that write among them; but not the one that quits."""
    named = [key for action in ACTIONS.values() if action.id != "quit" for key in action.keys.split(",") if key]
    return [TYPED.get(key) or (chr(ord(key[5:]) - 96) if key.startswith("ctrl+") else key) for key in named]


def quiet(database: Path, panes: str) -> int:
    """Nobody writes: whatever is typed at the monitors, nothing changes. Return how many keys were."""
    before = state(database)
    typed = 0
    with monitors(database) as watching:
        for one in watching.values():
            assert all(flags & os.O_ACCMODE == os.O_RDONLY for flags in one.descriptors(database))
            assert list(one.descriptors(database))
        for pane, key in itertools.product(panes, keys()):
            for name in ("list", "log"):
                watching[name].type(f"{ESCAPE}{ESCAPE}{pane}{key}")
                typed += 1
        for name in ("list", "log"):
            # What was typed before has been worked off when this is.
            watching[name].type(f"{ESCAPE * 3}1?")
            watching[name].wait_for(lambda name=name: watching[name].shows("Run  ↑↓ Choose"))
        assert state(database) == before, "a monitor changed the file"
    assert state(database) == before, "a monitor changed the file as it ended"
    return typed


def refused(database: Path) -> int:
    """A monitor's connection refuses every write, twice over; return how many were tried."""
    tried = 0
    for query_only in (1, 0):
        with Store(str(database), read_only=True) as store:
            assert store.db.scalar("PRAGMA query_only") == 1
            store.db.sql(f"PRAGMA query_only = {query_only}")
            for text in WRITING:
                try:
                    store.db.sql(text).fetchall()
                except sqlite3.Error as error:
                    assert "readonly" in str(error) or "read-only" in str(error), (text, error)
                    tried += 1
                else:
                    raise AssertionError(f"{text!r} was not refused")
    return tried


def followed(database: Path, writes: int, budget: Budget) -> tuple[Load, int, int]:
    """Clients write while the monitors follow; return them, the log's greatest size, and the entries told of."""
    size = 0
    with monitors(database) as watching:
        first = found(database, replay=False).seq
        with Load(database, most=writes, together=32) as load:
            steps = itertools.cycle([*"jjG1k3g2l4/x", ESCAPE])
            while load.is_on() and not budget.is_over:
                size = max(size, Path(f"{database}-wal").stat().st_size)
                for name in ("list", "log"):
                    watching[name].type(next(steps))
                time.sleep(0.05)  # as fast as a person types
        newest = found(database, replay=False).seq
        plain = watching["plain"]
        plain.wait_for(lambda: plain.lines - 1 == newest - first)
        _lets_go(database)
    return load, size, newest - first


def _lets_go(database: Path) -> None:
    """The monitors still run, and hold nothing: the log can be emptied."""
    raw = sqlite3.connect(str(database))
    raw.execute("PRAGMA busy_timeout = 5000")
    busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    raw.close()
    assert not busy, "a monitor that has nothing to read holds the log back"


def soak(folder: Path, budget: Budget) -> str:
    database = folder / "state" / "tasks.db"
    with Load(database, "before") as before:
        before.wait_for(200)
    tried = refused(database)
    typed = quiet(database, "1234"[: budget.of(4)])
    load, size, told = followed(database, budget.of(WRITES), budget)
    there = found(database)
    with Store(str(database), read_only=True) as store:
        actors = {actor for (actor,) in store.db.sql("SELECT DISTINCT actor FROM journal")}
    assert actors == {author.name for author in before.authors + load.authors}, actors
    lost = before.check(there).lost + load.check(there).lost
    assert size < MAX_LOG, f"the log grew to {size:,} bytes"
    return (
        f"three monitors: {typed:,} keys typed while nobody wrote, and the file as before to the byte and its times; "
        f"opened for reading alone, and {tried} ways to write refused by SQLite; through {load.done:,} writes beside "
        f"them ({lost} lost) the journal took the {len(actors)} writers' entries alone, its chain whole, each of the "
        f"{told:,} told of once; the write-ahead log {size / 2**20:.1f} MiB at the most, emptied afterwards"
    )
