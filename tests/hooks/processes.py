"""A hook as an agent program starts it: a process, a payload on standard input."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.contract.client import environment
from tests.started import DEADLINE
from tui_tasks.hooks.spool import Payload, Spool

Done = subprocess.CompletedProcess[bytes]
COMMAND = (sys.executable, "-m", "tui_tasks", "hook")


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
