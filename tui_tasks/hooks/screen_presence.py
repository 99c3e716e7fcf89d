"""Announces to hooks that a writable screen has the database open, at which somebody could answer.

Each such screen keeps a file in the hooks' folder locked while it runs, however it ends. The file holds how long a hook
of each program may wait for it.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping

from tui_tasks.hooks import SCREENS, hooks_folder
from tui_tasks.hooks.hook_folder import Folder


@contextlib.contextmanager
def announced(database: str, waits: Mapping[str, float]) -> Iterator[None]:
    """Announce a writable screen of this process, and for how many seconds hooks of each program may wait.

    If that fails, hooks do not wait, and each program asks by itself.
    """
    held = None
    with contextlib.suppress(OSError), Folder(hooks_folder(database), make=True) as folder:
        held = _announce(folder, waits)
    try:
        yield
    finally:
        if held is not None:
            handle, name = held
            with (
                contextlib.suppress(OSError),
                Folder(hooks_folder(database), make=False) as folder,
                Folder(SCREENS, make=False, inside=folder) as screens,
            ):
                screens.remove(name)
            os.close(handle)


def _announce(folder: Folder, waits: Mapping[str, float]) -> tuple[int, str]:
    with Folder(SCREENS, make=True, inside=folder) as screens:
        for name in screens.names():
            if _waits_of(screens, name) is None:
                screens.remove(name)  # its screen has ended
        aside = screens.write_aside(json.dumps(dict(waits)).encode())
        handle = screens.open(aside, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
        name = aside.lstrip(".")
        screens.rename(aside, name)
        return handle, name


def is_open(database: str) -> bool:
    """Return whether a writable screen has a database open."""
    try:
        with Folder(hooks_folder(database), make=False) as folder:
            return longest_wait(folder, "") is not None
    except OSError:
        return False


def longest_wait(folder: Folder, program: str) -> float | None:
    """Return for how many seconds a hook of a program may wait; None without a writable screen."""
    try:
        screens = Folder(SCREENS, make=False, inside=folder)
    except FileNotFoundError:
        return None
    with screens:
        each = [waits for name in screens.names() if (waits := _waits_of(screens, name)) is not None]
    return max((float(waits.get(program, 0)) for waits in each), default=None)


def _waits_of(screens: Folder, name: str) -> dict[str, float] | None:
    """Return the content of a screen's file; None when the screen has ended."""
    try:
        handle = screens.open_regular(name)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        try:
            # Shared, so that hooks that check at the same moment do not mistake each other for a screen.
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            held = json.load(file)
            return held if isinstance(held, dict) else {}
    return None
