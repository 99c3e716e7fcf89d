"""Refuses unknown tool names, with suggestions: models write the names of tools in many ways."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from tui_tasks.core.errors import UnknownTool
from tui_tasks.dialects.base import Table

_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
# Words that models write for words of tool names.
_SYNONYMS: Final = {
    **dict.fromkeys(("create", "new", "insert", "append", "write"), "add"),
    **dict.fromkeys(("remove", "del", "drop"), "delete"),
    **dict.fromkeys(("list", "show", "all", "view", "read"), "get"),
    **dict.fromkeys(("edit", "modify", "change", "set"), "update"),
    **dict.fromkeys(("complete", "completed", "finish", "finished", "close"), "done"),
    **dict.fromkeys(("start", "begin", "wip"), "progress"),
    **dict.fromkeys(("todos", "todowrite"), "todo"),
}
# Names without a word in common with the meant tool.
_ALIASES: Final = {
    **dict.fromkeys(("help", "tools", "tools_list", "list_tools", "control_help", "commands"), ("control:hello",)),
    **dict.fromkeys(("create_task", "new_task", "add_task"), ("tasklist:add_task", "task")),
    **dict.fromkeys(("task_create", "task_add", "task_new", "task_update", "task_list"), ("task",)),
    **dict.fromkeys(("list_tasks", "tasks_list", "get_tasks"), ("tasklist:display", "task", "tasks")),
    **dict.fromkeys(("complete_task", "finish_task", "tasklist_complete_task"), ("tasklist:set_task_done", "task")),
    **dict.fromkeys(("tasklist_start_task", "start_task"), ("tasklist:set_task_in_progress", "control:claim")),
    **dict.fromkeys(("tasklist_list", "tasklist_list_tasks", "tasklist_show"), ("tasklist:display",)),
    **dict.fromkeys(("ask_user", "ask_question", "question"), ("ask",)),
    **dict.fromkeys(("note", "log", "tasklist_log", "tasklist_note"), ("tasklist:log_task_progress",)),
}
_MAX_SUGGESTIONS: Final = 3


def unknown_tool(name: str, table: Table) -> UnknownTool:
    """Return the refusal of a name that no tool of a table has."""
    near = suggestions(name, (tool for tool, of in table.tools.items() if not of.human))
    # Models often call an action as `task:create`.
    family, separator, action = name.partition(":")
    hint = f"; did you mean {' or '.join(near)}?" if near else "; control:hello lists the tools"
    if separator and (family_tool := table.find(family)) is not None:
        near = [family, *(other for other in near if other != family)][:_MAX_SUGGESTIONS]
        if "action" in family_tool.argument_names:
            hint = f'; {family} takes it as an argument: "action": "{action}"'
    return UnknownTool(f"no tool {name}{hint}", did_you_mean=near)


def suggestions(name: str, tools: Iterable[str]) -> list[str]:
    """Return up to three tools that are probably meant, likeliest first."""
    return list(_suggestions(name[:200], tuple(tools)))


@lru_cache(maxsize=256)
def _suggestions(name: str, tools: tuple[str, ...]) -> list[str]:
    """Return what `suggestions` does; kept, as a program that errs once errs again, and comparing takes long."""
    known = {tool: _snake_case(tool) for tool in tools}
    wanted = _snake_case(name)
    if same := [tool for tool, plain in known.items() if plain == wanted]:
        return same
    found: list[str] = []
    found += [tool for tool in _ALIASES.get(wanted, ()) if tool in known]
    found += [tool for tool in known if _snake_case(tool.rpartition(":")[2]) == wanted]
    words = set(_canonical_words(wanted))
    found += sorted(
        (tool for tool, plain in known.items() if len(words & set(_canonical_words(plain))) == len(words)),
        key=lambda tool: len(_canonical_words(known[tool])),
    )
    if len(set(found)) < _MAX_SUGGESTIONS:
        by_plain_name = {plain: tool for tool, plain in known.items()}
        found += [
            by_plain_name[plain]
            for plain in difflib.get_close_matches(wanted, by_plain_name, n=_MAX_SUGGESTIONS, cutoff=0.5)
        ]
    return list(dict.fromkeys(found))[:_MAX_SUGGESTIONS]


def _snake_case(name: str) -> str:
    """Return a name in snake case, so that `TodoWrite`, `todo.write` and `todo-write` are equal."""
    return "_".join(word.lower() for word in _WORDS.findall(name.rpartition("__")[2]))


def _canonical_words(plain: str) -> list[str]:
    return [_SYNONYMS.get(word, word) for word in plain.split("_")]
