"""Undo and redo of what the human did, with merges, discards, races, batches and reverts in between: one key takes back
the newest thing that stands, the other does again what was undone last, as far as there is something.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.conftest import Clock
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Operation, Redo, Revert, Undo
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList
from tui_tasks.core.operations.work import DiscardWork, MergeWork, RestoreWork, StartWork, WorkReady
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import undo
from tui_tasks.core.rules.redo import next_redo
from tui_tasks.core.store import Store
from tui_tasks.tui.work import work_actions
from tui_tasks.work import merge_steps


class Human:
    """What the human does in a list of tasks, two of which have work: the second one a race."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.home = self.do(EnsureList("tasklist", "task")).uid
        self.tasks = [self.do(AddTask(f"task {number}", self.home), actor="agent").uid for number in range(4)]
        self.works = [self.started(self.tasks[at], str(number)) for number, at in enumerate((0, 1, 1))]
        self.counted = 0

    def do(self, *operations: Operation, actor: str = "human") -> Any:
        return self.store.commit(*operations, actor=actor, now=self.clock.forward(1))[-1]

    def started(self, task: str, name: str) -> str:
        where = {"repository": "/repo", "worktree": f"/trees/{name}", "branch": f"task/{name}", "base": "main"}
        work = self.do(StartWork(task, "claude", base_commit="c0", has_terminal=True, is_race=name == "2", **where))
        self.do(WorkReady(work.uid))
        return work.uid

    def state(self) -> object:
        tasks = [task_queries.any_task(self.store.db, uid) for uid in self.tasks]
        works = [work_queries.find(self.store.db, uid).state for uid in self.works]
        return [(one.name, one.status, one.agent, one.deleted) for one in tasks], works

    # What it does; each returns whether there was something to do

    def edit(self) -> bool:
        self.counted += 1
        self.do(EditTask(self.tasks[2], {"name": f"name {self.counted}"}))
        return True

    def edit_several(self) -> bool:
        if task_queries.any_task(self.store.db, self.tasks[3]).deleted:
            return False
        self.counted += 1
        self.do(*(EditTask(uid, {"name": f"batch {self.counted}"}) for uid in self.tasks[2:]))
        return True

    def delete(self) -> bool:
        if task_queries.any_task(self.store.db, self.tasks[3]).deleted:
            return False
        self.do(DeleteTask(self.tasks[3]))
        return True

    def agent_adds(self) -> None:
        self.do(AddTask("Not wanted", self.home), actor="agent")

    def revert(self) -> bool:
        """Take back the newest change, an agent's."""
        self.do(Revert((journal.entry(self.store.db, journal.newest(self.store.db)).change,)))
        return True

    def end(self, at: int, how: str) -> bool:
        work = work_queries.find(self.store.db, self.works[at])
        if work.state != "ready":
            return False
        self._end(work.uid, how)
        return True

    def _end(self, uid: str, how: str) -> None:
        if how == "discarded":
            self.do(DiscardWork(uid))
            return
        work = work_queries.find(self.store.db, uid)
        rivals = [one for one in work_queries.of_task(self.store.db, work.task_uid) if one.uid != uid]
        self.do(*(DiscardWork(one.uid) for one in rivals if one.state == "ready"), MergeWork(uid, "c1"))

    # The keys

    def undo(self) -> None:
        if (ended := work_actions.newest_ended(self.store.db)) is None:
            self.do(Undo())
            return
        losers = merge_steps.discarded_by_merge(self.store.db, ended[0])
        for one in (*losers, ended[0]):
            self.do(RestoreWork(one.uid, is_race=True))

    def redo(self) -> None:
        found = next_redo(self.store.db, "human")
        if found is None or found.work is None:
            self.do(Redo())
            return
        before = merge_steps.taken_back(self.store.db, work_queries.find(self.store.db, found.work))
        assert before is not None
        self._end(found.work, before.end)


ACTS = ("edit", "edit_several", "delete", "revert", "merge", "discard", "merge in a race")


def act(human: Human, name: str) -> bool:
    ways = {"merge": (0, "merged"), "discard": (0, "discarded"), "merge in a race": (2, "merged")}
    return human.end(*ways[name]) if name in ways else getattr(human, name)()


@pytest.mark.parametrize("seed", range(12))
def test_undo_and_redo_go_back_and_on_through_all_that_the_human_did(store: Store, clock: Clock, seed: int) -> None:
    chosen, human = random.Random(seed), Human(store, clock)
    done: list[object] = []
    undone: list[object] = []
    steps = []
    for _ in range(25):
        step = chosen.choice(("undo", "undo", "redo", "redo", *ACTS))
        before = human.state()
        steps.append(step)
        if step == "undo" and done:
            human.undo()
            undone.append(before)
            assert human.state() == done.pop(), steps
        elif step == "redo" and undone:
            human.redo()
            done.append(before)
            assert human.state() == undone.pop(), steps
        elif step == "redo":
            with pytest.raises(Conflict, match="no undo to redo"):
                human.redo()
        elif step in ACTS:
            if step == "revert":
                human.agent_adds()
                before = human.state()
            if not act(human, step):
                continue
            done.append(before)
            undone.clear()


def test_redo_goes_on_after_a_merge_was_done_again(store: Store, clock: Clock) -> None:
    human = Human(store, clock)
    states = [human.state()]
    for name in ("merge", "edit", "merge in a race", "edit_several"):
        assert act(human, name)
        states.append(human.state())
    for _ in range(2):
        for wanted in states[-2::-1]:
            human.undo()
            assert human.state() == wanted
            assert undo.is_going_back(store.db, "human", clock.now), "the next one is not asked about"
        for wanted in states[1:]:
            human.redo()
            assert human.state() == wanted
    with pytest.raises(Conflict, match="no undo to redo"):
        human.redo()
