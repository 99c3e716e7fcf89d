"""The commands that change tasks in a shell: `add`, `edit`, `log`, `done`, `mv` and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tui_tasks.channel import single_request
from tui_tasks.channel.session import Session
from tui_tasks.cli.printing import print_json, print_result
from tui_tasks.cli.tasks.task_lookup import SHORT, find_task, uid_of_number
from tui_tasks.core.errors import InvalidArgument, NotFound, Refusal
from tui_tasks.core.journal import journal
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.schema import task_fields, work_links
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.dialects.requests import quick_add_syntax
from tui_tasks.dialects.requests.identity import own_list
from tui_tasks.text.safe import safe_line


class Refused(Refusal):
    """The request of a command was refused; the message is that of the reply."""


def request(session: Session, tool: str, **arguments: Any) -> Any:
    """Make a request in a session; return its result.

    Raises:
        Refused: the reply is an error.
    """
    reply = single_request.ask(session, {"tool": tool, "arguments": arguments})
    if not reply["ok"]:
        raise Refused(reply["error"]["message"])
    return reply["result"]


def _print_task(word: str, task: dict[str, Any], *, as_json: bool) -> None:
    print_result(f"{word} {task['uid'][:SHORT]}  {safe_line(task['name'])}", task, as_json=as_json)


def print_tasks(word: str, tasks: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print a line for each task, or JSON: an array if there are several."""
    if as_json and len(tasks) > 1:
        print_json(tasks)
        return
    for task in tasks:
        _print_task(word, task, as_json=as_json)


def add(session: Session, words: str, description: str, *, as_json: bool) -> None:
    """Add a task to the session's list, by default `tasklist`. The words are in quick-add syntax.

    Raises:
        InvalidArgument: the words have no title, or one of them is wrong.
    """
    draft = _parsed_words(session, words)
    if not draft.name:
        raise InvalidArgument("name", "a task needs a title")
    identity = session.identity
    home = queries.find_list(session.store.db, identity.list or own_list("tasklist", identity.project))
    fields = _field_arguments(session, draft, home)
    made = request(session, "shell:add", name=draft.name, description=description, **fields)
    _print_task("added", made, as_json=as_json)


class Edit(NamedTuple):
    """What `edit` changes beside the quick-add words.

    Attributes:
        description: the new description; None: unchanged.
        untag: the tags to remove.
        not_after: references to tasks that it no longer depends on.
        clear: the names of fields to empty.
    """

    description: str | None = None
    untag: tuple[str, ...] = ()
    not_after: tuple[str, ...] = ()
    clear: tuple[str, ...] = ()


def edit(session: Session, reference: str, words: str, more: Edit, *, as_json: bool) -> None:
    """Change the fields that the words name; words outside the syntax are the new title.

    Raises:
        InvalidArgument: nothing is to change, or a word is wrong.
    """
    draft = _parsed_words(session, words)
    if draft == quick_add_syntax.Draft() and more == Edit():
        raise InvalidArgument("words", f"say what to change: a title, {quick_add_syntax.SIGNS_HELP} or an option")
    task = find_task(session, reference)
    arguments = _field_arguments(session, draft, queries.list_by_id(session.store.db, task.list_id))
    arguments["not_after"] = [find_task(session, each).uid for each in more.not_after]
    arguments |= {"untag": list(more.untag), "clear": list(more.clear)}
    arguments |= {"name": draft.name or None, "description": more.description}
    _print_task("changed", request(session, "shell:edit", uid=task.uid, **arguments), as_json=as_json)


def _parsed_words(session: Session, words: str) -> quick_add_syntax.Draft:
    draft = quick_add_syntax.parse(words, task_fields.local_time(session.clock()))
    if draft.problem:
        raise InvalidArgument("name", f"{draft.problem} (a backslash before a sign makes it plain text)")
    return draft


