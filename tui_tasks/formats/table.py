"""The formats that there are. Each is a module, imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from typing import Final, NamedTuple

from tui_tasks.formats.records import Read, Rows


class Format(NamedTuple):
    """A format: its name in a shell, its module in this room, what it is, and whether it is read as well as written."""

    name: str
    module: str
    help: str
    is_read: bool

    def write(self, rows: Rows, now: datetime) -> Iterator[str]:
        """Return the text in parts; `now` is local time."""
        parts: Iterator[str] = import_module(f"tui_tasks.formats.{self.module}").write(rows, now)
        return parts

    def read(self, text: str, now: datetime) -> Read:
        """Return what a text holds.

        Raises:
            InvalidArgument: it is none of this format.
        """
        found: Read = import_module(f"tui_tasks.formats.{self.module}").read(text, now)
        return found


FORMATS: Final = {
    format_.name: format_
    for format_ in (Format("jsonl", "json_lines", "JSON Lines: everything, a task a line", is_read=True),)
}
