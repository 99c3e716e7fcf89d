"""An acknowledged write survives a power cut at any instant.

Writers, a `TodoTool` and backups work on a database that is not there at first; everything that they do to files is
noted, with the replies in between (`filesystem.c`). At instants chosen by chance the disk is made as a power cut could
have left it (`disk.py`), and the program is started on it.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak import disk, todo_loop
from tests.soak.budget import Budget
from tests.soak.disk import Disk, Record
from tests.soak.ledger import Author, Write
from tests.soak.native import Faults, preloaded
from tests.soak.soundness import found
from tests.soak.speaking import Speaker, program, serve
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.store import Store

IMAGES = 500
WRITES = 6_000
WRITERS = 3
IN_FLIGHT = 4


@dataclass
class Told:
    """What had been acknowledged by some instant."""

    texts: set[str] = field(default_factory=set)
    statuses: dict[str, int] = field(default_factory=dict)
    todo: int = 0
    backups: set[str] = field(default_factory=set)
    replies: int = 0


class Work:
    """Processes at work below `root`, until so many writes were acknowledged; everything is noted in `log`."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.root = folder / "disk"
        self.log = folder / "log"
        self.database = self.root / "state" / "deep" / "tasks.db"
        self.authors = [Author(f"writer-{at}", random.Random(at), repeats_at=0.0) for at in range(WRITERS)]
        self.writes: dict[str, Write] = {}
        self.orders: dict[str, list[str]] = {}
        self.happened: Counter[str] = Counter()
        self._backups = itertools.count(1)
        self._todos = itertools.count(1)

    def do(self, writes: int) -> None:
        self.root.mkdir()
        self._env = preloaded(self.folder, self.root, log=self.log)
        self._faults = [Faults(self.folder / f"faults-{at}") for at in range(WRITERS)]
        self._speakers = [self._start(at) for at in range(WRITERS)]
        todo = Speaker(*todo_loop_command(self.database.parent), env=self._env)
        while sum(author.done for author in self.authors) < writes:
            at = self.chance.randrange(WRITERS)
            self._send(at)
            self._hear(at)
            what = self.chance.random()
            if what < 0.03:
                todo.send(b"%d\n" % next(self._todos))
                assert todo.hear()["success"]
            elif what < 0.04:
                self._backup()
            elif what < 0.05:
                self._restart(at)
            elif what < 0.06:
                self._kill(at)
            elif what < 0.063:
                self._restart_all()
        todo.end()
        for speaker in self._speakers:
            speaker.end()

    def _start(self, at: int) -> Speaker:
        env = self._env | {"SOAK_FAULTS": str(self._faults[at].file)}
        return serve(self.database, "--agent", self.authors[at].name, env=env)

    def _send(self, at: int) -> None:
        for _ in range(self.chance.randint(1, IN_FLIGHT)):
            write = self.authors[at].next()
            self.writes[write.id] = write
            if write.status is not None:
                self.orders.setdefault(write.status[0], []).append(write.id)
            # One that was to die has died, and is told it again once it is back; any other is missed by `_hear`.
            with contextlib.suppress(BrokenPipeError):
                self._speakers[at].send(write.line)

    def _hear(self, at: int) -> None:
        while self.authors[at].waiting:
            self.authors[at].heard(self._speakers[at].hear())

    def _restart(self, at: int) -> None:
        self._speakers[at].end()
        self._speakers[at] = self._start(at)
        self.happened["ended"] += 1

    def _kill(self, at: int) -> None:
        """Have a process die before one of its next calls: by itself, for what it does must be noted to the end."""
        author, speaker = self.authors[at], self._speakers[at]
        with self._faults[at] as faults:
            faults.begin("write", "sync", skip=self.chance.randint(0, 60), times=1, action="kill")
            while not faults.hits:
                self._send(at)
                while author.waiting and (line := speaker.line()) is not None:
                    author.heard(json.loads(line))
            speaker.kill()
        self._speakers[at] = self._start(at)
        for write in author.waiting:
            self._speakers[at].send(write.line)
        self._hear(at)
        self.happened["killed"] += 1

    def _restart_all(self) -> None:
        """The last to close the database checkpoints it and removes the log."""
        for speaker in self._speakers:
            speaker.end()
        self._speakers = [self._start(at) for at in range(WRITERS)]
        self.happened["all ended"] += 1

    def _backup(self) -> None:
        target = self.root / f"backup-{next(self._backups)}.db"
        with Speaker(*program("backup", "--db", self.database, target), env=self._env) as backup:
            assert backup.line() is not None
        self.happened["backups"] += 1


def todo_loop_command(folder: Path) -> list[str]:
    """The command of a program with `TodoTool`."""
    python = program()[0]
    return [python, "-m", "tests.soak.todo_loop", str(folder)]


