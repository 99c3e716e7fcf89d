"""What is said of a deletion of tasks: why the human is asked first, what goes on, and what undo comes to next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.operations import Undo
from tui_tasks.core.read import overview, work_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task
from tui_tasks.core.vocab import HUMAN, LIVE_WORK, RESERVED_AGENTS, blocks_dependents
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import MINUTE, count
from tui_tasks.tui.agents import agent_text

# How many of the tasks that wait are named.
_NAMED: Final = 3
# Microseconds within which a title that an agent has written may not have been read.
_JUST_NOW: Final = 500_000
# The states of works that wait for the human.
_TO_REVIEW: Final = ("ready", "conflict")


def why_ask(db: Database, tasks: Sequence[Task], now: int) -> str:
    """Return why the human is asked before tasks are deleted: others wait for them, or an agent has to do with the one;
    empty: for no reason.
    """
    if len(tasks) > 1:
        return _waiting_for(db, tasks)
    task = tasks[0]
    who = _agent_at_work(db, task)
    ready = [work for work in work_queries.of_task(db, task.uid) if work.state in _TO_REVIEW]
    parts = []
    if task.updated_by != HUMAN and now - task.updated_at < _JUST_NOW:
        parts.append(f"{agent_text.who(task.updated_by, 30)} has changed it just now")
    if who:
        parts.append(f"{agent_text.who(who, 40)} works on it")
    if ready:
        one = f"the work of {agent_text.who(ready[0].agent, 40)} waits"
        parts.append(f"{one if len(ready) == 1 else f'{len(ready)} works wait'} for your review")
    logged = task_records.log_count(db, task.uid) if parts else 0
    parts += [_waiting_for(db, tasks), count(logged, "log entry", "log entries") if logged else ""]
    return ", ".join(filter(None, parts))


def _agent_at_work(db: Database, task: Task) -> str:
    """Return the agent that works on a task; empty: none does, or its work waits for review."""
    works = [work for work in work_queries.of_task(db, task.uid) if work.state in LIVE_WORK]
    if works:
        return next((work.agent for work in works if work.state not in _TO_REVIEW), "")
    return "" if task.status != "in_progress" or task.who in RESERVED_AGENTS else task.who


def _waiting_for(db: Database, tasks: Sequence[Task]) -> str:
    """Return which other tasks wait for some, in words; empty: none does."""
    held_up = overview.waiting_on(db, [one.uid for one in tasks if blocks_dependents(one.status, deleted=False)])
    found = task_queries.live_tasks(db, sorted(held_up - {task.uid for task in tasks}))
    numbers = sorted(task.number for task in found if task.status == "pending")
    if not numbers:
        return ""
    named = ", ".join(f"#{number}" for number in numbers[:_NAMED]) + ", …" * (len(numbers) > _NAMED)
    return f"{named} {'waits' if len(numbers) == 1 else 'wait'} for {'it' if len(tasks) == 1 else 'them'}"


def goes_on(db: Database, tasks: Sequence[Task]) -> str:
    """Return ` bob goes on: …` of the first deleted task that an agent was started on; empty: of none."""
    for task in tasks:
        for work in work_queries.of_task(db, task.uid):
            if work.state in LIVE_WORK:
                who = agent_text.who(work.agent, 30)
                what = f"The work of {who} stays" if work.state in _TO_REVIEW else f"{who} goes on"
                return f" {what}: `tui-tasks work discard {task.number}` ends it."
    return ""


def deleted_before(db: Database, now: int) -> str:
    """Return what the human's newest change deleted, if it did so within the last minute: undo comes to it next."""
    from tui_tasks.core.read.pages import change_summaries
    from tui_tasks.core.rules import undo

    change = undo.next_to_undo(db, HUMAN, Undo())
    if change is None or now - journal.entry(db, change).at > MINUTE:
        return ""
    made = change_summaries.summary(db, [change])
    if made.deleted != made.entries or not made.names:
        return ""
    return f", then {f'“{safe_line(made.names[0], 40)}”' if made.tasks == 1 else count(made.tasks, 'task')}"
