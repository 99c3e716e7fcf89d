"""A hook that waits for the human: its payload is a permission or question, and there is a writable screen.

It ends without output, so that the program asks by itself, when its time is over, no such screen is left, the request
has ended otherwise, or the program that started it has ended.
"""

import json
import os
import select
import time
from typing import Any

from tui_tasks.hooks import payload_file
from tui_tasks.hooks.folder import Folder
from tui_tasks.hooks.presence import screen_presence
from tui_tasks.hooks.replies import answer_file, answer_forms, forms

# Seconds between checks that both a screen and the program are still there.
_LOOK = 0.5


def answer(folder: Folder, head: payload_file.Head, body: bytes) -> bool:
    """Wait for the human if that can help, and print the answer; return whether the payload is in the spool now."""
    program = str(head["program"])
    wait = screen_presence.longest_wait(folder, program)
    payload = _request(program, body)
    if not wait or payload is None:
        return False
    with Folder(answer_file.FOLDER, make=True, inside=folder) as answers:
        name = f"{time.time_ns()}-{os.getpid()}"
        os.mkfifo(name, 0o600, dir_fd=answers.fd)
        try:
            # Also for writing: there is no end of file here when others open and close it to check for this hook.
            pipe = answers.open(name, os.O_RDWR | os.O_NONBLOCK)
            payload_file.put(folder, {**head, "answer": name, "wait": wait}, body)
            _wait(folder, program, pipe, wait)
        finally:
            # From here on an answer is too late; one that was in time is there.
            answers.remove(name)
        decision = answer_file.claim(answers, name, body)
    if decision and (form := answer_forms.formed(program, payload, json.loads(decision))) is not None:
        forms.printed(form)
    return True


def _request(program: str, body: bytes) -> dict[str, Any] | None:
    """Return a payload that asks something that a hook of the program can answer; None for any other."""
    try:
        payload = json.loads(body)
    except ValueError:
        return None
    if not isinstance(payload, dict):
        return None
    event = payload.get("hook_event_name")
    if program == "opencode":
        asks = payload.get("type") in ("permission.asked", "question.asked")
    elif program == "gemini":
        asks = event == "BeforeTool" and payload.get("tool_name") == "ask_user"
    else:
        asks = event == "PermissionRequest"
    return payload if asks else None


def _wait(folder: Folder, program: str, pipe: int, wait: float) -> None:
    started_by = os.getppid()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    until = time.monotonic() + wait
    while (left := until - time.monotonic()) > 0 and os.getppid() == started_by:
        if poll.poll(min(left, _LOOK) * 1000) or screen_presence.longest_wait(folder, program) is None:
            return
