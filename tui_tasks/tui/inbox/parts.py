"""The parts of the inbox, each a screen: questions, failed checks, filed tasks. One key goes from part to part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tui_tasks.text.times import count
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.breakpoints import NARROW

PARTS: Final = ("asks", "failed_checks", "review")
"""The names of their screens (`tui.panes`), in the order in which the key goes through them."""


def first(context: Context) -> str:
    """Return the part to open first: the first that is not empty, else the questions."""
    return next((part for part in PARTS if _total(context, part)), PARTS[0])


def go_on(context: Context, here: str) -> None:
    """Go to the next part; failed checks are skipped when there are none."""
    from tui_tasks.tui.panes import screen

    at = PARTS.index(here) + 1
    others = (*PARTS[at:], *PARTS[: at - 1])
    wanted = next(part for part in others if part != "failed_checks" or _total(context, part))
    context.push(screen(wanted, context))


def others(context: Context, here: str, width: int) -> Sequence[Part]:
    """Return a text on what the other parts hold, with the key that goes there."""
    texts = [_text(context, part) for part in PARTS if part != here and _total(context, part)]
    if not texts:
        return ()
    words = ", ".join(texts if width >= NARROW else texts[:1])
    return [(f"{context.keymap.key_of('inbox_part')} ", "$changed bold"), (f"{words} ", "$state-needs-you")]


def _total(context: Context, part: str) -> int:
    state = context.state
    return {"asks": len(state.asks), "failed_checks": len(state.unproven), "review": state.held}[part]


def _text(context: Context, part: str) -> str:
    total = _total(context, part)
    if part == "review":
        return f"{total} filed by agents"
    return count(total, "question" if part == "asks" else "failed check")
