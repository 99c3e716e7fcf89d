"""`work ls`, `show` and `attach`: follow agents at work."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from tui_tasks import clock
from tui_tasks.cli import person
from tui_tasks.cli.options import open_store, session_of
from tui_tasks.cli.streams import print_json
from tui_tasks.cli.supervise.command_actions import CommandAction
from tui_tasks.cli.supervise.work_lookup import (
    declare_task,
    refresh,
    work_json,
    work_of,
)
from tui_tasks.cli.tasks.lookup import titled
from tui_tasks.core.errors import Conflict
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Work
from tui_tasks.core.store import Store
from tui_tasks.dialects.shell import SHELL as TOOLS
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago

if TYPE_CHECKING:
    pass


_LINES: Final = 20
_SILENT: Final = "it has not reported yet: it may ask something in its terminal"


def _declare_ls(command: argparse.ArgumentParser) -> None:
    command.add_argument("--all", action="store_true", help="merged, discarded and failed work as well")


def _ls(options: argparse.Namespace) -> None:
    with open_store(options, on_server=False) as store:
        refresh(store)
        everyone = getattr(options, "all", False)
        found = work_queries.everything(store.db) if everyone else work_queries.live(store.db)
        if options.json:
            print_json([work_json(store, work) for work in found], indent=2)
            return
        for work in found:
            print(_line(store, work))
        if not found:
            print("No agent is at work. `tui-tasks work start TASK` starts one.")


def _line(store: Store, work: Work) -> str:
    task = task_queries.any_task(store.db, work.task_uid)
    title = titled(task.number, safe_line(task.name, 40)) if task is not None else work.task_uid
    words = [
        title,
        work.state,
        work.agent,
        work_queries.counts_text(store.db, work.uid),
        work.branch or work.worktree,
        work.message or "",
    ]
    return "  ".join(safe_line(word, 60) for word in words if word)


def _show(options: argparse.Namespace) -> None:
    from tui_tasks.work.starting import last_lines

    with open_store(options, on_server=False) as store:
        refresh(store)
        task, work = work_of(session_of(options, store, TOOLS), options.task)
        lines = last_lines(store.path, work, _LINES)
        if options.json:
            print_json({**work_json(store, work), "lines": lines}, indent=2)
            return
        print(titled(task.number, task.name))
        print(f"{work.state}  {work.agent}  started {ago(work.started_at, clock.now())}")
        for name, value in (("worktree", work.worktree), ("branch", work.branch), ("base", work.base)):
            if value:
                print(f"{name} {safe_line(value)}")
        if work_queries.is_silent(store.db, work, clock.now()):
            print(_SILENT)
        known = work_queries.counts(store.db, work.uid)
        near = known.near if known is not None else None
        for text in (work_queries.counts_text(store.db, work.uid), near, work.message, work.summary):
            if text:
                print(safe_line(text))
        if lines:
            print()
        for line in lines:
            print(safe_line(line))


def _attach(options: argparse.Namespace) -> None:
    from tui_tasks.work.terminals import DETACH_WORDS, Terminals

    with open_store(options, on_server=False) as store:
        task, work = work_of(session_of(options, store, TOOLS), options.task)
        terminals = Terminals(store.path)
        if options.json:
            argv = terminals.attach_argv(work.terminal) if work.terminal is not None else None
            print_json({"agent": work.agent, "argv": argv})
            return
        if work.terminal is None:
            raise Conflict(f"{work.agent} has no terminal: `tui-tasks work show {task.number}` shows its last lines")
        if not terminals.has(work.terminal):
            raise Conflict(f"the terminal of {work.agent} is closed")
        argv = terminals.attach_argv(work.terminal)
        person.record(options, store)
    print(f"{DETACH_WORDS} comes back", file=sys.stderr)
    subprocess.run(argv, check=False, env=os.environ)


ACTIONS: Final = {
    "ls": CommandAction("list the work that is not over", _declare_ls, _ls),
    "attach": CommandAction("go to the terminal of a task's agent", declare_task, _attach),
    "show": CommandAction("show the work on a task, and the last lines of its terminal", declare_task, _show),
}
