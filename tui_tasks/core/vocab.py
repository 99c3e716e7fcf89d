"""The vocabulary of the state: statuses, priorities, kinds of entry; its limits: lengths of texts, leases of claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tui_tasks.core.errors import InvalidArgument

STATUSES: Final = ("pending", "in_progress", "done", "failed", "skipped", "cancelled")
STATUSES_ELSEWHERE: Final = {
    **dict.fromkeys(("open", "todo", "waiting"), "pending"),
    **dict.fromkeys(("started", "active"), "in_progress"),
    **dict.fromkeys(("complete", "completed", "finished"), "done"),
    "deleted": "cancelled",
}
"""Words of other programs for statuses."""
# Not finished yet.
OPEN: Final = ("pending", "in_progress")
MAY_NEED: Final = (*OPEN, "done")
"""The statuses of tasks that may need the human; one that failed or was dropped stands under what became of it."""
CLOSED: Final = frozenset({"done", "failed", "skipped", "cancelled"})
# A dependency in one of these does not block the tasks that wait for it (docs: protocol, section 6, `tasks`).
RELEASING: Final = frozenset({"done", "skipped", "cancelled"})


def blocks_dependents(status: str, deleted: object) -> bool:
    """Return whether a task holds up those that depend on it; in SQL: `core/commit/row_writes`."""
    return not deleted and status not in RELEASING


URGENT, HIGH, MEDIUM, LOW = 1, 2, 3, 4
PRIORITY_WORDS: Final = {"urgent": URGENT, "high": HIGH, "medium": MEDIUM, "low": LOW}
PRIORITY_LETTERS: Final = {"h": "high", "m": "medium", "l": "low"}
PRIORITY_NAMES: Final = {number: word for word, number in PRIORITY_WORDS.items()}


def priority_word(priority: int) -> str:
    """Return the word for a priority's number; 5 and up reads as low (docs: protocol, section 4)."""
    return PRIORITY_NAMES[min(max(priority, URGENT), LOW)]


HUMAN: Final = "human"
SYSTEM: Final = "system"
# The actor of the shell's commands: mostly a person, but agents have shells too. So neither an agent nor the human.
SHELL: Final = "shell"
RESERVED_AGENTS: Final = frozenset({HUMAN, SYSTEM, SHELL})

# In the metadata of a task of a session, and of the lists that are made for such tasks.
SESSION_ORIGIN: Final = "session"

# The lists of the three dialects that have a list of their own (docs: protocol, section 5).
DIALECT_LISTS: Final = ("tasklist", "task", "todo")

# How long a claim lasts without a heartbeat, where the agent names no time.
CLAIM_LEASE_SECONDS: Final = 300

MAX_NAME: Final = 10_000
MAX_TEXT: Final = 1_000_000

SET_FIELDS: Final = frozenset({"tags", "depends_on", "node_ids", "links"})
"""The fields of a task that hold several values, of which each counts by itself."""
# Fields that change along with those that were meant: hidden from `changes`, ignored by undo.
BOOKKEEPING: Final = frozenset(
    {
        "version",
        "updated_at",
        "updated_by",
        "started_at",
        "finished_at",
        "status_by",
        "claimed_by",
        "fenced",
        "waiting_on",
        "solo",
        # a job's
        "next_run",
        "decided_until",
        "failures",
    }
)

# Fields that readers of an entry are not shown.
HIDDEN: Final = BOOKKEEPING | {"accepted"}

# The states of a check. Those of a task together are in the first of these that any of them is in.
CHECK_STATES: Final = ("failed", "running", "stale", "unproven", "passed")

# What needs a person, as it is counted. Every list of it has this order: first agents that wait, then those that do not
# go on and hold their tasks, then what failed or is late, and last work to review and proposals.
NEEDS: Final = ("question", "stuck", "gone", "failed", "late", "to review", "proposed")
WORK_STATES: Final = ("starting", "working", "ready", "merging", "merged", "conflict", "discarded", "failed")
# The states of a work whose agent may still change something.
LIVE_WORK: Final = frozenset({"starting", "working", "ready", "merging", "conflict"})
WORK_ENDS: Final = ("work.merged", "work.discarded")
"""The kinds of entry by which a person ends a work."""
WORK_RESTORED: Final = "work.restored"
CONTINUE: Final = "Continue"
# What the human can answer when an agent has reached a limit.
LIMIT_OPTIONS: Final = (CONTINUE, "Stop")

FAILED_OUTCOME: Final = "error"

# What counts as failed, wherever failures are counted or shown: tasks, runs, jobs and agents by these four rules.
# Nothing else does: no lapsed claim, refused request, failed tool or failed check.

_AGENT_COUNTS: Final = 3_600_000_000
"""Microseconds for which an agent counts as failed after its session has ended."""


def task_failed(status: str | None) -> bool:
    """Return whether a task has failed, by its status now."""
    return status == "failed"


def run_failed(outcome: str | None) -> bool:
    """Return whether a run has failed, by its outcome; one that was interrupted has not."""
    return outcome == FAILED_OUTCOME


def job_failed(failures: int, last_outcome: str | None) -> bool:
    """Return whether a job has failed: no run has succeeded since one failed.

    `failures` is its own counter. A run that was interrupted changes nothing.
    """
    return failures > 0 or run_failed(last_outcome)


def agent_failed(state: str, ended_at: int | None, seen_at: int, now: int, *, has_failed_work: bool = False) -> bool:
    """Return whether an agent has failed: its turn has. Once its session has ended, it counts until the human has seen
    it, and for an hour at most, unless the work on which the human started it has failed.

    `seen_at`: when the human last marked everything as seen. Instants are microseconds.
    """
    if state != "failed" or ended_at is None:
        return state == "failed"
    return ended_at > seen_at and (has_failed_work or now - ended_at <= _AGENT_COUNTS)


HEARTBEAT: Final = "claim.extended"
"""The kind of entry by which agents renew the leases of their claims on a timer."""
# Kinds of entry that can be undone; claims, questions, runs and messages cannot.
UNDOABLE: Final = frozenset(
    {
        "task.created",
        "task.updated",
        "task.moved",
        "task.deleted",
        "task.restored",
        "task.logged",
        "task.linked",
        "task.accepted",
        "task.declined",
        "state.saved",
        "list.created",
        "list.updated",
        "list.deleted",
        "list.restored",
        "memory.saved",
        "job.created",
        "job.updated",
        "job.deleted",
        "job.restored",
    }
)

_LIMITS: Final = {
    "name": MAX_NAME,
    "title": MAX_NAME,
    "description": MAX_TEXT,
    "message": MAX_TEXT,
    "system_prompt": MAX_TEXT,
    "prompt": MAX_TEXT,
}
"""The longest text of each field, in characters."""


def problem_with(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first field that is too long and the message for it; None if all fit."""
    for field, given in values.items():
        limit = _LIMITS.get(field)
        if limit is not None and given and len(given) > limit:
            return field, f"{field}: at most {limit:,} characters, not {len(given):,}"
    return None


def refuse_too_long(values: Mapping[str, Any]) -> None:
    """Refuse fields that are too long.

    Raises:
        InvalidArgument: one is; it is named with its length.
    """
    if problem := problem_with(values):
        raise InvalidArgument(*problem)
