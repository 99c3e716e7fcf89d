"""The status file of a Claude Code process: whether it waits for its person to type.

`claude agents --json` prints the same, but takes 0.4 s of CPU each time; reading the file takes microseconds. No hook
is run when the person ends a turn while the model writes: only this file tells (2.1.330).
"""

from __future__ import annotations

import os
from typing import Any, Final

import msgspec

from tui_tasks.hooks.programs.fields import number, text

_MAX: Final = 65_536
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def idle_since(transcript: str, session: str, pid: int) -> int | None:
    """Return since when a session has waited for its person to type; None if it does not, or that is unknown.

    Args:
        transcript: the path of its record, which is in the same settings folder.
        session: the program's id of the session.
        pid: its process.
    """
    settings = os.path.dirname(os.path.dirname(os.path.dirname(transcript)))
    try:
        handle = os.open(os.path.join(settings, "sessions", f"{pid}.json"), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            entry = _decode(file.read(_MAX))
    except (OSError, msgspec.DecodeError):
        return None
    since = number(entry, "statusUpdatedAt")
    if text(entry, "sessionId") != session or text(entry, "status") != "idle" or since is None:
        return None
    return int(since * 1000)
