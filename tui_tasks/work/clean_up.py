"""The end of a work: its agent and terminal are ended, its worktree and branch removed, and brought back when asked.
All files of a worktree are kept.

After a crash, interrupted steps are continued or undone, and leftovers listed: a start and a merge write the paths and
refs that they are about to change before git runs. So one whose process is gone is found by its row, and a worktree
without a row by its folder.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, Refusal, StorageFailed
from tui_tasks.core.operations.work import FailWork, SetWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import LIVE_WORK, SYSTEM
from tui_tasks.installation import data_folder
from tui_tasks.runner import git, git_trees, processes
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.processes import ProcessIdentity
from tui_tasks.text.times import SECOND
from tui_tasks.work import agent_worktrees
from tui_tasks.work.agent_terminals import Terminals
from tui_tasks.work.agent_worktrees import Place
from tui_tasks.work.git import removed_worktrees, worktrees
from tui_tasks.work.git.removed_worktrees import Kept

# Of one look at a worktree.
_SECONDS: Final = 30.0
_MAX_BYTES: Final = 1024 * 1024

_SQLITE: Final = b"SQLite format 3\0"
"""Begins a file that is a database."""
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
            agent_worktrees.remove(Path(work.repository), _place(work))


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


START_SECONDS: Final = 900
"""After so many seconds a start that is not over was interrupted; a setup command may take long."""


def recover(store: Store, now: int, *, grace: int = START_SECONDS) -> list[str]:
    """Take back the starts that were interrupted, carry on or take back merges, end what another machine's work has
    beaten; return what was done.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    from tui_tasks.work import merge_steps  # it is built upon this module

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
    from tui_tasks.work import merge_steps  # it is built upon this module

    works = work_queries.of_machine(store.db, store.db.machine)
    known = {os.path.realpath(work.worktree) for work in works}
    newest = _newest(works)
    proofs: set[Path] = set()  # the second worktrees that merges have made or are about to make
    for work in works:
        if work.state in ("starting", "working", "ready", "conflict") and not Path(work.worktree).is_dir():
            yield f"work of {work.agent}: its worktree {work.worktree} is gone; discard it"
        try:
            intent = merge_steps.intent_of(work)
        except StorageFailed as damaged:
            yield str(damaged)
            continue
        if intent is not None and intent.proof is not None:
            proofs.add(Path(intent.proof))
        if intent is not None and merge_steps.is_cut_off(intent):
            what = {"merge": "merge", "undo": "undo", "clean": "clean-up"}[intent.step]
            yield f"work of {work.agent}: its {what} was interrupted; `tui-tasks work ls` continues it"
        elif work.state in ("merged", "failed") and work.uid in newest and Path(work.worktree).is_dir():
            yield f"worktree {work.worktree}: its work is {work.state}; `tui-tasks work clean` removes it"
    data = Path(data_folder(store.path))
    beside = _database_beside(data, os.path.realpath(store.path))
    for folder in sorted((*data.glob("worktrees/*/*"), *data.glob("proofs/*"))):
        if folder.is_dir() and folder not in proofs and os.path.realpath(folder) not in known:
            whose, first = "it belongs to no work", ""
            if beside is not None:
                whose += f" of this database, maybe to one of {beside}"
                first = f"ask `tui-tasks work ls --db {shlex.quote(str(beside))}` before "
            yield f"worktree {folder}: {whose}{': ' if first else '; '}{first}`git worktree remove` removes it"
    terminals = {work.terminal for work in works if work.terminal is not None}
    for name in Terminals(store.path).names():
        if name not in terminals:
            yield f"terminal {name}: it belongs to no work"


def _database_beside(data: Path, own: str) -> Path | None:
    """Return another database that has its worktrees in the same folder; None: there is none."""
    for file in sorted(data.glob("*")):
        with contextlib.suppress(OSError):
            if not file.is_file() or os.path.realpath(file) == own:
                continue
            with file.open("rb") as opened:
                if opened.read(len(_SQLITE)) == _SQLITE:
                    return file
    return None


def clean_ended(store: Store, uids: Collection[str], now: int) -> list[str]:
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
        if is_left and not is_shared(store, work):
            notes = clean_up(store, work, clock=lambda: now)
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
