"""A hook that delivers something from the human to its agent: a message, a pause, or the end of its turn."""

import json
import os
import time
from collections.abc import Callable
from typing import Any

from tui_tasks.hooks.folder import Folder
from tui_tasks.hooks.presence import screen_presence
from tui_tasks.hooks.replies import forms, mailbox

# Seconds between checks whether a pause has ended.
_LOOK = 0.25


def deliver(folder: Folder, program: str, body: bytes) -> bool:
    """Print what the human has for the session of this payload, if the payload's event can carry it.

    Return whether that ends the turn, which the program itself does not report.

    Raises:
        OSError: it cannot be read or printed; a message waits for the next event then.
    """
    event, session = _whose(program, body)
    box = mailbox.opened(folder, program, session, make=False) if session else None
    if box is None:
        return False
    with box:
        if mailbox.PAUSE in box.names() and _hold_tool(folder, box, program, event):
            return False
        if _end_turn(box, program, event):
            return program != "codex"  # its turn goes on, without the tool
        _give_messages(box, program, event)
    return False


def _whose(program: str, body: bytes) -> tuple[str, str]:
    """Return the event and session of a payload; both empty for a subagent's, or one that cannot be read."""
    try:
        payload = json.loads(body)
    except ValueError:
        return "", ""
    if not isinstance(payload, dict) or payload.get("agent_id"):
        return "", ""
    if program == "opencode":
        inner = payload.get("properties") if "properties" in payload else payload.get("input")
        session = inner.get("sessionID") if isinstance(inner, dict) else None
        event = payload.get("hook_event_name") or payload.get("type")
    else:
        session, event = payload.get("session_id"), payload.get("hook_event_name")
    return _text(event), _text(session)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _end_turn(box: Folder, program: str, event: str) -> bool:
    """End the turn with a reason if the human wants that; return whether it did. A turn that has ended is left
    alone.
    """
    if all(letter.kind != mailbox.STOP for letter in mailbox.letters(box)):
        return False
    if event in forms.TURN_EDGES[program]:
        mailbox.settle(box, mailbox.claim(box, (mailbox.STOP,)), printed=True)
    elif forms.stop(program, event, "") is not None:
        # Other messages go with it, and the model reads them at its next prompt.
        return _print_claimed(box, (mailbox.STOP, mailbox.MESSAGE), lambda text: forms.stop(program, event, text))
    return False


def _hold_tool(folder: Folder, box: Folder, program: str, event: str) -> bool:
    """Hold a tool while the agent is paused and the program may wait; then refuse it with the reason."""
    why = box.read(mailbox.PAUSE).decode(errors="replace")
    form = forms.refuse_tool(program, event, why)
    if form is None:
        return False
    until = time.monotonic() + (screen_presence.longest_wait(folder, program) or 0)
    started_by = os.getppid()
    while time.monotonic() < until and os.getppid() == started_by:
        time.sleep(_LOOK)
        if mailbox.PAUSE not in box.names():
            return False
    forms.printed(form)
    return True


def _give_messages(box: Folder, program: str, event: str) -> None:
    if forms.context(program, event, "") is not None:
        _print_claimed(box, (mailbox.MESSAGE,), lambda text: forms.context(program, event, text))


def _print_claimed(box: Folder, kinds: tuple[str, ...], formed: Callable[[str], forms.Form | None]) -> bool:
    """Print the waiting messages of these kinds; return whether there were any."""
    claimed = mailbox.claim(box, kinds)
    is_printed = False
    try:
        if claimed:
            forms.printed(formed("\n\n".join(text for _, text in claimed)) or {})
            is_printed = True
    finally:
        mailbox.settle(box, claimed, printed=is_printed)
    return is_printed
