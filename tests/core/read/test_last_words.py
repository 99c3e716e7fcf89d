"""What agents were seen to do, from the journal, and what is told of those that are stuck."""

from __future__ import annotations

import pytest

from tests.conftest import SECOND, Clock, Talk
from tests.talking import ADD, add
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.errors import Forbidden
from tui_tasks.core.operations.asks import AnswerAsk, NoteStuck, PauseAgent
from tui_tasks.core.operations.sessions import (
    PromptSubmitted,
    SessionEnded,
    SessionReport,
    SessionStarted,
    TaskListItem,
    TaskListReported,
)
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask
from tui_tasks.core.read.agents import last_words, stuck_signs
from tui_tasks.core.read.agents.stuck_causes import Thresholds, causes
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.hooks import intake
from tui_tasks.runner.scheduler_service import EVERY, StuckWatch

LIMITS = Thresholds()


def kinds(store: Store, clock: Clock) -> dict[str, str]:
    return {
        name: cause.kind for name, cause in causes(stuck_signs.of_agents(store.db, clock()), clock(), LIMITS).items()
    }


def test_who_has_nothing_to_do_is_never_stuck(talk, store, clock):
    add(talk)
    clock.forward(86_400)
    assert kinds(store, clock) == {}


def test_one_with_a_task_that_falls_silent_is_stuck_until_it_says_something(talk, store, clock):
    uid = add(talk)
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    clock.forward(LIMITS.silent - 1)
    assert kinds(store, clock) == {}
    clock.forward(1)
    assert kinds(store, clock) == {"agent": "silent"}
    talk.ok("tasklist:log_task_progress", uid=uid, message="still there")
    assert kinds(store, clock) == {}


def test_a_task_that_a_person_starts_in_a_shell_is_its_agents_work_once_the_agent_has_touched_it(talk, store, clock):
    uid = add(talk)
    changes = {"agent": "robin", "status": "in_progress"}
    store.commit(EditTask(uid, changes), actor="shell", now=clock())
    clock.forward(LIMITS.silent)
    assert last_words.working(store.db) == {} and kinds(store, clock) == {}
    talk.ok("tasklist:log_task_progress", {"agent": "robin"}, uid=uid, message="mine")
    assert list(last_words.working(store.db)) == ["robin"]


def test_what_it_says_of_itself_counts_for_nothing(talk, store, clock):
    """A task in and out of progress is one, however cheerful the log."""
    uid = add(talk)
    for _ in range(3):
        talk.ok("tasklist:set_task_in_progress", uid=uid)
        talk.ok("tasklist:log_task_progress", uid=uid, message="going great, nearly done!")
        talk.ok("tasklist:set_task_pending", uid=uid)
        clock.forward(30)
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    assert kinds(store, clock) == {"agent": "flip"}


@pytest.mark.parametrize("is_at_it", [True, False])
def test_one_that_fails_a_task_three_times_for_one_reason_is_stuck_until_it_begins_another(
    talk, store, clock, is_at_it
):
    uid, other = add(talk), add(talk)
    for at in range(3):
        assert kinds(store, clock) == {}
        talk.ok("tasklist:set_task_in_progress", uid=uid)
        clock.forward(25)
        talk.ok("tasklist:set_task_failed", {"thoughts": f"npm ERR! missing script: build ({at} s)"}, uid=uid)
        clock.forward(8)
    if is_at_it:
        talk.ok("tasklist:set_task_in_progress", uid=uid)
    (cause,) = causes(stuck_signs.of_agents(store.db, clock()), clock(), LIMITS).values()
    assert (cause.kind, cause.text) == ("failure", "the same failure 3 times: npm ERR! missing script: build (2 s)")
    if is_at_it:
        talk.ok("tasklist:set_task_pending", uid=uid)
    talk.ok("tasklist:set_task_in_progress", uid=other)
    assert kinds(store, clock) == {}


def test_one_that_fails_a_task_for_other_reasons_is_not_stuck(talk, store, clock):
    uid = add(talk)
    for reason in ("no network", "no disk", "no key"):
        talk.ok("tasklist:set_task_in_progress", uid=uid)
        talk.ok("tasklist:log_task_progress", uid=uid, message=reason)
        talk.ok("tasklist:set_task_failed", uid=uid)
        clock.forward(8)
    assert kinds(store, clock) == {}


