"""The short commands on tasks in a shell: `add`, `ls`, `show`, `next`, `log`, `done` and the like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from tui_tasks.channel import single_request
from tui_tasks.channel.session import Session
from tui_tasks.cli.printing import print_json
from tui_tasks.cli.tasks.task_filter import EVERYTHING, ListFilter
from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound, Refusal
from tui_tasks.core.journal import journal
from tui_tasks.core.read import checks
from tui_tasks.core.read.pages import pages
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.schema import task_fields, work_links
from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.snapshots import Check, Task, TaskList, full_task, iso, verified
from tui_tasks.dialects.requests import quick_add_syntax
from tui_tasks.dialects.requests.identity import own_list
from tui_tasks.text.glyphs import look
from tui_tasks.text.proof import PROOF_LOOKS, proof_words
from tui_tasks.text.safe import safe_line, safe_text
from tui_tasks.text.times import ago

SHORT = 8
# Digits of this length may be the beginning of a uid; fewer are a number (docs: protocol, section 2).
_SHORTEST_PREFIX: Final = 6
# The checks of so many tasks are read at once.
_BATCH: Final = 500


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


def _print_result(text: str, value: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(value)
    else:
        print(text)


def _print_task(word: str, task: dict[str, Any], *, as_json: bool) -> None:
    _print_result(f"{word} {task['uid'][:SHORT]}  {safe_line(task['name'])}", task, as_json=as_json)


def print_tasks(word: str, tasks: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print a line for each task, or JSON: an array if there are several."""
    if as_json and len(tasks) > 1:
        print_json(tasks)
        return
    for task in tasks:
        _print_task(word, task, as_json=as_json)


# Finding a task


def find_task(session: Session, reference: str) -> Task:
    """Return the task with a number (`1`, `#1`), a uid, or the beginning of one.

    Raises:
        NotFound: there is none.
        Conflict: several tasks match.
    """
    number = reference.removeprefix("#")
    is_number = number.isascii() and number.isdigit()
    if is_number and (reference != number or len(number) < _SHORTEST_PREFIX):
        return _task_of_number(session, int(number))
    found = queries.tasks_beginning(session.store.db, reference, 2)
    if not found:
        if is_number:
            return _task_of_number(session, int(number))
        raise NotFound("task", reference)
    if len(found) > 1:
        raise Conflict(f"several tasks begin with {reference}: write more of the uid")
    return found[0]


def _task_of_number(session: Session, number: int) -> Task:
    """Return the task that `ls` prints with this number."""
    db = session.store.db
    found = [
        (home, uid) for home in _lists_in_scope(session) if (uid := _uid_of_number(session, home, number)) is not None
    ]
    if not found:
        raise NotFound("task", f"#{number}; `tui-tasks ls` prints their numbers")
    if len(found) > 1:
        each = "; ".join(f"{home.name}: {uid[:SHORT]} {queries.task(db, uid).name[:40]}" for home, uid in found[:5])
        raise Conflict(f"several lists have a #{number}: name one with --list, or write the uid ({each})")
    return queries.task(db, found[0][1])


def _uid_of_number(session: Session, home: TaskList, number: int) -> str | None:
    """Return the uid of a list's task by number."""
    return pages.uid_of_number(session.store.db, home, number)


def _lists_in_scope(session: Session) -> list[TaskList]:
    named = session.identity.list
    if named is None:
        return queries.lists(session.store.db, session.identity.project)
    found = queries.find_list(session.store.db, named)
    if found is None:
        raise NotFound("list", named)
    return [found]


# Reading


def ls(session: Session, statuses: list[str], filter_: ListFilter = EVERYTHING, *, ascii_only: bool) -> None:
    """Print the tasks in order: those of the session's list, or else of all lists."""
    for home in _lists_in_scope(session):
        shown = iter(_matching_tasks(session, home, statuses, filter_))
        while batch := list(islice(shown, _BATCH)):
            proofs = _proofs(session, home, [task for _, task in batch], ascii_only=ascii_only)
            for place, task in batch:
                proof = proofs.get(task.uid, "")
                print(_line(task, home, place, session.clock(), proof, ascii_only=ascii_only))


def ls_json(session: Session, statuses: list[str], filter_: ListFilter) -> None:
    """Print the tasks that match a filter as a JSON array, in the form of `listing`."""
    db = session.store.db
    print_json(
        [
            full_task(task, home.handle, checks.told_of(db, task, home))
            for home in _lists_in_scope(session)
            for _, task in _matching_tasks(session, home, statuses, filter_)
        ]
    )


def _matching_tasks(
    session: Session, home: TaskList, statuses: Sequence[str], filter_: ListFilter
) -> Iterator[tuple[int, Task]]:
    """Yield the matching tasks of a list, each with its number."""
    if not filter_.has(home):
        return
    uids = pages.wanted(session.store.db, home.id, filter_.only) if filter_.only else None
    for place, task in enumerate(queries.tasks(session.store.db, home.id), 1):
        if (not statuses or task.status in statuses) and (uids is None or task.uid in uids):
            yield place, task


