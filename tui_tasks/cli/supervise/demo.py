"""`tui-tasks demo`: a temporary database, and a scripted agent that speaks over the real pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from tui_tasks.cli import streams
from tui_tasks.installation import DEMO_FOLDER

NAME = "demo-agent"
PACE = 1.2  # seconds between two of the agent's steps

_Send = Callable[..., Any]

_TASKS: Final = {
    "Inventory GA usage": "List every site that still loads Google Analytics.",
    "Audit CloudFlare WAF rules": "Which rules have not matched for 90 days?",
    "Pick a JWT library": "jose or pyjwt; the human decides.",
    "Ship auth flow": "JWT middleware, login and refresh endpoints.\n\nTests must pass before merge.",
    "Write integration tests": "Login, refresh, expiry, a revoked token.",
    "Backup restore drill": "Restore last night's backup into a scratch database.",
}


def run(screen: Callable[[str], int]) -> int:
    """Show the screen on a temporary database while the agent works there; return the exit status.

    `screen` is called with the database's path, with the agent's lines on standard input.
    """
    with tempfile.TemporaryDirectory(prefix=DEMO_FOLDER) as folder:
        command = [sys.executable, "-m", "tui_tasks.cli.supervise.demo"]
        agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert agent.stdin is not None
        assert agent.stdout is not None
        try:
            os.dup2(agent.stdout.fileno(), 0)
            os.dup2(agent.stdin.fileno(), 1)
            agent.stdin.close()
            agent.stdout.close()
            status = screen(str(Path(folder) / "demo.db"))
        finally:
            agent.terminate()
            agent.wait()
    print("`tui-tasks` opens your own tasks; `tui-tasks help first-day` is a guide.", file=sys.stderr)
    return status


def _script(send: _Send) -> Iterator[None]:
    """Yield the agent's requests, one step at a time."""
    send("control:subscribe")
    uids = []
    for name, description in _TASKS.items():
        task = send("tasklist:add_task", name=name, description=description, why="the plan for today")
        uids.append(task["uid"])
        yield
    yield from _work_on_task(send, uids[0], ["found 4 sites", "acme.com loads it twice"], "done")
    yield from _work_on_task(send, uids[1], ["12 rules, 3 never matched"], "done")
    send(
        "ask",
        question="jose is maintained but heavier; pyjwt is in the lockfile. Which one?",
        options=["pyjwt", "jose"],
        task=uids[2],
        wait=False,
    )
    yield
    yield from _work_on_task(
        send, uids[3], ["wrote middleware/jwt.py", "running tests 9/22", "running tests 22/22"], "done"
    )
    yield from _work_on_task(send, uids[4], ["expiry test fails: expected 02:30, got 03:30"], "failed")
    send(
        "scheduler:create_scheduled_task",
        name="Nightly audit",
        system_prompt="You audit logs.",
        prompt="Summarise yesterday's failed logins.",
        schedule={"minute": "0", "hour": "9", "day": "*", "month": "*", "weekday": "mon-fri"},
    )
    yield
    send("tasklist:set_task_in_progress", uid=uids[5])
    for minute in range(1, 10_000):
        send("tasklist:log_task_progress", uid=uids[5], message=f"restored {minute} tables")
        yield


def _work_on_task(send: _Send, uid: str, log: list[str], end: str) -> Iterator[None]:
    send("tasklist:set_task_in_progress", uid=uid)
    yield
    for message in log:
        send("tasklist:log_task_progress", uid=uid, message=message)
        yield
    send(f"tasklist:set_task_{end}", uid=uid)
    yield


def _agent() -> None:
    """Play the script to standard output, reading replies from standard input; end when the pipe does."""
    sent: list[str] = []
    held: list[str] = []

    def send(tool: str, *, wait: bool = True, why: str = "", **arguments: Any) -> Any:
        number = len(sent)
        request = {"id": number, "agent": NAME, "tool": tool, "args": arguments}
        if why:
            request["thoughts"] = [why]
        sent.append(json.dumps(request))
        _write_line(sent[number])
        return answer(number) if wait else None

    def answer(number: int) -> Any:
        for line in sys.stdin:
            heard = json.loads(line)
            if heard.get("event") == "agent.resumed":
                while held:
                    _write_line(held.pop(0))
            elif (heard.get("error") or {}).get("code") == "paused":
                # Until the human resumes the agent, refused requests are kept.
                held.append(sent[heard["id"]])
            elif heard.get("id") == number and "ok" in heard:
                # The human may have changed the task meanwhile, so a refusal is fine.
                return heard.get("result")
        raise SystemExit

    try:
        for _ in _script(send):
            time.sleep(PACE)  # for people to follow
    except (BrokenPipeError, KeyboardInterrupt):
        # What is left in the buffer would be written once more at the end of the process.
        streams.discard()


def _write_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _agent()
