"""Runs: what becomes of due times, and a run from its claim to its end (docs: protocol, section 6)."""

import pytest

from tests.conftest import SECOND
from tests.core.job_steps import FIRST, HOUR, MINUTE, replayed, tables
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument
from tui_tasks.core.operations.jobs import (
    AbandonRun,
    DeleteJob,
    DisableJob,
    EditJob,
    EnableJob,
    EndRun,
    ExpireRuns,
    FinishRun,
    RequestRun,
    RunJob,
    StopRun,
)
from tui_tasks.core.read import job_queries
from tui_tasks.core.unjournaled import heartbeats, run_output
from tui_tasks.core.unjournaled.run_output import HEAD, TAIL, write_output

# What becomes of a due time


def test_each_due_time_is_decided_once(jobs, clock):
    job = jobs.make(dedicated_context=True)
    assert jobs.decide(job.uid) == 0
    clock.now = FIRST
    assert jobs.decide(job.uid) == 1
    assert jobs.decide(job.uid) == 0
    (run,) = jobs.runs(job.uid)
    assert (run.decision, run.trigger, run.scheduled_for, run.state) == ("ran", "schedule", FIRST, "waiting")
    assert jobs.job(job.uid).state == "running"


def test_what_a_run_stands_for_is_still_told_once_it_has_ended_well(jobs, clock):
    job = jobs.make(dedicated_context=True)
    clock.now = FIRST + HOUR + 5 * MINUTE // 2
    jobs.decide(job.uid)
    run = jobs.runs(job.uid)[0]
    assert run.reason == "replaces 62 earlier due times"
    jobs.ran(run.uid)
    assert jobs.runs(job.uid)[0].reason == run.reason


def test_a_clock_set_back_repeats_nothing(jobs, clock):
    job = jobs.make(dedicated_context=True)
    clock.now = FIRST + 30 * MINUTE
    jobs.decide(job.uid)
    decided = {run.scheduled_for for run in jobs.runs(job.uid)}
    clock.now = FIRST - 2 * HOUR
    assert jobs.decide(job.uid) == 0
    clock.now = FIRST + 31 * MINUTE
    assert jobs.decide(job.uid) == 1
    assert len(jobs.runs(job.uid)) == len(decided) + 1


def test_a_clock_set_back_repeats_nothing_even_where_the_schedule_is_edited_then(jobs, clock):
    job = jobs.make(dedicated_context=True)
    clock.now = FIRST + 3 * MINUTE
    jobs.decide(job.uid)
    clock.now = FIRST - HOUR
    jobs.commit(EditJob(job.uid, {"timezone": "Etc/GMT"}), "agent")
    clock.now = FIRST + 3 * MINUTE
    jobs.decide(job.uid)
    times = [run.scheduled_for for run in jobs.runs(job.uid)]
    assert len(times) == len(set(times))
    assert {FIRST + at * MINUTE for at in range(4)} <= set(times)


def test_ten_days_away_run_once_and_the_rest_is_counted(jobs, clock):
    job = jobs.make(dedicated_context=True)
    clock.now = FIRST + 10 * 24 * HOUR
    assert jobs.decide(job.uid) == 10 * 24 * 60 + 1
    runs = jobs.runs(job.uid)
    assert [run.decision for run in runs].count("ran") == 1
    assert runs[0].decision == "ran"
    assert "replaces 14,400 earlier due times" in runs[0].reason
    assert {run.decision for run in runs[1:]} == {"coalesced"}
    assert len({run.scheduled_for for run in runs}) == 14_401


def test_what_is_due_while_the_run_before_is_active_is_skipped_queued_or_runs_beside_it(jobs, clock):
    made = {
        word: jobs.make(word, dedicated_context=True, settings={"overlap": word}) for word in ("skip", "queue", "allow")
    }
    for minute in range(3):
        clock.now = FIRST + minute * MINUTE
        for job in made.values():
            jobs.decide(job.uid)
    seen = {word: [(run.decision, run.state) for run in jobs.runs(job.uid)] for word, job in made.items()}
    assert seen == {
        "skip": [("skipped", "final"), ("skipped", "final"), ("ran", "waiting")],
        "queue": [("skipped", "final"), ("ran", "queued"), ("ran", "waiting")],
        "allow": [("ran", "waiting")] * 3,
    }
    queued, first = jobs.runs(made["queue"].uid)[1:]
    assert jobs.claim(queued.uid) is None
    jobs.ran(first.uid)
    assert jobs.claim(queued.uid).state == "waiting"


