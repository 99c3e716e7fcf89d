"""What is stored of the reports of programs: reduced as the human configured, never a secret, of a limited length."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar

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
    ToolStarted,
)
from tui_tasks.settings.config import SessionSettings

_log = logging.getLogger(__name__)

REDACTED: Final = "[redacted]"
MAX_TITLE: Final = 80
# What a secret's own characters are: none that a shell takes for more than a letter, so that no code is redacted.
_SECRET: Final = r"""[^\s"'`$;|&<>()\\,]"""
# Keys and tokens by their prefix, passwords in addresses, values assigned to names of secrets. Of a pattern with a
# group, the group is the secret.
PATTERNS: Final = (
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|pypi-|hf_|AIza|ya29\.)[A-Za-z0-9_.-]{16,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"(?i)(?<=bearer )[A-Za-z0-9_.~+/-]{16,}=*",
    r"(?i)(?<=authorization: basic )[A-Za-z0-9+/]{8,}=*",
    rf"(?i)(?<=://)[^/\s:@]{{1,200}}:((?:(?![/:@]){_SECRET}){{1,200}})(?=@)",
    r"(?i)\b[a-z0-9_]{0,40}(?:api_?key|secret|token|passw(?:or)?d)[a-z0-9_]{0,20}"
    rf"(?:\s{{0,3}}[=:]\s{{0,3}}|\"\s{{0,3}}:\s{{0,3}})[\"']?({_SECRET}{{8,}})",
)
# Users of curl with their passwords, one after the other. Of a command, so many words `curl` within its quotes are read
# at most, and so many characters before it. Only of quotes that a shell takes as such, a blank is a secret's too: else
# it may part the words of a command.
_MAX_NAMED: Final = 4
_MAX_BEFORE: Final = 20
_CURL: Final = re.compile(r"\bcurl\b")
_PASSWORD: Final = re.compile(
    r"""(?:curl\b)?(?:(?!\bcurl\b)(?:"[^"\n]{0,1000}"|'[^'\n]{0,1000}'|\\\n|[^\n;|&"']))*?"""
    r"\s(?:-[a-zA-Z]{0,20}[uU]|--(?:proxy-)?user)[\s=]{0,4}"
    rf"(?:([\"'])[^:\"'\n]{{0,200}}:(?P<quoted>(?:{_SECRET}|[ ,]){{1,200}})\1(?=[\s;|&)]|\Z)"
    rf"|[\"']?[^\s:\"']{{0,200}}[\"']?:[\"']?(?P<bare>{_SECRET}{{1,200}})[\"']?)"
)
# Text in which each quote is one to a shell, and has its end.
_BALANCED: Final = re.compile(r"""(?:"[^"$`\\]*"|'[^']*'|[^"'$`\\#<])*""")
_AT_COMMAND: Final = re.compile(r"(?:\A|[;|&\n])\s*(?:sudo\s+)?\Z")
# A private key, with line ends as they are or as JSON has them. Lines that are shorter than a key's are none of it,
# unless the key has an end.
_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----((?:(?:\r?\n|\\r|\\n|[A-Za-z0-9+/=]){0,10000}))"
    r"(-----END [A-Z0-9 ]{0,30}PRIVATE KEY-----)?"
)
_KEY_LINE: Final = re.compile(r"(?:(?<=\\n)|(?<=\\r)|(?<![A-Za-z0-9+/=\\]))[A-Za-z0-9+/=]+")
_MIN_KEY_LINE: Final = 24
_SECRETS: Final = re.compile(f"{_SECRET}+")


def discreet(report: SessionReport, settings: SessionSettings) -> SessionReport:
    """Return a report in the form in which it is kept. A request of which something is left out says so."""
    if not report.events:
        return report
    redact = redactor(settings.redact)
    events = [_mapped(event, redact) for event in report.events]
    if settings.keep != "all":
        events = [_shortened(event, titles=settings.keep == "titles") for event in events]
    kept = (_marked(now, was) for now, was in zip(events, report.events, strict=True))
    return msgspec.structs.replace(report, events=tuple(kept))


def _marked(event: SessionEvent, was: SessionEvent) -> SessionEvent:
    if isinstance(event, InputRequested) and event != was:
        return msgspec.structs.replace(event, is_whole=False)
    return event


