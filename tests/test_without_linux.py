"""The program as processes, from which what is Linux's own is hidden, one at a time: it works, if less soon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.client import DEADLINE, ROOT, Agent, environment, program

pytestmark = pytest.mark.linux

# Each fails where the thing is there.
ABSENT = {
    "inotify": "import inotify_simple",
    "ofd": "import fcntl; fcntl.F_OFD_SETLK",
    "proc": "import os; os.stat('/proc/self/stat')",
    "prctl": "import ctypes; ctypes.CDLL(None).prctl",
    "psutil": "import psutil",
}
CASES = ("", "inotify", "ofd", "proc", "proc,psutil", "prctl", ",".join(ABSENT))


def hiding(names: str, folder: Path) -> dict[str, str]:
    """The variables of a process from which things are hidden; its children have the path, whatever else they have."""
    (folder / "hiding").mkdir()
    started = folder / "hiding" / "sitecustomize.py"
    started.write_text(f"from tests.hiding import hide\nhide({names.split(',')!r})\n")
    return {"PYTHONPATH": os.pathsep.join((str(started.parent), str(ROOT)))}


@pytest.mark.parametrize("names", CASES)
def test_what_is_hidden_is_hidden_and_nothing_else_is(names: str, tmp_path: Path) -> None:
    script = "".join(
        f"\ntry:\n    {code}\n    print('{name}')\nexcept Exception: pass" for name, code in ABSENT.items()
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(tmp_path, **hiding(names, tmp_path)),
        capture_output=True,
        text=True,
    )
    assert (done.stdout.split(), done.stderr) == ([name for name in ABSENT if name not in names.split(",")], "")


@pytest.mark.parametrize("names", CASES[1:])
def test_agents_hear_of_one_another_jobs_run_and_hooks_are_taken_in(names: str, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text('[runner]\ncommand = ["cat"]\n')
    environ = {**hiding(names, tmp_path), "TUI_TASKS_CONFIG": str(settings)}
    db = tmp_path / "tasks.db"
    with Agent(db, **environ) as one, Agent(db, "--no-scheduler", **environ) as other:
        one.ok("control:subscribe")
        made = other.ok("tasklist:add_task", name="heard")
        assert one.event()["task"]["uid"] == made["uid"]
        for agent in (one, other):
            agent.ok("tasklist:add_task", name="written by both")
        payload = {"session_id": "a", "hook_event_name": "SessionStart", "cwd": str(tmp_path), "source": "startup"}
        hook = program("hook", "claude", "--db", str(db))
        told = environment(tmp_path, **environ)
        subprocess.run(hook, input=json.dumps(payload).encode(), env=told, check=True, capture_output=True)
        job = {"name": "x", "system_prompt": "", "prompt": "hello", "dedicated_context": True}
        uuid = one.ok("scheduler:create_adhoc_task", **job)["uuid"]
        one.ok("scheduler:run_task", uuid=uuid)
        ended = one.ok("scheduler:wait_for_task", uuid=uuid, timeout=DEADLINE)
        assert (ended["outcome"], ended["result"]) == ("success", "hello")
        while one.event()["event"] != "session.started":
            pass
        assert one.errors.read_text() == other.errors.read_text() == ""
