"""The rules of the state: what each operation becomes, and what forbids it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction
    from tui_tasks.core.operations import Operation

Op = TypeVar("Op", bound="Operation")

# The most frequent first; the rules of jobs import calendars and time zones, which takes a while.
_MODULES: Final = (
    "tasks.task_rules",
    "tasks.record_rules",
    "tasks.list_rules",
    "tasks.claim_rules",
    "agents.ask_rules",
    "agents.message_rules",
    "job_rules",
    "run_rules",
    "undo",
    "check_rules",
    "agents.session_rules",
    "tasks.import_rules",
    "work_rules",
    "work_end_rules",
    "work_limit_rules",
)


class _Rules(dict["type[Operation]", Callable[[Any, Any], Any]]):
    """The deciding functions. Modules of rules are imported one by one until one of them decides the operation."""

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


__all__ = ["RULES"]
