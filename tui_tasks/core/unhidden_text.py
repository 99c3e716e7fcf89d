"""Text that a person decides about: nothing is hidden in it, and nothing looks like something else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from tui_tasks.core import agent_names
from tui_tasks.text.safe import BIDI, is_invisible, whole_text

NEWLINE: Final = ("\u23ce", "<LF>")
"""The sign for a newline at the end of a line, and its ASCII form."""
_TAB: Final = ("\u21e5", "<TAB>")
_SPACES: Final = ("\u2420\xd7{}", "<{} spaces>")

# What is written in another way: long runs of spaces, spaces at the end, tabs, and signs that this file itself writes.
_SPECIAL: Final = re.compile(r"(?<=[^ ]) {9,}|^ {25,}| +\Z|\t|[\u23ce\u21e5]|<(?=U\+[0-9A-F]|TAB>|LF>|[0-9]+ spaces>)")
_WORD: Final = re.compile(r"\w+|[^\w ]+")
# Characters that join or vary the one before them; several in a row could hide a text.
_JOINING: Final = frozenset("\u200c\u200d\ufe0e\ufe0f")


def unhidden_lines(text: str, *, is_prose: bool = False, ascii_only: bool = False) -> list[str]:
    """Return the lines of a text, safe to print, in which nothing is hidden and nothing looks like something else.

    As `whole_text`, but a line that a newline ends has a sign for it, and tabs and long runs of spaces have signs. A
    character that looks like one of ASCII becomes its code point: in a word with ASCII letters, in a word that has no
    other letters, and outside words. In prose it does so in a word with ASCII letters alone, and non-joiners stay in
    the scripts that need them. With `ascii_only`, signs are ASCII and only letters are not.
    """
    *complete, last = (_line(line, is_prose, ascii_only) for line in text.split("\n"))
    return [*(line + NEWLINE[ascii_only] for line in complete), last]


def prose_lines(text: str, *, ascii_only: bool = False) -> list[str]:
    """Return the lines of prose as `unhidden_lines`, but without the signs of newlines."""
    return [unhidden_line(line, is_prose=True, ascii_only=ascii_only) for line in text.split("\n")]


def file_lines(text: str, *, ascii_only: bool = False) -> list[str]:
    """Return the lines of a file's text as `unhidden_lines`; a newline has its sign at the end of the text alone, as
    each line is to stand behind a mark. An empty text has none.
    """
    *complete, last = unhidden_lines(text, ascii_only=ascii_only)
    newline = NEWLINE[ascii_only]
    whole = [line.removesuffix(newline) for line in complete]
    if last:
        return [*whole, last]
    return [*whole[:-1], complete[-1]] if complete else []


def unhidden_line(text: str, *, is_prose: bool = False, ascii_only: bool = False) -> str:
    """Return a text as one line; see `unhidden_lines`."""
    return "<U+000A>".join(_line(line, is_prose, ascii_only) for line in text.split("\n"))


def _line(line: str, is_prose: bool, ascii_only: bool) -> str:
    if line.isascii() and line.isprintable() and _SPECIAL.search(line) is None:
        return line
    parts: list[str] = []
    at = 0
    for special in _SPECIAL.finditer(line):
        parts.append(_spelled(line[at : special.start()], is_prose, ascii_only))
        what, at = special[0], special.end()
        if what[0] == " ":
            parts.append(_SPACES[ascii_only].format(len(what)))
        else:
            parts.append(_TAB[ascii_only] if what == "\t" else _code_point(what))
    return "".join((*parts, _spelled(line[at:], is_prose, ascii_only)))


def _spelled(text: str, is_prose: bool, ascii_only: bool) -> str:
    """Return `whole_text` of a text, with the code points of characters that look like others."""
    parts: list[str] = []
    start = 0
    for at in _deceptive(text, is_prose, ascii_only):
        parts += whole_text(text[start:at], joins=is_prose), _code_point(text[at])
        start = at + 1
    return "".join((*parts, whole_text(text[start:], joins=is_prose)))


def _deceptive(text: str, is_prose: bool, ascii_only: bool) -> Iterator[int]:
    """Yield where the characters are that look like others."""
    if text.isascii() and (text.isprintable() or not ascii_only):
        return
    for match in _WORD.finditer(text):
        word, first = match[0], match.start()
        if word.isascii() and (is_prose or not ascii_only):
            continue
        if word[0].isalnum() or word[0] == "_":
            alike = [at for at, char in enumerate(word, first) if agent_names.looks_like_ascii(char)]
            is_mixed = re.search("[A-Za-z]", word) is not None
            others = len(word) - len(alike) - len(re.findall(r"[0-9_]", word))
            if is_prose and is_mixed:
                # Languages in Latin letters have some that look like others, such as Turkish.
                yield from (at for at in alike if "LATIN" not in unicodedata.name(text[at], ""))
            elif not is_prose and (is_mixed or not others):
                yield from alike
        elif not is_prose:
            for at, char in enumerate(word, first):
                # Terminals without glyphs have no pictures of control characters, either.
                is_glyph = not char.isascii() or not char.isprintable()
                if agent_names.looks_like_ascii(char) or (ascii_only and is_glyph):
                    yield at


def _code_point(char: str) -> str:
    return f"<U+{ord(char):04X}>"


def invisible_char(text: str) -> str | None:
    """Return the first character of a text that is invisible and does not belong to the one before it; None without
    one.
    """
    before = " "
    for char in text:
        if is_invisible(char) and char not in BIDI:
            joins = char in _JOINING and not before.isspace() and before not in _JOINING
            if not joins:
                return char
        before = char
    return None
