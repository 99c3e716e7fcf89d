"""Reduces what is stored of agents' texts and tool inputs: less if the human configured that, and never keys or
tokens.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

from tui_tasks.core.operations.sessions import (
    InputRequested,
    MessageWritten,
    PromptSubmitted,
    SessionEvent,
    SessionReport,
    TaskListItem,
    TaskListReported,
    ToolEnded,
)
from tui_tasks.settings.config import SessionSettings

_log = logging.getLogger(__name__)

REDACTED: Final = "[redacted]"
MAX_TITLE: Final = 80
# Keys and tokens by their prefix, values assigned to names of secrets, and whole private keys.
PATTERNS: Final = (
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|pypi-|hf_|AIza|ya29\.)[A-Za-z0-9_.-]{16,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"(?i)(?<=bearer )[A-Za-z0-9_.~+/-]{16,}=*",
    r"(?i)(?<=://)[^/\s:@]{1,200}:[^/\s:@]{1,200}(?=@)",
    r"(?i)\b[a-z0-9_]{0,40}(?:api_?key|secret|token|passw(?:or)?d)[a-z0-9_]{0,20}(?:\s{0,3}[=:]\s{0,3}|\"\s{0,3}:\s{0,3})[\"']?[^\s\"',;]{8,}",
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,10000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
)


def discreet(report: SessionReport, settings: SessionSettings) -> SessionReport:
    """Return a report in the form in which it is kept."""
    if not report.events:
        return report
    redact = redactor(settings.redact)
    events = [_mapped(event, redact) for event in report.events]
    if settings.keep != "all":
        events = [_shortened(event, titles=settings.keep == "titles") for event in events]
    return msgspec.structs.replace(report, events=tuple(events))


@lru_cache(8)
def redactor(own: tuple[str, ...]) -> Callable[[str], str]:
    """Return a function that removes keys, tokens, and matches of the patterns in the human's settings from a text."""
    pattern = re.compile("|".join(f"(?:{one})" for one in PATTERNS[:4]))
    flagged = [re.compile(one) for one in PATTERNS[4:]]
    for one in own:
        try:
            flagged.append(re.compile(one))
        except re.error as error:
            _log.warning("the pattern %r of [sessions] redact is left out: %s", one, error)

    def redact(text: str) -> str:
        text = pattern.sub(REDACTED, text)
        for one in flagged:
            text = one.sub(REDACTED, text)
        return text

    return redact


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with each text in it converted."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _mapped(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_mapped(one, change) for one in value)
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
        return msgspec.structs.replace(value, **{name: _mapped(getattr(value, name), change) for name in names})
    return value


def _shortened(event: SessionEvent, *, titles: bool) -> SessionEvent:
    """Return an event with only the first line of each text that somebody wrote, or with none of them."""

    def short(text: str) -> str:
        first = next((line.strip() for line in text.splitlines() if line.strip()), "") if titles else ""
        return first if len(first) <= MAX_TITLE else f"{first[: MAX_TITLE - 1]}…"

    if isinstance(event, PromptSubmitted | MessageWritten):
        return msgspec.structs.replace(event, text=short(event.text))
    if isinstance(event, InputRequested):
        given = _mapped(event.input, short) if titles else None
        questions = _mapped(event.questions, short) if titles else ()
        return msgspec.structs.replace(
            event, input=given, questions=questions, note=short(event.note), suggestions=None
        )
    if isinstance(event, ToolEnded) and event.error is not None:
        return msgspec.structs.replace(event, error=short(event.error))
    if isinstance(event, TaskListReported):
        return msgspec.structs.replace(event, items=tuple(_short_item(item, short) for item in event.items))
    if (message := getattr(event, "message", None)) is not None:
        return msgspec.structs.replace(event, message=short(message) or None)
    return event


def _short_item(item: TaskListItem, short: Callable[[str], str]) -> TaskListItem:
    name = None if item.name is None else short(item.name) or "(not kept)"
    return msgspec.structs.replace(item, name=name, description=None)
