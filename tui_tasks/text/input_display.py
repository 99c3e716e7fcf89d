"""Texts of others in lines that are typed in: every character is shown as one, so that the cursor is where it seems."""

from __future__ import annotations

import unicodedata

from tui_tasks.text.safe import MAX_MARKS, safe_line


def one_to_one(text: str) -> str:
    """Return `text` with every character that a terminal should not be given replaced by one that it can be.

    As `safe.safe_line`, but nothing is dropped: what that would leave out, marks beyond the third among it, is shown
    as U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = MAX_MARKS
    for letter in text:
        marks = marks + 1 if _is_mark(letter) else 0
        shown.append(letter if 0 < marks <= MAX_MARKS else _shown(letter))
    return "".join(shown)


def _is_mark(letter: str) -> bool:
    """Whether it is a mark on the letter before it that terminals agree on: a variation selector is none."""
    return unicodedata.category(letter).startswith("M") and safe_line(f"a{letter}") == f"a{letter}"


def _shown(letter: str) -> str:
    if letter == "\n":
        return "\u2424"
    safe = safe_line(letter)
    return safe if len(safe) == 1 else "\ufffd"
