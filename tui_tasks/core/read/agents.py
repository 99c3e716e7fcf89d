"""Who speaks here: each agent with what it does, what it said last, and when. For screens, at a bounded cost.

The journal is never gone through: agents are found by steps in its index on (actor, seq), and what one said last among
its newest few entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL
from tui_tasks.core.engine.statements import Statement, slot
from tui_tasks.core.read import overview
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.read.tasks.pages import LINE, TaskLine, read_line
from tui_tasks.core.read.tasks.queries import LIVE
from tui_tasks.core.schema.models import AgentRow, JournalRow, ListRow, TaskRow

# Of so many newest entries of an agent one may be its last word.
LOOKED_AT: Final = 60
# Tasks in progress that are looked at, of one list.
MOST_ACTIVE: Final = 200

J = JournalRow


class Word(msgspec.Struct, frozen=True, gc=False):
    """What an agent said or did last: `kind` is logged, asked, status (then `text` is the new one), ran or an entry's.

    `task` is the uid of the task that it is about.
    """

    kind: str
    text: str
    task: str | None
    at: int


class AgentSummary(msgspec.Struct, frozen=True, gc=False):
    """An agent. `seq` and `at` are its newest entry's; `task` is the task in progress that it touched last.

    `asks` are its open questions by the uids of the tasks that they are about, empty where about none, oldest first.
    """

    name: str
    seq: int
    at: int
    paused: bool
    message: str
    asks: tuple[str, ...]
    task: TaskLine | None
    word: Word | None

    def state(self, now: int, quiet_after: int) -> str:
        """One word for it: paused, working, needs_you, quiet (silent for `quiet_after` microseconds) or idle.

        One that has asked and goes on with another task works; one that has nothing else to do needs the human.
        """
        if self.paused:
            return "paused"
        is_silent = now - self.at > quiet_after
        if self.task is not None and self.task.uid not in self.asks and not is_silent:
            return "working"
        if self.asks:
            return "needs_you"
        if is_silent:
            return "quiet"
        return "idle" if self.task is None else "working"


_NEWEST = Statement(
    J.select(J.seq, J.at, J.kind, J.task).where(J.actor == slot("actor")).order_by(J.seq.desc()).limit(slot("limit"))
)
_OLDEST = Statement(J.select(J.at).where(J.actor == slot("actor")).order_by(J.seq).limit(1))
_NEW = Statement(J.select(J.new).where(J.seq == slot("seq")))
_PAUSED = Statement(AgentRow.select(AgentRow.uid, AgentRow.message).where(AgentRow.paused == SQL("1")))
_BUSY_LISTS = Statement(
    ListRow.select(ListRow.id).where((ListRow.deleted == SQL("0")) & (ListRow.in_progress > SQL("0")))
)
_ACTIVE = Statement(
    TaskRow.select(*LINE)
    .where(LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.status == SQL("'in_progress'")))
    .limit(slot("limit"))
)


class _Said(msgspec.Struct):
    message: str = ""
    question: str = ""
    status: str = ""
    outcome: str | None = None
    # A run's is a text; a task's may be any JSON.
    result: Any = None

    @property
    def text(self) -> str:
        result = self.result if isinstance(self.result, str) else None
        return self.message or self.question or self.status or result or self.outcome or ""


_said = msgspec.json.Decoder(_Said).decode
_WORDS: Final = {"task.logged": "logged", "ask.opened": "asked", "task.updated": "status", "run.finished": "ran"}


def everyone(db: Database, known: Iterable[AgentSummary] = ()) -> list[AgentSummary]:
    """Every agent that has spoken or was paused, by name. Of the `known` only what is new is read."""
    before = {person.name: person for person in known}
    paused = dict(db.all(_PAUSED))
    tasks = working(db)
    asks: dict[str, tuple[str, ...]] = {}
    for ask in queries.open_asks(db):
        asks[ask.agent] = (*asks.get(ask.agent, ()), ask.task_uid or "")
    found = {name: (seq, at) for name, seq, at in overview.speakers(db)}
    people = []
    for name in sorted(found.keys() | paused.keys(), key=lambda name: (name.casefold(), name)):
        seq, at = found.get(name, (0, 0))
        old = before.get(name)
        word = old.word if old is not None and old.seq == seq else next(iter(words(db, name, 1)), None)
        message, mine = paused.get(name, ""), asks.get(name, ())
        people.append(AgentSummary(name, seq, at, name in paused, message, mine, tasks.get(name), word))
    return people


def first_said(db: Database, name: str) -> int:
    """When an agent that has spoken did so first."""
    return int(db.one(_OLDEST, actor=name)[0])


def working(db: Database) -> dict[str, TaskLine]:
    """The task in progress that each agent touched last, by the agent's name."""
    found: dict[str, TaskLine] = {}
    for (list_id,) in db.all(_BUSY_LISTS):
        for row in db.all(_ACTIVE, list=list_id, limit=MOST_ACTIVE):
            task = read_line(row)
            if task.who not in found or task.updated_at > found[task.who].updated_at:
                found[task.who] = task
    return {who: task for who, task in found.items() if who not in vocab.RESERVED_AGENTS}


def words(db: Database, name: str, limit: int) -> list[Word]:
    """What an agent said last, newest first: log entries, questions, statuses that it set, runs that it has done.

    Where it has said nothing of late, the newest thing that it did.
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
