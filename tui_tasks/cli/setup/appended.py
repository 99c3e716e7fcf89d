"""A block at the end of a text, whose removal restores the text byte for byte.

An empty line separates it from the text. The block ends with a line break exactly if the text before it did.
"""

from __future__ import annotations


def newline_of(text: str | None) -> str:
    """Return the line break that a text uses."""
    return "\r\n" if text and "\r\n" in text else "\n"


def append(text: str | None, block: str) -> str:
    """Return the text (None: there is no file) with a block of whole lines appended."""
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
    """Return the text without the block between two offsets, the line break after it not included.

    None: the file has nothing else.
    """
    newline = newline_of(text)
    before, after = text[:start], text[end:]
    if not after:
        return before.removesuffix(newline * 2)
    after = after.removeprefix(newline)
    if not before and not after:
        return None
    return before.removesuffix(newline) + after
