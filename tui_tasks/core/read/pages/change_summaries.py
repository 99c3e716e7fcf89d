"""Changes that can be undone: what each did, an agent's since an instant, the last deletion in a list."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.agent_names import display_name
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, slot
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.schema.tables import TaskRow
from tui_tasks.core.snapshots import Entry
from tui_tasks.text.safe import name_text, safe_line, title_text
from tui_tasks.text.times import MINUTE, ago, count

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
        tasks: how many tasks they are about.
        names: the first names of these tasks.
        reviewed: the tasks that an undo deletes, and whose work waits for review: `#13 (work of bob)`.
        created: other tasks that an undo deletes: `#9`.
    """

    actors: tuple[str, ...]
    entries: int
    deleted: int
    tasks: int
    names: tuple[str, ...]
    reviewed: tuple[str, ...] = ()
    created: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """Return what to ask: `Revert 67 changes to 7 tasks? Ship it, Fix it, Renew it and 4 more. It deletes #9.`; of
        deletions alone `Revert 9 deletions? Ship it, …`.
        """
        names = ", ".join(safe_line(name, 24) for name in self.names)
        more = f" and {self.tasks - len(self.names):,} more" if self.tasks > len(self.names) else ""
        to = f" to {count(self.tasks, 'task')}" if self.tasks else ""
        what = f"{count(self.entries, 'change')}{to}"
        if self.deleted == self.entries:
            what = count(self.deleted, "deletion")
        others = f" and {len(self.created) - MAX_NAMES:,} more" if len(self.created) > MAX_NAMES else ""
        gone = [f"{', '.join(self.created[:MAX_NAMES])}{others}"] if self.created else []
        gone += [f"what waits for your review: {', '.join(self.reviewed)}"] if self.reviewed else []
        deletes = f". It deletes {', and '.join(gone)}." if gone else ""
        return f"Revert {what}? {names}{more}{deletes}".strip()

    @property
    def text(self) -> str:
        """Return it in words: `24 deleted: Ship it, Fix it`."""
        many = f"{self.deleted:,} deleted" if self.deleted == self.entries else count(self.entries, "change")
        names = ", ".join(safe_line(name, 24) for name in self.names)
        return f"{many}: {names}" if names else many


_WORDS: Final = {
    "task.created": "added",
    "task.deleted": "deleted",
    "task.restored": "brought back",
    "task.moved": "moved",
    "task.logged": "note",
    "task.linked": "links",
    "task.accepted": "accepted",
    "task.declined": "declined",
    "list.created": "made",
    "list.deleted": "deleted",
    "job.created": "made",
    "job.deleted": "deleted",
}
"""What a change did to one thing, by the kind of its entry."""
_UNDONE_WORDS: Final = {
    "added": "addition of",
    "deleted": "deletion of",
    "brought back": "return of",
    "moved": "move of",
    "note": "note on",
    "links": "links of",
    "accepted": "acceptance of",
    "declined": "refusal of",
    "made": "creation of",
}
"""What was undone, by the word for it, so that nobody reads it as done now."""
_AS_BEFORE: Final = " as before"
_UNSAID: Final = ("name_key",)
"""Fields that follow from another one, which is named."""
_WORK_WORDS: Final = {
    "work.started": "agent started",
    "work.merged": "work merged",
    "work.discarded": "work discarded",
    "work.restored": "work brought back",
    "work.commented": "comment sent",
}
"""What a change did that changes a task for the sake of its work: it is described by this alone."""
_PLAIN_VALUES: Final = ("status", "enabled")
_WITH_VALUES: Final = ("status", "name", "agent", "due", "estimate")
"""Fields of which a description of a change has the values, as of all that are on or off; of `_PLAIN_VALUES` it has
these alone, and of other fields the names.
"""
_BETWEEN: Final = ("  ", ": ", ", ", "->", "→")
"""What stands between the parts of a description."""


