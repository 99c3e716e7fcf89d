"""Channels limited to one list (docs: protocol, section 2, `--list-only`): which tools and events they have.

Tools that are not named here are refused, so that a new tool reaches nothing by accident.
"""

from __future__ import annotations

from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Forbidden, NotFound
from tui_tasks.core.read import asks, messages
from tui_tasks.core.read.tasks import claims, queries
from tui_tasks.core.snapshots import Entry
from tui_tasks.dialects.base import Call, Tool
from tui_tasks.dialects.requests.arguments import Arguments
from tui_tasks.dialects.requests.identity import Identity
from tui_tasks.dialects.requests.task_references import is_full

_WITHIN: Final = frozenset(
    {
        *("task", "agent", "memory", "todo", "tasks", "ask"),
        *("get_plans", "get_pending_tasks", "get_my_tasks", "update_task"),
        *("save_session_state", "get_session_state", "link_task_nodes"),
        *("control:hello", "control:subscribe", "control:unsubscribe", "control:history", "control:undo"),
        "control:answer_of",
        *(
            "control:task",
            "control:update_task",
            "control:link",
            "control:claim",
            "control:heartbeat",
            "control:release",
        ),
        "control:request_check",
    }
)
# The arguments that refer to tasks and lists, in every tool.
_TASK: Final = ("uid", "uid1", "uid2", "task_id", "task", "id")
_LIST: Final = {"list": "list", "plan_id": "plan"}


def is_within(tool: Tool) -> bool:
    """Return whether a tool works on one list, or can be limited to one."""
    return tool.name in _WITHIN or tool.name.startswith("tasklist:")


def refuse_beyond(tool: Tool, arguments: Arguments, handle: str | None) -> None:
    """Refuse a tool or action that reaches beyond the list with that handle.

    Raises:
        Forbidden: it does.
    """
    if not is_within(tool) or (tool.name == "tasks" and getattr(arguments, "action", "") == "create_plan"):
        raise Forbidden(f"this channel is for the list {handle} alone, and {tool.name} goes beyond it", list=handle)


def refuse_elsewhere(call: Call, arguments: Arguments, *, was_served: bool = False) -> None:
    """Refuse arguments that name something outside the channel's list.

    In a request repeated under its idempotency key, a number may name a task that no longer has it.

    Raises:
        NotFound: a task, list or claim belongs to another list, or does not exist.
    """
    handle = call.channel.identity.list
    given = {name: getattr(arguments, name) for name in arguments.__struct_fields__}
    # The arguments that the deprecated tool hands on.
    given |= given.pop("rest", None) or {}
    for name in _TASK:
        if isinstance(uid := given.get(name), str) and (is_full(uid) or not was_served):
            _require_task(call, uid, "task", uid)
    for name, kind in _LIST.items():
        if given.get(name) not in (None, handle):
            raise NotFound(kind, str(given[name]))
    if isinstance(uid := given.get("claim"), str):
        claim = claims.find(call.db, uid)
        _require_task(call, claim.task_uid if claim is not None else "", "claim", uid)


def _require_task(call: Call, task_uid: str, kind: str, uid: str) -> None:
    home = call.only_list
    task = queries.any_task(call.db, task_uid)
    if home is None or task is None or task.list_id != home.id:
        raise NotFound(kind, uid)


def is_visible(db: Database, identity: Identity, entry: Entry) -> bool:
    """Return whether a channel receives an entry: one about a task that was in its list then, or about its agent."""
    if not identity.list_only:
        return True
    if entry.image is not None:
        return bool(entry.image.get("list") == identity.list)
    if entry.entity in ("message", "agent"):
        return entry.uid == identity.agent
    if entry.entity == "human_message":
        return messages.message(db, entry.uid).agent == identity.agent
    if entry.entity == "refusal":
        return entry.actor == identity.agent
    if entry.entity == "ask":
        return asks.ask(db, entry.uid).agent == identity.agent
    return entry.entity == "list" and queries.any_list(db, entry.uid).handle == identity.list


def visible_tools(identity: Identity, tools: dict[str, Tool]) -> list[Tool]:
    """Return the tools that an agent may use, which are those that it sees."""
    return [tool for tool in tools.values() if not tool.human and (not identity.list_only or is_within(tool))]
