"""Claims: one agent's hold on a task, for the length of a lease (docs: protocol, section 7)."""

from datetime import datetime

import pytest

from tests.conftest import SECOND, Talk
from tests.talking import add, settled, task
from tui_tasks.core.errors import Busy, Conflict, StaleClaim
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk
from tui_tasks.core.operations.tasks import (
    AddTask,
    CreatePlan,
    DeleteTask,
    EditTask,
    EnsureList,
    ExtendClaim,
    MoveTask,
    ReleaseClaim,
    SetListReview,
)
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store


def test_claim_takes_the_most_urgent_then_oldest_ready_task(talk, store, clock):
    (home,) = store.commit(EnsureList("pool", "task"), actor="human", now=clock())

    def made(name: str, **fields) -> str:
        return store.commit(AddTask(name, home.uid, **fields), actor="human", now=clock())[0].uid

    last = made("low", priority=4)
    first = made("open dependency", priority=3)
    made("somebody's", priority=1, agent="somebody")
    made("waits", priority=1, depends_on=(first,))
    mine = made("mine", priority=2, agent="agent")
    made("done", priority=1, status="done")
    store.commit(MoveTask(last, before=first), actor="human", now=clock())
    taken = [talk.ok("control:claim", list="pool")["task"]["uid"] for _ in range(3)]
    assert taken == [mine, first, last]
    assert talk.ok("control:claim", list="pool") is None
    talk.ok("tasklist:set_task_done", uid=first)
    assert talk.ok("control:claim", list="pool")["task"]["name"] == "waits"


def test_a_claim_holds_the_task_for_the_agent_that_has_it(talk, other, clock):
    uid = add(talk)
    held = talk.ok("control:claim", lease_seconds=60)
    assert sorted(held) == ["claim", "expires_at", "task"]
    assert held["task"] == task(talk, uid)
    assert (held["task"]["status"], held["task"]["agent"]) == ("in_progress", "agent")
    assert datetime.fromisoformat(held["expires_at"]).timestamp() * SECOND == clock() + 60 * SECOND
    assert other.ok("control:claim") is None
    for tool, arguments in (
        ("tasklist:set_task_done", {"uid": uid}),
        ("tasklist:update_task", {"uid": uid, "name": "x"}),
        ("tasklist:log_task_progress", {"uid": uid, "message": "x"}),
        ("tasklist:delete_task", {"uid": uid}),
        ("tasklist:swap_tasks", {"uid1": uid, "uid2": add(other)}),
        ("tasklist:clear", {}),
    ):
        assert other.refused(tool, **arguments)["code"] == "conflict", tool
    talk.ok("tasklist:log_task_progress", uid=uid, message="mine")
    assert talk.ok("tasklist:set_task_done", uid=uid)["status"] == "done"


def test_the_human_may_write_to_a_claimed_task(talk, store, clock):
    uid = add(talk)
    talk.ok("control:claim")
    store.commit(EditTask(uid, {"name": "by hand"}), actor="human", now=clock())
    assert task(talk, uid)["name"] == "by hand"


def test_a_task_of_ones_choice_is_claimed_by_its_uid_or_number(talk, other, store, clock):
    first, second, third = (add(talk, name) for name in ("first", "second", "third"))
    store.commit(EditTask(third, {"agent": "somebody"}), actor="human", now=clock())
    held = talk.ok("control:claim", uid=second, lease_seconds=60)
    assert held["task"] == task(talk, second)
    assert (held["task"]["status"], held["task"]["agent"]) == ("in_progress", "agent")
    assert datetime.fromisoformat(held["expires_at"]).timestamp() * SECOND == clock() + 60 * SECOND
    taken = other.ok("control:claim", uid=f"#{task(talk, third)['number']}", list="tasklist")
    assert (taken["task"]["uid"], taken["task"]["agent"]) == (third, "other")
    assert other.ok("control:release", claim=taken["claim"])["agent"] == "somebody"
    assert other.ok("control:claim")["task"]["uid"] == first