_RECENT: Final = 5 * MINUTE
"""A change of the last minutes is what a person means by the last change."""
_MAX_READ: Final = 1_000
"""How many tasks of a change a description reads; of an import of a million it counts the others."""


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
    lambda: (
        TaskRow.select(_newest.c.change, _newest.c.actor, _newest.c.at)
        .join(_newest, on=(_newest.c.task == TaskRow.uid))
        .where((_newest.c.kind == "task.deleted") & (TaskRow.list_id == slot("list")) & (TaskRow.deleted == SQL("1")))
        .order_by(_newest.c.seq.desc())
        .limit(1)
    )
)
_OF_AGENT: Final = Statement(
    lambda: (
        J.select(J.change, J.kind, J.undoes)
        .where((J.actor == slot("actor")) & (J.at >= slot("since")))
        .order_by(J.seq.desc())
        .limit(slot("limit"))
    )
)


def summary(db: Database, changes: Sequence[int]) -> Summary:
    """Return what changes did."""
    actors: dict[str, None] = {}
    tasks: dict[str, None] = {}
    created: set[str] = set()
    entries = deleted = 0
    for change in changes:
        actors[journal.entry(db, change).actor] = None
        for page in journal.of_change(db, change):
            for part in page:
                if part.kind in vocab.UNDOABLE:
                    entries += 1
                    deleted += part.kind == "task.deleted"
                    if part.task is not None:
                        tasks[part.task] = None
                    if part.kind == "task.created" and part.task is not None:
                        created.add(part.task)
    shown = MAX_NAMES + (len(tasks) == MAX_NAMES + 1)
    read = (task_queries.any_task(db, uid) for uid in list(tasks)[:shown])
    names = tuple(task.name for task in read if task is not None)
    reviewed = dict(_reviewed(db, created))
    others = sorted(task.number for task in task_queries.live_tasks(db, list(created - reviewed.keys())))
    named = tuple(f"#{number}" for number in others)
    return Summary(tuple(actors), entries, deleted, len(tasks), names, tuple(reviewed.values()), named)


