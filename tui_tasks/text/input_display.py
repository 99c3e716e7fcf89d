"""Untrusted text in inputs: every character is drawn as exactly one, so that the cursor is at its true place."""

from __future__ import annotations

import unicodedata

from tui_tasks.text.safe import MAX_MARKS, safe_line


def one_to_one(text: str) -> str:
    """Return `text` with each character that is unsafe for a terminal replaced by one that is safe.

    As `safe.safe_line`, but nothing is dropped: what that would drop, including marks beyond the third, is shown as
    U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    letters: list[str] = []
    marks = MAX_MARKS
    for letter in text:
        marks = marks + 1 if _is_mark(letter) else 0
        letters.append(letter if 0 < marks <= MAX_MARKS else _safe_letter(letter))
    return "".join(letters)


def _is_mark(letter: str) -> bool:
    """Return whether it is a mark whose width terminals agree on; variation selectors are not."""
    return unicodedata.category(letter).startswith("M") and safe_line(f"a{letter}") == f"a{letter}"


def _safe_letter(letter: str) -> str:
    if letter == "\n":
        return "\u2424"
    safe = safe_line(letter)
    return safe if len(safe) == 1 else "\ufffd"
