"""What counts as failed: everyone who counts or shows failures gives the same number."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.checks import Checks
from tests.conftest import Clock
from tests.core.job_steps import MINUTE, Jobs
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations import Operation, Revert, Undo
from tui_tasks.core.operations.jobs import DecideDue, FinishRun, NamedCheck, RequestChecks, RequestRun
from tui_tasks.core.operations.sessions import (
    PromptSubmitted,
    SessionEnded,
    SessionEvent,
    SessionReport,
    TurnFailed,
)
from tui_tasks.core.operations.tasks import (
    AddTask,
    ClaimTask,
    CreatePlan,
    DeleteTask,
    EditTask,
    EnsureList,
    ImportTask,
    LapseClaims,
    LogTask,
)
from tui_tasks.core.operations.work import BeginMerge, FailWork, MergeWork, RunWork, StartWork, WorkReady
from tui_tasks.core.read import job_lines, job_queries, statistics, work_text
from tui_tasks.core.read.digest import Digest, digest, needs_you
from tui_tasks.core.read.pages import list_pages, log_pages
from tui_tasks.core.read.pages.task_filter import Filter, Term
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.hooks.intake import record_report
from tui_tasks.text.times import SECOND


def run_each_minute(jobs: Jobs, clock: Clock, *outcomes: str, **settings: int) -> str:
    """A job of every minute whose runs end like this; one that is `skipped` comes while the run before goes on."""
    job = jobs.make(settings=settings)
    for at, outcome in enumerate(outcomes):
        clock.forward(60)
        jobs.commit(DecideDue(job.uid))
        if outcome != "skipped" and (*outcomes, "")[at + 1] != "skipped":
            finish(jobs, job.uid, outcome)
        elif outcome == "skipped":
            finish(jobs, job.uid, outcomes[at - 1])
    return job.uid


def finish(jobs: Jobs, uid: str, outcome: str) -> None:
    (run,) = job_queries.open_runs(jobs.store.db, uid)
    jobs.commit(FinishRun(run.uid, outcome, "no answer"), "agent")


def line_of(jobs: Jobs, uid: str) -> job_lines.JobLine:
    return job_lines.line_of(jobs.store.db, jobs.job(uid))


def failed_runs(jobs: Jobs) -> int:
    return sum(outcome == "error" for _, outcome in statistics.runs(jobs.store.db, 0))


def test_the_history_of_a_job_has_a_mark_for_a_skipped_run_and_as_many_failures_as_are_counted(
    jobs: Jobs, clock: Clock
) -> None:
    uid = run_each_minute(jobs, clock, "error", "error", "error", "error", "skipped")
    line = line_of(jobs, uid)
    assert line.history == ("error", "error", "error", "error", "skipped")
    assert line.in_a_row == failed_runs(jobs) == 4
    assert [failing.name for failing in job_lines.failing_jobs(jobs.store.db)] == ["job"]
    clock.forward(60)
    jobs.commit(DecideDue(uid))
    finish(jobs, uid, "success")
    line = line_of(jobs, uid)
    assert line.history == ("error", "error", "error", "error", "skipped", "success")
    assert (line.in_a_row, failed_runs(jobs)) == (0, 4)
    assert job_lines.failing_jobs(jobs.store.db) == []


def test_a_stretch_of_missed_times_has_one_mark_and_hides_no_run(jobs: Jobs, clock: Clock) -> None:
    uid = run_each_minute(jobs, clock, "success", catch_up="none")
    clock.forward(3600)
    jobs.decide(uid)
    clock.forward(60)
    assert line_of(jobs, uid).history[:2] == ("success", "missed")
    assert line_of(jobs, uid).history.count("missed") == 1


def test_each_attempt_that_failed_counts_in_the_history_in_a_row_and_in_the_statistics(
    jobs: Jobs, clock: Clock
) -> None:
    uid = run_each_minute(jobs, clock, "error", retries=1)
    clock.forward(61)
    (again,) = (run for run in job_queries.open_runs(jobs.store.db, uid) if run.not_before is not None)
    jobs.commit(RequestRun(again.uid))
    jobs.commit(FinishRun(again.uid, "error", "no answer"), "agent")
    line = line_of(jobs, uid)
    assert line.history == ("error", "error") and line.in_a_row == failed_runs(jobs) == 2


def test_a_run_that_was_interrupted_has_not_failed_wherever_failures_are_counted(jobs: Jobs, clock: Clock) -> None:
    uid = run_each_minute(jobs, clock, "success", "interrupted")
    line = line_of(jobs, uid)
    assert line.history == ("success", "interrupted") and line.in_a_row == failed_runs(jobs) == 0
    assert job_lines.failing_jobs(jobs.store.db) == []
    (told,) = digest(jobs.store.db, 0, clock(), {}).parts["failed"]
    assert told.group == "interrupted"


class Day:
    """A plan, and what agents do with its tasks."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.home = self.commit("human", CreatePlan("Website"))[0]

    def commit(self, actor: str, *operations: Operation) -> list:
        self.clock.forward(1)
        return self.store.commit(*operations, actor=actor, now=self.clock())

    def task(self, name: str) -> str:
        return self.commit("human", AddTask(name, self.home.uid))[0].uid

    def fail(self, name: str) -> str:
        uid = self.task(name)
        self.commit("claude-1", EditTask(uid, {"status": "failed"}), LogTask(uid, "no access"))
        return uid

    def lapse(self, name: str) -> str:
        uid = self.task(name)
        self.commit("claude-2", ClaimTask("claude-2", MINUTE, uid))
        self.clock.forward(61)
        self.commit("system", LapseClaims())
        return uid

    def crash(self, name: str) -> str:
        uid = self.task(name)
        (work,) = self.commit("human", StartWork(uid, "robot", "/repo", "/trees/1", branch="task/1", base="main"))
        self.commit("system", RunWork(work.uid, prompt="Do it"))
        self.commit("system", FailWork(work.uid, "robot-1 was killed"))
        return uid

    def report(self, *events: SessionEvent) -> None:
        self.clock.forward(1)
        report = SessionReport("claude", "session", events, self.clock(), Process("boot", "ns", 9, "b"))
        with self.store.transaction(self.clock()) as transaction:
            record_report(transaction, f"payload {self.clock()}", report, tasks=False)

    def digest(self) -> Digest:
        return digest(self.store.db, 0, self.clock(), {})

    def group_of(self, uid: str) -> str:
        (line,) = (line for line in self.digest().lines if line.task == uid)
        return line.group


