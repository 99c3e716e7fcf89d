"""Lines of text that the human decides about: nothing in it is hidden, and where not all is shown they say so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

from tui_tasks.core.unhidden_text import NEWLINE, prose_lines, unhidden_lines
from tui_tasks.text.glyphs import sign
from tui_tasks.tui.painting.text_lines import MAX_LINES, Drawn, block, broken_whole

MAX_CHARS: Final = 50_000
"""The most characters of prose that are drawn: more take seconds, and nobody reads them."""

_COLORS: Final = {"-": "$state-failed", "+": "$state-done"}
# In characters: how much of its end stays of a text that is cut, as that says what is asked.
_END: Final = 1_000


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
