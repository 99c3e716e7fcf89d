"""What a client has asked for and what it was told: so that what is lost or doubled can be counted afterwards."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.soak.soundness import Found

STATUSES = ("in_progress", "done", "failed", "skipped", "pending")
REMEMBERED = 200
"""So many of its own tasks and requests a client comes back to."""


@dataclass
class Write:
    """A request on its way: its line, the texts it makes, and the status it sets of a task."""

    id: str
    value: Any
    texts: tuple[str, ...] = ()
    status: tuple[str, str] | None = None

    @property
    def line(self) -> bytes:
        return json.dumps(self.value).encode() + b"\n"


@dataclass
class Author:
    """One client: makes writes of every kind, each with a key and a text of its own, and notes what came back."""

    name: str
    chance: random.Random
    keyed: bool = True
    repeats_at: float = 0.05
    waiting: deque[Write] = field(default_factory=deque)
    acknowledged: set[str] = field(default_factory=set)
    refusals: list[dict[str, Any]] = field(default_factory=list)
    statuses: dict[str, str] = field(default_factory=dict)
    claimed: list[str] = field(default_factory=list)
    done: int = 0
    repeats: int = 0
    seq: int = 0

    def __post_init__(self) -> None:
        self._mine: deque[str] = deque(maxlen=REMEMBERED)
        self._answered: deque[tuple[Write, Any]] = deque(maxlen=REMEMBERED)
        self._uncertain: set[str] = set()
        self._made = 0
        self._kinds: list[Callable[[], Write]] = [self._add, self._add, self._log, self._log, self._create]
        self._kinds += [self._status, self._status, self._plan, self._claim]
        self._kinds += [self._batch] if self.keyed else []

    # What is asked for

    def next(self) -> Write:
        """Make the next request; it waits for its reply from now on."""
        if self.keyed and self._answered and self.chance.random() < self.repeats_at:
            # Of the newer ones: an older one may be forgotten by the time it is answered.
            write = self._answered[-1 - self.chance.randrange(min(len(self._answered), REMEMBERED // 2))][0]
            self.repeats += 1
        else:
            write = self.chance.choice(self._kinds)()
        self.waiting.append(write)
        return write

    def _text(self) -> str:
        self._made += 1
        return f"{self.name} {self._made}"

    def _request(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self._made += 1
        name = f"{self.name}-{self._made}"
        request = {"id": name, "tool": tool, "args": arguments}
        return {**request, "idempotency_key": name} if self.keyed else request

    def _write(self, tool: str, texts: Iterable[str], **arguments: Any) -> Write:
        request = self._request(tool, **arguments)
        return Write(request["id"], request, tuple(texts))

    def _task(self) -> str | None:
        return self.chance.choice(self._mine) if self._mine else None

    def _add(self) -> Write:
        text = self._text()
        return self._write("tasklist:add_task", [text], name=text, description="x" * self.chance.randrange(400))

    def _create(self) -> Write:
        text = self._text()
        return self._write("task", [text], action="create", title=text, tags=["soak"], domain="soak")

    def _log(self) -> Write:
        uid, text = self._task(), self._text()
        return self._write("tasklist:log_task_progress", [text], uid=uid, message=text) if uid else self._add()

    def _plan(self) -> Write:
        texts = [self._text(), self._text()]
        tasks = [{"title": texts[0], "id": "a"}, {"title": texts[1], "depends_on": ["a"]}]
        return self._write("tasks", texts, action="create_plan", title=self._text(), tasks=tasks)

    def _claim(self) -> Write:
        return self._write("control:claim", [], list="task", lease_seconds=86_400)

    def _batch(self) -> Write:
        parts = [self._add(), self._create(), self._log()]
        return Write(parts[0].id, [part.value for part in parts], tuple(text for part in parts for text in part.texts))

    def _status(self) -> Write:
        uid = self._task()
        if uid is None:
            return self._add()
        # One in progress is the most that the list takes; a plan's task may be set to anything.
        status = self.chance.choice(STATUSES[1:])
        write = self._write("tasklist:update_task", [], uid=uid, status=status)
        write.status = (uid, status)
        return write

    # What came back

    def heard(self, value: Any) -> None:
        """Take a reply in: it answers the oldest request that waits."""
        write = self.waiting.popleft()
        first = value[0] if isinstance(value, list) else value
        assert first["id"] == write.id, f"{write.id} was answered by {first['id']}"
        replies = value if isinstance(value, list) else [value]
        if not all(reply["ok"] for reply in replies):
            self.refusals += [reply for reply in replies if not reply["ok"]]
            return
        results = [reply["result"] for reply in replies]
        self.acknowledge(write, results, max(reply["seq"] for reply in replies))

    def acknowledge(self, write: Write, results: list[Any], seq: int) -> None:
        """Hold a write to be done from now on; one that was sent before must have had the same result."""
        before = next((was for known, was in self._answered if known.id == write.id), None)
        if before is not None:
            assert before == results, f"{write.id} gave {before} and then {results}"
            return
        self.done += 1
        self.seq = max(self.seq, seq)
        self._answered.append((write, results))
        self.acknowledged.update(write.texts)
        if write.status is not None and write.status[0] not in self._uncertain:
            self.statuses[write.status[0]] = write.status[1]
        for result in results:
            if isinstance(result, dict) and "uid" in result and "name" in result:
                self._mine.append(result["uid"])
            elif isinstance(result, dict) and "claim" in result:
                self.claimed.append(result["task"]["uid"])

    def try_again(self) -> Write:
        """Have the oldest that waits wait anew, behind the others: it is told `busy`, and is to be sent again.

        It may have been done before a kill, and told `busy` when it was sent again, so when it was done is not known.
        The status of its task is not looked at any more.
        """
        write = self.waiting.popleft()
        self.waiting.append(write)
        if write.status is not None:
            uid = write.status[0]
            self._uncertain.add(uid)
            self.statuses.pop(uid, None)
            if uid in self._mine:
                self._mine.remove(uid)
        return write

    def forget_waiting(self) -> None:
        """What was not answered is not sent again: it may have been done or not."""
        for write in self.waiting:
            if write.status is not None:
                self.statuses.pop(write.status[0], None)
        self.waiting.clear()


@dataclass
class Tally:
    """What was lost and doubled, counted over all checks."""

    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0

    def check(self, authors: Iterable[Author], there: Found) -> None:
        """Hold what clients were told against what is there."""
        for author in authors:
            lost = [text for text in author.acknowledged if not there.texts[text]]
            doubled = [text for text, times in there.texts.items() if times > 1 and text.startswith(f"{author.name} ")]
            lost += self._wrong_statuses(author, there)
            self.lost, self.doubled = self.lost + len(lost), self.doubled + len(doubled)
            assert not lost, f"acknowledged and lost: {lost[:5]} of {author.name}"
            assert not doubled, f"done twice: {doubled[:5]}"
            assert there.seq >= author.seq, f"the journal ends at {there.seq}, {author.name} was told {author.seq}"
        claimed = [uid for author in authors for uid in author.claimed]
        assert len(claimed) == len(set(claimed)), "a task was claimed twice"

    def _wrong_statuses(self, author: Author, there: Found) -> list[str]:
        open_ones = {write.status for write in author.waiting if write.status}
        return [
            uid
            for uid, status in author.statuses.items()
            if there.statuses[uid] != status and (uid, there.statuses[uid]) not in open_ones
        ]

    def close(self, authors: Iterable[Author]) -> None:
        """Add what was acknowledged in a round that is over."""
        self.acknowledged += sum(author.done for author in authors)