def test_jitter_delays_a_start_and_only_then_may_it_be_claimed(jobs, clock):
    job = jobs.make(dedicated_context=True, settings={"jitter": 3600})
    clock.now = FIRST
    jobs.decide(job.uid)
    (run,) = jobs.runs(job.uid)
    assert run.state == "queued"
    assert jobs.job(job.uid).state == "idle"
    assert jobs.claim(run.uid) is None
    clock.now = run.not_before
    assert jobs.claim(run.uid)


def test_starts_an_hour_are_limited(jobs, clock):
    job = jobs.make(dedicated_context=True, settings={"starts_per_hour": 2})
    for minute in range(4):
        clock.now = FIRST + minute * MINUTE
        jobs.decide(job.uid)
        if (run := jobs.runs(job.uid)[0]).state != "final":
            jobs.ran(run.uid)
    assert [run.decision for run in jobs.runs(job.uid)] == ["skipped", "skipped", "ran", "ran"]
    clock.now = FIRST + HOUR + 2 * MINUTE
    jobs.decide(job.uid)
    assert jobs.runs(job.uid)[0].decision == "ran"


def test_a_run_that_waited_past_its_start_deadline_is_not_started(jobs, clock):
    job = jobs.make(dedicated_context=True, settings={"start_deadline": 120})
    clock.now = FIRST
    jobs.decide(job.uid)
    (run,) = jobs.runs(job.uid)
    clock.now = FIRST + 3 * MINUTE
    assert jobs.claim(run.uid) is None
    ended = job_queries.run(jobs.store.db, run.uid)
    assert (ended.state, ended.outcome, ended.started_at) == ("final", "interrupted", None)


# From a claim to the end


def test_a_run_is_claimed_by_one_begun_by_one_and_ended_once(jobs, clock):
    job = jobs.make(kind="adhoc", dedicated_context=True)
    run = jobs.commit(RunJob(job.uid, "context"), "agent")
    assert jobs.begin(run.uid) is None
    assert jobs.claim(run.uid, pid=1)
    assert jobs.claim(run.uid, pid=9) is None
    clock.forward(5)
    assert jobs.begin(run.uid).started_at == clock.now
    assert jobs.begin(run.uid, pid=3) is None
    clock.forward(5)
    ended = jobs.commit(EndRun(run.uid, "success", 0, "done"))
    assert jobs.commit(EndRun(run.uid, "error", 1, "late")) == ended
    shown = jobs.job(job.uid)
    assert (shown.state, shown.last_outcome, shown.last_result) == ("idle", "success", "done")
    assert shown.last_run == ended.started_at
    assert heartbeats.heartbeat_of(jobs.store.db, run.uid) is None


def test_no_more_runs_are_in_hand_than_the_human_allows(jobs):
    runs = [jobs.commit(RunJob(jobs.make(f"j{n}", "adhoc", dedicated_context=True).uid), "agent") for n in range(3)]
    assert jobs.claim(runs[0].uid, max_parallel=2)
    assert jobs.claim(runs[1].uid, max_parallel=2)
    assert jobs.claim(runs[2].uid, max_parallel=2) is None


def test_a_run_whose_process_is_gone_is_interrupted_and_never_started_again(jobs):
    job = jobs.make(kind="adhoc", dedicated_context=True, settings={"retries": 3})
    run = jobs.commit(RunJob(job.uid), "agent")
    jobs.claim(run.uid)
    seen = heartbeats.heartbeat_of(jobs.store.db, run.uid)
    assert jobs.commit(AbandonRun(run.uid, seen, "its scheduler died"))
    assert not jobs.commit(AbandonRun(run.uid, seen, "its scheduler died"))
    assert jobs.begin(run.uid) is None
    assert jobs.claim(run.uid) is None
    (only,) = jobs.runs(job.uid)
    assert (only.outcome, only.reason) == ("interrupted", "its scheduler died")
    assert jobs.job(job.uid).state == "error"


def test_a_sign_of_life_keeps_a_run_from_being_abandoned(jobs, clock):
    run = jobs.commit(RunJob(jobs.make(kind="adhoc", dedicated_context=True).uid), "agent")
    jobs.claim(run.uid)
    seen = heartbeats.heartbeat_of(jobs.store.db, run.uid)
    heartbeats.renew_heartbeat(jobs.store.db, run.uid, clock.forward(1))
    assert not jobs.commit(AbandonRun(run.uid, seen, "gone"))


