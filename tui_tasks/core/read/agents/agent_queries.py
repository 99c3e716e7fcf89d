"""What agents work on, and what each said last. The cost is bounded: the journal is never read whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tui_tasks.core import names, vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, slot
from tui_tasks.core.read.pages.list_pages import LINE, TaskLine, read_line
from tui_tasks.core.read.tasks.task_queries import LIVE
from tui_tasks.core.schema.tables.journal import JournalRow
from tui_tasks.core.schema.tables.tasks import ListRow, TaskRow

# How many of an agent's newest entries are searched for its last word.
LOOKED_AT: Final = 60
# How many tasks in progress of one list are read.
MAX_ACTIVE: Final = 200

J = JournalRow


class Word(msgspec.Struct, frozen=True, gc=False):
    """What an agent said or did last.

    `kind` is logged, asked, status (then `text` is the new status), ran, or the kind of a journal entry. `task` is the
    uid of the task that it is about.
    """

    kind: str
    text: str
    task: str | None
    at: int


_NEWEST = Statement(
    J.select(J.seq, J.at, J.kind, J.task).where(J.actor == slot("actor")).order_by(J.seq.desc()).limit(slot("limit"))
)
_OLDEST = Statement(J.select(J.at).where(J.actor == slot("actor")).order_by(J.seq).limit(1))
_NEW = Statement(J.select(J.new).where(J.seq == slot("seq")))
_BUSY_LISTS = Statement(
    ListRow.select(ListRow.id).where((ListRow.deleted == SQL("0")) & (ListRow.in_progress > SQL("0")))
)
_ACTIVE = Statement(
    TaskRow.select(*LINE)
    .where(LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.status == SQL("'in_progress'")))
    .limit(slot("limit"))
)

_SPEAKERS = f"""{names.ACTORS}
SELECT known.name, last.seq, last.at FROM known
JOIN journal AS last ON last.seq = (SELECT max(seq) FROM journal WHERE actor = known.name)
"""


class _Said(msgspec.Struct):
    message: str = ""
    question: str = ""
    status: str = ""
    outcome: str | None = None
    # The result of a run is a text; that of a task may be any JSON.
    result: Any = None

    @property
    def text(self) -> str:
        result = self.result if isinstance(self.result, str) else None
        return self.message or self.question or self.status or result or self.outcome or ""


_said = msgspec.json.Decoder(_Said).decode
_WORDS: Final = {"task.logged": "logged", "ask.opened": "asked", "task.updated": "status", "run.finished": "ran"}


def speakers(db: Database) -> list[tuple[str, int, int]]:
    """Return every agent that has changed something: name, seq and instant of its last entry."""
    return [row for row in db.sql(_SPEAKERS).fetchall() if row[0] not in vocab.RESERVED_AGENTS]


def first_said(db: Database, name: str) -> int:
    """Return the instant of an agent's first entry; the agent has one."""
    return int(db.one(_OLDEST, actor=name)[0])


def in_progress(db: Database) -> Iterator[TaskLine]:
    """Yield the tasks in progress, of each list at most `MAX_ACTIVE`."""
    for (list_id,) in db.all(_BUSY_LISTS):
        yield from map(read_line, db.all(_ACTIVE, list=list_id, limit=MAX_ACTIVE))


def working(db: Database) -> dict[str, TaskLine]:
    """Return the task in progress of each agent, by agent name; of several the one that was touched last."""
    found: dict[str, TaskLine] = {}
    for task in in_progress(db):
        if task.who not in found or task.updated_at > found[task.who].updated_at:
            found[task.who] = task
    return {who: task for who, task in found.items() if who not in vocab.RESERVED_AGENTS}


def words(db: Database, name: str, limit: int) -> list[Word]:
    """Return what an agent said last, newest first: log entries, questions, statuses, runs that it finished.

    Without any of these among its newest entries, return the newest thing that it did.
    """
    newest: list[Any] = db.all(_NEWEST, actor=name, limit=LOOKED_AT)
    found: list[Word] = []
    for seq, at, kind, task in newest:
        if len(found) == limit:
            break
        if kind not in _WORDS:
            continue
        said = _said(db.one(_NEW, seq=seq)[0] or "{}")
        if said.text:
            found.append(Word(_WORDS[kind], said.text, task, at))
    return found or [Word(kind, "", task, at) for _, at, kind, task in newest[:1]]
