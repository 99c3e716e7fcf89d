"""A line of a digest, the parts and groups of the lines, and what has become of a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

PARTS: Final = ("needs_you", "in_your_name", "failed", "not_proven", "proven", "filed", "spent")
"""The parts of a digest, in their order."""
FAILED: Final = "failed"
CLAIM_LAPSED: Final = "claim_lapsed"
OK_AGAIN: Final = "ok_again"
PUT_AWAY: Final = "put_away"
STATES: Final = (
    *(FAILED, "interrupted", CLAIM_LAPSED, "check_failed", "refused", "tool_error"),
    *("open_again", "dropped", PUT_AWAY, "gone", OK_AGAIN),
)
"""What a line of the part `failed` is now, the worst first; only what is `FAILED` counts (see `vocab`)."""
GROUPS: Final = (
    *(PARTS[:2] + tuple(state for state in STATES if state != "refused")),
    *("not_proven", "done", "proven", "filed", "spent", "refused"),
)
"""The groups in which people find the lines, in their order."""
_COUNTED_AS: Final = {
    "ask": "question",
    "held": "proposed",
    "job": "proposed",
    "check": "failed",
    "left": "gone",
    "work": "to review",
    "stuck": "stuck",
}


class Recovery(msgspec.Struct, frozen=True, gc=False):
    """What failed and is ok again: `what` happened, why, how often, and since when it is ok."""

    what: str
    reason: str
    times: int
    since: int


class DigestLine(msgspec.Struct, frozen=True, gc=False):
    """One line: what it is about, who did it, what happened, and the journal entries behind it, oldest first.

    `kind` says what `uid` is of: ask, task, held, left, stuck, run (a job's), check, claim, tool, session,
    refusal, unchecked (all tasks without checks), merged (a task whose work is), job, terminal, rule or spent.
    `at` is when it began to need the human, otherwise when it happened last. `task` is the uid of the task that it is
    about, `number` its number. `entries` is empty where they were compacted away. `state`: what a failure is
    now, of `STATES`. `is_gone`: it is about a lapsed claim of an agent that is gone. `done_at`: when the task that has
    failed, or whose claim has lapsed, was done; None where it is not.
    """

    part: str
    kind: str
    uid: str
    name: str
    who: str
    text: str
    at: int
    entries: tuple[int, ...] = ()
    task: str | None = None
    count: int = 1
    number: int | None = None
    state: str = ""
    recovery: Recovery | None = None
    is_gone: bool = False
    done_at: int | None = None

    @property
    def counted_as(self) -> str:
        """Return the word under which every screen counts it; empty where it needs nobody."""
        if self.part == "failed" and self.state == FAILED:
            return "failed"
        if self.is_gone:
            return _COUNTED_AS["left"]
        return _COUNTED_AS[self.kind] if self.part == "needs_you" else ""

    @property
    def things(self) -> int:
        """Return how many things it is about: a line of several tasks is about all of them."""
        return self.count if self.kind in ("filed", "unchecked") else 1

    @property
    def is_over(self) -> bool:
        """Whether it failed, and has succeeded since."""
        return self.state == OK_AGAIN

    @property
    def is_done(self) -> bool:
        """Whether it is about a failure with a task that is done since."""
        return self.is_over and self.done_at is not None

    @property
    def state_since(self) -> int:
        """Since when it is what its words call it: where it failed, and is done or ok again, since then."""
        if self.is_done and self.done_at is not None:
            return self.done_at
        return self.at if self.recovery is None else self.recovery.since

    @property
    def group(self) -> str:
        """Return under which words people find it: those of its part, or of what a failure is now. A task that is done
        counts as done, whatever went wrong before.
        """
        return "done" if self.kind in ("unchecked", "merged") or self.is_done else self.state or self.part

    def words(self, time_of: Callable[[int], str]) -> str:
        """Return what is said of it, for people: `failed at 19:15 (no answer), ok since 19:30`."""
        one = self.recovery
        if one is None:
            return self.text
        often = f" {one.times:,} times, last" if one.times > 1 else ""
        reason = f" ({one.reason})" if one.reason else ""
        return f"{one.what}{often} at {time_of(self.at)}{reason}, ok since {time_of(one.since)}"

    @property
    def title(self) -> str:
        """Return its name, with the number of the task that it is about before it."""
        return self.name if self.number is None else f"#{self.number} {self.name}"

    @property
    def key(self) -> str:
        """Return what identifies the line within a digest."""
        return f"{self.part}/{self.kind}/{self.who if self.kind == 'filed' else ''}/{self.uid}"

    @property
    def subject(self) -> str:
        """Return what it is about, of which there is one line: a task or a job by its uid, else its own key."""
        if self.kind in ("run", "job"):
            return self.uid
        return self.task if self.task is not None and self.kind != "ask" else self.key


def merged(lines: Iterable[DigestLine]) -> list[DigestLine]:
    """Return the lines with one for each subject: the first one, with the entries of the others and what they say; the
    line of a failed check says it already.
    """
    by_subject: dict[str, DigestLine] = {}
    for line in lines:
        first = by_subject.get(line.subject)
        if first is None:
            by_subject[line.subject] = line
            continue
        is_more = first.kind != "check" and line.text not in first.text
        by_subject[line.subject] = replace(
            first,
            text=f"{first.text}; {line.text}" if is_more else first.text,
            state=min(filter(None, (first.state, line.state)), key=STATES.index) if first.state else "",
            recovery=None if is_more or not line.is_over else first.recovery,
            at=max(first.at, line.at) if first.part == line.part else first.at,
            count=first.count + line.count if first.part == line.part else first.count,
            entries=tuple(sorted({*first.entries, *line.entries})),
        )
    return list(by_subject.values())
