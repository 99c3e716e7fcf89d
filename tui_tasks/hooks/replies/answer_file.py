"""Passes an answer to the hook that waits for it.

The hook makes a named pipe and reads it; its payload in the spool has the pipe's name. The process with the human's
answer puts a file beside the pipe and writes a byte to the pipe. The file begins with the hash of the payload that is
answered; the hook takes it by renaming it, so that one side alone decides whether an answer was in time.
"""

import errno
import hashlib
import os
import time

from tui_tasks.hooks.folder import Folder

FOLDER = "answers"
_SUFFIX = ".answer"
# Seconds after which a pipe without a reader counts as left by a killed hook.
_LEFT_BEHIND = 60.0


def request_hash(body: bytes) -> str:
    """Return the hash that ties an answer to this payload."""
    return hashlib.sha256(body).hexdigest()


def claim(answers: Folder, name: str, body: bytes) -> bytes:
    """Return the decision on the payload of the hook that waited under a name; empty when there is none."""
    taken = f".{name}.taken"
    if not answers.rename(name + _SUFFIX, taken):
        return b""
    try:
        bound_to, _, decision = answers.read(taken).partition(b"\n")
    finally:
        answers.remove(taken)
    return decision if bound_to.decode(errors="replace") == request_hash(body) else b""


def waiting(folder: Folder) -> list[str]:
    """Return the names under which hooks wait; remove pipes left by killed hooks."""
    try:
        answers = Folder(FOLDER, make=False, inside=folder)
    except FileNotFoundError:
        return []
    with answers:
        return [name for name in answers.names() if not name.endswith(_SUFFIX) and _is_read(answers, name)]


def _is_read(answers: Folder, name: str) -> bool:
    try:
        os.close(answers.open(name, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        if error.errno == errno.ENXIO and time.time() - _made_at(answers, name) > _LEFT_BEHIND:
            remove(answers, name)
        return False
    return True


def remove(answers: Folder, name: str) -> None:
    """Remove a pipe, and an answer beside it that was not claimed."""
    answers.remove(name)
    answers.remove(name + _SUFFIX)


def _made_at(answers: Folder, name: str) -> float:
    try:
        return os.stat(name, dir_fd=answers.fd, follow_symlinks=False).st_mtime
    except OSError:
        return time.time()


def send(folder: Folder, name: str, bound_to: str, decision: bytes) -> bool:
    """Send a decision (empty: none) to the hook that waits under a name. Return False if no hook waits any longer.

    Raises:
        OSError: it cannot be written.
    """
    try:
        answers = Folder(FOLDER, make=False, inside=folder)
    except FileNotFoundError:
        return False
    with answers:
        if decision:
            answers.write(name + _SUFFIX, bound_to.encode() + b"\n" + decision)
        try:
            pipe = answers.open(name, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            # If this rename is too late, the hook has claimed the answer.
            is_back = answers.rename(name + _SUFFIX, f".{name}.late")
            answers.remove(f".{name}.late")
            return bool(decision) and not is_back
        try:
            os.write(pipe, b"!")
        except OSError:
            pass
        finally:
            os.close(pipe)
    return True
