"""What a program asks a person, as text: a tool and its whole input, or questions and their options."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.core.operations.sessions import InputRequested

MAX_TEXT: Final = 100_000
ALLOW: Final = "Allow"
ALWAYS: Final = "Allow always"
DENY: Final = "Deny"

_encode = msgspec.json.Encoder().encode


def request_text(asked: InputRequested) -> str:
    """Return the question as the human reads it."""
    text = _questions(asked) if asked.kind == "question" else _permission(asked)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n… ({len(text) - MAX_TEXT:,} more characters)"


def request_options(asked: InputRequested) -> tuple[str, ...]:
    """Return the answers to choose from. Any other answer to a permission denies it, with that as the reason."""
    if asked.kind == "question":
        return tuple(_labels(asked.questions[0])) if len(asked.questions) == 1 else ()
    if asked.tool is None:
        return ()
    suggestions = asked.suggestions if isinstance(asked.suggestions, list) else []
    return (ALLOW, *map(always_text, suggestions), DENY)


def always_text(suggestion: Any) -> str:
    """Return the option that allows from now on what the program suggests to allow."""
    return f"{ALWAYS}: {_suggestion(suggestion)}"


def _permission(asked: InputRequested) -> str:
    head = f"Allow {asked.tool}?" if asked.tool else "It asks for a permission in its own window."
    if isinstance(asked.input, dict):
        lines = [f"{name}: {_plain(value)}" for name, value in asked.input.items()]
    else:
        lines = [] if asked.input is None else [_plain(asked.input)]
    return "\n".join(part for part in (head, asked.note, *lines) if part)


def _questions(asked: InputRequested) -> str:
    if not asked.questions:
        return asked.note or "It asks a question in its own window."
    several = len(asked.questions) > 1
    lines = []
    for number, question in enumerate(asked.questions, 1):
        text = _plain(question.get("question") or question.get("header") or "")
        lines.append(f"{number}. {text}" if several else text)
        for option in _options(question):
            told = option if isinstance(option, dict) else {"label": option}
            description = _plain(told.get("description") or "")
            label = _plain(told.get("label") or "")
            lines.append(f"  - {label}: {description}" if description else f"  - {label}")
    return "\n".join(lines)


def _options(question: dict[str, Any]) -> list[Any]:
    options = question.get("options")
    return options if isinstance(options, list) else []


def _labels(question: dict[str, Any]) -> list[str]:
    found = [one.get("label") if isinstance(one, dict) else one for one in _options(question)]
    return [label for label in found if isinstance(label, str) and label.strip()]


def _suggestion(suggestion: Any) -> str:
    """Return in one line what a suggestion would allow from now on."""
    if not isinstance(suggestion, dict):
        return _plain(suggestion)
    kind, where = suggestion.get("type"), suggestion.get("destination")
    if kind == "addRules" and isinstance(suggestion.get("rules"), list):
        rules = [one for one in suggestion["rules"] if isinstance(one, dict)]
        what = ", ".join(f"{one.get('toolName', '')}({one.get('ruleContent', '')})" for one in rules)
    elif kind == "setMode":
        what = f"mode {suggestion.get('mode')}"
    elif kind == "addDirectories" and isinstance(suggestion.get("directories"), list):
        what = f"folders {', '.join(map(_plain, suggestion['directories']))}"
    else:
        return _plain(suggestion)
    return f"{what} ({where})" if where else what


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _encode(value).decode()
