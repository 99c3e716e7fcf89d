"""The short verbs that a person types in a shell: `add`, `ls`, `show`, `next`, `log`, `done` and the like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from tui_tasks.channel import single_request
from tui_tasks.channel.session import Session
from tui_tasks.cli.printing import print_json
from tui_tasks.cli.tasks.task_filter import EVERYTHING, Wanted
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
# As many digits may be the beginning of a uid; fewer are a number (docs: protocol, section 2).
_BEGINNING: Final = 6
# So many tasks are read before their checks are.
_PART: Final = 500


class Refused(Refusal):
    """A request of a verb's was refused; the message is the reply's."""


def request(session: Session, tool: str, **arguments: Any) -> Any:
    """Make a request in a session; return its result.

    Raises:
        Refused: it was refused.
    """
    reply = single_request.ask(session, {"tool": tool, "arguments": arguments})
    if not reply["ok"]:
        raise Refused(reply["error"]["message"])
    return reply["result"]


def _tell(text: str, held: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(held)
    else:
        print(text)


def _tell_task(word: str, task: dict[str, Any], *, as_json: bool) -> None:
    _tell(f"{word} {task['uid'][:SHORT]}  {safe_line(task['name'])}", task, as_json=as_json)


def tell_tasks(word: str, tasks: list[dict[str, Any]], *, as_json: bool) -> None:
    """Tell of each task; as JSON, several are an array."""
    if as_json and len(tasks) > 1:
        print_json(tasks)
        return
    for task in tasks:
        _tell_task(word, task, as_json=as_json)


# Which task is meant


def find_task(session: Session, reference: str) -> Task:
    """Return the task of a number (`1`, `#1`), a uid, or the beginning of one.

    Raises:
        NotFound: there is none.
        Conflict: several may be meant.
    """
    number = reference.removeprefix("#")
    is_number = number.isascii() and number.isdigit()
    if is_number and (reference != number or len(number) < _BEGINNING):
        return _numbered(session, int(number))
    found = queries.tasks_beginning(session.store.db, reference, 2)
    if not found:
        if is_number:
            return _numbered(session, int(number))
        raise NotFound("task", reference)
    if len(found) > 1:
        raise Conflict(f"several tasks begin with {reference}: write more of the uid")
    return found[0]


def _numbered(session: Session, number: int) -> Task:
    """Return the task that `ls` prints with a number."""
    db = session.store.db
    found = [(home, uid) for home in _lists(session) if (uid := _at(session, home, number)) is not None]
    if not found:
        raise NotFound("task", f"#{number}; `tui-tasks ls` prints their numbers")
    if len(found) > 1:
        each = "; ".join(f"{home.name}: {uid[:SHORT]} {queries.task(db, uid).name[:40]}" for home, uid in found[:5])
        raise Conflict(f"several lists have a #{number}: name one with --list, or write the uid ({each})")
    return queries.task(db, found[0][1])


def _at(session: Session, home: TaskList, number: int) -> str | None:
    """Return the uid of a list's task by number."""
    return pages.uid_of_number(session.store.db, home, number)


def _lists(session: Session) -> list[TaskList]:
    named = session.identity.list
    if named is None:
        return queries.lists(session.store.db, session.identity.project)
    found = queries.find_list(session.store.db, named)
    if found is None:
        raise NotFound("list", named)
    return [found]


# Reading


def ls(session: Session, statuses: list[str], wanted: Wanted = EVERYTHING, *, ascii_only: bool) -> None:
    """Print the tasks in order: of the list that is named, else of all lists."""
    for home in _lists(session):
        shown = iter(_of(session, home, statuses, wanted))
        while part := list(islice(shown, _PART)):
            proofs = _proofs(session, home, [task for _, task in part], ascii_only=ascii_only)
            for place, task in part:
                proof = proofs.get(task.uid, "")
                print(_line(task, home, place, session.clock(), proof, ascii_only=ascii_only))


def ls_json(session: Session, statuses: list[str], wanted: Wanted) -> None:
    """Print the tasks that match a filter as an array, as `listing` prints all of them."""
    db = session.store.db
    print_json(
        [
            full_task(task, home.handle, checks.told_of(db, task, home))
            for home in _lists(session)
            for _, task in _of(session, home, statuses, wanted)
        ]
    )


def _of(session: Session, home: TaskList, statuses: Sequence[str], wanted: Wanted) -> Iterator[tuple[int, Task]]:
    """Return the matching tasks of a list, each with its number."""
    if not wanted.has(home):
        return
    uids = pages.wanted(session.store.db, home.id, wanted.only) if wanted.only else None
    for place, task in enumerate(queries.tasks(session.store.db, home.id), 1):
        if (not statuses or task.status in statuses) and (uids is None or task.uid in uids):
            yield place, task


