"""Which function decides what an operation becomes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tui_tasks.core.operations.operation import Operation

if TYPE_CHECKING:
    from tui_tasks.core.store import Transaction

Op = TypeVar("Op", bound=Operation)

# What is asked for most comes first; the jobs' rules bring calendars and time zones along, which take a while.
_MODULES: Final = (
    *("tasks.tasks", "tasks.lists", "tasks.claims", "tasks.review", "agents.asks", "jobs.jobs", "jobs.runs", "undo"),
    *("compaction", "agents.stuck", "jobs.checks", "agents.sessions", "tasks.imports"),
)


class _Rules(dict[type[Operation], Callable[[Any, Any], Any]]):
    """The deciding functions; a module of rules is imported when an operation is first met that none so far decides."""

    def __missing__(self, operation: type[Operation]) -> Callable[[Any, Any], Any]:
        for name in _MODULES:
            import_module(f"tui_tasks.core.rules.{name}")
            if operation in self:
                return self[operation]
        raise KeyError(operation)


RULES: Final = _Rules()


def rule(operation: type[Op]) -> Callable[[Callable[[Transaction, Op], Any]], Callable[[Transaction, Op], Any]]:
    """Register the function that decides an operation."""

    def register(function: Callable[[Transaction, Op], Any]) -> Callable[[Transaction, Op], Any]:
        RULES[operation] = function
        return function

    return register
