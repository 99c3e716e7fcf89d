"""What the refusal of an unknown task says of its id."""

from __future__ import annotations

import pytest

from tests.conftest import Talk


def refusal(talk: Talk, uid: str, **envelope: object) -> str:
    reply = talk.ask("tasklist:get_task", envelope, uid=uid)
    assert reply["error"]["code"] == "not_found"
    assert reply["error"]["data"] == {"id": uid}
    return reply["error"]["message"]


def test_the_id_of_something_else_is_named_as_that(talk: Talk) -> None:
    job = talk.ok("scheduler:create_adhoc_task", name="audit", system_prompt="", prompt="")["uuid"]
    plan = talk.ok("create_plan", title="a plan", tasks=[{"title": "t"}])["plan_id"]
    assert refusal(talk, job).endswith(": that is the id of a job")
    assert refusal(talk, plan).endswith(": that is the id of a plan or list")
    uid = talk.ok("tasklist:add_task", name="t")["uid"]
    for tool, argument in [
        ("scheduler:show_task", "uuid"),
        ("control:delete_plan", "plan_id"),
        ("control:claim", "list"),
        ("control:heartbeat", "claim"),
        ("get_pending_tasks", "plan_id"),
    ]:
        assert talk.refused(tool, **{argument: uid})["message"].endswith(f" {uid}: that is the id of a task")


def test_the_title_of_a_plan_is_answered_with_its_id(talk: Talk) -> None:
    plan = talk.ok("create_plan", title="Release", tasks=[{"title": "t"}])["plan_id"]
    for tool, argument in [("control:claim", "list"), ("control:find", "list"), ("control:delete_plan", "plan_id")]:
        said = talk.refused(tool, **{argument: "Release"})["message"]
        assert said.endswith(
            f"no {argument.removesuffix('_id')} Release: that is the title of a plan; name it by its plan_id, {plan}"
        )


def test_who_deleted_a_task_is_said(talk: Talk) -> None:
    uid = talk.ok("tasklist:add_task", name="gone")["uid"]
    talk.ok("tasklist:delete_task", {"agent": "ann"}, uid=uid)
    for name in (uid, "#1", "1", f"{{{uid}}}"):
        assert refusal(talk, name, agent="bob").endswith(": ann deleted it; the human can bring it back")


def test_who_deleted_a_task_is_said_also_when_the_claim_on_it_has_ended_since(talk: Talk) -> None:
    uid = talk.ok("tasklist:add_task", name="gone")["uid"]
    talk.ok("control:claim", {"agent": "ann"}, list="tasklist")
    talk.ok("tasklist:delete_task", {"agent": "ann"}, uid=uid)
    assert refusal(talk, uid, agent="bob").endswith(": ann deleted it; the human can bring it back")


def test_a_task_of_a_deleted_plan_is_told_as_deleted_with_it(talk: Talk) -> None:
    plan = talk.ok("create_plan", title="Release", tasks=[{"title": "t"}])
    talk.ok("control:delete_plan", plan_id=plan["plan_id"])
    for name in (plan["tasks"][0]["id"], "#1"):
        assert refusal(talk, name).endswith(": it was deleted with its list; the human can bring it back")


@pytest.mark.parametrize("at", [0, 3, 7, 20, 35])
def test_one_wrong_character_names_the_task_that_is_meant(talk: Talk, at: int) -> None:
    uid = talk.ok("tasklist:add_task", name="one")["uid"]
    talk.ok("tasklist:add_task", name="another")
    wrong = uid[:at] + ("0" if uid[at] != "0" else "1") + uid[at + 1 :]
    assert refusal(talk, wrong).endswith(f"; did you mean {uid}?")


@pytest.mark.parametrize("at", [0, 4, 30])
@pytest.mark.parametrize("slip", ["missing", "twice"])
def test_a_character_that_is_missing_or_twice_names_the_task_that_is_meant(talk: Talk, slip: str, at: int) -> None:
    uid = talk.ok("tasklist:add_task", name="one")["uid"]
    wrong = uid[:at] + uid[at + 1 :] if slip == "missing" else uid[:at] + uid[at] + uid[at:]
    assert refusal(talk, wrong).endswith(f"; did you mean {uid}?")


@pytest.mark.parametrize("form", ["{%s}", " %s ", "urn:uuid:%s", "bare"])
def test_a_uid_in_another_form_names_the_task_that_is_meant(talk: Talk, form: str) -> None:
    uid = talk.ok("tasklist:add_task", name="one")["uid"]
    wrong = uid.replace("-", "") if form == "bare" else form % uid
    assert refusal(talk, wrong).endswith(f"; did you mean {uid}?")


def test_a_channel_of_one_list_learns_nothing_of_other_lists(store, clock) -> None:
    uid = Talk(store, clock).ok("tasklist:add_task", name="secret")["uid"]
    confined = Talk(store, clock, list="mine", list_only=True)
    wrong = uid[:-1] + ("0" if uid[-1] != "0" else "1")
    assert refusal(confined, wrong) == f"no task {wrong}"