class Listener:
    """Reads the replies out of the log: from each on, what it acknowledges must be there."""

    def __init__(self, work: Work) -> None:
        self.told = Told()
        self._work = work
        self._held: dict[tuple[int, str], bytes] = {}

    def hear(self, record: Record) -> None:
        pipe = record.pid, record.path
        *lines, self._held[pipe] = (self._held.get(pipe, b"") + record.data).split(b"\n")
        for line in lines:
            if line.startswith((b"{", b"[")):
                self._reply(json.loads(line))
            elif b": whole up to entry" in line:
                self.told.backups.add(line.partition(b":")[0].decode())

    def _reply(self, reply: object) -> None:
        first = reply[0] if isinstance(reply, list) else reply
        assert isinstance(first, dict)
        self.told.replies += 1
        name = str(first.get("id"))
        if name.startswith("todo-"):
            self.told.todo = int(name.removeprefix("todo-"))
        elif name in self._work.writes and first["ok"]:
            write = self._work.writes[name]
            self.told.texts.update(write.texts)
            if write.status is not None:
                self.told.statuses[write.status[0]] = self._work.orders[write.status[0]].index(write.id)

    def expected_of(self, uid: str) -> set[str]:
        """The statuses that a task may have: the last that was acknowledged, or one that was asked for after it."""
        writes = [self._work.writes[name] for name in self._work.orders[uid][self.told.statuses[uid] :]]
        return {write.status[1] for write in writes if write.status}


class Cuts:
    """Images of the disk, each of which must open, pass, and have all that was acknowledged."""

    def __init__(self, work: Work, chance: random.Random) -> None:
        self._work, self._chance = work, chance
        self._listener = Listener(work)
        self.images = self.lost = self.replayed = 0
        self.ways: Counter[str] = Counter()
        self._sound: set[bytes] = set()

    def make(self, images: int, budget: Budget) -> None:
        """Go through the log, and cut the power at so many instants."""
        total = sum(1 for _ in disk.records(self._work.log))
        instants = Counter(self._chance.choices(range(total), k=images))
        now = Disk(self._work.root)
        for at, record in enumerate(disk.records(self._work.log)):
            self._listener.hear(record) if record.op == "pipe" else now.do(record)
            for _ in range(instants[at]):
                if budget.is_over and self.images:
                    return
                self._cut(now)

    def _cut(self, now: Disk) -> None:
        way = self._chance.choice(disk.WAYS)
        place = self._work.folder / "image"
        for path, content in now.left(way, self._chance).items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(content)
        place.mkdir(exist_ok=True)
        database = place / self._work.database.relative_to(self._work.root)
        if self._chance.random() < 0.3 and database.exists():
            # What the index of the log held is anything; SQLite makes it anew.
            Path(f"{database}-shm").write_bytes(self._chance.randbytes(32_768))
        self._check(database, place)
        shutil.rmtree(place)
        self.images += 1
        self.ways[way] += 1

    def _check(self, database: Path, place: Path) -> None:
        told = self._listener.told
        is_whole = self._chance.random() < 0.1
        there = found(database, replay=is_whole)
        self.replayed += is_whole
        lost = [text for text in told.texts if there.texts[text] != 1]
        lost += [uid for uid in told.statuses if there.statuses[uid] not in self._listener.expected_of(uid)]
        self.lost += len(lost)
        assert not lost, f"acknowledged and lost: {lost[:5]}"
        doubled = [text for text, times in there.texts.items() if times > 1 and text.startswith("writer-")]
        assert not doubled, f"done twice: {doubled[:5]}"
        with Store(str(database)) as store:
            store.commit(EnsureList("after the cut", "task"), actor="agent", now=1)
        file = database.parent / "todos.json"
        if told.todo or file.exists():
            assert todo_loop.number_of(file.read_text()) >= told.todo
        for backup in told.backups:
            assert (place / Path(backup).relative_to(self._work.root)).exists(), f"{backup} is lost"
        for backup in place.glob("backup-*.db"):
            self._check_backup(backup)

    def _check_backup(self, backup: Path) -> None:
        """Hold a backup to be sound: the same bytes once, as most of them stand in every later image."""
        held = hashlib.sha256(backup.read_bytes()).digest()
        if held not in self._sound:
            found(backup, replay=False)
            self._sound.add(held)


def soak(folder: Path, budget: Budget) -> str:
    chance = random.Random(11)
    work = Work(folder, chance)
    work.do(budget.of(WRITES, 40))
    cuts = Cuts(work, chance)
    cuts.make(budget.of(IMAGES, 12), budget)
    calls = Counter(record.op for record in disk.records(work.log))
    done = sum(author.done for author in work.authors)
    ways = ", ".join(f"{number} {way}" for way, number in sorted(cuts.ways.items()))
    happened = ", ".join(f"{number} {what}" for what, number in sorted(work.happened.items()))
    syncs = calls["sync"] + calls["sync_folder"]
    return (
        f"{cuts.images} crash images ({ways} of what was not synced) from {sum(calls.values()):,} calls, {syncs:,} of "
        f"them syncs, of {done:,} writes by {WRITERS} writers ({happened}): {cuts.lost} acknowledged lost, each opens, "
        "passes and takes a write"
    )
