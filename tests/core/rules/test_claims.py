"""Who may claim a task, and which claim an undo gives back."""

from __future__ import annotations

import pytest

from tests.conftest import SECOND, Clock
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Conflict, StaleClaim
from tui_tasks.core.operations.sessions import RecordReport, SessionReport, SessionStarted
from tui_tasks.core.operations.tasks import (
    AddTask,
    ClaimNext,
    ClaimTask,
    EnsureList,
    ExtendClaim,
    LapseClaims,
    ReleaseClaim,
    SetListReview,
)
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.tasks.claim_rules import claim_ended_by
from tui_tasks.core.snapshots import Claim
from tui_tasks.core.store import Store


@pytest.fixture
def claim(do):
    def take(task: str, agent: str) -> Claim:
        return do(ClaimTask(agent, 60 * SECOND, task), actor=agent)[0][1]

    return take


def restored(store: Store, uid: str, holder: str) -> Claim | None:
    """What the undo of the newest entry would restore that has taken a task from its holder."""
    entries = reversed(journal.latest(store.db, 30))
    ended = next(each for each in entries if each.task == uid and (each.old or {}).get("claimed_by") == holder)
    with store.transaction(0) as transaction:
        return claim_ended_by(transaction, ended, task_queries.task(store.db, uid))


def test_a_held_task_is_not_claimed(store, do, claim):
    (home,) = do(EnsureList("x", "task"))
    do(SetListReview(home.uid, True), actor="human")
    (task,) = do(AddTask("one", home.uid))
    assert task.held
    with pytest.raises(Conflict, match="is held until the human accepts it") as refused:
        claim(task.uid, "bob")
    assert refused.value.data["held"]


def test_a_session_takes_what_was_assigned_to_its_program_and_nothing_else_for_it(store, clock: Clock, do, add):
    report = SessionReport("claude", "s1", (SessionStarted(),), clock(), agent="claude-1")
    do(RecordReport(report, "", True), actor="claude-1")
    add("of another", agent="bob", home="x")
    wanted = add("of the program", agent="claude", home="x")
    add("of nobody", home="x")
    assert do(ClaimNext("bob-2", SECOND), actor="bob-2")[0][0].name == "of nobody"
    task, claimed = do(ClaimNext("claude-1", SECOND), actor="claude-1")[0]
    assert (task.uid, task.agent, claimed.was_agent) == (wanted, "claude-1", "claude")
    assert do(ClaimNext("claude-1", SECOND), actor="claude-1") == [None]
    # In the order of all that is ready: what anybody may take comes before it.
    add("of nobody, too", home="x")
    add("of the program, too", agent="claude", home="x")
    assert do(ClaimNext("claude-1", SECOND), actor="claude-1")[0][0].name == "of nobody, too"


def test_a_lease_that_is_over_is_ended_once_and_its_holder_is_told_of_what(store, do, add, claim, clock: Clock):
    task = add("one")
    taken = claim(task, "bob")
    assert do(LapseClaims(), actor="system") == [0]
    clock.forward(60)
    with pytest.raises(StaleClaim, match='your claim on task #1 "one" has lapsed'):
        do(ExtendClaim("bob", taken.uid), actor="bob")
    assert do(LapseClaims(), actor="system") == [1]
    assert do(LapseClaims(), actor="system") == [0]
    assert task_queries.task(store.db, task).fenced == ("bob",)


def test_a_claim_that_was_released_is_given_back_with_the_task(store, do, add, claim):
    task = add("one")
    taken = claim(task, "bob")
    do(ReleaseClaim("bob", taken.uid), actor="bob")
    assert restored(store, task, "bob").uid == taken.uid


def test_no_claim_is_given_back_once_another_agent_had_the_task(store, do, add, claim):
    task = add("one")
    do(ReleaseClaim("bob", claim(task, "bob").uid), actor="bob")
    do(ReleaseClaim("ann", claim(task, "ann").uid), actor="ann")
    assert restored(store, task, "bob") is None
    assert restored(store, task, "ann") is not None


def test_no_claim_is_given_back_whose_lease_was_over(store, do, add, claim, clock: Clock):
    task = add("one")
    claim(task, "bob")
    clock.forward(60)
    do(LapseClaims(), actor="system")
    assert restored(store, task, "bob") is None
