"""What the human does with the log as a whole: it is written into a file, or its oldest entries are dropped."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.journal import compaction
from tui_tasks.core.read.tasks.filter import Filter
from tui_tasks.core.store import Store
from tui_tasks.settings import paths
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import SECOND, count
from tui_tasks.tui.inputs.dialogs import Choice, Menu, Prompt
from tui_tasks.tui.log.log_export import JSON_LINES, MARKDOWN, Export, Stopped

if TYPE_CHECKING:
    from tui_tasks.tui.app.app import TaskApp

# Seconds between two words about how far an export has come.
_TELL_EVERY: Final = 0.5


async def compact(host: TaskApp) -> bool:
    """Drop the journal's oldest entries, once the human has seen how many; False where they think better of it."""
    prompt = Prompt(host.context, "Drop entries older than (90d, 12w, or a date)", "90d", done="Go on")
    age = await host.push_screen_wait(prompt)
    if age is None or not age.strip():
        return False
    before = compaction.instant(age.strip(), host.now())
    # In a thread: it reads every entry that is to go.
    old = count(await asyncio.to_thread(_older_than, host.bridge.path, before, host.now()), "entry", "entries")
    drop = Choice("d", f"Drop {old}: they and undo of them are gone", "$state-failed")
    menu = Menu(host.context, "The tasks stay as they are", [drop, Choice("k", "Keep them")])
    if await host.push_screen_wait(menu) != "d":
        return False
    dropped = await host.bridge.compact(before)
    host.say(f"Dropped {count(dropped, 'entry', 'entries')} of the journal.")
    return True


def _older_than(path: str, before: int, now: int) -> int:
    with Store(path, read_only=True) as store:
        return compaction.older_than(store.db, before, now)


class Exports:
    """Writes the log into a file that the human names, one at a time, and tells how far it is."""

    def __init__(self, host: TaskApp) -> None:
        self._host = host
        self._ending: threading.Event | None = None

    @property
    def is_writing(self) -> bool:
        """Whether one is being written."""
        return self._ending is not None

    def end(self) -> None:
        """End what is being written, and leave no half of a file."""
        if self._ending is not None:
            self._ending.set()

    async def ask(self, only: Filter) -> None:
        """Ask for form and file, and write the entries that are wanted."""
        host = self._host
        if self.is_writing:
            host.say("An export is being written; Esc ends it.")
            return
        choices = [Choice("m", "Markdown, for people"), Choice("j", "JSON lines, as the channel sends them")]
        what = "what the filter shows" if only else "the whole log"
        key = await host.push_screen_wait(Menu(host.context, f"Export {what} as", choices))
        if key is None:
            return
        form = MARKDOWN if key == "m" else JSON_LINES
        name = await host.push_screen_wait(Prompt(host.context, "Into the file", self._file_name(form), done="Write"))
        if name is not None and name.strip():
            assert host.zone is not None
            try:
                file = Path(paths.expanded(name.strip())).absolute()
            except DatabaseRefused as refused:
                host.say(f"{refused}; nothing was written")
                return
            await self._write(Export(file, host.bridge.path, form, host.zone, only))

    def _file_name(self, form: str) -> str:
        at = datetime.fromtimestamp(self._host.now() // SECOND, self._host.zone)
        return str(Path.cwd() / f"tui-tasks-log-{at:%Y-%m-%d-%H%M}.{form}")

    async def _write(self, export: Export) -> None:
        """Write in a thread, telling now and then how far it is."""
        host, self._ending = self._host, threading.Event()
        written = [0]
        work = asyncio.create_task(
            asyncio.to_thread(export.run, lambda done: written.__setitem__(0, done), self._ending)
        )
        try:
            while not (await asyncio.wait({work}, timeout=_TELL_EVERY))[0]:
                host.say(f"Writing: {count(written[0], 'entry', 'entries')} so far. Esc ends it.")
            host.say(f"Wrote {count(await work, 'entry', 'entries')} to {export.file}")
        except Stopped:
            host.say("The export was ended; nothing of it is left.")
        except FileExistsError:
            host.say(f"{safe_line(str(export.file), 60)} is there already; nothing was written.")
        except OSError as error:
            host.say(f"Cannot write {safe_line(str(export.file), 60)}: {error.strerror}")
        finally:
            self._ending = None
