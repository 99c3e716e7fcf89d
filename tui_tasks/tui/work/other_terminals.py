"""The terminals of agents that somebody else has started: a pane of tmux, or shown by a command of the settings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import Final, NamedTuple

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.agents import session_queries
from tui_tasks.runner.process import processes
from tui_tasks.runner.process.processes import ProcessIdentity
from tui_tasks.settings.work_settings import expand
from tui_tasks.work import starting

_SECONDS: Final = 2.0
_MAX_ENVIRONMENT: Final = 1024 * 1024


class Pane(NamedTuple):
    """A pane of somebody's own tmux: the socket of its server, its session, and its id."""

    socket: str
    session: str
    id: str


class Place(NamedTuple):
    """Where an agent's terminal is: a pane, or else the command that shows it."""

    pane: Pane | None = None
    command: tuple[str, ...] = ()


def find(db: Database, agent: str) -> Place | str:
    """Return where the terminal of an agent is, or why there is no way to it."""
    session = session_queries.find(db, agent)
    if session is None or not session.pid:
        return "its program has named no process, so that its terminal is not known"
    is_alive = processes.is_alive(ProcessIdentity(session.boot, session.namespace, session.pid, session.born))
    if not is_alive:
        return "its process has ended" if is_alive is False else "it runs on another machine, or in a container"
    tty = _tty(session.pid)
    if tty is None:
        return "it runs without a terminal"
    if (pane := _pane(_socket(session.pid, os.environ), tty)) is not None:
        return Place(pane)
    words = starting.settings().attach
    if not words:
        return f"it is in another terminal ({tty}): a command in `attach` of [work] could show it"
    return Place(None, tuple(expand(word, tty=tty, pid=session.pid, agent=agent) for word in words))


def _tty(pid: int) -> str | None:
    printed = _output("ps", "-o", "tty=", "-p", str(pid)).strip()
    return f"/dev/{printed.removeprefix('/dev/')}" if printed and printed not in ("?", "??", "-") else None


def _socket(pid: int, environ: Mapping[str, str]) -> str:
    """Return the socket of the tmux server that a process is in, as its environment says; empty: the usual one."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - a file of the kernel
            variables = file.read(_MAX_ENVIRONMENT).split(b"\0")
    except OSError:
        return environ.get("TMUX", "").partition(",")[0]
    found = next((one for one in variables if one.startswith(b"TMUX=")), b"TMUX=")
    return os.fsdecode(found.removeprefix(b"TMUX=").partition(b",")[0])


def _pane(socket: str, tty: str) -> Pane | None:
    """Return the pane of a terminal, if there is one."""
    printed = _output("tmux", *server(socket), "list-panes", "-a", "-F", "#{pane_tty} #{pane_id} #{session_name}")
    for line in printed.splitlines():
        found, _, rest = line.partition(" ")
        if found == tty:
            pane, _, session = rest.partition(" ")
            return Pane(socket, session, pane)
    return None


def server(socket: str) -> tuple[str, ...]:
    """Return the words that name a server to tmux."""
    return ("-S", socket) if socket else ()


def _output(*words: str) -> str:
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            text=True,
            errors="replace",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
