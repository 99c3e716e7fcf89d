"""The formats that there are. Each is a module, imported when it is asked for, as are the libraries that it needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib import import_module
from typing import Any, Final, NamedTuple

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.formats.losses import losses
from tui_tasks.formats.records import Read, Rows, Step, no_step


class Format(NamedTuple):
    """A format: its name in a shell, its module in this room, what it is, and which way it goes.

    `is_whole`: what is written comes back to the byte. `folders`: it is no file but a folder, with Markdown files in
    folders of these names.
    """

    name: str
    module: str
    help: str
    is_read: bool = True
    is_written: bool = True
    is_whole: bool = False
    folders: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of files."""
        return bool(self.folders)

    def write(self, rows: Rows, now: datetime) -> Iterator[str]:
        """Return the text in parts; `now` is local time.

        Raises:
            InvalidArgument: a library that it needs is not installed.
        """
        parts: Iterator[str] = self._module().write(rows, now)
        return parts

    def lost(self, rows: Rows, text: str, now: datetime, step: Step = no_step) -> Counter[str]:
        """Count what of the rows is not in the text that was written of them, by the name of its field."""
        module = self._module()
        if self.is_read:
            return losses(rows, module.read(text, now, step), self.name)
        found: Counter[str] = module.lost(rows)
        return found

    def read(self, text: str, now: datetime, step: Step = no_step) -> Read:
        """Return what a text holds.

        Raises:
            InvalidArgument: it is none of this format, or a library is not installed.
        """
        found: Read = self._module().read(text, now, step)
        return found

    def write_folder(self, rows: Rows, present: Mapping[str, str], now: datetime) -> Iterator[tuple[str, str]]:
        """Yield the files to be written into a folder that has those of `present`: paths in it, and their texts.

        Raises:
            InvalidArgument: as `write`, or a file that is there is none of this format.
        """
        files: Iterator[tuple[str, str]] = self._module().write_folder(rows, present, now)
        return files

    def read_folder(self, files: Mapping[str, str], now: datetime, step: Step = no_step) -> Read:
        """Return what the files of a folder hold.

        Raises:
            InvalidArgument: as `read`.
        """
        found: Read = self._module().read_folder(files, now, step)
        return found

    def _module(self) -> Any:
        try:
            return import_module(f"tui_tasks.formats.{self.module}")
        except ModuleNotFoundError as error:
            told = f"{self.name} needs the library {error.name}: pip install 'tui-tasks[formats]'"
            raise InvalidArgument("format", told) from None


FORMATS: Final = {
    format_.name: format_
    for format_ in (
        Format("jsonl", "standards.json_lines", "JSON Lines: everything, a task a line", is_whole=True),
        Format("markdown", "standards.markdown", "Markdown checklists: `- [ ] name`"),
        Format("todo.txt", "standards.todo_txt", "todo.txt: a task a line"),
        Format("taskwarrior", "trackers.taskwarrior", "what `task export` writes and `task import` reads"),
        Format("backlog.md", "trackers.backlog_md", "the folder of Backlog.md", folders=("tasks", "completed")),
        Format("beads", "trackers.beads", "what `bd export` writes and `bd import` reads"),
        Format("csv", "standards.csv_table", "CSV for spreadsheets: a row a task", is_read=False),
        Format("ics", "standards.calendar_file", "iCalendar: what is due, and the next runs of jobs", is_read=False),
        Format("github", "trackers.github", "issues as `gh issue list --json` prints them", is_written=False),
    )
}
