"""What agents have filed: tasks by list, and jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.journal import journal
from tui_tasks.core.read.digest.digest_line import DigestLine
from tui_tasks.core.read.digest.entries import EventEntry

_AGENTS: Final = f"actor NOT IN ({', '.join(repr(name) for name in sorted(vocab.RESERVED_AGENTS))})"
_FILED: Final = f"""
SELECT journal.actor, list.uid, list.name, count(*), sum(task.held AND NOT task.deleted), sum(task.deleted),
    group_concat(journal.seq), max(journal.at), min(task.name), min(task.uid)
FROM journal JOIN task ON task.uid = journal.uid JOIN list ON list.id = task.list_id
WHERE journal.seq > ? AND journal.kind = 'task.created' AND journal.{_AGENTS}
GROUP BY journal.actor, list.uid
"""


def filed(db: Database, after: int, events: list[EventEntry]) -> Iterator[DigestLine]:
    """Yield a line for each list and agent that has filed tasks there since a seq, and for each job of an agent's."""
    for actor, uid, home, many, waiting, deleted, seqs, at, name, task in map(
        journal.as_text, db.sql(_FILED, (after,))
    ):
        more = [f"{number:,} {words}" for number, words in ((waiting, "wait for you"), (deleted, "deleted")) if number]
        text = ", ".join([f"filed in {home}", *more])
        entries = tuple(sorted(int(seq) for seq in seqs.split(",")))
        what = name if many == 1 else f"{many:,} tasks"
        yield DigestLine("filed", "filed", uid, what, actor, text, at, entries, task if many == 1 else None, many)
    for event in events:
        if event.kind == "job.created" and event.actor not in vocab.RESERVED_AGENTS:
            name = str(event.values.get("name") or event.uid)
            yield DigestLine("filed", "job", event.uid, name, event.actor, "made this job", event.at, (event.seq,))
