"""The tools as MCP lists them: their names, descriptions, schemas and costs."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import cache
from typing import Any, Final

import mcp_types as types

from tui_tasks.dialects.requests import REASONING_KEYS, confinement
from tui_tasks.dialects.requests.arguments import schema, without_words
from tui_tasks.dialects.tool_table import TABLE, Table, Tool, object_of


def schema_of(tool: Tool) -> dict[str, Any]:
    """Return the output schema of a tool."""
    if tool.output.get("type") == "object":
        return tool.output
    return object_of("result", result=tool.output)


def data_of(tool: Tool, result: Any) -> dict[str, Any]:
    """Return a result in the form of that schema."""
    is_plain = tool.output.get("type") == "object" and isinstance(result, dict)
    return result if is_plain else {"result": result}


# The lines of the instructions, each with the tool that it is about. Under 150 words in all.
_INSTRUCTIONS: Final = (
    ("", "Live task lists that you share with a human, who sees every change at once, and with other agents."),
    ("", "- Plan in steps. Set a task in_progress when you start it, then done, failed or skipped; log why it failed."),
    (
        "control:claim",
        "- Several agents at work: take tasks by claiming them, and send a heartbeat before the lease ends.",
    ),
    ("ask", "- Decisions that are not yours: `ask` the human. Given a ticket, go on, and read the answer later."),
    ("", "- A refusal changes nothing and says what is in the way; `paused` means: stop until resumed."),
    ("", "- A task goes by its uid, the first 6 or more characters of it, or its number, `#3`."),
    (
        "",
        "- Tools that write also take `thoughts` (why you do it; the human reads it), `idempotency_key` (done once "
        "however often it is sent) and, for one task, `if_version`.",
    ),
)


def instructions(tools: Container[str]) -> str:
    """Return the instructions for an agent with those tools."""
    return "\n".join(line for tool, line in _INSTRUCTIONS if not tool or tool in tools)


# Text about the envelope, which MCP does not have.
_ENVELOPE: Final = re.compile(r'[;:] (?:it goes|arguments go) under "arguments"(?:, beside "action"|, as \{[^}]*\})?')


def mcp_name(tool: str) -> str:
    """Return a tool's name on MCP, which allows no colon."""
    return tool.replace(":", "_")


@cache
def _names() -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(name for name in TABLE.tools if ":" in name) + r")\b")


def for_mcp(text: str) -> str:
    """Return a text of the program adapted to MCP."""
    return _ENVELOPE.sub("", _names().sub(lambda match: mcp_name(match[0]), text))


# MCP has notifications of its own: of changed resources, and that a request is cancelled.
NOT_OVER_MCP: Final = frozenset({"control:subscribe", "control:unsubscribe", "control:cancel"})
# Keys that are beside the arguments on the channel: over MCP in a client's `_meta`, or among a model's arguments.
ENVELOPE_ARGUMENTS: Final[tuple[str, ...]] = ("agent", "list", "if_version", "idempotency_key", *REASONING_KEYS)
_ENVELOPE_SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "thoughts": {"type": "string", "description": "Why you do it. Each tool that writes takes it, and the next two."},
    "idempotency_key": {"type": "string", "description": "Repeating the call with the same key writes nothing more."},
    "if_version": {"type": "integer", "description": "Write only if the task still has this version."},
}


def envelope_arguments(tool: Tool) -> frozenset[str]:
    """Return the keys of the envelope that a tool takes among its arguments."""
    if not tool.ever_writes:
        return frozenset()
    return frozenset({"idempotency_key", *REASONING_KEYS} | ({"if_version"} if tool.ever_names_task else set()))


def mcp_tools(tools: Sequence[Tool], *, structured: bool = False) -> list[types.Tool]:
    """Return tools as in `tools/list`. `structured`: with the schemas of their results.

    One tool has the keys of the envelope in its schema: the first that takes all of them, else the first that takes
    any. That is enough for a model whose client does not show it the server's instructions.
    """
    names = {tool.name for tool in tools}
    listed = {tool.name: mcp_tool(tool, names, structured=structured) for tool in tools}
    takers = [tool for tool in tools if envelope_arguments(tool)]
    if takers:
        taker = next((tool for tool in takers if tool.ever_names_task), takers[0])
        shown, taken = listed[taker.name], envelope_arguments(taker)
        described = {name: schema for name, schema in _ENVELOPE_SCHEMAS.items() if name in taken}
        shown.input_schema = {
            **shown.input_schema,
            "properties": {**shown.input_schema.get("properties", {}), **described},
        }
    return list(listed.values())


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
    summary, taken = for_mcp(tool.description), input_schema(tool)
    if tool.same_as is not None and tool.same_as[0] in among:
        first = " ".join(summary.split()).partition(". ")[0].rstrip(".")
        summary, taken = "{}, as `{}` {} does.".format(first, *tool.same_as), without_words(taken)
    return types.Tool(
        name=mcp_name(tool.name),
        title=_title(tool.name),
        description=summary,
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
    return types.ToolAnnotations(destructive_hint=tool.destructive, idempotent_hint=tool.idempotent or None)


# What is counted with each dialect: together enough for one agent's work.
_BEYOND: Final = "ask,claim"
_DIALECTS: Final = ("tasklist", "task", "todo", "tasks", "scheduler")


def tokens(table: Table) -> dict[str, int]:
    """Return the cost of each tool of a table in tokens, by name."""
    tools = [tool for tool in table.tools.values() if not tool.human and tool.name not in NOT_OVER_MCP]
    return {
        tool.name: round(len(listed.model_dump_json(by_alias=True, exclude_none=True)) / 4)
        for tool, listed in zip(tools, mcp_tools(tools), strict=True)
    }


def costs() -> Iterator[tuple[str, int, int]]:
    """Yield the values of `--tools`, each with its number of tools and their cost in tokens."""
    yield "(all)", *_sum(TABLE)
    for dialect in _DIALECTS:
        words = f"{dialect},{_BEYOND}"
        yield words, *_sum(confinement.select(confinement.words_of(words)))


def _sum(table: Table) -> tuple[int, int]:
    total = tokens(table)
    return len(total), sum(total.values())


def text(words: str | None) -> str:
    """Return the costs as a table: of the named tools one by one, or of each dialect."""
    if words is None:
        rows = [f"| `{chosen}` | {tools} | {cost:,} |" for chosen, tools, cost in costs()]
        return "\n".join(["| `--tools` | tools | tokens |", "| --- | --- | --- |", *rows])
    total = tokens(confinement.select(confinement.words_of(words)))
    rows = [f"| `{name}` | {cost:,} |" for name, cost in total.items()]
    return "\n".join(["| tool | tokens |", "| --- | --- |", *rows, f"| together | {sum(total.values()):,} |"])
