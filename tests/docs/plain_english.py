"""A rough measure of plain English: phrases that are never used, and sentences that are too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_WORDS: Final = 25
BANNED: Final = (
    *("anew", "comes of", "of ours", "such that", "tells of", "that of", "the like", "thereof", "those of", "told"),
    *(
        "at the most",
        "beside it is",
        "by whom",
        "goes on",
        "in the midst",
        "is to be",
        "nobody's",
        "so that",
        "stands for",
    ),
    *(
        "take back",
        "takes back",
        "taken back",
        "take up",
        "takes up",
        "taken up",
        "tells",
        "take in",
        "taken in",
        "to the letter",
        "what of",
        "whatever comes",
        "whosoever",
    ),
    *("as ever", "all the same", "put away", "whereby", "wherein", "thereby"),
    *("let it go on", "worst off", "what it is to be", "what came of", "where there is none"),
)
_BANNED = re.compile(rf"\b(?:{'|'.join(map(re.escape, BANNED))})\b", re.IGNORECASE)
_CODE_BLOCK = re.compile(r"^(?:```.*?^```$|(?: {4}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*(?=[-*|#]|\d+\. )|\s\|\s?")


def prose(page: str) -> str:
    """Return a page without code blocks, code and targets of links."""
    text = _LINK.sub(r"\1", _CODE_BLOCK.sub("\n\n", page))
    return re.sub(r"`[^`]*`", "CODE", text)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text: also cells of tables, items, and parts behind a colon or semicolon."""
    for part in _END.split(text):
        if words := part.strip(" |-*#\n"):
            yield " ".join(words.split())


def faults(text: str) -> list[str]:
    """Return what is wrong with a text, as sentences with their fault."""
    found = []
    for sentence in sentences(text):
        if banned := _BANNED.search(sentence):
            found.append(f"{banned[0]!r}: {sentence}")
        if (count := len(re.findall(r"[\w'-]+", sentence))) > MAX_WORDS:
            found.append(f"{count} words: {sentence}")
    return found
