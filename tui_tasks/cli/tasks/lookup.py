"""Finding the tasks, lists and projects that a command names; a typo makes no list and no project (docs: scripts)."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from tui_tasks.channel.session import Session
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import number_of
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.text.safe import safe_line, title_text

if TYPE_CHECKING:
    import argparse


_MAX_SAID: Final = 60
"""How much of a word is repeated in an error."""


def find_task(session: Session, reference: str) -> Task:
    """Return the task with a number (`1`, `#1`), a uid, or the beginning of one.

    Raises:
        NotFound: there is none.
        Conflict: several tasks match.
    """
    db = session.store.db
    if (number := number_of(reference)) is not None:
        task = task_queries.task_of_number(db, number)
        if task is None or task_queries.status(db, task.uid) is None:
            was = "it was deleted" if task is not None else "`tui-tasks ls` prints the numbers"
            raise NotFound("task", f"#{number}", f": {was}")
        return task
    tasks = task_queries.tasks_beginning(db, reference.lower(), 2)
    if not tasks:
        import re  # few references find nothing
        import shlex

        several = re.fullmatch(r"#?\d+(?:[,-]#?\d+)+", reference)
        said = safe_line(reference, _MAX_SAID)
        how = "name each task: 1 2 3" if several else f"`tui-tasks ls {shlex.quote(said)}` finds titles with it"
        raise NotFound("task", said, f": {how}")
    if len(tasks) > 1:
        raise Conflict(f"several tasks begin with {reference}: write more of the uid")
    return tasks[0]


_LISTED: Final = ": `tui-tasks lists` lists them"


def find_list(db: Database, name: str) -> TaskList:
    """Return the list of a name, the plan of an id, or else the only plan of a title or list of `PROJECT/NAME`.

    Raises:
        NotFound: there is none.
        Conflict: several plans have the title.
    """
    home = _list_or_none(db, name)
    if home is None:
        raise NotFound("list", name, _LISTED)
    return home


def _list_or_none(db: Database, name: str) -> TaskList | None:
    """Return what `find_list` returns, or None if there is none.

    Raises:
        Conflict: several plans have the title.
    """
    home = task_queries.find_list(db, name)
    if home is not None:
        return home
    lists = list(task_queries.each_list(db))
    plans = [home for home in lists if home.kind == "plan" and home.name == name]
    # As the log writes the list of a project.
    plans = plans or [home for home in lists if home.project and f"{home.project}/{home.name}" == name]
    if len(plans) > 1:
        ids = " or ".join(f"{home.uid if home.kind == 'plan' else home.name} ({_facts(home)})" for home in plans)
        what = "plans have the title" if all(home.kind == "plan" for home in plans) else "lists have the name"
        raise Conflict(f"{len(plans)} {what} {name}: name one by its id, {ids}")
    return plans[0] if plans else None


def _facts(plan: TaskList) -> str:
    from tui_tasks.text.times import count  # only where two plans have one title

    facts = [count(plan.total, "task")]
    facts += [f"of project {plan.project}"] if plan.project is not None else []
    facts += [f"made by {plan.agent}"] if plan.agent is not None else []
    return safe_line(", ".join(facts))


def titled(number: int, name: str) -> str:
    """Return a task as commands print it: `#12  Rotate keys`."""
    return f"#{number}  {title_text(name)}"


def lists_in_scope(session: Session) -> list[TaskList]:
    """Return the list that is named, else those of the project; outside any, those of no project.

    Raises:
        NotFound: there is no list of that name.
    """
    named = session.identity.list
    if named is None:
        return task_queries.lists(session.store.db, session.identity.scope)
    return [find_list(session.store.db, named)]


def resolve_new_list(options: argparse.Namespace, db: Database) -> None:
    """Set the named list to its handle; refuse to add to a list or a project that is not there.

    `--new` makes it; at a terminal the person is asked.

    Raises:
        NotFound: it is not there, and is not to be made.
    """
    missing = _resolve(db, options, "list") or _missing_project(db, options.project)
    if missing is not None and not options.new:
        _offer(*missing)


def resolve_target(options: argparse.Namespace, db: Database) -> None:
    """Set the list to move a task to to its handle, as `resolve_new_list` does; refuse a project that is not there.

    Raises:
        NotFound: it is not there, and is not to be made.
    """
    check_project(options, db)
    missing = _resolve(db, options, "target")
    if missing is not None and not options.new:
        _offer(*missing)


def _offer(kind: str, name: str, near: str) -> None:
    """Ask the person at the terminal whether to make what is missing.

    Raises:
        NotFound: it is not to be made, or there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise NotFound(kind, name, f"{near}; --new makes it")
    text = safe_line(f"There is no {kind} {name}{near}. Make it?")
    print(text, "[y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotFound(kind, name)


def check_project(options: argparse.Namespace, db: Database) -> None:
    """Refuse to read the tasks of a project that is named on the command line and has no lists.

    Raises:
        NotFound: it is not there.
    """
    missing = _missing_project(db, options.project)
    if missing is not None:
        raise NotFound(*missing)


def resolve_list(options: argparse.Namespace, db: Database) -> None:
    """Set the named list to its handle; refuse a project, as `check_project` does, or a list that is not there.

    Raises:
        NotFound: it is not there.
    """
    check_project(options, db)
    missing = _resolve(db, options, "list")
    if missing is not None:
        kind, wrong, near = missing
        raise NotFound(kind, wrong, near or _LISTED)


def _resolve(db: Database, options: argparse.Namespace, option: str) -> tuple[str, str, str] | None:
    """Set an option that names a list to the list's handle; return what is missing if there is no list of the name.

    Raises:
        Conflict: several plans have the title.
    """
    name = getattr(options, option)
    if name is None:
        return None
    home = _list_or_none(db, name)
    if home is not None:
        setattr(options, option, home.handle)
        return None
    return _missing("list", name, (home.name for home in task_queries.each_list(db)))


def _missing_project(db: Database, name: str | None) -> tuple[str, str, str] | None:
    if not name or next(iter(task_queries.lists(db, name)), None) is not None:
        return None
    return _missing("project", name, {home.project for home in task_queries.each_list(db) if home.project})


def _missing(kind: str, name: str, known: Iterable[str]) -> tuple[str, str, str]:
    """Return the kind and the name of what is not there, and what to say of one with a similar name."""
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    return kind, name, f" (did you mean {near[0]}?)" if near else ""
