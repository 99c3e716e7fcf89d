"""Merges of a server's work are killed between their first and their last entry: each is completed or undone.

Afterwards `git fsck` finds nothing, no commit is lost, and another machine has the same tables.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.soak import native
from tests.soak.budget import Budget
from tests.soak.work import Round, _check, _elsewhere, _in_a_process, _opened, _recover, prepared
from tui_tasks import clock
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.operations.work import BeginMerge
from tui_tasks.core.read import work_queries
from tui_tasks.core.store import Store

KILLS: Final = 50
_METHODS: Final = ("squash", "merge", "rebase", "ff")
_TRIES: Final = 12
"""Rounds at most for each wanted kill: a kill may come before the first entry, or after the last."""


def soak(folder: Path, budget: Budget) -> str:
    with native.server() as cluster, cluster.database() as name, prepared(folder / "team", cluster.conninfo(name)):
        return _killed_merges(folder / "team", budget)


def _killed_merges(folder: Path, budget: Budget) -> str:
    dice, wanted = random.Random(1), budget.of(KILLS, least=2)
    ends: Counter[str] = Counter()
    took = _merge(folder, 0, None)
    for seed in range(1, wanted * _TRIES + 1):
        if ends.total() >= wanted or (ends and budget.is_over):
            break
        if (whole := _merge(folder, seed, dice.uniform(0, took))) is not None:
            # As busy as the machine is now.
            took = whole
            continue
        inside = _state(folder) == "merging"
        _recover(folder)
        if inside:
            ends[_state(folder)] += 1
    assert ends.total(), "no kill came inside a merge"
    assert not ends.keys() - {"merged", "ready"}, ends
    return (
        f"{ends.total()} kills inside a merge: {ends['merged']} completed, {ends['ready']} undone: "
        f"{_check(folder)}, {_elsewhere(folder)}"
    )


def _merge(folder: Path, seed: int, seconds: float | None) -> float | None:
    """Let a process start work and merge it, killed so long after the merge began; return how long it took, or None."""
    begun = folder / f"begun-{seed}"
    at = time.monotonic()
    if _in_a_process(partial(_start_and_merge, folder, seed, begun), seconds, since=begun):
        return None
    ended = time.monotonic()
    return ended - at if not begun.exists() else ended - float(begun.read_text())


def _start_and_merge(folder: Path, seed: int, begun: Path) -> None:
    round_ = Round(folder, seed)
    (home,) = round_.store.commit(EnsureList("work", "task"), actor="human", now=clock.now())
    (task,) = round_.store.commit(AddTask(f"Task {seed}", home.uid), actor="human", now=clock.now())
    work = round_.start(task.uid)
    review = round_.acceptance.review(work)
    _note_begin(round_.store, begun)
    method = round_.dice.choice(_METHODS)
    round_.acceptance.accept(work, review, method=method, commit_message="The rest" * review.is_dirty)


def _note_begin(store: Store, begun: Path) -> None:
    """Let the first entry of a merge make a file, in which the time is."""
    commit, part = store.commit, begun.with_suffix(".part")

    def noted(*operations: Operation, **how: Any) -> list[Any]:
        results = commit(*operations, **how)
        if any(isinstance(one, BeginMerge) for one in operations):
            part.write_text(str(time.monotonic()))
            part.rename(begun)
        return results

    store.commit = noted  # type: ignore[method-assign]


def _state(folder: Path) -> str:
    """Return the state of the newest work."""
    with _opened(folder) as store:
        return max(work_queries.everything(store.db), key=lambda work: work.started_at).state
