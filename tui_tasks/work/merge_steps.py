"""The steps of a merge that a crash can cut off: each is written down before git runs, and can be called again.

A work that is merged has in `kept` what takes the merge back (`KEPT_MERGE`), and what brings back its worktree
(`clean_up.WORKTREE`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from tui_tasks.core.agent_snapshots import KEPT_MERGE, Process, Work
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, Refusal, StorageFailed
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.work import BeginMerge, DiscardWork, MergeWork, RestoreWork, SetWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.rules import work_refusals
from tui_tasks.core.rules.redo import is_back
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import LIVE_WORK
from tui_tasks.runner import git, git_isolation, git_trees, processes
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.processes import ProcessIdentity
from tui_tasks.work import clean_up
from tui_tasks.work.git import base_branch, merging, removed_worktrees, reviewing, worktrees
from tui_tasks.work.git.merging import Merge
from tui_tasks.work.git.worktrees import REFS

_FILES: Final = "files"
"""The key of `kept` under which is the tree of the files of discarded work."""


_Part = TypeVar("_Part")


class Intent(msgspec.Struct, frozen=True):
    """What a process is about to do to a work.

    Attributes:
        step: `merge` moves the base branch, `undo` moves it back, `clean` removes the worktree.
        merge: the merge.
        process: the process that does it; when it is gone, another one carries on.
        proof: a second worktree in which checks run.
        goes_on: whether the agent goes on in its worktree after the merge.
    """

    step: Literal["merge", "undo", "clean"]
    merge: Merge
    process: Process = Process()
    proof: str | None = None
    goes_on: bool = False


def intent_of(work: Work) -> Intent | None:
    """Return what was begun on a work; None: nothing.

    Raises:
        StorageFailed: the row was changed by other means.
    """
    return _stored(work, "intent", work.intent, Intent) if work.intent else None


def merge_of(work: Work) -> Merge | None:
    """Return the merge of a work that is merged; None if git has moved nothing.

    Raises:
        StorageFailed: the row was changed by other means.
    """
    return _stored_merge(work, work.kept)


def _stored_merge(work: Work, kept: dict[str, Any] | None) -> Merge | None:
    stored = (kept or {}).get(KEPT_MERGE)
    merge = _stored(work, "kept", stored, Merge) if stored else None
    return None if merge is None or merge.is_empty else merge


def _stored(work: Work, field: str, value: Any, kind: type[_Part]) -> _Part:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        what = f"the field {field} of the work of {work.agent} (uid {work.uid}) is not what this program writes"
        raise StorageFailed(f"{what}. Restore a backup", retryable=False) from None


def this_process() -> Process:
    """Return the identity of this process."""
    return Process(*processes.identity())


def is_cut_off(intent: Intent) -> bool:
    """Return whether the process that began is gone."""
    return not intent.process.pid or processes.is_alive(ProcessIdentity.of(intent.process)) is False


def begin(store: Store, work: Work, intent: Intent, *, actor: str, now: int) -> Work:
    """Write down what is about to be done.

    Raises:
        Conflict: something else was begun.
    """
    held = msgspec.to_builtins(intent)
    operation = BeginMerge(work.uid, held) if intent.step == "merge" else SetWork(work.uid, {"intent": held})
    begun: Work = store.commit(operation, actor=actor, now=now)[0]
    return begun


def finish(
    store: Store, work: Work, intent: Intent, *, actor: str, clock: Callable[[], int]
) -> tuple[list[Work], list[str]]:
    """Record that the base branch has moved, discard the other works of the task, and clean up.

    Return the discarded works, and notes about what was left.
    """
    merge = intent.merge
    kept = {KEPT_MERGE: msgspec.to_builtins(merge)}
    if intent.goes_on:
        notes = _go_on(work, merge)
        store.commit(MergeWork(work.uid, merge.head, kept, goes_on=True), actor=actor, now=clock())
        return [], notes
    others = [
        one for one in work_queries.of_task(store.db, work.task_uid) if one.uid != work.uid and one.state in LIVE_WORK
    ]
    elsewhere = [
        f"the work of {one.agent} is on {host}, which ends it when it hears of this"
        for one in others
        if (host := work_queries.host_of_other(store.db, one)) is not None
    ]
    others = [one for one in others if work_queries.is_elsewhere(store.db, one) is None]
    discards: list[Operation] = [discarding(one, work) for one in others if one.state != "merging"]
    cleaning = msgspec.to_builtins(msgspec.structs.replace(intent, step="clean"))
    why = f"nothing new for {merge.base}" if merge.is_empty else None
    # The others first: while one work is live, the task is not given back.
    store.commit(*discards, MergeWork(work.uid, merge.head, kept, cleaning, message=why), actor=actor, now=clock())
    notes = elsewhere
    for one in others:
        clean_up.end_agent(store, one)
    merged = work_queries.find(store.db, work.uid)
    notes += clean_up.clean_up(store, merged, clock=clock)
    return [one for one in others if one.state != "merging"], notes


def ended_after_merge(work: Work) -> Operation:
    """Return what ends a merged work whose agent went on, without another change; `recover` cleans up."""
    merge = merge_of(work)
    cleaning = msgspec.to_builtins(Intent("clean", merge)) if merge is not None else None
    return MergeWork(work.uid, work.head or "", work.kept, cleaning)


def _go_on(work: Work, merge: Merge) -> list[str]:
    """Put the worktree on the merged commit, so that the agent goes on from it; its former commits keep a ref."""
    folder = Path(work.worktree)
    try:
        git.run(folder, "update-ref", "--no-deref", f"{REFS}/merged/{work.uid}/{merge.head[:16]}", merge.head)
        with worktrees.opened(Path(work.repository), folder) as work_tree:
            if work_tree.head == merge.head:
                worktrees.put_on(work_tree, work.branch, merge.new)
        if worktrees.commit_of(folder, "HEAD") == merge.new:
            return []
    except (Conflict, GitFailed) as error:
        return [f"{folder} is not on the merged commit: {error}"]
    return [f"{folder} has moved on since, and stays where it is"]


def take_back(store: Store, work: Work, *, actor: str, clock: Callable[[], int], is_revert: bool = False) -> Work:
    """Take a merge back: the base branch, then the worktree, then the row. The work waits for review again; an agent
    that went on after the merge still goes on.

    `is_revert`: by a commit that reverts it, as somebody has built on it.

    Raises:
        Conflict: somebody has built on the merge, or the base is checked out with changes.
        GitFailed: git failed.
    """
    root, merge = Path(work.repository), merge_of(work)
    goes_on = work.state in LIVE_WORK
    if not goes_on:
        _check_restorable(store, work)
    if merge is not None:
        if not is_revert and base_branch.is_built_upon(root, merge):
            raise Conflict(
                f"{merge.base} has commits since the merge: revert it by a commit (--revert)", base=merge.base
            )
        step = merge
        if is_revert and base_branch.is_built_upon(root, merge):
            title = f"Revert the work of {work.agent}\n\nThis reverts {merge.new}.\n"
            step = merging.prepare_revert(root, merge, title)
        work = begin(store, work, Intent("undo", step, this_process()), actor=actor, now=clock())
        return move_back(store, work, step, actor=actor, clock=clock)
    return restore(store, work, actor=actor, clock=clock)


def move_back(store: Store, work: Work, step: Merge, *, actor: str, clock: Callable[[], int]) -> Work:
    """Move the base branch as `step` says, which takes a merge back, and restore the work."""
    root = Path(work.repository)
    if step.method != "revert":
        base_branch.take_back(root, step)
        return restore(store, work, actor=actor, clock=clock)
    base_branch.carry_out(root, step)
    return restore(store, work, actor=actor, clock=clock, revert=step)


def restore(store: Store, work: Work, *, actor: str, clock: Callable[[], int], revert: Merge | None = None) -> Work:
    """Bring the worktree of a work back, then its row. The work waits for review again, and with a merged one those
    that its merge has discarded; what made nothing before it was discarded has failed.

    `revert`: the commit that took the merge back, if one did.

    Raises:
        Conflict: git cannot make the worktree, or another agent is at work on the task.
        GitFailed: git failed.
    """
    losers: list[Work] = []
    is_race = False
    if work.state not in LIVE_WORK:
        is_race = _check_restorable(store, work)
        losers = discarded_by_merge(store.db, work)
    # The last is the one that a redo ends again, and with it the others.
    for one in losers:
        with contextlib.suppress(GitFailed, OSError, Refusal):  # what cannot be brought back stays discarded
            _bring_back(store, one, actor=actor, clock=clock, is_race=True)
    return _bring_back(store, work, actor=actor, clock=clock, is_race=is_race or bool(losers), revert=revert)


def _bring_back(
    store: Store, work: Work, *, actor: str, clock: Callable[[], int], is_race: bool, revert: Merge | None = None
) -> Work:
    earlier = None
    if work.state not in LIVE_WORK:
        kept = clean_up.kept_worktree(work)
        if kept is not None:
            removed_worktrees.bring_back(Path(work.repository), kept)
        else:
            clean_up.bring_back(work)
        earlier = merge_of(work) if work.state != "merged" else None
    if revert is not None:
        with contextlib.suppress(Conflict, GitFailed):  # the worktree stays where it is
            _go_beyond(work, revert)
    again = {KEPT_MERGE: msgspec.to_builtins(earlier)} if earlier is not None else None
    operation = RestoreWork(work.uid, again, is_race, _failure(store.db, work))
    restored: Work = store.commit(operation, actor=actor, now=clock())[0]
    return restored


def _failure(db: Database, work: Work) -> str | None:
    """Return why a discarded work has failed: as before, or because its agent was ended before it made anything; None:
    there is something to review, or it was ready.
    """
    seq = work_queries.last_entry(db, work, "work.discarded") if work.state == "discarded" else None
    old = (journal.entry(db, seq).old or {}) if seq is not None else {}
    if old.get("state") not in ("starting", "working", "failed") or work.merged_at is not None:
        return None
    head, files = files_of(work)
    if head is None or head != work.base_commit:
        return None
    if work.makes_worktree and files != reviewing.tree_at(Path(work.worktree), head):
        return None
    before: str | None = old.get("message", work.message)
    is_known = old["state"] == "failed" and before is not None
    return before if is_known else f"{work.agent} was ended before it changed anything"


def _go_beyond(work: Work, revert: Merge) -> None:
    """Put a worktree whose commit the base branch still has on a commit that makes its changes anew, after the one
    that reverts them: git merges no commit twice.

    Raises:
        Conflict: the worktree is gone, or git does not know the human.
        GitFailed: git failed, as where a file of the agent's is in the way.
    """
    folder = Path(work.worktree)
    with worktrees.opened(Path(work.repository), folder) as work_tree:
        head = work_tree.head
        if head is None or work.branch == revert.base or not worktrees.is_ancestor(folder, head, revert.new):
            return
        title = f"Bring back the work of {work.agent}\n\nThis reverts {revert.new}.\n"
        tree, who = reviewing.tree_at(folder, revert.old), merging.identity(work_tree.settings)
        again = merging.commit_tree(folder, tree, [revert.new], title, who)
        worktrees.put_on(work_tree, work.branch, again)


def discarded_by_merge(db: Database, work: Work) -> list[Work]:
    """Return the works here that were discarded because this one was merged, and still are."""
    merged = work_queries.last_entry(db, work, "work.merged") if work.state == "merged" else None
    if merged is None:
        return []
    change = journal.entry(db, merged).change
    discarded = [one for one in work_queries.of_task(db, work.task_uid) if one.state == "discarded"]
    ends = ((one, work_queries.last_entry(db, one, "work.discarded")) for one in discarded)
    return [
        one
        for one, end in ends
        if end is not None and journal.entry(db, end).change == change and work_queries.is_elsewhere(db, one) is None
    ]


class TakenBack(NamedTuple):
    """What was taken back of a work last: the end that it had, its merge (None: git has moved nothing), and the tree of
    the files that were discarded, if it is known.
    """

    end: Literal["merged", "discarded"]
    goes_on: bool
    merge: Merge | None
    files: str | None = None


def taken_back(db: Database, work: Work) -> TakenBack | None:
    """Return the merge or the discard that was taken back of a work last; None: neither was, or a later one stands.

    Raises:
        StorageFailed: the entry was changed by other means.
    """
    seq = work_queries.last_entry(db, work, "work.restored")
    if seq is None or not is_back(db, work.uid):
        return None
    old = journal.entry(db, seq).old or {}
    state, kept = old.get("state"), old.get("kept") or {}
    if state == "discarded":
        return TakenBack("discarded", goes_on=False, merge=None, files=kept.get(_FILES))
    return TakenBack("merged", state is None, _stored_merge(work, kept))


def _check_restorable(store: Store, work: Work) -> bool:
    """Refuse before git runs what the state would refuse after it. Return whether others are at work on the task, as
    they were when the work was discarded.
    """
    seq = work_queries.last_entry(store.db, work, "work.discarded") if work.state == "discarded" else None
    ended_at = journal.entry(store.db, seq).at if seq is not None else 0
    others = [one for one in work_queries.of_task(store.db, work.task_uid) if one.uid != work.uid]
    rivals = [one for one in others if one.state in LIVE_WORK]
    for one in rivals:
        if one.started_at >= ended_at:
            raise Conflict(f"{one.agent} is at work on its task now: discard that first", id=work.task_uid)
    if not rivals:
        work_refusals.check_not_taken_over(store.db, work)
    if not os.path.isdir(work.repository):  # noqa: PTH112 - a plain question
        raise Conflict(f"the checkout {work.repository} is gone", path=work.repository)
    return bool(rivals)


def discarding(work: Work, winner: Work | None = None) -> Operation:
    """Return the operation that discards a work as it is now; `winner` is merged instead."""
    head, files = files_of(work)
    message = f"the work of {winner.agent} was merged instead" if winner is not None else None
    return DiscardWork(work.uid, head, {_FILES: files} if files is not None else None, message)


def files_of(work: Work) -> tuple[str | None, str | None]:
    """Return the commit of a worktree and the tree of its files; None: it cannot be read."""
    head = None
    with contextlib.suppress(Conflict, GitFailed, OSError), git_isolation.opened(Path(work.worktree)) as work_tree:
        head = work_tree.head
        with git_trees.indexed(work_tree) as files:
            return head, files.tree
    return head, None
