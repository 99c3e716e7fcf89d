"""Going to an agent's terminal: attached in place of the screen, or in the tmux in which the screen stands."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from tui_tasks.core.read import work_queries
from tui_tasks.core.snapshots import Work
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.work import other_terminals
from tui_tasks.tui.work.other_terminals import Pane, server
from tui_tasks.work.terminals import DETACH_WORDS, Terminals

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


def why_not(context: Context, agent: str) -> str | None:
    """Return why there is no way to an agent's terminal; None if there is one."""
    work = work_queries.of_agent(context.db, agent)
    if work is None:
        found = other_terminals.find(context.db, agent)
        return found if isinstance(found, str) else None
    return "it runs without a terminal" if work.terminal is None else None


def attach(context: Context, agent: str) -> None:
    """Show an agent's terminal until the human leaves it by its key."""
    work = work_queries.of_agent(context.db, agent)
    if work is None:
        _go_to_other(context, agent)
        return
    if work.terminal is None:
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
        context.say(f"The screen cannot step aside here: `tui-tasks work attach` goes to {agent}.")
    except OSError as error:
        context.say(f"{words[0]}: {error.strerror}")


def _opens_window(terminals: Terminals, work: Work) -> bool:
    """Open a window in the human's own tmux that shows the terminal; return whether it did."""
    assert work.terminal is not None
    return _runs(["tmux", "new-window", "-n", work.agent, *terminals.attach_argv(work.terminal)])


def _go_to_other(context: Context, agent: str) -> None:
    """Go to the terminal of an agent that somebody else has started."""
    found = other_terminals.find(context.db, agent)
    who = agent_text.who(agent, 30)
    if isinstance(found, str):
        context.say(f"{who}: {found}")
    elif found.pane is None:
        done = _runs(found.command)
        context.say(f"{who} is shown by {found.command[0]}." if done else f"{found.command[0]} could not show {who}.")
    elif _is_own_server(found.pane):
        to = ["tmux", *server(found.pane.socket)]
        target = found.pane.id
        done = _runs([*to, "switch-client", "-t", target])
        context.say(f"{who} is in {found.pane.session} of your tmux." if done else f"tmux could not go to {who}.")
    else:
        words = ["env", "-u", "TMUX", "tmux", *server(found.pane.socket), "attach-session", "-t", found.pane.id]
        _in_place(context, agent, words)


def _is_own_server(pane: Pane) -> bool:
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
