"""Jobs: making, changing, undoing, rule S1, and what replaying gives (seed 003)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import START, Clock
from tests.core.job_steps import EVERY_MINUTE, HOUR, MINUTE, Jobs, at, replayed, tables
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, NotFound, Refusal
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.jobs import (
    CreateJob,
    DeleteJob,
    DisableJob,
    EditJob,
    EnableJob,
    EndRun,
    FinishRun,
    RequestRun,
    RunJob,
    StopRun,
)
from tui_tasks.core.read import job_queries
from tui_tasks.core.schedule import fire_times
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import run_output

# Jobs


def test_a_name_is_taken_in_any_case(jobs):
    first = jobs.make("Nachtlauf Straße")
    with pytest.raises(Conflict) as refused:
        jobs.make("NACHTLAUF STRASSE", "adhoc")
    assert refused.value.data["uuid"] == first.uid
    other = jobs.make("other", "adhoc")
    with pytest.raises(Conflict):
        jobs.commit(EditJob(other.uid, {"name": "nachtlauf strasse"}), "agent")
    assert jobs.commit(EditJob(first.uid, {"name": "NACHTLAUF straße"}), "agent").name == "NACHTLAUF straße"


def test_a_number_of_a_job_never_moves_and_is_never_given_again(jobs):
    first, second, third = (jobs.make(name, "adhoc") for name in ("first", "second", "third"))
    assert [job.number for job in (first, second, third)] == [1, 2, 3]
    jobs.commit(DeleteJob(third.uid), "human")
    jobs.commit(DeleteJob(second.uid), "human")
    fourth = jobs.make("fourth", "adhoc")
    assert (fourth.number, jobs.job(first.uid).number) == (4, 1)
    jobs.commit(Undo(), "agent")
    fifth = jobs.make("fifth", "adhoc")
    assert fifth.number == 5, "the undo of a job that was made leaves its number to it"
    jobs.commit(Undo(), "human")
    assert not jobs.job(second.uid).deleted and jobs.job(second.uid).number == 2
    assert [job.number for job in job_queries.jobs(jobs.store.db)] == [1, 2, 5]
    assert replayed(jobs.store) == tables(jobs.store.db)


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"schedule": EVERY_MINUTE | {"hour": "24"}}, "schedule.hour"),
        ({"schedule": EVERY_MINUTE | {"day": "30", "month": "2"}}, "schedule"),
        ({"schedule": {"minute": "*"}}, "schedule.hour"),
        ({"zone": "Mars/Olympus"}, "timezone"),
        ({"settings": {"retries": 101}}, "retries"),
        ({"settings": {"overlap": "perhaps"}}, "overlap"),
        ({"settings": {"surprise": 1}}, "surprise"),
    ],
)
def test_what_is_wrong_with_a_schedule_zone_or_setting_is_named(jobs, fields, argument):
    with pytest.raises(InvalidArgument) as refused:
        jobs.make(**fields)
    assert refused.value.data["argument"] == argument
    assert journal.newest(jobs.store.db) == 0


@pytest.mark.parametrize(
    ("plan", "argument"),
    [(("2026-02-30T10:00:00",), "plan[0]"), (("2026-02-03T10:00:00", "2026-01-01T10:00:00"), "plan[1]"), ((), "plan")],
)
def test_a_plan_names_the_moment_that_is_wrong_or_past(jobs, plan, argument):
    with pytest.raises(InvalidArgument) as refused:
        jobs.make(kind="planned", plan=plan)
    assert refused.value.data["argument"] == argument


def test_a_plan_is_sorted_without_repeats_and_naive_moments_are_in_the_jobs_zone(jobs):
    plan = ("2026-07-01T09:00:00", "2026-03-01T09:00:00", "2026-03-01T08:00:00Z")
    job = jobs.make(kind="planned", plan=plan, zone="Europe/Berlin")
    assert job.plan == (at("2026-03-01T09:00", "Europe/Berlin"), at("2026-07-01T09:00", "Europe/Berlin"))
    assert job.next_run == job.plan[0]


def test_a_plan_of_this_very_instant_is_due_at_once(jobs):
    job = jobs.make(kind="planned", plan=("2026-01-02T11:22:14+00:00",))
    assert job.next_run == START
    assert jobs.decide(job.uid) == 1
    assert jobs.job(job.uid).next_run is None


def test_a_fixed_time_in_the_spring_gap_is_next_at_the_jump_and_in_the_autumn_repeat_the_first_time(jobs):
    half_past_two = EVERY_MINUTE | {"minute": "30", "hour": "2"}
    job = jobs.make(schedule=half_past_two, zone="Europe/Berlin")
    assert fire_times.next_due(job, at("2026-03-29T00:00", "Europe/Berlin")) == at("2026-03-29T03:00", "Europe/Berlin")
    first = at("2026-10-25T02:30", "Europe/Berlin")
    assert fire_times.due_between(job, first - HOUR, first + 12 * HOUR, 10) == [first]


def test_an_edit_sets_the_next_time_anew_and_a_plan_may_keep_what_is_past(jobs, clock):
    job = jobs.make(kind="planned", plan=("2026-01-02T12:00:00",))
    clock.now = at("2026-01-02T12:30", "UTC")
    jobs.decide(job.uid)
    edited = jobs.commit(EditJob(job.uid, {"plan": ("2026-01-02T12:00:00", "2026-01-02T13:00:00")}), "agent")
    assert len(edited.plan) == 2
    assert edited.next_run == at("2026-01-02T13:00", "UTC")
    with pytest.raises(InvalidArgument) as refused:
        jobs.commit(EditJob(job.uid, {"plan": ("2026-01-02T13:00:00", "2026-01-02T12:10:00")}), "agent")
    assert refused.value.data["argument"] == "plan[1]"
    with pytest.raises(InvalidArgument) as refused:
        jobs.commit(EditJob(job.uid, {"schedule": EVERY_MINUTE}), "agent")
    assert refused.value.data["argument"] == "schedule"


def test_what_an_edited_plan_keeps_and_nobody_has_decided_is_still_due(jobs, clock):
    job = jobs.make(kind="planned", plan=("2026-01-02T12:00:00",))
    clock.now = at("2026-01-02T12:30", "UTC")
    edited = jobs.commit(EditJob(job.uid, {"plan": ("2026-01-02T12:00:00", "2026-01-02T13:00:00")}), "agent")
    assert edited.next_run == at("2026-01-02T12:00", "UTC")
    assert jobs.decide(job.uid) == 1
    assert jobs.runs(job.uid)[0].scheduled_for == at("2026-01-02T12:00", "UTC")


def test_an_edit_that_repeats_what_is_there_leaves_no_entry(jobs):
    job = jobs.make()
    before = journal.newest(jobs.store.db)
    same = {"name": "job", "schedule": EVERY_MINUTE, "timezone": "UTC"}
    assert jobs.commit(EditJob(job.uid, same, {"retries": 0}), "agent") == job
    assert journal.newest(jobs.store.db) == before


def test_a_disabled_job_is_not_due_and_what_a_plan_had_meanwhile_is_missed(jobs, clock):
    job = jobs.make(kind="planned", plan=("2026-01-02T12:00:00", "2026-01-02T15:00:00"))
    assert jobs.commit(DisableJob(job.uid), "human").next_run is None
    clock.now = at("2026-01-02T13:00", "UTC")
    assert jobs.decide(job.uid) == 0
    assert jobs.commit(EnableJob(job.uid), "human").next_run == at("2026-01-02T15:00", "UTC")
    (missed,) = jobs.runs(job.uid)
    assert (missed.decision, missed.scheduled_for) == ("missed", at("2026-01-02T12:00", "UTC"))


def test_a_deleted_job_is_gone_until_its_deletion_is_undone(jobs, clock):
    job = jobs.make()
    assert jobs.commit(DeleteJob(job.uid), "agent") == job
    clock.forward(600)
    assert jobs.decide(job.uid) == 0
    with pytest.raises(NotFound):
        jobs.job(job.uid)
    jobs.commit(Undo(), "agent")
    assert jobs.job(job.uid).next_run == clock.now - clock.now % MINUTE + MINUTE
    assert jobs.runs(job.uid) == []


def test_only_the_human_has_fewer_runs_kept_than_there_are_now(jobs):
    """What is dropped with its output is past undo."""
    job = jobs.make("by hand", "adhoc", actor="alice", dedicated_context=True)
    kept = []
    for _ in range(3):
        run = jobs.commit(RunJob(job.uid), "alice")
        run_output.write_output(jobs.store.db, run.uid, [(0, b"said")], 4)
        kept.append(jobs.ran(run.uid).uid)
    for agent in ("bob", "alice"):
        with pytest.raises(Forbidden, match="only the human can keep fewer"):
            jobs.commit(EditJob(job.uid, {"prompt": "x"}, {"keep_runs": 1}), agent)
    jobs.commit(EditJob(job.uid, {}, {"keep_runs": 200}), "bob")
    jobs.commit(Undo(), "bob")
    kept.append(jobs.ran(jobs.commit(RunJob(job.uid), "bob").uid).uid)
    assert [run.uid for run in reversed(jobs.runs(job.uid))] == kept
    assert [run_output.read_output(jobs.store.db, uid).text for uid in kept] == ["said"] * 3 + [""]
    jobs.commit(EditJob(job.uid, {}, {"keep_runs": 1}), "human")
    last = jobs.ran(jobs.commit(RunJob(job.uid), "bob").uid)
    assert [run.uid for run in jobs.runs(job.uid)] == [last.uid]


# Undo


def test_each_change_of_a_job_can_be_taken_back_and_done_again(jobs):
    job = jobs.make()
    jobs.commit(EditJob(job.uid, {"prompt": "other", "timezone": "Asia/Tokyo"}, {"retries": 2}), "agent")
    jobs.commit(DisableJob(job.uid), "agent")
    jobs.commit(Undo(), "agent")
    assert jobs.job(job.uid).enabled
    jobs.commit(Undo(), "agent")
    back = jobs.job(job.uid)
    assert (back.prompt, back.timezone, back.settings) == ("do it", "UTC", {})
    jobs.commit(Redo(), "agent")
    assert jobs.job(job.uid).prompt == "other"
    jobs.commit(Undo(), "agent")
    jobs.commit(Undo(), "agent")
    with pytest.raises(NotFound):
        jobs.job(job.uid)
    assert replayed(jobs.store) == tables(jobs.store.db)


def test_an_undo_is_refused_where_another_has_changed_the_same_since(jobs):
    job = jobs.make()
    jobs.commit(EditJob(job.uid, {"prompt": "mine"}), "agent")
    jobs.commit(EditJob(job.uid, {"prompt": "theirs"}), "other")
    with pytest.raises(Conflict):
        jobs.commit(Undo(), "agent")


def test_the_making_of_a_job_is_not_undone_once_another_has_changed_it(jobs):
    job = jobs.make()
    jobs.commit(EditJob(job.uid, {"prompt": "theirs"}), "human")
    with pytest.raises(Conflict):
        jobs.commit(Undo(), "agent")
    assert jobs.job(job.uid).prompt == "theirs"


def test_a_deletion_is_not_undone_over_a_new_job_of_that_name(jobs):
    job = jobs.make()
    jobs.commit(DeleteJob(job.uid), "agent")
    jobs.make("JOB", actor="other")
    with pytest.raises(Conflict):
        jobs.commit(Undo(), "agent")


# Rule S1


@pytest.mark.parametrize(
    "operation",
    [
        lambda job, run: CreateJob("other", "adhoc", "", "", "UTC"),
        lambda job, run: EditJob(job, {"prompt": "x"}),
        lambda job, run: EnableJob(job),
        lambda job, run: DisableJob(job),
        lambda job, run: DeleteJob(job),
        lambda job, run: RunJob(job, force=True),
        lambda job, run: FinishRun(run, "success"),
        lambda job, run: StopRun(run),
        lambda job, run: Undo(),
    ],
)
def test_from_inside_a_run_jobs_can_only_be_read(jobs, operation):
    job = jobs.make(actor="agent")
    run = jobs.commit(RunJob(jobs.make("by hand", "adhoc").uid), "agent")
    with (
        pytest.raises(Forbidden),
        jobs.store.transaction(jobs.clock()) as transaction,
        transaction.change(),
    ):
        transaction.speak("agent", inside_run=True)
        transaction.run(operation(job.uid, run.uid))


# Replay


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 3)), max_size=40))
def test_replaying_the_journal_gives_the_same_jobs_and_runs(steps):
    with Store(":memory:") as store:
        jobs = Jobs(store, Clock())
        overlap = ("skip", "queue", "allow")
        made = [
            jobs.make(f"j{n}", dedicated_context=n == 1, settings={"overlap": overlap[n], "retries": 1, "keep_runs": 2})
            for n in range(3)
        ]
        for step, which, detail in steps:
            try:
                _one_step(jobs, made[which].uid, step, detail)
            except Refusal:
                continue
        assert replayed(store) == tables(store.db)


def _one_step(jobs, uid, step, detail):
    open_runs = job_queries.open_runs(jobs.store.db, uid)
    if step < 3:
        jobs.clock.forward((30, 60, 3600)[step])
        jobs.decide(uid)
    elif step == 3:
        jobs.commit(RunJob(uid, force=True), "agent")
    elif step == 4:
        jobs.commit(EditJob(uid, {"timezone": ("UTC", "Asia/Tokyo")[detail % 2]}, {"pause_after": detail}), "agent")
    elif step == 5:
        jobs.commit((DisableJob, EnableJob, DeleteJob, EnableJob)[detail](uid), "agent")
    elif step == 6:
        jobs.commit(Undo() if detail % 2 else Redo(), "agent")
    elif open_runs:
        run = open_runs[detail % len(open_runs)]
        outcome = ("success", "error", "interrupted")[detail % 3]
        if run.dedicated:
            jobs.claim(run.uid)
            jobs.begin(run.uid)
            jobs.commit(EndRun(run.uid, outcome, detail, "result"))
        else:
            jobs.commit(RequestRun(run.uid))
            jobs.commit(FinishRun(run.uid, outcome), "agent")
