"""Discarding the work of an agent, and bringing it back. Neither deletes a file or a commit."""

from __future__ import annotations

import signal
from pathlib import Path

from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.work import DiscardWork
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.snapshots import Work
from tui_tasks.core.store import Store
from tui_tasks.runner.process import git, processes
from tui_tasks.runner.process.git import GitFailed
from tui_tasks.runner.process.processes import ProcessIdentity
from tui_tasks.work.terminals import Terminals


def discarding(work: Work) -> Operation:
    """Return the operation that discards a work, with the last commit of its branch."""
    try:
        head = git.read(Path(work.worktree), "rev-parse", "--verify", "HEAD").strip()
    except (GitFailed, OSError):
        head = None
    return DiscardWork(work.uid, head)


def end_agent(store: Store, work: Work) -> None:
    """End the agent of a work, and close its terminal."""
    session = session_queries.find(store.db, work.agent)
    if session is not None and session.pid:
        process = ProcessIdentity(session.boot, session.namespace, session.pid, session.born)
        if processes.is_alive(process):
            processes.send_group(session.pid, signal.SIGTERM)
    if work.terminal is not None:
        Terminals(store.path).end(work.terminal)


def is_gone(store: Store, work: Work) -> bool:
    """Return whether the agent of a work has ended, so that nobody reads what is sent to it."""
    session = session_queries.find(store.db, work.agent)
    if session is None or session.state == session_queries.GONE:
        return True
    process = ProcessIdentity(session.boot, session.namespace, session.pid, session.born)
    return processes.is_alive(process) is False


def bring_back(work: Work) -> None:
    """Make the worktree of a work again if it was removed.

    Raises:
        Conflict: git cannot make it.
    """
    path, root = Path(work.worktree), Path(work.repository)
    if path.is_dir() or not work.makes_worktree or work.branch is None:
        return
    try:
        git.read(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{work.branch}")
        words: tuple[str, ...] = ("--", str(path), work.branch)
    except (GitFailed, OSError):
        words = ("-b", work.branch, "--", str(path), work.head or work.base_commit or "HEAD")
    try:
        git.run(root, "worktree", "add", "--quiet", *words)
        git.run(path, "reset", "--quiet", "--hard")
    except (GitFailed, OSError) as error:
        raise Conflict(f"the worktree cannot be made again: {error}", path=str(path)) from error