def test_a_claim_of_one_task_says_what_is_in_the_way(talk, other, store, clock):
    (pool,) = store.commit(EnsureList("pool", "task"), actor="human", now=clock())

    def made(name: str, **fields) -> str:
        return store.commit(AddTask(name, pool.uid, **fields), actor="human", now=clock())[0].uid

    failed, waited = made("failed", status="failed"), made("waited")
    blocked, done = made("blocked", depends_on=(failed, waited)), made("done", status="done")
    claimed, running = made("claimed"), made("running", status="in_progress")
    other.ok("control:claim", uid=claimed)
    store.commit(SetListReview(pool.uid, True), actor="human", now=clock())
    held = talk.ok("task", {"list": "pool"}, action="create", title="held")["structuredContent"]["task"]["task_id"]
    mine, spare = add(talk, "mine"), add(talk, "spare")
    talk.ok("tasklist:set_task_in_progress", uid=mine)
    seq = talk.seq()
    for uid, data in (
        (done, {"state": "done"}),
        (running, {"state": "in_progress"}),
        (claimed, {"claimed_by": "other"}),
        (blocked, {"waiting_on": [failed, waited]}),
        (held, {"held": True}),
        (spare, {"in_progress": mine}),
    ):
        error = talk.refused("control:claim", uid=uid)
        assert error["code"] == "conflict", error
        assert error["data"].items() >= data.items(), error
    error = other.refused("control:claim", uid=claimed)
    assert error["message"] == 'you have claimed task #5 "claimed" already'
    assert talk.refused("control:claim", uid="#99")["code"] == "not_found"
    assert talk.refused("control:claim", uid=waited, list="tasklist")["data"]["argument"] == "list"
    assert talk.seq() == seq
    version = task(talk, waited)["version"]
    assert talk.refused("control:claim", {"if_version": version + 1}, uid=waited)["data"]["version"] == version
    assert talk.refused("control:claim", {"if_version": version})["code"] == "invalid_request"
    assert talk.ok("control:claim", {"if_version": version}, uid=waited)["task"]["uid"] == waited


def test_a_task_is_claimed_again_by_the_agent_whose_lease_ran_out(talk, other, clock):
    uid = add(talk)
    talk.ok("control:claim", uid=uid, lease_seconds=10)
    clock.forward(10)
    held = talk.ok("control:claim", uid=uid)
    talk.ok("control:heartbeat", claim=held["claim"])
    talk.ok("tasklist:set_task_done", uid=uid)


# A question of the holder


def asking(talk, **arguments) -> str:
    """Ask, and leave the question open; its uid."""
    assert talk.lines({"id": "q", "tool": "ask", "arguments": {"question": "Which?", **arguments}}) == []
    return ask_queries.open_by_agent(talk.store.db)["agent"][-1].uid


def test_a_read_is_served_though_the_lease_that_ran_out_cannot_be_ended_now(talk, store, clock, monkeypatch):
    uid = add(talk, "one")
    talk.ok("control:claim", uid=uid, lease_seconds=10)
    clock.forward(20)

    def busy(*_, **__):
        raise Busy("another process writes")

    with monkeypatch.context() as locked:
        locked.setattr(store, "transaction", busy)
        assert [task["uid"] for task in talk.ok("tasklist:display")] == [uid]
        assert talk.refused("tasklist:add_task", name="two")["code"] == "busy"
    assert task_queries.task(store.db, uid).claimed_by is not None
    talk.ok("tasklist:display")
    assert task_queries.task(store.db, uid).claimed_by is None


@pytest.mark.parametrize("answered", [True, False])
def test_a_claim_does_not_lapse_while_its_holder_waits_for_the_human(talk, other, store, clock, answered):
    uid = add(talk)
    held = talk.ok("control:claim", lease_seconds=6)
    question = asking(talk)
    assert talk.session.due() is None
    clock.forward(3_600)
    assert talk.session.settle() == []
    assert other.ok("control:claim") is None
    assert other.refused("control:claim", uid=uid)["data"]["claimed_by"] == "agent"
    talk.ok("tasklist:log_task_progress", uid=uid, message="still mine")
    ended = AnswerAsk(question, "this") if answered else CloseAsk(question, "withdrawn")
    store.commit(ended, actor="human", now=clock())
    (reply,) = settled(talk)
    assert reply["ok"] == answered
    # The lease runs anew.
    assert talk.session.due() == clock() + 6 * SECOND
    assert task_records.of_task(store.db, uid).expires_at == clock() + 6 * SECOND
    clock.forward(5)
    talk.ok("control:heartbeat", claim=held["claim"])
    clock.forward(6)
    assert other.ok("control:claim")["task"]["uid"] == uid
    assert talk.refused("control:heartbeat", claim=held["claim"])["code"] == "stale_claim"