def test_of_a_failed_task_whose_work_waits_for_review_that_is_told_and_not_that_its_agent_is_at_work(
    store: Store, clock: Clock
) -> None:
    day = Day(store, clock)
    uid = day.fail("Write it")
    (work,) = day.commit("human", StartWork(uid, "robot", "/repo", "/trees/1", branch="task/1", base="main"))
    day.commit("system", RunWork(work.uid, prompt="Do it"))
    said = "; ".join(line.text for line in day.digest().lines if line.task == uid)
    assert said.endswith(f"; {work.agent} is at work on it")
    day.commit("system", WorkReady(work.uid))
    said = "; ".join(line.text for line in day.digest().lines if line.task == uid)
    assert "is at work on it" not in said and "its work waits for review" in said


def test_of_a_day_with_lapsed_claims_only_what_has_failed_is_told_and_counted_as_failed(
    store: Store, clock: Clock, jobs: Jobs
) -> None:
    day = Day(store, clock)
    for name in ("Fix flaky test", "Migrate analytics"):
        day.fail(name)
    for name in ("Rotate keys", "Audit rules", "Docs", "Clean caches"):
        day.lapse(name)
    run_each_minute(jobs, clock, "error", "error")
    groups = day.digest().groups
    assert {group: len(groups[group]) for group in ("failed", "claim_lapsed")} == {"failed": 3, "claim_lapsed": 4}
    tasks = sum(home.failed for home in task_queries.lists(store.db))
    assert tasks + len(job_lines.failing_jobs(store.db)) == 3
    assert len(day.digest().parts["failed"]) == 7, "programs find them where they were"


def test_a_task_whose_work_was_merged_is_done_by_its_merge_and_one_without_a_check_by_its_report(
    store: Store, clock: Clock
) -> None:
    day = Day(store, clock)
    merged, plain = day.task("Rotate keys"), day.task("Docs")
    start = StartWork(merged, "robot", "/repo", "/trees/1", branch="task/1", base="main")
    (work,) = day.commit("human", start)
    day.commit("system", RunWork(work.uid, prompt="Do it"), WorkReady(work.uid))
    day.commit("human", BeginMerge(work.uid, {}))
    day.commit("human", MergeWork(work.uid, "c1"))
    day.commit("claude-1", EditTask(plain, {"status": "done"}))
    assert {line.name: line.text for line in day.digest().groups["done"]} == {
        "Rotate keys": "work of robot-1 merged into main by you",
        "Docs": "done without a check",
    }


