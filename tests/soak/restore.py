"""A backup is restored while others write: whole, and nothing that is acknowledged after it is lost or mixed with it.

Three `serve` write before, while and after each restore. Some of them are killed, so that they leave their log; some
restores are killed and done again; some backups are moved by hand over a database whose log stands there, which every
process refuses until the command is used. After each restore the database holds the backup and what came after it, and
what was acknowledged while it was restored is there or in what was kept aside.
"""

from __future__ import annotations

import itertools
import json
import pty
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests import fork_server
from tests.soak.budget import Budget
from tests.soak.soundness import found
from tests.soak.speaking import program, serve

RESTORES = 200
WRITERS = 3
BURST = 20


class Work:
    """Writers on a database, a backup of it, and what they were told."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance, self.folder = chance, folder
        self.database = folder / "state" / "tasks.db"
        self.copy = folder / "copy.db"
        self.happened: Counter[str] = Counter()
        self.acknowledged = self.lost = self.mixed = 0
        self._texts = (f"text {number}" for number in itertools.count())
        self.speakers = [serve(self.database) for _ in range(WRITERS)]

    def send(self) -> list[list[str]]:
        """Have each write some tasks; return their names, of each writer by itself."""
        sent = [[next(self._texts) for _ in range(BURST)] for _ in self.speakers]
        for speaker, texts in zip(self.speakers, sent, strict=True):
            requests = ({"id": text, "tool": "tasklist:add_task", "args": {"name": text}} for text in texts)
            speaker.send_hearing(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
        return sent

    def hear(self, sent: list[list[str]], *, all_done: bool) -> set[str]:
        """Which of these were acknowledged; what is not is a storage error that says to try again."""
        done = set()
        for speaker, texts in zip(self.speakers, sent, strict=True):
            for text in texts:
                reply = speaker.hear()
                assert reply["id"] == text
                assert reply["ok"] or (not all_done and reply["error"]["data"]["retryable"]), reply
                if reply["ok"]:
                    done.add(text)
        self.acknowledged += len(done)
        return done

    def back_up(self) -> set[str]:
        """Take a new backup; return what is in it."""
        self.copy.unlink(missing_ok=True)
        fork_server.run(program("backup", "--db", self.database, self.copy), check=True, stdout=subprocess.DEVNULL)
        # What is looked at is another file, so that the backup stays without a log.
        return _names(Path(shutil.copy(self.copy, self.folder / "looked-at.db")))

    def kill_one(self) -> None:
        at = self.chance.randrange(WRITERS)
        self.speakers[at].kill()
        self.speakers[at] = serve(self.database)
        self.happened["writers killed"] += 1

    def restore(self) -> None:
        """Restore; one in five is killed at some moment and done again."""
        if self.chance.random() < 0.2:
            with self._begun() as begun:
                time.sleep(self.chance.uniform(0.1, 0.6))  # any moment of it
                begun.kill()
            self.happened["restores killed"] += 1
        with self._begun() as begun:
            assert begun.wait() == 0

    def _begun(self) -> subprocess.Popen[bytes]:
        command = program("restore", "--db", self.database, self.copy)
        return subprocess.Popen(command, stdin=_terminal(), stdout=subprocess.DEVNULL)

    def move_by_hand(self) -> None:
        """Kill all, and move the backup over what they have left."""
        for speaker in self.speakers:
            speaker.kill()
        held = self.folder / "by-hand.db"
        shutil.copy(self.copy, held).replace(self.database)
        refused = fork_server.run(program("ls", "--db", self.database), capture_output=True, text=True, check=False)
        assert refused.returncode == 1, "the log of another database was written into the backup"
        assert "tui-tasks restore" in refused.stderr
        self.restore()
        self.speakers = [serve(self.database) for _ in range(WRITERS)]
        self.happened["moved by hand"] += 1

    def asides(self) -> Iterator[Path]:
        """What was kept aside."""
        for path in self.database.parent.glob("tasks.db.before-restore-*"):
            if not path.name.endswith(("-wal", "-shm", "-journal", "-lock")):
                yield path

    def forget_asides(self) -> None:
        for path in self.database.parent.glob("tasks.db.before-restore-*"):
            path.unlink()

    def end(self) -> None:
        for speaker in self.speakers:
            assert speaker.end() == 0


def _names(path: Path) -> set[str]:
    """The tasks of a database, which is sound; each is there once."""
    texts = found(path, replay=False).texts
    assert not [text for text, times in texts.items() if times > 1]
    return set(texts)


def _round(work: Work, held: set[str]) -> None:
    """Restore once, with writes before, while and after, and hold what is there against what was told."""
    before = work.hear(work.send(), all_done=True)
    if work.chance.random() < 0.3:
        work.kill_one()
    if work.chance.random() < 0.1:
        meanwhile, maybe = set[str](), set[str]()
        work.move_by_hand()
        kept = None
    else:
        sent = work.send()
        work.restore()
        meanwhile, maybe = work.hear(sent, all_done=False), {text for texts in sent for text in texts}
        kept = set[str]().union(*(_names(aside) for aside in work.asides()))
    after = work.hear(work.send(), all_done=True)
    there = _names(work.database)
    lost = after - there
    if kept is not None:
        lost |= (before - kept) | (meanwhile - there - kept)
    mixed = (there - held - maybe - after) | (held - there)
    work.lost, work.mixed = work.lost + len(lost), work.mixed + len(mixed)
    assert not lost, f"acknowledged and lost: {sorted(lost)[:5]}"
    assert not mixed, f"of the old in the new, or of the new not there: {sorted(mixed)[:5]}"
    work.forget_asides()


def soak(folder: Path, budget: Budget) -> str:
    work = Work(folder, random.Random(31))
    work.hear(work.send(), all_done=True)
    held = work.back_up()
    restores = 0
    for number in budget.times(RESTORES, 3):
        if number % 10 == 9:
            held = work.back_up()
        _round(work, held)
        restores += 1
    work.end()
    found(work.database)
    happened = ", ".join(f"{number} {what}" for what, number in sorted(work.happened.items()))
    return (
        f"{restores} restores under {WRITERS} writers ({happened}): {work.acknowledged:,} writes acknowledged, "
        f"{work.lost} lost that came after or were not kept aside, {work.mixed} mixed"
    )


@cache
def _terminal() -> int:
    """Return a terminal that stays open, for the commands that are a person's."""
    return pty.openpty()[1]
