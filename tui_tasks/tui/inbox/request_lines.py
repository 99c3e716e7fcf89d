"""A program's request for a permission as lines: the whole input of its tool, and changes of files as a diff."""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.core.snapshots import Ask
from tui_tasks.tui.widgets.text_lines import Drawn, wrapped

_OLD: Final = ("old_string", "old_str")
_NEW: Final = ("new_string", "new_str")
_COLORS: Final = {"-": "$state-failed", "+": "$state-done"}


def request_lines(ask: Ask, width: int) -> list[Drawn]:
    """Return the lines of a question without its options; removed and added text is marked and coloured."""
    request = ask.request or {}
    given = request.get("input")
    if request.get("kind") != "permission" or not isinstance(given, dict):
        return [[(f" {line}", "")] for line in wrapped(ask.question, width)]
    old, new = _text_of(given, _OLD), _text_of(given, _NEW)
    if old is None or new is None:
        return [_colored(line) for line in wrapped(ask.question, width)]
    head, _, _ = ask.question.partition("\n")
    others = [f"{name}: {value}" for name, value in given.items() if name not in (*_OLD, *_NEW)]
    lines: list[Drawn] = [[(f" {line}", "")] for text in (head, *others) for line in wrapped(text, width)]
    for sign, text in (("-", old), ("+", new)):
        for line in text.split("\n"):
            lines += [[(f" {sign} {part}", _COLORS[sign])] for part in wrapped(line, max(1, width - 2))]
    return lines


def _text_of(given: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((given[name] for name in names if isinstance(given.get(name), str)), None)


def _colored(line: str) -> Drawn:
    """Return a line of a patch in the colour of what it does."""
    return [(f" {line}", _COLORS.get(line[:1], ""))]
