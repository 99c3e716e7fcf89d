"""After a crash: continues or undoes interrupted steps, and lists leftovers.

A start and a merge write the paths and refs that they are about to change before git runs. So one whose process is gone
is found by its row, and a worktree without a row by its folder.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.work import FailWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.installation import data_folder
from tui_tasks.runner.git import GitFailed
from tui_tasks.text.times import SECOND
from tui_tasks.work import agent_worktrees, clean_up, merge_steps
from tui_tasks.work.agent_terminals import Terminals
from tui_tasks.work.agent_worktrees import Place

START_SECONDS: Final = 900
"""After so many seconds a start that is not over was interrupted; a setup command may take long."""


def recover(store: Store, now: int, *, grace: int = START_SECONDS) -> list[str]:
    """Take back the starts that were interrupted, carry on or take back merges, end what another machine's work has
    beaten; return what was done.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    done = []
    for work in work_queries.live_here(store.db):
        if work.state != "starting" or now - work.started_at < grace * SECOND or _is_launching(store, work):
            continue
        place = _place(work)
        if place.is_new:
            agent_worktrees.remove(Path(work.repository), place)
        with contextlib.suppress(Refusal):
            store.commit(FailWork(work.uid, "its start was interrupted"), actor=SYSTEM, now=now)
            done.append(f"undid the start of {work.agent}")
    for work in work_queries.begun(store.db):
        try:
            line = merge_steps.recover(store, work, lambda: now)
        except (Refusal, GitFailed, OSError) as error:  # it is tried again at the next look
            line = f"the merge of {work.agent} is not ended: {error}"
        done += [line] if line is not None else []
    if store.db.machine:
        done += merge_steps.end_losers(store, now)
    return done


def _is_launching(store: Store, work: Work) -> bool:
    return work.terminal is not None and Terminals(store.path).runs(work.terminal)


def _place(work: Work) -> Place:
    return Place(Path(work.worktree), work.branch, work.base, work.base_commit or "", is_new=work.makes_worktree)


def orphans(store: Store) -> Iterator[str]:
    """Yield a line about each thing that has lost its other half: worktrees, work, branches, terminals."""
    works = work_queries.of_machine(store.db, store.db.machine)
    known = {os.path.realpath(work.worktree) for work in works}
    newest = _newest(works)
    for work in works:
        if work.state in ("starting", "working", "ready", "conflict") and not Path(work.worktree).is_dir():
            yield f"work of {work.agent}: its worktree {work.worktree} is gone; discard it"
        intent = merge_steps.intent_of(work)
        if intent is not None and merge_steps.is_cut_off(intent):
            what = {"merge": "merge", "undo": "undo", "clean": "clean-up"}[intent.step]
            yield f"work of {work.agent}: its {what} was interrupted; `tui-tasks work ls` continues it"
        elif work.state in ("merged", "failed") and work.uid in newest and Path(work.worktree).is_dir():
            yield f"worktree {work.worktree}: its work is {work.state}; `tui-tasks work clean` removes it"
    data = Path(data_folder(store.path))
    for folder in sorted((*data.glob("worktrees/*/*"), *data.glob("proofs/*"))):
        begun = any(_proof(work) == folder for work in works)
        if folder.is_dir() and not begun and os.path.realpath(folder) not in known:
            yield f"worktree {folder}: it belongs to no work; `git worktree remove` removes it"
    terminals = {work.terminal for work in works if work.terminal is not None}
    for name in Terminals(store.path).names():
        if name not in terminals:
            yield f"terminal {name}: it belongs to no work"


def _proof(work: Work) -> Path | None:
    """Return the second worktree that a merge has made or is about to make."""
    intent = merge_steps.intent_of(work)
    return Path(intent.proof) if intent is not None and intent.proof is not None else None


def clean(store: Store, uids: Collection[str], now: int) -> list[str]:
    """Remove what ended work has left, of these tasks or of all; return what was done.

    Nothing is lost: what is in no commit is kept in one, ignored files in a folder, and `restore` brings all back.
    """
    done = recover(store, now)
    terminals = Terminals(store.path)
    names = set(terminals.names())
    works = work_queries.of_machine(store.db, store.db.machine)
    newest = _newest(works)
    for work in works:
        if work.state not in ("merged", "discarded", "failed") or (uids and work.task_uid not in uids):
            continue
        if work.terminal in names and work.terminal is not None:
            terminals.end(work.terminal)
            done.append(f"closed the terminal of {work.agent}")
        is_left = work.uid in newest and Path(work.worktree).is_dir()
        if is_left and not clean_up.is_shared(store, work):
            notes = clean_up.clean_up(store, work, clock=lambda: now)
            done += notes or [f"removed {work.worktree}"]
        _remove_files(Path(data_folder(store.path)) / "work", work.uid)
    return done


def _newest(works: Sequence[Work]) -> set[str]:
    """Return the newest work of each worktree that was made: it has what is there."""
    return set({work.worktree: work.uid for work in works if work.makes_worktree}.values())


def _remove_files(folder: Path, uid: str) -> None:
    for path in folder.glob(f"{uid}.*"):
        with contextlib.suppress(OSError):
            path.unlink()
