"""What the payloads of each agent program mean: one module a program, each with a function `read`.

`read` takes a payload (a JSON object, whatever is in it) and returns what it tells, or None where it is about no
session. It never raises: a field that is missing or of another type is as good as absent.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tui_tasks.core.operations.sessions import Heard

PROGRAMS = ("claude", "codex", "gemini", "opencode")


def read(program: str, payload: dict[str, Any], *, is_waited_for: bool = False) -> Heard | None:
    """What a payload of a program tells; None where it is about no session, or the program is unknown.

    `is_waited_for`: its hook waits for the human.
    """
    if program not in PROGRAMS:
        return None
    module = import_module(f"tui_tasks.hooks.programs.{program}")
    heard: Heard | None = module.read(payload)
    if heard is not None and is_waited_for and program == "gemini":
        heard = module.with_question(heard, payload)
    return heard