def _proofs(session: Session, home: TaskList, tasks: Sequence[Task], *, ascii_only: bool) -> dict[str, str]:
    """Return the check result of each done task of one list, in a word or two, by uid."""
    db = session.store.db
    done = [(task.uid, task.checks) for task in tasks if task.status == "done"]
    found = checks.of_tasks(db, done, home, checks.definitions(db)) if done else {}
    return {uid: words for uid, each in found.items() if (words := _proof(each, ascii_only=ascii_only))}


def _proof(found: Sequence[Check], *, ascii_only: bool) -> str:
    state = verified(check.state for check in found)
    failed = [check.name for check in found if check.state == "failed"]
    return proof_words(state, failed, ascii_only=ascii_only) if state is not None else ""


def check_lines(found: Sequence[Check], *, ascii_only: bool) -> Iterator[str]:
    """Yield a line for each check of a task, and the output of failed ones."""
    for check in found:
        shown, run = PROOF_LOOKS[check.state], check.run
        has_failed = check.state == "failed" and run is not None
        ended = f", exit {run.exit_code}" if has_failed and run and run.exit_code is not None else ""
        gate = ", gate" if check.gate else ""
        yield f"{shown.mark(ascii_only=ascii_only)} {safe_line(check.name)}: {shown.word}{ended}{gate}"
        if has_failed and run and run.output:
            yield safe_text(run.output.rstrip())


def _line(task: Task, home: TaskList, place: int, now: int, proof: str, *, ascii_only: bool) -> str:
    waits = "held" if task.held else "blocked"
    style = look(waits if task.blocked and task.status == "pending" else task.status)
    who = safe_line(task.agent or task.updated_by, 16)
    when = ago(task.updated_at, now)
    text = "".join(f", {words}" for words in _field_texts(task, now, long=False)) if task.finished_at is None else ""
    text += f", {proof}" if proof else ""
    head = f"{task.uid[:SHORT]} {style.mark(ascii_only=ascii_only)} {place:>4}  {safe_line(task.name, 80)}"
    return f"{head}  [{safe_line(home.name, 24)}, {who}, {when}{text}]"


def _field_texts(task: Task, now: int, *, long: bool) -> Iterator[str]:
    """Yield a text for each field of `task_fields.FIELDS` that the task has; overdue ones begin with `!`."""
    local = task_fields.local_time(now)
    for name, value in task_fields.of(task).items():
        field = FIELDS[name]
        late = task.finished_at is None and field.is_late(value, local)
        yield "! " * late + (field.long if long else field.short)(value, local)


def show(session: Session, reference: str, *, as_json: bool, ascii_only: bool = False) -> None:
    """Print a task with its log."""
    db = session.store.db
    task = find_task(session, reference)
    home = queries.list_by_id(db, task.list_id)
    log = queries.logs(db, task.uid)
    found = checks.of_task(db, task, home, checks.definitions(db))
    value = full_task(task, home.handle, [check.told() for check in found])
    value["log"] = [{"at": iso(entry.at), "agent": entry.agent, "message": entry.message} for entry in log]
    if as_json:
        print_json(value)
        return
    print(f"{safe_line(task.name)}\n{task.uid}  {task.status}  in {safe_line(home.name)}")
    words = quick_add_syntax.fields(task.tags, task.priority, task.agent, ())
    if words:
        print(safe_line(words))
    for text in _field_texts(task, session.clock(), long=True):
        print(text)
    for uid in task.depends_on:
        print(f"after {uid[:SHORT]}")
    for text in check_lines(found, ascii_only=ascii_only):
        print(text)
    if task.description:
        print(f"\n{safe_text(task.description)}")
    for entry in log:
        print(f"\n{ago(entry.at, session.clock())}  {safe_line(entry.agent, 16)}  {safe_text(entry.message)}", end="")
    print()


def next_task(session: Session, *, as_json: bool) -> None:
    """Print the task to start next."""
    db = session.store.db
    named = session.identity.list
    home = queries.find_list(db, named) if named is not None else None
    task = None
    if named is None or home is not None:
        project = session.identity.project
        task = queries.ready(db, home.id if home else None, session.identity.agent, project=project)
    if task is None:
        _print_result("nothing is ready to be taken up", None, as_json=as_json)
        return
    home = queries.list_by_id(db, task.list_id)
    full = full_task(task, home.handle, checks.told_of(db, task, home))
    _print_result(f"{task.uid[:SHORT]}  {safe_line(task.name)}", full, as_json=as_json)


# Writing


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
    uids = {number: _uid_of_number(session, home, number) if home else None for number in draft.after}
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
    _print_result(f"logged to {task.uid[:SHORT]}  {safe_line(task.name)}", made, as_json=as_json)


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
    other = _uid_of_number(session, home, place)
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
    _print_result(f"taken back: {entry.kind.replace('.', ' ')}{name}", undone, as_json=as_json)


def redo(session: Session, *, as_json: bool) -> None:
    """Revert the actor's newest undo."""
    redone = request(session, "shell:redo")
    (entry,) = journal.since(session.store.db, redone["redone"] - 1, 1)
    name = safe_line(entry.image["name"]) if entry.image else entry.entity
    _print_result(f"done again: {name}", redone, as_json=as_json)