def test_leases_run_anew_from_the_last_of_several_questions_and_from_a_timeout(talk, other, store, clock):
    uid = add(talk)
    talk.ok("control:claim", lease_seconds=6)
    first, _ = asking(talk), asking(talk, timeout=60)
    clock.forward(30)
    store.commit(AnswerAsk(first, "this"), actor="human", now=clock())
    assert len(settled(talk)) == 1
    assert other.ok("control:claim") is None
    clock.forward(30)
    (reply,) = settled(talk)
    assert reply["error"]["code"] == "timeout"
    clock.forward(5)
    assert other.ok("control:claim") is None
    clock.forward(1)
    assert other.ok("control:claim")["task"]["uid"] == uid


def test_a_question_that_nobody_ends_any_more_holds_a_claim_for_its_timeout_and_a_lease(talk, store, clock):
    """The process that asked was killed."""
    uid = add(talk)
    talk.ok("control:claim", lease_seconds=6)
    asking(talk, timeout=60)
    other = Talk(store, clock, agent="other")
    clock.forward(65)
    assert other.ok("control:claim") is None
    assert other.session.due() == clock() + SECOND
    clock.forward(1)
    assert other.ok("control:claim")["task"]["uid"] == uid


def test_a_question_of_another_agent_holds_no_claim(talk, other, clock):
    uid = add(talk)
    other.ok("control:claim", lease_seconds=6)
    asking(talk)
    clock.forward(6)
    assert task(talk, uid)["status"] == "pending"


def test_a_list_in_which_an_agent_may_have_no_more_in_progress_gives_it_null(talk, other):
    for _ in range(3):
        add(talk)
    assert talk.ok("control:claim", list="tasklist")["task"]
    assert other.ok("control:claim", list="tasklist")["task"]
    for agent in (talk, other):
        assert agent.ok("control:claim", list="tasklist") is None
        assert agent.ok("control:claim") is None
    assert add(other, list="free")
    assert other.ok("control:claim")["task"]["list"] == "free"


def test_a_plan_is_named_by_its_id(talk, store, clock):
    (plan,) = store.commit(CreatePlan("Release"), actor="human", now=clock())
    store.commit(AddTask("in the plan", plan.uid), actor="human", now=clock())
    held = talk.ok("control:claim", list=plan.uid)
    assert (held["task"]["name"], held["task"]["list"]) == ("in the plan", plan.uid)


def test_of_a_list_that_is_not_there_yet_a_bound_channel_gets_null_and_one_that_names_it_is_refused(talk):
    add(talk)
    assert talk.ok("control:claim", {"list": "later"}) is None
    assert talk.refused("control:claim", list="later")["code"] == "not_found"


def test_a_heartbeat_starts_the_lease_anew(talk, clock):
    uid = add(talk)
    held = talk.ok("control:claim", lease_seconds=60)
    clock.forward(59)
    beat = talk.ok("control:heartbeat", claim=held["claim"])
    assert beat["claim"] == held["claim"]
    assert datetime.fromisoformat(beat["expires_at"]).timestamp() * SECOND == clock() + 60 * SECOND
    clock.forward(59)
    assert task(talk, uid)["status"] == "in_progress"


def test_release_gives_the_task_back_as_pending(talk, other):
    uid = add(talk)
    held = talk.ok("control:claim")
    released = talk.ok("control:release", claim=held["claim"])
    assert released == task(talk, uid)
    assert (released["status"], released["agent"]) == ("pending", None)
    assert other.ok("control:claim")["task"]["uid"] == uid