def test_one_that_was_not_heard_for_a_day_has_left_and_is_not_stuck_unless_it_is_connected(talk, store, clock):
    talk.ok("tasklist:set_task_in_progress", uid=add(talk))
    clock.forward(24 * 3600)
    assert kinds(store, clock) == {"agent": "silent"}
    clock.forward(1)
    assert kinds(store, clock) == {}
    with store.db.transaction(write=True):
        connections.begin(store.db, "agent", Process("boot", "namespace", 1, "born"), clock())
    assert kinds(store, clock) == {"agent": "silent"}


def test_one_that_is_gone_is_not_stuck(talk, store, clock):
    talk.ok("tasklist:set_task_in_progress", uid=add(talk))
    process = Process("boot", "namespace", 1, "born")
    with store.db.transaction(write=True):
        connections.begin(store.db, "agent", process, clock())
    clock.forward(LIMITS.silent)
    assert kinds(store, clock) == {"agent": "silent"}
    with store.db.transaction(write=True):
        connections.end(store.db, "agent", process, clock())
    assert kinds(store, clock) == {}


def test_a_session_that_has_ended_is_not_stuck_by_an_item_of_its_own_list(store, clock):
    begun = (
        SessionStarted(),
        PromptSubmitted("go"),
        TaskListReported((TaskListItem("0", "Item", status="in_progress"),)),
    )
    for events in (begun, (SessionEnded(),)):
        with store.transaction(clock()) as transaction:
            report = SessionReport("codex", "s", events, clock())
            assert intake.record_report(transaction, "", report, tasks=True)
    clock.forward(2 * LIMITS.silent)
    assert last_words.working(store.db).keys() == {"codex-1"}
    assert kinds(store, clock) == {}


def test_a_question_is_a_wait_for_the_human_since_it_was_asked(talk, store, clock):
    talk.ok("tasklist:set_task_in_progress", uid=add(talk))
    clock.forward(5)
    asked = clock()
    talk.session.answer([{"id": 1, "tool": "ask", "arguments": {"question": "Which port?\nOr both?"}}])
    clock.forward(LIMITS.waiting)
    (cause,) = causes(stuck_signs.of_agents(store.db, clock()), clock(), LIMITS).values()
    assert (cause.kind, cause.since, cause.text) == ("human", asked, "waits for you: Which port?")


def test_a_question_that_waits_is_told_by_itself_and_not_as_an_event(talk, store, clock):
    talk.session.answer([{"id": 1, "tool": "ask", "arguments": {"question": "Which port?"}}])
    clock.forward(LIMITS.waiting)
    assert kinds(store, clock) == {"agent": "human"}
    before = talk.seq()
    StuckWatch(lambda: LIMITS).look(store, clock())
    assert talk.seq() == before


def test_one_that_asked_and_goes_on_is_not_waiting(talk, store, clock):
    uid = add(talk)
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    talk.session.answer([{"id": 1, "tool": "ask", "arguments": {"question": "Which port?"}}])
    clock.forward(LIMITS.waiting)
    talk.ok("tasklist:log_task_progress", uid=uid, message="meanwhile")
    assert kinds(store, clock) == {}


