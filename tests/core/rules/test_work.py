"""Work: an agent that the human has started on a task, from its start to the merge."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.conftest import START, Talk
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import CannotUndo, Conflict, Forbidden
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.compaction_steps import compacting
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.sessions import PromptSubmitted, RecordReport, SessionReport, SessionStarted
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.operations.work import (
    BeginMerge,
    CommentWork,
    ConflictWork,
    CountWork,
    DiscardWork,
    FailWork,
    LimitWork,
    MergeWork,
    RestoreWork,
    RunWork,
    SetWork,
    StartWork,
    WorkReady,
)
from tui_tasks.core.read import message_queries, work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.agents.session_rules import agent_of
from tui_tasks.core.store import Store

RUNS = Process("boot", "ns", 4711, "99")


def start(task: str, **more) -> StartWork:
    fields = {"repository": "/repo", "worktree": f"/trees/{task}", "branch": f"task/{task[:6]}", "base": "main"}
    return StartWork(task, "claude", base_commit="c0", has_terminal=True, **fields | more)


@pytest.fixture
def human(do):
    return lambda *operations: do(*operations, actor="human")[-1]


@pytest.fixture
def task(add) -> str:
    return add("Rotate keys")


def status(store: Store, uid: str) -> str:
    return task_queries.task(store.db, uid).status


def sound(store: Store) -> None:
    assert list(database_findings.differences(store.db)) == []


def test_no_agent_is_started_on_a_done_task_before_it_is_reopened(store, human, task):
    human(EditTask(task, {"status": "done"}))
    with pytest.raises(Conflict, match="#1 is done: reopen it first, `tui-tasks status 1 pending`"):
        human(start(task))
    human(EditTask(task, {"status": "pending"}))
    assert human(start(task)).state == "starting"


def test_a_question_of_a_started_agent_is_about_its_task_while_its_work_goes_on(store, do, human, task):
    work = human(start(task))
    assert do(OpenAsk("jose?"), actor=work.agent)[-1].task_uid == task
    assert do(OpenAsk("jose?"), actor="robin")[-1].task_uid is None
    human(FailWork(work.uid, "gone"))
    assert do(OpenAsk("jose?"), actor=work.agent)[-1].task_uid is None


def test_a_started_task_is_in_progress_claimed_by_the_session_and_linked_to_its_branch(store, human, task):
    work = human(start(task))
    assert (work.agent, work.state) == ("claude-1", "starting")
    found = task_queries.task(store.db, task)
    assert (found.status, found.agent, found.claimed_by) == ("in_progress", "claude-1", "claude-1")
    assert found.links == ({"kind": "branch", "target": f"task/{task[:6]}"},)
    session = session_queries.find(store.db, "claude-1")
    assert (session.cwd, session.state) == (f"/trees/{task}", "idle")
    assert human(RunWork(work.uid, RUNS, "Do it")).state == "working"
    session = session_queries.find(store.db, "claude-1")
    assert (session.pid, session.state, session.last_prompt) == (4711, "working", "Do it")
    sound(store)


def test_no_agent_is_started_in_a_repository_of_another_project(store, do, human):
    home, other = do(EnsureList("api/tasklist", "tasklist", project="api"), EnsureList("mine", "task"))
    of_api, of_none = do(AddTask("Rotate keys", home.uid), AddTask("Tidy", other.uid))
    with pytest.raises(Conflict, match="belongs to the project api, and /repo is the project hello"):
        human(start(of_api.uid, project="hello"))
    assert work_queries.everything(store.db) == []
    for uid, project in ((of_api.uid, "api"), (of_none.uid, "hello")):
        assert human(start(uid, project=project)).state == "starting"


def test_the_programs_own_session_goes_on_as_the_agent_and_its_prompt_makes_no_task(store, clock, human, task):
    human(RunWork(human(start(task)).uid, RUNS))
    with store.transaction(clock.forward(1)) as tx:
        found = session_queries.without_id(tx.db, "claude", [Process("boot", "ns", 4712, "99"), RUNS])
        report = SessionReport("claude", "s1", (SessionStarted(), PromptSubmitted("hi")), clock(), RUNS, agent=found)
        tx.speak(agent_of(tx, report))
        tx.run(RecordReport(report, "", True))
        assert agent_of(tx, SessionReport("claude", "s2", agent=found)) == "claude-2"
    session = session_queries.find(store.db, "claude-1")
    assert (session.session, session.state, session.task) == ("s1", "working", None)
    assert session_queries.by_session(store.db, "claude", "s1") == ("claude-1", "own")
    sound(store)


def test_a_task_has_its_work_in_its_object_and_in_its_events(store, clock, human, task):
    talk = Talk(store, clock, agent="bob")
    shown = talk.ok("control:task", uid=task)
    assert (shown["work"], shown["works"]) == (None, [])
    work = human(start(task))
    human(CountWork(work.uid, {"ahead": 2, "behind": 0, "files": 3, "insertions": 41, "deletions": 7, "dirty": True}))
    shown = talk.ok("control:task", uid=task)
    assert shown["works"] == [shown["work"]]
    assert shown["work"] == {
        "agent": "claude-1",
        "program": "claude",
        "branch": f"task/{task[:6]}",
        "worktree": f"/trees/{task}",
        "base": "main",
        "state": "starting",
        "ahead": 2,
        "behind": 0,
        "files": 3,
        "insertions": 41,
        "deletions": 7,
        "dirty": True,
        "pull_request": None,
        "merged_at": None,
        "message": None,
        "started_at": shown["work"]["started_at"],
    }
    human(RunWork(work.uid))
    events = talk.ok("control:history", task=task)["entries"]
    told = {event["event"]: event["task"]["work"] and event["task"]["work"]["state"] for event in events}
    assert told["task.created"] is None
    assert told["work.updated"] == "working"


def test_done_by_its_agent_makes_the_work_ready_and_its_undo_takes_that_back(store, clock, human, task):
    work = human(start(task))
    human(RunWork(work.uid))
    agent = Talk(store, clock, agent="claude-1")
    agent.ok("control:update_task", uid=task, status="done")
    assert work_queries.find(store.db, work.uid).state == "ready"
    assert [entry.kind for entry in journal.latest(store.db, 3)].count("work.ready") == 1
    agent.ok("control:undo")
    assert (work_queries.find(store.db, work.uid).state, status(store, task)) == ("working", "in_progress")
    sound(store)


def test_an_agent_reports_its_own_work_ready_and_nobody_elses(store, clock, human, add, task):
    work = human(start(task))
    agent, other = Talk(store, clock, agent="claude-1"), Talk(store, clock, agent="bob")
    assert other.refused("control:work_ready", uid=task)["code"] == "forbidden"
    assert agent.refused("control:work_ready", uid=add("Other"))["code"] == "conflict"
    assert agent.ok("control:work_ready", uid=task, summary="all of it") == {"uid": task, "state": "ready"}
    assert work_queries.find(store.db, work.uid).summary == "all of it"
    assert status(store, task) == "in_progress"


@pytest.mark.parametrize(
    "operation",
    [
        RunWork,
        WorkReady,
        RestoreWork,
        lambda uid: FailWork(uid, "x"),
        lambda uid: MergeWork(uid, "c1"),
        lambda uid: ConflictWork(uid, ("a",)),
        DiscardWork,
        lambda uid: CommentWork(uid, "more"),
        lambda uid: BeginMerge(uid, {}),
        lambda uid: SetWork(uid, {}),
        lambda uid: LimitWork(uid, "tokens", "x"),
        lambda uid: CountWork(uid, {}),
    ],
)
def test_no_agent_and_no_shell_moves_work(store, human, do, task, operation):
    uid = human(start(task)).uid
    for actor in ("claude-1", "bob", "shell"):
        with pytest.raises(Forbidden):
            do(operation(uid), actor=actor)
        with pytest.raises(Forbidden):
            do(start(task), actor=actor)
    assert work_queries.find(store.db, uid).state == "starting"


def test_never_two_agents_on_a_task_or_in_a_folder_unless_asked_for(human, add, task):
    human(start(task))
    with pytest.raises(Conflict, match="claude-1 is at work on task #1"):
        human(start(task, worktree="/elsewhere"))
    with pytest.raises(Conflict, match="claude-1 is at work in /trees"):
        human(start(add("Review"), worktree=f"/trees/{task}"))
    assert human(start(add("Review"), worktree=f"/trees/{task}", is_shared=True)).agent == "claude-2"
    assert human(start(task, worktree="/elsewhere", is_race=True)).agent == "claude-3"


def test_the_task_of_an_agent_that_failed_in_a_race_goes_to_the_next_one(store, human, task):
    first = human(start(task))
    human(RunWork(first.uid, Process("b", "n", 1, "x")))
    second = human(start(task, worktree="/elsewhere", is_race=True))
    assert task_queries.task(store.db, task).claimed_by == first.agent
    human(FailWork(first.uid, "boom"))
    found = task_queries.task(store.db, task)
    assert (found.status, found.agent, found.claimed_by) == ("in_progress", second.agent, second.agent)
    human(FailWork(second.uid, "boom"))
    found = task_queries.task(store.db, task)
    assert (found.status, found.agent, found.claimed_by) == ("pending", None, None)
    sound(store)


def test_what_could_not_be_started_leaves_the_task_pending_and_no_agent(store, human, task):
    work = human(start(task))
    assert human(FailWork(work.uid, "git: no space left")).message == "git: no space left"
    found = task_queries.task(store.db, task)
    assert (found.status, found.agent, found.claimed_by) == ("pending", None, None)
    assert session_queries.find(store.db, "claude-1").state == session_queries.GONE
    assert human(start(task)).agent == "claude-2"
    sound(store)


def test_comments_go_to_the_agent_as_one_message_and_it_goes_on(store, clock, human, task):
    work = human(start(task))
    Talk(store, clock, agent="claude-1").ok("control:update_task", uid=task, status="done")
    assert human(CommentWork(work.uid, "what if put fails?")).state == "working"
    assert [sent.text for sent in message_queries.waiting(store.db, "claude-1")] == ["what if put fails?"]
    assert status(store, task) == "in_progress"


def test_a_merge_is_written_down_before_and_after_and_the_task_is_done(store, human, task):
    work = human(start(task))
    human(WorkReady(work.uid))
    assert human(BeginMerge(work.uid, {"ref": "refs/heads/main", "old": "c0", "new": "c1"})).intent["new"] == "c1"
    assert human(ConflictWork(work.uid, ("a.py", "b.py"))).message == "conflicts in a.py, b.py"
    human(BeginMerge(work.uid, {}))
    merged = human(MergeWork(work.uid, "c1", {"refs": ["refs/tui-tasks/1"]}))
    assert (merged.state, merged.intent, status(store, task)) == ("merged", None, "done")
    assert human(RestoreWork(work.uid)).state == "ready"
    sound(store)


def test_taking_a_merge_back_gives_the_task_what_it_had_before(store, human, do, add, task):
    work = human(start(task))
    human(WorkReady(work.uid))
    before = task_queries.task(store.db, task)
    after = add("Tell the team", depends_on=(task,))
    human(MergeWork(work.uid, "c1"))
    assert task_queries.task(store.db, task).claimed_by is None and not task_queries.task(store.db, after).blocked
    human(RestoreWork(work.uid))
    now = task_queries.task(store.db, task)
    names = ("status", "agent", "claimed_by", "finished_at")
    assert [getattr(now, name) for name in names] == [getattr(before, name) for name in names]
    assert (now.status, now.claimed_by) == ("in_progress", "claude-1")
    assert task_queries.task(store.db, after).blocked
    sound(store)


def test_work_is_not_discarded_while_it_is_merged(store, human, task):
    work = human(start(task))
    human(WorkReady(work.uid))
    human(BeginMerge(work.uid, {}))
    with pytest.raises(Conflict, match="the work of claude-1 is being merged: wait for the end"):
        human(DiscardWork(work.uid))
    assert human(MergeWork(work.uid, "c1")).state == "merged"


def test_taking_a_discard_back_gives_the_agent_its_claim_again(store, human, add, task):
    work = human(start(task))
    human(WorkReady(work.uid))
    human(DiscardWork(work.uid))
    assert task_queries.task(store.db, task).claimed_by is None
    human(RestoreWork(work.uid))
    now = task_queries.task(store.db, task)
    assert (now.status, now.agent, now.claimed_by) == ("in_progress", "claude-1", "claude-1")
    human(DiscardWork(work.uid))
    human(EditTask(task, {"depends_on": (add("First"),)}))
    human(RestoreWork(work.uid))
    now = task_queries.task(store.db, task)
    assert (now.status, now.claimed_by) == ("in_progress", None)
    sound(store)


@pytest.mark.parametrize("end", [DiscardWork, lambda uid: MergeWork(uid, "c1")])
def test_taking_the_end_of_a_work_back_gives_it_the_times_that_it_had(store, task, end):
    def at(minute, operation):
        return store.commit(operation, actor="human", now=START + minute * 60_000_000)[0]

    work = at(1, start(task))
    at(3, WorkReady(work.uid))
    before = task_queries.task(store.db, task)
    at(5, end(work.uid))
    at(7, RestoreWork(work.uid))
    now = task_queries.task(store.db, task)
    assert (now.started_at, now.status) == (before.started_at, "in_progress")
    assert work_queries.ready_since(store.db, work) == START + 3 * 60_000_000
    assert [since for _, since in work_queries.to_review(store.db)] == [START + 3 * 60_000_000]
    sound(store)


@pytest.mark.parametrize("why", [None, "claude-2 was merged"])
def test_taking_a_discard_back_says_of_ready_work_again_what_its_review_warned_of(store, human, task, why):
    work = human(start(task))
    before = human(WorkReady(work.uid, message="its agent ended with exit 3"))
    human(DiscardWork(work.uid, message=why))
    restored = human(RestoreWork(work.uid))
    assert (restored.state, restored.message) == ("ready", before.message)
    assert restored.message == "its agent ended with exit 3"
    human(ConflictWork(work.uid, ("a.py",)), DiscardWork(work.uid))
    assert human(RestoreWork(work.uid)).message is None, "nothing is in conflict until the next merge"
    sound(store)


def test_taking_a_merge_back_leaves_a_task_done_that_its_agent_had_set_done(store, human, do, task):
    work = human(start(task))
    do(EditTask(task, {"status": "done"}), actor="claude-1")
    human(MergeWork(work.uid, "c1"))
    human(RestoreWork(work.uid))
    assert status(store, task) == "done"


def test_an_undo_passes_over_a_merge_that_was_taken_back_and_what_that_did_to_the_task(store, human, add, task):
    human(EditTask(task, {"name": "Mine"}))
    work = human(start(task))
    human(WorkReady(work.uid))
    human(MergeWork(work.uid, "c1"))
    human(RestoreWork(work.uid))
    with pytest.raises(CannotUndo, match="has started an agent"):
        human(Undo())


def test_comments_that_an_agent_has_are_not_taken_back(store, human, task):
    work = human(start(task))
    human(WorkReady(work.uid))
    human(CommentWork(work.uid, "what if put fails?"))
    with pytest.raises(CannotUndo, match="the agent has the comments already") as refused:
        human(Undo())
    changes = (refused.value.change, refused.value.before)
    described = [change_summaries.description(store.db, change, undone=False) for change in changes]
    assert described == ["#1 Rotate keys: comment sent", "#1 Rotate keys: agent started"]


@pytest.mark.parametrize("end", ["fails", "ends"])
def test_work_that_was_merged_stays_so_when_its_agent_goes_on_and_ends(store, human, do, task, end):
    work = human(start(task))
    human(WorkReady(work.uid))
    human(MergeWork(work.uid, "c1", {"merge": {}}, goes_on=True))
    assert status(store, task) == "in_progress"
    operation = FailWork(work.uid, "it has ended") if end == "fails" else MergeWork(work.uid, "c1", {"merge": {}})
    merged = do(operation, actor="system")[0]
    assert (merged.state, merged.kept, status(store, task)) == ("merged", {"merge": {}}, "done")
    sound(store)


def test_discarding_makes_the_task_pending_and_restoring_brings_it_back(store, human, do, task):
    work = human(start(task))
    do(EditTask(task, {"status": "done"}), actor="claude-1")
    human(DiscardWork(work.uid, "c1"))
    found = task_queries.task(store.db, task)
    assert (found.status, found.agent) == ("pending", None)
    with pytest.raises(CannotUndo, match="tui-tasks work restore"):
        human(Undo())
    human(RestoreWork(work.uid))
    assert (work_queries.find(store.db, work.uid).state, status(store, task)) == ("ready", "in_progress")
    sound(store)


@pytest.mark.parametrize("end", [DiscardWork, lambda uid: FailWork(uid, "it has ended")])
def test_a_task_is_for_whom_it_was_before_again_once_the_work_on_it_has_ended(store, human, task, end):
    human(EditTask(task, {"agent": "codex"}))
    work = human(start(task))
    human(end(work.uid))
    assert task_queries.task(store.db, task).agent == "codex"
    human(RestoreWork(work.uid), end(work.uid) if end is DiscardWork else DiscardWork(work.uid))
    assert (status(store, task), task_queries.task(store.db, task).agent) == ("pending", "codex")
    sound(store)


def test_compaction_keeps_work(store, clock, human, add, task):
    human(start(task))
    human(DiscardWork(human(start(add("Other"))).uid))
    before = work_queries.everything(store.db)
    with closing(compacting(store, clock.forward(9), clock())) as steps:
        for _ in steps:
            pass
    assert work_queries.everything(store.db) == before
    sound(store)


def test_a_revert_names_all_of_four_tasks_and_the_work_for_review_on_those_that_it_deletes(store, human, add, task):
    for name in ("Two", "Three", "Four"):
        add(name)
    human(WorkReady(human(start(task)).uid))
    changes = change_summaries.of_agent(store.db, "agent", 0)
    question = change_summaries.summary(store.db, changes).question
    assert "to 4 tasks? Four, Three, Two, Rotate keys. It deletes #2, #3, #4, and " in question
    assert question.endswith(" what waits for your review: #1 (work of claude-1).")
