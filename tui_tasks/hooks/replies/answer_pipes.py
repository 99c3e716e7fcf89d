"""Passes an answer to the hook that waits for it, and the whole request to the screen that decides.

The hook makes a named pipe and reads it; its payload in the spool has the pipe's name. The process with the human's
answer puts a file beside the pipe and writes a byte to the pipe. The file begins with the hash of the payload that is
answered; the hook takes it by renaming it, so that one side alone decides whether an answer was in time.

What is redacted or shortened where it is stored is in the hook's memory alone. A screen makes a pipe of its own and
writes its name to the hook's pipe; the hook writes its payload there. It passes from memory to memory.
"""

import errno
import hashlib
import os
import select
import stat
import time

from tui_tasks.hooks.hook_folder import Folder

FOLDER = "answers"
_SUFFIX = ".answer"
_WHOLE = ".whole"
# Bytes in a pipe: that the answer is there, and what begins the name of a pipe for the whole request.
_ANSWERED = b"!"
_WANTED = b"?"
# Seconds in which a whole request is passed on.
_PASSING = 2.0
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
        names = [name for name in answers.names() if not name.endswith(_SUFFIX) and _is_read(answers, name)]
        return [name for name in names if not name.endswith(_WHOLE)]


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
            os.write(pipe, _ANSWERED)
        except OSError:
            pass
        finally:
            os.close(pipe)
    return True


def hear(answers: Folder, pipe: int, body: bytes) -> bool:
    """Read the pipe of a waiting hook, pass the request on to who wants it whole; return whether it has an answer."""
    try:
        written = os.read(pipe, 1 << 16)
    except BlockingIOError:
        return False
    if _ANSWERED in written:
        return True
    for word in written.split(b"\n"):
        name = word[1:].decode("ascii", errors="replace")
        if word.startswith(_WANTED) and name.endswith(_WHOLE) and "/" not in name:
            _pass_on(answers, name, body)
    return False


def _pass_on(answers: Folder, name: str, body: bytes) -> None:
    until = time.monotonic() + _PASSING
    try:
        pipe = answers.open(name, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return  # nobody reads it any more
    try:
        # Never to a file, where it would stay.
        if not stat.S_ISFIFO(os.fstat(pipe).st_mode):
            return
        rest = memoryview(b"%d\n" % len(body) + body)
        poll = select.poll()
        poll.register(pipe, select.POLLOUT)
        while rest and (left := until - time.monotonic()) > 0:
            if poll.poll(left * 1000):
                rest = rest[os.write(pipe, rest[: select.PIPE_BUF]) :]
    except OSError:
        pass
    finally:
        os.close(pipe)


def fetch(folder: Folder, name: str) -> bytes | None:
    """Return the whole request of the hook that waits under a name, from its memory; None if it does not come within
    two seconds.

    Raises:
        OSError: no hook waits under that name, or no pipe can be made.
    """
    with Folder(FOLDER, make=False, inside=folder) as answers:
        own = f"{name}.{os.getpid()}-{os.urandom(6).hex()}{_WHOLE}"
        os.mkfifo(own, 0o600, dir_fd=answers.fd)
        try:
            mine = answers.open(own, os.O_RDONLY | os.O_NONBLOCK)
            try:
                pipe = answers.open(name, os.O_WRONLY | os.O_NONBLOCK)
                try:
                    os.write(pipe, _WANTED + own.encode() + b"\n")
                finally:
                    os.close(pipe)
                return _read_whole(mine)
            finally:
                os.close(mine)
        finally:
            answers.remove(own)


def _read_whole(pipe: int) -> bytes | None:
    until, got = time.monotonic() + _PASSING, bytearray()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while (left := until - time.monotonic()) > 0:
        poll.poll(left * 1000)
        try:
            chunk = os.read(pipe, 1 << 16)
        except BlockingIOError:
            continue
        if not chunk:
            # The hook has not opened it yet.
            time.sleep(0.005)
            continue
        got += chunk
        size, newline, _ = bytes(got[:20]).partition(b"\n")
        if newline and size.isdigit() and len(got) == len(size) + 1 + int(size):
            return bytes(got[len(size) + 1 :])
    return None
