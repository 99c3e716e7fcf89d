"""The meaning of each agent program's payloads: one module for each program, with a function `read`.

`read` takes a payload (any JSON object) and returns its report, or None if it is about no session. It never raises: a
field of a wrong type counts as missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tui_tasks.core.operations.sessions import SessionReport
from tui_tasks.hooks import PROGRAM_NAMES


def read(program: str, payload: dict[str, Any], *, is_waited_for: bool = False) -> SessionReport | None:
    """Return the report of a program's payload; None if it is about no session, or the program is unknown.

    `is_waited_for`: the payload's hook waits for the human.
    """
    if program not in PROGRAM_NAMES:
        return None
    module = import_module(f"tui_tasks.hooks.programs.{program}")
    report: SessionReport | None = module.read(payload)
    if report is not None and is_waited_for and program == "gemini":
        report = module.with_question(report, payload)
    return report
