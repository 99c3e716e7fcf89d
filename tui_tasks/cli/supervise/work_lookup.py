"""What the actions of `work` share: the work that is meant, its options, and how it is printed."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from tui_tasks import clock
from tui_tasks.channel.session import Session
from tui_tasks.cli.options import TASK_REFERENCE
from tui_tasks.cli.streams import print_json
from tui_tasks.cli.tasks.lookup import find_task
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task, Work
from tui_tasks.core.store import Store
from tui_tasks.text.safe import safe_line

if TYPE_CHECKING:
    from tui_tasks.work.accepting import Acceptance


def declare_task(command: argparse.ArgumentParser) -> None:
    """Declare the task."""
    command.add_argument("task", metavar="TASK", help=TASK_REFERENCE)


def declare_one(command: argparse.ArgumentParser) -> None:
    """Declare the task, and whose work on it is meant."""
    declare_task(command)
    command.add_argument("--by", metavar="AGENT", default="", help="the work of this agent, if there are several")


def declare_base(command: argparse.ArgumentParser) -> None:
    """Declare the same, and the branch to compare with."""
    declare_one(command)
    command.add_argument("--base", default="", help="compare with this branch")


def work_of(session: Session, reference: str, agent: str = "") -> tuple[Task, Work]:
    """Return a task and the newest work on it, or that of an agent.

    Raises:
        NotFound: there is no such task, or no agent was started on it.
    """
    task = find_task(session, reference)
    works = work_queries.of_task(session.store.db, task.uid)
    if not works:
        raise NotFound("work", f"on #{task.number}; `tui-tasks work start {task.number}` starts an agent on it")
    if agent and not (of_agent := [work for work in works if work.agent == agent]):
        raise NotFound("work", f"of {agent} on #{task.number}; use one of {', '.join(one.agent for one in works)}")
    return task, of_agent[-1] if agent else works[-1]


def work_json(store: Store, work: Work) -> dict[str, Any]:
    """Return a work as JSON, with its task."""
    task = task_queries.any_task(store.db, work.task_uid)
    named = {"task": work.task_uid, "number": task.number if task is not None else None}
    return {**named, **work.to_json(work_queries.counts_json(store.db, work.uid))}


def refresh(store: Store) -> None:
    """Count what git has, and end what has ended."""
    if store.read_only:
        return
    from tui_tasks.hooks import departures
    from tui_tasks.work import progress, recovery

    departures.end_departed(store, clock.now())
    recovery.recover(store, clock.now())
    progress.look(store, clock.now())


def acceptance_of(options: argparse.Namespace, store: Store) -> Acceptance:
    """Return what decides on works; its long steps are shown on standard error."""
    from tui_tasks.work.accepting import Acceptance

    return Acceptance(store, clock.now, show=lambda line: print(safe_line(line), file=sys.stderr))


def print_changed(options: argparse.Namespace, store: Store, work: Work, message: str) -> None:
    """Print a work that has changed as JSON, else the message."""
    if options.json:
        print_json(work_json(store, work_queries.find(store.db, work.uid)))
    else:
        print(message)
