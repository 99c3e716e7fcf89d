"""The human's actions on the log: copy an entry or take it back, export the log, or drop its oldest entries."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.file_writes import sync
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.read.pages import log_pages
from tui_tasks.core.read.pages.log_lines import LogLine
from tui_tasks.core.read.pages.task_filter import ALL, Filter
from tui_tasks.core.store import Store
from tui_tasks.dialects.events import event
from tui_tasks.settings import paths
from tui_tasks.text.safe import safe_copy, safe_line
from tui_tasks.text.times import SECOND, clock, count, moment
from tui_tasks.tui.agents.agent_actions import take_back_entry
from tui_tasks.tui.inputs.dialogs import Choice, LineDialog, Menu
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.log.log_text import text_of, who_of

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

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
        return f"- {at} **{line.word}** {_literal(who_of(line))}{name}: {_literal(text_of(line, ascii_only=True))}\n"

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


# Seconds between two messages on the progress of an export.
_TELL_EVERY: Final = 0.5


class LogActions(Controller):
    """Copies and takes back entries, exports what a log pane shows, one file at a time, and compacts the journal.

    `only` returns the filter of the pane, `entry_here` the entry under the cursor; `on_compacted` is called after
    entries were dropped.
    """

    def __init__(
        self,
        context: Context,
        only: Callable[[], Filter],
        entry_here: Callable[[], LogLine | None],
        on_compacted: Callable[[], None],
    ) -> None:
        self._context = context
        self._entry_here = entry_here
        self._only = only
        self._on_compacted = on_compacted
        # Set to end the export in progress.
        self._stop: threading.Event | None = None

    async def do_log_take_back(self) -> None:
        """Take back the change of the entry under the cursor, whoever made it."""
        entry = self._entry_here()
        if entry is not None:
            await take_back_entry(self._context, entry.seq)

    def do_log_copy(self) -> None:
        """Copy the entry as a line of text."""
        row = self._entry_here()
        if row is not None:
            zone = self._context.clock.zone
            assert zone is not None
            name = f"  {row.name}" if row.task is not None and row.name else ""
            said = f"{row.word}  {who_of(row)}{name}: {text_of(row, ascii_only=True)}"
            text = safe_copy(f"{moment(row.at, zone)}  {said}", one_line=True)
            self._context.copy(text)
            self._context.say(f"Copied {count(len(text), 'character')}.")

    # Compaction

    async def do_log_compact(self) -> None:
        """Drop the journal's oldest entries, once the human has seen how many."""
        context = self._context
        prompt = LineDialog(context, "Drop entries older than (90d, 12w, or a date)", "90d", draft="drop", done="Go on")
        age = await context.ask(prompt)
        if age is None or not age.strip():
            return
        before = compaction.instant(age.strip(), context.clock.now())
        # In a thread, as it reads every entry that would be dropped.
        entries = await asyncio.to_thread(_older_than, context.link.path, before, context.clock.now())
        old = count(entries, "entry", "entries")
        drop = Choice("d", f"Drop {old}: they and undo of them are gone", "$state-failed")
        menu = Menu(context, "The tasks stay as they are", [drop, Choice("k", "Keep them")], lit="k")
        if await context.ask(menu) == "d":
            dropped = await context.link.compact(before)
            context.say(f"Dropped {count(dropped, 'entry', 'entries')} of the journal.")
            self._on_compacted()

    # Export

    @property
    def is_exporting(self) -> bool:
        """Whether an export is in progress."""
        return self._stop is not None

    def end_export(self) -> None:
        """End the export in progress, and remove its file."""
        if self._stop is not None:
            self._stop.set()

    async def do_log_export(self) -> None:
        """Ask for format and file, and write the entries that match the filter."""
        context, only = self._context, self._only()
        if self.is_exporting:
            context.say("An export is being written; Esc ends it.")
            return
        choices = [Choice("m", "Markdown, for people"), Choice("j", "JSON lines, as the channel sends them")]
        what = "what the filter shows" if only else "the whole log"
        key = await context.ask(Menu(context, f"Export {what} as", choices))
        if key is None:
            return
        form = MARKDOWN if key == "m" else JSON_LINES
        asked = LineDialog(context, "Into the file", self._file_name(form), draft=f"export {form}", done="Write")
        name = await context.ask(asked)
        if name is not None and name.strip():
            assert context.clock.zone is not None
            try:
                file = Path(paths.expanded(name.strip())).absolute()
            except DatabaseRefused as refused:
                context.say(f"{refused}; nothing was written")
                return
            link = context.link
            await self._write(Export(file, link.path, link.open_reader, form, context.clock.zone, only))

    def _file_name(self, form: str) -> str:
        at = datetime.fromtimestamp(self._context.clock.now() // SECOND, self._context.clock.zone)
        return str(Path.cwd() / f"tui-tasks-log-{at:%Y-%m-%d-%H%M}.{form}")

    async def _write(self, export: Export) -> None:
        """Write in a thread, and show the progress now and then."""
        context, self._stop = self._context, threading.Event()
        written = [0]
        work = asyncio.create_task(asyncio.to_thread(export.run, lambda done: written.__setitem__(0, done), self._stop))
        try:
            while not (await asyncio.wait({work}, timeout=_TELL_EVERY))[0]:
                context.say(f"Writing: {count(written[0], 'entry', 'entries')} so far. Esc ends it.")
            context.say(f"Wrote {count(await work, 'entry', 'entries')} to {export.file}")
        except Stopped:
            context.say("The export was stopped; no file is left.")
        except FileExistsError:
            context.say(f"{safe_line(str(export.file), 60)} is there already; nothing was written.")
        except OSError as error:
            context.say(f"Cannot write {safe_line(str(export.file), 60)}: {error.strerror}")
        finally:
            self._stop = None


def _older_than(path: str, before: int, now: int) -> int:
    with Store(path, read_only=True) as store:
        return compaction.older_than(store.db, before, now)
