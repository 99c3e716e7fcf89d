"""Reduces what is kept of agents' words and tool inputs: less if the human wants so, and never keys or tokens."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

from tui_tasks.core.operations.sessions import Asked, Fact, Heard, Item, Listed, Prompted, Said, ToolEnded
from tui_tasks.settings.config import SessionSettings

_log = logging.getLogger(__name__)

REDACTED: Final = "[redacted]"
MAX_TITLE: Final = 80
# Keys and tokens by their prefix, values assigned to a word that names a secret, and whole private keys.
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


def discreet(heard: Heard, settings: SessionSettings) -> Heard:
    """Return the facts of a payload in the form in which they are kept."""
    if not heard.facts:
        return heard
    redact = redactor(settings.redact)
    facts = [_mapped(fact, redact) for fact in heard.facts]
    if settings.keep != "all":
        facts = [_shortened(fact, titles=settings.keep == "titles") for fact in facts]
    return msgspec.structs.replace(heard, facts=tuple(facts))


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


def _shortened(fact: Fact, *, titles: bool) -> Fact:
    """Return a fact with only the first line of each text that somebody has written, or with none of them."""

    def short(text: str) -> str:
        first = next((line.strip() for line in text.splitlines() if line.strip()), "") if titles else ""
        return first if len(first) <= MAX_TITLE else f"{first[: MAX_TITLE - 1]}…"

    if isinstance(fact, Prompted | Said):
        return msgspec.structs.replace(fact, text=short(fact.text))
    if isinstance(fact, Asked):
        given = _mapped(fact.input, short) if titles else None
        questions = _mapped(fact.questions, short) if titles else ()
        return msgspec.structs.replace(fact, input=given, questions=questions, note=short(fact.note), suggestions=None)
    if isinstance(fact, ToolEnded) and fact.error is not None:
        return msgspec.structs.replace(fact, error=short(fact.error))
    if isinstance(fact, Listed):
        return msgspec.structs.replace(fact, items=tuple(_short_item(item, short) for item in fact.items))
    if (message := getattr(fact, "message", None)) is not None:
        return msgspec.structs.replace(fact, message=short(message) or None)
    return fact


def _short_item(item: Item, short: Callable[[str], str]) -> Item:
    name = None if item.name is None else short(item.name) or "(not kept)"
    return msgspec.structs.replace(item, name=name, description=None)
