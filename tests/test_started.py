"""How tests start processes: they hear signals that the tests ignore, and none is left or waited for for ever."""

import ast
import signal
import subprocess
import sys

import pytest

from tests.contract.client import ROOT
from tests.started import Started, ending_what_is_started

SAYS = "import signal; print(*(signal.getsignal(number) == signal.SIG_DFL for number in (1, 3)), signal.getsignal(2))"
HEARS = f"""
import os, signal, subprocess, sys
from tests.started import hear_signals
hear_signals()
subprocess.run([sys.executable, "-c", {SAYS!r}], check=True)
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    os.kill(os.getpid(), number)
print("goes on")
"""


def test_what_tests_start_hears_the_signals_that_a_script_or_nohup_has_made_them_ignore():
    done = subprocess.run(
        ["sh", "-c", "trap '' INT HUP QUIT; exec \"$@\"", "sh", sys.executable, "-c", HEARS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["True True <built-in function default_int_handler>", "goes on"], done.stderr


def test_a_block_that_fails_ends_the_process_that_it_started():
    with pytest.raises(ZeroDivisionError), Started(["sleep", "600"]) as process:
        raise ZeroDivisionError
    assert process.returncode == -signal.SIGKILL


def test_a_process_that_does_not_end_with_its_block_is_waited_for_no_longer_than_the_deadline(monkeypatch):
    monkeypatch.setattr(Started, "deadline", 0.01)
    with pytest.raises(subprocess.TimeoutExpired), Started(["sleep", "600"]) as process:
        pass
    assert process.returncode == -signal.SIGKILL
    with ending_what_is_started():
        left = Started(["sleep", "600"])
        with pytest.raises(subprocess.TimeoutExpired):
            left.wait()
    assert left.returncode == -signal.SIGKILL


def test_no_test_starts_a_process_that_it_may_leave_or_wait_for_for_ever():
    # Soaks and benchmarks are programs of their own, not tests.
    files = [file for file in (ROOT / "tests").rglob("*.py") if not {"soak", "benchmarks"} & set(file.parts)]
    assert len(files) > 300
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}: call tests.started.Started"
        for file in files
        if "Popen" in (text := file.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("subprocess.Popen", "Popen")
    ]
    # What the suite starts in place of an agent program is such a program, too. The guardian of the private cluster
    # outlives the test that starts it, and ends with its last user (tests/postgres/test_cluster.py), as the fork server
    # does (tests/test_fork_server.py).
    programs = ("tests/agent_runs/stand_in.py", "tests/postgres/cluster.py", "tests/fork_server.py")
    assert [place for place in found if not place.startswith(programs)] == []
