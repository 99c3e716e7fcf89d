"""The legend: what each glyph and each colour of the screen means."""

from __future__ import annotations

from typing import Final, NamedTuple

from tui_tasks.text.glyphs import LOOKS, PROOF_LOOKS, SIGNS, sign


class LegendLine(NamedTuple):
    """One glyph or colour, its style, and what it means."""

    mark: str
    color: str
    words: str


_SIGN_WORDS: Final = {
    "changed": ("$changed bold", "changed since you looked"),
    "cursor": ("$primary bold", "the cursor"),
    "scheduled": ("$muted", "a job and its next time"),
    "status": ("$muted", "a new status, in the log"),
    "log": ("$muted", "a message in the log; an agent that is gone"),
    "none": ("$muted", "nothing here"),
    "rule": ("$rule", "a line between parts; in the log: where you looked last"),
    "divider": ("$rule", "a line between columns; before text of several lines"),
    "wrapped": ("$muted", "a long line continues"),
    "tee": ("$rule", "where lines meet"),
    "foot": ("$rule", "where lines meet"),
}
_OTHERS: Final = (
    LegendLine("+", "$changed bold", "marked; in the log: new"),
    LegendLine("=", "$changed", "an answer or a decision, in the log"),
    LegendLine("~", "$muted", "an edit, in the log"),
    LegendLine("x", "$muted", "a deletion, in the log"),
    LegendLine("█░", "$state-done", "progress: what is done of all"),
    LegendLine("▁▂▃▄▅▆▇", "$state-in-progress", "activity or number over time, low to high"),
    LegendLine("▏▎▍▌▋▊▉", "$muted", "part of a bar in charts; runs of a job"),
    LegendLine("▐", "$muted", "which part of a list is on screen"),
    LegendLine("▸", "$muted", "several lines in one: Enter shows them"),
    LegendLine("…", "$muted", "text that is cut"),
    LegendLine("±", "$secondary", "an edit, in an agent's record"),
    LegendLine("⧉", "$muted", "links: branch, commit, pull request or file"),
    LegendLine("↑↓←→", "$muted", "keys of the cursor; more above or below"),
)
_COLORS: Final = (
    LegendLine("Aa", "$key", "a key to press"),
    LegendLine("Aa", "$state-needs-you", "needs you"),
    LegendLine("Aa", "$state-in-progress", "in progress"),
    LegendLine("Aa", "$state-done", "done, passed, added"),
    LegendLine("Aa", "$state-failed", "failed, removed, cannot be undone"),
    LegendLine("Aa", "$state-overdue", "overdue, quiet, stuck, gone with a task"),
    LegendLine("Aa", "$state-blocked", "blocked by another task"),
    LegendLine("Aa", "$state-pending", "pending"),
    LegendLine("Aa", "$state-skipped", "skipped or cancelled"),
    LegendLine("Aa", "$muted", "less important"),
    LegendLine("Aa", "$primary", "where you are"),
)


def legend(*, ascii_only: bool) -> list[LegendLine]:
    """Return all lines: a glyph with several meanings has one line for each colour."""
    words: dict[tuple[str, str], list[str]] = {}
    for look in (*LOOKS.values(), *PROOF_LOOKS.values()):
        found = words.setdefault((look.mark(ascii_only=ascii_only), look.color), [])
        if look.word not in found:
            found.append(look.word)
    looks = [LegendLine(mark, color, ", ".join(each)) for (mark, color), each in words.items()]
    signs = [LegendLine(sign(name, ascii_only=ascii_only), *_SIGN_WORDS[name]) for name in SIGNS]
    return [*looks, *signs, *_OTHERS, *_COLORS]