def test_a_lease_alone_is_no_work(talk, store, clock):
    add(talk)
    claim = talk.ok("control:claim", lease_seconds=900)["claim"]
    for _ in range(LIMITS.lease // 300):
        clock.forward(300)
        talk.ok("control:heartbeat", claim=claim)
    assert kinds(store, clock) == {"agent": "lease"}


def test_the_same_refusal_again_and_again_is_a_failure(talk, store, clock):
    talk.ok("tasklist:set_task_in_progress", uid=add(talk))
    for _ in range(3):
        talk.refused("control:pause", agent="other")
        clock.forward(5)
    (cause,) = causes(stuck_signs.of_agents(store.db, clock()), clock(), LIMITS).values()
    assert cause.kind == "failure"
    assert "control:pause" in cause.text


def test_who_waits_for_a_task_of_one_that_is_stuck_is_stuck_behind_it(talk, other, store, clock):
    uid = add(other)
    other.ok("tasklist:set_task_in_progress", uid=uid)
    clock.forward(300)
    talk.ok("create_plan", title="p", tasks=[{"title": "after", "depends_on": [uid], "agent_id": "agent"}])
    clock.forward(300)
    assert kinds(store, clock) == {"other": "silent", "agent": "agent"}


def test_one_that_is_paused_is_not_stuck(talk, store, clock):
    talk.ok("tasklist:set_task_in_progress", uid=add(talk))
    store.commit(PauseAgent("agent", "wait"), actor="human", now=clock())
    clock.forward(86_400)
    assert kinds(store, clock) == {}


def test_each_cause_is_told_once_and_its_end_too(talk, store, clock, path):
    uid = add(talk)
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    talk.ok("control:subscribe")
    since = clock()
    clock.forward(LIMITS.silent)
    with Store(str(path)) as second:
        watches = [(StuckWatch(Thresholds), each) for each in (store, second)]
        for _ in range(3):
            for watch, each in watches:
                assert watch.look(each, clock()) == clock() + EVERY
            clock.forward(15)
        (event,) = talk.events()
        assert (event["event"], event["actor"], event["stuck"]["uid"]) == ("agent.stuck", "system", "agent")
        assert event["stuck"]["cause"] == "silent"
        assert event["stuck"]["since"].startswith("2026-01-02T11:22:14")
        assert since == talk.clock() - (LIMITS.silent + 45) * SECOND
        assert [one.uid for one in last_words.stuck_now(store.db)] == ["agent"]
        talk.ok("tasklist:set_task_done", uid=uid)
        for watch, each in watches:
            assert watch.look(each, clock()) is None
    assert [event["event"] for event in talk.events()] == ["task.updated", "agent.unstuck"]
    assert last_words.stuck_now(store.db) == []


def test_one_that_was_heard_between_two_looks_is_stuck_since_then(talk, store, clock):
    watch = StuckWatch(lambda: Thresholds(silent=8))
    uid = add(talk)
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    clock.forward(16)
    watch.look(store, clock())
    talk.ok("tasklist:log_task_progress", uid=uid, message="still there")
    heard = clock()
    clock.forward(16)
    watch.look(store, clock())
    assert [one.since for one in last_words.stuck_now(store.db)] == [heard]


def test_a_look_is_not_taken_again_at_once_whatever_is_committed(talk, store, clock):
    watch = StuckWatch(Thresholds)
    talk.ok("tasklist:set_task_in_progress", uid=add(talk))
    clock.forward(LIMITS.silent - 1)
    later = watch.look(store, clock())
    clock.forward(5)
    assert watch.look(store, clock()) == later
    assert last_words.stuck_now(store.db) == []


def test_no_agent_says_that_another_is_stuck(store, clock):
    for actor in ("agent", "human", "shell"):
        with pytest.raises(Forbidden):
            store.commit(NoteStuck("other", "silent", "x", 1), actor=actor, now=clock())


def test_an_answer_ends_the_wait(talk: Talk, store, clock):
    talk.ok("tasklist:set_task_in_progress", uid=add(talk))
    talk.session.answer([{"id": 1, "tool": "ask", "arguments": {"question": "Which port?"}}])
    clock.forward(LIMITS.waiting)
    assert kinds(store, clock) == {"agent": "human"}
    (ask,) = store.db.sql("SELECT uid FROM ask").fetchone()
    store.commit(AnswerAsk(ask, "80"), actor="human", now=clock())
    assert kinds(store, clock) == {}
    assert talk.ask(ADD, name="on")["ok"]


def test_an_agent_with_very_many_tasks_hides_no_other_agent(store, clock):
    (home,) = store.commit(CreatePlan("chores"), actor="hog", now=clock())
    tasks = store.commit(*(AddTask(f"Chore {at}", home.uid) for at in range(301)), actor="hog", now=clock())
    started = [EditTask(task.uid, {"status": "in_progress"}) for task in tasks]
    store.commit(*started[:-1], actor="hog", now=clock())
    store.commit(started[-1], actor="claude-1", now=clock())
    assert last_words.working(store.db)["claude-1"].uid == tasks[-1].uid
    assert last_words.working(store.db).keys() == {"hog", "claude-1"}
    assert len(list(last_words.in_progress(store.db))) == last_words.MAX_OF_AGENT + 1
