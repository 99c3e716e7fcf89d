"""Turns what agents wrote, and instants and states, into what may be drawn.

Everything that an agent can write is hostile until `safe_line` or `safe_text` has had it: control
characters reach the terminal through every widget, and square brackets in a plain string are read as markup.
Pure functions; instants are microseconds since the epoch, UTC, and durations are microseconds. Commands
without a screen use this module too, so only the functions that need Textual or Rich import them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import datetime, tzinfo
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import humanize

if TYPE_CHECKING:
    from rich.text import Text
    from textual.content import Content

LINE_CHARS: Final = 4_000
"""The most characters of a text that a one-line place looks at."""
TEXT_CHARS: Final = 20_000
"""The most characters that a many-line place shows, unless told otherwise."""
TAB: Final = 4
MAX_MARKS: Final = 3
"""The most combining marks that one character may carry."""

# Blocks in which every printable character is drawn as it is: no marks, fillers, modifiers or flags.
# It spares most text the look at each character; a test holds it against `_stands_for`.
_ORDINARY: Final = (
    "[ -~\xa1-\xac\xae-\u02ff\u0370-\u0482\u048a-\u0590\u10a0-\u10ff\u1e00-\u1fff\u2010-\u2027\u2030-\u205e"
    "\u2070-\u20cf\u2100-\u2bff\u3001-\u3029\u3030-\u3098\u309b-\u3163\u3165-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff01-\uff9f\ufffc\ufffd\U0001f200-\U0001f3fa\U0001f400-\U0001faff\U00020000-\U0003134f]*"
)
_NEWLINES = "\n\x85\u2028\u2029"
# Marks of direction: with them one line can be made to look like another.
_BIDI = frozenset(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
# Format characters that do not join or hide, but are drawn around others.
_DRAWN = frozenset(map(chr, (*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD)))
# Printable to Python, but nothing to see or a change to their neighbour's width, on which terminals disagree.
_DROPPED: Final = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u20e3\u3164\ufe00-\ufe0f\uffa0"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]"
)
# Vowels and finals of Hangul join the character before them, as marks do.
_JAMO: Final = "[\u1161-\u11ff\ud7b0-\ud7c6\ud7cb-\ud7fb]"
_REGIONAL_A = 0x1F1E6
_MARK = "mark"


@cache
def _pattern(text: str) -> re.Pattern[str]:
    # Compiled at first need: ASCII, which most text is, needs none, and a command of the shell is soon over.
    return re.compile(text)


@lru_cache(8192)
def _stands_for(char: str) -> str:
    """Return what is shown for a character: text, nothing, `\\n` for a newline, `_MARK` for a mark."""
    code = ord(char)
    if char in _NEWLINES:
        return "\n"
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if _pattern(_DROPPED).match(char):
        return ""
    if _REGIONAL_A <= code < _REGIONAL_A + 26:
        # Two make a flag, which is as wide as the terminal pleases; letters are one cell each.
        return chr(ord("A") + code - _REGIONAL_A)
    category = unicodedata.category(char)
    if category[0] == "M" or _pattern(_JAMO).match(char):
        return _MARK
    if category == "Zs":
        return " "
    if category == "Cf" and char not in _BIDI and char not in _DRAWN:
        return ""
    return "\ufffd" if category[0] == "C" else char


def _clean(text: str, newline: str, tab: str) -> str:
    """Put in place of each character what stands for it; marks with nothing to stand on, or too many, go."""
    shown: list[str] = []
    marks = MAX_MARKS
    for char in text.replace("\r\n", "\n"):
        what = tab if char == "\t" else _stands_for(char)
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


def safe_line(text: str, limit_cells: int | None = None, *, ascii_only: bool = False) -> str:
    """Return `text` as one line that does nothing but be read, at most `limit_cells` wide.

    Controls become pictures, newlines and tabs spaces; what has no agreed width is dropped; what else no
    terminal should be given becomes U+FFFD. What is cut ends in `…` (`~` with `ascii_only`), never in half a
    character. The cost depends on `limit_cells`, not on the length of `text`.
    """
    most = LINE_CHARS if limit_cells is None else min(LINE_CHARS, 8 * max(limit_cells, 0) + 64)
    cut = len(text) > most
    if cut:
        text = text[: most - 1]
    if not _is_ordinary(text):
        text = _clean(text, newline=" ", tab=" ")
    more = "~" if ascii_only else "…"
    if limit_cells is None:
        return text + more if cut else text
    if not cut and cell_len(text) <= limit_cells:
        return text
    return beginning(text, limit_cells - 1) + more if limit_cells > 0 else ""


def safe_text(text: str, limit_chars: int = TEXT_CHARS, *, ascii_only: bool = False) -> str:
    """Return `text` as lines that do nothing but be read, at most `limit_chars` characters in all.

    As `safe_line`, but newlines of every kind stay, as `\\n`, and tabs are expanded to columns of four.
    """
    if limit_chars <= 0:
        return ""
    cut = len(text) > limit_chars
    if cut:
        text = text[: limit_chars - 1]
    if not _is_ordinary(text):
        text = _clean(text, newline="\n", tab="\t").expandtabs(TAB)
    if cut or len(text) > limit_chars:
        return text[: limit_chars - 1] + ("~" if ascii_only else "…")
    return text


def safe_copy(text: str, *, one_line: bool = False) -> str:
    """Return all of `text` for the clipboard, whence it may be pasted into a shell: nothing in it presses a key.

    As `safe_text`, or `safe_line`, but nothing is cut; tabs stay where lines do.
    """
    if _is_ordinary(text):
        return text
    return _clean(text, newline=" ", tab=" ") if one_line else _clean(text, newline="\n", tab="\t")


def cell_len(text: str) -> int:
    """Return how many cells wide safe `text` is drawn, by the tables that Textual uses."""
    if text.isascii():
        return len(text)
    from rich import cells

    return cells.cell_len(text)


def beginning(text: str, limit_cells: int) -> str:
    """Return the longest beginning of safe `text` that is at most `limit_cells` wide, with the last marks."""
    if text.isascii():
        return text[:limit_cells]
    from rich.cells import get_character_cell_size

    used = 0
    for at, char in enumerate(text):
        used += get_character_cell_size(char)
        if used > limit_cells:
            return text[:at]
    return text


def fit(text: str, cells: int, align: Literal["left", "right"] = "left", *, ascii_only: bool = False) -> str:
    """Return `safe_line` of `text` padded to exactly `cells` cells, for columns."""
    line = safe_line(text, cells, ascii_only=ascii_only)
    padding = " " * (cells - cell_len(line))
    return line + padding if align == "left" else padding + line


def fit_ends(text: str, cells: int) -> str:
    """As `fit`, but what is too long is cut in the middle: names often differ at their ends alone."""
    line = safe_line(text, None)
    if cell_len(line) <= cells:
        return fit(line, cells)
    tail = line[-(cells // 2 - 1) :]
    return fit(safe_line(line, cells - cell_len(tail)) + tail, cells)


def plain(text: str, style: str = "", limit_cells: int | None = None) -> Content:
    """Return one safe line as Content in one style (`"$state-done"`); none of it is markup."""
    from textual.content import Content

    return Content.styled(safe_line(text, limit_cells), style, strip_control_codes=False)


def block(text: str, style: str = "", limit_chars: int = TEXT_CHARS) -> Content:
    """Return safe lines as Content in one style; none of it is markup."""
    from textual.content import Content

    return Content.styled(safe_text(text, limit_chars), style, strip_control_codes=False)


def cell(text: str, style: str = "", limit_cells: int | None = None) -> Text:
    """Return one safe line as Rich text, for a cell of a DataTable or Tree; `style` is in Rich's words."""
    from rich.text import Text

    return Text(safe_line(text, limit_cells), style, no_wrap=True, end="")


SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
YEAR: Final = 365 * DAY
MOST_WAIT: Final = 10 * SECOND
_STEPS: Final = ((YEAR, "y"), (WEEK, "w"), (DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s"))
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _step(span_us: int) -> tuple[int, str]:
    """Return the largest unit that goes into a span, in microseconds, and its letter."""
    return next((step for step in _STEPS if span_us >= step[0]), _STEPS[-1])


def age(then_us: int, now_us: int) -> str:
    """Return how long ago it was: `40s`, `9m`, `3h`, `2d`, `5w`, `1y`; ahead `in 12h`; this second `now`."""
    elapsed = now_us - then_us
    unit, letter = _step(abs(elapsed))
    if -SECOND < elapsed < SECOND:
        return "now"
    return f"{elapsed // unit}{letter}" if elapsed > 0 else f"in {-elapsed // unit}{letter}"


def ago(then_us: int, now_us: int) -> str:
    """Return `age` as it stands in a sentence: `40s ago`, `now`, `in 12h`."""
    return f"{age(then_us, now_us)} ago" if now_us - then_us >= SECOND else age(then_us, now_us)


def due(when_us: int, now_us: int) -> str:
    """Return how far off something planned is: `in 12h`, `now`, `overdue 25m`."""
    return f"overdue {age(when_us, now_us)}" if now_us - when_us >= SECOND else age(when_us, now_us)


def age_lasts(then_us: int, now_us: int) -> int:
    """Return for how many microseconds from now `age` says the same, for the timer that repaints it."""
    elapsed = now_us - then_us
    if -SECOND < elapsed < SECOND:
        return SECOND - elapsed
    unit, _ = _step(abs(elapsed))
    if elapsed < 0:
        return -elapsed % unit + 1
    # A year is not a number of weeks; every other unit is a number of the one below.
    return min(unit - elapsed % unit, YEAR - elapsed if elapsed < YEAR else unit)


def draw_again_in(span_us: int) -> float:
    """Return after how many seconds to draw again what is true for so many microseconds.

    Sooner than that where it is long: timers stand still while a machine sleeps, and know nothing of a clock that is
    set.
    """
    return min(max(span_us, SECOND), MOST_WAIT) / SECOND


def duration(span_us: int, units: int = 2) -> str:
    """Return how long something took: `340ms`, `41s`, `1m 05s`, `2h 05m`, `3d 4h`; in 1 unit `38m`."""
    if span_us < SECOND:
        return f"{max(span_us, 0) // 1000}ms"
    unit, letter = _step(min(span_us, WEEK - 1))
    first, rest = f"{span_us // unit}{letter}", span_us % unit
    if units < 2 or letter == "s":
        return first
    if letter == "d":
        return f"{first} {rest // HOUR}h"
    return f"{first} {rest // (unit // 60):02}{'m' if letter == 'h' else 's'}"


def clock(then_us: int, zone: tzinfo | None, *, seconds: bool = False) -> str:
    """Return the time of day in `zone`, None being the system's: `20:15` or `20:15:02`; `--:--` where there is none."""
    at = _local(then_us, zone)
    if at is None:
        return "--:--:--" if seconds else "--:--"
    return f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}"


def moment(then_us: int, zone: tzinfo | None) -> str:
    """Return day and time of day in `zone`, None being the system's: `Sun 22 Nov 08:00`; `--` where there is none."""
    at = _local(then_us, zone)
    # strftime's names follow a locale that some library may have set.
    return "--" if at is None else f"{_DAYS[at.weekday()]} {at.day} {_MONTHS[at.month - 1]} {at:%H:%M}"


def _local(then_us: int, zone: tzinfo | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(then_us // SECOND, zone)
    except (OverflowError, ValueError, OSError):
        return None


def spoken_age(then_us: int, now_us: int) -> str:
    """Return `ago` in whole words, for screen readers and logs: `40 seconds ago`, `now`, `in 12 hours`."""
    elapsed = now_us - then_us
    if -SECOND < elapsed < SECOND:
        return "now"
    words = humanize.naturaldelta(abs(elapsed) // SECOND)
    return f"{words} ago" if elapsed > 0 else f"in {words}"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 task`, `9 tasks`, `1,000,000 tasks`."""
    return f"{humanize.intcomma(number)} {noun if number == 1 else plural or noun + 's'}"


def size(number_of_bytes: int) -> str:
    """Return a number of bytes for a person: `1.4 MB`."""
    return humanize.naturalsize(number_of_bytes)


class Look(NamedTuple):
    """How a state is shown: its word, and in its colour a glyph, or a letter where all must be ASCII."""

    glyph: str
    word: str
    letter: str
    color: str
    """The theme's variable, with its dollar."""

    def mark(self, *, ascii_only: bool = False) -> str:
        """Return the glyph or the letter: one cell."""
        return self.letter if ascii_only else self.glyph


_PENDING: Final = Look("○", "pending", "p", "$state-pending")
_ACTIVE: Final = Look("◐", "in progress", "i", "$state-in-progress")
_DONE: Final = Look("✓", "done", "d", "$state-done")
_FAILED: Final = Look("✗", "failed", "f", "$state-failed")
_SKIPPED: Final = Look("–", "skipped", "s", "$state-skipped")
_OVERDUE: Final = Look("!", "overdue", "!", "$state-overdue")
_UNKNOWN: Final = Look("·", "", ".", "$muted")

LOOKS: Final = {
    "pending": _PENDING,
    "in_progress": _ACTIVE,
    "needs_you": Look("?", "needs you", "?", "$state-needs-you"),
    "blocked": Look("⊘", "blocked", "b", "$state-blocked"),
    "done": _DONE,
    "failed": _FAILED,
    "skipped": _SKIPPED,
    "cancelled": _SKIPPED._replace(word="cancelled", letter="c"),
    "overdue": _OVERDUE,
    "quiet": _OVERDUE._replace(word="quiet"),
    # Jobs, and what came of their runs.
    "idle": _PENDING._replace(word="waiting", letter="w"),
    "running": _ACTIVE._replace(word="running", letter="r"),
    "disabled": _SKIPPED._replace(word="off", letter="-"),
    "error": _FAILED,
    "success": _DONE._replace(word="ok"),
    "interrupted": _FAILED._replace(word="interrupted", letter="x"),
}
"""Every state of tasks, agents, jobs and runs, by its name in the core, and those that a screen adds."""


def look(state: str) -> Look:
    """Return how `state` is shown; one that is not known gets a dot and its own name, made safe."""
    return LOOKS.get(state) or _UNKNOWN._replace(word=safe_line(state, 16).replace("_", " "))


SIGNS: Final = {
    "changed": ("•", "*"),
    "cursor": (">", ">"),
    "scheduled": ("◷", "@"),
    "status": ("→", ">"),
    "log": ("·", "."),
    "none": ("—", "-"),
    "rule": ("─", "-"),
    "divider": ("│", "|"),
    "tee": ("┬", "+"),
    "foot": ("┴", "+"),
}
"""One-cell signs that are not states, each with its letter."""


def sign(name: str, *, ascii_only: bool = False) -> str:
    """Return the sign of `SIGNS` by that name, or its letter."""
    return SIGNS[name][ascii_only]


def bar(progress: float, cells: int, *, ascii_only: bool = False) -> str:
    """Return a bar of `cells` cells for `progress` from 0 to 1: `███░░░`, or `###...`.

    It is empty only at nothing and full only at everything, where there are cells enough to say so.
    """
    full, rest = "#." if ascii_only else "█░"
    progress = min(max(progress, 0.0), 1.0) if math.isfinite(progress) else 0.0
    filled = round(progress * cells)
    if 0.0 < progress < 1.0 and cells > 1:
        filled = min(max(filled, 1), cells - 1)
    return full * filled + rest * (cells - filled)
