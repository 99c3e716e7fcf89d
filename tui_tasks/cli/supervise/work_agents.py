"""`work start`, `ls`, `show` and `attach`: starts agents on tasks, and follows them; which work an action means."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks import clock
from tui_tasks.channel.session import Session
from tui_tasks.cli import person_rights
from tui_tasks.cli.command_parser import CommandAction
from tui_tasks.cli.options import TASK_REFERENCE, open_store, session_of
from tui_tasks.cli.person_rights import quoted, task_lines
from tui_tasks.cli.streams import print_json
from tui_tasks.cli.tasks.lookup import find_task, titled
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.read import work_queries, work_text
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import number_of
from tui_tasks.core.rules import work_refusals
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.core.unhidden_text import unhidden_line
from tui_tasks.core.vocab import LIVE_WORK
from tui_tasks.dialects.command_tools import SHELL as TOOLS
from tui_tasks.text.safe import safe_ends, safe_line
from tui_tasks.text.times import ago

if TYPE_CHECKING:
    from tui_tasks.work.accepting import Acceptance

_LINES: Final = 20
_SILENT: Final = "it has not reported yet: it may ask something in its terminal"


def declare_task(command: argparse.ArgumentParser) -> None:
    """Declare the task."""
    command.add_argument("task", metavar="TASK", help=TASK_REFERENCE)


def declare_one(command: argparse.ArgumentParser) -> None:
    """Declare the task, and the agent whose work on it is meant."""
    declare_task(command)
    command.add_argument("--by", metavar="AGENT", default="", help="the work of this agent, if there are several")


def declare_base(command: argparse.ArgumentParser) -> None:
    """Declare task, agent, and the branch to compare with."""
    declare_one(command)
    command.add_argument("--base", default="", help="compare with this branch")


def work_of(session: Session, reference: str, agent: str = "", *, deleted: bool = False) -> tuple[Task, Work]:
    """Return a task and the work on it: that of an agent, or the newest that is not over, else that was merged.

    `deleted`: also of a deleted task, as its agent goes on.

    Raises:
        NotFound: there is no such task, or no agent was started on it.
    """
    task = _deleted_task(session.store, reference) if deleted else None
    task = task or find_task(session, reference)
    works = work_queries.of_task(session.store.db, task.uid)
    if not works:
        raise NotFound("work", f"on #{task.number}; `tui-tasks work start {task.number}` starts an agent on it")
    if agent and not (of_agent := [work for work in works if work.agent == agent]):
        raise NotFound("work", f"of {agent} on #{task.number}; use one of {', '.join(one.agent for one in works)}")
    if agent:
        return task, of_agent[-1]
    return task, max(works, key=lambda work: (work.state in LIVE_WORK, work.state == "merged", work.id))


def _deleted_task(store: Store, reference: str) -> Task | None:
    """Return the deleted task with a number, if there is work on it."""
    number = number_of(reference)
    task = task_queries.task_of_number(store.db, number) if number is not None else None
    if task is None or task_queries.status(store.db, task.uid) is not None:
        return None
    return task if work_queries.of_task(store.db, task.uid) else None


def work_json(store: Store, work: Work) -> dict[str, Any]:
    """Return a work as JSON, with its task."""
    task = task_queries.any_task(store.db, work.task_uid)
    named = {
        "task": work.task_uid,
        "number": task.number if task is not None else None,
        "machine": work.machine or None,
    }
    return {**named, **work.to_json(work_text.counts_json(store.db, work.uid))}


def refresh(store: Store) -> None:
    """Count the changes in git, and end work whose agent has ended."""
    if store.read_only:
        return
    from tui_tasks.hooks import session_processes
    from tui_tasks.work import work_outcomes

    session_processes.end_departed(store, clock.now())
    recover(store)
    work_outcomes.look(store, clock.now())


def recover(store: Store) -> None:
    """Carry on or take back what was interrupted, and print what was done on standard error."""
    from tui_tasks.work import recovery

    for line in recovery.recover(store, clock.now()):
        print(safe_line(line), file=sys.stderr)


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


def _declare_start(command: argparse.ArgumentParser) -> None:
    command.add_argument("tasks", metavar="TASK", nargs="+", help=TASK_REFERENCE)
    command.add_argument("--program", default="", help="claude, codex, gemini, opencode, or one of the settings")
    command.add_argument("--here", action="store_true", help="work in this checkout, without a worktree")
    command.add_argument("--base", default="", help="the branch to begin on and to merge into")
    command.add_argument("--branch", default="", help="the name of the new branch")
    command.add_argument("--words", default="", help="more instructions for the agent")
    command.add_argument(
        "--limit",
        metavar="NAME=VALUE",
        action="append",
        type=_limit,
        default=[],
        help="tokens, cost_usd, minutes, turns or context, in place of the settings' limit",
    )
    command.add_argument("--race", action="store_true", help="add an agent to the task, in a worktree of its own")
    command.add_argument("--beside", action="store_true", help="add an agent in the worktree of the task's newest work")
    command.add_argument("--share", action="store_true", help="add an agent in a folder where another works")


def _limit(text: str) -> tuple[str, float]:
    """Return the name and the value of a limit.

    Raises:
        ArgumentTypeError: it is none.
    """
    from tui_tasks.settings.setting_mistakes import mistake
    from tui_tasks.settings.work_settings import LimitSettings

    name, _, value = text.partition("=")
    if name not in LimitSettings.__struct_fields__:
        raise argparse.ArgumentTypeError(f"no limit {name!r}; use one of {', '.join(LimitSettings.__struct_fields__)}")
    shown = repr(text[:60])
    try:
        checked = msgspec.convert({name: float(value)}, LimitSettings, strict=False)
    except msgspec.ValidationError as error:
        raise argparse.ArgumentTypeError(f"{shown}: {name} {mistake(error, None, LimitSettings)[1]}") from None
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown} has no number: write it like `{name}=1`") from None
    return name, getattr(checked, name)


def _start(options: argparse.Namespace) -> None:
    from tui_tasks.work.starting import Starter, StartRequest

    with open_store(options) as store:
        session = session_of(options, store, TOOLS)
        tasks = [find_task(session, reference) for reference in options.tasks]
        for task in tasks:
            work_refusals.check_open(store.db, task)
        named = f"{options.program or 'the default program'}{', here' * options.here}"
        numbers = ", ".join(f"#{task.number}" for task in tasks)
        what = [f"Start {unhidden_line(named)} on {numbers} in {unhidden_line(str(Path.cwd()))}"]
        for task in tasks:
            what += [f"#{task.number}:", *task_lines(store.db, task, with_log=False)]
        what += ["Extra words:", *quoted(options.words)] if options.words else []
        person_rights.confirm(options, store, what)
        for task in tasks:
            if task_queries.task(store.db, task.uid).version != task.version:
                raise Conflict(f"#{task.number} has changed since it was shown: look at it again")
        person_rights.record(options, store)
        starter = Starter(store, Path.cwd(), clock.now, show=lambda line: print(safe_line(line), file=sys.stderr))
        names = ("program", "here", "words", "base", "branch", "race", "share", "beside")
        request = StartRequest(**{name: getattr(options, name) for name in names}, limits=dict(options.limit))
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


def _declare_ls(command: argparse.ArgumentParser) -> None:
    command.add_argument("--all", action="store_true", help="also merged, discarded and failed work")


def _ls(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        refresh(store)
        everyone = getattr(options, "all", False)
        works = work_queries.everything(store.db) if everyone else work_queries.live(store.db)
        if options.json:
            print_json([work_json(store, work) for work in works], indent=2)
            return
        failed = {(one.agent, one.task): one.text for one in work_text.failed(store.db)}
        if failed and not everyone:
            works += [one for one in work_queries.everything(store.db) if (one.agent, one.task_uid) in failed]
        for work in works:
            print(_line(store, work, failed.get((work.agent, work.task_uid))))
        if not works:
            print("No agent is at work. `tui-tasks work start TASK` starts one.")


def _line(store: Store, work: Work, why: str | None) -> str:
    task = task_queries.any_task(store.db, work.task_uid)
    title = titled(task.number, safe_line(task.name, 40)) if task is not None else work.task_uid
    host = work_queries.host_of_other(store.db, work)
    words = [
        title,
        work.state,
        f"{work.agent} on {host}" if host is not None else work.agent,
        work_text.counts_text(store.db, work.uid),
        work.branch or work.worktree,
    ]
    if task is not None and work.state in LIVE_WORK and task_queries.status(store.db, task.uid) is None:
        why = f"its task is deleted: `tui-tasks work discard {task.number} --by {work.agent}` ends it"
        last = safe_line(why)  # a command is not cut
    else:
        last = safe_ends(why or work.message or _limit_or_conflicts(store, work) or "", 60)
    return "  ".join([*(safe_line(word, 60) for word in words if word), *([last] if last else [])])


def _limit_or_conflicts(store: Store, work: Work) -> str | None:
    known = work_text.counts(store.db, work.uid)
    return (known.limit or known.conflicts) if known is not None else None


def _show(options: argparse.Namespace) -> None:
    from tui_tasks.settings import live_settings
    from tui_tasks.work import program_commands
    from tui_tasks.work.agent_terminals import last_lines

    with open_store(options) as store:
        refresh(store)
        task, work = work_of(session_of(options, store, TOOLS), options.task, deleted=True)
        elsewhere = work_queries.is_elsewhere(store.db, work)
        lines = last_lines(store.path, work, _LINES) if elsewhere is None else [elsewhere]
        if options.json:
            print_json({**work_json(store, work), "lines": lines}, indent=2)
            return
        print(titled(task.number, task.name))
        print(f"{work.state}  {work.agent}  started {ago(work.started_at, clock.now())}")
        command = program_commands.written(live_settings.work(), work.program)
        facts = {"worktree": work.worktree, "branch": work.branch, "base": work.base, "command": command}
        for name, value in facts.items():
            if value:
                print(f"{name} {safe_line(value)}")
        for merged, at in work_text.merges(store.db, task.uid):
            print(f"{safe_line(merged)}, {ago(at, clock.now())}")
        near = _limit_or_conflicts(store, work)
        if near is None and work_queries.is_silent(store.db, work, clock.now()):
            near = _SILENT
        for text in (work_text.counts_text(store.db, work.uid), near, work.message, work.summary):
            if text:
                print(safe_line(text))
        if lines:
            print()
        for line in lines:
            print(safe_line(line))


def _attach(options: argparse.Namespace) -> None:
    from tui_tasks.work.agent_terminals import DETACH_WORDS, Terminals

    with open_store(options) as store:
        task, work = work_of(session_of(options, store, TOOLS), options.task)
        work_refusals.check_here(store.db, work)
        terminals = Terminals(store.path)
        if options.json:
            argv = terminals.attach_argv(work.terminal) if work.terminal is not None else None
            print_json({"agent": work.agent, "argv": argv})
            return
        if work.terminal is None:
            raise Conflict(f"{work.agent} has no terminal: `tui-tasks work show {task.number}` shows its last lines")
        if not terminals.has(work.terminal):
            last = f"`tui-tasks work show {task.number}` shows its last lines"
            raise Conflict(f"the terminal of {work.agent} is closed: {last}")
        argv = terminals.attach_argv(work.terminal)
        person_rights.record(options, store)
    print(f"{DETACH_WORDS} comes back", file=sys.stderr)
    subprocess.run(argv, check=False, env=os.environ)


ACTIONS: Final = {
    "start": CommandAction("start an agent on each task", _declare_start, _start),
    "ls": CommandAction("list unfinished work", _declare_ls, _ls),
    "attach": CommandAction("go to the terminal of a task's agent", declare_task, _attach),
    "show": CommandAction("show the work on a task, and the last lines of its terminal", declare_task, _show),
}
