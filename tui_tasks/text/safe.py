"""Makes agents' texts safe for a terminal, in inputs and JSON too: no control character, markup or bidi control.

All text that an agent can write is unsafe until it went through `safe_line` or `safe_text`. Pure; needs no Textual, so
that commands use it too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final, Literal

LINE_CHARS: Final = 4_000
"""The most characters of a text that a one-line place looks at."""
TEXT_CHARS: Final = 20_000
"""The most characters that a many-line place shows, unless told otherwise."""
TAB: Final = 4
MAX_MARKS: Final = 3
"""The most combining marks that one character may carry."""

# Blocks in which every printable character is drawn as it is: no marks, fillers, modifiers or flags.
# They save looking at each character of most texts; a test compares them with `_stands_for`.
_ORDINARY: Final = (
    "[ -~\xa1-\xac\xae-\u02ff\u0370-\u0482\u048a-\u0590\u10a0-\u10ff\u1e00-\u1fff\u2010-\u2027\u2030-\u205e"
    "\u2070-\u20cf\u2100-\u262f\u2638-\u2689\u2690-\u27ff\u2801-\u2bff\u3001-\u3029\u3030-\u3098\u309b-\u3163\u3165-\u3247\u3250-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff01-\uff9f\ufffc\ufffd\U0001f200-\U0001f3fa\U0001f400-\U0001faff\U00020000-\U0003134f]*"
)
_NEWLINES = "\n\x85\u2028\u2029"
# Marks of direction, which can make one line look like another, and are shown as replacement characters.
BIDI: Final = frozenset(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
# Format characters that do not join or hide, but are drawn around others.
_DRAWN = frozenset(map(chr, (*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD)))
# Printable to Python, but invisible.
_INVISIBLE: Final = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff"
# Those, and others that change their neighbour's width, on which terminals disagree.
_DROPPED: Final = f"[{_INVISIBLE}\u20e3\U0001f3fb-\U0001f3ff]"
# Printable, but one cell wide in some terminals and two in others, by the version of Unicode that they know.
_OF_TWO_WIDTHS: Final = (
    "[\u2630-\u2637\u268a-\u268f\u302e\u302f\u3248-\u324f\U00016ff0\U00016ff1"
    "\U0001d300-\U0001d356\U0001d360-\U0001d376]"
)
# Printable, but drawn as another character is: the pictures of controls, and a blank.
_AMBIGUOUS: Final = "[\u2400-\u2421\u2800]"
# Vowels and finals of Hangul join the character before them, as marks do.
_JAMO: Final = "[\u1161-\u11ff\ud7b0-\ud7c6\ud7cb-\ud7fb]"
# Blocks of scripts in which a non-joiner decides between two spellings: Arabic, as in Persian, and those of India.
_JOINED: Final = "[\u0620-\u06d3\u0750-\u077f\u08a0-\u08ff]{2}|[\u0900-\u0d7f]{2}"
NON_JOINER: Final = "\u200c"
# Braille without a dot: a letter to Python, a blank on a terminal.
_BLANK: Final = "\u2800"
_REGIONAL_A = 0x1F1E6
_MARK = "mark"


@cache
def _pattern(text: str) -> re.Pattern[str]:
    # Compiled at first use: most text is ASCII and needs none, and shell commands are short.
    return re.compile(text)


def _category(char: str) -> str:
    import unicodedata  # a megabyte: only for texts that are not ASCII

    return unicodedata.category(char)


def is_invisible(char: str) -> bool:
    """Return whether a character is invisible in a text: it has no width, or only changes its neighbours."""
    if char.isascii():
        return False
    return _pattern(f"[{_INVISIBLE}{_BLANK}]").match(char) is not None or _category(char) == "Cf"


@lru_cache(8192)
def _stands_for(char: str) -> str:
    """Return the replacement of a character: text, nothing, `\\n` for a newline, `_MARK` for a mark."""
    code = ord(char)
    if char in _NEWLINES:
        return "\n"
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if _pattern(_DROPPED).match(char):
        return ""
    if _pattern(_OF_TWO_WIDTHS).match(char):
        return "\ufffd"
    if _REGIONAL_A <= code < _REGIONAL_A + 26:
        # Two make a flag, whose width depends on the terminal; letters are one cell each.
        return chr(ord("A") + code - _REGIONAL_A)
    category = _category(char)
    if category[0] == "M" or _pattern(_JAMO).match(char):
        return _MARK
    if category == "Zs" or char == _BLANK:
        return " "
    if category == "Cf" and char not in BIDI and char not in _DRAWN:
        return ""
    return "\ufffd" if category[0] == "C" else char


def _joins(before: str, after: str) -> bool:
    """Return whether a non-joiner between two characters is part of a word: in a script that needs it.

    It has no width in any terminal. A joiner is drawn nowhere: Rich counts no cell for the character after it.
    """
    both = _pattern(_JOINED).fullmatch(before + after)
    return both is not None and _category(before)[0] in "LM" and _category(after)[0] == "L"


def _clean(text: str, newline: str, tab: str) -> str:
    """Replace each character by its replacement; drop marks without a base, or too many."""
    shown: list[str] = []
    marks = MAX_MARKS
    text = text.replace("\r\n", "\n")
    for at, char in enumerate(text):
        what = tab if char == "\t" else _stands_for(char)
        if char == NON_JOINER and shown and _joins(shown[-1], text[at + 1 : at + 2]):
            what = _MARK
        if what == _MARK:
            marks += 1
            if marks <= MAX_MARKS:
                shown.append(char)
        elif what == "\n":
            marks = MAX_MARKS
            shown.append(newline)
        elif what:
            marks = 0
            shown.append(what)
    return "".join(shown)


def _is_ordinary(text: str) -> bool:
    return text.isprintable() and (text.isascii() or _pattern(_ORDINARY).fullmatch(text) is not None)


def path_text(path: str) -> str:
    """Return a path as text that can be stored and sent; bytes that are no UTF-8 are written as `\\xff`."""
    return os.fsencode(path).decode(errors="backslashreplace")


def safe_line(text: str, limit_cells: int | None = None, *, ascii_only: bool = False) -> str:
    """Return `text` as one line that is safe to print, at most `limit_cells` wide.

    Controls become pictures, newlines and tabs spaces; characters without an agreed width are dropped, but for the
    non-joiner within a word of Persian or Hindi; other unsafe ones become U+FFFD. A text of which nothing would be
    seen, such as the name U+2800, is written as code points: `<U+2800>`. Cut text ends in `…` (`~` with `ascii_only`),
    never within a character. The cost depends on `limit_cells`, not on the length of `text`.
    """
    most = LINE_CHARS if limit_cells is None else min(LINE_CHARS, 8 * max(limit_cells, 0) + 64)
    cut = len(text) > most
    if cut:
        text = text[: most - 1]
    if not _is_ordinary(text):
        shown = _clean(text, newline=" ", tab=" ")
        text = shown if shown.strip() else _code_points(text)
    more = "~" if ascii_only else "…"
    if limit_cells is None:
        return text + more if cut else text
    if not cut and cell_len(text) <= limit_cells:
        return text
    return beginning(text, limit_cells - 1) + more if limit_cells > 0 else ""


def _code_points(text: str) -> str:
    """Return a blank text with each character that is no ASCII and no newline as its code point."""
    return "".join(" " if char.isascii() or char in _NEWLINES else f"<U+{ord(char):04X}>" for char in text)


def is_blank(text: str) -> bool:
    """Return whether nothing of a text would be seen: it has only blanks and characters without a shape."""
    return not (text if _is_ordinary(text) else _clean(text, newline=" ", tab=" ")).strip()


def safe_text(text: str, limit_chars: int = TEXT_CHARS, *, ascii_only: bool = False) -> str:
    """Return `text` as lines that are safe to print, at most `limit_chars` characters in all.

    As `safe_line`, but newlines of every kind become `\\n`, and tabs are expanded to columns of four.
    """
    if limit_chars <= 0:
        return ""
    cut = len(text) > limit_chars
    if cut:
        text = text[: limit_chars - 1]
    if not _is_ordinary(text):
        text = _clean(text, newline="\n", tab="\t").expandtabs(TAB)
    if cut or len(text) > limit_chars:
        return text[: limit_chars - 1].rstrip(NON_JOINER) + ("~" if ascii_only else "…")
    return text


def whole_text(text: str, *, joins: bool = False) -> str:
    """Return `text` as lines that are safe to print, with nothing hidden: for what a person decides about.

    As `safe_text`, but nothing is cut or dropped: characters without a shape of their own, such as U+200B, become
    `<U+200B>`. `joins`: non-joiners stay within words of the scripts that need them, as in `safe_text`.
    """
    if _is_ordinary(text) and _pattern(_AMBIGUOUS).search(text) is None:
        return text
    shown: list[str] = []
    marks = MAX_MARKS
    for at, char in enumerate(text):
        what = char if char in "\n\t" else _stands_for(char)
        if joins and char == NON_JOINER and shown and _joins(shown[-1], text[at + 1 : at + 2]):
            what = _MARK
        if what == _MARK and marks < MAX_MARKS:
            marks += 1
            shown.append(char)
            continue
        is_drawn = (what == char or char < " " or char == "\x7f") and not _pattern(_AMBIGUOUS).match(char)
        shown.append(what if is_drawn else f"<U+{ord(char):04X}>")
        marks = MAX_MARKS if what in ("\n", _MARK) else 0
    return "".join(shown).expandtabs(TAB)


def safe_copy(text: str, *, one_line: bool = False) -> str:
    """Return all of `text` for the clipboard, safe to paste into a shell: nothing in it presses a key.

    As `safe_text` or `safe_line`, but nothing is cut; tabs are kept where lines are.
    """
    if _is_ordinary(text):
        return text
    return _clean(text, newline=" ", tab=" ") if one_line else _clean(text, newline="\n", tab="\t")


def cell_len(text: str) -> int:
    """Return the width of safe `text` in cells, by the tables of `text.cells`."""
    if text.isascii():
        return len(text)
    from tui_tasks.text import cells

    return cells.cell_len(text)


def beginning(text: str, limit_cells: int) -> str:
    """Return the longest beginning of safe `text` of at most `limit_cells` cells, with its last marks."""
    if text.isascii():
        return text[:limit_cells]
    from tui_tasks.text.cells import get_character_cell_size

    used = 0
    for at, char in enumerate(text):
        used += get_character_cell_size(char)
        if used > limit_cells:
            while at and _category(text[at]) == "Mc":  # it stays behind its letter
                at -= 1
            return text[:at].rstrip(NON_JOINER)
    return text


def fit(text: str, cells: int, align: Literal["left", "right"] = "left", *, ascii_only: bool = False) -> str:
    """Return `safe_line` of `text` padded to exactly `cells` cells, for columns."""
    line = safe_line(text, cells, ascii_only=ascii_only)
    padding = " " * (cells - cell_len(line))
    return line + padding if align == "left" else padding + line


def safe_ends(text: str, limit_cells: int, *, ascii_only: bool = False) -> str:
    """Return a safe line, but cut a long one in the middle: names often differ only at their ends."""
    line = safe_line(text, ascii_only=ascii_only)
    tail = line[-(limit_cells // 2 - 1) :].lstrip(NON_JOINER) if limit_cells >= 6 else ""
    if not tail or cell_len(line) <= limit_cells:
        return safe_line(line, limit_cells, ascii_only=ascii_only)
    return safe_line(line, limit_cells - cell_len(tail), ascii_only=ascii_only) + tail


def fit_ends(text: str, cells: int, *, ascii_only: bool = False) -> str:
    """Return `safe_ends` of `text` padded to exactly `cells` cells, for columns."""
    return fit(safe_ends(text, cells, ascii_only=ascii_only), cells, ascii_only=ascii_only)


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
    return _category(letter).startswith("M") and safe_line(f"a{letter}") == f"a{letter}"


def _safe_letter(letter: str) -> str:
    if letter == "\n":
        return "\u2424"
    safe = safe_line(letter)
    return safe if len(safe) == 1 else "\ufffd"


# Variation selectors count as printable, but change the width of the character before, depending on the terminal.
_SELECTORS: Final = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))

# Bytes of a piece of a long text.
_PIECE: Final = 1 << 20


def readable(text: str) -> str:
    """Return JSON with escapes for all characters that are not plainly visible, or that terminals disagree on."""
    # Nearly all texts pass these tests, which take a hundredth of the time. In ASCII, JSON has escaped every control
    # character but DEL.
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


_PLAIN: Final = frozenset("._-/@+~:#&<> ")


def title_text(name: str, limit_cells: int | None = None, *, among: Sequence[str] = ("  ",)) -> str:
    """Return a task's title in one line, safe to print; in quotes, where it could pass for more than the title.

    `among`: what stands between the parts of the line; two blanks, if nothing else is said.
    """
    shown = safe_line(name, limit_cells)
    return in_quotes(shown) if any(sign in shown.strip() for sign in among) else shown


def name_text(name: str, limit_cells: int | None = None) -> str:
    """Return the name of a list or a file in one safe line; in quotes, where it could pass for words around it."""
    shown = safe_line(name, limit_cells)
    is_plain = "  " not in shown and shown == shown.strip() and all(map(_is_plain, shown))
    return shown if is_plain else in_quotes(shown)


def _is_plain(char: str) -> bool:
    if char.isalnum() or char in _PLAIN:
        return True
    import unicodedata  # only the vowels of some scripts need it

    return not char.isascii() and unicodedata.category(char).startswith("M")


def in_quotes(shown: str) -> str:
    """Return a text in quotes that it cannot end itself."""
    return '"' + shown.replace('"', "'") + '"'
