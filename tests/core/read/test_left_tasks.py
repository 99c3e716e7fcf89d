"""Who has left a task, or says nothing about it: claims that lapse, processes that end, agents that come back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.conftest import SECOND, Clock, Talk
from tests.talking import add
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk, OpenAsk, PauseAgent, ResumeAgent
from tui_tasks.core.operations.sessions import EndSession, PromptSubmitted, SessionReport, SessionStarted
from tui_tasks.core.operations.tasks import AddTask, ClaimTask, EditTask, EnsureList, LapseClaims
from tui_tasks.core.operations.work import CommentWork, RunWork, StartWork, WorkReady
from tui_tasks.core.read.agents import agent_states, agent_views
from tui_tasks.core.read.agents.agent_states import MOST, LeftTask
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections, local_values
from tui_tasks.hooks import intake, session_processes
from tui_tasks.text.times import DAY

LEASE = 60
GRACE = 600 * SECOND
HERE = Process("boot", "namespace", 1, "born")


class Scene:
    """Agents on the channel, the processes of some, and what is read of them."""

    def __init__(self, talk: Talk, store: Store, clock: Clock) -> None:
        self.talk, self.store, self.clock = talk, store, clock

    def claim(self, agent: str = "alpha") -> str:
        """Connect an agent, and let it claim a task."""
        self.connect(agent)
        return self.talk.ok("control:claim", {"agent": agent}, lease_seconds=LEASE)["task"]["uid"]

    def connect(self, agent: str) -> None:
        with self.store.db.transaction(write=True):
            connections.begin(self.store.db, agent, HERE, self.clock())

    def kill(self, agent: str = "alpha") -> None:
        with self.store.db.transaction(write=True):
            connections.end(self.store.db, agent, HERE, self.clock())

    def later(self, seconds: float) -> None:
        self.clock.forward(seconds)
        self.talk.session.settle()

    def left(self) -> dict[str, LeftTask]:
        return agent_views.left_now(self.store.db, self.clock(), GRACE)

    def member(self, agent: str = "alpha") -> AgentView:
        now, seen_at = self.clock(), local_values.seen_at(self.store.db)
        members = agent_views.everyone(self.store.db, now - DAY, seen_at=seen_at, now=now)
        return next(one for one in members if one.name == agent)

    def state(self, agent: str = "alpha") -> str:
        """The state as the screen shows it."""
        return agent_states.state_of(self.member(agent), self.clock(), GRACE)


@pytest.fixture
def scene(talk: Talk, store: Store, clock: Clock) -> Scene:
    add(talk)
    return Scene(talk, store, clock)


def test_one_that_works_has_left_nothing(scene):
    scene.claim()
    scene.later(LEASE - 1)
    assert (scene.left(), scene.state()) == ({}, "working")


def test_a_program_that_has_ended_has_left_nothing_while_its_changes_are_read_or_it_is_started_again(scene):
    commit = partial(scene.store.commit, now=scene.clock.forward(1))
    (home,) = commit(EnsureList("work", "task"), actor="human")
    task = commit(AddTask("Rotate keys", home.uid), actor="human")[0].uid
    (work,) = commit(StartWork(task, "robot", "/repo", "/trees/1", branch="task/1", base="main"), actor="human")
    commit(RunWork(work.uid, Process("boot", "ns", 40, "7"), "Do it"), actor="system")
    commit(EndSession("robot-1", "its process has ended"), actor="system")
    assert (scene.state("robot-1"), scene.member("robot-1").between) == ("ended", "reading its changes")
    assert scene.left() == {}
    scene.clock.forward(5)
    assert (scene.state("robot-1"), [one.agent for one in scene.left().values()]) == ("left", ["robot-1"])
    scene.store.commit(WorkReady(work.uid), actor="system", now=scene.clock())
    assert (scene.state("robot-1"), scene.left()) == ("ready", {})
    scene.store.commit(CommentWork(work.uid, "Again"), actor="human", now=scene.clock())
    assert (scene.state("robot-1"), scene.member("robot-1").between) == ("ended", "starting again")
    assert scene.left() == {}


def test_one_that_was_killed_before_its_lease_ends_has_left_a_task_in_progress(scene):
    uid = scene.claim()
    scene.later(5)
    scene.kill()
    killed = scene.clock()
    scene.later(5)
    assert scene.left() == {uid: LeftTask("alpha", killed)}
    assert scene.state() == "left"


def test_one_whose_question_was_answered_is_idle_since_the_answer(scene):
    scene.connect("beta")
    (ask,) = scene.store.commit(OpenAsk("Today?"), actor="beta", now=scene.clock())
    scene.later(300)
    scene.store.commit(AnswerAsk(ask.uid, "yes"), actor="human", now=scene.clock())
    answered = scene.clock()
    scene.later(60)
    assert (scene.state("beta"), scene.member("beta").since) == ("idle", answered)


def test_one_that_was_killed_is_gone_also_when_several_processes_find_so(scene):
    uid = scene.claim()
    scene.kill()
    killed = scene.clock()
    scene.later(1)
    scene.kill()
    assert (scene.state(), scene.left()) == ("left", {uid: LeftTask("alpha", killed)})


def test_one_that_was_killed_has_still_left_its_task_when_the_lease_has_ended(scene):
    uid = scene.claim()
    scene.kill()
    killed = scene.clock()
    scene.later(LEASE)
    assert scene.left() == {uid: LeftTask("alpha", killed, has_lapsed=True)}
    assert scene.state() == "left"


def test_one_that_is_connected_and_lets_its_claim_lapse_is_quiet_and_neither_idle_nor_gone(scene):
    uid = scene.claim()
    heard = scene.clock()
    scene.later(LEASE)
    assert scene.left() == {uid: LeftTask("alpha", heard, "quiet", has_lapsed=True)}
    assert scene.state() == "quiet"
    scene.talk.ok("tasklist:add_task", {"agent": "alpha"}, name="another")
    assert (scene.left(), scene.state()) == ({}, "idle")


def test_one_that_is_suspended_stays_so_and_its_task_says_that_it_is_silent(scene):
    uid = scene.claim()
    with scene.store.db.transaction(write=True):
        connections.set_stopped(scene.store.db, "alpha", HERE, scene.clock())
    scene.later(LEASE)
    assert scene.state() == "stopped"
    assert scene.left()[uid].agent_is != "gone"


def test_one_that_is_refused_since_its_claim_lapsed_is_heard_and_its_task_says_that_the_claim_lapsed(scene):
    uid = scene.claim()
    scene.later(LEASE)
    lapsed = scene.clock()
    scene.clock.forward(20)
    assert scene.talk.refused("tasklist:log_task_progress", {"agent": "alpha"}, uid=uid, message="on")
    with scene.store.db.transaction(write=True):
        connections.put_sign(scene.store.db, "alpha", scene.clock())
    assert scene.left() == {uid: LeftTask("alpha", lapsed, "heard", has_lapsed=True)}
    assert scene.state() == "stuck"
    assert agent_states.left_text(scene.left()[uid], "alpha", scene.clock()) == "claim of alpha lapsed 20s ago"
    assert agent_states.lapsed_text(scene.member(), scene.clock()) == "its claim on #1 lapsed 20s ago"
    _taken(scene, uid)
    assert scene.state() == "idle", "another has its task"


def _taken(scene: Scene, uid: str) -> None:
    scene.talk.ok("control:claim", {"agent": "beta"}, uid=uid)


def _assigned(scene: Scene, uid: str) -> None:
    scene.store.commit(EditTask(uid, {"agent": "beta"}), actor="human", now=scene.clock())


def _closed(scene: Scene, uid: str) -> None:
    scene.store.commit(EditTask(uid, {"status": "cancelled"}), actor="human", now=scene.clock())


def _seen(scene: Scene, uid: str) -> None:
    local_values.put(scene.store.db, local_values.SEEN, scene.clock())


def _of_the_human(scene: Scene, uid: str) -> None:
    scene.store.commit(EditTask(uid, {"status": "in_progress"}), actor="human", now=scene.clock())


@pytest.mark.parametrize("end", [_taken, _assigned, _closed, _seen, _of_the_human])
def test_a_task_is_left_no_more_once_it_is_taken_closed_or_seen_and_its_agent_is_gone_but_has_not_finished(
    scene: Scene, end: Callable[[Scene, str], None]
):
    uid = scene.claim()
    scene.kill()
    scene.later(LEASE)
    assert uid in scene.left()
    scene.later(1)
    end(scene, uid)
    assert (scene.left(), scene.state()) == ({}, "gone")


def test_one_that_is_back_has_left_nothing_and_finishes_as_any_other(scene):
    scene.claim()
    scene.kill()
    scene.later(LEASE)
    scene.later(1)
    scene.connect("alpha")
    assert (scene.left(), scene.state()) == ({}, "idle")
    scene.kill()
    assert (scene.left(), scene.state()) == ({}, "finished")


def test_one_that_writes_in_the_moment_its_claim_lapses_is_not_silent(scene):
    scene.claim()
    scene.clock.forward(LEASE)
    scene.talk.ok("tasklist:add_task", {"agent": "alpha"}, name="another")
    assert (scene.left(), scene.state()) == ({}, "idle")


def test_one_that_left_with_nothing_in_progress_has_finished(scene):
    uid = scene.claim()
    scene.talk.ok("tasklist:set_task_done", {"agent": "alpha"}, uid=uid)
    scene.kill()
    scene.later(LEASE)
    assert (scene.left(), scene.state()) == ({}, "finished")


@pytest.mark.parametrize("starts", ["control:claim", "tasklist:set_task_in_progress"])
def test_one_whose_task_is_given_back_after_it_was_killed_has_not_finished(scene, starts):
    uid = add(scene.talk, "task")
    scene.connect("alpha")
    scene.talk.ok(starts, {"agent": "alpha"}, uid=uid)
    for at in range(70):
        scene.talk.ok("tasklist:log_task_progress", {"agent": "alpha"}, uid=uid, message=f"step {at}")
    scene.kill()
    assert scene.state() == "left"
    scene.later(5)
    scene.store.commit(EditTask(uid, {"status": "pending", "agent": None}), actor="human", now=scene.clock())
    assert (scene.left(), scene.state()) == ({}, "gone")
    scene.later(5)
    scene.talk.ok(starts, {"agent": "beta"}, uid=uid)
    scene.talk.ok("tasklist:set_task_done", {"agent": "beta"}, uid=uid)
    assert scene.state() == "gone", "another has done it"


def test_one_that_was_killed_while_it_waited_for_an_answer_has_not_finished(scene):
    scene.connect("alpha")
    (ask,) = scene.store.commit(OpenAsk("Which one?"), actor="alpha", now=scene.clock())
    with scene.store.db.transaction(write=True):
        connections.put_wait(scene.store.db, "alpha", ask.uid, scene.clock())
    scene.kill()
    scene.store.commit(CloseAsk(ask.uid, "withdrawn", session_processes.REASON), actor="system", now=scene.clock())
    assert scene.state() == "gone"
    with scene.store.db.transaction(write=True):
        connections.drop_wait(scene.store.db, "alpha")
    scene.connect("alpha")
    scene.kill()
    assert scene.state() == "finished", "it came back, and left with nothing open"


def test_one_whose_work_a_human_has_set_done_has_finished(scene):
    uid = scene.claim()
    scene.kill()
    scene.later(5)
    scene.store.commit(EditTask(uid, {"status": "done"}), actor="human", now=scene.clock())
    assert (scene.left(), scene.state()) == ({}, "finished")


def test_a_claim_of_a_caller_that_makes_single_calls_is_left_as_soon_as_it_lapses(scene):
    uid = scene.talk.ok("control:claim", {"agent": "alpha"}, lease_seconds=LEASE)["task"]["uid"]
    scene.later(LEASE)
    assert scene.left()[uid].agent_is == "gone"
    assert scene.state() == "left"


def test_of_two_claims_that_lapsed_each_task_says_so(scene):
    uids = {
        scene.talk.ok("task", action="create", title=f"job {at}")["structuredContent"]["task"]["task_id"] for at in "ab"
    }
    scene.connect("alpha")
    for uid in uids:
        scene.talk.ok("control:claim", {"agent": "alpha"}, uid=uid, lease_seconds=LEASE)
    scene.kill()
    scene.later(LEASE)
    assert scene.left().keys() == uids


def test_one_that_wrote_much_about_other_tasks_before_it_died_has_left_its_task_all_the_same(scene):
    uid = scene.claim()
    other = add(scene.talk, "another")
    for number in range(70):
        scene.talk.ok("tasklist:log_task_progress", {"agent": "alpha"}, uid=other, message=f"step {number}")
    scene.kill()
    killed = scene.clock()
    scene.later(LEASE)
    assert scene.left() == {uid: LeftTask("alpha", killed, has_lapsed=True)}
    assert scene.state() == "left"


def test_a_day_later_nobody_is_told_of_it(scene):
    scene.claim()
    scene.kill()
    scene.later(LEASE)
    scene.later(24 * 3600)
    assert scene.left() == {}


def test_a_session_whose_process_ended_has_left_the_task_of_its_lapsed_claim(scene):
    with scene.store.transaction(scene.clock()) as transaction:
        report = SessionReport("claude", "s", (SessionStarted(), PromptSubmitted("go")), scene.clock())
        assert intake.record_report(transaction, "", report, tasks=False)
    uid = scene.talk.ok("control:claim", {"agent": "claude-1"}, lease_seconds=LEASE)["task"]["uid"]
    scene.store.commit(EndSession("claude-1", "no more"), actor="system", now=scene.clock())
    ended = scene.clock()
    scene.later(LEASE)
    assert scene.left() == {uid: LeftTask("claude-1", ended, has_lapsed=True)}
    assert scene.state("claude-1") == "left"


def _lets_many_lapse(scene: Scene, agent: str, number: int) -> None:
    """Let an agent claim so many tasks, and lose all of them at once."""
    store, home = scene.store, scene.store.db.scalar("SELECT uid FROM list WHERE name = 'task'")
    made = store.commit(*(AddTask(f"job {at}", home) for at in range(number)), actor=agent, now=scene.clock())
    store.commit(*(ClaimTask(agent, SECOND, task.uid) for task in made), actor=agent, now=scene.clock())
    scene.clock.forward(2)
    store.commit(LapseClaims(), actor="system", now=scene.clock())


def test_thousands_of_claims_of_another_agent_that_lapse_hide_none(scene):
    uid = scene.claim()
    scene.kill()
    killed = scene.clock()
    scene.later(LEASE)
    _lets_many_lapse(scene, "omega", 1_500)
    assert scene.left()[uid] == LeftTask("alpha", killed, has_lapsed=True)
    assert scene.state() == "left"
    assert len(scene.member("omega").lapsed) == MOST


def test_what_lapses_between_two_looks_is_found_by_the_second_and_what_was_found_stays(scene):
    last = agent_views.LastLook()

    def found() -> set[str]:
        members = agent_views.everyone(scene.store.db, scene.clock() - DAY, last=last)
        return {claim.task.uid for member in members for claim in member.lapsed if claim.is_open}

    first = scene.claim()
    scene.kill()
    assert found() == set()
    scene.later(LEASE)
    assert found() == {first} == found()
    second = add(scene.talk, "another")
    scene.connect("beta")
    scene.talk.ok("control:claim", {"agent": "beta"}, uid=second, lease_seconds=LEASE)
    scene.later(LEASE)
    assert found() == {first, second}
    scene.talk.ok("control:claim", {"agent": "gamma"}, uid=first)
    assert found() == {second}
    scene.talk.ok("tasklist:set_task_done", {"agent": "gamma"}, uid=first)
    scene.later(24 * 3600 + 1)
    assert found() == set()


def _of_single_calls(scene: Scene, agent: str) -> None:
    scene.talk.ok("tasklist:add_task", {"agent": agent}, name=f"of {agent}")


def test_what_is_read_since_the_last_look_is_what_a_new_look_reads(scene):
    last, known = agent_views.LastLook(), []
    steps: list[Callable[[], object]] = [
        lambda: [_of_single_calls(scene, name) for name in ("alpha", "beta", "gamma")],
        lambda: scene.later(5),
        lambda: _of_single_calls(scene, "beta"),
        lambda: scene.claim("alpha"),
        lambda: scene.later(LEASE),
        lambda: scene.kill("alpha"),
        lambda: scene.connect("gamma"),
        lambda: scene.talk.ok("tasklist:set_task_in_progress", {"agent": "beta"}, uid=add(scene.talk, "of beta")),
        lambda: scene.kill("gamma"),
        lambda: scene.store.commit(PauseAgent("delta", "Wait."), actor="human", now=scene.clock()),
        lambda: scene.store.commit(ResumeAgent("delta"), actor="human", now=scene.clock()),
        lambda: scene.store.commit(OpenAsk("Which one?"), actor="gamma", now=scene.clock()),
        lambda: scene.later(24 * 3600),
        lambda: _of_single_calls(scene, "gamma"),
    ]
    for step in steps:
        step()
        since = scene.clock() - DAY
        known = agent_views.everyone(scene.store.db, since, known, last=last)
        assert known == agent_views.everyone(scene.store.db, since)
