"""`work start`: starts an agent on each task."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks import clock
from tui_tasks.cli import person
from tui_tasks.cli.decided import quoted, task_lines
from tui_tasks.cli.options import TASK_REFERENCE, open_store, session_of
from tui_tasks.cli.streams import print_json
from tui_tasks.cli.supervise.command_actions import CommandAction
from tui_tasks.cli.supervise.work_lookup import (
    work_json,
)
from tui_tasks.cli.tasks.lookup import find_task, titled
from tui_tasks.core.errors import Conflict
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.agents.request_text import decided_line
from tui_tasks.dialects.shell import SHELL as TOOLS
from tui_tasks.text.safe import safe_line

if TYPE_CHECKING:
    pass


def _declare_start(command: argparse.ArgumentParser) -> None:
    command.add_argument("tasks", metavar="TASK", nargs="+", help=TASK_REFERENCE)
    command.add_argument("--program", default="", help="claude, codex, gemini, opencode, or one of the settings")
    command.add_argument("--here", action="store_true", help="in this checkout, without a worktree of its own")
    command.add_argument("--base", default="", help="the branch to begin on and to merge into")
    command.add_argument("--branch", default="", help="the name of the new branch")
    command.add_argument("--words", default="", help="extra words for the agent")
    command.add_argument(
        "--limit",
        metavar="NAME=VALUE",
        action="append",
        type=_limit,
        default=[],
        help="tokens, cost_usd, minutes, turns or context, in place of the settings' limit",
    )
    command.add_argument(
        "--race", action="store_true", help="a second agent on the same task, in a worktree of its own"
    )
    command.add_argument(
        "--beside", action="store_true", help="a second agent in the worktree of the task's newest work"
    )
    command.add_argument("--share", action="store_true", help="a second agent in the same folder")


def _limit(text: str) -> tuple[str, float]:
    """Return the name and the value of a limit.

    Raises:
        ArgumentTypeError: it is none.
    """
    from tui_tasks.settings.work_settings import LimitSettings

    name, _, value = text.partition("=")
    try:
        checked = msgspec.convert({name: float(value)}, LimitSettings, strict=False)
    except (ValueError, msgspec.ValidationError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no limit, as `minutes=30` is: {error}") from None
    return name, getattr(checked, name)


def _start(options: argparse.Namespace) -> None:
    from tui_tasks.work.starting import Request, Starter

    with open_store(options, on_server=False) as store:
        session = session_of(options, store, TOOLS)
        tasks = [find_task(session, reference) for reference in options.tasks]
        named = f"{options.program or 'the program that is set'}{', here' * options.here}"
        what = [f"Start {decided_line(named)} in {decided_line(str(Path.cwd()))} on"]
        for task in tasks:
            what += [f"#{task.number}:", *task_lines(store.db, task, with_log=False)]
        what += ["Extra words:", *quoted(options.words)] if options.words else []
        person.confirm(options, store, what)
        for task in tasks:
            if task_queries.task(store.db, task.uid).version != task.version:
                raise Conflict(f"#{task.number} has changed since it was shown: look at it again")
        person.record(options, store)
        starter = Starter(store, Path.cwd(), clock.now, show=lambda line: print(safe_line(line), file=sys.stderr))
        names = ("program", "here", "words", "base", "branch", "race", "share", "beside")
        request = Request(**{name: getattr(options, name) for name in names}, limits=dict(options.limit))
        started = []
        for task in tasks:
            work, notes = starter.start(task.uid, request)
            started.append(work_json(store, work))
            for note in notes:
                print(safe_line(note), file=sys.stderr)
            if not options.json:
                print(f"{work.agent} is at work on {titled(task.number, task.name)} in {safe_line(work.worktree)}")
        if options.json:
            print_json(started, indent=2)


ACTIONS: Final = {"start": CommandAction("start an agent on each task", _declare_start, _start)}
