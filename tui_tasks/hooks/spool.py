"""The spool of hook payloads: each in its own file, until a process that has the database open processes it.

A file is named by the time at which its hook ended and by its process, so sorted names give the order in which the
hooks of all agents ended, even if the clock was changed. It has one line of JSON (see `Payload`), then the payload's
bytes as received.
"""

from __future__ import annotations

import fcntl
import json
import os
from types import TracebackType
from typing import Any, Self

from tui_tasks.hooks import hook_folder, hooks_folder
from tui_tasks.hooks.hook_folder import Folder, Head


class Payload:
    """A payload in the spool.

    Attributes:
        head: `program`, `at` (microseconds), the agent's process (`boot`, `namespace`, `pid`, `born`, as
            `runner.processes.ProcessIdentity`; `is_shared`: it has several sessions at once), `cwd` of the hook,
            `project` (or null), `size` of what came in bytes, `is_cut` (whether it was longer than `MAX_PAYLOAD`),
            `answer` (the name under which it waits to be answered, or null), `wait` (the seconds for which it does)
            and `ends_turn` (whether it ended the turn).
        body: the payload's bytes, at most `hook_folder.MAX_PAYLOAD` of them.
    """

    __slots__ = ("body", "head", "name")

    def __init__(self, name: str, head: dict[str, Any], body: bytes) -> None:
        self.name = name
        self.head = head
        self.body = body


class Spool:
    """The payloads beside a database."""

    def __init__(self, database: str, *, make: bool) -> None:
        """Open the spool of a database, which itself need not exist.

        Raises:
            OSError: it does not exist (and is not to be created), cannot be created, or others can access it.
        """
        self.folder = Folder(hooks_folder(database), make=make)
        try:
            self._payloads = Folder(hook_folder.FOLDER, make=True, inside=self.folder)
        except BaseException:
            self.folder.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptors; the files stay."""
        self._payloads.close()
        self.folder.close()

    def put(self, head: Head, body: bytes) -> str:
        """Store a payload and return its name; see `hook_folder.put_payload`.

        Raises:
            OSError: it cannot be written.
        """
        return hook_folder.put_payload(self.folder, head, body)

    def pending(self) -> list[str]:
        """Return the names of the unprocessed payloads, in order."""
        return self._payloads.file_names()

    def read(self, name: str) -> Payload:
        """Return a payload of the spool.

        Raises:
            OSError: it is gone, or cannot be read.
            ValueError: its first line is no JSON object.
        """
        line, _, body = self._payloads.read(name).partition(b"\n")
        head = json.loads(line)
        if not isinstance(head, dict):
            raise ValueError(f"{name}: its first line is no JSON object")
        return Payload(name, head, body)

    def drop(self, name: str) -> None:
        """Remove a processed payload."""
        self._payloads.remove(name)

    def lock_intake(self) -> int | None:
        """Lock the intake; None when another process holds the lock. The caller closes the descriptor."""
        lock = self.folder.open("intake-lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock
