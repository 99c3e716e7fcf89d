"""Printing the results of commands."""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.text import safe

SCHEMA_VERSION: Final = 1
"""The version of printed objects: raised when a documented member is removed or changes (docs: scripts, "JSON")."""


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON. Objects begin with the version of their schema; arrays and null are printed as they
    are.
    """
    output = {"schema_version": SCHEMA_VERSION, **value} if isinstance(value, dict) else value
    print(safe.dumps(output, indent))


def print_result(text: str, value: Any, *, as_json: bool) -> None:
    """Print the result of a command: the text, or the value as JSON."""
    if as_json:
        print_json(value)
    else:
        print(text)