def test_a_task_that_the_human_assigned_meanwhile_stays_so_when_it_is_given_back(talk, store, clock):
    uid = add(talk)
    held = talk.ok("control:claim")
    store.commit(EditTask(uid, {"agent": "bob"}), actor="human", now=clock())
    assert talk.ok("control:release", claim=held["claim"])["agent"] == "bob"


def test_past_the_lease_the_task_is_pending_again_and_the_old_holder_is_stale(talk, other, clock):
    uid = add(talk)
    held = talk.ok("control:claim", lease_seconds=10)
    clock.forward(10)
    assert task(other, uid)["status"] == "pending"
    taken = other.ok("control:claim")
    assert taken["task"]["uid"] == uid
    for tool, arguments in (
        ("control:heartbeat", {"claim": held["claim"]}),
        ("control:release", {"claim": held["claim"]}),
        ("tasklist:set_task_done", {"uid": uid}),
        ("tasklist:log_task_progress", {"uid": uid, "message": "late"}),
        ("tasklist:delete_task", {"uid": uid}),
    ):
        assert talk.refused(tool, **arguments)["code"] == "stale_claim", tool
    assert other.ok("tasklist:set_task_done", uid=uid)["status"] == "done"
    assert talk.refused("tasklist:set_task_pending", uid=uid)["code"] == "stale_claim"


def test_a_write_that_comes_just_after_the_lease_is_stale_though_nobody_has_noticed_yet(talk, clock):
    uid = add(talk)
    talk.ok("control:claim", lease_seconds=10)
    clock.forward(10)
    assert talk.refused("tasklist:set_task_done", uid=uid)["code"] == "stale_claim"
    assert task(talk, uid)["status"] == "pending"


def test_the_lease_that_lapses_is_told_as_an_event(talk, clock):
    add(talk)
    talk.ok("control:claim", lease_seconds=10)
    talk.ok("control:subscribe")
    assert talk.session.due() == clock() + 10 * SECOND
    clock.forward(10)
    assert talk.session.settle() == []
    kinds = [event["event"] for event in talk.events()]
    assert "task.updated" in kinds
    assert any(kind.startswith("claim.") for kind in kinds)


def test_the_old_holder_may_claim_the_task_again(talk, clock):
    uid = add(talk)
    talk.ok("control:claim", lease_seconds=10)
    clock.forward(10)
    held = talk.ok("control:claim")
    assert held["task"]["uid"] == uid
    talk.ok("tasklist:set_task_done", uid=uid)
    assert talk.refused("control:heartbeat", claim=held["claim"])["code"] == "stale_claim"


@pytest.mark.parametrize("status", ["done", "failed", "skipped"])
def test_a_finished_task_ends_its_claim(talk, other, status):
    uid = add(talk)
    held = talk.ok("control:claim")
    talk.ok(f"tasklist:set_task_{status}", uid=uid)
    assert talk.refused("control:heartbeat", claim=held["claim"])["code"] == "stale_claim"
    assert talk.refused("control:release", claim=held["claim"])["code"] == "stale_claim"
    other.ok("tasklist:log_task_progress", uid=uid, message="free again")
    assert talk.session.due() is None


def test_a_claim_that_never_was_is_not_found_and_anothers_is_no_ones(talk, other):
    assert talk.refused("control:heartbeat", claim="none")["code"] == "not_found"
    add(talk)
    held = talk.ok("control:claim")
    for tool in ("control:heartbeat", "control:release"):
        assert other.refused(tool, claim=held["claim"])["code"] in ("not_found", "conflict", "forbidden")


def test_claims_hold_over_a_restart(path, clock):
    with Store(str(path)) as store:
        talk = Talk(store, clock)
        uid = add(talk)
        held = talk.ok("control:claim", lease_seconds=60)
    with Store(str(path)) as store:
        talk, other = Talk(store, clock), Talk(store, clock, agent="other")
        assert other.refused("tasklist:set_task_done", uid=uid)["code"] == "conflict"
        talk.ok("control:heartbeat", claim=held["claim"])
        clock.forward(61)
        assert other.ok("control:claim")["task"]["uid"] == uid


