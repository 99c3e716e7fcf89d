"""Redo of merges: how much is read."""

from __future__ import annotations

import inspect
import sys

import pytest

from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Redo
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.operations.work import MergeWork, RestoreWork, StartWork, WorkReady
from tui_tasks.core.rules import redo
from tui_tasks.core.rules.redo import NextRedo, next_redo
from tui_tasks.core.store import Store

WORKS = 30


def test_however_many_merges_were_done_again_each_change_is_looked_at_once(store: Store, clock, monkeypatch):
    def do(operation, actor="human"):
        return store.commit(operation, actor=actor, now=clock.forward(1))[-1]

    home, works = do(EnsureList("tasklist", "task")).uid, []
    for number in range(WORKS):
        task = do(AddTask(f"task {number}", home), actor="agent").uid
        place = {"repository": "/repo", "worktree": f"/trees/{number}", "branch": f"task/{number}", "base": "main"}
        works.append(do(StartWork(task, "claude", base_commit="c0", has_terminal=True, **place)).uid)
        do(WorkReady(works[-1]))
    for uid in works:
        do(MergeWork(uid, "head"))
    for uid in reversed(works):
        do(RestoreWork(uid, None))
    for uid in works[:-1]:
        do(MergeWork(uid, "head"))
    looked_at: list[int] = []
    work_end = redo._work_end
    monkeypatch.setattr(redo, "_work_end", lambda db, change: (looked_at.append(change), work_end(db, change))[1])
    # None is decided within another: with few frames left, many of them would not fit.
    depth = len(inspect.stack(0))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 60)
    try:
        assert next_redo(store.db, "human") == NextRedo(work=works[-1])
    finally:
        sys.setrecursionlimit(limit)
    assert looked_at
    assert len(looked_at) == len(set(looked_at))
    with pytest.raises(Conflict, match="the end of a work"):
        do(Redo())
