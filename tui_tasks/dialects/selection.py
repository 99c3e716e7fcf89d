"""`--tools`: the tools that a channel serves, by dialects and by single names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from tui_tasks.core.errors import InvalidRequest
from tui_tasks.dialects.base import Table, Tool
from tui_tasks.dialects.table import TABLE

# Words that stand for several tools; a name that ends with a colon stands for all that begin so.
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
    """Some of the tools of another table; the human's verbs stay known, so that they are refused as what they are."""

    def __init__(self, table: Table, names: frozenset[str]) -> None:
        super().__init__()
        self._tools = {name: tool for name, tool in table.tools.items() if name in names or tool.human}


def select(words: Iterable[str], table: Table = TABLE) -> SelectedTable:
    """The tools that some words name: dialects, names of tools on any door, or what follows their colon.

    Raises:
        InvalidRequest: a word names none; the message has the nearest.
    """
    return SelectedTable(table, frozenset(name for word in words for name in _named(word, table)))


def words_of(given: str) -> list[str]:
    """The words of a list with commas."""
    return [word.strip() for word in given.split(",") if word.strip()]


def without(table: Table, names: frozenset[str]) -> SelectedTable:
    """A table without some tools."""
    return SelectedTable(table, frozenset(table.tools) - names)


def _named(word: str, table: Table) -> list[str]:
    tools = {name: tool for name, tool in table.tools.items() if not tool.human}
    if word in GROUPS:
        return [name for begins in GROUPS[word] for name in tools if _is_meant(name, begins)]
    plain = word.replace(":", "_")
    if found := [name for name in tools if name.replace(":", "_") == plain]:
        return found
    if len(found := [name for name in tools if name.rpartition(":")[2] == word]) == 1:
        return found
    raise _unknown(word, tools)


def _is_meant(name: str, begins: str) -> bool:
    return name.startswith(begins) if begins.endswith(":") else name == begins


def _unknown(word: str, tools: dict[str, Tool]) -> InvalidRequest:
    choices = [*GROUPS, *tools, *(name.rpartition(":")[2] for name in tools)]
    near = difflib.get_close_matches(word.lower(), dict.fromkeys(choices), n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return InvalidRequest(f"no tool or dialect {word!r}{hint or '.'} Dialects: {', '.join(GROUPS)}")
