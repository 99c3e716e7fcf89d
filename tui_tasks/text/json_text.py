"""JSON for a terminal: the same value, without anything that a terminal would execute or hide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

# Variation selectors count as printable, but change the width of the character before, depending on the terminal.
_SELECTORS: Final = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))

# Bytes of a piece of a long text.
_PIECE: Final = 1 << 20


def readable(text: str) -> str:
    """Return JSON with escapes for all characters that are not plainly visible, or that terminals disagree on."""
    # Nearly all texts pass these tests, which take a hundredth of the time. In ASCII, JSON has escaped
    # every control character but DEL.
    if text.isascii() and "\x7f" not in text:
        return text
    if text.replace("\n", "").isprintable() and _SELECTORS.isdisjoint(text):
        return text
    import json  # imported here, as few texts need it

    return "".join(char if char == "\n" or _is_read(char) else json.dumps(char)[1:-1] for char in text)


def _is_read(char: str) -> bool:
    return char.isprintable() and char not in _SELECTORS


def dumps(value: Any, indent: int | None = None) -> str:
    """Return a value as `readable` JSON."""
    import json

    return readable(json.dumps(value, ensure_ascii=False, indent=indent))


def indented(encoded: bytes) -> Iterator[str]:
    """Yield encoded JSON as `readable` text, indented by 2, in pieces: long JSON is not held in memory as objects."""
    import msgspec

    made = msgspec.json.format(encoded, indent=2)
    at = 0
    while at < len(made):
        end = made.find(b"\n", at + _PIECE) + 1 or len(made)
        yield readable(made[at:end].decode())
        at = end
