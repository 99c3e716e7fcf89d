"""Sends the human's messages to a Codex that waits for its person, by `codex queue` (seen with 0.169.0).

No hook runs while it waits, but its window checks for queued messages. The program is the `codex` in this process's
PATH, with this user's own settings: nothing that a payload names is run, or read as settings.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import time
from typing import Final

import msgspec

from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import Seen
from tui_tasks.core.store import Store
from tui_tasks.hooks import hooks_folder, session_records
from tui_tasks.hooks.folder import Folder
from tui_tasks.hooks.replies import mailbox
from tui_tasks.hooks.replies.mailbox import Letter

_log = logging.getLogger(__name__)

PROGRAM: Final = "codex"
_AT_REST: Final = frozenset({"idle", "interrupted", "failed"})
_THREAD: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LIMIT: Final = 10.0
"""Seconds that the command may take; it was seen to take 0.3."""


class _Queuing(msgspec.Struct):
    """Messages that are being queued for an agent."""

    agent: str
    session: str
    messages: list[tuple[Letter, str]]
    process: subprocess.Popen[bytes]
    until: float


class CodexQueue:
    """Queues waiting messages, one session at each call of `look`, without blocking."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queuing: _Queuing | None = None
        # Their next hook delivers what could not be queued.
        self._refused: set[str] = set()

    def look(self) -> None:
        """Check the running command, or run it for the next session with messages.

        Raises:
            OSError: the folder of messages cannot be read.
        """
        try:
            folder = Folder(hooks_folder(self._store.path), make=False)
        except FileNotFoundError:
            return
        with folder:
            if self._queuing is not None:
                self._follow_command(folder, self._queuing)
                return
            boxes = [name for name in mailbox.sessions(folder) if name.startswith(f"{PROGRAM}-")]
            for seen in session_queries.current(self._store.db) if boxes else ():
                if mailbox.name_of(PROGRAM, seen.session.session) in boxes and self._can_take(seen):
                    self._start_command(folder, seen)
                    return

    def _can_take(self, seen: Seen) -> bool:
        session = seen.session
        return (
            session.program == PROGRAM
            and seen.state in _AT_REST
            and session.uid not in self._refused
            and _THREAD.fullmatch(session.session) is not None
            and _is_of_this_user(session_records.of(seen.activity).path)
        )

    def _start_command(self, folder: Folder, seen: Seen) -> None:
        program = shutil.which(PROGRAM)
        box = mailbox.opened(folder, PROGRAM, seen.session.session, make=False)
        if program is None or box is None:
            return
        with box:
            messages = mailbox.claim(box, (mailbox.MESSAGE,))
            if not messages:
                return
            text = "\n\n".join(words for _, words in messages)
            try:
                process = subprocess.Popen(
                    [program, "queue", f"--thread={seen.session.session}", f"--message={text}"],
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            except (OSError, ValueError) as error:  # it is too long, or holds a NUL
                _log.warning("codex queue: %s", error)
                self._refused.add(seen.session.uid)
                mailbox.settle(box, messages, printed=False)
                return
        self._queuing = _Queuing(seen.session.uid, seen.session.session, messages, process, time.monotonic() + _LIMIT)

    def _follow_command(self, folder: Folder, queuing: _Queuing) -> None:
        status = queuing.process.poll()
        if status is None:
            if time.monotonic() < queuing.until:
                return
            queuing.process.kill()
            status = queuing.process.wait()
        self._queuing = None
        if status != 0:
            _log.warning("codex queue for %s ended with status %s", queuing.agent, status)
            self._refused.add(queuing.agent)
        box = mailbox.opened(folder, PROGRAM, queuing.session, make=False)
        if box is not None:
            with box:
                mailbox.settle(box, queuing.messages, printed=status == 0)


def _is_of_this_user(record: str) -> bool:
    """Return whether a record is in this user's own folder of Codex, which the command will use."""
    home = os.path.realpath(os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex"))
    return (
        bool(record) and "\0" not in record and os.path.realpath(record).startswith(os.path.join(home, "sessions", ""))
    )
