"""How each dialect shows the state: docs: protocol, sections 4, 6 and 7, as plain Python."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.dialects.model import Model
from tests.dialects.model_state import Memory, Refused, Task

SECOND = 1_000_000
AS_IS = {"pending": "pending", "in_progress": "in_progress"}
# Section 4, the table: the words of each dialect for the six statuses.
SHOWN = {
    "tasklist": {**AS_IS, "done": "done", "failed": "failed", "skipped": "skipped", "cancelled": "skipped"},
    "task": {
        "pending": "open",
        "in_progress": "in_progress",
        "done": "completed",
        **dict.fromkeys(("failed", "skipped", "cancelled"), "cancelled"),
    },
    "todo": {**AS_IS, "done": "completed", **dict.fromkeys(("failed", "skipped", "cancelled"), "cancelled")},
    "tasks": {**AS_IS, "done": "done", **dict.fromkeys(("failed", "skipped", "cancelled"), "cancelled")},
}
MEANT = {
    "tasklist": {status: status for status in ("pending", "in_progress", "done", "failed", "skipped")},
    "task": {"open": "pending", "in_progress": "in_progress", "completed": "done", "cancelled": "cancelled"},
    "todo": {**AS_IS, "completed": "done", "cancelled": "cancelled"},
    "tasks": {**AS_IS, "done": "done", "cancelled": "cancelled"},
}
PRIORITIES = {"urgent": 1, "high": 2, "medium": 3, "low": 4}


def meant(dialect: str, word: str, current: str | None = None) -> str:
    """Writing back the word just shown changes nothing (section 4)."""
    if word not in MEANT[dialect]:
        raise Refused("invalid_argument")
    return current if current and SHOWN[dialect][current] == word else MEANT[dialect][word]


def iso(at: int) -> str:
    return (datetime.fromtimestamp(at // SECOND, UTC).replace(microsecond=at % SECOND)).isoformat(
        timespec="milliseconds"
    )


def priority_word(priority: int) -> str:
    return {number: word for word, number in PRIORITIES.items()}[min(priority, 4)]


# How tasks are shown


def as_tasklist(task: Task) -> dict[str, Any]:
    status = SHOWN["tasklist"][task.status]
    return {"uid": task.uid, "name": task.name, "description": task.description, "status": status}


def as_entry(entry: tuple[int, str]) -> dict[str, str]:
    return {"timestamp": f"{datetime.fromtimestamp(entry[0] // SECOND):%Y-%m-%d %H:%M:%S}", "message": entry[1]}


def as_task(task: Task) -> dict[str, Any]:
    same = {name: getattr(task, name) for name in ("description", "tags", "domain", "result", "metadata")}
    words = {"status": SHOWN["task"][task.status], "priority": priority_word(task.priority)}
    return {"task_id": task.uid, "title": task.name, **words, **same}


def as_todo(task: Task) -> dict[str, str]:
    return {"id": task.key or task.uid, "content": task.name, "status": SHOWN["todo"][task.status]}


def as_tasks(model: Model, task: Task) -> dict[str, Any]:
    home = model.home_of(task)
    return {
        "id": task.uid,
        "plan_id": home.handle if home.is_plan else None,
        "title": task.name,
        "description": task.description,
        "status": SHOWN["tasks"][task.status],
        "priority": task.priority,
        "agent_id": task.agent,
        "intent": task.intent,
        "depends_on": task.depends_on,
        "blocked": model.state.blocked(task),
        "node_ids": task.node_ids,
    }


def full(model: Model, task: Task) -> dict[str, Any]:
    """Section 7, less `started_at` and `finished_at`, of which the protocol gives but the names."""
    same = ("uid", "key", "name", "description", "status", "priority", "tags", "domain", "result", "metadata")
    more = ("agent", "intent", "depends_on", "node_ids", "version", "due", "estimate", "links")
    return {
        **{name: getattr(task, name) for name in same + more},
        "number": task.age,
        "list": model.home_of(task).handle,
        "blocked": model.state.blocked(task),
        "held": task.held,
        "created_at": iso(task.created_at),
        "updated_at": iso(task.updated_at),
        # No configuration file names a check here.
        "verified": None,
        "checks": [],
        "work": None,
        "works": [],
    }


def as_memory(memory: Memory) -> dict[str, Any]:
    """Less `created_at`."""
    same = {name: getattr(memory, name) for name in ("title", "domain", "content")}
    return {"memory_id": memory.uid, "task_id": memory.task, **same, "updated_at": iso(memory.updated_at)}


def tool_result(text: str, structured: dict[str, Any] | None = None) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return result if structured is None else {**result, "structuredContent": structured}
