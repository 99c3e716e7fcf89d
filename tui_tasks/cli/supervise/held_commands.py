"""`accept`, `decline`, `join`, `release`: a person decides about tasks that agents filed or took."""

from __future__ import annotations

import argparse
from typing import Final

from tui_tasks.cli import person
from tui_tasks.cli.options import open_store, require_database, session_of
from tui_tasks.cli.printing import print_json
from tui_tasks.cli.tasks.task_lookup import find_task
from tui_tasks.core.operations.operation import Operation
from tui_tasks.core.operations.tasks import AcceptTask, DeclineTask, EditTask, JoinTask
from tui_tasks.core.read import checks
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Task, full_task
from tui_tasks.core.vocab import SHELL
from tui_tasks.dialects.shell import SHELL as TOOLS
from tui_tasks.text.safe import safe_line

_DONE: Final = {"accept": "accepted", "decline": "declined", "join": "joined", "release": "released"}


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    command.add_argument("task", metavar="TASK", help="its number in its list, its uid, or the beginning of that")
    if name == "decline":
        command.add_argument("reason", metavar="REASON", nargs="*", help="why not; its agents read it")
    if name == "join":
        command.add_argument("into", metavar="OTHER", help="the task that says the same, which takes its words")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.epilog = "For a person, at a terminal."


def run(name: str, options: argparse.Namespace) -> int:
    """Decide, and print the task (for `join` the one that remains). Exit status 0."""
    require_database(options)
    with open_store(options) as store:
        person.require_person(options, store)
        session = session_of(options, store, TOOLS)
        task = find_task(session, options.task)
        other = find_task(session, options.into) if name == "join" else None
        (changed,) = person.commit(options, store, _operation(name, task, other, options))
        home = queries.list_by_id(store.db, changed.list_id)
        told = full_task(changed, home.handle, checks.json_of_task(store.db, changed, home))
    if options.json:
        print_json(told)
    else:
        print(f"{_DONE[name]} {task.uid[:8]}  {safe_line(task.name)}")
    return 0


def _operation(name: str, task: Task, other: Task | None, options: argparse.Namespace) -> Operation:
    if other is not None:
        return JoinTask(task.uid, other.uid)
    if name == "accept":
        return AcceptTask(task.uid, version=task.version)
    if name == "decline":
        return DeclineTask(task.uid, " ".join(options.reason).strip())
    return EditTask(task.uid, {"status": "pending", "agent": None})