def test_what_failed_is_told_by_what_it_is_now(store: Store, clock: Clock) -> None:
    day = Day(store, clock)
    uid = day.fail("Fix flaky test")
    for status, group in (("pending", "open_again"), ("skipped", "dropped"), ("done", "done")):
        day.commit("claude-1", EditTask(uid, {"status": status}))
        assert day.group_of(uid) == group
    day.commit("claude-1", EditTask(uid, {"status": "failed"}))
    assert day.group_of(uid) == "failed"


def test_who_reported_a_task_done_is_named_whoever_has_asked_for_its_check(store: Store, clock: Clock) -> None:
    (home,) = store.commit(EnsureList("list", "task"), actor="bob", now=clock())
    checks = Checks(store, clock, NamedCheck("tests", "1", lists=("list",)))
    (task,) = store.commit(AddTask("Ship it", home.uid), actor="bob", now=clock())
    store.commit(EditTask(task.uid, {"status": "done"}), actor="bob", now=clock())
    checks.run("failed", exit_code=1)
    store.commit(RequestChecks(task.uid), actor="mallory", now=clock())
    checks.run("failed", exit_code=1)
    (line,) = needs_you(store.db, {})
    assert (line.who, line.text) == ("bob", 'reported done, but check "tests" failed')


def test_a_digest_says_that_the_task_of_a_failed_work_is_deleted(store: Store, clock: Clock) -> None:
    day = Day(store, clock)
    uid = day.crash("Fix flaky test")
    day.commit("human", DeleteTask(uid))
    (line,) = day.digest().parts["failed"]
    assert (line.group, line.text) == ("dropped", "robot-1 was killed; the task is deleted now")


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (lambda uid: DeleteTask(uid), "task deleted by bob"),
        (lambda uid: ClaimTask("bob", MINUTE, uid), "claimed by bob"),
        (lambda uid: EditTask(uid, {"status": "skipped"}), "skipped by bob"),
        (lambda uid: EditTask(uid, {"status": "done"}), "done by bob"),
    ],
)
def test_no_other_agent_puts_a_failed_work_out_of_sight_until_the_human_has_dealt_with_it(
    store: Store, clock: Clock, operation: Callable[[str], Operation], words: str
) -> None:
    day = Day(store, clock)
    uid = day.crash("Fix flaky test")
    assert [one.text for one in work_text.failed(store.db)] == ["robot-1 was killed"]
    day.commit("bob", operation(uid))
    assert [one.text for one in work_text.failed(store.db)] == [f"robot-1 was killed; {words}"]
    assert [line.text for line in day.digest().groups["failed"]] == [f"robot-1 was killed; {words}"]
    if "deleted" in words:
        day.commit("human", Revert((journal.newest(store.db),)))
    day.commit("human", EditTask(uid, {"status": "cancelled"}))
    assert work_text.failed(store.db) == []
    assert "failed" not in day.digest().groups


def test_a_task_that_another_agent_failed_after_the_one_that_was_started_on_it_has_failed_once(
    store: Store, clock: Clock
) -> None:
    day = Day(store, clock)
    uid = day.crash("Fix flaky test")
    day.commit("bob", EditTask(uid, {"status": "failed"}), LogTask(uid, "host unreachable"))
    assert work_text.failed(store.db) == [], "the task itself is what has failed"
    (line,) = day.digest().groups["failed"]
    assert (line.who, line.text) == ("bob", "failed: host unreachable (failed 2 times)")
    day.commit("bob", EditTask(uid, {"status": "pending"}))
    assert [one.text for one in work_text.failed(store.db)] == ["robot-1 was killed"]


