"""Held jobs: what agents make where the human has `[review] jobs` waits for the human (docs: protocol, section 11)."""

from __future__ import annotations

import pytest

from tests.conftest import Clock, Talk
from tui_tasks.core.errors import Conflict
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.jobs import CreateJob, DecideDue, EditJob, EnableJob
from tui_tasks.core.read import job_queries
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.store import Store

EVERY_MINUTE = dict.fromkeys(("minute", "hour", "day", "month", "weekday"), "*")
DAILY = {"name": "backup", "prompt": "Back up", "system_prompt": "", "schedule": EVERY_MINUTE, "timezone": "UTC"}


@pytest.fixture(autouse=True)
def reviewed(store: Store, other: Talk) -> None:
    """The human reviews jobs."""
    store.review = other.session.store.review = lambda: ReviewPolicy(jobs=True, limit=2)


def make_job(talk: Talk, **fields: object) -> str:
    uid: str = talk.ok("scheduler:create_scheduled_task", **{**DAILY, **fields})["uuid"]
    return uid


def job(store: Store, uid: str) -> Job:
    return job_queries.job(store.db, uid)


def human(store: Store, clock: Clock, *operations: object) -> None:
    store.commit(*operations, actor="human", now=clock.forward(1))


def test_a_job_of_an_agent_starts_only_once_the_human_has_switched_it_on(talk, other, store, clock):
    uid = make_job(talk)
    assert talk.ok("scheduler:show_task", uuid=uid)["state"] == "disabled"
    clock.forward(600)
    store.commit(DecideDue(uid), actor="system", now=clock())
    assert job_queries.open_runs(store.db) == []
    for who in (talk, other):
        for tool, more in (("enable_task", {}), ("run_task", {}), ("run_task", {"force": True})):
            error = who.refused(f"scheduler:{tool}", uuid=uid, **more)
            assert error["data"].get("held") or "rule" in error["data"], error
    human(store, clock, EnableJob(uid, job(store, uid).version))
    assert (job(store, uid).enabled, job(store, uid).held) == (True, False)
    assert talk.ok("scheduler:run_task", uuid=uid, force=True)["state"] == "running"


def test_only_its_maker_changes_a_held_job_and_an_accepted_one_that_becomes_another_is_held_again(
    talk, other, store, clock
):
    uid = make_job(talk)
    assert other.refused("scheduler:update_task", uuid=uid, prompt="rm -rf /")["data"]["held"]
    assert other.refused("scheduler:delete_task", uuid=uid)["data"]["held"]
    talk.ok("scheduler:update_task", uuid=uid, prompt="Back up all")
    human(store, clock, EnableJob(uid, job(store, uid).version))
    other.ok("scheduler:disable_task", uuid=uid)
    other.ok("scheduler:update_task", uuid=uid, prompt="rm -rf /")
    assert (job(store, uid).enabled, job(store, uid).held) == (False, True)
    assert other.refused("scheduler:enable_task", uuid=uid)["data"]["held"]


def test_what_made_it_another_is_taken_back_and_with_it_that_it_is_held(talk, store, clock):
    uid = make_job(talk)
    human(store, clock, EnableJob(uid, job(store, uid).version))
    talk.ok("scheduler:update_task", uuid=uid, prompt="rm -rf /")
    assert job(store, uid).held
    talk.ok("control:undo")
    assert (job(store, uid).prompt, job(store, uid).enabled, job(store, uid).held) == ("Back up", True, False)


def test_the_human_takes_back_that_it_was_accepted(talk, store, clock):
    uid = make_job(talk)
    human(store, clock, EnableJob(uid, job(store, uid).version))
    human(store, clock, Undo())
    assert (job(store, uid).enabled, job(store, uid).held) == (False, True)
    with pytest.raises(Conflict):
        store.commit(EnableJob(uid), actor="agent", now=clock.forward(1))
    human(store, clock, Redo())
    assert (job(store, uid).enabled, job(store, uid).held) == (True, False)


