"""Channels limited to one list (`--list-only`) or to some tools (`--tools`).

Tools that are not named here are refused, so that a new tool reaches nothing by accident.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Forbidden, InvalidRequest, NotFound
from tui_tasks.core.read import ask_queries, message_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Entry
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.requests.arguments import Arguments, task_arguments
from tui_tasks.dialects.requests.task_references import is_full
from tui_tasks.dialects.tool_table import TABLE, Call, Table, Tool

_WITHIN: Final = frozenset(
    {
        *("task", "agent", "memory", "todo", "tasks", "ask"),
        *("get_plans", "get_pending_tasks", "get_my_tasks", "update_task"),
        *("save_session_state", "get_session_state", "link_task_nodes"),
        *("control:hello", "control:subscribe", "control:unsubscribe", "control:history", "control:undo"),
        *("control:answer_of", "control:cancel"),
        *(
            "control:task",
            "control:find",
            "control:lists",
            "control:update_task",
            "control:link",
            "control:claim",
            "control:heartbeat",
            "control:release",
        ),
        "control:request_check",
        "control:work_ready",
    }
)
# The arguments that refer to tasks and lists, beside those that are declared as tasks.
_TASK: Final = ("uid", "task_id", "task", "id")
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
        raise Forbidden(f"this channel is only for the list {handle}, and {tool.name} goes beyond it", list=handle)


def refuse_elsewhere(call: Call, arguments: Arguments, *, was_served: bool = False) -> None:
    """Refuse arguments that name something outside the channel's list.

    In a request repeated under its idempotency key, the beginning of a uid may no longer be one task's.

    Raises:
        NotFound: a task, list or claim belongs to another list, or does not exist.
    """
    handle = call.channel.identity.list
    given = {name: getattr(arguments, name) for name in arguments.__struct_fields__}
    # The arguments that the deprecated tool hands on.
    given |= given.pop("rest", None) or {}
    for name in {*_TASK, *task_arguments(type(arguments))}:
        value = given.get(name)
        for uid in value if isinstance(value, list) else [value]:
            if isinstance(uid, str) and (is_full(uid) or not was_served):
                _require_task(call, uid, "task", uid)
    for name, kind in _LIST.items():
        if given.get(name) not in (None, handle):
            raise NotFound(kind, str(given[name]))
    if isinstance(uid := given.get("claim"), str):
        claim = task_records.find(call.db, uid)
        _require_task(call, claim.task_uid if claim is not None else "", "claim", uid)


def _require_task(call: Call, task_uid: str, kind: str, uid: str) -> None:
    home = call.only_list
    task = task_queries.any_task(call.db, task_uid)
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
        return message_queries.message(db, entry.uid).agent == identity.agent
    if entry.entity == "refusal":
        return entry.actor == identity.agent
    if entry.entity == "ask":
        return ask_queries.ask(db, entry.uid).agent == identity.agent
    return entry.entity == "list" and task_queries.any_list(db, entry.uid).handle == identity.list


def visible_tools(identity: Identity, tools: dict[str, Tool]) -> list[Tool]:
    """Return the tools that an agent may use, which are those that it sees."""
    return [tool for tool in tools.values() if not tool.human and (not identity.list_only or is_within(tool))]


# Words that select several tools; a value that ends with a colon is a prefix of tool names.
GROUPS: Final = {
    "tasklist": ("tasklist:",),
    "task": ("task", "memory"),
    "todo": ("todo",),
    "tasks": ("tasks",),
    "scheduler": ("scheduler:",),
    "control": ("control:",),
    "ask": ("ask", "control:answer_of"),
    "claim": ("control:claim", "control:heartbeat", "control:release"),
}


class SelectedTable(Table):
    """Some tools of another table. The human's tools remain, so that they are refused as forbidden, not as unknown."""

    def __init__(self, table: Table, names: frozenset[str]) -> None:
        super().__init__()
        self._tools = {name: tool for name, tool in table.tools.items() if name in names or tool.human}


def select(words: Iterable[str], table: Table = TABLE) -> SelectedTable:
    """Return the tools selected by words: dialects, tool names with ":" or "_", or the part after the colon.

    Raises:
        InvalidRequest: a word selects no tool; the message names similar ones.
    """
    return SelectedTable(table, frozenset(name for word in words for name in _selected_names(word, table)))


def words_of(given: str) -> list[str]:
    """Return the words of a comma-separated list."""
    return [word.strip() for word in given.split(",") if word.strip()]


def without(table: Table, names: frozenset[str]) -> SelectedTable:
    """Return a table without some tools."""
    return SelectedTable(table, frozenset(table.tools) - names)


def _selected_names(word: str, table: Table) -> list[str]:
    tools = {name: tool for name, tool in table.tools.items() if not tool.human}
    if word in GROUPS:
        return [name for begins in GROUPS[word] for name in tools if _matches(name, begins)]
    plain = word.replace(":", "_")
    if matching := [name for name in tools if name.replace(":", "_") == plain]:
        return matching
    if len(matching := [name for name in tools if name.rpartition(":")[2] == word]) == 1:
        return matching
    raise _unknown(word, tools)


def _matches(name: str, begins: str) -> bool:
    return name.startswith(begins) if begins.endswith(":") else name == begins


def _unknown(word: str, tools: dict[str, Tool]) -> InvalidRequest:
    choices = [*GROUPS, *tools, *(name.rpartition(":")[2] for name in tools)]
    near = difflib.get_close_matches(word.lower(), dict.fromkeys(choices), n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return InvalidRequest(f"no tool or dialect {word!r}{hint or '.'} Dialects: {', '.join(GROUPS)}")
