"""Payloads of agent programs: played to a database, and given to a hook as a program starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conftest import Clock
from tests.contract.client import environment
from tests.started import DEADLINE
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.hooks import intake
from tui_tasks.hooks.hook_folder import Payload, Spool, put_payload
from tui_tasks.settings.config import SessionSettings

PAYLOADS = Path(__file__).parent / "payloads"
Done = subprocess.CompletedProcess[bytes]
COMMAND = (sys.executable, "-m", "tui_tasks", "hook")


class Player:
    """Leaves payloads of one program beside a database, and takes them in."""

    def __init__(self, store: Store, clock: Clock, program: str, **head: Any) -> None:
        self.store = store
        self.clock = clock
        self.head = {"program": program, **head}
        self.settings = SessionSettings(tasks=False)

    def leave(self, payload: Any, **head: Any) -> str:
        """Leave a payload in the spool; bytes are left as they are."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        with Spool(self.store.path, make=True) as spool:
            return put_payload(spool.folder, {**self.head, "at": self.clock.now, **head}, body)

    def play(self, payload: Any, **head: Any) -> None:
        """A hook runs, and somebody has the database open."""
        self.clock.forward(1)
        self.leave(payload, **head)
        intake.process_payloads(self.store, self.clock.now, self.settings)

    def seen(self, number: int = 1) -> session_queries.Seen:
        """The session of that number, as it is now."""
        found = session_queries.seen(self.store.db, f"{self.head['program']}-{number}")
        assert found is not None
        return found

    def state(self, number: int = 1) -> tuple[str, str | None, str | None]:
        """Its state, what it waits for, and its tool."""
        seen = self.seen(number)
        return seen.state, seen.waiting_for, seen.activity.tool


def hook(program: str, payload: object, *options: str, home: Path, **environ: str) -> Done:
    """Run a hook for a payload: bytes as they are, else as JSON."""
    given = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return subprocess.run(
        [*COMMAND, program, *options],
        input=given,
        capture_output=True,
        env=environment(home, **environ),
        timeout=DEADLINE,
    )


def is_silent(done: Done) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def spooled(db: Path) -> list[Payload]:
    with Spool(str(db), make=False) as spool:
        return [spool.read(name) for name in spool.pending()]


def claude(event: str, session: str = "s-1", **more: Any) -> dict[str, Any]:
    return {"session_id": session, "cwd": "/somewhere", "hook_event_name": event, **more}
