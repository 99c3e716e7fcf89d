"""A disk that is full, fails, can only be read or is gone: a clear error, nothing lost, and on by itself afterwards.

Two `serve` work on one database while calls on its files are made to fail (`filesystem.c`), one at a time or for a
while; some are killed in the midst of it. What was acknowledged must be there, and what was refused must not. Then
disks that are full for real, a folder that goes and comes, and files that are no database of ours.
"""

from __future__ import annotations

import errno
import random
import resource
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from tests import fork_server
from tests.core.engine import databases
from tests.soak.budget import Budget
from tests.soak.ledger import Author, Tally
from tests.soak.native import FOR_EVER, Faults, preloaded
from tests.soak.soundness import found
from tests.soak.speaking import Speaker, program, serve

FAULTS = 5_000
A_ROUND = 250
"""Each begins with no database: to look at a large one takes long."""
CHECK_EVERY = 50
ERRORS = {"ENOSPC": ("write", "truncate"), "EIO": ("write", "sync", "truncate", "read", "open", "unlink")}
ERRORS |= {"EROFS": ("write", "truncate", "open"), "EDQUOT": ("write",)}
FILES = ("tasks.db", "tasks.db-wal", "tasks.db-shm", "")


class Client:
    """A `serve` and what it was asked for. What was refused is asked for again with a key; without, it is not to be."""

    def __init__(self, database: Path, author: Author, env: dict[str, str], log: Path) -> None:
        self.author = author
        self.refused: set[str] = set()
        self.codes: Counter[str] = Counter()
        self._how = {"env": env, "stderr": log.open("wb")}
        self._database = database
        self.start()

    def start(self) -> None:
        self.speaker = serve(self._database, "--agent", self.author.name, **self._how)

    def write(self, number: int) -> None:
        """Ask for some writes, whatever happens."""
        author = self.author
        again = list(author.waiting)
        author.waiting.clear()
        for write in again + [author.next() for _ in range(number)]:
            if write not in author.waiting:
                author.waiting.append(write)
        sent = list(author.waiting)
        for write in sent:
            self.speaker.send(write.line)
        for _ in sent:
            self._hear(self.speaker.hear())

    def _hear(self, value: object) -> None:
        replies = value if isinstance(value, list) else [value]
        errors = [reply["error"] for reply in replies if not reply["ok"]]
        if not errors:
            self.author.heard(value)
            return
        write = self.author.waiting.popleft()
        for error in errors:
            assert error["code"] in ("storage_error", "busy"), error
            # SQLite takes a read that fails for damage.
            assert error["data"]["retryable"] or "damaged" in error["message"], error
            self.codes[error["message"].rpartition(": ")[2].partition(";")[0]] += 1
        if self.author.keyed:
            self.author.waiting.append(write)
        else:
            self.refused.update(write.texts)


class Failing:
    """Faults of every kind, one after the other."""

    def __init__(self, folder: Path, chance: random.Random, tally: Tally) -> None:
        folder.mkdir()
        self.chance, self.tally = chance, tally
        self.database = folder / "state" / "tasks.db"
        self.faults = Faults(folder / "faults")
        env = preloaded(folder, self.database.parent, faults=self.faults.file)
        authors = [Author("keyed", random.Random(1)), Author("bare", random.Random(2), keyed=False)]
        self.clients = [Client(self.database, author, env, folder / f"{author.name}.log") for author in authors]
        self.hits: Counter[str] = Counter()
        self.killed = 0
        for client in self.clients:
            client.write(5)

    def fail(self) -> None:
        """Let some calls fail while both write, then all be well."""
        error = self.chance.choice(list(ERRORS))
        ops = self.chance.sample(ERRORS[error], k=self.chance.randint(1, len(ERRORS[error])))
        times = self.chance.choice((1, 1, 3, FOR_EVER))
        skip, match = self.chance.randint(0, 40), self.chance.choice(FILES)
        self.faults.begin(*ops, error=getattr(errno, error), skip=skip, times=times, match=match)
        for _ in range(3):
            for client in self.clients:
                client.write(self.chance.randint(1, 4))
        self.hits[error] += self.faults.hits
        killed = self.chance.random() < 0.1
        for client in self.clients if killed else ():
            client.speaker.kill()
        self.faults.end()
        if killed:
            self.check()
            self.killed += 1
        for client in self.clients:
            if killed:
                client.start()
            client.write(1)
            assert not client.author.waiting, "it did not go on by itself"

    def check(self) -> None:
        """What was acknowledged is there, what was refused is not."""
        there = found(self.database, replay=False)
        self.tally.check([client.author for client in self.clients], there)
        for client in self.clients:
            kept = [text for text in client.refused if there.texts[text]]
            assert not kept, f"refused, and yet there: {kept[:5]}"

    def end(self) -> None:
        """Look once more, let both end in order, and hold it all to be as the journal tells."""
        self.check()
        for client in self.clients:
            assert client.speaker.end() == 0
        found(self.database)
        self.tally.close(client.author for client in self.clients)


