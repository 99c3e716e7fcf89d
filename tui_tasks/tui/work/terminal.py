"""Going to an agent's terminal: attached in place of the screen, or in the tmux in which the screen stands."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from tui_tasks.core.read import work_queries
from tui_tasks.core.snapshots import Work
from tui_tasks.work.terminals import DETACH_WORDS, Terminals

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


def why_not(context: Context, agent: str) -> str | None:
    """Return why there is no way to an agent's terminal; None if there is one."""
    work = work_queries.of_agent(context.db, agent)
    if work is None:
        return "it was started in another terminal"
    if work.terminal is None:
        return "it runs without a terminal"
    return None


def attach(context: Context, agent: str) -> None:
    """Show an agent's terminal until the human leaves it by its key."""
    work = work_queries.of_agent(context.db, agent)
    if work is None or work.terminal is None:
        return
    terminals = Terminals(context.link.path)
    if not terminals.has(work.terminal):
        context.say("Its terminal is closed.")
        return
    if os.environ.get("TMUX") and _opens_window(terminals, work):
        context.say(f"It is in a window of your tmux; {DETACH_WORDS} closes that.")
        return
    try:
        with context.suspend():
            subprocess.run(terminals.attach_argv(work.terminal), check=False)
    except SuspendNotSupported:
        context.say(f"The screen cannot step aside here: `tui-tasks work attach` goes to {agent}.")
    except OSError as error:
        context.say(f"tmux: {error.strerror}")


def _opens_window(terminals: Terminals, work: Work) -> bool:
    """Open a window in the human's own tmux that shows the terminal; return whether it did."""
    assert work.terminal is not None
    words = ["tmux", "new-window", "-n", work.agent, *terminals.attach_argv(work.terminal)]
    try:
        return subprocess.run(words, capture_output=True, timeout=5, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
