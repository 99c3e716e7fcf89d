"""The short verbs that a person types in a shell: `add`, `ls`, `show`, `next`, `log`, `done`, `prime`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tui_tasks import oneshot, shown_json
from tui_tasks.core import queries
from tui_tasks.core.errors import Conflict, NotFound, Refusal
from tui_tasks.core.snapshots import Task, TaskList, full_task, iso
from tui_tasks.session import Session
from tui_tasks.tui.format import ago, look, safe_line, safe_text

SHORT = 8


class Refused(Refusal):
    """A request of a verb's was refused; the message is the reply's."""


def _request(session: Session, tool: str, **arguments: Any) -> Any:
    reply = oneshot.ask(session, {"tool": tool, "arguments": arguments})
    if not reply["ok"]:
        raise Refused(reply["error"]["message"])
    return reply["result"]


def _tell(text: str, held: Any, *, as_json: bool) -> None:
    print(shown_json.shown(held) if as_json else text)


def _found(session: Session, reference: str) -> Task:
    """The task that a person means: by its uid, or the beginning of it.

    Raises:
        NotFound: there is none.
        Conflict: several begin so.
    """
    found = queries.tasks_beginning(session.store.db, reference, 2)
    if not found:
        raise NotFound("task", reference)
    if len(found) > 1:
        raise Conflict(f"several tasks begin with {reference}: write more of the uid")
    return found[0]


def add(session: Session, name: str, description: str, *, as_json: bool) -> None:
    """Add a task to the tasklist, or to the list that is named."""
    made = _request(session, "tasklist:add_task", name=name, description=description)
    _tell(f"added {made['uid'][:SHORT]}  {safe_line(name)}", made, as_json=as_json)


def ls(session: Session, statuses: list[str], *, ascii_only: bool) -> None:
    """Print the tasks in order: of the list that is named, else of all lists."""
    db = session.store.db
    for home in _lists(session):
        for place, task in _numbered(db, home):
            if not statuses or task.status in statuses:
                print(_line(task, home, place, session.clock(), ascii_only=ascii_only))


def _lists(session: Session) -> list[TaskList]:
    named = session.identity.list
    if named is None:
        return queries.lists(session.store.db)
    found = queries.find_list(session.store.db, named)
    if found is None:
        raise NotFound("list", named)
    return [found]


def _numbered(db: Any, home: TaskList) -> Iterator[tuple[int, Task]]:
    return enumerate(queries.tasks(db, home.id), 1)


def _line(task: Task, home: TaskList, place: int, now: int, *, ascii_only: bool) -> str:
    seen = look("blocked" if task.blocked and task.status == "pending" else task.status)
    who = safe_line(task.agent or task.updated_by, 16)
    when = ago(task.updated_at, now)
    head = f"{task.uid[:SHORT]} {seen.mark(ascii_only=ascii_only)} {place:>4}  {safe_line(task.name, 80)}"
    return f"{head}  [{safe_line(home.name, 24)}, {who}, {when}]"


def show(session: Session, reference: str, *, as_json: bool) -> None:
    """Print one task with its log."""
    db = session.store.db
    task = _found(session, reference)
    home = queries.list_by_id(db, task.list_id)
    log = queries.logs(db, task.uid)
    held = full_task(task, home.handle)
    held["log"] = [{"at": iso(entry.at), "agent": entry.agent, "message": entry.message} for entry in log]
    if as_json:
        print(shown_json.shown(held))
        return
    print(f"{safe_line(task.name)}\n{task.uid}  {task.status}  in {safe_line(home.name)}")
    if task.description:
        print(f"\n{safe_text(task.description)}")
    for entry in log:
        print(f"\n{ago(entry.at, session.clock())}  {safe_line(entry.agent, 16)}  {safe_text(entry.message)}", end="")
    print()


def next_task(session: Session, *, as_json: bool) -> None:
    """Print the task to take up next."""
    db = session.store.db
    named = session.identity.list
    home = queries.find_list(db, named) if named is not None else None
    task = queries.ready(db, home.id if home else None, session.identity.agent) if named is None or home else None
    if task is None:
        _tell("nothing is ready to be taken up", None, as_json=as_json)
        return
    home = queries.list_by_id(db, task.list_id)
    _tell(f"{task.uid[:SHORT]}  {safe_line(task.name)}", full_task(task, home.handle), as_json=as_json)


def log(session: Session, reference: str, message: str, *, as_json: bool) -> None:
    """Add a log entry to a task."""
    task = _found(session, reference)
    made = _request(session, "tasklist:log_task_progress", uid=task.uid, message=message)
    _tell(f"logged to {task.uid[:SHORT]}  {safe_line(task.name)}", made, as_json=as_json)


def done(session: Session, reference: str, *, as_json: bool) -> None:
    """Set a task done."""
    task = _found(session, reference)
    made = _request(session, "tasklist:set_task_done", uid=task.uid)
    _tell(f"done {task.uid[:SHORT]}  {safe_line(task.name)}", made, as_json=as_json)
