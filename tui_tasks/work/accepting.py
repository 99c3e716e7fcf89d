"""Reviewing, accepting and discarding the work of an agent: what the human decides.

Every method may take seconds, as git and checks run: a screen calls them in a thread, with a store of its own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from tui_tasks.core.agent_snapshots import Check, Work
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.work import ConflictWork, DiscardWork, GiveUpMerge, MergeWork, SetWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import work_refusals
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.vocab import HUMAN
from tui_tasks.installation import data_folder
from tui_tasks.runner import git, git_trees
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_isolation import WorkTree
from tui_tasks.settings import live_settings
from tui_tasks.text.safe import path_text, safe_line, safe_text
from tui_tasks.work import clean_up, comments, merge_steps, tree_checks
from tui_tasks.work.comments import SentComments
from tui_tasks.work.git import base_branch, merging, pull_requests, reviewing, worktrees
from tui_tasks.work.git.base_branch import WayBack
from tui_tasks.work.git.merging import Committer, Merge, MergeConflicts, Method
from tui_tasks.work.git.pull_requests import Push
from tui_tasks.work.git.reviewing import Review
from tui_tasks.work.merge_steps import Intent, TakenBack


class Outcome(NamedTuple):
    """The result of accepting a work.

    Attributes:
        state: `merged`; `discarded`; `conflict`: it does not merge cleanly; `unproven`: a gating check has not
            passed. In the last two nothing has moved.
        work: the work as it is now.
        merge: what was merged; None: nothing, as where it has nothing new for its base branch.
        files: the paths in conflict.
        checks: the checks on the merged tree.
        discarded: the other works of the task, which were discarded.
        notes: what else the human must know, a line each.
    """

    state: Literal["merged", "discarded", "conflict", "unproven"]
    work: Work
    merge: Merge | None = None
    files: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    discarded: tuple[Work, ...] = ()
    notes: tuple[str, ...] = ()


class Acceptance:
    """Reviews, accepts and discards works of a database.

    Args:
        store: the database.
        clock: returns the time of day, in microseconds since the epoch.
        show: is given a line about each step that takes long.
        is_stopped: is asked while checks run; once it returns True, they are no longer waited for.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], int],
        show: Callable[[str], None] = lambda _: None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._clock = clock
        self._show = show
        self._settings = live_settings.work()
        self._prover = tree_checks.Prover(store, self._settings, clock, show, is_stopped)
        self._data = Path(data_folder(store.path))

    @property
    def method(self) -> Method:
        """How work is merged unless a method is named."""
        return self._settings.merge

    @property
    def proves_merged(self) -> bool:
        """Whether gating checks run on the merged tree; else on the branch's."""
        return self._settings.prove == "merged"

    def review(self, work: Work, base: str = "") -> Review:
        """Return what a work has against its base branch, or against another one that it is to be merged into.

        Raises:
            Conflict: it cannot be read; the message says what to do.
        """
        work_refusals.check_here(self._store.db, work)
        base = base or work.base or ""
        if not base:
            raise Conflict("the work has no base branch: name the branch to merge into with --base")
        folder = Path(work.worktree)
        if not folder.is_dir():
            if work.state == "merged":
                self.check_can_merge(work)
            how = "discard the work, then restore it: that makes the worktree again"
            raise Conflict(f"the worktree {folder} is gone: {how}", path=str(folder))
        began_at = work.base_commit if work.is_on_base and base == work.base else None
        with _one_line(), self._opened(work) as work_tree:
            return reviewing.review(work_tree, base, work.branch, began_at=began_at)

    def checks(self, work: Work, review: Review) -> tuple[Check, ...]:
        """Return the checks of the task, with the state of each on the tree that was reviewed."""
        return tree_checks.states_here(self._store, work, review.tree)

    def accept(
        self,
        work: Work,
        review: Review,
        *,
        method: Method | None = None,
        message: str = "",
        commit_message: str = "",
        go_on: bool = False,
        unproven: bool = False,
    ) -> Outcome:
        """Merge a work exactly as it was reviewed.

        Args:
            work: the work.
            review: what the human has seen of it.
            method: how it is merged; None: as set.
            message: that of the merged commit; empty: the task's name and the agent's summary.
            commit_message: with it, what is not committed is committed first; without, it is refused.
            go_on: the agent goes on in the same worktree.
            unproven: merge it although checks that gate have not passed.

        Raises:
            Conflict: it cannot be merged, and nothing has moved; the message says what to do.
            Moved: something has changed since the review.
        """
        work_refusals.check_here(self._store.db, work)
        work = work_queries.find(self._store.db, work.uid)
        self.check_can_merge(work, go_on=go_on)
        is_on_base = work.is_on_base and review.base == work.base
        with _one_line():
            # As the checkout has it: the human's settings can name a repository.
            who = merging.identity(git.settings(Path(work.repository)))
            review = self._committed(work, review, commit_message, who, is_on_base=is_on_base)
            if is_on_base:
                return self._accept_on_base(work, review)
            text = message or self._message(work)
            root, how = Path(work.repository), method or self.method
            try:
                merge = (
                    merging.nothing_to_merge(root, review, how)
                    if review.adds_nothing
                    else merging.prepare(root, review, how, text, who)
                )
            except MergeConflicts as conflicts:
                if work.state == "working":
                    raise
                conflicted = self._commit(ConflictWork(work.uid, conflicts.files))
                return Outcome("conflict", conflicted, files=conflicts.files)
            return self._merge(work, review, merge, go_on=go_on, unproven=unproven)

    def check_can_merge(self, work: Work, *, go_on: bool = False) -> None:
        """Refuse to merge work that is not to be reviewed. `go_on`: its agent continues after the merge.

        Raises:
            Conflict: it cannot be merged now; the message says what to do.
        """
        if work.state not in ("ready", "conflict") and not (go_on and work.state == "working"):
            work_refusals.refuse_state(self._store.db, work)

    def comment(self, work: Work, text: str, version: str | None = None) -> SentComments:
        """Send a message to the agent; it goes on. If it has ended, its program is started again. `version`: that of
        the review that the human has seen.

        Raises:
            Conflict: the work is over, or the program cannot be started again.
            InvalidArgument: there is no text.
        """
        sent = comments.send(self._store, work, text, self._clock)
        local_values.put(self._store.db, local_values.key_of_sent_back(work.uid), version)
        return sent

    def discard(self, work: Work) -> Work:
        """Discard a work and end its agent; its branch and files stay, and `take_back` brings it back.

        Raises:
            Conflict: the work is over.
        """
        if work_queries.is_elsewhere(self._store.db, work) is not None:
            # The rules allow it if nothing is to be ended there.
            return self._commit(DiscardWork(work.uid))
        work_refusals.check_not_over(self._store.db, work, "merged", "discarded")
        discarded = self._commit(merge_steps.discarding(work))
        clean_up.end_agent(self._store, discarded)
        return discarded

    def take_back(self, work: Work, *, is_revert: bool = False) -> Work:
        """Take a merge or a discard back; the work waits for review again.

        `is_revert`: by a commit that undoes the merge, where somebody has built on it.

        Raises:
            Conflict: it cannot be; the message says what to do.
        """
        work_refusals.check_here(self._store.db, work)
        work = work_queries.find(self._store.db, work.uid)
        is_merged = work_queries.stands(work, "work.merged")
        if not is_merged and work.state not in ("discarded", "failed"):
            work_refusals.refuse_undo(self._store.db, work)
        with _one_line():
            if is_merged:
                return merge_steps.take_back(self._store, work, actor=HUMAN, clock=self._clock, is_revert=is_revert)
            return merge_steps.restore(self._store, work, actor=HUMAN, clock=self._clock)

    def way_back(self, work: Work) -> WayBack:
        """Return how `take_back` would take a merge back now."""
        return base_branch.way_back(Path(work.repository), merge_steps.merge_of(work))

    def redo(self, work: Work) -> Outcome:
        """Merge or discard a work again, as it was before `take_back`.

        Raises:
            Conflict: as for `to_redo`.
        """
        before = self.to_redo(work)
        if before.end == "discarded":
            return Outcome("discarded", self.discard(work))
        review = self.review(work)
        if before.merge is None:
            return self.accept(work, review, go_on=before.goes_on, unproven=True)
        with _one_line():
            # The human has merged exactly this before.
            return self._merge(work, review, before.merge, go_on=before.goes_on, unproven=True)

    def to_redo(self, work: Work) -> TakenBack:
        """Return what `redo` does again.

        Raises:
            Conflict: nothing was taken back, or its files or its base branch have changed since.
        """
        before = merge_steps.taken_back(self._store.db, work)
        if before is None:
            raise Conflict(f"no merge or discard of the work of {work.agent} was undone")
        if before.end == "discarded":
            if before.files is None or merge_steps.files_of(work) != (work.head, before.files):
                raise Conflict("its files may have changed since: review it, then discard it again")
            return before
        merge, review = before.merge, self.review(work)
        heads = (work.head,) if merge is None else (merge.head, merge.new)
        is_in_base = work.is_on_base or review.adds_nothing
        has_moved = not is_in_base if merge is None else review.base_commit != merge.old
        if review.is_dirty or review.head not in heads or has_moved:
            raise Conflict(f"its files or {review.base} have changed since: review it, then merge it again")
        return before

    def planned_push(self, work: Work, review: Review) -> Push:
        """Return where a pull request would push a work. The human is to be shown it, as agents can change all of it.

        Raises:
            Conflict: it cannot be pushed; the message says what to do.
        """
        work_refusals.check_here(self._store.db, work)
        with _one_line():
            return pull_requests.planned(Path(work.repository), review, work.branch)

    def open_pull_request(self, work: Work, review: Review, push: Push, *, title: str = "", body: str = "") -> Work:
        """Push the reviewed commit and open a pull request by `gh`; the work has its address, and still waits.

        `push`: what the human was shown; nothing is read anew.

        Raises:
            Conflict: it cannot be opened; the message says what to do.
            Moved: something has changed since the review.
        """
        work_refusals.check_here(self._store.db, work)
        work = work_queries.find(self._store.db, work.uid)
        with _one_line():
            with self._opened(work) as work_tree:
                merging.check_reviewed(work_tree, review)
            merging.check_committed(review)
            message = self._message(work)
            address = pull_requests.create(
                Path(work.repository),
                push,
                title or message.partition("\n")[0],
                body or message.partition("\n")[2].strip(),
                show=self._show,
            )
        return self._commit(SetWork(work.uid, {"pull_request": address}))

    def _opened(self, work: Work) -> contextlib.AbstractContextManager[WorkTree]:
        return worktrees.opened(Path(work.repository), Path(work.worktree), self._settings.filters)

    def _commit(self, operation: Operation) -> Work:
        work: Work = self._store.commit(operation, actor=HUMAN, now=self._clock())[0]
        return work

    def _message(self, work: Work) -> str:
        return commit_message(task_queries.task(self._store.db, work.task_uid), work)

    def _committed(self, work: Work, review: Review, message: str, who: Committer, *, is_on_base: bool) -> Review:
        """Return the review of work exactly as it was seen, once all of it is committed: by this message, if any."""
        with self._opened(work) as work_tree:
            # The branch of work on its base is where HEAD is.
            merging.check_reviewed(work_tree, review._replace(base_commit=review.head) if is_on_base else review)
            if review.is_dirty and message:
                review = merging.commit_rest(work_tree, review, work.branch, message, who)
        merging.check_committed(review)
        return review

    def _accept_on_base(self, work: Work, review: Review) -> Outcome:
        """Accept work that was done on the base branch itself: there is nothing to merge."""
        checks = self.checks(work, review)
        merged = self._commit(MergeWork(work.uid, review.head))
        clean_up.end_agent(self._store, merged)
        return Outcome("merged", merged, checks=checks)

    def _merge(self, work: Work, review: Review, merge: Merge, *, go_on: bool, unproven: bool) -> Outcome:
        """Write the merge down, prove it, carry it out, and clean up."""
        root = Path(work.repository)
        # Where the base has not moved, the merged tree is that of the worktree.
        tree = reviewing.tree_at(root, merge.new) if self.proves_merged and review.behind else review.tree
        checks = tree_checks.states(self._store, work, tree)
        is_proven = unproven or tree_checks.are_proven(checks)
        is_here = tree == review.tree and not tree_checks.has_other_inputs(
            self._store, work, checks, review.folder, review.tree
        )
        proof = None if is_proven or is_here else self._data / git_trees.PROOFS / work.uid
        intent = Intent("merge", merge, merge_steps.this_process(), str(proof) if proof else None, goes_on=go_on)
        work = merge_steps.begin(self._store, work, intent, actor=HUMAN, now=self._clock())
        try:
            if not is_proven:
                base_branch.check_movable(root, merge)
            if not unproven:
                checks = self._prove(work, merge, tree, review, proof)
                if not tree_checks.are_proven(checks):
                    given_up = self._commit(GiveUpMerge(work.uid, tree_checks.not_passed_text(checks)))
                    return Outcome("unproven", given_up, checks=checks)
            base_branch.carry_out(root, merge)
        except BaseException as error:
            if not _has_moved(root, merge):
                self._commit(GiveUpMerge(work.uid, _text_of(error)))
            raise
        discarded, notes = merge_steps.finish(self._store, work, intent, actor=HUMAN, clock=self._clock)
        work = work_queries.find(self._store.db, work.uid)
        return Outcome("merged", work, None if merge.is_empty else merge, (), checks, tuple(discarded), tuple(notes))

    def _prove(self, work: Work, merge: Merge, tree: str, review: Review, proof: Path | None) -> tuple[Check, ...]:
        """Run the checks that gate on a tree: in the worktree that has it, or in a second one that is made for it."""
        if proof is None:
            return self._prover.prove(work, review.folder, tree)
        why = f"{merge.base} has moved" if tree != review.tree else "files that are in no commit are among the inputs"
        self._show(f"{why}: checks run on the merged files alone")
        return self._prover.prove_apart(work, merge.new, tree, proof)


def _has_moved(root: Path, merge: Merge) -> bool:
    with contextlib.suppress(GitFailed):
        return base_branch.stands(root, merge)
    return False


def commit_message(task: Task, work: Work) -> str:
    """Return the proposed message of a merge: the task's name, and below it what the agent says of its work."""
    name = safe_line(task.name, 200)
    return f"{name}\n\n{safe_text(work.summary)}\n" if work.summary else f"{name}\n"


def _text_of(error: BaseException) -> str:
    message: str = getattr(error, "message", "") or str(error) or type(error).__name__
    # It may name a file whose name is not UTF-8, and it is stored.
    return message.encode(errors="backslashreplace").decode()


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """Turn what git or the system refuses into a refusal.

    Raises:
        Conflict: git failed, or the disk is full.
    """
    try:
        yield
    except GitFailed as error:
        raise Conflict(str(error)) from error
    except OSError as error:
        where = f"{path_text(os.fsdecode(error.filename))}: " if error.filename else ""
        raise Conflict(f"{where}{error.strerror or error}") from error
