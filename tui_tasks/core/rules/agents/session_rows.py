"""Rows of sessions and their tasks: journal entries, and what is kept beside the journal: activity and ids.

Each prompt is a task, and a program's own list stands below it (docs: protocol, section 10). The tasks are changes of
the agent, in the journal like all others. What cannot be made or changed (a list under review, a task that somebody has
claimed or deleted) is left as it is: no payload is refused for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import Refusal, StorageFailed
from tui_tasks.core.operations.asks import CloseAsk
from tui_tasks.core.operations.sessions import SessionReport, TaskListItem, TaskListReported
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import AgentSession, SessionActivity
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.agents.ask_rules import close_ask
from tui_tasks.core.rules.agents.program_lists import ORIGIN
from tui_tasks.core.rules.tasks.list_rules import ensure_list
from tui_tasks.core.rules.tasks.record_rules import log_task
from tui_tasks.core.rules.tasks.task_rules import add_task, delete_task, edit_task
from tui_tasks.core.schema.agent_tables import ActivityRow, SessionNameRow
from tui_tasks.core.schema.tables import columns
from tui_tasks.core.snapshots import Task, TaskList

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


_ACTIVITY: Final = tuple(columns(ActivityRow))
_DROP_ACTIVITY = Statement(lambda: ActivityRow.delete().where(ActivityRow.uid == slot("uid")))
_PUT_ACTIVITY = Statement(
    lambda: ActivityRow.insert({column: slot(name) for name, column in columns(ActivityRow).items()})
)
_SET_STOPPED = Statement(
    lambda: ActivityRow.update({ActivityRow.stopped_at: slot("at")}).where(ActivityRow.uid == slot("uid"))
)
_DROP_NAME = Statement(
    lambda: SessionNameRow.delete().where(
        (SessionNameRow.program == slot("program")) & (SessionNameRow.session == slot("session"))
    )
)
_PUT_NAME = Statement(
    lambda: SessionNameRow.insert({column: slot(name) for name, column in columns(SessionNameRow).items()})
)

# Columns that an entry about a session always has, changed or not.
_ALWAYS: Final = frozenset({"state", "waiting_for", "last_prompt"})

# Why the task of a prompt failed.
_LOST: Final = {
    "process": "the agent's process ended within its turn",
    session_queries.BY_MACHINE: "the agent's machine was not heard of any more",
}

_encode = msgspec.json.Encoder().encode


def withdraw_requests(tx: Transaction, agent: str, reason: str) -> None:
    """Close what a program has asked in its window. What its agent has asked with our tools may still be read later."""
    for ask in session_queries.open_asks_of(tx.db, agent):
        if ask.request is not None:
            close_ask(tx, CloseAsk(ask.uid, "withdrawn", reason))


def begin(tx: Transaction, report: SessionReport, at: int) -> AgentSession:
    """Record a session that was unknown, of the transaction's actor, which was first heard at an instant."""
    session = AgentSession(
        id=tx.state_cache.next_id("session"),
        uid=tx.actor,
        program=report.program,
        number=int(tx.actor.rpartition("-")[2]),
        session=report.session,
        boot=report.process.boot,
        namespace=report.process.namespace,
        pid=report.process.pid,
        born=report.process.born,
        cwd=report.cwd,
        project=report.project,
        model=report.model,
        mode=report.mode,
        state="idle",
        waiting_for=None,
        last_prompt=None,
        last_message=None,
        task=None,
        tokens=None,
        cost_usd=None,
        started_at=at,
        ended_at=None,
        ended_by=None,
    )
    tx.emit("session.started", "session", session.uid, new=asdict(session))
    name_session(tx, report.program, report.session, tx.actor, "own")
    return session


def end(tx: Transaction, session: AgentSession, activity: SessionActivity, by: str, at: int) -> None:
    """Record that a session has ended, and how (`by`: process, machine, replaced, told or error), and end its prompt's
    task.
    """
    if session.task is not None:
        # Nobody knows whether the process ended by itself.
        status, reason = ("failed", _LOST[by]) if by in _LOST else ("cancelled", None)
        end_task(tx, session.task, status, reason)
    new = {**activity.news, "state": session_queries.GONE, "ended_at": at, "ended_by": by}
    emit(tx, "session.ended", session, new)
    keep_activity(tx, SessionActivity(session.uid, activity.last_seen, pulse=activity.pulse, record=activity.record))


