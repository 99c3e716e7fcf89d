"""A backup that is taken under load is whole: it opens, passes, and holds an exact prefix of the journal.

Three `serve` write meanwhile. Each copy is held against the journal in the end; each is put in a place of its own, as
one would restore it, and the program works on it. Some backups are killed: they must leave nothing, or all of it.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from tests import fork_server
from tests.soak.budget import Budget
from tests.soak.load import Load
from tests.soak.soundness import found
from tests.soak.speaking import program, serve
from tui_tasks.core.store import Store

BACKUPS = 50
BEFORE = 4_000
"""Writes before the first: a copy that takes a moment is one that others write into."""


def rows(path: Path, up_to: int) -> list[Any]:
    """The journal's rows as they stand in a file."""
    with Store(str(path), read_only=True) as store:
        held: list[Any] = store.db.sql("SELECT * FROM journal WHERE seq <= ? ORDER BY seq", (up_to,)).fetchall()
        return held


def taken(load: Load, database: Path, target: Path) -> int:
    """Back up; return the newest entry that the copy is said to hold."""
    told = load.seq
    done = fork_server.run(program("backup", "--db", database, target), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    newest = int(done.stdout.rpartition("entry ")[2].replace(",", "").rstrip(".\n"))
    assert newest >= told, f"entry {told} was acknowledged before, and the copy ends at {newest}"
    return newest


def killed(database: Path, target: Path, chance: random.Random) -> None:
    """Kill a backup at some moment: under its name there is nothing, or all of it."""
    with subprocess.Popen(program("backup", "--db", database, target), stdout=subprocess.DEVNULL) as backup:
        time.sleep(chance.uniform(0.1, 1.0))  # any moment of it
        backup.kill()
    if target.exists():
        found(target, replay=False)


def restored(copy: Path, folder: Path, newest: int) -> None:
    """Put a copy where a database is to be, and have the program work on it."""
    folder.mkdir()
    folder.chmod(0o700)
    database = Path(shutil.copy2(copy, folder / "tasks.db"))
    checked = fork_server.run(program("doctor", "--db", database), capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    with serve(database) as speaker:
        reply = speaker.ask("tasklist:add_task", name="after the restore")
        assert (reply["ok"], reply["seq"]) == (True, newest + 1), reply
        uid = reply["result"]["uid"]
        assert speaker.ok("control:task", uid=uid)["name"] == "after the restore"
        speaker.ok("control:undo")
    there = found(database)
    assert there.seq > newest + 1
    shutil.rmtree(folder)


def soak(folder: Path, budget: Budget) -> str:
    chance = random.Random(29)
    database = folder / "state" / "tasks.db"
    copies: dict[Path, int] = {}
    kills = 0
    with Load(database) as load:
        load.wait_for(budget.of(BEFORE, 200))
        before = load.done
        for number in budget.times(BACKUPS, 2):
            copy = folder / f"copy-{number}.db"
            copies[copy] = taken(load, database, copy)
            if number % 5 == 1:
                killed(database, folder / f"killed-{number}.db", chance)
                kills += 1
    tally = load.check(found(database))
    whole = rows(database, load.seq + 1_000_000)
    for copy, newest in copies.items():
        held = rows(copy, newest + 1_000_000)
        assert held[-1][0] == newest, f"{copy.name} ends at {held[-1][0]}, and was said to hold {newest}"
        assert held == whole[: len(held)], f"{copy.name} is no prefix of the journal"
        restored(copy, folder / "restored", newest)
    return (
        f"{len(copies)} of {len(copies)} backups opened, passed and held an exact prefix of the journal "
        f"({min(copies.values()):,} to {max(copies.values()):,} entries) while {load.done - before:,} writes were made "
        f"beside; each was restored, checked by doctor, read and written to; {kills} more were killed and left nothing "
        f"that is not whole; {tally.acknowledged:,} acknowledged, {tally.lost} lost"
    )
