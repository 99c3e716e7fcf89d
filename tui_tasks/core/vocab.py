"""The vocabulary of the state: statuses, priorities, kinds of journal entry (docs: protocol, sections 4 and 7)."""

from __future__ import annotations

from typing import Final

STATUSES: Final = ("pending", "in_progress", "done", "failed", "skipped", "cancelled")
# Not finished yet.
OPEN: Final = ("pending", "in_progress")
CLOSED: Final = frozenset({"done", "failed", "skipped", "cancelled"})
# A dependency in one of these does not block the tasks that wait for it (docs: protocol, section 6, `tasks`).
RELEASING: Final = frozenset({"done", "skipped", "cancelled"})

URGENT, HIGH, MEDIUM, LOW = 1, 2, 3, 4
PRIORITY_WORDS: Final = {"urgent": URGENT, "high": HIGH, "medium": MEDIUM, "low": LOW}
PRIORITY_NAMES: Final = {number: word for word, number in PRIORITY_WORDS.items()}


def priority_word(priority: int) -> str:
    """Return the word for a priority's number; 5 and up reads as low (docs: protocol, section 4)."""
    return PRIORITY_NAMES[min(max(priority, URGENT), LOW)]


HUMAN: Final = "human"
SYSTEM: Final = "system"
# The actor of the shell's commands: mostly a person, but agents have shells too. So neither an agent nor the human.
SHELL: Final = "shell"
RESERVED_AGENTS: Final = frozenset({HUMAN, SYSTEM, SHELL})

# The lists of the three dialects that have a list of their own (docs: protocol, section 5).
DIALECT_LISTS: Final = ("tasklist", "task", "todo")

MAX_NAME: Final = 10_000
MAX_TEXT: Final = 1_000_000

# Fields that change along with those that were meant: hidden from `changes`, ignored by undo.
BOOKKEEPING: Final = frozenset(
    {
        "version",
        "updated_at",
        "updated_by",
        "started_at",
        "finished_at",
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

# The states of a check. Those of a task together are in the first of these that any of them is in.
CHECK_STATES: Final = ("failed", "running", "stale", "unproven", "passed")

OUTCOMES: Final = ("success", "error", "interrupted")

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