def test_what_the_human_has_hidden_or_dismissed_does_not_count_in_a_digest_until_it_fails_again(
    store: Store, clock: Clock, jobs: Jobs
) -> None:
    day = Day(store, clock)
    task, crashed, job = day.fail("Fix flaky test"), day.crash("Docs"), run_each_minute(jobs, clock, "error")
    day.report(PromptSubmitted("go on"), TurnFailed("overloaded"))
    (turn,) = (line.uid for line in day.digest().lines if line.kind == "session")
    assert len(day.digest().groups["failed"]) == 4
    keys = (
        *(local_values.key_of_task(task), local_values.key_of_agent("robot-1")),
        *(local_values.key_of_job(job), local_values.key_of_agent(turn)),
    )
    local_values.put(store.db, local_values.DISMISSED, dict.fromkeys(keys, clock()))
    groups = day.digest().groups
    assert (len(groups.get("failed", ())), len(groups["dismissed"])) == (0, 4)
    assert not any(line.counted_as for line in groups["dismissed"])
    before = digest(store.db, 0, clock() - 1, {})
    assert len(before.groups["failed"]) == 4, "they were hidden later"
    day.commit("claude-1", EditTask(task, {"status": "pending"}))
    clock.forward(1)
    day.commit("claude-1", EditTask(task, {"status": "failed"}))
    assert [line.task for line in day.digest().groups["failed"]] == [task]
    local_values.put(store.db, local_values.SEEN, clock() + 1)
    clock.forward(1)
    assert task in [line.task for line in day.digest().groups["dismissed"]], (task, crashed)


def test_an_imported_failure_is_dismissed_only_once_it_has_arrived_whenever_it_happened(
    store: Store, clock: Clock
) -> None:
    day = Day(store, clock)
    known = day.task("Docs")
    long_ago = clock() - 1
    local_values.put(store.db, local_values.SEEN, clock() + 1)
    clock.forward(1)
    for uid in (known, "new"):
        fields = {"name": "Docs", "status": "failed"}
        day.commit("human", ImportTask(uid, day.home.uid, fields, times={"finished_at": long_ago}))
    assert [line.task for line in day.digest().groups["failed"]] == [known, "new"]
    lines = [list_pages.line(store.db, uid) for uid in (known, "new")]
    assert [task_records.failed_at(store.db, line) for line in lines if line is not None] == [clock() - SECOND, clock()]
    local_values.put(store.db, local_values.SEEN, clock() + 1)
    clock.forward(1)
    assert [line.task for line in day.digest().groups["dismissed"]] == [known, "new"]


def test_a_digest_names_all_agents_of_a_race_in_one_line_and_says_that_their_task_is_deleted(
    store: Store, clock: Clock
) -> None:
    day = Day(store, clock)
    uid = day.task("Fix flaky test")
    for name in "ab":
        (work,) = day.commit("human", StartWork(uid, "robot", "/repo", f"/trees/{name}", is_race=True))
        day.commit("system", RunWork(work.uid))
        day.commit("system", WorkReady(work.uid))
    assert [line.text for line in needs_you(store.db, {})] == ["2 works to review: robot-1, robot-2"]
    day.commit("human", DeleteTask(uid))
    (line,) = needs_you(store.db, {})
    assert line.text == "2 works to review: robot-1, robot-2, its task is deleted"


def test_the_last_status_of_an_agent_that_failed_is_its_own_word(store: Store, clock: Clock) -> None:
    day = Day(store, clock)
    uid = day.task("Fix flaky test")
    (work,) = day.commit("human", StartWork(uid, "robot", "/repo", "/trees/1", branch="task/1", base="main"))
    day.commit(work.agent, EditTask(uid, {"status": "failed"}))
    day.commit("system", FailWork(work.uid, "robot-1 was killed"))
    assert work_text.failed(store.db) == []
    assert day.group_of(uid) == "failed"


def test_nobody_ends_the_failure_of_an_agent_by_its_name(store: Store, clock: Clock) -> None:
    day = Day(store, clock)
    uid = day.crash("Fix flaky test")
    day.commit("robot-1", ClaimTask("robot-1", MINUTE, uid))
    assert [one.text for one in work_text.failed(store.db)] == ["robot-1 was killed; claimed by robot-1"]
    day.commit("robot-1", EditTask(uid, {"status": "done"}))
    assert [one.text for one in work_text.failed(store.db)] == ["robot-1 was killed; done by robot-1"]
    day.commit("robot-1", DeleteTask(uid))
    assert [one.text for one in work_text.failed(store.db)] == ["robot-1 was killed; task deleted by robot-1"]


@pytest.mark.parametrize("operation", [DeleteTask, lambda uid: EditTask(uid, {"status": "done"})])
def test_a_person_deals_with_a_failed_work_in_a_shell_and_an_agent_in_its_shell_does_not(
    store: Store, clock: Clock, operation: Callable[[str], Operation]
) -> None:
    day = Day(store, clock)
    uid = day.crash("Fix flaky test")
    day.commit("shell", operation(uid))
    assert len(work_text.failed(store.db)) == 1
    day.commit("shell", Undo())
    store.is_person = lambda db: True
    day.commit("shell", operation(uid))
    assert work_text.failed(store.db) == []
    day.commit("shell", Undo())
    assert [one.text for one in work_text.failed(store.db)] == ["robot-1 was killed"]
    assert task_queries.task(store.db, uid).status_by == "system"