def unsynced(folder: Path) -> None:
    """A commit stands whole in the log, but could not be synced: it was refused, so a crash must not bring it back."""
    database = folder / "unsynced" / "tasks.db"
    with Faults(folder / "unsynced-faults") as faults:
        speaker = serve(database, env=preloaded(folder, database.parent, faults=faults.file))
        speaker.ok("tasklist:add_task", name="kept")
        faults.begin("sync", error=errno.EIO, match="-wal")
        assert speaker.ask("tasklist:add_task", name="refused")["error"]["code"] == "storage_error"
        assert faults.hits
        speaker.kill()
    assert found(database).texts == Counter(["kept"])


def full_for_real(folder: Path) -> list[str]:
    """Disks that are full: a limit to the size of files, and a small file system where one may be mounted."""
    told = []
    database = folder / "limited" / "tasks.db"
    with serve(database) as speaker:
        speaker.ok("tasklist:add_task", name="before")
        _, hard = resource.prlimit(speaker.pid, resource.RLIMIT_FSIZE)
        size = max(path.stat().st_size for path in database.parent.iterdir())
        resource.prlimit(speaker.pid, resource.RLIMIT_FSIZE, (size, hard))
        refused = _until_refused(speaker)
        resource.prlimit(speaker.pid, resource.RLIMIT_FSIZE, (hard, hard))
        speaker.ok("tasklist:add_task", name="after")
        told.append(f"a limit of {size:,} bytes to a file: {refused!r}")
    _has_whole(database)
    place = folder / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "soak", place], capture_output=True).returncode:
        return [*told, "no file system could be mounted here"]
    try:
        database = place / "state" / "tasks.db"
        with serve(database) as speaker:
            ballast = place / "ballast"
            ballast.write_bytes(bytes(3 << 20))
            refused = _until_refused(speaker)
            ballast.unlink()
            speaker.ok("tasklist:add_task", name="after")
            told.append(f"a file system of 4 MiB: {refused!r}")
        _has_whole(database)
    finally:
        subprocess.run(["umount", place], check=True)
    return told


def _until_refused(speaker: Speaker) -> str:
    """Write until there is no room; return what is said then, three times in a row."""
    for number in range(3_000):
        reply = speaker.ask("tasklist:add_task", name=f"kept {number}", description="x" * 3_000)
        if not reply["ok"]:
            break
    for _ in range(3):
        reply = speaker.ask("tasklist:add_task", name="refused", description="x" * 3_000)
        assert (reply["error"]["code"], reply["error"]["data"]) == ("storage_error", {"retryable": True}), reply
        assert speaker.ok("control:hello")["protocol"] == 1
    said: str = reply["error"]["message"].rpartition(": ")[2]
    return said


def _has_whole(database: Path) -> None:
    texts = found(database).texts
    kept = [text for text in texts if text.startswith("kept ")]
    assert len(kept) == max((int(text.split()[1]) for text in kept), default=-1) + 1
    assert texts["after"] == 1
    assert not texts["refused"]


