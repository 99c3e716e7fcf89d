"""The JSON Schemas of requests, replies and events: `python -m tests.docs.tools_page` writes them anew."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from tests.contract.client import ROOT
from tests.docs import command_schemas
from tui_tasks.core import errors
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.tool_table import TABLE, Tool
from tui_tasks.mcp_server import tool_listing as outputs

FILE: Final = ROOT / "tui_tasks" / "docs" / "schema.json"
_EVENTS: Final = ROOT / "tui_tasks" / "docs" / "events-and-errors.md"
_INSTANT: Final = {"type": "string", "description": "ISO 8601 with offset"}
_ID: Final = {"type": ["string", "integer", "null"]}
_SEQ: Final = {"type": "integer", "minimum": 0}


def document() -> dict[str, Any]:
    """All of them in one object."""
    tools = [tool for tool in TABLE.tools.values() if not tool.human]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tui-tasks control channel, protocol 1",
        "requests": {tool.name: _request(tool) for tool in tools},
        "replies": {tool.name: _reply(outputs.schema_of(tool), tool) for tool in tools},
        "refusal": _refusal(),
        "event": _event(),
        "commands": command_schemas.COMMANDS,
        "$defs": command_schemas.DEFINITIONS,
    }


def _request(tool: Tool) -> dict[str, Any]:
    arguments = schema(tool.arguments)
    needed = ["tool", *(["arguments"] if arguments.get("required") else [])]
    beside: dict[str, Any] = {"id": {"type": ["string", "integer"]}, "agent": _text(), "list": _text()}
    if tool.ever_names_task:
        beside["if_version"] = {"type": "integer"}
    if tool.ever_writes:
        beside["idempotency_key"] = _text()
    beside |= {key: {} for key in ("topic", "observations", "thoughts", "reflection")}
    properties = {"tool": {"const": tool.name}, "arguments": arguments, **beside}
    return {"type": "object", "properties": properties, "required": needed}


def _text() -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": 10_000}


def _reply(shape: dict[str, Any], tool: Tool) -> dict[str, Any]:
    wrapped = shape.get("required") == ["result"] and list(shape.get("properties", ())) == ["result"]
    properties = {"id": _ID, "ok": {"const": True}, "result": shape["properties"]["result"] if wrapped else shape}
    if tool.name in ("task", "agent"):
        # As seed 001 has it: MCP's shape.
        properties["result"] = {"type": "object", "required": ["content"]}
    return {"type": "object", "properties": {**properties, **_beside()}, "required": ["id", "ok", "result", "seq"]}


def _beside() -> dict[str, Any]:
    message = {"type": "object", "properties": {"at": _INSTANT, "text": {"type": "string"}}, "required": ["at", "text"]}
    return {"seq": _SEQ, "note": {"type": "string"}, "messages": {"type": "array", "items": message}}


def _refusal() -> dict[str, Any]:
    def codes(kind: type[errors.Refusal]) -> set[str]:
        return {kind.code}.union(*(codes(sub) for sub in kind.__subclasses__()))

    error = {
        "type": "object",
        "properties": {
            "code": {"enum": sorted(codes(errors.Refusal))},
            "message": {"type": "string"},
            "data": {"type": "object"},
        },
        "required": ["code", "message", "data"],
    }
    properties = {"id": _ID, "ok": {"const": False}, "error": error, "result": {}, **_beside()}
    return {"type": "object", "properties": properties, "required": ["id", "ok", "error", "seq"]}


def _event() -> dict[str, Any]:
    table = re.findall(r"^\| (`[a-z_.]+`.*?) \| (.*?) \|", _EVENTS.read_text().partition("## Errors")[0], re.MULTILINE)
    kinds = sorted({kind for names, _ in table for kind in re.findall(r"`([a-z]+(?:\.[a-z]+)+|message)`", names)})
    properties = {
        "event": {"enum": [*kinds, "lagged"]},
        "seq": _SEQ,
        "at": _INSTANT,
        "actor": {"type": "string"},
        "task": {"type": ["object", "null"]},
        "changes": {"type": "object", "additionalProperties": {"type": "array", "minItems": 2, "maxItems": 2}},
        "why": {"type": ["object", "null"]},
    }
    return {"type": "object", "properties": properties, "required": ["event"]}


def text() -> str:
    """The file."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"
