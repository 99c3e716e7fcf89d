"""Writes the log to a file: Markdown for people, or JSON lines as the channel sends them (docs: protocol, section
7).
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.private_files import sync
from tui_tasks.core.journal import journal
from tui_tasks.core.read.log import log_pages
from tui_tasks.core.read.log.log_lines import LogLine
from tui_tasks.core.read.pages.filter import ALL, Filter
from tui_tasks.dialects.json_shapes.events import event
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import clock, moment
from tui_tasks.tui.log.log_text import text_of, who_of

MARKDOWN: Final = "md"
JSON_LINES: Final = "jsonl"
_AT_ONCE: Final = 500
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")


class Stopped(Exception):
    """The human ended the export."""


@dataclass(frozen=True, slots=True)
class Export:
    """What to write to which file, from the database at a path, which `open_reader` connects to.

    `form` is `MARKDOWN` or `JSON_LINES`.
    """

    file: Path
    database: str
    open_reader: Callable[[], Database]
    form: str
    zone: tzinfo
    only: Filter = ALL

    def run(self, report: Callable[[int], None], stop: threading.Event) -> int:
        """Write the file, which must not exist yet; return the number of its entries.

        `report` is called now and then with the number so far.

        Raises:
            OSError: the file cannot be written, or exists already; nothing of it is left.
            Stopped: `stop` was set; nothing of the file is left.
        """
        handle = os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.fchmod(handle, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as out:
                with contextlib.closing(self.open_reader()) as db:
                    lines = self._markdown(db) if self.form == MARKDOWN else self._json(db)
                    written = 0
                    for line, entries in lines:
                        out.write(line)
                        written += entries
                        if written % _AT_ONCE == 0:
                            report(written)
                        if stop.is_set():
                            raise Stopped
                out.flush()
                sync(out.fileno())
        except BaseException:
            self.file.unlink(missing_ok=True)
            raise
        return written

    def _json(self, db: Database) -> Iterator[tuple[str, int]]:
        """Yield each entry as its event; without a filter, this includes those without a line in the log pane."""
        for seq in self._seqs(db):
            for entry in journal.since(db, seq - 1, 1):
                yield msgspec.json.encode(event(db, entry)).decode() + "\n", 1

    def _seqs(self, db: Database) -> Iterator[int]:
        if self.only:
            yield from (line.seq for line in self._found(db))
        else:
            oldest, newest = log_pages.edges(db)
            yield from range(oldest, newest + 1)

    def _markdown(self, db: Database) -> Iterator[tuple[str, int]]:
        """Yield a list item for each entry, under a heading for its day."""
        yield f"# {_literal(Path(self.database).name)}: log\n", 0
        day = ""
        for line in self._found(db):
            today = moment(line.at, self.zone)[:-6]
            if today != day:
                day = today
                yield f"\n## {day}\n\n", 0
            yield self._item(line), 1

    def _item(self, line: LogLine) -> str:
        name = f" _{_literal(line.name)}_" if line.task is not None and line.name else ""
        at = clock(line.at, self.zone, seconds=True)
        return f"- {at} **{line.word}** {_literal(who_of(line))}{name}: {_literal(text_of(line))}\n"

    def _found(self, db: Database) -> Iterator[LogLine]:
        """Yield the matching lines, up to the entry that is the newest at the start."""
        _, newest = log_pages.edges(db)
        at = log_pages.FIRST
        while True:
            page = log_pages.page(db, at, _AT_ONCE, self.only)
            for line in page:
                if line.seq > newest:
                    return
                yield line
            if page.reached is None and len(page) < _AT_ONCE:
                return
            at = page.reached if page.reached is not None else page[-1].seq


def _literal(text: str) -> str:
    """Return a text as Markdown that is safe in a terminal and has no markup of its own."""
    return _SPECIAL.sub(r"\\\1", safe_line(text))