def test_in_the_last_instant_of_a_lease_it_is_over(talk, store, clock):
    """Though nobody has given the task back yet."""
    add(talk)
    held = talk.ok("control:claim", lease_seconds=60)
    clock.now += 60 * SECOND - 1
    (extended,) = store.commit(ExtendClaim("agent", held["claim"]), actor="agent", now=clock())
    assert extended.expires_at == clock() + 60 * SECOND
    clock.now += 60 * SECOND
    for operation in (ExtendClaim("agent", held["claim"]), ReleaseClaim("agent", held["claim"])):
        with pytest.raises(StaleClaim, match="has lapsed"):
            store.commit(operation, actor="agent", now=clock())


@pytest.mark.parametrize("first", ["uid1", "uid2"])
def test_a_claimed_task_is_swapped_by_its_holder_alone(talk, other, first):
    uid = add(talk)
    talk.ok("control:claim")
    free = add(other)
    pair = {first: uid, ({"uid1", "uid2"} - {first}).pop(): free}
    assert other.refused("tasklist:swap_tasks", **pair)["data"]["claimed_by"] == "agent"
    assert [found["uid"] for found in talk.ok("tasklist:swap_tasks", **pair)] == [free, uid]


def test_a_task_in_progress_is_not_moved_to_where_one_is_already(talk, store, clock):
    (here, there) = store.commit(
        EnsureList("tasklist", "tasklist"), EnsureList("there", "tasklist"), actor="human", now=clock()
    )
    made = [store.commit(AddTask(name, here.uid), actor="human", now=clock())[0].uid for name in "ab"]
    (other,) = store.commit(AddTask("c", there.uid, status="in_progress"), actor="human", now=clock())
    store.commit(EditTask(made[0], {"status": "in_progress"}), actor="human", now=clock())
    with pytest.raises(Conflict) as refused:
        store.commit(MoveTask(made[0], list_uid=there.uid), actor="human", now=clock())
    assert refused.value.data["in_progress"] == other.uid
    store.commit(MoveTask(made[0], after=made[1]), actor="human", now=clock())
    store.commit(MoveTask(made[1], list_uid=there.uid), actor="human", now=clock())
    assert [found.name for found in task_queries.tasks(store.db, there.id)] == ["c", "b"]


@pytest.mark.parametrize("status", ["pending", "skipped", "done"])
def test_a_task_that_the_human_takes_over_is_no_longer_its_holders(talk, other, store, clock, status):
    uid = add(talk)
    held = talk.ok("control:claim")
    store.commit(EditTask(uid, {"status": status}), actor="human", now=clock())
    for tool, arguments in (
        ("tasklist:set_task_done", {"uid": uid}),
        ("tasklist:log_task_progress", {"uid": uid, "message": "still at it"}),
        ("control:heartbeat", {"claim": held["claim"]}),
    ):
        assert talk.refused(tool, **arguments)["code"] == "stale_claim", tool
    assert task(talk, uid)["status"] == status
    other.ok("tasklist:log_task_progress", uid=uid, message="free again")
    if status == "pending":
        assert talk.ok("control:claim")["task"]["uid"] == uid
        talk.ok("tasklist:set_task_done", uid=uid)


def _deleted(talk: Talk, uid: str) -> None:
    talk.ok("tasklist:delete_task", uid=uid)


def _set_back(talk: Talk, uid: str) -> None:
    talk.ok("tasklist:set_task_pending", uid=uid)


def _finished(talk: Talk, uid: str) -> None:
    talk.ok("tasklist:set_task_done", uid=uid)


def _released(talk: Talk, uid: str) -> None:
    talk.ok("control:release", claim=task_records.of_task(talk.store.db, uid).uid)


@pytest.mark.parametrize("ends", [_deleted, _set_back, _finished, _released])
def test_undo_restores_a_claim_with_what_is_left_of_its_lease(talk, other, clock, ends):
    uid = add(talk)
    held = talk.ok("control:claim", lease_seconds=60)
    clock.forward(20)
    ends(talk, uid)
    talk.ok("control:undo")
    assert (task(talk, uid)["status"], task(talk, uid)["agent"]) == ("in_progress", "agent")
    assert other.refused("tasklist:set_task_done", uid=uid)["data"]["claimed_by"] == "agent"
    talk.ok("tasklist:log_task_progress", uid=uid, message="still mine")
    clock.forward(39)
    assert talk.ok("control:heartbeat", claim=held["claim"])["claim"] == held["claim"]
    clock.forward(60)
    assert task(talk, uid)["status"] == "pending"
    assert other.ok("control:claim")["task"]["uid"] == uid


