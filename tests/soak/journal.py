"""The journal cannot be altered unnoticed: what is changed in the file by other means, `doctor` finds.

A database with writes of every kind is changed at random: a bit of its file, or rows of its journal by SQL. A change
that leaves every entry as it was is none, and counts for nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests import fork_server
from tests.soak.budget import Budget
from tests.soak.load import Load
from tests.soak.speaking import program
from tui_tasks import clock
from tui_tasks.cli.admin import doctor
from tui_tasks.core.engine.driver import connect, sqlite3
from tui_tasks.core.errors import DatabaseRefused, Refusal
from tui_tasks.core.store import Store

CHANGES: Final = 1_000
WRITES: Final = 150
BY_COMMAND: Final = 20
"""So many of the changes are looked for by the command itself, which takes a process each."""


class Changer:
    """Changes a database, each time from what it was, and looks whether that is found."""

    def __init__(self, database: Path, chance: random.Random) -> None:
        self.chance = chance
        self._was = database.read_bytes()
        self.database = database.with_name("changed.db")
        self._entries = self._read(database)
        assert self._entries
        self._columns = self._names(database)

    def bit(self) -> None:
        """One bit, anywhere in the file."""
        held = bytearray(self._was)
        held[self.chance.randrange(len(held))] ^= 1 << self.chance.randrange(8)
        self.database.write_bytes(held)

    def byte(self) -> None:
        """One byte of what an entry says, wherever it stands in the file."""
        held = bytearray(self._was)
        entry = self.chance.choice(self._entries)
        words = [value.encode() for value in entry if isinstance(value, str) and len(value) > 8]
        words += [value for value in entry if isinstance(value, bytes) and len(value) == 32]
        word = self.chance.choice(words)
        at = held.find(word)
        if at >= 0:
            held[at + self.chance.randrange(len(word))] = self.chance.randrange(256)
        self.database.write_bytes(held)

    def value(self) -> None:
        """Another value in a column of an entry."""
        entry = self.chance.choice(self._entries)
        column = self.chance.randrange(1, len(self._columns))
        other = self.chance.choice(self._entries)[column]
        self._sql(f"UPDATE journal SET {self._columns[column]} = ? WHERE seq = ?", other, entry[0])

    def taken_out(self) -> None:
        """An entry less."""
        self._sql("DELETE FROM journal WHERE seq = ?", self.chance.choice(self._entries)[0])

    def cut_short(self) -> None:
        """The oldest entries are gone."""
        self._sql("DELETE FROM journal WHERE seq < ?", self.chance.choice(self._entries[1:])[0])

    def swapped(self) -> None:
        """Two entries in each other's place."""
        one, other = (entry[0] for entry in self.chance.sample(self._entries, 2))
        for now, then in ((one, -1), (other, one), (-1, other)):
            self._sql("UPDATE journal SET seq = ? WHERE seq = ?", then, now, afresh=now == one and then == -1)

    def put_in(self) -> None:
        """A copy of an entry behind the newest."""
        names = ", ".join(self._columns[1:])
        seq = self.chance.choice(self._entries)[0]
        self._sql(
            f"INSERT INTO journal (seq, {names}) SELECT (SELECT max(seq) + 1 FROM journal), {names} FROM journal "
            "WHERE seq = ?",
            seq,
        )

    def is_changed(self) -> bool:
        """Whether an entry says something else now, or cannot be read."""
        try:
            return self._read(self.database) != self._entries
        except (sqlite3.Error, OverflowError, UnicodeDecodeError):
            return True

    def is_found(self, *, by_command: bool) -> bool:
        """Whether `doctor` tells of it."""
        if by_command:
            command = program("doctor", "--db", self.database)
            done = fork_server.run(command, capture_output=True, text=True, check=False)
            assert "Traceback" not in done.stderr, done.stderr
            return done.returncode == 1
        try:
            with Store(str(self.database), read_only=True) as store:
                return bool(list(doctor.findings(store, self.database.with_name("none.toml"), clock.now())))
        except (Refusal, DatabaseRefused):
            return True

    def clean(self) -> None:
        """Leave nothing of the last change."""
        for path in self.database.parent.glob("changed.db*"):
            path.unlink()

    def _sql(self, text: str, *values: Any, afresh: bool = True) -> None:
        if afresh:
            self.database.write_bytes(self._was)
        self.database.chmod(0o600)
        raw = connect(self.database)
        raw.execute(text, values)
        raw.close()

    @staticmethod
    def _read(database: Path) -> list[Any]:
        raw = connect(f"{database.as_uri()}?mode=ro", uri=True)
        try:
            return list(raw.execute("SELECT * FROM journal ORDER BY seq").fetchall())
        finally:
            raw.close()

    @staticmethod
    def _names(database: Path) -> list[str]:
        raw = connect(f"{database.as_uri()}?mode=ro", uri=True)
        try:
            return [row[1] for row in raw.execute("PRAGMA table_info(journal)")]
        finally:
            raw.close()


def soak(folder: Path, budget: Budget) -> str:
    database = folder / "state" / "tasks.db"
    with Load(database) as load:
        load.wait_for(budget.of(WRITES, 60))
    changer = Changer(database, random.Random(31))
    ways: list[Callable[[], None]] = [changer.bit, changer.byte, changer.byte, changer.value, changer.value]
    ways += [changer.taken_out, changer.cut_short, changer.swapped, changer.put_in]
    found: Counter[str] = Counter()
    unchanged = 0
    for number in budget.times(CHANGES, 40):
        way = changer.chance.choice(ways)
        while True:
            changer.clean()
            way()
            changer.database.chmod(0o600)
            if changer.is_changed():
                break
            unchanged += 1
        by_command = number % (CHANGES // BY_COMMAND) == 1
        assert changer.is_found(by_command=by_command), f"change {number} was not found: {way.__doc__}"
        found[way.__name__.replace("_", " ")] += 1
    listed = ", ".join(f"{times} {what}" for what, times in found.most_common())
    return (
        f"{found.total():,} of {found.total():,} random changes of a journal of {load.seq:,} entries found ({listed}); "
        f"{unchanged:,} more changed no entry"
    )
