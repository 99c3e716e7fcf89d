"""`prime`: what an agent needs to know to start, in under 1,000 tokens; and `hook`: its help, and arguments that the
short way (`hooks.main`) does not take.
"""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from tui_tasks.channel.session import Session
from tui_tasks.cli.options import is_without_project, open_store, require_database, session_of
from tui_tasks.cli.tasks import lookup
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.read.tasks import ready_tasks, task_queries
from tui_tasks.hooks import main
from tui_tasks.text.safe import safe_line

if TYPE_CHECKING:
    import argparse

MAX_TASKS = 12

RULES = """\
You share a live task list with a human and other agents through tui-tasks.
Send one JSON object a line to `tui-tasks serve` (or run `tui-tasks call TOOL name=value ...`):
  {"id": 1, "tool": "tasklist:add_task", "args": {"name": "...", "description": "..."}}
Each is answered by one line with "ok" and "result" or "error". `control:hello` lists every tool and its arguments.
Rules:
- Plan in steps; set a task in_progress when you start it (one at a time in a tasklist), then done, failed or skipped.
- Log what you do (`tasklist:log_task_progress`); log the reason when you fail or skip.
- Several agents at work? Take tasks with `control:claim`, and send `control:heartbeat` before the lease ends.
- Decisions that are not yours: `ask` the human. `control:subscribe` tells you what the human and others do.
- A refusal changes nothing; its message says what is in the way. The error `paused` means: stop until resumed.
"""


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what a command takes beside the shared options."""
    if name == "hook":
        programs = main.PROGRAMS
        command.add_argument("program", metavar="PROGRAM", choices=programs, help=f"one of {', '.join(programs)}")


def run(name: str, options: argparse.Namespace) -> int:
    """Run a command; return the exit status."""
    return _hook(options) if name == "hook" else _prime(options)


def _prime(options: argparse.Namespace) -> int:
    """Print the rules and the existing tasks. Return exit status 0.

    Raises:
        NotFound: the project that `--project` names is not there.
    """
    try:
        require_database(options)
    except DatabaseRefused as missing:
        # An agent that reads this may be the first to write.
        print(f"{RULES}\nNo tasks yet: {missing}")
        return 0
    with open_store(options) as store:
        lookup.check_project(options, store.db)
        print(text(session_of(options, store)))
    if is_without_project(options):
        print("\nThis folder has no project: tasks of other folders may be among these.")
    return 0


def text(session: Session) -> str:
    """Return the rules, the open tasks and the next task."""
    db, project = session.store.db, session.identity.scope
    total = sum(home.pending + home.in_progress for home in task_queries.lists(db, project) if not home.archived)
    with closing(ready_tasks.open_tasks(db, None, None, project=project)) as open_tasks:
        tasks = list(islice(open_tasks, MAX_TASKS))
    lines = [RULES, f"Open tasks: {total}"]
    lines += [f"- {task.uid} [{task.status}] {safe_line(task.name, 80)}" for task in tasks]
    if total > len(tasks):
        lines.append(f"- and {total - len(tasks)} more: `tui-tasks ls`")
    task = ready_tasks.next_task(db, None, session.identity.agent, project=project)
    if task is not None:
        lines += ["", f"Next: {task.uid} {safe_line(task.name, 80)}"]
        if task.description:
            lines.append(safe_line(task.description, 300))
    return "\n".join(lines)


def _hook(options: argparse.Namespace) -> int:
    """Run the hook."""
    main.run(options.program, options.db or "", options.project or "")
    return 0
