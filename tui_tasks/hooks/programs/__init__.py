"""What the payloads of each agent program mean: one module a program, each with a function `read`.

`read` takes a payload (a JSON object, whatever is in it) and returns what it tells, or None where it is about no
session. It never raises: a field that is missing or of another type is as good as absent.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tui_tasks.core.operations.sessions import Heard

PROGRAMS = ("claude", "codex", "gemini", "opencode")


def read(program: str, payload: dict[str, Any]) -> Heard | None:
    """What a payload of a program tells; None where it is about no session, or the program is unknown."""
    if program not in PROGRAMS:
        return None
    heard: Heard | None = import_module(f"tui_tasks.hooks.programs.{program}").read(payload)
    return heard
