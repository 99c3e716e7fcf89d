"""Which function decides what an operation becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tui_tasks.core.operations import Operation

if TYPE_CHECKING:
    from tui_tasks.core.store import Transaction

Op = TypeVar("Op", bound=Operation)

RULES: dict[type[Operation], Callable[[Any, Any], Any]] = {}


def rule(operation: type[Op]) -> Callable[[Callable[[Transaction, Op], Any]], Callable[[Transaction, Op], Any]]:
    """Register the function that decides an operation."""

    def register(function: Callable[[Transaction, Op], Any]) -> Callable[[Transaction, Op], Any]:
        RULES[operation] = function
        return function

    return register
