"""A plan with works in git repositories, to be reviewed on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.tui.plan import NOW, Plan
from tests.work.repositories import Place, commit, git
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.operations.work import RunWork, StartWork, WorkReady
from tui_tasks.core.read import work_queries
from tui_tasks.core.store import Store


def begin(
    plan: Plan,
    number: int,
    place: Place,
    *,
    branch: str = "task/1",
    ready: bool = True,
    program: str = "robot",
    now: int = NOW,
    **more: Any,
) -> Work:
    """Let an agent be at work on a task of the plan, in a worktree that is there; `ready`: it has reported."""
    with Store(plan.path) as store:
        operation = StartWork(
            plan[number],
            program,
            str(place.root),
            str(place.tree),
            branch=branch,
            base="main",
            base_commit=git(place.root, "rev-parse", "main"),
            **more,
        )
        (work,) = store.commit(operation, actor="human", now=now)
        store.commit(RunWork(work.uid, prompt="Rotate the keys"), actor="system", now=now)
        if ready:
            store.commit(WorkReady(work.uid, "Keys are rotated, tests pass."), actor="system", now=NOW)
        return work_queries.find(store.db, work.uid)


def state_of(plan: Plan, work: Work) -> str:
    with Store(plan.path) as store:
        return work_queries.find(store.db, work.uid).state


# All commits are of one time: their ids are always the same.
COMMITTED = "2026-11-21T17:00:00Z"
KEYS = """\
import store


def rotate(key):
    \"\"\"Return the key that takes over.\"\"\"
    return key.new()


def revoke(key):
    store.drop(key)
"""


def make_keys_repository(folder: Path, branch: str) -> Place:
    """Make a repository whose worktree has two commits, and a file that is not committed."""
    root, tree = folder / "api", folder / "tree"
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "tests").mkdir()
    (root / "tests" / "test_keys.py").write_text("from src import keys\n")
    commit(root, "First", COMMITTED, src__keys_py=KEYS)
    git(root, "worktree", "add", "-q", "-b", branch, str(tree))
    fresh = "    fresh = key.new()\n    store.put(fresh)  # before the old one goes\n    return fresh\n"
    commit(tree, "Keep the fresh key", COMMITTED, src__keys_py=KEYS.replace("    return key.new()\n", fresh))
    test = "def test_rotate():\n    assert keys.rotate\n"
    (tree / "tests" / "test_keys.py").write_text(f"from src import keys\n\n\n{test}")
    commit(tree, "Test it", COMMITTED)
    return Place(root, tree)
