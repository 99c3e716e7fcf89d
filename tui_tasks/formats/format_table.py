"""The formats: which there are, and the text of a file that is imported, line by line: a file of any length takes
little memory. The module of each format, and the libraries that it needs, are imported when it is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from importlib import import_module
from typing import Any, Final, NamedTuple

from tui_tasks.core.errors import InvalidArgument, ParseError
from tui_tasks.dialects.requests import strict_json
from tui_tasks.formats.exporting import in_parts, losses
from tui_tasks.formats.file_records import ExportData, ParsedFile, Step, no_step

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


# How many tasks are written and read back at once, to count what a format loses.
_AT_ONCE: Final = 500


class Format(NamedTuple):
    """A format.

    Attributes:
        name: its name in a shell.
        module: its module below `tui_tasks.formats`.
        help: its description in `--help`.
        is_read: whether it can be imported.
        is_written: whether it can be exported.
        is_whole: whether an export and import restores every task exactly.
        is_streamed: whether a task is written, and can be read back, without the others: the export of any number
            takes little memory.
        folders: for a format of Markdown files in a folder, the subfolders that they are in; empty: it is one file.
    """

    name: str
    module: str
    help: str
    is_read: bool = True
    is_written: bool = True
    is_whole: bool = False
    is_streamed: bool = False
    folders: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of files."""
        return bool(self.folders)

    def write(self, rows: ExportData, now: datetime) -> Iterator[str]:
        """Return the text in parts; `now` is local time.

        Raises:
            InvalidArgument: a library that the format needs is not installed.
        """
        parts: Iterator[str] = self._module().write(rows, now)
        return parts

    def count_losses(self, rows: ExportData, text: str, now: datetime, step: Step = no_step) -> Counter[str]:
        """Count, by field, the values of the rows that the written text lacks."""
        module = self._module()
        if self.is_read:
            return losses(rows, module.read(lines_of(text), now, step), self.name)
        lost: Counter[str] = module.count_losses(rows)
        return lost

    def count_losses_in_parts(self, rows: ExportData, now: datetime, step: Step = no_step) -> Counter[str]:
        """Do as `count_losses` does for a streamed format, for some tasks at a time."""
        lost: Counter[str] = Counter()
        for part in in_parts(rows, _AT_ONCE):
            lost += self.count_losses(part, "".join(self.write(part, now)), now, step)
        return lost

    def read(self, text: str | Iterable[str], now: datetime, step: Step = no_step) -> ParsedFile:
        """Parse a text, or its lines without their ends.

        Raises:
            InvalidArgument: it is not of this format, or a library is not installed.
        """
        lines = lines_of(text) if isinstance(text, str) else text
        parsed: ParsedFile = self._module().read(lines, now, step)
        return parsed

    def write_folder(self, rows: ExportData, present: Mapping[str, str], now: datetime) -> Iterator[tuple[str, str]]:
        """Yield the files to write into a folder, as relative paths and texts; `present` are those that it has.

        Raises:
            InvalidArgument: as `write`, or an existing file is not of this format.
        """
        files: Iterator[tuple[str, str]] = self._module().write_folder(rows, present, now)
        return files

    def read_folder(self, files: Mapping[str, str], now: datetime, step: Step = no_step) -> ParsedFile:
        """Parse the files of a folder.

        Raises:
            InvalidArgument: as `read`.
        """
        parsed: ParsedFile = self._module().read_folder(files, now, step)
        return parsed

    def _module(self) -> Any:
        try:
            return import_module(f"tui_tasks.formats.{self.module}")
        except ModuleNotFoundError as error:
            from tui_tasks.installation import install_command  # few are without it

            message = f"{self.name} needs the library {error.name}: {install_command('formats')}"
            raise InvalidArgument("format", message) from None


FORMATS: Final = {
    format_.name: format_
    for format_ in (
        Format(
            "jsonl", "standards.json_lines", "JSON Lines: everything, a task a line", is_whole=True, is_streamed=True
        ),
        Format("markdown", "standards.markdown", "Markdown checklists: `- [ ] name`", is_streamed=True),
        Format("todo.txt", "standards.todo_txt", "todo.txt: a task a line", is_streamed=True),
        Format(
            "taskwarrior", "trackers.taskwarrior", "what `task export` writes and `task import` reads", is_streamed=True
        ),
        Format("backlog.md", "trackers.backlog_md", "the folder of Backlog.md", folders=("tasks", "completed")),
        Format("beads", "trackers.beads", "what `bd export` writes and `bd import` reads", is_streamed=True),
        Format("csv", "standards.csv_table", "CSV for spreadsheets: a row a task", is_read=False, is_streamed=True),
        Format("ics", "standards.calendar_file", "iCalendar: what is due, and the next runs of jobs", is_read=False),
        Format("github", "trackers.github", "issues as `gh issue list --json` prints them", is_written=False),
    )
}
