"""The private folder beside a database through which hooks and the program's other processes exchange files; and the
spool in it: each payload of a hook waits in its own file, until a process that has the database open processes it.

A payload's file is named by the time at which its hook ended and by its process, so sorted names give the order in
which the hooks of all agents ended, even if the clock was changed. It has one line of JSON (see `Payload`), then the
payload's bytes as received.

Every hook imports this at each event, so it imports nothing slow: no `re`, no `typing`, no `pathlib`.
"""

import errno
import os
import stat
import time

from tui_tasks import regular_files
from tui_tasks.hooks import hooks_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A payload with its head has at most a little over 10 MiB.
_MAX_BYTES = 16 * 1024 * 1024
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """A folder that only this user can access, kept open: replacing it by another one gives no access to its files.

    Attributes:
        fd: its descriptor; -1 once it is closed.
    """

    fd: int

    def __init__(self, path: str | bytes, *, make: bool, inside: "Folder | None" = None) -> None:
        """Open a folder, `inside` another if given.

        Raises:
            OSError: it is not there (and not to be made), cannot be made, is no folder, or is another user's.
        """
        at = None if inside is None else inside.fd
        if make:
            try:
                os.mkdir(path, 0o700, dir_fd=at)
            except FileExistsError:
                pass
        self.fd = os.open(path, _OPEN_FOLDER, dir_fd=at)
        try:
            self._check(path)
        except BaseException:
            self.close()
            raise

    def _check(self, path: str | bytes) -> None:
        stat_result = os.fstat(self.fd)
        if stat_result.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, f"the folder is another user's (id {stat_result.st_uid})", path)
        if stat.S_IMODE(stat_result.st_mode) != 0o700:
            os.fchmod(self.fd, 0o700)

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: "TracebackType | None"
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor; the files stay."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def names(self) -> list[str]:
        """Return the sorted names in the folder, without files that are being written."""
        return sorted(name for name in os.listdir(self.fd) if not name.startswith("."))

    def file_names(self) -> list[str]:
        """Return the sorted names without those of folders, which `remove` cannot remove."""
        with os.scandir(self.fd) as entries:
            return sorted(
                entry.name for entry in entries if entry.name[:1] != "." and not entry.is_dir(follow_symlinks=False)
            )

    def open(self, name: str, flags: int) -> int:
        """Open a file of the folder, never through a link.

        Raises:
            OSError: it is not there, or cannot be opened.
        """
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self.fd)

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            OSError: it is not there, cannot be read, is no regular file, or is longer than any that is written here.
        """
        return regular_files.read_regular(name, _MAX_BYTES, dir_fd=self.fd, follow_links=False)

    def open_regular(self, name: str) -> int:
        """Open a file of the folder to read it, as `regular_files.open_regular`; return the descriptor."""
        return regular_files.open_regular(name, _MAX_BYTES, dir_fd=self.fd, follow_links=False)

    def write_aside(self, *parts: bytes) -> str:
        """Write a new file under a hidden name, from which `rename` publishes it; return that name.

        Raises:
            OSError: it cannot be written; nothing is left of it.
        """
        aside = f".{os.getpid()}-{os.urandom(6).hex()}"
        handle = os.open(aside, _OPEN_NEW, 0o600, dir_fd=self.fd)
        try:
            with os.fdopen(handle, "wb") as file:
                for part in parts:
                    file.write(part)
        except BaseException:
            self.remove(aside)
            raise
        return aside

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically; an existing one is replaced.

        Raises:
            OSError: it cannot be written; what was there is as it was.
        """
        aside = self.write_aside(content)
        try:
            self.rename(aside, name)
        except BaseException:
            self.remove(aside)
            raise

    def rename(self, name: str, new: str) -> bool:
        """Rename a file; return False when it is gone, so that only one of several processes succeeds.

        Raises:
            OSError: it cannot be renamed.
        """
        try:
            os.rename(name, new, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Remove a file, if possible."""
        try:
            os.unlink(name, dir_fd=self.fd)
        except OSError:
            pass


MAX_PAYLOAD = 10 * 1024 * 1024
"""In bytes: the rest of a longer payload is cut off."""
_PAYLOADS = "payloads"
# Seconds for which a hook waits for the lock under which payloads are named.
LOCK_LIMIT = 0.5
_BETWEEN_TRIES = 0.002
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x20), ord('"'), ord("\\"))}

Head = dict[str, str | int | float | None]


def payload_head(program: str, process: dict[str, str | int], project: str, size: int, kept_bytes: int) -> Head:
    """Return the head of a payload; see `Payload`."""
    try:
        cwd = os.getcwd()
    except OSError:  # it was removed
        cwd = None
    head_fields: Head = {
        "program": program,
        "at": time.time_ns() // 1000,
        **process,
        "cwd": cwd,
        "project": project or None,
    }
    return {**head_fields, "size": size, "is_cut": size > kept_bytes, "answer": None, "wait": 0}


def put_payload(folder: Folder, head: Head, body: bytes) -> str:
    """Store a payload and return its name. It survives the end of this process, but not a power cut.

    Raises:
        OSError: it cannot be written.
    """
    with Folder(_PAYLOADS, make=True, inside=folder) as payloads:
        aside = payloads.write_aside(json_object(head), b"\n", body)
        lock = None
        try:
            lock = folder.open("last-name", os.O_RDWR | os.O_CREAT)
            _wait_for(lock)
            last = os.pread(lock, 20, 0)
            at = max(time.time_ns() // 1000, int(last) + 1 if last.isdigit() else 0)
            name = f"{at:020d}-{os.getpid()}"
            payloads.rename(aside, name)
            os.pwrite(lock, b"%020d" % at, 0)
        except BaseException:
            payloads.remove(aside)
            raise
        finally:
            if lock is not None:
                os.close(lock)
    return name


def _wait_for(lock: int) -> None:
    """Take a lock; continue without it if a stopped process holds it, as names differ all the same."""
    until = time.monotonic() + LOCK_LIMIT
    while True:
        try:
            os.lockf(lock, os.F_TLOCK, 0)
            return
        except OSError:
            if time.monotonic() > until:
                return
        time.sleep(_BETWEEN_TRIES)


def json_object(values: Head) -> bytes:
    """Return a JSON object on one line."""
    members = ", ".join(f"{_quoted(name)}: {_value(value)}" for name, value in values.items())
    return b"{" + members.encode(errors="replace") + b"}"


def _value(value: str | int | float | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


class Payload:
    """A payload in the spool.

    Attributes:
        head: `program`, `at` (microseconds), the agent's process (`boot`, `namespace`, `pid`, `born`, as
            `runner.processes.ProcessIdentity`; `is_shared`: it has several sessions at once), `cwd` of the hook,
            `project` (or null), `size` of what came in bytes, `is_cut` (whether it was longer than `MAX_PAYLOAD`),
            `answer` (the name under which it waits to be answered, or null), `wait` (the seconds for which it does)
            and `ends_turn` (whether it ended the turn).
        body: the payload's bytes, at most `MAX_PAYLOAD` of them.
    """

    __slots__ = ("body", "head", "name")

    def __init__(self, name: str, head: "dict[str, Any]", body: bytes) -> None:
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
            self._payloads = Folder(_PAYLOADS, make=True, inside=self.folder)
        except BaseException:
            self.folder.close()
            raise

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: "TracebackType | None"
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptors; the files stay."""
        self._payloads.close()
        self.folder.close()

    def pending(self) -> list[str]:
        """Return the names of the unprocessed payloads, in order."""
        return self._payloads.file_names()

    def read(self, name: str) -> Payload:
        """Return a payload of the spool.

        Raises:
            OSError: it is gone, or cannot be read.
            ValueError: its first line is no JSON object.
        """
        import json  # no hook reads a payload

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
        import fcntl  # no hook locks the intake

        lock = self.folder.open("intake-lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock
