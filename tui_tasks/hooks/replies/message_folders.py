"""The human's messages and pauses for agents, in a folder for each session, until hooks deliver them.

A message is a file named by its position in the order sent and its kind: a message, or one that ends the turn. A hook
claims it by renaming it, prints it, and renames it again, so that it is delivered once; a claim whose hook ended before
printing is released. `reply_sender` keeps these folders in step with the database, and records what was delivered.
"""

import errno
import os

from tui_tasks.hooks.hook_folder import Folder

FOLDER = "outbox"
PAUSE = "pause"
_PROCESS = "process"
MESSAGE, STOP = "message", "stop"
_CLAIMED, _DELIVERED = "claimed-", "delivered"
_MAX_NAME = 200


class MessageFile:
    """A message in its folder.

    Attributes:
        name: the name of its file.
        number: its position in the order sent.
        kind: `MESSAGE` or `STOP`.
        state: empty while it waits, then `claimed-PID`, then `delivered`.
    """

    __slots__ = ("kind", "name", "number", "state")

    def __init__(self, name: str) -> None:
        number, self.kind, self.state = [*name.split("."), "", ""][:3]
        self.name, self.number = name, int(number)

    @property
    def is_delivered(self) -> bool:
        """Whether a hook has printed it."""
        return self.state == _DELIVERED


def name_of(program: str, session: str) -> str:
    """Return the name of a session's folder: its id with characters other than letters, digits, `-` and `_` encoded."""
    safe = [char if char.isascii() and (char.isalnum() or char in "-_") else f"%{ord(char):x}" for char in session]
    return f"{program}-{''.join(safe)}"[:_MAX_NAME]


def opened(folder: Folder, program: str, session: str, *, make: bool) -> Folder | None:
    """Open the folder of a session; return None when there is none.

    Raises:
        OSError: it cannot be opened.
    """
    try:
        with Folder(FOLDER, make=make, inside=folder) as all_folders:
            return Folder(name_of(program, session), make=make, inside=all_folders)
    except FileNotFoundError:
        return None


def sessions(folder: Folder) -> list[str]:
    """Return the folder names of sessions that have or had messages."""
    try:
        with Folder(FOLDER, make=False, inside=folder) as all_folders:
            return all_folders.names()
    except FileNotFoundError:
        return []


def remove(folder: Folder, name: str, *, with_content: bool = False) -> None:
    """Remove the folder of a session if it is empty, or in any case."""
    with Folder(FOLDER, make=False, inside=folder) as all_folders:
        if with_content:
            with Folder(name, make=False, inside=all_folders) as session_folder:
                for held in os.listdir(session_folder.fd):
                    session_folder.remove(held)
        else:
            _remove_lone_process(all_folders, name)
        try:
            os.rmdir(name, dir_fd=all_folders.fd)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise


def _remove_lone_process(all_folders: Folder, name: str) -> None:
    try:
        with Folder(name, make=False, inside=all_folders) as session_folder:
            if os.listdir(session_folder.fd) == [_PROCESS]:
                session_folder.remove(_PROCESS)
    except FileNotFoundError:
        pass


def set_process(session_folder: Folder, pid: int, born: str) -> None:
    """Store the process of the session: only hooks below it are given what is here.

    Raises:
        OSError: it cannot be written.
    """
    named = f"{pid}:{born}"
    if process(session_folder) != named:
        session_folder.write(_PROCESS, named.encode())


def process(session_folder: Folder) -> str:
    """Return the process of the session, `PID:BORN`; empty if none is stored."""
    try:
        return session_folder.read(_PROCESS).decode(errors="replace")
    except FileNotFoundError:
        return ""


def files(session_folder: Folder) -> list[MessageFile]:
    """Return the messages, in the order sent."""
    return [MessageFile(name) for name in session_folder.names() if name[:1].isdigit()]


def put(session_folder: Folder, number: int, text: str, *, ends_turn: bool = False) -> None:
    """Store a message for the session, `number` in the order sent; do nothing if it was stored before.

    Raises:
        OSError: it cannot be written.
    """
    if all(file.number != number for file in files(session_folder)):
        session_folder.write(f"{number:012d}.{STOP if ends_turn else MESSAGE}", text.encode())


def set_pause(session_folder: Folder, why: str | None) -> None:
    """Pause or resume the session.

    Raises:
        OSError: it cannot be written.
    """
    if why is None:
        session_folder.remove(PAUSE)
    else:
        session_folder.write(PAUSE, why.encode())


def delivered_until(session_folder: Folder) -> int | None:
    """Return the number up to which hooks have printed all messages; None when they have printed none."""
    until = None
    for file in files(session_folder):
        if not file.is_delivered:
            break
        until = file.number
    return until


def forget(session_folder: Folder, until: int) -> None:
    """Remove the delivered messages up to a number."""
    for file in files(session_folder):
        if file.number <= until:
            session_folder.remove(file.name)


def withdraw(session_folder: Folder, number: int) -> bool:
    """Remove a waiting message, so that no hook can claim it; return whether none has claimed or delivered it."""
    mine = [file for file in files(session_folder) if file.number == number]
    for file in mine:
        if file.state or (claimed := claim_one(session_folder, file)) is None:
            return False
        session_folder.remove(claimed[0].name)
    return True


def claim(session_folder: Folder, kinds: tuple[str, ...]) -> list[tuple[MessageFile, str]]:
    """Claim the waiting messages of these kinds for this process; return them with their texts, in the order sent."""
    waiting = [file for file in files(session_folder) if file.kind in kinds and not file.state]
    return [claimed for file in waiting if (claimed := claim_one(session_folder, file)) is not None]


def claim_one(session_folder: Folder, file: MessageFile) -> tuple[MessageFile, str] | None:
    """Claim a waiting message for this process; return it with its text, or None if another process was faster."""
    name = f"{file.name}.{_CLAIMED}{os.getpid()}"
    if not session_folder.rename(file.name, name):
        return None
    return MessageFile(name), session_folder.read(name).decode(errors="replace")


def settle(session_folder: Folder, claimed: list[tuple[MessageFile, str]], *, printed: bool) -> None:
    """Mark claimed messages as printed, or release them."""
    for file, _ in claimed:
        waiting = f"{file.number:012d}.{file.kind}"
        session_folder.rename(file.name, f"{waiting}.{_DELIVERED}" if printed else waiting)


def give_back(session_folder: Folder) -> None:
    """Release messages whose hook ended before it marked them as printed."""
    for file in files(session_folder):
        if file.state.startswith(_CLAIMED) and not _is_alive(file.state.removeprefix(_CLAIMED)):
            session_folder.rename(file.name, f"{file.number:012d}.{file.kind}")


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass
    return True
