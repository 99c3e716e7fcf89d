"""What a human has for an agent: messages, a pause, a stop; in a folder for each session, until hooks deliver it.

A message is a file named by its place in the order sent. A hook claims it by renaming it, prints it, and renames it
again, so that each is delivered once; a claim whose hook has died before it printed is given back. `outbox`
keeps these folders as the database says, and takes in what was delivered.
"""

import os

from tui_tasks.hooks.folder import Folder

FOLDER = "outbox"
PAUSE, STOP = "pause", "stop"
_MESSAGE, _CLAIMED, _DELIVERED = "message-", "claimed-", "delivered-"
_MAX_NAME = 200


def name_of(program: str, session: str) -> str:
    """The name of a session's folder: letters, digits, `-` and `_` of the program's own id, others by their code."""
    safe = "".join(
        char if char.isascii() and (char.isalnum() or char in "-_") else f"%{ord(char):x}" for char in session
    )
    return f"{program}-{safe}"[:_MAX_NAME]


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


def put(mailbox: Folder, number: int, text: str) -> None:
    """Leave a message for the session, `number` in the order sent; nothing where it was left before.

    Raises:
        OSError: it cannot be written.
    """
    if number not in numbers(mailbox):
        mailbox.write(f"{_MESSAGE}{number:012d}", text.encode())


def numbers(mailbox: Folder) -> dict[int, str]:
    """The messages that are there, each with the name of its file: waiting, claimed or delivered."""
    found = {}
    for name in mailbox.names():
        number = name.removeprefix(_CLAIMED).removeprefix(_DELIVERED).removeprefix(_MESSAGE).split("-")[0]
        if name.startswith((_MESSAGE, _CLAIMED, _DELIVERED)) and number.isdigit():
            found[int(number)] = name
    return found


def delivered(mailbox: Folder) -> list[int]:
    """The messages that a hook has printed, in order."""
    return sorted(number for number, name in numbers(mailbox).items() if name.startswith(_DELIVERED))


def forget(mailbox: Folder, number: int) -> None:
    """Remove a message, in whatever state it is."""
    if (name := numbers(mailbox).get(number)) is not None:
        mailbox.remove(name)


def claim(mailbox: Folder) -> list[tuple[str, str]]:
    """Take the messages that wait, in the order sent, for this process to deliver: each claim's name and its text."""
    claimed = []
    for name in mailbox.names():
        claim = f"{_CLAIMED}{name.removeprefix(_MESSAGE)}-{os.getpid()}"
        if name.startswith(_MESSAGE) and mailbox.rename(name, claim):
            claimed.append((claim, mailbox.read(claim).decode(errors="replace")))
    return claimed


def settle(mailbox: Folder, claims: list[tuple[str, str]], *, printed: bool) -> None:
    """Say of claimed messages whether they were printed; those that were not wait again."""
    for claim, _ in claims:
        number = claim.removeprefix(_CLAIMED).partition("-")[0]
        mailbox.rename(claim, f"{_DELIVERED if printed else _MESSAGE}{number}")


def give_back(mailbox: Folder) -> None:
    """Let messages wait again whose hook has died before it could say that it printed them."""
    for name in mailbox.names():
        number, _, pid = name.removeprefix(_CLAIMED).partition("-")
        if name.startswith(_CLAIMED) and not os.path.exists(f"/proc/{pid}") and not _is_alive(pid):
            mailbox.rename(name, f"{_MESSAGE}{number}")


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass
    return True
