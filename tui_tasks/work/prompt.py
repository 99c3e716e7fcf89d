"""The prompt with which an agent is started on a task."""

from __future__ import annotations

from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import check_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task, Work
from tui_tasks.text.safe import safe_text

MAX_LOG: Final = 30
MAX_CHARS: Final = 30_000


def prompt(db: Database, task: Task, work: Work, words: str = "", *, command: str = "tui-tasks") -> str:
    """Return the task with all that is known of it, the human's extra words, and how to report."""
    home = task_queries.list_by_id(db, task.list_id)
    parts = [f"Work on task #{task.number}: {task.name}"]
    if task.description:
        parts.append(task.description)
    if words.strip():
        parts.append(words.strip())
    if log := task_records.logs(db, task.uid)[-MAX_LOG:]:
        parts.append("Log:\n" + "\n".join(f"- {entry.agent}: {entry.message}" for entry in log))
    if task.links:
        parts.append("Links:\n" + "\n".join(f"- {link['kind']}: {link['target']}" for link in task.links))
    if answered := _answers(db, task.uid):
        parts.append("Answered questions:\n" + "\n".join(f"- {asked}\n  {answer}" for asked, answer in answered))
    if checks := check_queries.of_task(db, task, home, check_queries.definitions(db)):
        parts.append("Checks that must pass: " + ", ".join(check.name for check in checks))
    parts.append(_how_to_report(task, work, command))
    text = "\n\n".join(parts)
    return safe_text(text, MAX_CHARS)


def _answers(db: Database, task_uid: str) -> list[tuple[str, str]]:
    rows = db.sql(
        "SELECT question, answer FROM ask WHERE task_uid = ? AND state = 'answered' AND answer IS NOT NULL ORDER BY id",
        (task_uid,),
    )
    return [(question, answer) for question, answer in rows.fetchall()]


def _how_to_report(task: Task, work: Work, command: str) -> str:
    where = f"You are in {work.worktree}" + (f", on branch {work.branch}." if work.branch else ".")
    commit = " Commit your work there; a person reviews and merges it." if work.makes_worktree else ""
    report = f"{command} call --agent {work.agent}"
    return (
        f"{where}{commit}\n"
        f"This task is yours in tui-tasks, as {work.agent}. Use its MCP tools, or in a shell:\n"
        f"- log what you do: {report} tasklist:log_task_progress uid={task.uid} message=TEXT\n"
        f"- ask what is not yours to decide: {report} ask question=TEXT task={task.uid}\n"
        f"- when all is done: {report} control:work_ready uid={task.uid} summary=TEXT"
    )
