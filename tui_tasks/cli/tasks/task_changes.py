"""The commands that change tasks in a shell: `add`, `edit`, `log`, `done`, `mv` and the like."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tui_tasks.channel.session import Session
from tui_tasks.channel.waits import ask
from tui_tasks.cli.streams import print_json, print_result
from tui_tasks.cli.tasks.lookup import find_task, titled
from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import InvalidArgument, NotFound, Refusal
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema import task_fields, task_links
from tui_tasks.core.snapshots import Task
from tui_tasks.dialects.requests import quick_add_syntax
from tui_tasks.text.safe import name_text, safe_line


class Refused(Refusal):
    """The request of a command was refused; the message is that of the reply."""


def request(session: Session, tool: str, **arguments: Any) -> Any:
    """Make a request in a session; return its result.

    Raises:
        Refused: the reply is an error.
    """
    reply = ask(session, {"tool": tool, "arguments": arguments})
    if not reply["ok"]:
        if session.identity.read_only:
            raise Refused("--read-only: nothing was changed")
        raise Refused(reply["error"]["message"] + _next_step(session, reply["error"].get("data") or {}))
    return reply["result"]


def _next_step(session: Session, data: dict[str, Any]) -> str:
    """Return what to do about a task that another agent has claimed."""
    task = task_queries.any_task(session.store.db, data.get("id", "")) if "claimed_by" in data else None
    return f": `tui-tasks release {task.number}` takes it back" if task is not None else ""


def _print_task(session: Session, word: str, task: dict[str, Any], *, as_json: bool) -> None:
    print_result(f"{word} {_titled(task)}{_elsewhere(session, task['list'])}", task, as_json=as_json)


def _titled(task: dict[str, Any]) -> str:
    return titled(task["number"], task["name"])


def print_tasks(session: Session, word: str, tasks: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print a line for each task, or JSON: an array if there are several."""
    if as_json and len(tasks) > 1:
        print_json(tasks)
        return
    for task in tasks:
        _print_task(session, word, task, as_json=as_json)


def add(session: Session, words: str, description: str, *, as_json: bool) -> None:
    """Add a task to the session's list, by default `tasklist`. The words are in quick-add syntax.

    Raises:
        InvalidArgument: the words have no title, or one of them is wrong.
    """
    draft = _parsed_words(session, words)
    if not draft.name:
        raise InvalidArgument("name", "a task needs a title")
    fields = _field_arguments(session, draft)
    made = request(session, "shell:add", name=draft.name, description=description, **fields)
    held = ", held until you accept it in the inbox" if made["held"] else ""
    print_result(f"added {_titled(made)}{_elsewhere(session, made['list'])}{held}", made, as_json=as_json)


def _elsewhere(session: Session, handle: str) -> str:
    """Name a list that `ls` does not show in this folder, as it is not of the folder's project."""
    home = task_queries.find_list(session.store.db, handle)
    if home is None or home.project == session.identity.project:
        return ""
    whose = "no project" if home.project is None else f"project {home.project}"
    return f"  in {name_text(home.name, 60)} (of {safe_line(whose)})"


class Edit(msgspec.Struct, frozen=True):
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
    words, untag = quick_add_syntax.split_removed(words)
    words, clear = quick_add_syntax.split_cleared(words)
    draft = _parsed_words(session, words)
    if draft == quick_add_syntax.Draft() and more == Edit() and not (untag or clear):
        raise InvalidArgument("words", f"say what to change: a title, {quick_add_syntax.SIGNS_HELP} or an option")
    task = find_task(session, reference)
    arguments = _field_arguments(session, draft)
    arguments["not_after"] = [find_task(session, each).uid for each in more.not_after]
    arguments |= {"untag": [*more.untag, *untag], "clear": [*more.clear, *clear]}
    arguments |= {"name": draft.name or None, "description": more.description}
    changed = request(session, "shell:edit", uid=task.uid, **arguments)
    _print_task(session, _word("changed", task, changed), changed, as_json=as_json)
    if missing := [tag for tag in arguments["untag"] if tag not in task.tags]:
        print(f"#{task.number} has no tag {safe_line(', '.join(missing), 60)}", file=sys.stderr)


def _word(word: str, before: Task, after: dict[str, Any]) -> str:
    """Return what a request has done to a task, as it may have been so before."""
    return word if after["version"] != before.version else "unchanged"


