"""Writes a hook's payload to the spool, which `spool` reads.

Every hook imports this at each event, so it imports nothing slow, as `hook_folder`.
"""

import os
import time

from tui_tasks.hooks.hook_folder import Folder

MAX_PAYLOAD = 10 * 1024 * 1024
FOLDER = "payloads"
# Seconds for which a hook waits for the lock under which payloads are named.
LOCK_LIMIT = 0.5
_BETWEEN_TRIES = 0.002
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x20), ord('"'), ord("\\"))}

Head = dict[str, str | int | float | None]


def payload_head(program: str, process: dict[str, str | int], project: str, size: int, kept_bytes: int) -> Head:
    """Return the head of a payload; see `spool.Payload`."""
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
    with Folder(FOLDER, make=True, inside=folder) as payloads:
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
