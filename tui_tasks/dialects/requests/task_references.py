"""References to tasks (docs: protocol, section 2): `#N`, the number in a list, and the beginning of the uid."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from tui_tasks.core.errors import InvalidArgument, NotFound
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.dialects.base import Call, Tool
from tui_tasks.dialects.requests.arguments import Open, task_arguments

_UID_LENGTH: Final = 36
_MIN_PREFIX: Final = 6
# How many candidates a refusal names if a reference is ambiguous.
_MAX_CANDIDATES: Final = 5
_NUMBER: Final = r"#([0-9]{1,18})"
# The list whose numbers a dialect uses if its channel is bound to none.
_HOMES: Final = {"tasklist": "tasklist", "task": "task", "agent": "task"}


def is_full(reference: str) -> bool:
    """Return whether a reference can only be a whole uid."""
    return len(reference) == _UID_LENGTH


def with_full_uids(call: Call, tool: Tool, arguments: Any) -> Any:
    """Return a tool's arguments with references to tasks replaced by their uids.

    Raises:
        NotFound: no task has that number.
        InvalidArgument: a reference is ambiguous.
    """
    if isinstance(arguments, Open):
        uid = tool.subject(arguments)
        if uid is None or is_full(uid):
            return arguments
        return msgspec.structs.replace(
            arguments, rest=arguments.rest | {"task_id": full_uid(call, tool, "task_id", uid)}
        )
    found: dict[str, str] = {}
    for name in task_arguments(tool.arguments):
        given = getattr(arguments, name)
        if given is not None and not is_full(given):
            found[name] = full_uid(call, tool, name, given)
    return msgspec.structs.replace(arguments, **found) if found else arguments


def full_uid(call: Call, tool: Tool, argument: str, reference: str) -> str:
    """Return the uid of the task that is meant; a reference to none is returned as it is, for the tool to refuse.

    Raises:
        NotFound: no task has that number.
        InvalidArgument: the reference is ambiguous.
    """
    if is_full(reference):
        return reference
    if number := re.fullmatch(_NUMBER, reference):
        return _uid_of_number(call, tool, argument, int(number[1]))
    if not _MIN_PREFIX <= len(reference) < _UID_LENGTH:
        return reference
    only = call.only_list
    if only is None and call.channel.identity.list_only:
        return reference
    found = queries.tasks_beginning(call.db, reference, _MAX_CANDIDATES, only.id if only is not None else None)
    if not found:
        return reference
    return _only_match(argument, f"the uids of several tasks begin with {reference}: write more of it", found)


def _uid_of_number(call: Call, tool: Tool, argument: str, number: int) -> str:
    from tui_tasks.core.read.pages import pages  # few references are numbers

    homes = _candidate_lists(call, tool)
    found: list[Task] = []
    for home in homes:
        if (uid := pages.uid_of_number(call.db, home, number)) is not None:
            found.append(queries.task(call.db, uid))
            if len(found) == _MAX_CANDIDATES:
                break
    if not found:
        where = f" in {homes[0].handle}, which has {homes[0].total}" if len(homes) == 1 else ""
        raise NotFound("task", f"#{number}", where)
    return _only_match(argument, f"several lists have a #{number}: name one with list, or write the uid", found)


def _candidate_lists(call: Call, tool: Tool) -> list[TaskList]:
    """Return the lists whose numbers may be meant: the channel's or dialect's list, else all lists or plans."""
    handle = call.bound_list or _HOMES.get(tool.name.partition(":")[0])
    if handle is not None:
        home = call.home(handle)
        # Read again: the counts of the list that the transaction keeps do not include its own writes.
        return [queries.list_by_id(call.db, home.id)] if home is not None else []
    about_plans = not tool.name.startswith("control:") and tool.name != "ask"
    return [home for home in queries.lists(call.db, call.project) if home.kind == "plan" or not about_plans]


def _only_match(argument: str, message: str, found: list[Task]) -> str:
    if len(found) == 1:
        return found[0].uid
    each = "; ".join(f"{task.uid} {task.name[:40]}" for task in found)
    raise InvalidArgument(argument, f"{argument}: {message} ({each})", candidates=[task.uid for task in found])
