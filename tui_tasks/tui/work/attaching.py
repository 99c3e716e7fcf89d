"""Going to an agent's terminal: attached in place of the screen, or in the tmux in which the screen stands. The
terminal of an agent that somebody else has started is a pane of tmux, or shown by a command of the settings.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from textual.app import SuspendNotSupported

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.runner import processes
from tui_tasks.runner.processes import ProcessIdentity
from tui_tasks.settings import live_settings
from tui_tasks.settings.work_settings import expand
from tui_tasks.tui.agents import agent_text
from tui_tasks.work.agent_terminals import DETACH_WORDS, Terminals

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


def why_not(context: Context, agent: str) -> str | None:
    """Return why there is no way to an agent's terminal; None if there is one."""
    work = work_queries.of_agent(context.db, agent)
    if work is None:
        terminal = find(context.db, agent)
        return terminal if isinstance(terminal, str) else None
    if (elsewhere := work_queries.is_elsewhere(context.db, work)) is not None:
        return elsewhere
    return "The agent runs without a terminal." if work.terminal is None else None


def attach(context: Context, agent: str) -> None:
    """Show an agent's terminal until the human leaves it by its key."""
    work = work_queries.of_agent(context.db, agent)
    if work is None:
        _go_to_other(context, agent)
        return
    if work.terminal is None or work_queries.host_of_other(context.db, work) is not None:
        return
    terminals = Terminals(context.link.path)
    if not terminals.has(work.terminal):
        context.say("Its terminal is closed.")
        return
    if os.environ.get("TMUX") and _opens_window(terminals, work):
        context.say(f"It is in a window of your tmux; {DETACH_WORDS} closes that.")
        return
    _in_place(context, agent, terminals.attach_argv(work.terminal))


def _in_place(context: Context, agent: str, words: Sequence[str]) -> None:
    """Give the terminal to a command until it ends."""
    try:
        with context.suspend():
            subprocess.run(words, check=False)
    except SuspendNotSupported:
        context.say(f"The screen cannot be suspended here: `tui-tasks work attach` goes to {agent}.")
    except OSError as error:
        context.say(f"{words[0]}: {error.strerror}")


def _opens_window(terminals: Terminals, work: Work) -> bool:
    """Open a window in the human's own tmux that shows the terminal; return whether it did."""
    assert work.terminal is not None
    return _runs(["tmux", "new-window", "-n", work.agent, *terminals.attach_argv(work.terminal)])


def _go_to_other(context: Context, agent: str) -> None:
    """Go to the terminal of an agent that somebody else has started."""
    terminal = find(context.db, agent)
    who = agent_text.who(agent, 30)
    if isinstance(terminal, str):
        context.say(f"{who}: {terminal}")
    elif terminal.pane is None:
        done = _runs(terminal.command)
        context.say(
            f"{who} is shown by {terminal.command[0]}." if done else f"{terminal.command[0]} could not show {who}."
        )
    elif _is_own_server(terminal.pane):
        to = ["tmux", *server(terminal.pane.socket)]
        target = terminal.pane.id
        done = _runs([*to, "switch-client", "-t", target])
        context.say(f"{who} is in {terminal.pane.session} of your tmux." if done else f"tmux could not go to {who}.")
    else:
        words = ["env", "-u", "TMUX", "tmux", *server(terminal.pane.socket), "attach-session", "-t", terminal.pane.id]
        _in_place(context, agent, words)


def _is_own_server(pane: TmuxPane) -> bool:
    """Return whether the screen stands in the same tmux server, so that its client can go to the pane."""
    own = os.environ.get("TMUX", "").partition(",")[0]
    return bool(own) and os.path.realpath(own) == os.path.realpath(pane.socket)


def _runs(words: Sequence[str]) -> bool:
    try:
        return (
            subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


_SECONDS: Final = 2.0
_MAX_ENVIRONMENT: Final = 1024 * 1024


class TmuxPane(NamedTuple):
    """A pane of somebody's own tmux: the socket of its server, its session, and its id."""

    socket: str
    session: str
    id: str


class Place(NamedTuple):
    """Where an agent's terminal is: a pane, or else the command that shows it."""

    pane: TmuxPane | None = None
    command: tuple[str, ...] = ()


def find(db: Database, agent: str) -> Place | str:
    """Return where the terminal of an agent is, or why there is no way to it."""
    session = session_queries.find(db, agent)
    if session is None or not session.pid:
        return "The agent's terminal is not known: its program has named no process."
    is_alive = processes.is_alive(ProcessIdentity.of(session), db.machine)
    if not is_alive:
        runs = "has ended" if is_alive is False else "runs on another machine, or in a container"
        return f"The agent's process {runs}."
    tty = _tty(session.pid)
    if tty is None:
        return "The agent runs without a terminal."
    if (pane := _pane(_socket(session.pid, os.environ), tty)) is not None:
        return Place(pane)
    words = live_settings.work().attach
    if not words:
        return f"The agent is in another terminal ({tty}): a command in `attach` of [work] could show it."
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
    variable = next((one for one in variables if one.startswith(b"TMUX=")), b"TMUX=")
    return os.fsdecode(variable.removeprefix(b"TMUX=").partition(b",")[0])


def _pane(socket: str, tty: str) -> TmuxPane | None:
    """Return the pane of a terminal, if there is one."""
    printed = _output("tmux", *server(socket), "list-panes", "-a", "-F", "#{pane_tty} #{pane_id} #{session_name}")
    for line in printed.splitlines():
        name, _, rest = line.partition(" ")
        if name == tty:
            pane, _, session = rest.partition(" ")
            return TmuxPane(socket, session, pane)
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
