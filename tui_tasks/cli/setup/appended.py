"""A block at the end of a text, which can be removed so that the text is byte for byte as before.

An empty line comes before it. Whether the block ends with a line break tells whether the text ended with one before.
"""

from __future__ import annotations


def newline_of(text: str | None) -> str:
    """Return the line break that a text uses."""
    return "\r\n" if text and "\r\n" in text else "\n"


def append(text: str | None, block: str) -> str:
    """Return a text (None: missing) with a block of whole lines appended."""
    newline = newline_of(text)
    block = block.rstrip("\n").replace("\n", newline)
    if text is None:
        return block + newline
    if not text:
        return block
    if text.endswith("\n"):
        return text + newline + block + newline
    return text + newline * 2 + block


def remove(text: str, start: int, end: int) -> str | None:
    """Return the text without the block between two places, line breaks not counted; None when it was all of the
    text.
    """
    newline = newline_of(text)
    before, after = text[:start], text[end:]
    if not after:
        return before.removesuffix(newline * 2)
    after = after.removeprefix(newline)
    if not before and not after:
        return None
    return before.removesuffix(newline) + after
