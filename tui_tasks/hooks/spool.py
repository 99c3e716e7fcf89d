"""Payloads of hooks, each in a file of its own, until a process that has the database open takes them in.

A file is named by when its hook ended and by its process, so names in order are payloads in the order in which the
hooks of all agents ended, across changes of the clock. It holds one line of JSON (who was told what where, see
`Payload`), then the payload's bytes as they came.
"""

from __future__ import annotations

import fcntl
import os
import time

from tui_tasks.hooks.folder import Folder, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

MAX_PAYLOAD = 10 * 1024 * 1024
# Seconds for which a hook waits for the others of its folder. The name of a payload is given under a lock.
LOCK_LIMIT = 0.5
_BETWEEN_TRIES = 0.002
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x20), ord('"'), ord("\\"))}


class Payload:
    """A payload in the spool.

    Attributes:
        head: `program`, `at` (microseconds), the agent's process (`boot`, `namespace`, `pid`, `born`, as
            `runner.processes.ProcessIdentity`), `cwd` of the hook, `project` (or null), `size` of what came in bytes,
            `is_cut` (whether it was longer than `MAX_PAYLOAD`), `answer` (the name under which it waits to be
            answered, or null) and `wait` (the seconds for which it does).
        body: the payload's bytes, at most `MAX_PAYLOAD` of them.
    """

    __slots__ = ("body", "head", "name")

    def __init__(self, name: str, head: dict[str, Any], body: bytes) -> None:
        self.name = name
        self.head = head
        self.body = body


class Spool:
    """The payloads beside a database."""

    def __init__(self, database: str, *, make: bool) -> None:
        """Open the spool of a database, which itself need not be there.

        Raises:
            OSError: there is none (and it is not to be made), it cannot be made, or is not this user's alone.
        """
        self.folder = Folder(path_of(database), make=make)
        try:
            self._payloads = Folder("payloads", make=True, inside=self.folder)
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
        """Let go of the folders; what is in them stays."""
        self._payloads.close()
        self.folder.close()

    def put(self, head: dict[str, str | int | None], body: bytes) -> str:
        """Keep a payload and return its name. It outlives the end of this process, not a power cut.

        Raises:
            OSError: it cannot be written.
        """
        aside = self._payloads.write_aside(_json_object(head), b"\n", body)
        lock = None
        try:
            lock = self.folder.open("last-name", os.O_RDWR | os.O_CREAT)
            _wait_for(lock)
            last = os.pread(lock, 20, 0)
            at = max(time.time_ns() // 1000, int(last) + 1 if last.isdigit() else 0)
            name = f"{at:020d}-{os.getpid()}"
            self._payloads.rename(aside, name)
            os.pwrite(lock, b"%020d" % at, 0)
        except BaseException:
            self._payloads.remove(aside)
            raise
        finally:
            if lock is not None:
                os.close(lock)
        return name

    def pending(self) -> list[str]:
        """The names of the payloads that nobody has taken in, in order."""
        return self._payloads.names()

    def read(self, name: str) -> Payload:
        """A payload that is in the spool.

        Raises:
            OSError: it is gone, or cannot be read.
            ValueError: it is none: its first line is no JSON object.
        """
        import json

        line, _, body = self._payloads.read(name).partition(b"\n")
        head = json.loads(line)
        if not isinstance(head, dict):
            raise ValueError(f"{name}: its first line is no JSON object")
        return Payload(name, head, body)

    def drop(self, name: str) -> None:
        """Remove a payload that was taken in."""
        self._payloads.remove(name)

    def lock_intake(self) -> int | None:
        """Become the one that takes payloads in; None where another process is. Close the descriptor when done."""
        lock = self.folder.open("intake-lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock


def _wait_for(lock: int) -> None:
    """Take a lock, and go on without it where a process that has stopped holds it: names differ all the same."""
    until = time.monotonic() + LOCK_LIMIT
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > until:
                return
        time.sleep(_BETWEEN_TRIES)


def _json_object(values: dict[str, str | int | None]) -> bytes:
    """A JSON object on one line. `json` takes as long to import as all else that a hook does."""
    members = ", ".join(f"{_quoted(name)}: {_value(value)}" for name, value in values.items())
    return b"{" + members.encode(errors="replace") + b"}"


def _value(value: str | int | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
