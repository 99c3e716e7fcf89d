"""What each dialect asks of the model: docs: protocol, section 6, as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.dialects.model import HUMAN, Call
from tests.dialects.model_plans import PLAN_TOOLS
from tests.dialects.model_shapes import (
    MEANT,
    PRIORITIES,
    as_entry,
    as_memory,
    as_task,
    as_tasklist,
    as_todo,
    meant,
    priority_word,
    tool_result,
)
from tests.dialects.model_state import Home, Refused, Task

# tasklist


def add_task(call: Call, name: str, description: str = "") -> Any:
    return as_tasklist(call.model.make_task(call.made("tasklist"), name, description=description))


def _add_beside(by: int) -> Callable[..., Any]:
    def add(call: Call, uid: str, name: str, description: str = "") -> Any:
        home = call.model.home_of(call.model.task(uid))
        return as_tasklist(call.model.make_task(home, name, home.order.index(uid) + by, description=description))

    return add


def update_task(call: Call, uid: str, **changes: str) -> Any:
    if not changes:
        raise Refused("invalid_argument", *(() if uid in call.state.tasks else ("not_found",)))
    if "status" in changes:
        changes["status"] = meant("tasklist", changes["status"], call.model.task(uid).status)
    return as_tasklist(call.model.edit(uid, **changes))


def _setter(status: str) -> Callable[..., Any]:
    return lambda call, uid: update_task(call, uid, status=status)


def delete_task(call: Call, uid: str) -> Any:
    return as_tasklist(call.model.delete(uid))


def swap_tasks(call: Call, uid1: str, uid2: str) -> Any:
    return [as_tasklist(task) for task in call.model.swap(uid1, uid2)]


def get_tasks(call: Call, status: list[str]) -> Any:
    return [shown for shown in display(call) if shown["status"] in status]


def display(call: Call) -> list[dict[str, Any]]:
    return [as_tasklist(task) for task in call.own("tasklist")]


def get_task_in_progress(call: Call) -> Any:
    home = call.home("tasklist")
    found = (call.state.in_progress_for(home, name) for name in (call.agent, HUMAN) if home)
    return next((as_tasklist(task) for task in found if task), None)


def get_task_logs(call: Call, uid: str) -> Any:
    return [as_entry(entry) for _, entry in sorted(call.model.task(uid).log.items())]


def clear(call: Call) -> Any:
    tasks = [task for task in call.own("tasklist") if not call.model.waits_for_human(task, {"deleted"})]
    problems = [problem for task in tasks for problem in call.model.unwritable(task)]
    if problems:
        raise Refused(*problems)
    return {"deleted": len([call.model.delete(task.uid) for task in tasks])}


# task, agent, memory


def task(call: Call, action: str, **given: Any) -> Any:
    return {"create": _create, "update": _update, "list": _list}[action](call, **given)


def agent(call: Call, action: str, **given: Any) -> Any:
    return task(call, {"create_task": "create", "update_task": "update", "list_tasks": "list"}[action], **given)


def _create(call: Call, title: str, status: str = "open", priority: str = "medium", **given: Any) -> Any:
    fields = {"status": meant("task", status), "priority": PRIORITIES[priority], **given}
    made = call.model.make_task(call.made("task"), title, **fields)
    lines = [f"Task created: {title} ({made.uid})", f"Priority: {priority}", f"Status: {status}"]
    if made.domain is not None:
        lines.append(f"Domain: {made.domain}")
    return tool_result("\n".join(lines), {"task": as_task(made)})


def _update(call: Call, task_id: str, **given: Any) -> Any:
    if not given:
        raise Refused("invalid_argument", *(() if task_id in call.state.tasks else ("not_found",)))
    found = call.model.task(task_id)
    changes = {"name" if name == "title" else name: value for name, value in given.items()}
    if "status" in given:
        changes["status"] = meant("task", given["status"], found.status)
    if "priority" in given:
        same = priority_word(found.priority) == given["priority"]
        changes["priority"] = found.priority if same else PRIORITIES[given["priority"]]
    call.model.edit(task_id, **changes)
    completing = found.status == "done" and (given.get("status") == "completed" or "result" in given)
    memory = call.state.memories.get(task_id) if completing else None
    parts = [
        f"{name} → {', '.join(given[name]) if name == 'tags' else given[name]}"
        for name in ("title", "status", "priority", "domain", "tags")
        if name in given
    ]
    parts += [
        name for name in ("description", "result", "metadata") if name in given and (name != "result" or not memory)
    ]
    text = f"Task {task_id} updated{': ' if parts else ''}{', '.join(parts)}."
    structured: dict[str, Any] = {"task": as_task(found)}
    if memory:
        text += f"\nResult saved as memory {memory.uid}{f' in domain: {memory.domain}' if memory.domain else ''}."
        structured["memory_id"] = memory.uid
    return tool_result(text, structured)


def _list(
    call: Call, limit: int | None = None, query: str | None = None, tags: tuple[str, ...] = (), **given: str
) -> Any:
    found = sorted(call.own("task"), key=lambda task: (task.priority, task.age))
    shown = [as_task(task) for task in found]
    shown = [task for task in shown if all(task[name] == value for name, value in given.items())]
    shown = [task for task in shown if set(tags) <= set(task["tags"])]
    if query is not None:
        shown = [
            task for task in shown if any(query.lower() in task[name].lower() for name in ("title", "description"))
        ]
    words = [given["status"].replace("_", " ")] if "status" in given else []
    words += [f"{given['priority']}-priority"] if "priority" in given else []
    words += ["task" if len(shown) == 1 else "tasks"]
    words += [f"in {given['domain']}"] if "domain" in given else []
    words += [f"tagged {', '.join(tags)}"] if tags else []
    words += [f'matching "{query}"'] if query is not None else []
    structured = {"tasks": shown[:limit], "total": len(shown)}
    if not shown:
        return tool_result(f"No {' '.join(words)}.", structured)
    parts = [f"{len(shown)} {' '.join(words)}:"]
    for number, task in enumerate(shown[:limit], 1):
        line = f"{number}. [{task['task_id']}] {task['title']} ({task['priority']})"
        parts.append(line + (f"\n Tags: {', '.join(task['tags'])}" if task["tags"] else ""))
    if limit is not None and limit < len(shown):
        parts.append(f"(showing {limit} of {len(shown)})")
    return tool_result("\n\n".join(parts), structured)


def memory(call: Call, action: str, memory_id: str = "", query: str | None = None, limit: int | None = None) -> Any:
    found = sorted(call.state.memories.values(), key=lambda memory: (-memory.updated_at, -memory.age))
    if action == "get":
        one = [as_memory(memory) for memory in found if memory.uid == memory_id]
        if not one:
            raise Refused("not_found", id=memory_id)
        return one[0]
    if query is not None:
        found = [memory for memory in found if query.lower() in f"{memory.title}\0{memory.content}".lower()]
    return {"memories": [as_memory(memory) for memory in found[:limit]], "total": len(found)}


# todo


def todo(call: Call, merge: bool, todos: list[dict[str, str]]) -> Any:
    ids = [item["id"] for item in todos]
    wrong = any("status" in item and item["status"] not in MEANT["todo"] for item in todos)
    if len(todos) < 2 or len(set(ids)) < len(ids) or wrong or (not merge and any(len(item) < 3 for item in todos)):
        raise Refused("invalid_argument")
    home = call.made("todo")
    there = {name: task for task in call.state.in_order(home) for name in (task.uid, task.key) if name is not None}
    kept = [there[item["id"]].uid for item in todos if item["id"] in there]
    if len(set(kept)) < len(kept) or any(len(item) < 3 for item in todos if item["id"] not in there):
        raise Refused("invalid_argument")
    problems = [problem for task in call.state.in_order(home) for problem in call.model.unwritable(task)]
    try:
        for uid in [uid for uid in home.order if uid not in kept and not merge]:
            call.model.delete(uid)
        uids = _write_items(call, home, todos, there)
        if not merge:
            _reorder(call, home, uids)
    except Refused as refused:
        # Which of several comes first is left open.
        raise Refused(*refused.codes, *problems) from None
    if call.state.breaks_rule(home):
        raise Refused("conflict")
    shown = [as_todo(task) for task in call.state.in_order(home)]
    return {"success": True, "todos": shown, "metadata": {"checkpoint_path": ":memory:", "merge": merge}}


def _write_items(call: Call, home: Home, todos: list[dict[str, str]], there: dict[str, Task]) -> list[str]:
    """Write the items, the rule of one in progress apart: it holds for what is there in the end."""
    uids = []
    solo, home.solo = home.solo, False
    for item in todos:
        task = there.get(item["id"])
        if task is None:
            status = meant("todo", item["status"])
            task = call.model.make_task(home, item["content"], status=status, key=item["id"])
        else:
            status = meant("todo", item["status"], task.status) if "status" in item else task.status
            changes = {"name": item.get("content", task.name), "status": status}
            if any(getattr(task, name) != value for name, value in changes.items()):
                call.model.edit(task.uid, **changes)
        uids.append(task.uid)
    home.solo = solo
    return uids


def _reorder(call: Call, home: Home, uids: list[str]) -> None:
    """Which tasks change their places is left open, but those that do not stand in order already."""
    if home.order == uids:
        assert not call.seen.moved, "moved though the order was right"
        return
    if not call.seen.ok and (problems := [p for uid in uids for p in call.model.unwritable(call.state.tasks[uid])]):
        raise Refused(*problems)
    stay = [uid for uid in home.order if uid not in call.seen.moved]
    assert not call.seen.ok or stay == [uid for uid in uids if uid in stay], "fewer moved than would do"
    for uid in call.seen.moved & set(uids):
        call.model.moved(call.model.writable(uid))
    home.order[:] = uids


TOOLS: dict[str, Callable[..., Any]] = {
    "tasklist:add_task": add_task,
    "tasklist:add_task_before": _add_beside(0),
    "tasklist:add_task_after": _add_beside(1),
    "tasklist:update_task": update_task,
    **{f"tasklist:set_task_{status}": _setter(status) for status in MEANT["tasklist"]},
    "tasklist:delete_task": delete_task,
    "tasklist:swap_tasks": swap_tasks,
    "tasklist:log_task_progress": lambda call, uid, message: as_entry(call.model.log(uid, message)),
    "tasklist:get_task_logs": get_task_logs,
    "tasklist:get_task": lambda call, uid: as_tasklist(call.model.task(uid)),
    "tasklist:get_tasks": get_tasks,
    "tasklist:get_task_in_progress": get_task_in_progress,
    "tasklist:display": display,
    "tasklist:clear": clear,
    "task": task,
    "agent": agent,
    "memory": memory,
    "todo": todo,
    **PLAN_TOOLS,
}
