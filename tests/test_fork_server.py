"""A forked process is told apart from one that Python starts by nothing that a test of the program looks at."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import fork_server
from tests.fork_server import Forked
from tests.started import Started, until

LOOKS = """
import atexit, json, os, signal, sys, threading
atexit.register(lambda: print("at its end", flush=True))
print(json.dumps([sys.argv, os.getcwd(), sorted(os.environ.items()), sys.stdin.read(), os.getpid() == os.getsid(0),
    __name__, sorted(map(str, signal.pthread_sigmask(signal.SIG_BLOCK, []))), str(signal.getsignal(signal.SIGINT)),
    str(signal.getsignal(signal.SIGPIPE)), str(signal.getsignal(signal.SIGCHLD)), threading.active_count(),
    sorted(os.listdir("/dev/fd")), [stream.encoding for stream in (sys.stdin, sys.stdout, sys.stderr)],
    [os.isatty(number) for number in range(3)], sys.stdout.line_buffering, sys.path[1:], os.umask(0)]))
print("to the other", file=sys.stderr)
sys.exit(7)
"""


@pytest.mark.parametrize("is_leader", [False, True])
def test_it_has_the_words_folder_environment_streams_signals_and_end_of_a_started_one(
    tmp_path: Path, is_leader: bool
) -> None:
    said = []
    for start in (Started, Forked):
        command = [sys.executable, "-c", LOOKS, "one", "tw\udcff"]
        how = {"cwd": tmp_path, "env": {"HOME": "/nowhere", "ODD": "\udcfe"}, "start_new_session": is_leader}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with start(command, text=True, **pipes, **how) as process:
            said.append((*process.communicate("given"), process.returncode))
    assert said[1] == said[0]
    assert (said[0][1:], "at its end" in said[0][0]) == (("to the other\n", 7), True)


def test_it_is_killed_by_its_pid_and_heard_of_while_it_runs() -> None:
    code = "import os; print(os.getpid(), flush=True); input()"
    with Forked([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == f"{process.pid}\n".encode()
        assert process.poll() is None
        process.kill()
        assert (process.wait(), process.poll()) == (-signal.SIGKILL, -signal.SIGKILL)


def test_the_program_says_the_same_and_what_is_not_the_same_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tui_tasks", "config", "--db", str(tmp_path / "x.db")]
    started, forked = (run(command, capture_output=True, text=True) for run in (subprocess.run, fork_server.run))
    assert vars(forked) == vars(started)
    assert started.stdout
    with pytest.raises(AssertionError, match="only a real process has that"):
        Forked(command, pass_fds=[0])


ON_TERMINAL = """
import os, sys
streams = (sys.stdin, sys.stdout, sys.stderr)
print([stream.isatty() for stream in streams], [stream.line_buffering for stream in streams[1:]],
    os.getsid(0) == os.getpid() == os.tcgetpgrp(os.open("/dev/tty", os.O_RDWR)), os.ttyname(0))
"""


def test_its_terminal_is_the_controlling_one_and_takes_each_line_at_once() -> None:
    ours, theirs = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    with Forked([sys.executable, "-c", ON_TERMINAL], terminal=theirs, start_new_session=True, **streams) as process:
        assert process.wait() == 0
    said = os.read(ours, 1_000).decode()
    assert said == f"[True, True, True] [True, True] True {os.ttyname(theirs)}\r\n"
    os.close(theirs)
    os.close(ours)


USES = """
import sys
from tests import fork_server
fork_server.run([sys.executable, "-c", "import os; print(os.getsid(0))"])
"""


def test_the_fork_server_ends_with_the_process_that_uses_it() -> None:
    with Started([sys.executable, "-c", USES], cwd=fork_server.ROOT, stdout=subprocess.PIPE) as user:
        leader = int(user.communicate()[0])
    assert leader != os.getsid(0)
    until(lambda: not _is_there(leader), "the end of the fork server")


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_threads_that_start_the_first_processes_at_once_share_a_server() -> None:
    command = [sys.executable, "-c", "import os; print(os.getppid())"]
    environment = {**os.environ, "LC_OF_THIS_TEST": "1"}  # a server of its own, which is not there yet

    def parent(_: int) -> str:
        return fork_server.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(parent, range(4)))) == 1
