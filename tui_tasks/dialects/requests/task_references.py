"""References to tasks (docs: protocol, section 2): the number (`#12`, `12`), and the beginning of the uid."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from tui_tasks.core.errors import InvalidArgument, NotFound
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import number_of
from tui_tasks.dialects.requests.arguments import Open, task_arguments
from tui_tasks.dialects.tool_table import Call, Tool

_UID_LENGTH: Final = 36
_MIN_PREFIX: Final = 6
_PART_OF_UID: Final = r"[0-9A-Fa-f-]{1,36}"
# How many candidates a refusal names if a reference is ambiguous.
_MAX_CANDIDATES: Final = 5
# The tool that also takes tasks that were deleted.
_OF_DELETED: Final = "control:history"


def is_full(reference: str) -> bool:
    """Return whether a reference can only be a whole uid."""
    return len(reference) == _UID_LENGTH


def may_be_task(reference: str) -> bool:
    """Return whether a text may name a task: a number, a uid, or the beginning of one."""
    if number_of(reference) is not None:
        return True
    return len(reference) >= _MIN_PREFIX and re.fullmatch(_PART_OF_UID, reference) is not None


def with_full_uids(call: Call, tool: Tool, arguments: Any) -> Any:
    """Return a tool's arguments with references to tasks replaced by their uids.

    Raises:
        NotFound: no task has that number.
        InvalidArgument: a reference is ambiguous.
    """
    if isinstance(arguments, Open):
        uid = tool.subject(arguments)
        if uid is None:
            return arguments
        return msgspec.structs.replace(
            arguments, rest=arguments.rest | {"task_id": full_uid(call, tool, "task_id", uid)}
        )
    replaced: dict[str, Any] = {}
    for name in task_arguments(tool.arguments):
        given = getattr(arguments, name)
        if isinstance(given, list):
            replaced[name] = [full_uid(call, tool, f"{name}[{at}]", each) for at, each in enumerate(given)]
        elif given is not None:
            replaced[name] = full_uid(call, tool, name, given)
    return msgspec.structs.replace(arguments, **replaced) if replaced else arguments


def full_uid(call: Call, tool: Tool, argument: str, reference: str) -> str:
    """Return the uid of the task that is meant; a reference to none is returned as it is, for the tool to refuse.

    Raises:
        NotFound: no task has that number.
        InvalidArgument: the reference is ambiguous.
    """
    if is_full(reference):
        return reference.lower()
    if (number := number_of(reference)) is not None:
        return _uid_of_number(call, tool, reference, number)
    if not _MIN_PREFIX <= len(reference) < _UID_LENGTH:
        return reference
    only = call.only_list
    if only is None and call.channel.identity.list_only:
        return reference
    prefix = reference.lower()
    tasks = task_queries.tasks_beginning(call.db, prefix, _MAX_CANDIDATES, only.id if only is not None else None)
    if not tasks:
        return reference
    if len(tasks) == 1:
        return tasks[0].uid
    each = "; ".join(f"{task.uid} {task.name[:40]}" for task in tasks)
    raise InvalidArgument(
        argument,
        f"{argument}: the uids of several tasks begin with {reference}: write more of it ({each})",
        candidates=[task.uid for task in tasks],
    )


def _uid_of_number(call: Call, tool: Tool, reference: str, number: int) -> str:
    task = task_queries.task_of_number(call.db, number)
    only = call.only_list
    if task is None or (call.channel.identity.list_only and (only is None or task.list_id != only.id)):
        raise NotFound("task", reference)
    if tool.name != _OF_DELETED and task_queries.status(call.db, task.uid) is None:
        # Others are told who deleted it (`task_names.explain`).
        raise NotFound("task", reference, ": it was deleted" if call.channel.identity.list_only else "")
    return task.uid
