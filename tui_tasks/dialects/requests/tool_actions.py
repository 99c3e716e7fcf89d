"""Tools with an `action` argument: several actions under one name, each with its own arguments.

The arguments and the description of such a tool are composed from those of its actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, TypeVar, cast, get_args

import msgspec

from tui_tasks.core.errors import Problem, Refusal
from tui_tasks.dialects.requests.arguments import Arguments, is_blank
from tui_tasks.dialects.tool_table import ANY_OBJECT, Call, Shape, Table, docstring

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

    def __init__(self, elsewhere: dict[str, str] | None = None) -> None:
        """`elsewhere`: for words that are no action, what to send in place of them."""
        self._actions: dict[str, _Action] = {}
        self._elsewhere = elsewhere or {}

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
        self,
        table: Table,
        name: str,
        description: str,
        *,
        refusal: Callable[[Refusal], Any] | None = None,
        output: Shape = ANY_OBJECT,
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
        table.tool(name, self._all_arguments(name), writes=writes, subject=subject, refusal=refusal, output=output)(
            handle
        )

    def _writes(self, given: Any) -> bool:
        return self._actions[given.action].writes

    def _subject(self, given: Any) -> str | None:
        subject = self._actions[given.action].subject
        return getattr(given, subject) if subject else None

    def _action_arguments(self, given: Any) -> Arguments:
        """Return the arguments of the requested action, which have been checked."""
        action = self._actions[given.action]
        held = {name: value for name in action.argument_names if (value := getattr(given, name)) is not None}
        return action.arguments(**held)

    def _further_problems(self, given: dict[str, Any], now: int) -> Iterator[Problem]:
        """Yield what belongs to another action, and what is missing."""
        action = self._named_action(given)
        if action is None:
            return
        for name, value in given.items():
            # Clients with strict schemas fill every argument of the tool.
            if name != "action" and name not in action.argument_names and value is not None and not is_blank(value):
                taken = ", ".join(action.arguments.__struct_fields__)
                yield name, f"{name} does not go with the action {given['action']}, which takes {taken or 'nothing'}"
        for name in action.required_names:
            if given.get(name) is None:
                yield name, f"missing argument {name} of the action {given['action']}{_PLACE_HINT}"
        yield from action.arguments.further_problems(given, now)

    def _named_action(self, given: dict[str, Any]) -> _Action | None:
        name = given.get("action")
        return self._actions.get(name) if isinstance(name, str) else None

    def _hint(self, path: str, value: Any) -> str:
        if path == "action":
            return self._elsewhere.get(value.strip().lower(), "") if isinstance(value, str) else ""
        return next((hint for of in self._actions.values() if (hint := of.arguments.hint(path, value))), "")

    def _needed(self, given: dict[str, Any]) -> frozenset[str]:
        action = self._named_action(given)
        return frozenset(action.required_names) if action is not None else frozenset()

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
        checks = {
            "further_problems": classmethod(lambda cls, given, now: self._further_problems(given, now)),
            "hint": classmethod(lambda cls, path, value: self._hint(path, value)),
            "needed": classmethod(lambda cls, given: self._needed(given)),
        }
        made = msgspec.defstruct(f"{name}_arguments", fields, bases=(Arguments,), namespace=checks, kw_only=True)
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