def test_an_agent_has_as_many_held_jobs_as_the_human_lets_it_have(talk, other, store):
    for number in range(2):
        make_job(talk, name=f"job {number}")
    assert talk.refused("scheduler:create_scheduled_task", **{**DAILY, "name": "one more"})["data"] == {
        "held": True,
        "limit": 2,
    }
    make_job(other, name="of another")


def test_what_the_human_or_a_shell_makes_and_where_nothing_is_reviewed_is_on_at_once(talk, store):
    store.review = ReviewPolicy
    assert job(store, make_job(talk)).enabled


def test_a_job_is_accepted_in_the_version_that_was_seen(talk, store, clock):
    uid = make_job(talk)
    seen = job(store, uid).version
    talk.ok("scheduler:update_task", uuid=uid, prompt="rm -rf /")
    for wrong in (seen, None):
        with pytest.raises(Conflict) as refused:
            human(store, clock, EnableJob(uid, wrong))
        assert refused.value.data["held"]
    assert (job(store, uid).enabled, job(store, uid).held) == (False, True)
    human(store, clock, EnableJob(uid, job(store, uid).version))
    assert (job(store, uid).enabled, job(store, uid).held) == (True, False)


def test_an_undo_that_brings_back_what_nobody_saw_holds_the_job_again(talk, other, store, clock):
    uid = make_job(talk, prompt="rm -rf /")
    talk.ok("scheduler:update_task", uuid=uid, prompt="Back up")
    human(store, clock, EnableJob(uid, job(store, uid).version))
    talk.ok("control:undo")
    assert (job(store, uid).prompt, job(store, uid).enabled, job(store, uid).held) == ("rm -rf /", False, True)
    assert other.refused("scheduler:run_task", uuid=uid, force=True)["data"]["held"]


def test_no_undo_of_having_disabled_it_starts_a_job_that_another_has_changed(talk, other, store, clock):
    uid = make_job(talk)
    human(store, clock, EnableJob(uid, job(store, uid).version))
    talk.ok("scheduler:disable_task", uuid=uid)
    other.ok("scheduler:update_task", uuid=uid, prompt="rm -rf /")
    assert talk.refused("control:undo")["data"]["held"]
    assert (job(store, uid).enabled, job(store, uid).held) == (False, True)


def test_the_humans_redo_accepts_no_job_that_has_changed_since(talk, store, clock):
    uid = make_job(talk)
    human(store, clock, EnableJob(uid, job(store, uid).version))
    human(store, clock, Undo())
    talk.ok("scheduler:update_task", uuid=uid, prompt="rm -rf /")
    with pytest.raises(Conflict):
        human(store, clock, Redo())
    assert (job(store, uid).enabled, job(store, uid).held) == (False, True)


def test_the_humans_own_change_of_an_accepted_job_needs_no_acceptance(talk, store, clock):
    uid = make_job(talk)
    human(store, clock, EnableJob(uid, job(store, uid).version))
    human(store, clock, EditJob(uid, {"prompt": "Back up all"}))
    assert (job(store, uid).enabled, job(store, uid).held) == (True, False)
    talk.ok("scheduler:update_task", uuid=uid, prompt="Back up")
    assert job(store, uid).held


def test_a_new_name_holds_an_accepted_job_again_as_the_human_knows_it_by_its_name(talk, other, store, clock):
    uid = make_job(talk)
    human(store, clock, EnableJob(uid, job(store, uid).version))
    other.ok("scheduler:update_task", uuid=uid, name="harmless")
    assert (job(store, uid).enabled, job(store, uid).held) == (False, True)
    other.ok("control:undo")
    assert (job(store, uid).name, job(store, uid).enabled, job(store, uid).held) == ("backup", True, False)


def test_a_new_name_holds_a_job_that_the_human_has_made(talk, store, clock):
    (mine,) = store.commit(CreateJob("mine", "adhoc", "", "Back up", "UTC"), actor="human", now=clock())
    talk.ok("scheduler:update_task", uuid=mine.uid, name="harmless")
    assert (job(store, mine.uid).enabled, job(store, mine.uid).held) == (False, True)
