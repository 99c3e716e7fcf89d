"""A hook that has something for its agent from the human: a message, a pause, an end of its turn."""

import json
import os
import time
from typing import Any

from tui_tasks.hooks import forms, mailbox, presence
from tui_tasks.hooks.folder import Folder

# Seconds between looks at whether a pause is over.
_LOOK = 0.25


def deliver(folder: Folder, program: str, body: bytes) -> None:
    """Print what the human has for the session of this payload, where the payload's event can carry it.

    Raises:
        OSError: it cannot be read or printed; a message waits for the next event then.
    """
    event, session = _whose(program, body)
    if not session:
        return
    box = mailbox.opened(folder, program, session, make=False)
    if box is None:
        return
    with box:
        there = box.names()
        if mailbox.STOP in there and _end_turn(box, program, event):
            return
        if mailbox.PAUSE in there and _hold(folder, box, program, event):
            return
        _give_messages(box, program, event)


def _whose(program: str, body: bytes) -> tuple[str, str]:
    """The event and the session of a payload; both empty where it is a subagent's, or cannot be read."""
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
    why = box.read(mailbox.STOP).decode(errors="replace")
    form = forms.stop(program, event, why)
    # One hook alone ends the turn: several tools may be about to run.
    if form is None or not box.rename(mailbox.STOP, f".stop-{os.getpid()}"):
        return False
    box.remove(f".stop-{os.getpid()}")
    _print(form)
    return True


def _hold(folder: Folder, box: Folder, program: str, event: str) -> bool:
    """Hold a tool as long as the agent is paused and the program may wait; then keep it from running, and say why."""
    why = box.read(mailbox.PAUSE).decode(errors="replace")
    form = forms.refuse_tool(program, event, why)
    if form is None:
        return False
    until = time.monotonic() + (presence.longest_wait(folder, program) or 0)
    started_by = os.getppid()
    while time.monotonic() < until and os.getppid() == started_by:
        time.sleep(_LOOK)
        if mailbox.PAUSE not in box.names():
            return False
    _print(form)
    return True


def _give_messages(box: Folder, program: str, event: str) -> None:
    if forms.context(program, event, "") is None:
        return
    claims = mailbox.claim(box)
    if not claims:
        return
    is_printed = False
    try:
        _print(forms.context(program, event, "\n\n".join(text for _, text in claims)) or {})
        is_printed = True
    finally:
        mailbox.settle(box, claims, printed=is_printed)


def _print(form: forms.Form) -> None:
    output = forms.encoded(form)
    while output:
        output = output[os.write(1, output) :]
