"""The tools as MCP lists them: names, titles, schemas and hints."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

import mcp_types as types

from tui_tasks.channel import requests
from tui_tasks.dialects.base import Tool
from tui_tasks.dialects.requests.arguments import schema, without_words
from tui_tasks.mcp_server.tools.outputs import schema_of
from tui_tasks.mcp_server.tools.wording import mcp_name, reworded

# MCP tells of changes by resources that are subscribed to.
NOT_OVER_MCP: Final = frozenset({"control:subscribe", "control:unsubscribe"})
# What stands beside the arguments on the channel: a client says it in `_meta`, a model among the arguments.
BESIDE: Final[tuple[str, ...]] = ("agent", "list", "if_version", "idempotency_key", *requests.REASONING_KEYS)
# What is lost by a call that was not meant: the human can bring back all of it, but the agent cannot.
_DESTRUCTIVE: Final = frozenset({"tasklist:delete_task", "tasklist:clear", "todo", "scheduler:delete_task"})
# A second call of the same kind changes nothing more.
_IDEMPOTENT: Final = frozenset(
    {
        *("tasklist:update_task", "control:update_task", "control:heartbeat", "update_task", "link_task_nodes", "todo"),
        *("save_session_state", "scheduler:update_task", "scheduler:enable_task", "scheduler:disable_task"),
    }
)


def beside(tool: Tool) -> frozenset[str]:
    """What a tool takes among its arguments that is not one of them."""
    if not tool.ever_writes:
        return frozenset()
    return frozenset(
        {"idempotency_key", *requests.REASONING_KEYS} | ({"if_version"} if tool.ever_names_task else set())
    )


def input_schema(tool: Tool) -> dict[str, Any]:
    """What a tool takes over MCP.

    It is open, so that a client sends what stands beside the arguments too; an unknown argument is refused all the
    same.
    """
    reworded_schema: dict[str, Any] = _reworded(schema(tool.arguments))
    return reworded_schema


def _reworded(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            key: reworded(value) if key == "description" and isinstance(value, str) else _reworded(value)
            for key, value in part.items()
            # Within as without: an unknown key is refused all the same.
            if key != "additionalProperties"
        }
    return part


def described(tool: Tool, among: Container[str] = (), *, structured: bool = False) -> types.Tool:
    """A tool as `tools/list` has it, among others of those names: what one of them tells in full is not told again.

    Where results are `structured`, it says what they look like.
    """
    told, taken = reworded(tool.description), input_schema(tool)
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
    """Hints where they differ from what MCP takes for granted: that a tool writes, destroys, and is not idempotent."""
    if not tool.ever_writes:
        return types.ToolAnnotations(read_only_hint=True)
    is_idempotent = tool.name in _IDEMPOTENT or tool.name.startswith("tasklist:set_task_")
    return types.ToolAnnotations(
        destructive_hint=tool.name in _DESTRUCTIVE, idempotent_hint=True if is_idempotent else None
    )
