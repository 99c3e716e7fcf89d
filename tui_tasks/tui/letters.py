"""Texts of others in lines that are typed in: every character is shown as one, so that the cursor is where it seems."""

from __future__ import annotations

import unicodedata

from tui_tasks.tui.format import safe_line


def one_to_one(text: str) -> str:
    """Return `text` with every character that a terminal should not be given replaced by one that it can be.

    As `format.safe_line`, but nothing is dropped: what that would leave out is shown as U+FFFD. Marks stay as they are.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter == "\n":
        return "\u2424"
    if unicodedata.category(letter).startswith("M"):
        return letter
    safe = safe_line(letter)
    return safe if len(safe) == 1 else "\ufffd"
