"""The parts of a program's own record of a session, for people."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Item(msgspec.Struct, frozen=True):
    """A part of a session.

    Attributes:
        kind: `prompt` of a person, `words` of the agent, `tool` with what it is given, its `result`, `edit` with a
            diff, or `error`.
        text: it; the name of a tool, or the path of an edited file, is in `name`.
    """

    kind: Literal["prompt", "words", "tool", "result", "edit", "error"]
    text: str
    name: str = ""


def diff(old: str, new: str) -> str:
    """Return the lines that differ between two texts, as a diff without file names."""
    import difflib  # each hook of an agent imports this module

    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
    return "\n".join(list(lines)[2:])


def as_given(value: Any) -> str:
    """Return what a tool is given, for people: its only text as it is, else a line for each field."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return msgspec.json.encode(value).decode() if value is not None else ""
    for name in ("command", "cmd"):
        if isinstance(value.get(name), str):
            return str(value[name])
    return "\n".join(
        f"{name}: {one if isinstance(one, str) else msgspec.json.encode(one).decode()}" for name, one in value.items()
    )
