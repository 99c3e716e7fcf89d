"""Refuses unknown tool names, with suggestions: models write the names of tools in many ways."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, get_args

from tui_tasks.core.errors import InvalidArgument, UnknownTool
from tui_tasks.dialects.requests.arguments import fields
from tui_tasks.dialects.tool_table import Table, Tool

_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
# Words that models write for words of tool names.
_SYNONYMS: Final = {
    **dict.fromkeys(("create", "new", "insert", "append", "write"), "add"),
    **dict.fromkeys(("remove", "del", "drop"), "delete"),
    **dict.fromkeys(("list", "show", "all", "view", "read"), "get"),
    **dict.fromkeys(("edit", "modify", "change", "set"), "update"),
    **dict.fromkeys(("complete", "completed", "finish", "finished", "close"), "done"),
    **dict.fromkeys(("revert", "rollback"), "undo"),
    **dict.fromkeys(("start", "begin", "wip"), "progress"),
    **dict.fromkeys(("todos", "todowrite"), "todo"),
}
# Names without a word in common with the meant tool.
_ALIASES: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("help", "tools", "tools_list", "list_tools", "control_help", "commands"), ("control:hello",)),
    **dict.fromkeys(("create_task", "new_task", "add_task"), ("tasklist:add_task", "task")),
    **dict.fromkeys(("task_create", "task_add", "task_new", "task_update", "task_list"), ("task",)),
    **dict.fromkeys(("list_tasks", "tasks_list", "get_tasks"), ("tasklist:display", "task", "tasks")),
    **dict.fromkeys(("complete_task", "finish_task", "tasklist_complete_task"), ("tasklist:set_task_done", "task")),
    **dict.fromkeys(("tasklist_start_task", "start_task"), ("tasklist:set_task_in_progress", "control:claim")),
    **dict.fromkeys(("tasklist_list", "tasklist_list_tasks", "tasklist_show"), ("tasklist:display",)),
    **dict.fromkeys(("ask_user", "ask_question", "question", "user_ask", "control_question"), ("ask",)),
    **dict.fromkeys(("note", "log", "tasklist_log", "tasklist_note"), ("tasklist:log_task_progress",)),
    **dict.fromkeys(("ask_user_question", "control_ask", "tasklist_ask", "ask_human"), ("ask",)),
    **dict.fromkeys(
        (
            *("control_done", "control_complete", "control_complete_task", "control_finish", "control_finish_task"),
            *("control_set_status", "control_set_done", "control_set_task_done", "tasklist_done", "tasklist_finish"),
        ),
        ("tasklist:set_task_done", "control:update_task"),
    ),
    **dict.fromkeys(
        ("control_cancel_task", "tasklist_cancel_task", "cancel_task"),
        ("tasklist:set_task_skipped", "control:update_task"),
    ),
    **dict.fromkeys(("control_withdraw", "control_abort", "withdraw", "cancel_ask", "ask_cancel"), ("control:cancel",)),
    "control_delete_task": ("tasklist:delete_task",),
    **dict.fromkeys(("control_add_task", "control_create_task", "control_add"), ("tasklist:add_task", "task")),
    **dict.fromkeys(("control_memory", "memories", "memory_search"), ("memory",)),
    **dict.fromkeys(("todo_read", "todo_list", "read_todos", "update_plan"), ("todo",)),
    **dict.fromkeys(
        ("delete", "remove", "delete_task", "remove_task", "control_delete", "control_remove", "control_remove_task"),
        ("tasklist:delete_task",),
    ),
    **dict.fromkeys(("done", "complete", "finish", "close"), ("tasklist:set_task_done", "control:update_task")),
    **dict.fromkeys(("skip", "skip_task", "cancel"), ("tasklist:set_task_skipped", "control:update_task")),
    **dict.fromkeys(("start", "begin"), ("tasklist:set_task_in_progress", "control:claim")),
    **dict.fromkeys(("next", "next_task", "get_next_task", "pick_task", "take_task"), ("control:claim", "tasks")),
    **dict.fromkeys(
        ("search", "search_tasks", "find_task", "find_tasks", "query_tasks", "control_search", "control_find_tasks"),
        ("control:find",),
    ),
    **dict.fromkeys(("list", "get_lists", "list_lists"), ("control:lists", "control:find", "tasklist:display")),
    **dict.fromkeys(
        ("add_dependency", "set_dependency", "depends_on", "set_priority", "assign", "assign_task", "set_due"),
        ("control:update_task",),
    ),
    **dict.fromkeys(("add", "new", "create"), ("tasklist:add_task", "task", "create_plan")),
    **dict.fromkeys(("control_plan", "control_create_plan", "make_plan"), ("create_plan", "tasks")),
    **dict.fromkeys(("tasklist_undo", "task_undo", "revert"), ("control:undo",)),
    **dict.fromkeys(
        (
            *("tasklist_reorder", "tasklist_reorder_tasks", "tasklist_move_task", "tasklist_move", "tasklist_sort"),
            *("move_task", "reorder", "reorder_tasks", "control_move", "control_move_task", "control_reorder"),
        ),
        ("control:update_task", "tasklist:swap_tasks"),
    ),
    **dict.fromkeys(
        (
            *("scheduler_cancel_task", "scheduler_cancel", "scheduler_stop_task", "scheduler_stop", "scheduler_kill"),
            *("scheduler_pause_task", "scheduler_pause"),
        ),
        ("scheduler:disable_task", "scheduler:update_task"),
    ),
}
# For each word of tools that delete, clear, undo or withdraw: the words that ask for it. Such a tool is suggested to
# nobody else (docs: protocol, 3).
_ASKED_BY: Final = {
    "delete": frozenset({"delete", "purge", "wipe", "erase", "destroy"}),
    "clear": frozenset({"clear", "empty", "reset", "purge", "wipe", "erase", "destroy"}),
    "undo": frozenset({"undo"}),
    "cancel": frozenset({"cancel", "abort", "withdraw"}),
}
# Between the clauses of a refusal, and a tool that a clause names.
_CLAUSE: Final = "; "
_TOOL_NAME: Final = re.compile(r"\b(?:control|tasklist|scheduler):[a-z_]+")
_OBJECTS: Final = frozenset({"task", "plan"})
_MAX_SUGGESTIONS: Final = 3


def unknown_tool(name: str, table: Table) -> UnknownTool:
    """Return the refusal of a name that no tool of a table has."""
    near = suggestions(name, (tool for tool, of in table.tools.items() if not of.human))
    # Models often call an action as `task:create`.
    family, separator, action = name.partition(":")
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; {_where_listed(table)}"
    if separator and (family_tool := table.find(family)) is not None:
        near = [family, *(other for other in near if other != family)][:_MAX_SUGGESTIONS]
        if "action" in family_tool.argument_names:
            hint = _served_words(f"; {_as_action(family_tool, family, action)}", table)
    return UnknownTool(f"no tool {name}{hint}", did_you_mean=near)


def _as_action(tool: Tool, family: str, action: str) -> str:
    """Return how an action of a tool is requested, or what to send in place of one that it does not have."""
    actions = sorted(get_args(fields(tool.arguments)["action"].type))
    if action in actions:
        return f'{family} takes it as an argument: "action": "{action}"'
    instead = tool.arguments.hint("action", action)
    return f"{family} has the actions {', '.join(actions)}" + (f"; {instead}" if instead else "")


def drop_unserved(refusal: InvalidArgument, table: Table) -> None:
    """Drop from a refusal what to send in place of a value, where that is for a tool that the table lacks."""
    refusal.message = _served_words(refusal.message, table)
    for problem in refusal.data["problems"]:
        problem["message"] = _served_words(problem["message"], table)


def _served_words(words: str, table: Table) -> str:
    said, *hints = words.split(_CLAUSE)
    served = (hint for hint in hints if all(name in table.tools for name in _TOOL_NAME.findall(hint)))
    return _CLAUSE.join((said, *served))


def _where_listed(table: Table) -> str:
    if "control:hello" in table.tools:
        return "control:hello lists the tools"
    return f"the tools are {', '.join(tool for tool, of in table.tools.items() if not of.human)}"


def suggestions(name: str, tools: Iterable[str]) -> list[str]:
    """Return up to three tools that are probably meant, likeliest first."""
    return list(_suggestions(name[:200], tuple(tools)))


@lru_cache(maxsize=256)
def _suggestions(name: str, tools: tuple[str, ...]) -> list[str]:
    """Return what `suggestions` does; kept, as a program that errs once errs again, and comparing takes long."""
    known = {tool: _snake_case(tool) for tool in tools}
    wanted = _snake_case(name)
    asked = frozenset(_canonical_words(wanted))
    known = {tool: plain for tool, plain in known.items() if _may_be_suggested(frozenset(plain.split("_")), asked)}
    if same := [tool for tool, plain in known.items() if plain == wanted]:
        return same
    if names := [tool for tool in _ALIASES.get(wanted, ()) if tool in known]:
        return names
    names += [tool for tool in known if _snake_case(tool.rpartition(":")[2]) == wanted]
    words = set(_canonical_words(wanted))
    names += sorted(
        (tool for tool, plain in known.items() if len(words & set(_canonical_words(plain))) == len(words)),
        key=lambda tool: len(_canonical_words(known[tool])),
    )
    if len(set(names)) < _MAX_SUGGESTIONS:
        by_plain_name = {plain: tool for tool, plain in known.items()}
        names += [
            by_plain_name[plain]
            for plain in difflib.get_close_matches(wanted, by_plain_name, n=_MAX_SUGGESTIONS, cutoff=0.5)
        ]
    return list(dict.fromkeys(names))[:_MAX_SUGGESTIONS]


def _may_be_suggested(words: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether a tool with these words may be suggested: what destroys, only if it was asked for, and for that
    kind of object.
    """
    destroys = [asking for word, asking in _ASKED_BY.items() if word in words]
    if not destroys:
        return True
    is_of_another_kind = bool(asked & _OBJECTS and words & _OBJECTS) and not asked & words & _OBJECTS
    return any(asking & asked for asking in destroys) and not is_of_another_kind


def _snake_case(name: str) -> str:
    """Return a name in snake case, so that `TodoWrite`, `todo.write` and `todo-write` are equal."""
    return "_".join(word.lower() for word in _WORDS.findall(name.rpartition("__")[2]))


def _canonical_words(plain: str) -> list[str]:
    return [_SYNONYMS.get(word, word) for word in plain.split("_")]
