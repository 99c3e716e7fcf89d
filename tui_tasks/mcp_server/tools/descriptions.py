"""The tools as MCP lists them: names, titles, schemas and hints."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

import mcp_types as types

from tui_tasks.channel import requests
from tui_tasks.dialects.base import Tool
from tui_tasks.dialects.requests.arguments import schema, without_words
from tui_tasks.mcp_server.tools.outputs import schema_of
from tui_tasks.mcp_server.tools.wording import for_mcp, mcp_name

# Over MCP, changes are notified by subscriptions to resources.
NOT_OVER_MCP: Final = frozenset({"control:subscribe", "control:unsubscribe"})
# Keys that are beside the arguments on the channel: over MCP in a client's `_meta`, or among a model's arguments.
ENVELOPE_ARGUMENTS: Final[tuple[str, ...]] = (
    "agent",
    "list",
    "if_version",
    "idempotency_key",
    *requests.REASONING_KEYS,
)
# Tools whose effect the agent cannot undo; the human can undo all of them.
_DESTRUCTIVE: Final = frozenset({"tasklist:delete_task", "tasklist:clear", "todo", "scheduler:delete_task"})
# Tools of which a second equal call changes nothing more.
_IDEMPOTENT: Final = frozenset(
    {
        *("tasklist:update_task", "control:update_task", "control:heartbeat", "update_task", "link_task_nodes", "todo"),
        *("save_session_state", "scheduler:update_task", "scheduler:enable_task", "scheduler:disable_task"),
    }
)


def envelope_arguments(tool: Tool) -> frozenset[str]:
    """Return the keys of the envelope that a tool takes among its arguments."""
    if not tool.ever_writes:
        return frozenset()
    return frozenset(
        {"idempotency_key", *requests.REASONING_KEYS} | ({"if_version"} if tool.ever_names_task else set())
    )


def input_schema(tool: Tool) -> dict[str, Any]:
    """Return the input schema of a tool.

    It allows other properties, so that clients send the keys of the envelope, too; unknown arguments are refused by the
    tool.
    """
    adapted: dict[str, Any] = _for_mcp(schema(tool.arguments))
    return adapted


def _for_mcp(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            key: for_mcp(value) if key == "description" and isinstance(value, str) else _for_mcp(value)
            for key, value in part.items()
            # Nested objects likewise: the tool refuses unknown keys.
            if key != "additionalProperties"
        }
    return part


def mcp_tool(tool: Tool, among: Container[str] = (), *, structured: bool = False) -> types.Tool:
    """Return a tool as in `tools/list`. What the description of another listed tool (`among`) says is not repeated.

    `structured`: with the schema of its result.
    """
    told, taken = for_mcp(tool.description), input_schema(tool)
    if tool.same_as is not None and tool.same_as[0] in among:
        first = " ".join(told.split()).partition(". ")[0].rstrip(".")
        told, taken = "{}, as `{}` {} does.".format(first, *tool.same_as), without_words(taken)
    return types.Tool(
        name=mcp_name(tool.name),
        title=_title(tool.name),
        description=told,
        input_schema=taken,
        output_schema=schema_of(tool) if structured else None,
        annotations=_annotations(tool),
    )


def _title(name: str) -> str:
    return name.rpartition(":")[2].replace("_", " ").capitalize()


def _annotations(tool: Tool) -> types.ToolAnnotations:
    """Return the hints that differ from MCP's defaults: that a tool writes, destroys, and is not idempotent."""
    if not tool.ever_writes:
        return types.ToolAnnotations(read_only_hint=True)
    is_idempotent = tool.name in _IDEMPOTENT or tool.name.startswith("tasklist:set_task_")
    return types.ToolAnnotations(
        destructive_hint=tool.name in _DESTRUCTIVE, idempotent_hint=True if is_idempotent else None
    )
