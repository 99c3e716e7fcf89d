"""The words for what checks have proven of a task that was reported done (docs: protocol, section 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tui_tasks.text.glyphs import Look
from tui_tasks.text.safe import safe_line

PROOF_LOOKS: Final = {
    "passed": Look("✓", "proven", "+", "$state-done"),
    "failed": Look("✗", "check failed", "x", "$state-failed"),
    "running": Look("◐", "being checked", "r", "$state-in-progress"),
    "stale": Look("~", "stale", "~", "$state-overdue"),
    "unproven": Look("○", "unproven", "o", "$muted"),
}
"""How what is verified of a task is shown, by its word on the channel."""


def proof_words(state: str, failed: Sequence[str], *, ascii_only: bool) -> str:
    """Return what is verified in a word or two with its mark; `failed` are the names of failed checks."""
    shown = PROOF_LOOKS[state]
    names = ", ".join(safe_line(name, 20) for name in failed)
    return f"{shown.mark(ascii_only=ascii_only)} {f'{names} failed' if names else shown.word}"
