"""The glyph, word, letter and colour of each state, the words for proof, signs of other things, and charts of
characters. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from tui_tasks.text.safe import safe_line


class Look(msgspec.Struct, frozen=True):
    """The look of a state.

    Attributes:
        glyph: one cell.
        word: the state as text.
        letter: an ASCII letter for the glyph.
        color: the theme's variable, with its dollar sign.
    """

    glyph: str
    word: str
    letter: str
    color: str

    def mark(self, *, ascii_only: bool = False) -> str:
        """Return the glyph or the letter: one cell."""
        return self.letter if ascii_only else self.glyph


_PENDING: Final = Look("○", "pending", "p", "$state-pending")
_ACTIVE: Final = Look("◐", "in progress", "i", "$state-in-progress")
_DONE: Final = Look("✓", "done", "d", "$state-done")
_FAILED: Final = Look("✗", "failed", "f", "$state-failed")
_SKIPPED: Final = Look("–", "skipped", "s", "$state-skipped")
_STUCK: Final = Look("▲", "stuck", "A", "$state-overdue")
_AT_REST: Final = Look("·", "idle", ".", "$muted")
_UNKNOWN: Final = Look("·", "", ".", "$muted")

LOOKS: Final = {
    "pending": _PENDING,
    "in_progress": _ACTIVE,
    "needs_you": Look("?", "needs you", "?", "$state-needs-you"),
    "held": Look("◇", "proposed", "h", "$state-needs-you"),
    "reviewable": Look("⇡", "to be reviewed", "^", "$state-needs-you"),
    "blocked": Look("⊘", "blocked", "b", "$state-blocked"),
    "done": _DONE,
    "failed": _FAILED,
    "agent_failed": replace(_FAILED, word="agent failed"),
    "check_failed": replace(_FAILED, word="check failed"),
    "skipped": _SKIPPED,
    "cancelled": replace(_SKIPPED, word="cancelled", letter="c"),
    "overdue": Look("!", "late", "!", "$state-overdue"),
    "quiet": replace(_STUCK, word="quiet"),
    "left": replace(_STUCK, word="gone"),
    "stuck": _STUCK,
    "stopped": _STUCK,
    # Jobs, and the results of their runs.
    "idle": replace(_AT_REST, word="waiting"),
    "running": replace(_ACTIVE, word="running", letter="r"),
    "disabled": replace(_SKIPPED, word="off", letter="-"),
    "error": _FAILED,
    "success": replace(_DONE, word="ok"),
    "interrupted": replace(_STUCK, word="interrupted", letter="x"),
}
"""Every state of tasks, agents, jobs and runs, by its name in the core, and those that a screen adds."""


def look(state: str) -> Look:
    """Return the look of `state`; for an unknown one, a dot and its own name, made safe."""
    return LOOKS.get(state) or replace(_UNKNOWN, word=safe_line(state, 16).replace("_", " "))


_IDLE: Final = replace(_PENDING, word="idle", letter="o", color="$muted")
_GONE: Final = replace(_AT_REST, word="offline")
_FINISHED: Final = replace(_SKIPPED, word="finished", letter="-", color="$muted")
_WORKING: Final = replace(_ACTIVE, word="working")
AGENT_LOOKS: Final = {
    "stuck": LOOKS["stuck"],
    "left": LOOKS["left"],
    "stopped": LOOKS["stuck"],
    "waiting": replace(LOOKS["needs_you"], word="waiting"),
    "asking": _WORKING,
    "failed": LOOKS["failed"],
    "quiet": LOOKS["quiet"],
    "interrupted": _IDLE,
    "ready": replace(LOOKS["reviewable"], word="to review"),
    "working": _WORKING,
    "ended": replace(_WORKING, word="ended"),
    "paused": replace(LOOKS["skipped"], word="paused", letter="-"),
    "idle": _IDLE,
    "gone": _GONE,
    "finished": _FINISHED,
}
"""How the state of an agent is shown, the worst first; several states have one word.

One that has `left` is gone, and the human has not seen what it left; `gone` is without that, and its word is in no
count. One that is `asking` works on meanwhile. The process of one that is `stopped` is suspended. The work of one that
has just `ended` is read, or started again. The human ended the turn of one that is `interrupted`.
"""


SIGNS: Final = {
    "changed": ("•", "*"),
    "cursor": (">", ">"),
    "scheduled": ("◷", "@"),
    "status": ("→", ">"),
    "log": ("·", "."),
    "none": ("—", "-"),
    "rule": ("─", "-"),
    "divider": ("│", "|"),
    "wrapped": ("\u21b3", "\\"),
    "tee": ("┬", "+"),
}
"""One-cell signs that are not states, each with its letter."""


def sign(name: str, *, ascii_only: bool = False) -> str:
    """Return the sign of `SIGNS` by that name, or its letter."""
    return SIGNS[name][ascii_only]


BAR: Final = ("━─", "=-")
"""The cells of a progress bar, full and empty, and their letters."""


def shares(numbers: Sequence[float], cells: int) -> list[int]:
    """Return how many of `cells` each number gets in proportion, rounded down, but one at least of what is more than 0,
    if it can. What is left is of the last number if that is more than 0, else of the longest.
    """
    total = sum(numbers)
    if total <= 0 or cells < len(numbers):
        return [0] * len(numbers)
    given = [max(1, int(number * cells / total)) if number > 0 else 0 for number in numbers]
    left = cells - sum(given)
    given[-1 if numbers[-1] > 0 and left > 0 else given.index(max(given))] += left
    return given


def bar(progress: float, cells: int, *, ascii_only: bool = False) -> str:
    """Return a bar of `cells` cells for `progress` from 0 to 1: `━━━───`, or `===---`.

    It is empty only at 0 and full only at 1, if there are enough cells.
    """
    full, rest = BAR[ascii_only]
    progress = min(max(progress, 0.0), 1.0) if math.isfinite(progress) else 0.0
    filled, left = shares((progress, 1.0 - progress), cells)
    return full * filled + rest * left


PROOF_LOOKS: Final = {
    "passed": Look("✓", "proven", "+", "$state-done"),
    "failed": Look("✗", "check failed", "x", "$state-failed"),
    "running": Look("◐", "being checked", "r", "$state-in-progress"),
    "stale": Look("~", "stale", "~", "$state-overdue"),
    "unproven": Look("□", "unproven", "o", "$muted"),
}
"""The look of what is verified of a task, by its word on the channel."""


def proof_words(state: str, failed: Sequence[str], *, ascii_only: bool) -> str:
    """Return what is verified in a word or two with its mark; `failed` are the names of failed checks."""
    look = PROOF_LOOKS[state]
    names = ", ".join(safe_line(name, 20) for name in failed)
    return f"{look.mark(ascii_only=ascii_only)} {f'{names} failed' if names else look.word}"


_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_LETTERS: Final = " .:-=+*%#"


def spark(values: Sequence[float], top: float = 0, *, ascii_only: bool = False) -> str:
    """Return a line with a bar for each value, scaled to `top` or the greatest; a value above 0 is always visible."""
    top = max([top, *values])
    steps = _LETTERS if ascii_only else _EIGHTHS
    return "".join(steps[_share(value, top, 8)] for value in values)


def value_bar(value: float, top: float, cells: int, *, ascii_only: bool = False) -> str:
    """Return a horizontal bar for `value` of `top`, in proportion to at most `cells` cells."""
    return ("#" if ascii_only else "━") * _share(value, top, cells)


def _share(value: float, top: float, steps: int) -> int:
    if value <= 0 or top <= 0:
        return 0
    return min(max(1, round(value / top * steps)), steps)
