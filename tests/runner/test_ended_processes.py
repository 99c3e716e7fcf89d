"""Which recorded processes are known to have ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.started import Started
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.runner import processes
from tui_tasks.runner.processes import EndedProcesses

pytestmark = pytest.mark.linux
MINE = processes.identity()


def test_a_process_that_ends_is_found_at_the_next_look_and_once():
    ended = EndedProcesses("")
    with Started(["cat"], stdin=subprocess.PIPE) as child:
        known = Process(*processes.identity(child.pid))
        assert not ended(known)
        assert not ended.look()
    assert not ended(known)
    assert ended.look()
    assert ended(known)
    assert not ended.look()


_LEAVES_ONE_UNREAPED = """
import os, sys
child = os.posix_spawn("/bin/true", ["true"], {})
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(child, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("parent", "has_ended"), [(processes.LAUNCHER, False), ("another", True)])
def test_a_program_has_ended_once_our_launcher_has_recorded_that(parent, has_ended):
    argv = [sys.executable, "-c", _LEAVES_ONE_UNREAPED, parent]
    with Started(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as launcher:
        child = Process(*processes.identity(int(launcher.stdout.readline())))
        assert processes.has_departed(child, "") is has_ended
        os.kill(launcher.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, launcher.pid, os.WSTOPPED | os.WNOWAIT)
        assert processes.has_departed(child, "")  # a stopped launcher records nothing
        os.kill(launcher.pid, signal.SIGCONT)
    assert processes.has_departed(child, "")


@pytest.mark.parametrize(
    ("changed", "has_ended"),
    [
        ({}, False),
        ({"born": "1"}, True),
        ({"born": ""}, False),
        ({"pid": 0}, False),
        ({"boot": "", "namespace": ""}, False),
        ({"boot": "another"}, True),
        ({"boot": "another", "namespace": "pid:[1]"}, False),
        ({"namespace": "pid:[1]", "born": "1"}, False),
        ({"namespace": f"{MINE.namespace}@another", "born": "1"}, False),
    ],
    ids=[
        "this one",
        "its pid is another's now",
        "start unknown",
        "pid unknown",
        "nothing known",
        "before the restart of this machine",
        "another machine",
        "another container",
        "another machine of a server",
    ],
)
def test_only_what_is_known_to_have_ended_has(changed, has_ended):
    machine = "here" if "@" in changed.get("namespace", "") else ""
    mine = {**MINE._asdict(), "namespace": f"{MINE.namespace}@here" if machine else MINE.namespace}
    assert EndedProcesses(machine)(Process(**{**mine, **changed})) is has_ended