def test_a_digest_says_that_the_task_of_a_lapsed_claim_is_deleted(store: Store, clock: Clock) -> None:
    day = Day(store, clock)
    day.commit("human", DeleteTask(day.lapse("Fix flaky test")))
    (line,) = day.digest().parts["failed"]
    assert (line.group, line.text) == ("dropped", "its claim lapsed; the task is deleted now")


def test_a_lapsed_claim_is_over_when_its_task_is_done_and_failed_when_that_has_failed(
    store: Store, clock: Clock
) -> None:
    day = Day(store, clock)
    uid = day.lapse("Rotate keys")
    for status, group in (("in_progress", "open_again"), ("done", "done"), ("failed", "failed")):
        day.commit("claude-1", EditTask(uid, {"status": status}))
        assert day.group_of(uid) == group


def test_an_agent_whose_turn_failed_counts_until_it_goes_on(store: Store, clock: Clock) -> None:
    day = Day(store, clock)
    day.report(PromptSubmitted("go on"), TurnFailed("overloaded"))
    assert [line.text for line in day.digest().groups["failed"]] == ["overloaded"]
    day.report(PromptSubmitted("again"))
    assert [line.group for line in day.digest().parts["failed"]] == ["ok_again"]
    day.report(SessionEnded())
    assert [line.text for line in day.digest().groups["gone"]] == ["its turn failed: overloaded"]


@pytest.mark.parametrize(
    ("why", "result", "given", "later", "reason"),
    [
        ({"thoughts": ["March differs"]}, None, "set to failed", "", "March differs"),
        ({"topic": "books"}, {"error": "smtp: 535"}, "", "", "smtp: 535"),
        ({}, {"error": "smtp: 535"}, "no access", "", "no access"),
        ({}, None, "", "", "step 2 of 5"),
        ({}, None, "", "the disk was full", "the disk was full"),
    ],
)
def test_the_log_gives_the_reason_that_the_inbox_gives_and_its_filter_finds_it(
    store: Store, clock: Clock, why: dict[str, object], result: object, given: str, later: str, reason: str
) -> None:
    day = Day(store, clock)
    uid = day.task("Balance the books")
    day.commit("claude-1", EditTask(uid, {"status": "in_progress", "agent": "claude-1"}))
    day.commit("claude-1", LogTask(uid, "step 2 of 5"))
    clock.forward(1)
    changes = {"status": "failed"} | ({"result": result} if result is not None else {})
    operations = [EditTask(uid, changes), *([LogTask(uid, given)] if given else [])]
    actor = "human" if later else "claude-1"
    store.commit(*operations, actor=actor, now=clock(), why=why or None)
    seq = journal.newest(store.db) - len(operations) + 1
    day.commit(actor, LogTask(uid, later or "afterwards"))
    day.commit("claude-2", LogTask(uid, "noted by another"))

    line, row = log_pages.find(store.db, [seq])[seq], list_pages.line(store.db, uid)
    assert row is not None
    assert line.reason == task_records.end_reason(store.db, row) == reason
    last_word = reason.rsplit(maxsplit=1)[-1]
    assert seq in log_pages.find(store.db, [seq], Filter((Term("word", last_word),)))
    messages = [each.new.get("message") for each in log_pages.page(store.db, log_pages.FIRST, 100)]
    assert (given in messages) == (reason != given) or not given, "what no line shows as its reason has its own line"


@pytest.mark.parametrize(("given", "reason"), [("broke on staging", "broke on staging"), ("", None)])
def test_a_failure_that_was_undone_keeps_the_note_of_its_own_change_and_takes_no_later_one(
    store: Store, clock: Clock, given: str, reason: str | None
) -> None:
    day = Day(store, clock)
    uid = day.task("Write docs")
    day.commit("human", EditTask(uid, {"status": "failed"}), *([LogTask(uid, given)] if given else []))
    seq = journal.newest(store.db) - bool(given)
    day.commit("human", Undo())
    day.commit("human", LogTask(uid, "reference"))
    assert log_pages.find(store.db, [seq])[seq].reason == reason
    found = [
        word for word in ("staging", "reference") if log_pages.find(store.db, [seq], Filter((Term("word", word),)))
    ]
    assert found == (["staging"] if given else [])
