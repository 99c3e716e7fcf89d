"""Tasks of sessions: each prompt is a task, and a program's own list stands below it (docs: protocol, section 10).

The tasks are changes of the agent, in the journal like all others. What cannot be made or changed (a list under review,
a task that somebody has claimed or deleted) is left as it is: no payload is refused for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core.errors import Refusal, StorageFailed
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.operations.sessions import TaskListItem, TaskListReported
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import AgentSession
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.tasks.list_rules import ensure_list
from tui_tasks.core.rules.tasks.record_rules import log_task
from tui_tasks.core.rules.tasks.task_rules import add_task, delete_task, edit_task
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.vocab import SESSION_ORIGIN

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


LIST: Final = "sessions"
"""What the list of such tasks is called, behind the name of its project where it has one."""
MAX_TITLE: Final = 200
MAX_ITEMS: Final = 200
"""Items of a program's own list that are shown; the rest is the program's alone."""
_OPEN: Final = frozenset({"pending", "in_progress"})
_DELETED: Final = "deleted"


@contextmanager
def _as_far_as_it_goes(refused: list[str] | None = None) -> Iterator[None]:
    """Go on after a refusal, whose message is added to `refused`."""
    try:
        yield
    except StorageFailed:
        raise
    except Refusal as refusal:
        if refused is not None:
            refused.append(refusal.message)


def _made_home(tx: Transaction, project: str | None) -> TaskList:
    """Return the list of the tasks of sessions, the project's own; make it at first use."""
    name = LIST if project is None else f"{project}/{LIST}"
    task_list: TaskList = ensure_list(tx, EnsureList(name, SESSION_ORIGIN, project))
    return task_list


def begin_task(tx: Transaction, project: str | None, agent: str, prompt: str) -> tuple[str | None, str | None]:
    """Make the task of a prompt; return its uid, or None and the reason where it cannot be made."""
    title, description = _titled(prompt)
    refused: list[str] = []
    with _as_far_as_it_goes(refused):
        home = _made_home(tx, project)
        made: Task = add_task(
            tx,
            AddTask(
                title, home.uid, description, status="in_progress", agent=agent, metadata={"origin": SESSION_ORIGIN}
            ),
        )
        return made.uid, None
    return None, refused[0]


def add_words(tx: Transaction, uid: str, words: str) -> None:
    """Log on the task of a prompt what the person said while it was worked on."""
    if words.strip() and _open_task(tx, uid) is not None:
        with _as_far_as_it_goes():
            log_task(tx, LogTask(uid, words))


def end_task(tx: Transaction, uid: str, status: str, words: str | None = None) -> None:
    """End the task of a prompt, unless it has ended already."""
    if _open_task(tx, uid) is None:
        return
    if words:
        add_words(tx, uid, words)
    with _as_far_as_it_goes():
        edit_task(tx, EditTask(uid, {"status": status}))


def _open_task(tx: Transaction, uid: str) -> Task | None:
    task = task_queries.any_task(tx.db, uid)
    return task if task is not None and not task.deleted and task.status in _OPEN else None


def _titled(text: str) -> tuple[str, str]:
    """Return a title, and the whole text where that says more."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "") or "(no words)"
    title = first if len(first) <= MAX_TITLE else f"{first[: MAX_TITLE - 1]}…"
    return title, "" if title == text.strip() else text


class OwnList:
    """A program's own list of tasks, as tasks that stand behind the one of the prompt, in its order."""

    def __init__(self, tx: Transaction, project: str | None, session: AgentSession) -> None:
        self._tx = tx
        self._agent = session.uid
        self._project = project
        parent = task_queries.any_task(tx.db, session.task) if session.task is not None else None
        self._parent = parent if parent is not None and not parent.deleted else None
        self.refused: list[str] = []

    def apply(self, listed: TaskListReported) -> None:
        """Make, change and end tasks so that they are as the program has them. `refused` has what could not be done."""
        with _as_far_as_it_goes(self.refused):
            home = self._home()
            before = self._parent.uid if self._parent is not None else None
            for item in listed.items[:MAX_ITEMS]:
                if listed.some:
                    before = self._beside(home, item) or before
                before = self._take_one(home, item, self._key(item, listed), before) or before
            if not listed.some:
                self._end_rest(home, listed)

    def _home(self) -> TaskList:
        if self._parent is not None:
            return self._tx.state_cache.list_by_id(self._parent.list_id)
        return _made_home(self._tx, self._project)

    def _key(self, item: TaskListItem, listed: TaskListReported) -> str:
        """Return the key of an item: ids are unique in the session, places in one list, which belongs to one prompt."""
        whose = self._agent if listed.some or self._parent is None else f"{self._agent}:{self._parent.uid[:8]}"
        return f"{whose}:{item.key}"

    def _beside(self, home: TaskList, item: TaskListItem) -> str | None:
        """Return the task of the item that was made before this one."""
        if not item.key.isdecimal() or len(item.key) > 9:
            return None
        task = task_queries.task_by_key(self._tx.db, home.id, f"{self._agent}:{int(item.key) - 1}")
        return task.uid if task is not None else None

    def _take_one(self, home: TaskList, item: TaskListItem, key: str, before: str | None) -> str | None:
        task = task_queries.task_by_key(self._tx.db, home.id, key)
        with _as_far_as_it_goes(self.refused):
            if item.status == _DELETED:
                if task is not None:
                    delete_task(self._tx, DeleteTask(task.uid))
                return None
            if task is None:
                return self._make(home, item, key, before)
            changes = {"status": item.status, "name": item.name and _titled(item.name)[0]}
            edit_task(self._tx, EditTask(task.uid, {name: value for name, value in changes.items() if value}))
        return task.uid if task is not None else None

    def _make(self, home: TaskList, item: TaskListItem, key: str, before: str | None) -> str | None:
        if item.name is None:
            return None
        title, _ = _titled(item.name)
        part_of = {"part_of": self._parent.uid} if self._parent is not None else {}
        made: Task = add_task(
            self._tx,
            AddTask(
                title,
                home.uid,
                item.description or "",
                status=item.status or "pending",
                agent=self._agent,
                key=key,
                metadata={"origin": SESSION_ORIGIN, **part_of},
                after=before,
            ),
        )
        return made.uid

    def _end_rest(self, home: TaskList, listed: TaskListReported) -> None:
        """Cancel what the program has taken off its list."""
        for place in range(len(listed.items), MAX_ITEMS):
            task = task_queries.task_by_key(self._tx.db, home.id, self._key(TaskListItem(str(place)), listed))
            if task is None:
                return
            if task.status in _OPEN:
                with _as_far_as_it_goes():
                    edit_task(self._tx, EditTask(task.uid, {"status": "cancelled"}))


_REPORTED: Final = ("name", "description", "status")


def tell_agent(tx: Transaction, task: Task, changes: Mapping[str, Any] | None) -> None:
    """Send the agent what the human has changed of its task; `changes` of None: the task was deleted."""
    session = session_queries.find(tx.db, task.agent) if task.agent is not None else None
    if session is None or session.state == session_queries.GONE:
        return
    if changes is None:
        news = ["it is deleted"]
    else:
        news = [
            f"its {name} is now {changes[name]!r}"
            for name in _REPORTED
            if name in changes and changes[name] != getattr(task, name)
        ]
    if news:
        tx.run(SendMessage(session.uid, f"I have changed your task {task.name!r}: {', '.join(news)}."))
