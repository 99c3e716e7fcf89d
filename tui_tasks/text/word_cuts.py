"""Cuts of lines that are too long for their place: between words, and so that a question can be read."""

from __future__ import annotations

import re
from typing import Final

from tui_tasks.text.safe import beginning, cell_len, safe_line

# In doubt a sentence begins earlier: without its beginning it can say the opposite. `Mr.`, `e.g.` and letters end none.
_SENTENCE_END: Final = r"(?<![ (.][A-Za-z])(?<![ (][A-Z][a-z])(?<![ (]Mrs)(?<![ (]etc)[.!?] (?:· |(?![a-z]))|[。！？]"
_QUESTION_END: Final = r"[?](?= |$)|？"
# In cells: the least room in which a question is cut in the middle, and the least before its last sentence.
_LEAST_QUESTION: Final = 16
_LEAST_LEAD: Final = 8
# In cells: how much more of its beginning is left out, so that no word is cut.
_NEAR: Final = 12


def safe_words(text: str, limit_cells: int, *, ascii_only: bool = False) -> str:
    """Return a safe line as `safe_line` does, but cut a long one between words; empty where not one word fits."""
    line = safe_line(text, ascii_only=ascii_only)
    if cell_len(line) <= limit_cells:
        return line
    words = _whole_words(line, max(0, limit_cells - 1))
    return f"{words}{'~' if ascii_only else '…'}" if words else ""


def cut_said(text: str, cells: int, *, ascii_only: bool = False) -> str:
    """Return a safe line cut between words, with the end of its quote; empty where not one word fits."""
    if cell_len(text) <= cells:
        return text
    shown = safe_words(text, cells - 1, ascii_only=ascii_only)
    return shown + '"' * (shown.count('"') % 2)


def safe_question(text: str, limit_cells: int, *, ascii_only: bool = False) -> str:
    """Return a safe line as `safe_line` does, but of a long one keep the last sentence that asks, from its beginning.

    What stands before it is cut first, then what follows, and only then its own end: a sentence without its beginning
    can say the opposite. A text without a question is cut at its end.
    """
    line = safe_line(text, ascii_only=ascii_only)
    ends = [match.end() for match in re.finditer(_QUESTION_END, line)]
    if cell_len(line) <= limit_cells or not ends:
        return safe_line(line, limit_cells, ascii_only=ascii_only)
    asked, dots = line[: ends[-1]], "~" if ascii_only else "…"
    begin = max((match.end() for match in re.finditer(_SENTENCE_END, asked[:-1])), default=0)
    if limit_cells < _LEAST_QUESTION:
        return safe_line(line[begin:], limit_cells, ascii_only=ascii_only)
    question = asked[begin:] + f" {dots}" * (len(asked) < len(line))
    if not begin or cell_len(asked[:begin] + question) <= limit_cells:
        return safe_line(line, limit_cells, ascii_only=ascii_only)
    room = limit_cells - cell_len(question) - 1
    if room < _LEAST_LEAD:
        return safe_line(f"{dots} {line[begin:]}", limit_cells, ascii_only=ascii_only)
    whole = _whole_words(line, room - 2)
    if whole and cell_len(whole) >= room - 2 - _NEAR:
        return f"{whole} {dots} {question}"
    return f"{safe_line(line, room, ascii_only=ascii_only)} {question}"


def _whole_words(line: str, limit_cells: int) -> str:
    """Return the longest beginning of a safe line that ends with a word, of at most `limit_cells` cells."""
    at = len(beginning(line, limit_cells))
    # Wide letters are words of their own.
    while at and not line[at].isspace() and cell_len(line[at]) < 2:
        at -= 1
    return line[:at].rstrip()
