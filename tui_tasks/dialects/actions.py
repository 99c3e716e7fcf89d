"""Tools with an `action`: several things to do under one name, each with arguments of its own.

What such a tool takes, and what an agent reads of it, is put together from its actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar, cast, get_args

import msgspec

from tui_tasks.core.errors import InvalidArgument, Refusal
from tui_tasks.dialects.base import Call, Table, docstring
from tui_tasks.dialects.requests.arguments import Arguments

A = TypeVar("A", bound=Arguments)
_BESIDE: Final = ': it goes under "arguments", beside "action"'


class _Action(msgspec.Struct, frozen=True):
    arguments: type[Arguments]
    handler: Callable[[Call, Any], Any]
    writes: bool
    subject: str | None
    takes: frozenset[str]
    needs: tuple[str, ...]


class Actions:
    """The actions of one tool."""

    def __init__(self) -> None:
        self._actions: dict[str, _Action] = {}

    def action(
        self, name: str, arguments: type[A], *, writes: bool = False, subject: str | None = None
    ) -> Callable[[Callable[[Call, A], Any]], Callable[[Call, A], Any]]:
        """Declare an action; its docstring becomes part of the tool's description.

        `subject` is the name of the argument that holds the uid of the one task that the action changes.
        """
        fields = msgspec.structs.fields(arguments)

        def register(handler: Callable[[Call, A], Any]) -> Callable[[Call, A], Any]:
            self._actions[name] = _Action(
                arguments=arguments,
                handler=handler,
                writes=writes,
                subject=subject,
                takes=frozenset(field.name for field in fields),
                needs=tuple(field.name for field in fields if field.required),
            )
            return handler

        return register

    def make_tool(
        self, table: Table, name: str, description: str, *, refusal: Callable[[Refusal], Any] | None = None
    ) -> None:
        """Put the tool into a table. Its description ends with a paragraph for each action."""

        def handle(call: Call, given: Any) -> Any:
            return self._actions[given.action].handler(call, self._narrowed(given))

        told = [
            f"{_signature(action, of)}: {' '.join(docstring(of.handler).split())}"
            for action, of in self._actions.items()
        ]
        handle.__doc__ = "\n\n".join([description, *told])
        writes = self._writes if any(of.writes for of in self._actions.values()) else False
        subject = self._subject if any(of.subject for of in self._actions.values()) else None
        table.tool(name, self._all_arguments(name), writes=writes, subject=subject, refusal=refusal)(handle)

    def _writes(self, given: Any) -> bool:
        return self._actions[given.action].writes

    def _subject(self, given: Any) -> str | None:
        subject = self._actions[given.action].subject
        return getattr(given, subject) if subject else None

    def _narrowed(self, given: Any) -> Arguments:
        """The arguments of the action that was asked for.

        Raises:
            InvalidArgument: one belongs to another action, or one that is needed is missing.
        """
        action = self._actions[given.action]
        names = (name for name in given.__struct_fields__ if name != "action")
        held = {name: value for name in names if (value := getattr(given, name)) is not None}
        for name in held:
            if name not in action.takes:
                takes = ", ".join(field for field in action.arguments.__struct_fields__)
                message = f"{name} does not go with the action {given.action}, which takes {takes or 'nothing'}"
                raise InvalidArgument(name, message)
        for name in action.needs:
            if name not in held:
                raise InvalidArgument(name, f"missing argument {name} of the action {given.action}{_BESIDE}")
        return action.arguments(**held)

    def _all_arguments(self, name: str) -> type[Arguments]:
        """One struct of what all actions take; only `action` is required, and what it takes is checked later."""
        kinds: dict[str, Any] = {}
        for of in self._actions.values():
            for field in msgspec.structs.fields(of.arguments):
                kinds.setdefault(field.name, _required(field.type))
        fields: list[Any] = [
            ("action", cast(Any, Literal)[tuple(self._actions)]),
            *((field_name, kind | None, None) for field_name, kind in kinds.items()),
        ]
        made = msgspec.defstruct(f"{name}_arguments", fields, bases=(Arguments,), kw_only=True)
        return cast(type[Arguments], made)


def _required(kind: Any) -> Any:
    """A type without the None that makes it optional."""
    parts = [part for part in get_args(kind) if part is not type(None)]
    return parts[0] if type(None) in get_args(kind) else kind


def _signature(name: str, action: _Action) -> str:
    """An action with the names of what it takes; what may be left out stands in brackets."""
    optional = [field for field in action.arguments.__struct_fields__ if field not in action.needs]
    taken = [*action.needs, *([f"[{', '.join(optional)}]"] if optional else [])]
    return f"{name}({', '.join(taken)})"
