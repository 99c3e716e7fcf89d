"""The checks of a task on exactly one tree: what is proven of it, in whichever folder, what is run to prove it, and the
second worktree in which they run on a merge.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tui_tasks.core.agent_snapshots import Check, Work
from tui_tasks.core.engine.commit_watch import Watch
from tui_tasks.core.engine.file_writes import make_folder
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.jobs import ProveTree
from tui_tasks.core.read import check_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.check_gate import CheckPlace
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.core.vocab import HUMAN
from tui_tasks.runner import git_trees
from tui_tasks.runner.checks.check_keeper import Authority, CheckKeeper, CheckStarter
from tui_tasks.runner.supervisor_launch import Launcher
from tui_tasks.settings import live_settings
from tui_tasks.settings.live_settings import check_profiles
from tui_tasks.settings.work_settings import WorkSettings
from tui_tasks.work import agent_worktrees
from tui_tasks.work.git import worktrees

LEASE_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.5
# The state of a check by that of a run in the worktree that is about no tree yet, or about an earlier one.
_HERE: Final = {"waiting": "running", "running": "running", "failed": "stale", "stale": "stale"}


def states(store: Store, work: Work, tree: str) -> tuple[Check, ...]:
    """Return the checks of the task of a work, with the state of each on a tree.

    A check whose folder is not in the checkout is about no tree of it, and has the state that it has of the task.
    """
    db = store.db
    task = task_queries.task(db, work.task_uid)
    home = task_queries.list_by_id(db, task.list_id)
    known = check_queries.definitions(db)
    by_uid = {definition.uid: definition for definition in known}
    place = CheckPlace(work.repository, work.worktree, tree, db.machine)
    checks = []
    for check in check_queries.of_task(db, task, home, known):
        definition = by_uid.get(check.uid)
        if definition is not None and place.folder_of(definition) is not None:
            run = check_queries.on_tree(db, check.uid, tree)
            state, host = (
                check_queries.state_of(definition, run),
                heartbeats.machine_name(db, run.machine if run else ""),
            )
            check = Check(check.name, state, run, check.gate, check.uid, host=host)
        checks.append(check)
    return tuple(checks)


def states_here(store: Store, work: Work, tree: str) -> tuple[Check, ...]:
    """Return `states` for a tree of the worktree, also by runs there that are about no tree yet, or about an earlier
    one: a check is `running` or, after a run that failed or changed files, `stale`.
    """
    checks = []
    for check in states(store, work, tree):
        run = check_queries.in_worktree(store.db, check.uid, work.worktree)
        state = _HERE.get(run.state) if run is not None and run.machine in ("", store.db.machine) else None
        if run is not None and state is not None and (check.run is None or (state == "running" and run.tree is None)):
            check = msgspec.structs.replace(check, state=state, run=run)
        checks.append(check)
    return tuple(checks)


def are_proven(checks: tuple[Check, ...]) -> bool:
    """Return whether every check that gates has passed."""
    return all(check.state == "passed" for check in checks if check.gate)


class Prover:
    """Runs the checks that gate on exactly one tree, and waits for their ends.

    Args:
        store: the database.
        settings: the human's settings.
        clock: returns the time of day, in microseconds since the epoch.
        show: is given a line about each step that takes long.
        is_stopped: is asked while checks run; once it returns True, they are no longer waited for.
    """

    def __init__(
        self,
        store: Store,
        settings: WorkSettings,
        clock: Callable[[], int],
        show: Callable[[str], None],
        is_stopped: Callable[[], bool],
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._show = show
        self._is_stopped = is_stopped

    def prove(self, work: Work, folder: Path, tree: str) -> tuple[Check, ...]:
        """Run the checks that gate in a worktree that has a tree; return all checks on that tree.

        Another process that runs checks may run them; those that only such a process knows are waited for.

        Raises:
            Conflict: the human has stopped it.
        """
        operation = ProveTree(work.task_uid, work.repository, str(folder), tree)
        wanted: list[Check] = self._store.commit(operation, actor=HUMAN, now=self._clock())[0]
        waits = [check for check in wanted if check.run is not None and check.run.state in ("waiting", "running")]
        if waits:
            self._show(f"runs {', '.join(check.name for check in waits)} in {folder}")
            self._run(waits)
        return states(self._store, work, tree)

    def _run(self, waits: list[Check]) -> None:
        keeper = CheckKeeper(check_profiles(), authority=Authority.LOOKS)
        self._show_foreign(keeper, waits)
        host = CheckStarter(keeper, self._clock, LEASE_SECONDS, Launcher(live_settings.runners, self._clock).check)
        watch = Watch(self._store.db)
        children: dict[str, subprocess.Popen[bytes]] = {}
        uids = [check.run.uid for check in waits if check.run is not None]
        try:
            while any(_is_open(self._store, uid) for uid in uids):
                if self._is_stopped():
                    raise Conflict("stopped while checks ran; nothing was merged")
                children = {uid: child for uid, child in children.items() if child.poll() is None}
                children |= host.turn(self._store, live_settings.runners().max_parallel, children)
                end = time.monotonic() + _LOOK_SECONDS
                while not watch.changed(time.monotonic()) and time.monotonic() < end:
                    watch.sleep(end - time.monotonic())
        finally:
            watch.close()
            keeper.close()
            for child in children.values():
                child.poll()

    def _show_foreign(self, keeper: CheckKeeper, waits: list[Check]) -> None:
        """Say which checks the settings of this process do not define."""
        db = self._store.db
        known = {each.uid: each for each in check_queries.definitions(db)}
        for check in waits:
            if check.uid not in known or keeper.profiles.find(known[check.uid], db.machine) is None:
                self._show(f"{check.name} waits for a process that runs checks with the settings that define it")

    def prove_apart(self, work: Work, commit: str, tree: str, folder: Path) -> tuple[Check, ...]:
        """Do as `prove` does for a merged commit, in a second worktree that is made for it.

        Raises:
            Conflict: the worktree cannot be made, or the human has stopped it.
            GitFailed: git failed.
        """
        root, filters = Path(work.repository), self._settings.filters
        try:
            make_folder(str(folder.parent))
            worktrees.materialise(root, commit, folder, filters=filters)
            agent_worktrees.furnish(root, folder, self._settings, self._show)
            if git_trees.tree_of(folder, filters=filters) != tree:
                made = "what `copy` and `setup` in [work] make"
                raise Conflict(f"{made} must be in .gitignore: they change what is checked")
            return self.prove(work, folder, tree)
        finally:
            worktrees.drop(root, folder)


def has_other_inputs(store: Store, work: Work, checks: Sequence[Check], folder: Path, tree: str) -> bool:
    """Return whether a gating check has inputs in a worktree that are not files of its tree."""
    gating = {check.uid for check in checks if check.gate}
    place = CheckPlace(work.repository, str(folder), tree)
    for definition in check_queries.definitions(store.db):
        inside = place.folder_of(definition) if definition.uid in gating else None
        if inside is not None and git_trees.other_file(folder, inside, definition.inputs, tree):
            return True
    return False


def not_passed_text(checks: Sequence[Check]) -> str:
    """Return which gating checks have not passed, as a line."""
    names = [f"{one.name} {one.state}" for one in checks if one.gate and one.state != "passed"]
    return f"not merged: {', '.join(names)}"


def _is_open(store: Store, uid: str) -> bool:
    run = check_queries.run(store.db, uid)
    return run is not None and run.state in ("waiting", "running")