@lru_cache(8)
def redactor(own: tuple[str, ...]) -> Callable[[str], str]:
    """Return a function that removes keys, tokens, and matches of the patterns in the human's settings from a text.

    Only the characters of secrets are removed, and nothing that a shell would run.
    """
    patterns = [re.compile("|".join(f"(?:{one})" for one in PATTERNS[:4])), *map(re.compile, PATTERNS[4:])]
    for one in own:
        try:
            patterns.append(re.compile(one))
        except re.error as error:
            _log.warning("the pattern %r of [sessions] redact is left out: %s", one, error)
    shipped = len(patterns) - len(own)

    def redact(text: str) -> str:
        text = _without_passwords(_KEY.sub(_without_key, text))
        for at, one in enumerate(patterns):
            text = one.sub(_without_secret if at < shipped else _without_secrets, text)
        return text

    return redact


def _without_passwords(text: str) -> str:
    """Return a text without the passwords of curl's users."""
    parts, kept, read, is_plain = [], 0, 0, True
    starts = [curl.start() for curl in _CURL.finditer(text)]
    for at, start in enumerate(starts):
        if start < read:
            continue
        is_plain = is_plain and _BALANCED.fullmatch(text, read, start) is not None
        is_command = _AT_COMMAND.search(text, max(0, start - _MAX_BEFORE), start) is not None
        read, end = start, (*starts[at + _MAX_NAMED : at + _MAX_NAMED + 1], len(text))[0]
        while match := _PASSWORD.match(text, read, end):
            is_plain = is_plain and _BALANCED.fullmatch(text, read, match.end()) is not None
            secret = match.span("quoted" if match["quoted"] is not None else "bare")
            if match["quoted"] is not None and not (is_plain and is_command):
                secret = first.span() if (first := _SECRETS.search(text, *secret)) is not None else secret
            parts += [text[kept : secret[0]], REDACTED]
            kept, read = secret[1], match.end()
    return "".join([*parts, text[kept:]])


def _without_secret(match: re.Match[str]) -> str:
    """Return a match with its secret, its group or all of it, removed."""
    if not match.re.groups:
        return REDACTED
    start, end = (at - match.start() for at in match.span(1))
    return f"{match[0][:start]}{REDACTED}{match[0][end:]}"


def _without_secrets(match: re.Match[str]) -> str:
    """Return a match of the human's own pattern with all removed that may be a secret."""
    return _SECRETS.sub(REDACTED, match[0])


def _without_key(match: re.Match[str]) -> str:
    has_end = match[2] is not None
    start, end = (at - match.start() for at in match.span(1))

    def line(one: re.Match[str]) -> str:
        return REDACTED if has_end or len(one[0]) >= _MIN_KEY_LINE else one[0]

    return match[0][:start] + _KEY_LINE.sub(line, match[0][start:end]) + match[0][end:]


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
        questions = _mapped(event.questions, short) if titles else tuple({} for _ in event.questions)
        return msgspec.structs.replace(
            event, input=given, questions=questions, note=short(event.note), suggestions=None
        )
    if isinstance(event, ToolEnded) and event.error is not None:
        return msgspec.structs.replace(event, error=short(event.error))
    if isinstance(event, ToolStarted) and event.target is not None:
        return msgspec.structs.replace(event, target=short(event.target) or None)
    if isinstance(event, TaskListReported):
        return msgspec.structs.replace(event, items=tuple(_short_item(item, short) for item in event.items))
    if (message := getattr(event, "message", None)) is not None:
        return msgspec.structs.replace(event, message=short(message) or None)
    return event


def _short_item(item: TaskListItem, short: Callable[[str], str]) -> TaskListItem:
    name = None if item.name is None else short(item.name) or "(not kept)"
    return msgspec.structs.replace(item, name=name, description=None)


# The most bytes of a program's request, and how many of its beginning are kept of a longer one.
MAX_REQUEST: Final = 1_000_000
MAX_BEGINNING: Final = 50_000
_MAX_NESTING: Final = 64
MAX_QUESTIONS: Final = 100
"""The most questions of one request that can be answered here."""

Reported = TypeVar("Reported", bound=msgspec.Struct)
Event = TypeVar("Event", bound=SessionEvent)

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


def stored_form(value: Reported) -> Reported:
    """Return a report with each value converted by `json_value`."""
    fields = {name: _field(getattr(value, name)) for name in value.__struct_fields__}
    stored = msgspec.structs.replace(value, **fields)
    return inexact(stored) if isinstance(stored, InputRequested) and stored != value else stored


def inexact(event: Event) -> Event:
    """Return an event; a request is marked as one of which something may be left out."""
    return msgspec.structs.replace(event, is_whole=False) if isinstance(event, InputRequested) else event


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
    return msgspec.structs.replace(
        event,
        input={"too long": beginning},
        questions=tuple({} for _ in event.questions[:MAX_QUESTIONS]),
        suggestions=None,
        is_whole=False,
    )
