"""A program's own record of a session, for people: prompts, words, tools with their results, and edits as diffs.

The file of a record is read on, only what is new. opencode keeps its sessions in a database of its own, which its
command `export` prints.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib import import_module
from typing import Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.agents import session_queries
from tui_tasks.hooks.programs.fields import Item
from tui_tasks.hooks.session_records import PROGRAMS, Part, lines_of, of

MAX_ITEMS: Final = 20_000
_EXPORT_SECONDS: Final = 60.0
_MAX_TEXT: Final = 200_000


class Source(msgspec.Struct, frozen=True):
    """Where the record of a session is: its file, or the program's id of it."""

    program: str
    path: str = ""
    session: str = ""


def source(db: Database, agent: str) -> Source | str:
    """Return where the record of an agent's session is, or why there is none."""
    session = session_queries.find(db, agent)
    if session is None:
        return "its program has no record of a session"
    if session.program in PROGRAMS:
        path = of(session_queries.activity(db, agent)).path
        return Source(session.program, path) if path else "its program has named no record yet"
    if session.program == "opencode" and not session.session.startswith(session_queries.PLACEHOLDER):
        return Source(session.program, session=session.session)
    return (
        f"the record of {session.program} is not known" if session.program != "opencode" else "it has begun no session"
    )


class Transcript:
    """The items of a record so far; `read_on` adds what is new. It may take long: a screen calls it in a thread."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._part = Part()
        self._seen: dict[str, int] = {}
        self.items: list[Item] = []

    @property
    def is_file(self) -> bool:
        """Whether it is read from a file, so that reading on costs little."""
        return self._source.program in PROGRAMS

    def read_on(self) -> bool:
        """Read on; return whether there are new items.

        Raises:
            OSError: the program that prints the record cannot be started.
        """
        before = len(self.items)
        if self._source.program in PROGRAMS:
            module = import_module(f"tui_tasks.hooks.programs.{self._source.program}")
            for line in lines_of(self._source.path, self._part):
                with contextlib.suppress(msgspec.DecodeError, RecursionError):
                    self.items += _bounded(module.items_of_line(line, self._seen))
            del self.items[: max(0, len(self.items) - MAX_ITEMS)]
            return len(self.items) != before or before == MAX_ITEMS
        items = _exported(self._source.session)
        is_new, self.items = items != self.items, items
        return is_new


def _bounded(items: Iterator[Item]) -> list[Item]:
    return [msgspec.structs.replace(one, text=one.text[:_MAX_TEXT]) for one in items if one.text.strip() or one.name]


def _exported(session: str) -> list[Item]:
    """Return the items of a session of opencode, as its own command prints it.

    Raises:
        OSError: it is not installed, or fails.
    """
    from tui_tasks.hooks.programs import opencode

    program = shutil.which("opencode")
    if program is None:
        raise OSError("opencode is not installed here, and it alone reads its record")
    # In an empty folder, where no settings or plugins of a repository are read.
    with tempfile.TemporaryDirectory(prefix="tui-tasks-") as folder:
        try:
            done = subprocess.run(
                [program, "export", session],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_EXPORT_SECONDS,
                check=True,
            )
            return _bounded(opencode.items_of_export(msgspec.json.decode(done.stdout)))
        except (subprocess.SubprocessError, msgspec.DecodeError) as error:
            raise OSError("opencode has printed no record of it") from error
