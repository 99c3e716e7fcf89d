"""Makes reports of programs fit for storing and sending, whatever they contain."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from tui_tasks.core.operations.sessions import InputRequested, SessionEvent

# The most bytes of a program's request, and how many of its beginning are kept of a longer one.
MAX_REQUEST: Final = 1_000_000
MAX_BEGINNING: Final = 50_000
_MAX_NESTING: Final = 64

Told = TypeVar("Told", bound=msgspec.Struct)

_encode = msgspec.json.Encoder().encode


def json_value(value: Any, depth: int = _MAX_NESTING) -> Any:
    """Return a JSON value without lone surrogates, without numbers beyond 64 bits, and of limited depth."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value if abs(value) != float("inf") and value == value else None
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        return {json_value(str(name), 1): json_value(one, depth - 1) for name, one in value.items()}
    return [json_value(one, depth - 1) for one in value]


def stored_form(value: Told) -> Told:
    """Return a report with each value converted by `json_value`."""
    fields = {name: _field(getattr(value, name)) for name in value.__struct_fields__}
    return msgspec.structs.replace(value, **fields)


def _field(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return stored_form(value)
    return tuple(map(_field, value)) if isinstance(value, tuple) else json_value(value)


def bounded(event: SessionEvent) -> SessionEvent:
    """Return an event without a request that is too long to be kept; such a request cannot be answered here."""
    if (
        not isinstance(event, InputRequested)
        or len(_encode([event.input, event.questions, event.suggestions])) <= MAX_REQUEST
    ):
        return event
    beginning = _encode(event.input)[:MAX_BEGINNING].decode(errors="replace")
    return msgspec.structs.replace(event, input={"too long": beginning}, questions=(), suggestions=None)
