"""Prints JSON for commands."""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.text import json_text

SCHEMA_VERSION: Final = 1
"""Of the objects; raised when a member that is described goes or changes its meaning (docs: shell, "JSON")."""


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value. An object begins with the version of its schema; an array or null is printed as it is."""
    told = {"schema_version": SCHEMA_VERSION, **value} if isinstance(value, dict) else value
    print(json_text.shown(told, indent))
