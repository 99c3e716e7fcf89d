"""The end of a work: its agent and terminal are ended, its worktree and branch removed, and brought back when asked."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

import msgspec

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, Refusal
from tui_tasks.core.operations.work import SetWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import LIVE_WORK, SYSTEM
from tui_tasks.installation import data_folder
from tui_tasks.runner import git, git_trees, processes
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.processes import ProcessIdentity
from tui_tasks.work import agent_worktrees
from tui_tasks.work.agent_terminals import Terminals
from tui_tasks.work.agent_worktrees import Place
from tui_tasks.work.git import removed_worktrees, worktrees
from tui_tasks.work.git.removed_worktrees import Kept

# Of one look at a worktree.
_SECONDS: Final = 30.0
_MAX_BYTES: Final = 1024 * 1024

WORKTREE: Final = "worktree"
"""The key of `kept` under which is what brings a worktree back."""


def clean_up(store: Store, work: Work, *, clock: Callable[[], int]) -> list[str]:
    """Remove the worktree, the branch and the terminal of a work that is over; return notes about what was left.

    All files of the worktree are kept: in a commit, ignored ones in a folder; `kept` has both.
    """
    end_agent(store, work)
    notes = []
    try:
        if work.makes_worktree and not is_shared(store, work):
            _put_away(store, work, clock)
    except (Refusal, GitFailed, OSError) as error:
        notes.append(f"kept {work.worktree}: {error}")
    if work.intent is not None and not notes:
        store.commit(SetWork(work.uid, {"intent": None}), actor=SYSTEM, now=clock())
    return notes


def is_shared(store: Store, work: Work) -> bool:
    """Return whether another agent is at work in the same worktree."""
    return any(
        one.uid != work.uid and one.worktree == work.worktree and one.state in LIVE_WORK
        for one in work_queries.live_here(store.db)
    )


def _put_away(store: Store, work: Work, clock: Callable[[], int]) -> None:
    root, folder = Path(work.repository), Path(work.worktree)
    if not (folder / ".git").exists():
        if (kept := kept_worktree(work)) is not None:
            removed_worktrees.remove(root, kept)
        return
    with worktrees.opened(root, folder) as work_tree, git_trees.indexed(work_tree) as files:
        trash = Path(data_folder(store.path)) / "trash" / work.uid
        # The branch of work that was not merged stays, unless its agent failed before it committed anything.
        is_empty = work.state == "failed" and work_tree.head == work.base_commit
        gone = work.branch if work.state == "merged" or is_empty else None
        kept = removed_worktrees.put_away(files, work.uid, trash, remove_branch=gone)
        held: dict[str, Any] = {**(work.kept or {}), WORKTREE: msgspec.to_builtins(kept)}
        store.commit(SetWork(work.uid, {"kept": held}), actor=SYSTEM, now=clock())
        removed_worktrees.remove(root, kept, files)


def remove_unchanged(store: Store, task_uid: str, copied: Collection[str]) -> None:
    """Remove the worktree and the branch of each failed agent of a task that has left nothing in them, so that the next
    one takes their names. `copied`: the ignored files that a start copies into a worktree.
    """
    for work in work_queries.of_task(store.db, task_uid):
        is_over = work.state == "failed" and work.makes_worktree and work.machine == store.db.machine
        if is_over and not is_shared(store, work) and _is_unchanged(work, copied):
            agent_worktrees.remove(Path(work.repository), place_of(work))


def _is_unchanged(work: Work, copied: Collection[str]) -> bool:
    words = ("status", "--porcelain", "-z", "--ignored")
    try:
        with worktrees.opened(Path(work.repository), Path(work.worktree)) as work_tree:
            if (work_tree.head, work_tree.branch) != (work.base_commit, work.branch):
                return False
            entries = os.fsdecode(work_tree.read(*words, timeout=_SECONDS, max_bytes=_MAX_BYTES)).split("\0")[:-1]
    except (Conflict, GitFailed, OSError):
        return False
    return all(entry.startswith("!! ") and entry[3:].rstrip("/") in copied for entry in entries)


def kept_worktree(work: Work) -> Kept | None:
    """Return what brings back the worktree of a work; None: it was not removed."""
    stored = (work.kept or {}).get(WORKTREE)
    return msgspec.convert(stored, Kept) if stored else None


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
        worktrees.drop(root, path)  # one that was deleted by hand is still registered
        git.run(root, "worktree", "add", "--quiet", *words)
        worktrees.write_files(root, path)
    except (Conflict, GitFailed, OSError) as error:
        raise Conflict(f"the worktree cannot be made again: {error}", path=str(path)) from error


def end_agent(store: Store, work: Work) -> None:
    """End the agent of a work, and close its terminal."""
    session = session_queries.find(store.db, work.agent)
    if session is not None and session.pid and processes.is_alive(ProcessIdentity.of(session), store.db.machine):
        processes.send_group(session.pid, signal.SIGTERM)
    if work.terminal is not None:
        Terminals(store.path).end(work.terminal)


def is_gone(db: Database, work: Work) -> bool:
    """Return whether the agent of a work has ended, so that nobody reads what is sent to it."""
    session = session_queries.find(db, work.agent)
    if session is None or session.state == session_queries.GONE:
        return True
    return processes.is_alive(ProcessIdentity.of(session), db.machine) is False


def place_of(work: Work) -> Place:
    """Return where the agent of a work has worked."""
    return Place(Path(work.worktree), work.branch, work.base, work.base_commit or "", is_new=work.makes_worktree)
