"""A line of a digest, and the parts that lines belong to."""

from __future__ import annotations

from typing import Final

import msgspec

PARTS: Final = ("needs_you", "failed", "not_proven", "proven", "filed", "spent")
"""The parts of a digest, in their order."""


class DigestLine(msgspec.Struct, frozen=True, gc=False):
    """One line: what it is about, who did it, what happened, and the journal entries behind it, oldest first.

    `kind` says what `uid` is of: ask, task, held, stuck, run (a job's), check, claim, tool, session, refusal, unchecked
    (all tasks without checks), job or spent. `at` is when it began to need the human, otherwise when it happened last.
    `task` is the uid of the task that it is about. `entries` is empty where they were compacted away.
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

    @property
    def key(self) -> str:
        """Return what identifies the line within a digest."""
        return f"{self.part}/{self.kind}/{self.who if self.kind == 'filed' else ''}/{self.uid}"
