"""What a human has for an agent: messages and a pause, in a folder for each session, until hooks deliver it.

A message is a file named by its place in the order sent and by what it is: a message, or one that ends the turn. A hook
claims it by renaming it, prints it, and renames it again, so that each is delivered once; a claim whose hook has died
before it printed is given back. `outbox` keeps these folders as the database says, and takes in what was delivered.
"""

import errno
import os

from tui_tasks.hooks.folder import Folder

FOLDER = "outbox"
PAUSE = "pause"
MESSAGE, STOP = "message", "stop"
_CLAIMED, _DELIVERED = "claimed-", "delivered"
_MAX_NAME = 200


class Letter:
    """A message in its folder.

    Attributes:
        name: of its file.
        number: its place in the order sent.
        kind: `MESSAGE` or `STOP`.
        state: empty while it waits, then `claimed-PID`, then `delivered`.
    """

    __slots__ = ("kind", "name", "number", "state")

    def __init__(self, name: str) -> None:
        number, self.kind, self.state = [*name.split("."), "", ""][:3]
        self.name, self.number = name, int(number)


def name_of(program: str, session: str) -> str:
    """The name of a session's folder: letters, digits, `-` and `_` of the program's own id, others by their code."""
    safe = [char if char.isascii() and (char.isalnum() or char in "-_") else f"%{ord(char):x}" for char in session]
    return f"{program}-{''.join(safe)}"[:_MAX_NAME]


def opened(folder: Folder, program: str, session: str, *, make: bool) -> Folder | None:
    """The folder of a session; None where nothing is there for it.

    Raises:
        OSError: it cannot be opened.
    """
    try:
        with Folder(FOLDER, make=make, inside=folder) as outbox:
            return Folder(name_of(program, session), make=make, inside=outbox)
    except FileNotFoundError:
        return None


def sessions(folder: Folder) -> list[str]:
    """The names of the folders of sessions for which there is something, or was."""
    try:
        with Folder(FOLDER, make=False, inside=folder) as outbox:
            return outbox.names()
    except FileNotFoundError:
        return []


def remove(folder: Folder, name: str, *, with_content: bool = False) -> None:
    """Remove the folder of a session where nothing is in it any more, or whatever is."""
    with Folder(FOLDER, make=False, inside=folder) as outbox:
        if with_content:
            with Folder(name, make=False, inside=outbox) as box:
                for held in os.listdir(box.fd):
                    box.remove(held)
        try:
            os.rmdir(name, dir_fd=outbox.fd)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise


def letters(box: Folder) -> list[Letter]:
    """The messages that are there, in the order sent."""
    return [Letter(name) for name in box.names() if name[:1].isdigit()]


def put(box: Folder, number: int, text: str, *, ends_turn: bool = False) -> None:
    """Leave a message for the session, `number` in the order sent; nothing where it was left before.

    Raises:
        OSError: it cannot be written.
    """
    if all(letter.number != number for letter in letters(box)):
        box.write(f"{number:012d}.{STOP if ends_turn else MESSAGE}", text.encode())


def set_pause(box: Folder, why: str | None) -> None:
    """Pause the session, or let it go on.

    Raises:
        OSError: it cannot be written.
    """
    if why is None:
        box.remove(PAUSE)
    else:
        box.write(PAUSE, why.encode())


def delivered_until(box: Folder) -> int | None:
    """The last message up to which all were printed by hooks; None where none was."""
    until = None
    for letter in letters(box):
        if letter.state != _DELIVERED:
            break
        until = letter.number
    return until


def forget(box: Folder, until: int) -> None:
    """Remove the messages up to one, which were delivered."""
    for letter in letters(box):
        if letter.number <= until:
            box.remove(letter.name)


def withdraw(box: Folder, number: int) -> None:
    """Remove a message that waits; one that a hook has claimed is delivered all the same."""
    for letter in letters(box):
        if letter.number == number and not letter.state:
            box.remove(letter.name)


def claim(box: Folder, kinds: tuple[str, ...]) -> list[tuple[Letter, str]]:
    """Take the messages of these kinds that wait, in the order sent, for this process to deliver, with their texts."""
    claimed = []
    for letter in letters(box):
        name = f"{letter.name}.{_CLAIMED}{os.getpid()}"
        if letter.kind in kinds and not letter.state and box.rename(letter.name, name):
            claimed.append((Letter(name), box.read(name).decode(errors="replace")))
    return claimed


def settle(box: Folder, claimed: list[tuple[Letter, str]], *, printed: bool) -> None:
    """Say of claimed messages whether they were printed; those that were not wait again."""
    for letter, _ in claimed:
        waiting = f"{letter.number:012d}.{letter.kind}"
        box.rename(letter.name, f"{waiting}.{_DELIVERED}" if printed else waiting)


def give_back(box: Folder) -> None:
    """Let messages wait again whose hook has died before it could say that it printed them."""
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
