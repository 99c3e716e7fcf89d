"""A hook that replies: it delivers what the human sent, or waits for the human's answer.

It ends without output, so that the program asks by itself, when its time is over, no such screen is left, the request
has ended otherwise, or the program that started it has ended.
"""

import json
import os
import select
import time
from collections.abc import Callable
from typing import Any

from tui_tasks.hooks import hook_forms, hook_process, screen_presence
from tui_tasks.hooks.hook_folder import Folder, Head, put_payload
from tui_tasks.hooks.replies import answer_pipes, message_folders

# Seconds between checks whether a pause has ended.
_LOOK = 0.25


def deliver(folder: Folder, head: Head, body: bytes) -> bool:
    """Print what the human has for the session of this payload, if the payload's event can carry it.

    Return whether that ends the turn, which the program itself does not report. A hook that does not run below the
    session's process gets nothing.

    Raises:
        OSError: it cannot be read or printed; a message waits for the next event then.
    """
    program = str(head["program"])
    event, session = _whose(program, body)
    session_folder = message_folders.opened(folder, program, session, make=False) if session else None
    if session_folder is None:
        return False
    with session_folder:
        if not hook_process.is_below(message_folders.process(session_folder), head):
            return False
        if message_folders.PAUSE in session_folder.names() and _hold_tool(folder, session_folder, head, event):
            return False
        if _end_turn(session_folder, program, event):
            return program != "codex"  # its turn goes on, without the tool
        _give_messages(session_folder, program, event)
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


def _end_turn(session_folder: Folder, program: str, event: str) -> bool:
    """End the turn with a reason if the human wants that; return whether it did."""
    if all(file.kind != message_folders.STOP for file in message_folders.files(session_folder)):
        return False
    if event in hook_forms.TURN_EDGES[program]:
        message_folders.settle(
            session_folder, message_folders.claim(session_folder, (message_folders.STOP,)), printed=True
        )
    elif hook_forms.stop(program, event, "") is not None:
        # Other messages go with it, and the model reads them at its next prompt.
        return _print_claimed(
            session_folder,
            (message_folders.STOP, message_folders.MESSAGE),
            lambda text: hook_forms.stop(program, event, text),
        )
    return False


def _hold_tool(folder: Folder, session_folder: Folder, head: Head, event: str) -> bool:
    """Hold a tool while the agent is paused and the program may wait; then refuse it with the reason.

    Return False, with nothing printed, once the agent is resumed or its turn is to end.
    """
    program = str(head["program"])
    why = session_folder.read(message_folders.PAUSE).decode(errors="replace")
    form = hook_forms.refuse_tool(program, event, why)
    if form is None:
        return False
    until = time.monotonic() + (screen_presence.longest_wait(folder, program) or 0)
    started_by = os.getppid()
    while time.monotonic() < until and hook_process.waits_for_hook(head, started_by):
        time.sleep(_LOOK)
        if message_folders.PAUSE not in session_folder.names() or any(
            file.kind == message_folders.STOP for file in message_folders.files(session_folder)
        ):
            return False
    hook_forms.printed(form)
    return True


def _give_messages(session_folder: Folder, program: str, event: str) -> None:
    if hook_forms.context(program, event, "") is not None:
        _print_claimed(
            session_folder, (message_folders.MESSAGE,), lambda text: hook_forms.context(program, event, text)
        )


def _print_claimed(
    session_folder: Folder, kinds: tuple[str, ...], formed: Callable[[str], hook_forms.Form | None]
) -> bool:
    """Print the waiting messages of these kinds; return whether there were any."""
    claimed = message_folders.claim(session_folder, kinds)
    is_printed = False
    try:
        if claimed:
            hook_forms.printed(formed("\n\n".join(text for _, text in claimed)) or {})
            is_printed = True
    finally:
        message_folders.settle(session_folder, claimed, printed=is_printed)
    return is_printed


# Seconds between checks that both a screen and the program are still there.
_LOOK_FOR_ANSWER = 0.5


def answer(folder: Folder, head: Head, body: bytes) -> bool:
    """Wait for the human if that can help, and print the answer; return whether the payload is in the spool now."""
    program = str(head["program"])
    wait = screen_presence.longest_wait(folder, program)
    payload = _request(program, body)
    if not wait or payload is None:
        return False
    with Folder(answer_pipes.FOLDER, make=True, inside=folder) as answers:
        name = f"{time.time_ns()}-{os.getpid()}"
        os.mkfifo(name, 0o600, dir_fd=answers.fd)
        try:
            # Also for writing: there is no end of file here when others open and close it to check for this hook.
            pipe = answers.open(name, os.O_RDWR | os.O_NONBLOCK)
            put_payload(folder, {**head, "answer": name, "wait": wait}, body)
            _wait(folder, head, wait, pipe, lambda: answer_pipes.hear(answers, pipe, body))
        finally:
            # From here on an answer is too late; one that was in time is there.
            answers.remove(name)
        decision = answer_pipes.claim(answers, name, body)
    if decision and (form := hook_forms.formed(program, payload, json.loads(decision))) is not None:
        hook_forms.printed(form)
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


def _wait(folder: Folder, head: Head, wait: float, pipe: int, is_answered: Callable[[], bool]) -> None:
    started_by = os.getppid()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    until = time.monotonic() + wait
    while (left := until - time.monotonic()) > 0 and hook_process.waits_for_hook(head, started_by):
        if poll.poll(min(left, _LOOK_FOR_ANSWER) * 1000) and is_answered():
            return
        if screen_presence.longest_wait(folder, str(head["program"])) is None:
            return
