"""After a crash: interrupted steps are continued or undone, leftovers listed, and what ended work has left is removed.

A start and a merge write the paths and refs that they are about to change before git runs. So one whose process is
gone is found by its row, and a worktree without a row by its folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import Refusal, StorageFailed
from tui_tasks.core.operations.work import FailWork, GiveUpMerge, SetWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.rules import work_limit_rules, work_refusals
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN, LIVE_WORK, SYSTEM
from tui_tasks.installation import data_folder
from tui_tasks.runner.git import GitFailed
from tui_tasks.text.times import SECOND
from tui_tasks.work import agent_worktrees, clean_up, merge_steps
from tui_tasks.work.agent_terminals import Terminals
from tui_tasks.work.git import base_branch, worktrees
from tui_tasks.work.git.merging import Moved
from tui_tasks.work.git.removed_worktrees import clear_leftovers
from tui_tasks.work.merge_steps import Intent

_SQLITE: Final = b"SQLite format 3\0"
"""Begins a file that is a database."""
_STEPS: Final = {"merge": "merge", "undo": "undo", "clean": "clean-up"}
"""The words for the steps of an `Intent`."""
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
        if work.state != "starting" or now - work.started_at < grace * SECOND:
            continue
        if work.terminal is not None and Terminals(store.path).runs(work.terminal):
            continue  # its launcher runs
        place = clean_up.place_of(work)
        if place.is_new:
            agent_worktrees.remove(Path(work.repository), place)
        with contextlib.suppress(Refusal):
            store.commit(FailWork(work.uid, "its start was interrupted"), actor=SYSTEM, now=now)
            done.append(f"undid the start of {work.agent}")
    for work in work_queries.begun(store.db):
        try:
            line = recover_merge(store, work, lambda: now)
        except (Refusal, GitFailed, OSError) as error:  # it is tried again at the next look
            step = _STEPS.get(str((work.intent or {}).get("step")), "merge")
            line = f"the {step} of {work.agent} is not ended: {error}"
        done += [line] if line is not None else []
    if store.db.machine:
        done += _end_losers(store, now)
    return done


def recover_merge(store: Store, work: Work, clock: Callable[[], int]) -> str | None:
    """Carry on or take back what a process has begun on a work and not ended; return what was done.

    Raises:
        Conflict: git still works there; it can be tried again.
        GitFailed: git failed.
        OSError: a file cannot be moved.
    """
    work_refusals.check_here(store.db, work)
    with _locked(Path(work.repository)) as is_ours:
        work = work_queries.find(store.db, work.uid)
        intent = merge_steps.intent_of(work)
        if not is_ours or intent is None or not merge_steps.is_cut_off(intent):
            return None
        return _carry_on(store, work, intent, clock)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a checkout against the recovery of other processes; yield whether none of them has it.

    A recovery that fails is tried again at each look, so it leaves no entry in the journal.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        is_ours = False
    else:
        is_ours = True
    try:
        yield is_ours
    finally:
        os.close(handle)


def _carry_on(store: Store, work: Work, intent: Intent, clock: Callable[[], int]) -> str:
    root, merge = Path(work.repository), intent.merge
    if intent.step == "merge":
        if intent.proof is not None:
            worktrees.drop(root, Path(intent.proof))
        clear_leftovers(root, merge)
        if not base_branch.stands(root, merge):
            store.commit(GiveUpMerge(work.uid, "its merge was interrupted"), actor=SYSTEM, now=clock())
            return f"undid the merge of {work.agent}"
        # The human has decided it, and a check that has not passed was looked at then.
        merge_steps.finish(store, work, intent, actor=HUMAN, clock=clock)
        return f"ended the merge of {work.agent}"
    if intent.step == "undo":
        clear_leftovers(root, merge, undo=merge.method != "revert")
        try:
            merge_steps.move_back(store, work, merge, actor=HUMAN, clock=clock)
        except Moved as moved:  # the merge stands, and no other look could do more
            store.commit(SetWork(work.uid, {"intent": None}), actor=SYSTEM, now=clock())
            return f"gave up the undo of {work.agent}: {moved}"
        return f"undid the merge of {work.agent}, as was begun"
    notes = clean_up.clean_up(store, work, clock=clock)
    return notes[0] if notes else f"cleaned up after {work.agent}"


def _end_losers(store: Store, now: int) -> list[str]:
    """Discard works here whose task has been merged on another machine since they began; return what was done.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    done = []
    for work in work_queries.live_here(store.db):
        winner = next((one for one in work_queries.of_task(store.db, work.task_uid) if _has_beaten(one, work)), None)
        if winner is not None and work.state != "merging":
            # The human has decided it by the merge.
            store.commit(merge_steps.discarding(work, winner), actor=HUMAN, now=now)
            clean_up.end_agent(store, work)
            done.append(f"discarded {work.agent}: the work of {winner.agent} was merged")
    return done


def _has_beaten(one: Work, work: Work) -> bool:
    return one.state == "merged" and one.machine != work.machine and (one.merged_at or 0) > work.started_at


def orphans(store: Store) -> Iterator[str]:
    """Yield a line about each thing that has lost its other half: worktrees, work, branches, terminals."""
    works = work_queries.of_machine(store.db, store.db.machine)
    known = {os.path.realpath(work.worktree) for work in works}
    newest = _newest(works)
    proofs: set[Path] = set()  # the second worktrees that merges have made or are about to make
    for work in works:
        if work.state in ("starting", "working", "ready", "conflict") and not Path(work.worktree).is_dir():
            yield f"work of {work.agent}: its worktree {work.worktree} is gone; discard it"
        try:
            wrong = work_limit_rules.wrong_limit(work) if work.state in LIVE_WORK else None
            if wrong is not None:
                yield f"work of {work.agent}: {wrong}; discard it and start it again to set one"
            intent = merge_steps.intent_of(work)
        except StorageFailed as damaged:
            yield str(damaged)
            continue
        if intent is not None and intent.proof is not None:
            proofs.add(Path(intent.proof))
        if intent is not None and merge_steps.is_cut_off(intent):
            yield f"work of {work.agent}: its {_STEPS[intent.step]} was interrupted; `tui-tasks work ls` continues it"
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