def vanished(folder: Path) -> list[str]:
    """The folder is moved away and back; it is removed, and a backup put there; another database stands there."""
    database, away, copy = folder / "here" / "tasks.db", folder / "away", folder / "copy.db"

    def refused(by: str) -> str:
        for request in ({"name": "lost?"}, {"name": "lost?"}):
            reply = speaker.ask("tasklist:add_task", **request)
            assert reply["error"]["code"] == "storage_error", f"{by}: {reply}"
            assert reply["error"]["data"]["retryable"], reply
        assert speaker.ask("tasklist:display")["error"]["code"] == "storage_error"
        said: str = reply["error"]["message"]
        return said

    with serve(database) as speaker:
        speaker.ok("tasklist:add_task", name="one")
        database.parent.rename(away)
        gone = refused("a folder that was moved away")
        away.rename(database.parent)
        speaker.ok("tasklist:add_task", name="two")
        fork_server.run(program("backup", "--db", database, copy), check=True, capture_output=True)
        shutil.rmtree(database.parent)
        refused("a folder that was removed")
        database.parent.mkdir()
        shutil.copy(copy, database)
        names = [task["name"] for task in speaker.ok("tasklist:display")]
        assert names == ["one", "two"], names
        speaker.ok("tasklist:add_task", name="three")
        for path in database.parent.iterdir():
            path.unlink()
        databases.foreign(database)
        foreign = refused("another program's database")
        database.unlink()
        shutil.copy(copy, database)
        speaker.ok("tasklist:add_task", name="four")
    assert found(database).texts == Counter(["one", "two", "four"])
    return [f"a folder that is gone: {gone.replace(str(folder), '')!r}", f"{foreign.replace(str(folder), '')!r}"]


def unfit(folder: Path, budget: Budget) -> int:
    """Every kind of file that is no database of ours, by each command: refused in a line, and left as it was."""
    commands = (
        ["serve"],
        ["watch", "--plain"],
        ["call", "control:hello"],
        ["doctor"],
        ["backup", str(folder / "x.db")],
    )
    tried = 0
    for at, (what, make) in enumerate(databases.UNFIT.items()):
        place = folder / f"unfit-{at}"
        place.mkdir()
        make(place / "tasks.db")
        before = databases.contents(place)
        for command in commands[: budget.of(len(commands))]:
            done = fork_server.run(
                program(*command, "--db", place / "tasks.db"), stdin=subprocess.DEVNULL, capture_output=True, text=True
            )
            assert done.returncode == 1, f"{command} took {what}: {done}"
            assert "Traceback" not in done.stderr, done.stderr
            assert len(done.stderr.splitlines()) == 1, done.stderr
            assert databases.contents(place) == before, f"{command} changed {what}"
            tried += 1
    return tried


def soak(folder: Path, budget: Budget) -> str:
    chance, tally = random.Random(13), Tally()
    hits: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    killed = done = 0
    for _ in budget.times(FAULTS // A_ROUND):
        failing = Failing(folder / "round", chance, tally)
        for number in range(min(A_ROUND, budget.of(FAULTS, 30))):
            failing.fail()
            if number % CHECK_EVERY == 0:
                failing.check()
        failing.end()
        done, killed, hits = done + number + 1, killed + failing.killed, hits + failing.hits
        refused += sum((client.codes for client in failing.clients), Counter())
        shutil.rmtree(folder / "round")
    unsynced(folder)
    parts = [
        f"{done:,} faults, {hits.total():,} failing calls ({_listed(hits)}), {refused.total():,} writes refused "
        f"({_listed(refused)}), {killed} kills, {tally.acknowledged:,} acknowledged: {tally.lost} lost, none refused "
        "and yet there, on by itself each time"
    ]
    parts += full_for_real(folder) + vanished(folder)
    parts.append(f"{unfit(folder, budget)} starts on files that are not fit refused")
    return "; ".join(parts)


def _listed(counted: Counter[str]) -> str:
    return ", ".join(f"{number:,} {what}" for what, number in counted.most_common())