def _parsed_words(session: Session, words: str) -> quick_add_syntax.Draft:
    draft = quick_add_syntax.parse(words, task_fields.local_time(session.clock()))
    if draft.problem:
        raise InvalidArgument("name", f"{draft.problem} (a backslash before a sign makes it plain text)")
    if hint := quick_add_syntax.title_hint(draft.name, "--list NAME chooses a list"):
        print(safe_line(hint, 200), file=sys.stderr)
    return draft


def _field_arguments(session: Session, draft: quick_add_syntax.Draft) -> dict[str, Any]:
    """Return what a draft says beside the title, as arguments of a tool."""
    uids = [find_task(session, f"#{number}").uid for number in draft.after]
    fields = {"tags": list(draft.tags), "agent": draft.agent, "priority": draft.priority, "fields": draft.fields}
    return {name: value for name, value in fields.items() if value} | {"depends_on": uids}


_VERB_OF_STATUS: Final = {"in_progress": "started"}


def set_status(session: Session, references: Sequence[str], status: str, reason: str, *, as_json: bool) -> None:
    """Set the status of tasks and log the reason, as one change."""
    try:
        before = {uid: _task(session, uid) for uid in _uids(session, references)}
    except NotFound as missing:
        if len(references) == 1 or missing.data["id"].startswith("#"):
            raise
        import shlex  # for few commands

        hint = f": `tui-tasks status {shlex.quote(references[0])} {status} REASON` logs a reason"
        raise NotFound("task", missing.data["id"], hint) from None
    blocked = [] if as_json or status != "done" else [task for task in before.values() if task.blocked]
    waited_for = [(task, _after_text(session, task)) for task in blocked]
    made = request(session, "shell:status", uids=list(before), status=status, reason=reason)
    same = [] if as_json else [task for task in made if task["version"] == before[task["uid"]].version]
    for task in same:
        is_so = f"#{task['number']} is {status.replace('_', ' ')} already"
        print(f"{is_so}: {safe_line(task['name'])}{_elsewhere(session, task['list'])}")
    changed = [task for task in made if task not in same]
    print_tasks(session, _VERB_OF_STATUS.get(status, status), changed, as_json=as_json)
    for task, after in waited_for:
        print(f"#{task.number} was still waiting: {after}", file=sys.stderr)


def _after_text(session: Session, task: Task) -> str:
    from tui_tasks.core.read.tasks import ready_tasks  # only a task that was blocked needs it

    return ready_tasks.after_text(session.store.db, task)


def _task(session: Session, uid: str) -> Task:
    return task_queries.task(session.store.db, uid)


def _uids(session: Session, references: Sequence[str]) -> list[str]:
    """Return the uids of the referenced tasks, each once."""
    return list(dict.fromkeys(find_task(session, reference).uid for reference in references))


def log(session: Session, reference: str, message: str, *, as_json: bool) -> None:
    """Add a log entry to a task."""
    if not message.strip():
        raise InvalidArgument("message", "an entry of a log needs a text")
    task = find_task(session, reference)
    made = request(session, "tasklist:log_task_progress", uid=task.uid, message=message)
    where = _elsewhere(session, task_queries.list_by_id(session.store.db, task.list_id).handle)
    print_result(f"logged to {titled(task.number, task.name)}{where}", made, as_json=as_json)


def move(session: Session, reference: str, where: dict[str, str | bool], *, as_json: bool) -> None:
    """Move a task: `before` or `after` another, to the `first` or `last` place of its list, or to another `list`."""
    task = find_task(session, reference)
    for name in where.keys() & {"before", "after"}:
        where[name] = find_task(session, str(where[name])).uid
    moved = request(session, "shell:move", uid=task.uid, **where)
    _print_task(session, _word("moved", task, moved), moved, as_json=as_json)


def link(session: Session, reference: str, words: list[str], *, remove: bool, as_json: bool) -> None:
    """Link a task to what each word names, or remove those links.

    Raises:
        InvalidArgument: a word is no link.
    """
    task = find_task(session, reference)
    try:
        links = task_links.joined(map(task_links.read, words))
    except ValueError as error:
        raise InvalidArgument("links", str(error)) from None
    made = request(session, "shell:link", uid=task.uid, links=links, remove=remove)
    _print_task(session, _word("unlinked" if remove else "linked", task, made), made, as_json=as_json)


