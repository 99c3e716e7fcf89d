"""Processes of the program, forked from one that has imported it: a start takes a tenth of the time.

`Forked` takes a command as `Started` does. Its process has pipes, an environment, a folder and a pid of its own, hears
signals, and ends as Python ends. It differs in this: much of the program is imported already, its parent is no test,
and /proc shows the command line and the environment of the fork server. A test of imports, of closed streams or of the
processes above the program starts a real one.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.started import Started

ROOT = Path(__file__).parent.parent
IMPORTED = (
    *("tui_tasks.cli.main", "tui_tasks.channel.loop", "tui_tasks.runner.scheduler_service"),
    *("tui_tasks.runner.run_process", "tui_tasks.state.open_store", "tui_tasks.hooks.follower"),
    *("tui_tasks.cli.server_commands", "tui_tasks.cli.tasks.listing", "tui_tasks.cli.tasks.task_commands"),
    *("tui_tasks.cli.call_and_prime", "tui_tasks.cli.command_parser", "tui_tasks.core.rules.tasks.task_rules"),
    *("tui_tasks.core.operations.work", "tui_tasks.hooks.intake", "tui_tasks.work.work_outcomes"),
)
# They need the extra for servers.
IMPORTED_FOR_SERVERS = ("tui_tasks.postgres.replica_following", "tui_tasks.postgres.team_server")
# They need another extra, and a second: they are imported before the first process that has `mcp` among its words.
IMPORTED_FOR_MCP = ("tui_tasks.mcp_server.stdio", "tui_tasks.mcp_server.http")
# They need half a second: they are imported before the first process on a terminal, and before the first soak.
IMPORTED_FOR_SCREENS = (
    *("tui_tasks.cli.supervise.screen_program", "tui_tasks.tui.app.task_app", "tui_tasks.tui.keys.keyboard"),
    *("tui_tasks.tui.board.board_pane", "tui_tasks.tui.log.log_pane", "tui_tasks.tui.schedule.schedule_pane"),
    *("tui_tasks.tui.inbox.inbox_screen", "tui_tasks.tui.inputs.dialogs"),
)
SOAKS = ["-m", "tests.soak"]
_INT = struct.Struct("i")
_starting = threading.Lock()
# By what a server has read of its environment, and what it runs within.
_servers: dict[tuple[tuple[tuple[str, str], ...], tuple[str, ...]], socket.socket] = {}


class Forked(Started):
    """A process of `python [-P] -m MODULE` or `python [-P] -c CODE`.

    Args:
        within: what a command begins with that is to run within another program, as `ip netns exec NAME`.
        terminal: a terminal for its controlling one, which takes a session of its own.
    """

    def __init__(
        self, *arguments: Any, within: tuple[str, ...] = (), terminal: int | None = None, **named: Any
    ) -> None:
        self._within, self._terminal = within, terminal
        super().__init__(*arguments, **named)

    def _execute_child(self, command: Any, *given: Any) -> None:
        (_, preexec, _, passed, folder, environment, _, _, is_shell) = given[:9]
        ends, (*_, is_leader, group) = given[9:15], given[15:]
        words = [os.fspath(word) for word in command]
        assert words[0] == sys.executable, words[0]
        assert (preexec, tuple(passed), is_shell, group) == (None, (), False, -1), "only a real process has that"
        environment = dict(os.environ if environment is None else environment)
        streams = [end if end >= 0 else own for own, end in enumerate((ends[0], ends[3], ends[5]))]
        self._line, line = socket.socketpair()
        # Of two threads that start one, the cache would drop the first, which ends with its socket.
        with _starting:
            server = _server(_at_start(environment), self._within)
        with line:
            given_on = [] if self._terminal is None else [self._terminal]
            socket.send_fds(server, [_kind(words[1:], given_on)], [line.fileno(), *streams, *given_on])
        told = {"words": words[1:], "environment": environment, "folder": os.fspath(folder or Path.cwd())}
        told |= {"is_leader": bool(is_leader), "umask": _umask()}
        self._line.sendall(json.dumps(told).encode() + b"\n")
        (self.pid,) = _INT.unpack(self._line.recv(_INT.size))
        self._child_created = True
        self._close_pipe_fds(*ends)

    def _try_wait(self, flags: int) -> tuple[int, int]:
        self._line.setblocking(not flags & os.WNOHANG)
        try:
            (status,) = _INT.unpack(self._line.recv(_INT.size))
        except BlockingIOError:
            return 0, 0
        self._line.close()
        return self.pid, status

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._wait(0)
        return self.returncode


def run(command: Any, input: Any = None, timeout: float | None = None, **how: Any) -> subprocess.CompletedProcess[Any]:
    """Do as `subprocess.run`."""
    if how.pop("capture_output", False):
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        how["stdin"] = subprocess.PIPE
    is_checked = how.pop("check", False)
    with Forked(command, **how) as process:
        out, errors = process.communicate(input, timeout)
    done = subprocess.CompletedProcess(command, process.returncode, out, errors)
    if is_checked:
        done.check_returncode()
    return done


def _kind(words: list[str], terminals: list[int]) -> bytes:
    """What a process needs that not all do: MCP, or a screen."""
    if "mcp" in words:
        return b"m"
    return b"s" if terminals or words[:2] == SOAKS else b"."


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _at_start(environment: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """What Python and the program read of an environment as they start and are imported."""
    names = ("PYTHON", "LANG", "LC_", "TEXTUAL", "TUI_TASKS_SQLITE_DRIVER")
    return tuple(sorted((name, value) for name, value in environment.items() if name.startswith(names)))


def _server(at_start: tuple[tuple[str, str], ...], within: tuple[str, ...]) -> socket.socket:
    if (at_start, within) in _servers:
        return _servers[at_start, within]
    ours, theirs = socket.socketpair()
    code = f"from tests.fork_server import serve; serve({theirs.fileno()})"
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with theirs:
        # It ends when this process has ended, and with it the socket.
        subprocess.Popen(
            [*within, sys.executable, "-c", code],
            cwd=ROOT, env=dict(at_start), pass_fds=[theirs.fileno()], start_new_session=True, **pipes,
        )  # fmt: skip
    _servers[at_start, within] = ours
    return ours


def serve(number: int) -> None:
    """Fork a process for each request, and tell its pid and its end, until whoever asks has ended."""
    asked = socket.socket(fileno=number)
    for name in IMPORTED:
        import_module(name)
    _import_if_installed(IMPORTED_FOR_SERVERS)
    lines: dict[int, socket.socket] = {}
    signal.signal(signal.SIGCHLD, lambda *_: _tell_ends(lines))
    while (request := socket.recv_fds(asked, 1, 5))[1]:
        kind, ends = request[:2]
        if kind == b"m":
            _import_if_installed(IMPORTED_FOR_MCP)
        if kind == b"s":
            _import_if_installed(IMPORTED_FOR_SCREENS)
        line = socket.socket(fileno=ends[0])
        # A process that ends at once is told of after its pid.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            for other in (asked, *lines.values()):
                other.close()
            _become(line, ends[1:])
            return
        lines[pid] = line
        for end in ends[1:]:
            os.close(end)
        with contextlib.suppress(BrokenPipeError):
            line.sendall(_INT.pack(pid))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _import_if_installed(names: tuple[str, ...]) -> None:
    """Import modules, and keep what they hold out of the garbage that forked processes look for."""
    with contextlib.suppress(ImportError):
        for name in names:
            import_module(name)
    assert threading.active_count() == 1, "a thread does not outlive a fork"
    gc.freeze()


def _tell_ends(lines: dict[int, socket.socket]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with lines.pop(ended[0]) as line, contextlib.suppress(BrokenPipeError):
                line.sendall(_INT.pack(ended[1]))


def _become(line: socket.socket, streams: list[int]) -> None:
    """Run the program that the other end of the line names."""
    with line, line.makefile("rb") as file:
        told = json.loads(file.readline())
    if told["words"][:2] == SOAKS:
        _servers[_at_start(told["environment"]), ()] = _twin(streams)
    if told["is_leader"]:
        os.setsid()
    for end in streams[3:]:
        fcntl.ioctl(end, termios.TIOCSCTTY, 0)
        os.close(end)
    for own, end in enumerate(streams[:3]):
        os.dup2(end, own)
        os.close(end)
    # Python writes each line at once where it starts on a terminal.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=stream is sys.stderr or stream.isatty())
    os.umask(told["umask"])
    os.chdir(told["folder"])
    # The fork server's own are among them; where the locale is C, Python adds one of its own.
    os.environ.update(told["environment"])
    time.tzset()
    if told["words"][0] == "-P":
        sys.path.remove("")
        del told["words"][0]
    how, code, *words = told["words"]
    sys.argv = [how, *words]
    try:
        if how == "-m":
            sys.modules.pop(code, None)
            runpy.run_module(code, run_name="__main__", alter_sys=True)
        else:
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _end(ended.code or 0)
    _end(0)


def _twin(streams: list[int]) -> socket.socket:
    """Fork a server for the processes of this one, which has imported what they need; it ends with this one."""
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        return ours
    for end in (ours.detach(), *streams):
        os.close(end)
    os.setsid()
    serve(theirs.detach())
    os._exit(0)


def _end(status: int) -> None:
    """End as Python does, but leave the modules as they are: to undo them would copy the memory of the fork server."""
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(status)  # Python says that this failed
    os._exit(status & 0xFF)
