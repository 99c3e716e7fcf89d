"""Lets agents at rest read what the human has written to them: by a prompt, or by a new start of their program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tui_tasks.core.agent_snapshots import HumanMessage, Work
from tui_tasks.core.engine.file_writes import make_folder
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.default_paths import data_folder
from tui_tasks.work import merge_steps
from tui_tasks.work.starting import Starter
from tui_tasks.work.terminals import Terminals

PROMPT: Final = "Go on: the human has written to you."
_AT_REST: Final = ("idle", "interrupted", "failed")


def wake(store: Store, work: Work, now: int) -> bool:
    """Wake an agent at rest for whom messages wait, once for each; return whether it was done.

    Raises:
        Conflict: its process has ended, and cannot be started again.
    """
    waiting = [message for message in ask_queries.waiting(store.db, work.agent) if not message.ends_turn]
    seen = session_queries.seen(store.db, work.agent)
    is_gone = merge_steps.is_gone(store, work)
    is_at_rest = work.terminal is not None and seen is not None and seen.state in _AT_REST
    if not waiting or not (is_gone or is_at_rest) or not _is_first(store, work, waiting[-1]):
        return False
    if is_gone:
        Starter(store, Path(work.repository), lambda: now).go_on(work)
    elif work.terminal is not None:
        # It gets its messages with a prompt.
        Terminals(store.path).type_line(work.terminal, PROMPT)
    return True


def _is_first(store: Store, work: Work, message: HumanMessage) -> bool:
    """Return whether no process has woken the agent for a message yet."""
    path = Path(data_folder(store.path)) / "work" / f"{work.uid}.woken-{message.id}"
    make_folder(str(path.parent))
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True
