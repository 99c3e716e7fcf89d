"""What the tools cost an agent before its first message: `tools/list` in tokens, counted as bytes / 4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tui_tasks.dialects.base import Table
from tui_tasks.dialects.requests import selection
from tui_tasks.dialects.table import TABLE
from tui_tasks.mcp_server.tools.descriptions import NOT_OVER_MCP, mcp_tool

# What is counted with each dialect: together enough for one agent's work.
_BEYOND: Final = "ask,claim"
_DIALECTS: Final = ("tasklist", "task", "todo", "tasks", "scheduler")


def tokens(table: Table) -> dict[str, int]:
    """Return the cost of each tool of a table in tokens, by name."""
    names = {tool.name for tool in table.tools.values() if not tool.human} - NOT_OVER_MCP
    return {
        name: round(len(mcp_tool(table.tools[name], names).model_dump_json(by_alias=True, exclude_none=True)) / 4)
        for name in table.tools
        if name in names
    }


def costs() -> Iterator[tuple[str, int, int]]:
    """Yield the values of `--tools`, each with its number of tools and their cost in tokens."""
    yield "(all)", *_sum(TABLE)
    for dialect in _DIALECTS:
        words = f"{dialect},{_BEYOND}"
        yield words, *_sum(selection.select(selection.words_of(words)))


def _sum(table: Table) -> tuple[int, int]:
    found = tokens(table)
    return len(found), sum(found.values())


def text(words: str | None) -> str:
    """Return the costs as a table: of the named tools one by one, or of each dialect."""
    if words is None:
        rows = [f"| `{chosen}` | {tools} | {cost:,} |" for chosen, tools, cost in costs()]
        return "\n".join(["| `--tools` | tools | tokens |", "| --- | --- | --- |", *rows])
    found = tokens(selection.select(selection.words_of(words)))
    rows = [f"| `{name}` | {cost:,} |" for name, cost in found.items()]
    return "\n".join(["| tool | tokens |", "| --- | --- |", *rows, f"| together | {sum(found.values()):,} |"])
