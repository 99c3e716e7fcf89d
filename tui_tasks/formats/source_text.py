"""The text of a file that is imported, line by line: a file of any length takes little memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tui_tasks.core.errors import InvalidArgument, ParseError
from tui_tasks.dialects.requests import strict_json

_BLOCK: Final = 1 << 16
_SPACE: Final = re.compile(r"\s*")


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines without their ends: all together take as much memory as the text again."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


def json_values(lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield each value with its place in the file: the items of an array, or a value in each line, where lines may end
    with a comma.

    Raises:
        InvalidArgument: a line or an item is no JSON.
    """
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        if line.lstrip().startswith("["):
            yield from _items(line, (rest for _, rest in numbered))
        elif text := line.rstrip().removesuffix(","):
            where = f"line {number}"
            try:
                value = strict_json.loads(text)
            except ParseError as error:
                raise InvalidArgument("file", f"{where}: {error.message}") from None
            yield where, value


def _items(first: str, lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Yield the items of an array. Of its text a block at a time is in memory, and one item where that is longer."""
    text, is_whole, number = first.lstrip()[1:], False, 0
    wanted = _BLOCK
    while True:
        while len(text) < wanted and not is_whole:
            block, is_whole = _block(lines, wanted)
            text += block
        at = _skip_space(text, 0)
        if number == 0 and text[at : at + 1] == "]":
            return _refuse_more(text[at + 1 :], lines)
        end = 0
        while (item := _item(text, at, number + 1, is_whole=is_whole)) is not None:
            value, end = item
            number += 1
            yield f"item {number}", value
            if text[end] == "]":
                return _refuse_more(text[end + 1 :], lines)
            at = end + 1
        text, wanted = text[at:], max(_BLOCK, 2 * (len(text) - at))


def _item(text: str, at: int, number: int, *, is_whole: bool) -> tuple[Any, int] | None:
    """Return an item and where the sign after it is; None if the rest of the text must be read first.

    Raises:
        InvalidArgument: it is no JSON.
    """
    at = _skip_space(text, at)
    try:
        value, end = strict_json.load_beginning(text, at)
        end = _skip_space(text, end)
        if text[end : end + 1] not in (",", "]"):
            raise ParseError(f"{strict_json.NO_JSON}: a comma or ] must follow")
    except ParseError as error:
        if is_whole or not error.message.startswith(strict_json.NO_JSON):
            # The line and the column would be those of a block.
            what = error.message.partition(": line ")[0]
            raise InvalidArgument("file", f"item {number}: {what}") from None
        return None
    return value, end


def _block(lines: Iterator[str], size: int) -> tuple[str, bool]:
    """Return the next lines, and whether those are all."""
    parts, length = list[str](), 0
    for line in lines:
        parts.append(f"\n{line}")
        length += len(line) + 1
        if length >= size:
            return "".join(parts), False
    return "".join(parts), True


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def _refuse_more(text: str, lines: Iterator[str]) -> None:
    if text.strip() or any(line.strip() for line in lines):
        raise InvalidArgument("file", f"{strict_json.NO_JSON}: more follows the array")
