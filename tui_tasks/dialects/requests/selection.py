"""The option `--tools`: selects the tools that a channel serves, by dialect or by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from tui_tasks.core.errors import InvalidRequest
from tui_tasks.dialects.base import Table, Tool
from tui_tasks.dialects.table import TABLE

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
    if found := [name for name in tools if name.replace(":", "_") == plain]:
        return found
    if len(found := [name for name in tools if name.rpartition(":")[2] == word]) == 1:
        return found
    raise _unknown(word, tools)


def _matches(name: str, begins: str) -> bool:
    return name.startswith(begins) if begins.endswith(":") else name == begins


def _unknown(word: str, tools: dict[str, Tool]) -> InvalidRequest:
    choices = [*GROUPS, *tools, *(name.rpartition(":")[2] for name in tools)]
    near = difflib.get_close_matches(word.lower(), dict.fromkeys(choices), n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return InvalidRequest(f"no tool or dialect {word!r}{hint or '.'} Dialects: {', '.join(GROUPS)}")
