"""Tools with an `action` argument: several actions under one name, each with its own arguments.

The arguments and the description of such a tool are composed from those of its actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar, cast, get_args

import msgspec

from tui_tasks.core.errors import InvalidArgument, Refusal
from tui_tasks.dialects.base import Call, Table, docstring
from tui_tasks.dialects.requests.arguments import Arguments

A = TypeVar("A", bound=Arguments)
_PLACE_HINT: Final = ': it goes under "arguments", beside "action"'


class _Action(msgspec.Struct, frozen=True):
    arguments: type[Arguments]
    handler: Callable[[Call, Any], Any]
    writes: bool
    subject: str | None
    argument_names: frozenset[str]
    required_names: tuple[str, ...]


class Actions:
    """The actions of one tool."""

    def __init__(self) -> None:
        self._actions: dict[str, _Action] = {}

    def action(
        self, name: str, arguments: type[A], *, writes: bool = False, subject: str | None = None
    ) -> Callable[[Callable[[Call, A], Any]], Callable[[Call, A], Any]]:
        """Return a decorator that declares an action; its docstring becomes part of the tool's description.

        `subject` is the name of the argument with the uid of the one task that the action changes.
        """
        fields = msgspec.structs.fields(arguments)

        def register(handler: Callable[[Call, A], Any]) -> Callable[[Call, A], Any]:
            self._actions[name] = _Action(
                arguments=arguments,
                handler=handler,
                writes=writes,
                subject=subject,
                argument_names=frozenset(field.name for field in fields),
                required_names=tuple(field.name for field in fields if field.required),
            )
            return handler

        return register

    def make_tool(
        self, table: Table, name: str, description: str, *, refusal: Callable[[Refusal], Any] | None = None
    ) -> None:
        """Add the tool to a table. Its description ends with a paragraph for each action."""

        def handle(call: Call, given: Any) -> Any:
            return self._actions[given.action].handler(call, self._action_arguments(given))

        signatures = [
            f"{_signature(action, of)}: {' '.join(docstring(of.handler).split())}"
            for action, of in self._actions.items()
        ]
        handle.__doc__ = "\n\n".join([description, *signatures])
        writes = self._writes if any(of.writes for of in self._actions.values()) else False
        subject = self._subject if any(of.subject for of in self._actions.values()) else None
        table.tool(name, self._all_arguments(name), writes=writes, subject=subject, refusal=refusal)(handle)

    def _writes(self, given: Any) -> bool:
        return self._actions[given.action].writes

    def _subject(self, given: Any) -> str | None:
        subject = self._actions[given.action].subject
        return getattr(given, subject) if subject else None

    def _action_arguments(self, given: Any) -> Arguments:
        """Return the arguments of the requested action.

        Raises:
            InvalidArgument: an argument belongs to another action, or a required one is missing.
        """
        action = self._actions[given.action]
        names = (name for name in given.__struct_fields__ if name != "action")
        held = {name: value for name in names if (value := getattr(given, name)) is not None}
        for name in held:
            if name not in action.argument_names:
                argument_names = ", ".join(field for field in action.arguments.__struct_fields__)
                message = (
                    f"{name} does not go with the action {given.action}, which takes {argument_names or 'nothing'}"
                )
                raise InvalidArgument(name, message)
        for name in action.required_names:
            if name not in held:
                raise InvalidArgument(name, f"missing argument {name} of the action {given.action}{_PLACE_HINT}")
        return action.arguments(**held)

    def _all_arguments(self, name: str) -> type[Arguments]:
        """Return a struct of all actions' arguments; only `action` is required, the rest is checked per action."""
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
    """Return a type without the None that makes it optional."""
    parts = [part for part in get_args(kind) if part is not type(None)]
    return parts[0] if type(None) in get_args(kind) else kind


def _signature(name: str, action: _Action) -> str:
    """Return an action's signature; optional arguments are in brackets."""
    optional = [field for field in action.arguments.__struct_fields__ if field not in action.required_names]
    taken = [*action.required_names, *([f"[{', '.join(optional)}]"] if optional else [])]
    return f"{name}({', '.join(taken)})"
