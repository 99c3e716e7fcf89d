"""Changes that can be undone: what each did, an agent's since an instant, the last deletion in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, slot
from tui_tasks.core.journal import journal
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.schema.tables.journal import JournalRow as J
from tui_tasks.core.schema.tables.tasks import TaskRow
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count

MAX_NAMES: Final = 3
MAX_CHANGES: Final = 1_000
"""How many changes of one agent are undone at a time."""

# How many of the newest entries are searched: others may have written millions since.
_OF_LATE: Final = 5_000


class Summary(NamedTuple):
    """What changes did, as it is shown to a person before they are undone.

    Attributes:
        actors: who made them.
        entries: how many of their entries an undo reverts.
        deleted: how many tasks they deleted.
        names: the first names of the tasks that they are about.
    """

    actors: tuple[str, ...]
    entries: int
    deleted: int
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return it in words: `24 deleted: Ship it, Fix it`."""
        many = f"{self.deleted:,} deleted" if self.deleted == self.entries else count(self.entries, "change")
        names = ", ".join(safe_line(name, 24) for name in self.names)
        return f"{many}: {names}" if names else many


class Deletion(NamedTuple):
    """The newest deletion in a list: by whom, when (microseconds), its change, and how many tasks it deleted."""

    change: int
    actor: str
    at: int
    tasks: int


_newest = (
    J.select(J.seq, J.change, J.actor, J.at, J.kind, J.task).order_by(J.seq.desc()).limit(_OF_LATE).alias("newest")
)
_LAST_DELETION: Final = Statement(
    TaskRow.select(_newest.c.change, _newest.c.actor, _newest.c.at)
    .join(_newest, on=(_newest.c.task == TaskRow.uid))
    .where((_newest.c.kind == "task.deleted") & (TaskRow.list_id == slot("list")) & (TaskRow.deleted == SQL("1")))
    .order_by(_newest.c.seq.desc())
    .limit(1)
)
_OF_AGENT: Final = Statement(
    J.select(J.change, J.kind, J.undoes)
    .where((J.actor == slot("actor")) & (J.at >= slot("since")))
    .order_by(J.seq.desc())
    .limit(slot("limit"))
)


def summary(db: Database, changes: Sequence[int]) -> Summary:
    """Return what changes did."""
    actors: dict[str, None] = {}
    tasks: dict[str, None] = {}
    entries = deleted = 0
    for change in changes:
        actors[journal.entry(db, change).actor] = None
        for page in journal.of_change(db, change):
            for part in page:
                if part.kind in vocab.UNDOABLE:
                    entries += 1
                    deleted += part.kind == "task.deleted"
                    if part.task is not None and len(tasks) < MAX_NAMES:
                        tasks[part.task] = None
    found = (queries.any_task(db, uid) for uid in tasks)
    return Summary(tuple(actors), entries, deleted, tuple(task.name for task in found if task is not None))


def last_deletion(db: Database, list_id: int) -> Deletion | None:
    """Return the newest deletion of a task of a list that was not restored; None if there is none among the newest
    entries.
    """
    row = db.one(_LAST_DELETION, list=list_id)
    if row is None:
        return None
    change, actor, at = row
    return Deletion(change, actor, at, summary(db, [change]).deleted)


def of_agent(db: Database, agent: str, since: int) -> list[int]:
    """Return an agent's changes since an instant (microseconds), newest first, without undos."""
    rows = db.all(_OF_AGENT, actor=agent, since=since, limit=_OF_LATE)
    found = dict.fromkeys(change for change, kind, undoes in rows if undoes is None and kind in vocab.UNDOABLE)
    return list(found)[:MAX_CHANGES]