def _proofs(session: Session, home: TaskList, tasks: Sequence[Task], *, ascii_only: bool) -> dict[str, str]:
    """What is proven of the tasks of one list that were reported done, in a word or two by uid."""
    db = session.store.db
    done = [(task.uid, task.checks) for task in tasks if task.status == "done"]
    found = checks.of_tasks(db, done, home, checks.definitions(db)) if done else {}
    return {uid: words for uid, each in found.items() if (words := _proof(each, ascii_only=ascii_only))}


def _proof(found: Sequence[Check], *, ascii_only: bool) -> str:
    state = verified(check.state for check in found)
    failed = [check.name for check in found if check.state == "failed"]
    return proof_words(state, failed, ascii_only=ascii_only) if state is not None else ""


def check_lines(found: Sequence[Check], *, ascii_only: bool) -> Iterator[str]:
    """Return each check of a task in a line, with the output of failed ones."""
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
    seen = look(waits if task.blocked and task.status == "pending" else task.status)
    who = safe_line(task.agent or task.updated_by, 16)
    when = ago(task.updated_at, now)
    told = "".join(f", {words}" for words in _told(task, now, long=False)) if task.finished_at is None else ""
    told += f", {proof}" if proof else ""
    head = f"{task.uid[:SHORT]} {seen.mark(ascii_only=ascii_only)} {place:>4}  {safe_line(task.name, 80)}"
    return f"{head}  [{safe_line(home.name, 24)}, {who}, {when}{told}]"


def _told(task: Task, now: int, *, long: bool) -> Iterator[str]:
    """What there is to tell of `task_fields.FIELDS`; what is late has a mark before it."""
    local = task_fields.local_time(now)
    for name, value in task_fields.of(task).items():
        field = FIELDS[name]
        late = task.finished_at is None and field.is_late(value, local)
        yield "! " * late + (field.long if long else field.short)(value, local)


def show(session: Session, reference: str, *, as_json: bool, ascii_only: bool = False) -> None:
    """Print one task with its log."""
    db = session.store.db
    task = find_task(session, reference)
    home = queries.list_by_id(db, task.list_id)
    log = queries.logs(db, task.uid)
    found = checks.of_task(db, task, home, checks.definitions(db))
    held = full_task(task, home.handle, [check.told() for check in found])
    held["log"] = [{"at": iso(entry.at), "agent": entry.agent, "message": entry.message} for entry in log]
    if as_json:
        print_json(held)
        return
    print(f"{safe_line(task.name)}\n{task.uid}  {task.status}  in {safe_line(home.name)}")
    words = quick_add_syntax.fields(task.tags, task.priority, task.agent, ())
    if words:
        print(safe_line(words))
    for told in _told(task, session.clock(), long=True):
        print(told)
    for uid in task.depends_on:
        print(f"after {uid[:SHORT]}")
    for told in check_lines(found, ascii_only=ascii_only):
        print(told)
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
    task = None
    if named is None or home is not None:
        project = session.identity.project
        task = queries.ready(db, home.id if home else None, session.identity.agent, project=project)
    if task is None:
        _tell("nothing is ready to be taken up", None, as_json=as_json)
        return
    home = queries.list_by_id(db, task.list_id)
    full = full_task(task, home.handle, checks.told_of(db, task, home))
    _tell(f"{task.uid[:SHORT]}  {safe_line(task.name)}", full, as_json=as_json)


# Changing


def add(session: Session, words: str, description: str, *, as_json: bool) -> None:
    """Add a task to the tasklist, or to the list that is named; its words are read as quick add reads them."""
    draft = _draft(session, words)
    if not draft.name:
        raise InvalidArgument("name", "a task needs a title")
    identity = session.identity
    home = queries.find_list(session.store.db, identity.list or own_list("tasklist", identity.project))
    fields = _fields(session, draft, home)
    made = request(session, "shell:add", name=draft.name, description=description, **fields)
    _tell_task("added", made, as_json=as_json)


class Edit(NamedTuple):
    """What an edit changes beside the words that `add` takes as well."""

    description: str | None = None
    untag: tuple[str, ...] = ()
    not_after: tuple[str, ...] = ()
    clear: tuple[str, ...] = ()


def edit(session: Session, reference: str, words: str, more: Edit, *, as_json: bool) -> None:
    """Change what the words name; a title among them replaces the title."""
    draft = _draft(session, words)
    if draft == quick_add_syntax.Draft() and more == Edit():
        raise InvalidArgument("words", f"say what to change: a title, {quick_add_syntax.SIGNS_HELP} or an option")
    task = find_task(session, reference)
    arguments = _fields(session, draft, queries.list_by_id(session.store.db, task.list_id))
    arguments["not_after"] = [find_task(session, each).uid for each in more.not_after]
    arguments |= {"untag": list(more.untag), "clear": list(more.clear)}
    arguments |= {"name": draft.name or None, "description": more.description}
    _tell_task("changed", request(session, "shell:edit", uid=task.uid, **arguments), as_json=as_json)