def emit(tx: Transaction, kind: str, session: AgentSession, changes: dict[str, Any]) -> AgentSession:
    """Emit an entry about a session with the columns that it changes."""
    new = {name: value for name, value in changes.items() if name in _ALWAYS or getattr(session, name) != value}
    tx.emit(kind, "session", session.uid, old={name: getattr(session, name) for name in new}, new=new)
    return msgspec.structs.replace(session, **new)


def keep_activity(tx: Transaction, activity: SessionActivity) -> None:
    """Write what a session is doing, which has no entry in the journal."""
    tx.db.run(_DROP_ACTIVITY, {"uid": activity.uid})
    values = {name: getattr(activity, name) for name in _ACTIVITY}
    values |= {"busy": int(activity.busy)}
    values |= {name: _encode(values[name]).decode() for name in ("background", "news", "tool_times", "pulse", "record")}
    tx.db.run(_PUT_ACTIVITY, values)


def set_stopped(db: Database, agent: str, at: int | None) -> None:
    """Record since when a session's process is suspended (None: it is not), within the open write transaction."""
    db.run(_SET_STOPPED, {"uid": agent, "at": at})


def name_session(tx: Transaction, program: str, session: str, agent: str, part: str) -> None:
    """Write whose a program's session id is: the agent's own, a former one of its, or a subagent's."""
    tx.db.run(_DROP_NAME, {"program": program, "session": session})
    tx.db.run(_PUT_NAME, {"program": program, "session": session, "agent": agent, "part": part})


MINUTE: Final = 60_000_000
PULSE_MINUTES: Final = 12
"""For so many minutes it is counted how often a session tells something."""
MAX_TIMES: Final = 20
"""How often it is kept how long a tool took."""


def count_pulse(activity: SessionActivity, at: int) -> None:
    """Count a payload in the minute of its instant (microseconds)."""
    at = max(activity.last_seen, at)
    later = min(at // MINUTE - activity.last_seen // MINUTE, PULSE_MINUTES)
    pulse = [*(activity.pulse or [0]), *[0] * later]
    pulse[-1] += 1
    activity.pulse, activity.last_seen = pulse[-PULSE_MINUTES:], at


def begin_tool(activity: SessionActivity, tool: str, call: str | None, at: int) -> None:
    """Note that a tool runs since an instant; `call` is the program's id of this use of it."""
    activity.tool, activity.tool_since, activity.call = tool, at, call


def end_tool(activity: SessionActivity, at: int) -> None:
    """Note that the running tool has ended at an instant, and how long it took."""
    if activity.tool is not None and activity.tool_since is not None:
        times = [*activity.tool_times.get(activity.tool, []), max(0, at - activity.tool_since)]
        activity.tool_times = {**activity.tool_times, activity.tool: times[-MAX_TIMES:]}
    forget_tool(activity)


def forget_tool(activity: SessionActivity) -> None:
    """Note that no tool runs; how long the last one took is unknown."""
    activity.tool = activity.tool_since = activity.call = None


def is_running(activity: SessionActivity, tool: str, call: str | None) -> bool:
    """Return whether this use of a tool is the one that runs, by its id where both have one."""
    if activity.tool is None:
        return False
    return call == activity.call if call and activity.call else tool == activity.tool


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
    task_list: TaskList = ensure_list(tx, EnsureList(name, ORIGIN, project))
    return task_list


def begin_task(tx: Transaction, project: str | None, agent: str, prompt: str) -> tuple[str | None, str | None]:
    """Make the task of a prompt; return its uid, or None and the reason where it cannot be made."""
    title, description = _titled(prompt)
    refused: list[str] = []
    with _as_far_as_it_goes(refused):
        home = _made_home(tx, project)
        made: Task = add_task(
            tx,
            AddTask(title, home.uid, description, status="in_progress", agent=agent, metadata={"origin": ORIGIN}),
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
                metadata={"origin": ORIGIN, **part_of},
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
