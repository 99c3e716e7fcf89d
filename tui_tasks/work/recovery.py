"""After a crash: what was begun is taken back, and what nobody knows of is named.

A start writes the paths and refs that it is about to make before git runs. So a start whose process is gone is found by
its row, and a worktree without a row by its folder.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.work import FailWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.snapshots import Work
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner.process import git, git_trees
from tui_tasks.runner.process.git import GitFailed
from tui_tasks.work import worktrees
from tui_tasks.work.terminals import Terminals
from tui_tasks.work.worktrees import Place

START_SECONDS: Final = 900
"""After so many seconds a start that is not over was interrupted; a setup command may take long."""
_MICROSECONDS: Final = 1_000_000


def recover(store: Store, now: int, *, grace: int = START_SECONDS) -> list[str]:
    """Take back the starts that were interrupted; return what was done.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    done = []
    for work in work_queries.live(store.db):
        if work.state != "starting" or now - work.started_at < grace * _MICROSECONDS or _is_launched(store, work):
            continue
        place = _place(work)
        if place.is_new:
            worktrees.remove(Path(work.repository), place)
        with contextlib.suppress(Refusal):
            store.commit(FailWork(work.uid, "its start was interrupted"), actor=SYSTEM, now=now)
            done.append(f"took back the start of {work.agent}")
    return done


def _is_launched(store: Store, work: Work) -> bool:
    return work.terminal is not None and Terminals(store.path).has(work.terminal)


def _place(work: Work) -> Place:
    return Place(Path(work.worktree), work.branch, work.base, work.base_commit or "", is_new=work.makes_worktree)


def orphans(store: Store) -> Iterator[str]:
    """Yield a line about each thing that has lost its other half: worktrees, work, terminals, launch files."""
    works = work_queries.everything(store.db)
    known = {os.path.realpath(work.worktree) for work in works}
    for work in works:
        if work.state in ("starting", "working", "ready", "conflict") and not Path(work.worktree).is_dir():
            yield f"work of {work.agent}: its worktree {work.worktree} is gone; discard it"
        if work.state == "merging":
            yield f"work of {work.agent}: its merge was begun and not ended; `tui-tasks work ls` carries it on"
        if work.state in ("merged", "discarded", "failed") and work.makes_worktree and Path(work.worktree).is_dir():
            yield f"worktree {work.worktree}: its work is {work.state}; `tui-tasks work clean` removes it"
    below = Path(store.path).resolve().parent / "worktrees"
    for folder in sorted(below.glob("*/*")) if below.is_dir() else ():
        if folder.is_dir() and os.path.realpath(folder) not in known:
            yield f"worktree {folder}: no work knows it; `git worktree remove` removes it"
    terminals = {work.terminal for work in works if work.terminal is not None}
    for name in Terminals(store.path).names():
        if name not in terminals:
            yield f"terminal {name}: no work knows it"


def clean(store: Store, uids: Collection[str], now: int) -> list[str]:
    """Remove what ended work has left, of these tasks or of all; return what was done.

    A worktree with changes of its own stays, and so does a branch that is not merged: nothing is lost.
    """
    done = recover(store, now)
    terminals = Terminals(store.path)
    names = set(terminals.names())
    for work in work_queries.everything(store.db):
        if work.state not in ("merged", "discarded", "failed") or (uids and work.task_uid not in uids):
            continue
        if work.terminal in names and work.terminal is not None:
            terminals.end(work.terminal)
            done.append(f"closed the terminal of {work.agent}")
        if work.makes_worktree and Path(work.worktree).is_dir():
            done.append(_remove(work))
        _remove_files(Path(store.path).resolve().parent / "work", work.uid)
    return done


def _remove(work: Work) -> str:
    """Remove a worktree in which nothing would be lost; return what was done."""
    folder = Path(work.worktree)
    try:
        left = git.read_work_tree(folder, "status", "--porcelain", "-z", "--ignored", timeout=30, max_bytes=1024 * 1024)
        if left:
            return f"kept {folder}: it has files that are in no commit"
        if git_trees.links(folder):
            return f"kept {folder}: it has submodules, which may have files that are in no commit"
        git.run(Path(work.repository), "worktree", "remove", "--", str(folder))
    except (GitFailed, OSError) as error:
        return f"kept {folder}: {error}"
    with contextlib.suppress(GitFailed):
        # With the old value: a branch with commits of its own stays.
        words = ("update-ref", "-d", f"refs/heads/{work.branch}", work.head or work.base_commit or "")
        if work.branch is not None and (work.state == "merged" or work.head is None):
            git.run(Path(work.repository), *words)
    return f"removed {folder}"


def _remove_files(folder: Path, uid: str) -> None:
    for path in folder.glob(f"{uid}.*"):
        with contextlib.suppress(OSError):
            path.unlink()
