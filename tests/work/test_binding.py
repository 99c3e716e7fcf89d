"""The session of a program that was started on a task is the work's own agent."""

from __future__ import annotations

from tests.hooks.playing import Player
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations.work import CommentWork, RunWork, StartWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.work import work_outcomes

BEGAN = {"session_id": "s-1", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/trees/1"}
PROMPTED = {"session_id": "s-1", "hook_event_name": "UserPromptSubmit", "prompt": "Work on task #1", "cwd": "/trees/1"}
STOPPED = {"session_id": "s-1", "hook_event_name": "Stop", "cwd": "/trees/1"}


def test_the_hooks_of_the_program_and_of_what_it_started_itself_speak_for_the_agent(store, clock, task):
    start = StartWork(task, "claude", "/repo", "/trees/1")
    (work,) = store.commit(start, actor="human", now=clock())
    store.commit(RunWork(work.uid, Process("boot", "ns", 40, "7")), actor="system", now=clock())
    # The program's own process is a child of the one that was started.
    player = Player(store, clock, "claude", boot="boot", namespace="ns", pid=41, born="8", ancestors="41:8 40:7 1:1")
    for payload in (BEGAN, PROMPTED):
        player.play(payload)
    assert [(one.uid, one.session, one.state) for one in session_queries.live(store.db)] == [
        ("claude-1", "s-1", "working")
    ]
    other = Player(store, clock, "claude", boot="boot", namespace="ns", pid=90, born="9", ancestors="90:9 41:8 40:7")
    other.play({**BEGAN, "session_id": "s-2"})
    assert [one.uid for one in session_queries.live(store.db)] == ["claude-1", "claude-2"]
    player.play(STOPPED)
    assert player.state()[0] == "idle"
    assert work_queries.find(store.db, work.uid).agent == "claude-1"


def test_the_program_itself_is_the_process_that_was_started(store, clock, task):
    start = StartWork(task, "claude", "/repo", "/trees/1")
    (work,) = store.commit(start, actor="human", now=clock())
    store.commit(RunWork(work.uid, Process("boot", "ns", 40, "7")), actor="system", now=clock())
    player = Player(store, clock, "claude", boot="boot", namespace="ns", pid=40, born="7", ancestors="40:7 1:1")
    player.play(BEGAN)
    player.play(PROMPTED)
    assert [(one.uid, one.state) for one in session_queries.live(store.db)] == [("claude-1", "working")]


def test_work_with_comments_is_ready_again_only_once_its_agent_has_ended_another_turn(store, clock, repo, task):
    start = StartWork(task, "claude", str(repo), str(repo), branch="main", base="main", base_commit="0" * 40)
    (work,) = store.commit(start, actor="human", now=clock())
    store.commit(RunWork(work.uid, Process("boot", "ns", 40, "7")), actor="system", now=clock())
    player = Player(store, clock, "claude", boot="boot", namespace="ns", pid=40, born="7", ancestors="40:7 1:1")
    (repo / "new.txt").write_text("new\n")

    def look() -> str:
        work_outcomes.look_at(store, work_queries.find(store.db, work.uid), clock.forward(1))
        return work_queries.find(store.db, work.uid).state

    for payload in (BEGAN, PROMPTED, STOPPED):
        player.play(payload)
    assert look() == "ready"
    store.commit(CommentWork(work.uid, "Once more"), actor="human", now=clock())
    assert [look(), look()] == ["working", "working"]
    player.play(PROMPTED)
    assert look() == "working"
    player.play(STOPPED)
    assert look() == "ready"