def _draft(session: Session, words: str) -> quick_add_syntax.Draft:
    draft = quick_add_syntax.parse(words, task_fields.local_time(session.clock()))
    if draft.problem:
        raise InvalidArgument("name", f"{draft.problem} (a backslash before a sign makes it plain text)")
    return draft


def _fields(session: Session, draft: quick_add_syntax.Draft, home: TaskList | None) -> dict[str, Any]:
    """What a draft says beside the title, as arguments; numbers are those of the task's list."""
    uids = {number: _at(session, home, number) if home else None for number in draft.after}
    missing = [number for number, uid in uids.items() if uid is None]
    if missing:
        raise NotFound("task", f"#{missing[0]} in {home.name if home else 'this list'}")
    fields = {"tags": list(draft.tags), "agent": draft.agent, "priority": draft.priority, "fields": draft.fields}
    return {name: value for name, value in fields.items() if value} | {"depends_on": list(uids.values())}


_TOLD: Final = {"in_progress": "started"}


def set_status(session: Session, references: Sequence[str], status: str, reason: str, *, as_json: bool) -> None:
    """Set the status of tasks, and log the reason, as one change."""
    uids = _uids(session, references)
    made = request(session, "shell:status", uids=uids, status=status, reason=reason)
    tell_tasks(_TOLD.get(status, status), made, as_json=as_json)


def _uids(session: Session, references: Sequence[str]) -> list[str]:
    """Return the uids of the tasks that the words name, each once."""
    return list(dict.fromkeys(find_task(session, reference).uid for reference in references))


def log(session: Session, reference: str, message: str, *, as_json: bool) -> None:
    """Add a log entry to a task."""
    task = find_task(session, reference)
    made = request(session, "tasklist:log_task_progress", uid=task.uid, message=message)
    _tell(f"logged to {task.uid[:SHORT]}  {safe_line(task.name)}", made, as_json=as_json)


def move(session: Session, reference: str, place: int | None, beside: dict[str, str], *, as_json: bool) -> None:
    """Move a task to a place in its list, `before` or `after` another task, or to the end of a `list`."""
    task = find_task(session, reference)
    where = {name: value if name == "list" else find_task(session, value).uid for name, value in beside.items()}
    if place is not None:
        where = _to_place(session, task, place)
    _tell_task("moved", request(session, "shell:move", uid=task.uid, **where), as_json=as_json)


def _to_place(session: Session, task: Task, place: int) -> dict[str, str]:
    """Beside which task one stands that is to have a number in its list."""
    home = queries.list_by_id(session.store.db, task.list_id)
    other = _at(session, home, place)
    if other is None:
        raise NotFound("task", f"#{place} in {home.name}")
    below = queries.task(session.store.db, other).rank > task.rank
    return {"after" if below else "before": other}


def link(session: Session, reference: str, words: list[str], *, remove: bool, as_json: bool) -> None:
    """Link a task to what each word names, or take those links away."""
    task = find_task(session, reference)
    try:
        links = work_links.joined(map(work_links.read, words))
    except ValueError as error:
        raise InvalidArgument("links", str(error)) from None
    made = request(session, "shell:link", uid=task.uid, links=links, remove=remove)
    _tell_task("unlinked" if remove else "linked", made, as_json=as_json)


def delete(session: Session, references: Sequence[str], *, as_json: bool) -> None:
    """Delete tasks as one change, which `undo` takes back."""
    deleted = request(session, "shell:delete", uids=_uids(session, references))
    tell_tasks("deleted", deleted, as_json=as_json)


def undo(session: Session, *, as_json: bool) -> None:
    """Take back the speaker's newest change that stands."""
    undone = request(session, "control:undo")
    (entry,) = journal.since(session.store.db, undone["undone"] - 1, 1)
    name = f"  {safe_line(entry.image['name'])}" if entry.image else ""
    _tell(f"taken back: {entry.kind.replace('.', ' ')}{name}", undone, as_json=as_json)


def redo(session: Session, *, as_json: bool) -> None:
    """Take back the speaker's newest undo."""
    redone = request(session, "shell:redo")
    (entry,) = journal.since(session.store.db, redone["redone"] - 1, 1)
    name = safe_line(entry.image["name"]) if entry.image else entry.entity
    _tell(f"done again: {name}", redone, as_json=as_json)