def _reviewed(db: Database, uids: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the uid of each of the tasks whose work waits for review, and its number with the agent of that work."""
    for work in work_queries.ready(db) if uids else ():
        if work.task_uid in uids:
            task = task_queries.task_or_deleted(db, work.task_uid)
            yield work.task_uid, f"#{task.number} (work of {display_name(work.agent, 30)})"


def description(db: Database, change: int, *, undone: bool, on_screen: bool = False) -> str:
    """Return a change in words: `#6 Milk: pending -> done`, `2 tasks deleted: #1 Milk, #2 Eggs`.

    `undone`: an undo has just reverted it, so the values before it hold now: `#6 Milk: pending again`; `deletion of #6
    Milk` says that the task is there again. `on_screen`: as the screen writes it: `S2 Login audit: off → on`.
    """
    arrow = "→" if on_screen else "->"
    # By what each entry is about, as a task may have several: its status and the reason for that.
    done: dict[tuple[str, str], dict[str, None]] = {}
    by_work: dict[str, str] = {}
    for page in journal.of_change(db, change):
        for part in page:
            if part.kind in _WORK_WORDS and part.task is not None:
                by_work.setdefault(part.task, _WORK_WORDS[part.kind])
            if part.kind in vocab.UNDOABLE:
                about = ("task", part.task) if part.task is not None else (part.kind.partition(".")[0], part.uid)
                words = done.setdefault(about, {})
                if len(done) <= _MAX_READ:
                    words.update(dict.fromkeys(_words_of(journal.entry(db, part.seq), arrow, undone=undone)))
    for task, words_of_work in by_work.items():
        done["task", task] = {words_of_work: None}
    # The first task of a list makes the list, which goes without saying.
    subjects = [about for about in done if about[0] == "task"] or list(done)
    # Of several, the numbers suffice where the rows are in sight again.
    is_short = on_screen and undone and len(subjects) > 1
    names = (_name_of(db, *about) for about in subjects[:MAX_NAMES])
    named = ", ".join(name.partition(" ")[0] if is_short and name.startswith("#") else name for name in names)
    each_did = {", ".join(done[about]) for about in subjects[:_MAX_READ]}
    did = each_did.pop() if len(each_did) == 1 else "changed"
    taken_back = _UNDONE_WORDS.get(did) if undone else None
    if len(subjects) == 1:
        return f"{taken_back} {named}" if taken_back else f"{named}: {did}"
    kinds = {kind for kind, _ in subjects}
    more = f" and {len(subjects) - MAX_NAMES:,} more" if len(subjects) > MAX_NAMES else ""
    many = count(len(subjects), kinds.pop() if len(kinds) == 1 else "thing")
    glue = ", " if did.endswith(_AS_BEFORE) else " "
    return f"{f'{taken_back} {many}' if taken_back else f'{many}{glue}{did}'}: {named}{more}"


def is_old(at: int, now: int) -> bool:
    """Return whether a change is not of the last minutes, so that a person is asked before its undo."""
    return now - at >= _RECENT


def undo_question(
    db: Database, change: int, now: int, *, goes_on: bool, is_elsewhere: bool, on_screen: bool = False
) -> str:
    """Return what to ask a person before the undo of a change; empty if it is done at once.

    Asked is what is not of the last minutes, what deletes a job or an empty list, and what was done `is_elsewhere`, not
    on the screen that is shown. `goes_on`: the person has just undone a later change, and is not asked about older
    changes of tasks alone.
    """
    kinds = {part.kind for part in journal.each_of_change(db, change)}
    # The first task of a list, added or moved there, makes the list.
    is_of_tasks = bool(kinds & {"task.created", "task.moved"}) or all(kind.startswith("task.") for kind in kinds)
    deletes = not is_of_tasks and any(kind.endswith(".created") for kind in kinds)
    at = journal.entry(db, change).at
    if (not is_old(at, now) and not deletes and not is_elsewhere) or (goes_on and is_of_tasks):
        return ""
    # A question stands still, so it names no age that grows while it is read.
    when = "" if on_screen and now - at < MINUTE else f", {ago(at, now)}"
    return f"Undo “{description(db, change, undone=False, on_screen=on_screen)}”{when}?"


def _words_of(entry: Entry, arrow: str, *, undone: bool) -> list[str]:
    if entry.kind in _WORDS:
        return [_WORDS[entry.kind]]
    words, unsaid = [], []
    for name, values in entry.changes.items():
        if name in _UNSAID:
            continue
        before, after = map(_value, values)
        called = "title" if (entry.entity, name) == ("task", "name") else name.replace("_", " ")
        what = "" if name in _PLAIN_VALUES else f"{called} "
        has_values = name in _WITH_VALUES or isinstance(values[0], bool)
        if undone and name == "archived":
            words.append("archived again" if values[0] else "back from the archive")
        elif undone and has_values:
            words.append(f"{what}{before} again")
        elif undone:
            unsaid.append(called)
        else:
            words.append(f"{what}{before} {arrow} {after}" if has_values else called)
    *first, last = unsaid or [""]
    words += [f"{' and '.join(filter(None, (', '.join(first), last)))}{_AS_BEFORE}"] if unsaid else []
    return words or ["changed"]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value in (None, "") else title_text(str(value).replace("_", " "), 40, among=_BETWEEN)


def _name_of(db: Database, kind: str, uid: str) -> str:
    if kind == "task":
        task = task_queries.any_task(db, uid)
        return f"#{task.number} {title_text(task.name, 40, among=_BETWEEN)}" if task is not None else "a task"
    if kind == "list":
        return f"list {name_text(task_queries.any_list(db, uid).name, 40)}"
    from tui_tasks.core.read import job_queries  # imported here, as it imports the rules of schedules

    job = job_queries.any_job(db, uid) if kind == "job" else None
    return f"S{job.number} {name_text(job.name, 40)}" if job is not None else kind


def last_deletion(db: Database, list_id: int) -> Deletion | None:
    """Return the newest deletion of a task of a list that was not restored; None if there is none among the newest
    entries.
    """
    row = db.one(_LAST_DELETION, list=list_id)
    if row is None:
        return None
    change, actor, at = row
    return Deletion(change, actor, at, summary(db, [change]).deleted)


def deletion_of(db: Database, task: str) -> int | None:
    """Return the change that deleted a task last; None if the journal has it no more."""
    query = "SELECT change FROM journal WHERE task = ? AND kind = 'task.deleted' ORDER BY seq DESC LIMIT 1"
    change: int | None = db.scalar(query, (task,))
    return change


def of_agent(db: Database, agent: str, since: int) -> list[int]:
    """Return an agent's changes since an instant (microseconds), newest first, without undos."""
    rows = db.all(_OF_AGENT, actor=agent, since=since, limit=_OF_LATE)
    changes = dict.fromkeys(change for change, kind, undoes in rows if undoes is None and kind in vocab.UNDOABLE)
    return list(changes)[:MAX_CHANGES]