@pytest.mark.parametrize("operation", [DeleteTask, lambda uid: EditTask(uid, {"status": "pending"})])
def test_what_the_human_takes_back_gives_its_holder_the_claim_again(talk, store, clock, operation):
    uid = add(talk)
    held = talk.ok("control:claim", lease_seconds=60)
    store.commit(operation(uid), actor="human", now=clock())
    assert talk.refused("control:heartbeat", claim=held["claim"])["code"] == "stale_claim"
    store.commit(Undo(), actor="human", now=clock())
    talk.ok("control:heartbeat", claim=held["claim"])
    talk.ok("tasklist:set_task_done", uid=uid)
    assert [entry["event"] for entry in talk.ok("control:history", limit=9)["entries"]].count("claim.restored") == 1


@pytest.mark.parametrize("ends", [_deleted, _set_back, _finished])
def test_where_nothing_is_left_of_the_lease_the_task_is_given_back(talk, other, clock, ends):
    uid = add(talk)
    talk.ok("control:claim", lease_seconds=60)
    ends(talk, uid)
    clock.forward(61)
    talk.ok("control:undo")
    assert task(other, uid)["status"] == "pending"
    assert other.ok("control:claim")["task"]["uid"] == uid
    assert talk.refused("tasklist:set_task_done", uid=uid)["code"] == "stale_claim"


def test_an_undo_that_is_done_again_ends_the_claim_again(talk, store, clock):
    uid = add(talk)
    held = talk.ok("control:claim")
    store.commit(DeleteTask(uid), actor="human", now=clock())
    store.commit(Undo(), actor="human", now=clock())
    store.commit(Redo(), actor="human", now=clock())
    assert talk.refused("control:heartbeat", claim=held["claim"])["code"] == "stale_claim"
    assert talk.ok("tasklist:display") == []
    store.commit(Undo(), actor="human", now=clock())
    talk.ok("control:heartbeat", claim=held["claim"])


def test_a_task_that_another_holds_by_now_is_not_taken_from_it_by_an_undo(talk, other, store, clock):
    uid = add(talk)
    talk.ok("control:claim")
    store.commit(EditTask(uid, {"status": "pending", "agent": None}), actor="human", now=clock())
    held = other.ok("control:claim")
    with pytest.raises(Conflict):
        store.commit(Undo(), actor="human", now=clock())
    other.ok("control:heartbeat", claim=held["claim"])


def test_a_heartbeat_stands_in_the_way_of_no_undo(talk, store, clock):
    uid = add(talk)
    held = talk.ok("control:claim")
    store.commit(DeleteTask(uid), actor="human", now=clock())
    store.commit(Undo(), actor="human", now=clock())
    talk.ok("control:heartbeat", claim=held["claim"])
    store.commit(Redo(), actor="human", now=clock())
    assert talk.ok("tasklist:display") == []


def test_an_agent_that_undoes_its_claim_and_nothing_else_has_given_the_task_back(talk, other):
    uid = add(other)
    talk.ok("control:claim")
    talk.ok("control:undo")
    assert task(talk, uid)["status"] == "pending"
    assert other.ok("control:claim")["task"]["uid"] == uid


@pytest.mark.parametrize("again", ["talk", "other"])
def test_an_undo_of_what_ended_a_claim_leaves_the_claim_that_was_taken_after_it(request, talk, store, clock, again):
    uid = add(talk)
    ended = talk.ok("control:claim", lease_seconds=60)
    store.commit(EditTask(uid, {"status": "pending"}), actor="human", now=clock())
    holder = request.getfixturevalue(again)
    standing = holder.ok("control:claim", uid=uid)
    with pytest.raises(Conflict):
        store.commit(Undo(), actor="human", now=clock())
    assert talk.refused("control:heartbeat", claim=ended["claim"])["code"] == "stale_claim"
    holder.ok("control:heartbeat", claim=standing["claim"])
