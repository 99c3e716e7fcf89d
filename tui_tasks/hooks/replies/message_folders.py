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


class Letter:
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
        with Folder(FOLDER, make=make, inside=folder) as outbox:
            return Folder(name_of(program, session), make=make, inside=outbox)
    except FileNotFoundError:
        return None


def sessions(folder: Folder) -> list[str]:
    """Return the folder names of sessions that have or had messages."""
    try:
        with Folder(FOLDER, make=False, inside=folder) as outbox:
            return outbox.names()
    except FileNotFoundError:
        return []


def remove(folder: Folder, name: str, *, with_content: bool = False) -> None:
    """Remove the folder of a session if it is empty, or in any case."""
    with Folder(FOLDER, make=False, inside=folder) as outbox:
        if with_content:
            with Folder(name, make=False, inside=outbox) as box:
                for held in os.listdir(box.fd):
                    box.remove(held)
        else:
            _remove_lone_process(outbox, name)
        try:
            os.rmdir(name, dir_fd=outbox.fd)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise


def _remove_lone_process(outbox: Folder, name: str) -> None:
    try:
        with Folder(name, make=False, inside=outbox) as box:
            if os.listdir(box.fd) == [_PROCESS]:
                box.remove(_PROCESS)
    except FileNotFoundError:
        pass


def set_process(box: Folder, pid: int, born: str) -> None:
    """Store the process of the session: only hooks below it are given what is here.

    Raises:
        OSError: it cannot be written.
    """
    named = f"{pid}:{born}"
    if process(box) != named:
        box.write(_PROCESS, named.encode())


def process(box: Folder) -> str:
    """Return the process of the session, `PID:BORN`; empty if none is stored."""
    try:
        return box.read(_PROCESS).decode(errors="replace")
    except FileNotFoundError:
        return ""


def letters(box: Folder) -> list[Letter]:
    """Return the messages, in the order sent."""
    return [Letter(name) for name in box.names() if name[:1].isdigit()]


def put(box: Folder, number: int, text: str, *, ends_turn: bool = False) -> None:
    """Store a message for the session, `number` in the order sent; do nothing if it was stored before.

    Raises:
        OSError: it cannot be written.
    """
    if all(letter.number != number for letter in letters(box)):
        box.write(f"{number:012d}.{STOP if ends_turn else MESSAGE}", text.encode())


def set_pause(box: Folder, why: str | None) -> None:
    """Pause or resume the session.

    Raises:
        OSError: it cannot be written.
    """
    if why is None:
        box.remove(PAUSE)
    else:
        box.write(PAUSE, why.encode())


def delivered_until(box: Folder) -> int | None:
    """Return the number up to which hooks have printed all messages; None when they have printed none."""
    until = None
    for letter in letters(box):
        if not letter.is_delivered:
            break
        until = letter.number
    return until


def forget(box: Folder, until: int) -> None:
    """Remove the delivered messages up to a number."""
    for letter in letters(box):
        if letter.number <= until:
            box.remove(letter.name)


def withdraw(box: Folder, number: int) -> bool:
    """Remove a waiting message, so that no hook can claim it; return whether none has claimed or delivered it."""
    mine = [letter for letter in letters(box) if letter.number == number]
    for letter in mine:
        if letter.state or (claimed := claim_one(box, letter)) is None:
            return False
        box.remove(claimed[0].name)
    return True


def claim(box: Folder, kinds: tuple[str, ...]) -> list[tuple[Letter, str]]:
    """Claim the waiting messages of these kinds for this process; return them with their texts, in the order sent."""
    waiting = [letter for letter in letters(box) if letter.kind in kinds and not letter.state]
    return [claimed for letter in waiting if (claimed := claim_one(box, letter)) is not None]


def claim_one(box: Folder, letter: Letter) -> tuple[Letter, str] | None:
    """Claim a waiting message for this process; return it with its text, or None if another process was faster."""
    name = f"{letter.name}.{_CLAIMED}{os.getpid()}"
    if not box.rename(letter.name, name):
        return None
    return Letter(name), box.read(name).decode(errors="replace")


def settle(box: Folder, claimed: list[tuple[Letter, str]], *, printed: bool) -> None:
    """Mark claimed messages as printed, or release them."""
    for letter, _ in claimed:
        waiting = f"{letter.number:012d}.{letter.kind}"
        box.rename(letter.name, f"{waiting}.{_DELIVERED}" if printed else waiting)


def give_back(box: Folder) -> None:
    """Release messages whose hook ended before it marked them as printed."""
    for letter in letters(box):
        if letter.state.startswith(_CLAIMED) and not _is_alive(letter.state.removeprefix(_CLAIMED)):
            box.rename(letter.name, f"{letter.number:012d}.{letter.kind}")


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass
    return True
