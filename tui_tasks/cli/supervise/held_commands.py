"""`accept`, `decline`, `join` and `release`: what a person decides about tasks that agents filed or took."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from tui_tasks.cli import person_rights
from tui_tasks.cli.options import TASK_REFERENCE, open_store, require_database, session_of
from tui_tasks.cli.person_rights import task_lines
from tui_tasks.cli.streams import print_json
from tui_tasks.cli.tasks.lookup import find_task, titled
from tui_tasks.core import agent_names
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import AcceptTask, DeclineTask, EditTask, JoinTask
from tui_tasks.core.read import check_queries, work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task, full_task
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SHELL
from tui_tasks.dialects.command_tools import SHELL as TOOLS

_DONE: Final = {"accept": "accepted", "decline": "declined", "join": "joined", "release": "released"}


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what a command takes."""
    command.set_defaults(speaks_as=SHELL)
    command.add_argument("task", metavar="TASK", help=TASK_REFERENCE)
    if name == "accept":
        command.add_argument(
            "--version", metavar="V", type=int, help="accept this version (`tui-tasks show` has it), without asking"
        )
    if name == "decline":
        command.add_argument("reason", metavar="REASON", nargs="*", default=[], help="why not; its agents read it")
    if name == "join":
        command.add_argument("into", metavar="OTHER", help="the other task, whose log gets its text")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.epilog = "Needs a person at a terminal."


def run(name: str, options: argparse.Namespace) -> int:
    """Decide, and print the task (for `join` the one that remains). Exit status 0."""
    require_database(options)
    with open_store(options) as store:
        session = session_of(options, store, TOOLS)
        task = find_task(session, options.task)
        other = find_task(session, options.into) if name == "join" else None
        if name != "release" and not task.held:
            raise Conflict(f"#{task.number} is not held: there is nothing to {name}")
        head = f"#{task.number}, version {task.version}, of {agent_names.display_name(task.created_by)}:"
        what = [head, *task_lines(store.db, task)]
        if name == "accept":
            _agree(options, store, task, what)
        (changed,) = person_rights.commit(options, store, _operation(name, task, other, options), what=what)
        home = task_queries.list_by_id(store.db, changed.list_id)
        checks = check_queries.json_of_task(store.db, changed, home)
        task_json = full_task(changed, home.handle, checks, work_queries.json_of_task(store.db, changed.uid))
    if options.json:
        print_json(task_json)
    else:
        print(f"{_DONE[name] if changed != task else 'unchanged'} {titled(task.number, task.name)}")
    return 0


def _agree(options: argparse.Namespace, store: Store, task: Task, what: Sequence[str]) -> None:
    """Make sure that the person accepts the version that was read here: they name it, or see it and say so.

    Raises:
        Conflict: it is another version, or nobody can be asked.
        Forbidden: the answer is no.
    """
    if options.version is None:
        shows = f"`tui-tasks show {task.number}` shows it, then add --version {task.version}"
        person_rights.agree(options, store, what, "Accept exactly this?", shows)
    elif options.version != task.version:
        raise Conflict(f"#{task.number} is at version {task.version}, not {options.version}: look at it again")


def _operation(name: str, task: Task, other: Task | None, options: argparse.Namespace) -> Operation:
    if other is not None:
        return JoinTask(task.uid, other.uid, task.version)
    if name == "accept":
        return AcceptTask(task.uid, task.version)
    if name == "decline":
        return DeclineTask(task.uid, " ".join(options.reason).strip())
    return EditTask(task.uid, {"status": "pending", "agent": None})
