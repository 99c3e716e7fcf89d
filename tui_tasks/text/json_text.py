"""JSON for a terminal: the same value, and nothing in it that a terminal would obey or hide."""

from __future__ import annotations

from typing import Any, Final

# Variation selectors count as printable, and change the width of what is before them as the terminal pleases.
_SELECTORS: Final = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))


def readable(text: str) -> str:
    """JSON with an escape for each character that would do more than be read, or that terminals disagree on."""
    # Nearly all is read, and a long text is told so in a hundredth of the time. Where it is ASCII, JSON has escaped
    # every control character but one.
    if text.isascii() and "\x7f" not in text:
        return text
    if text.replace("\n", "").isprintable() and _SELECTORS.isdisjoint(text):
        return text
    import json  # only now: nearly no text comes here

    return "".join(char if char == "\n" or _is_read(char) else json.dumps(char)[1:-1] for char in text)


def _is_read(char: str) -> bool:
    return char.isprintable() and char not in _SELECTORS


def shown(value: Any, indent: int | None = None) -> str:
    """A value as `readable` JSON."""
    import json

    return readable(json.dumps(value, ensure_ascii=False, indent=indent))
