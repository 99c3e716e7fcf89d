"""Text that the human decides about, as lines: what an agent asks for, and the words of a held task. Nothing in it is
hidden, and where not all is shown the lines say so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.core.rules.agents.request_text import (
    as_kept,
    is_written_out,
    option_lines,
    permission_lines,
    question_options,
    question_text,
    request_text,
)
from tui_tasks.core.unhidden_text import NEWLINE, prose_lines, unhidden_lines
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import TEXT_CHARS, safe_line
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import MAX_LINES, Drawn, block, broken_whole

if TYPE_CHECKING:
    from tui_tasks.tui.asks.ask_views import AskView

MAX_CHARS: Final = 50_000
"""The most characters of prose that are drawn: more take seconds, and nobody reads them."""

_COLORS: Final = {"-": "$state-failed", "+": "$state-done"}
# In characters: how much of its end stays of a text that is cut, as that says what is asked.
_END: Final = 1_000
_FOLDED: Final = "    "
_NAME: Final = re.compile(r"[\w.\[\]-]+:(?= |$)")
# What deletes, overwrites, or acts for another user. What has no such words may be dangerous all the same.
_DANGEROUS: Final = re.compile(
    r"\brm +(?:-\S+ +)*-\S*[rRf]\S*|\bsudo\b|\bmkfs\S*|\bdd +\S*(?:if|of)=|\b(?:chmod|chown) +-R\b"
    r"|\bgit +(?:reset +--hard|clean +-\S*f|push +(?:\S+ +)*(?:-f\b|--force))|\| *(?:ba|z)?sh\b"
    r"|\bdrop +(?:table|database)\b",
    re.IGNORECASE,
)


def request_lines(view: AskView, width: int, *, ascii_only: bool) -> list[Drawn]:
    """Return the lines of what a program asks, without the keys of options.

    Removed and added text of a permission is marked and coloured. Values of several lines stand behind a bar, and the
    parts of a line that is too long behind a mark: neither looks like a name, or like a line of its own.
    """
    asked = view.asked
    if view.is_permission:
        return _permission_lines(asked, width, "", head="", ascii_only=ascii_only)
    if view.ask.request is None:
        return asked_lines(view.ask, width, ascii_only=ascii_only)
    if view.question is None or view.ask.state != "open":
        return block(request_text(asked) if view.whole is not None else view.ask.question, width)
    lines: list[Drawn] = []
    for number, (question, (at, text)) in enumerate(zip(view.questions, view.given, strict=False), 1):
        answer = text if at is None else question_options(question)[at]
        lines += block(f"{number}. {safe_line(question_text(question), width)}", width, "$muted")
        lines += block(f"{_FOLDED}{answer}", width)
    lines += block(f"Question {len(view.given) + 1} of {len(view.questions)}", width, "bold")
    return lines + block("\n".join((question_text(view.question), *option_lines(view.question))), width)


def asked_lines(ask: Ask, width: int, style: str = "", *, head: str = "", ascii_only: bool) -> list[Drawn]:
    """Return the lines of what an agent asks, as kept, behind `head`; of a question that is too long to be answered by
    a key, its beginning and its end.
    """
    if ask.is_permission:
        return _permission_lines(as_kept(ask), width, style, head=head, ascii_only=ascii_only)
    text = head + ask.question.strip()
    if is_written_out(ask):
        blocks = (unhidden_block(line, width, ascii_only=ascii_only, style=style) for line in text.split("\n"))
        return [*chain.from_iterable(blocks)]
    return [*unhidden_prose(text, width, style, TEXT_CHARS, ascii_only=ascii_only, has_newlines=False).lines]


def _permission_lines(asked: InputRequested, width: int, style: str, *, head: str, ascii_only: bool) -> list[Drawn]:
    (mark, first), *others = permission_lines(asked, ascii_only=ascii_only)
    lines = ((mark, head + first), *others)
    drawn: list[Drawn] = []
    for at, (mark, text) in enumerate(lines):
        block_ = unhidden_block(text, width, mark, ascii_only=ascii_only, style=style)
        drawn += (
            block_
            if style
            else [_told_apart(line, is_named=not mark and at > 0 and line is block_[0]) for line in block_]
        )
    return drawn


def _told_apart(line: Drawn, *, is_named: bool) -> Drawn:
    """Return a line of a permission with the name of a value in grey, and with what is dangerous in a colour."""
    parts: list[Part] = []
    for at, (text, style) in enumerate(line):
        if style or at == 0:
            parts.append((text, style))
            continue
        name = _NAME.match(text) if is_named and at == 1 else None
        end = name.end() if name is not None else 0
        parts += [(text[:end], "$muted")] if end else []
        for found in _DANGEROUS.finditer(text, end):
            parts += [(text[end : found.start()], ""), (found.group(), "$state-overdue")]
            end = found.end()
        parts.append((text[end:], ""))
    return [part for part in parts if part[0]]


class Prose(NamedTuple):
    """Prose as lines. `is_whole`: whether they are all of it."""

    lines: Sequence[Drawn]
    is_whole: bool


# An unusual text takes a tenth of a second, and is drawn several times for a key: without a scroll bar, then with it.
@lru_cache(32)
def unhidden_prose(
    text: str,
    width: int,
    style: str = "",
    limit_chars: int = MAX_CHARS,
    *,
    ascii_only: bool,
    has_newlines: bool = True,
) -> Prose:
    """Return prose that the human decides about as lines of at most `width` cells; see `unhidden_block`.

    Of text that is longer than `limit_chars`, they are those of its beginning and its end. `has_newlines`: whether
    newlines have signs; a question needs none, as it is no command.
    """

    spelled = partial(_spelled, ascii_only=ascii_only, has_newlines=has_newlines)

    def drawn(part: str) -> tuple[list[Drawn], int]:
        """Return the lines that have room, and of how many characters they are."""
        lines: list[Drawn] = []
        used = 0
        for source, line in zip(part.split("\n"), spelled(part), strict=True):
            rest, more = source, unhidden_block(line, width, ascii_only=ascii_only, style=style)
            while (room := MAX_LINES - len(lines)) < len(more):
                rest = rest[: len(rest) * room // len(more)]
                more = unhidden_block(spelled(rest)[0], width, ascii_only=ascii_only, style=style) if rest else []
            lines += more
            used += len(rest)
            if rest != source or not more:
                break
            used += 1
        return lines, min(used, len(part))

    lines, used = drawn(text if len(text) <= limit_chars else text[: limit_chars - _END])
    if used == len(text):
        return Prose(lines, True)
    end, of_end = drawn(text[max(used, len(text) - _END) :])
    if not (left_out := len(text) - used - of_end):
        return Prose([*lines, *end], True)
    return Prose([*lines, *block(f"… {left_out:,} characters are left out …", width, "$state-needs-you"), *end], False)


# Once for both widths: with a scroll bar and without.
@lru_cache(16)
def _spelled(text: str, *, ascii_only: bool, has_newlines: bool) -> Sequence[str]:
    if has_newlines:
        return unhidden_lines(text, is_prose=True, ascii_only=ascii_only)
    return prose_lines(text, ascii_only=ascii_only)


def unhidden_block(text: str, width: int, mark: str = "", *, ascii_only: bool, style: str = "") -> list[Drawn]:
    """Return a line of decided text as lines of at most `width` cells behind a space; those that go on have a mark.

    `mark` is that of `permission_lines`.
    """
    style = _COLORS.get(mark, style)
    goes_on = (f" {sign('wrapped', ascii_only=ascii_only)} ", "$muted")
    bar = (f" {mark} ", style) if mark.strip() else (f" {sign('divider', ascii_only=ascii_only)} ", "$muted")
    newline = NEWLINE[ascii_only]
    lines: list[Drawn] = []
    for number, part in enumerate(broken_whole(text, max(1, width - 2))):
        head = goes_on if number else bar if mark else (" ", style)
        end = [(newline, "$muted")] if part.endswith(newline) else []
        lines.append([head, (part.removesuffix(newline), style), *end])
    return lines