def delete(session: Session, references: Sequence[str], *, as_json: bool) -> None:
    """Delete tasks as one change, which `undo` reverts."""
    deleted = request(session, "shell:delete", uids=_uids(session, references))
    print_tasks(session, "deleted", deleted, as_json=as_json)


def undo(session: Session, passed_over: Sequence[int] = (), *, as_json: bool, asks: bool = False) -> None:
    """Revert the actor's newest change that is not reverted yet, except those passed over.

    `asks`: a person at a terminal is asked before an old change is reverted, or one that deletes things.
    """
    from tui_tasks.core.read.pages import change_summaries  # it brings the scheduler's modules
    from tui_tasks.text.times import MINUTE, ago  # only `undo` needs it

    if asks and not _ask_to_undo(session, passed_over):
        print("nothing was undone", file=sys.stderr)
        return
    undone = request(session, "shell:undo", passed_over=list(passed_over))
    db, now = session.store.db, session.clock()
    first = journal.entry(db, journal.entry(db, undone["undone"]).change)
    when = f" ({ago(first.at, now)})" if now - first.at >= MINUTE else ""
    task = task_queries.any_task(db, first.task) if first.task is not None else None
    where = _elsewhere(session, task_queries.list_by_id(db, task.list_id).handle) if task is not None else ""
    said = f"undone: {change_summaries.description(db, first.change, undone=True)}{when}{where}"
    print_result(said, undone, as_json=as_json)
    if not as_json:
        import shlex  # for few commands

        whose = "" if session.identity.agent == vocab.SHELL else f" --agent {shlex.quote(session.identity.agent)}"
        if sys.stderr.isatty():
            made_by = safe_line(f"made by {session.identity.agent}; `tui-tasks redo{whose}` does it again")
            print(made_by, file=sys.stderr)
        if passed_over_text := _newer_of_human(session, first.change):
            print(f"passed over, as a person decided it: {passed_over_text}", file=sys.stderr)


def _newer_of_human(session: Session, since: int) -> str:
    """Return the newest change of the human and what undoes it, if it is newer: the shell's `undo` never reverts it."""
    from tui_tasks.core.operations import Undo
    from tui_tasks.core.read.pages import change_summaries  # as in `undo`
    from tui_tasks.core.rules.undo import next_to_undo

    db, identity = session.store.db, session.identity
    newer = next_to_undo(db, vocab.HUMAN, Undo(project=identity.project)) if identity.agent == vocab.SHELL else None
    if newer is None or newer <= since:
        return ""
    name = change_summaries.description(db, newer, undone=False)
    is_work = any(part.kind.startswith("work.") for part in journal.each_of_change(db, newer))
    return f"{name} ({'`tui-tasks work` shows it' if is_work else 'u on the screen undoes it'})"


def _ask_to_undo(session: Session, passed_over: Sequence[int]) -> bool:
    """Ask a person at a terminal about an old or deleting change; return whether to undo it."""
    from tui_tasks.core.operations import Undo
    from tui_tasks.core.read.pages import change_summaries  # as in `undo`
    from tui_tasks.core.rules.undo import is_going_back, next_to_undo

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    db, identity = session.store.db, session.identity
    change = next_to_undo(db, identity.agent, Undo(passed_over=tuple(passed_over), project=identity.project))
    if change is None:
        return True
    now = session.clock()
    newer = _newer_of_human(session, change)
    question = change_summaries.undo_question(
        db, change, now, goes_on=not newer and is_going_back(db, identity.agent, now), is_elsewhere=bool(newer)
    )
    if not question:
        return True
    if newer:
        print(f"This undoes changes that a shell has made. Your newer one stays: {newer}.", file=sys.stderr)
    print(question, "[y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def redo(session: Session, *, as_json: bool) -> None:
    """Revert the actor's newest undo."""
    redone = request(session, "shell:redo")
    db = session.store.db
    undo = journal.entry(db, redone["redone"])
    change = undo.change if undo.undoes is None else undo.undoes
    from tui_tasks.core.read.pages import change_summaries  # as in `undo`

    print_result(f"redone: {change_summaries.description(db, change, undone=False)}", redone, as_json=as_json)