def test_a_failed_run_is_tried_again_with_growing_waits(jobs, clock):
    job = jobs.make(kind="adhoc", dedicated_context=True, settings={"retries": 2, "retry_delay": 10})
    jobs.commit(RunJob(job.uid, "context"), "agent")
    waits = []
    for _ in range(3):
        run = jobs.runs(job.uid)[0]
        assert jobs.job(job.uid).state == "running"
        if run.not_before:
            waits.append((run.not_before - clock.now) // SECOND)
            assert jobs.claim(run.uid) is None
            clock.now = run.not_before
        jobs.ran(run.uid, "error", exit_code=1)
    assert waits == [10, 20]
    assert [(run.attempt, run.context, run.requested_by) for run in jobs.runs(job.uid)] == [
        (attempt, "context", "agent") for attempt in (3, 2, 1)
    ]
    assert (jobs.job(job.uid).state, jobs.job(job.uid).failures) == ("error", 1)


def test_a_job_is_disabled_after_so_many_failures_in_a_row_and_enabling_begins_anew(jobs):
    job = jobs.make(kind="adhoc", dedicated_context=True, settings={"pause_after": 2})
    for outcome in ("error", "success", "error", "error"):
        jobs.ran(jobs.commit(RunJob(job.uid), "agent").uid, outcome)
    assert jobs.job(job.uid).state == "disabled"
    with pytest.raises(Conflict) as refused:
        jobs.commit(RunJob(job.uid), "agent")
    assert refused.value.data["state"] == "disabled"
    assert jobs.commit(EnableJob(job.uid), "human").enabled
    assert jobs.job(job.uid).failures == 0


def test_so_many_runs_are_kept_with_their_output(jobs, store):
    job = jobs.make(kind="adhoc", dedicated_context=True, settings={"keep_runs": 2})
    made = [jobs.commit(RunJob(job.uid), "agent") for _ in range(1)]
    for _ in range(4):
        jobs.claim(made[-1].uid)
        jobs.begin(made[-1].uid)
        write_output(store.db, made[-1].uid, [(0, b"out")], 3)
        jobs.commit(EndRun(made[-1].uid, "success"))
        made.append(jobs.commit(RunJob(job.uid), "agent"))
    assert [run.uid for run in jobs.runs(job.uid)] == [made[4].uid, made[3].uid, made[2].uid]
    logged = [run.uid for run in made if run_output.read_output(store.db, run.uid).total]
    assert logged == [made[2].uid, made[3].uid]
    assert replayed(store) == tables(store.db)


# In the conversation


def test_a_job_without_a_context_of_its_own_is_requested_at_its_time_and_has_a_deadline(jobs, clock):
    job = jobs.make(settings={"timeout": 90})
    clock.now = FIRST
    jobs.decide(job.uid)
    (run,) = jobs.runs(job.uid)
    assert (run.state, run.started_at, run.deadline) == ("running", FIRST, FIRST + 90 * SECOND)
    assert [entry.kind for entry in journal.latest(jobs.store.db, 3)] == [
        "job.decided",
        "run.requested",
        "job.advanced",
    ]
    clock.now = run.deadline - 1
    assert jobs.commit(ExpireRuns()) == 0
    clock.now = run.deadline
    assert jobs.commit(ExpireRuns()) == 1
    ended = job_queries.run(jobs.store.db, run.uid)
    assert ended.outcome == "error"
    assert "deadline" in ended.reason


def test_a_delayed_request_is_made_when_its_time_comes(jobs, clock):
    job = jobs.make(settings={"jitter": 600})
    clock.now = FIRST
    jobs.decide(job.uid)
    (run,) = jobs.runs(job.uid)
    assert jobs.commit(RequestRun(run.uid)) is None
    clock.now = run.not_before
    assert jobs.commit(RequestRun(run.uid)).state == "running"


def test_an_answer_ends_a_requested_run_once(jobs):
    job = jobs.make(kind="adhoc")
    run = jobs.commit(RunJob(job.uid), "agent")
    assert jobs.commit(FinishRun(run.uid, "success", "found it"), "other").result == "found it"
    with pytest.raises(Conflict):
        jobs.commit(FinishRun(run.uid, "error"), "agent")


def test_a_run_of_the_runners_is_not_answered_for(jobs):
    run = jobs.commit(RunJob(jobs.make(kind="adhoc", dedicated_context=True).uid), "agent")
    with pytest.raises(InvalidArgument):
        jobs.commit(FinishRun(run.uid, "success"), "agent")


def test_a_job_whose_request_was_never_answered_can_be_run_again_without_a_scheduler(jobs, clock):
    job = jobs.make(kind="adhoc", settings={"timeout": 60})
    jobs.commit(RunJob(job.uid), "agent")
    with pytest.raises(Conflict):
        jobs.commit(RunJob(job.uid), "agent")
    clock.forward(61)
    jobs.commit(RunJob(job.uid), "agent")
    assert [run.outcome for run in jobs.runs(job.uid)] == [None, "error"]


# Starting and ending by hand


def test_an_agent_starts_a_scheduled_job_only_by_force_the_human_just_so(jobs):
    job = jobs.make(dedicated_context=True)
    with pytest.raises(Forbidden):
        jobs.commit(RunJob(job.uid), "agent")
    first = jobs.commit(RunJob(job.uid), "human")
    jobs.ran(first.uid)
    jobs.commit(RunJob(job.uid, force=True), "agent")


def test_deleting_ends_what_runs_first(jobs):
    job = jobs.make(kind="adhoc")
    jobs.commit(RunJob(job.uid), "agent")
    assert jobs.commit(DeleteJob(job.uid), "agent").state == "running"
    assert [entry.kind for entry in journal.latest(jobs.store.db, 2)] == ["run.finished", "job.deleted"]
    assert jobs.runs(job.uid)[0].outcome == "interrupted"


def test_disabling_ends_what_has_not_begun_and_lets_the_rest_go_on(jobs):
    job = jobs.make(kind="adhoc", dedicated_context=True)
    run = jobs.commit(RunJob(job.uid), "agent")
    jobs.claim(run.uid)
    jobs.begin(run.uid)
    assert jobs.commit(DisableJob(job.uid), "agent").state == "running"
    jobs.commit(EndRun(run.uid, "success"))
    assert jobs.job(job.uid).state == "disabled"
    other = jobs.make("other", "adhoc", dedicated_context=True)
    jobs.commit(RunJob(other.uid), "agent")
    assert jobs.commit(DisableJob(other.uid), "agent").state == "disabled"
    assert jobs.runs(other.uid)[0].outcome == "interrupted"


def test_a_run_that_has_begun_is_stopped_by_its_supervisor(jobs):
    run = jobs.commit(RunJob(jobs.make(kind="adhoc", dedicated_context=True).uid), "agent")
    jobs.claim(run.uid)
    jobs.begin(run.uid)
    stopping = jobs.commit(StopRun(run.uid), "human")
    assert (stopping.state, stopping.stop_reason) == ("running", "stopped by human")
    newest = journal.newest(jobs.store.db)
    assert jobs.commit(StopRun(run.uid), "human") == stopping
    assert journal.newest(jobs.store.db) == newest


def test_a_log_keeps_head_and_tail_and_tells_what_is_left_out(store):
    piece = 32 * 1024
    for n in range(64):
        write_output(store.db, "run", [(n * piece, bytes([65 + n % 26]) * piece)], (n + 1) * piece)
    log = run_output.read_output(store.db, "run")
    assert log.total == 64 * piece
    assert sum(len(data) for _, data in log.pieces) == HEAD + TAIL
    assert f"[… {64 * piece - 1024 * 1024:,} bytes left out …]" in log.text
    assert run_output.read_output(store.db, "run", since=63 * piece).pieces[0][0] == 63 * piece


def test_a_run_that_has_not_ended_is_kept_however_many_have_begun_after_it(jobs, store, clock):
    job = jobs.make(dedicated_context=True, settings={"keep_runs": 1, "overlap": "allow"})
    made = []
    for _ in range(3):
        clock.now = jobs.job(job.uid).next_run
        jobs.decide(job.uid)
        made.append(jobs.runs(job.uid)[0].uid)
        jobs.claim(made[-1])
        jobs.begin(made[-1])
        write_output(store.db, made[-1], [(0, b"out")], 3)
    jobs.commit(EndRun(made[1], "success"))
    jobs.commit(EndRun(made[2], "success"))
    assert [run.uid for run in jobs.runs(job.uid)] == [made[2], made[0]]
    assert [run_output.read_output(store.db, uid).text for uid in made] == ["out", "", "out"]
    assert replayed(store) == tables(store.db)
