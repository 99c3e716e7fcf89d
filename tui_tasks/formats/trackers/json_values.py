"""The values of a file that is one JSON array, or has one value in each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tui_tasks.core.errors import InvalidArgument, ParseError
from tui_tasks.dialects.requests import strict_json


def json_values(text: str) -> Iterator[tuple[str, Any]]:
    """Yield each value with its place in the file; lines may end with a comma.

    Raises:
        InvalidArgument: a line is no JSON.
    """
    is_array = text.lstrip().startswith("[")
    lines = [text] if is_array else [line.rstrip().removesuffix(",") for line in text.split("\n")]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = strict_json.loads(line)
        except ParseError as error:
            raise InvalidArgument("file", f"line {number}: {error.message}") from None
        if is_array and isinstance(value, list):
            yield from ((f"item {at}", each) for at, each in enumerate(value, 1))
        else:
            yield f"line {number}", value