def _field_arguments(session: Session, draft: quick_add_syntax.Draft, home: TaskList | None) -> dict[str, Any]:
    """Return what a draft says beside the title, as arguments of a tool. Numbers are those of the task's list."""
    uids = {number: uid_of_number(session, home, number) if home else None for number in draft.after}
    missing = [number for number, uid in uids.items() if uid is None]
    if missing:
        raise NotFound("task", f"#{missing[0]} in {home.name if home else 'this list'}")
    fields = {"tags": list(draft.tags), "agent": draft.agent, "priority": draft.priority, "fields": draft.fields}
    return {name: value for name, value in fields.items() if value} | {"depends_on": list(uids.values())}


_VERB_OF_STATUS: Final = {"in_progress": "started"}


def set_status(session: Session, references: Sequence[str], status: str, reason: str, *, as_json: bool) -> None:
    """Set the status of tasks and log the reason, as one change."""
    uids = _uids(session, references)
    made = request(session, "shell:status", uids=uids, status=status, reason=reason)
    print_tasks(_VERB_OF_STATUS.get(status, status), made, as_json=as_json)


def _uids(session: Session, references: Sequence[str]) -> list[str]:
    """Return the uids of the referenced tasks, each once."""
    return list(dict.fromkeys(find_task(session, reference).uid for reference in references))


def log(session: Session, reference: str, message: str, *, as_json: bool) -> None:
    """Add a log entry to a task."""
    task = find_task(session, reference)
    made = request(session, "tasklist:log_task_progress", uid=task.uid, message=message)
    print_result(f"logged to {task.uid[:SHORT]}  {safe_line(task.name)}", made, as_json=as_json)


def move(session: Session, reference: str, place: int | None, beside: dict[str, str], *, as_json: bool) -> None:
    """Move a task: to a place in its list, `before` or `after` another task, or to the end of a `list`."""
    task = find_task(session, reference)
    where = {name: value if name == "list" else find_task(session, value).uid for name, value in beside.items()}
    if place is not None:
        where = _beside_number(session, task, place)
    _print_task("moved", request(session, "shell:move", uid=task.uid, **where), as_json=as_json)


def _beside_number(session: Session, task: Task, place: int) -> dict[str, str]:
    """Return the argument that moves a task to the place with a number in its list."""
    home = queries.list_by_id(session.store.db, task.list_id)
    other = uid_of_number(session, home, place)
    if other is None:
        raise NotFound("task", f"#{place} in {home.name}")
    below = queries.task(session.store.db, other).rank > task.rank
    return {"after" if below else "before": other}


def link(session: Session, reference: str, words: list[str], *, remove: bool, as_json: bool) -> None:
    """Link a task to what each word names, or remove those links.

    Raises:
        InvalidArgument: a word is no link.
    """
    task = find_task(session, reference)
    try:
        links = work_links.joined(map(work_links.read, words))
    except ValueError as error:
        raise InvalidArgument("links", str(error)) from None
    made = request(session, "shell:link", uid=task.uid, links=links, remove=remove)
    _print_task("unlinked" if remove else "linked", made, as_json=as_json)


def delete(session: Session, references: Sequence[str], *, as_json: bool) -> None:
    """Delete tasks as one change, which `undo` reverts."""
    deleted = request(session, "shell:delete", uids=_uids(session, references))
    print_tasks("deleted", deleted, as_json=as_json)


def undo(session: Session, *, as_json: bool) -> None:
    """Revert the actor's newest change that is not reverted yet."""
    undone = request(session, "control:undo")
    (entry,) = journal.since(session.store.db, undone["undone"] - 1, 1)
    name = f"  {safe_line(entry.image['name'])}" if entry.image else ""
    print_result(f"taken back: {entry.kind.replace('.', ' ')}{name}", undone, as_json=as_json)


def redo(session: Session, *, as_json: bool) -> None:
    """Revert the actor's newest undo."""
    redone = request(session, "shell:redo")
    (entry,) = journal.since(session.store.db, redone["redone"] - 1, 1)
    name = safe_line(entry.image["name"]) if entry.image else entry.entity
    print_result(f"done again: {name}", redone, as_json=as_json)
