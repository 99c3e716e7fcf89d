"""Idempotency keys: the first reply is the reply to both (docs: protocol, section 2)."""

from tests.conftest import SECOND, Talk
from tests.talking import ADD, add, names
from tui_tasks.core.operations import Undo
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values

DAY = 24 * 3600


def test_the_same_key_again_gives_the_stored_reply_and_writes_nothing(talk):
    first = talk.one({"id": 1, "tool": ADD, "arguments": {"name": "one"}, "idempotency_key": "k"})
    add(talk, "another")
    seq = talk.seq()
    again = talk.one({"id": 2, "tool": ADD, "arguments": {"name": "one"}, "idempotency_key": "k"})
    assert again == first | {"id": 2}
    assert list(again["result"]) == list(first["result"]), "to the letter"
    assert talk.seq() == seq
    assert names(talk) == ["one", "another"]


def test_a_key_with_another_tool_or_other_arguments_is_an_invalid_request(talk):
    add(talk, "one", idempotency_key="k")
    for tool, arguments in ((ADD, {"name": "two"}), (ADD, {"name": "one", "description": "d"}), ("tasklist:clear", {})):
        assert talk.refused(tool, {"idempotency_key": "k"}, **arguments)["code"] == "invalid_request"
    assert names(talk) == ["one"]


def test_the_order_in_which_arguments_are_written_makes_no_difference(talk):
    envelope = {"tool": ADD, "idempotency_key": "k"}
    first = talk.one(envelope | {"arguments": {"name": "n", "description": "d"}})
    again = talk.one(envelope | {"arguments": {"description": "d", "name": "n"}})
    assert again == first


def test_keys_belong_to_their_agent(talk):
    one, two = add(talk, "same", agent="a", idempotency_key="k"), add(talk, "same", agent="b", idempotency_key="k")
    assert one != two


def test_a_key_holds_for_24_hours_at_least_over_restarts(path, clock):
    with Store(str(path)) as store:
        uid = add(Talk(store, clock), "one", idempotency_key="k")
    clock.forward(DAY)
    with Store(str(path)) as store:
        talk = Talk(store, clock)
        add(talk, "other", idempotency_key="other")
        assert add(talk, "one", idempotency_key="k") == uid


def test_a_key_whose_reply_was_lost_between_commit_and_writing_gives_it_again(path, clock):
    request = {"id": 1, "tool": ADD, "arguments": {"name": "one"}, "idempotency_key": "k"}
    with Store(str(path)) as store:
        Talk(store, clock).session.answer([request])  # the reply is never written
    with Store(str(path)) as store:
        talk = Talk(store, clock)
        reply = talk.one(request)
        assert reply["ok"]
        assert [task["uid"] for task in talk.ok("tasklist:display")] == [reply["result"]["uid"]]


def test_a_refusal_is_not_stored(talk):
    uid = add(talk)
    other = add(talk)
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    envelope = {"idempotency_key": "k"}
    assert talk.refused("tasklist:set_task_in_progress", envelope, uid=other)["code"] == "conflict"
    talk.ok("tasklist:set_task_done", uid=uid)
    assert talk.ok("tasklist:set_task_in_progress", envelope, uid=other)["status"] == "in_progress"


def test_keys_hold_within_lines_that_came_together_and_within_a_batch(talk):
    request = {"tool": ADD, "arguments": {"name": "one"}, "idempotency_key": "k"}
    one, two = talk.lines(request, request)
    (three, four) = talk.one([request, request])
    assert one == two == three == four
    assert names(talk) == ["one"]


def test_a_key_of_a_batch_that_was_refused_is_not_kept(talk):
    request = {"tool": ADD, "arguments": {"name": "one"}, "idempotency_key": "k"}
    talk.one([request, {"tool": "tasklist:delete_task", "arguments": {"uid": "none"}}])
    assert names(talk) == []
    assert talk.one(request)["ok"]
    assert names(talk) == ["one"]


def test_a_key_goes_before_the_version(talk):
    uid = add(talk)
    envelope = {"idempotency_key": "k", "if_version": 1}
    first = talk.ok("tasklist:set_task_done", envelope, uid=uid)
    assert talk.ok("tasklist:set_task_done", envelope, uid=uid) == first


def test_what_is_absent_the_first_time_may_be_null_the_second(talk):
    first = add(talk, "one", idempotency_key="k")
    again = talk.one({"tool": ADD, "arguments": {"name": "one", "description": None}, "idempotency_key": "k"})
    assert again["result"]["uid"] == first
    assert talk.seq() == 1


def test_the_same_arguments_with_another_tool_are_another_request(talk):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", {"idempotency_key": "k"}, uid=uid)
    for tool, arguments in (("tasklist:set_task_failed", {"uid": uid}), ("tasklist:set_task_done", {"uid": add(talk)})):
        assert talk.refused(tool, {"idempotency_key": "k"}, **arguments)["code"] == "invalid_request"
    assert talk.ok("tasklist:get_task", uid=uid)["status"] == "done"


def test_a_key_whose_write_was_taken_back_says_so_until_that_is_taken_back_too(talk, store, clock):
    request = {"id": 1, "tool": ADD, "arguments": {"name": "one"}, "idempotency_key": "k"}
    first = talk.one(request)
    talk.ok("control:undo")
    again = talk.one(request)
    note = again.pop("note")
    assert again == first
    assert "agent has taken that write back (entry 2)" in note
    assert names(talk) == []
    assert add(talk, "one", idempotency_key="new") != first["result"]["uid"]
    store.commit(Undo(change=2), actor="human", now=clock())
    assert talk.one(request) == first
    store.commit(Undo(change=1), actor="human", now=clock())
    assert "human has taken that write back" in talk.one(request)["note"]


def test_each_key_of_a_batch_that_was_taken_back_says_so_and_one_that_wrote_nothing_does_not(talk):
    uid = add(talk)
    batch = [
        {"tool": ADD, "arguments": {"name": "one"}, "idempotency_key": "one"},
        {"tool": "tasklist:set_task_pending", "arguments": {"uid": uid}, "idempotency_key": "none"},
        {"tool": "tasklist:set_task_done", "arguments": {"uid": uid}, "idempotency_key": "two"},
    ]
    talk.one(batch)
    talk.ok("control:undo")
    assert ["note" in reply for reply in talk.one(batch)] == [True, False, True]
    assert [("note" in talk.one(request)) for request in batch] == [True, False, True]


WEEK = 7 * 24 * 3600 * SECOND


def put(store: Store, key: str, reply: str, passed: int) -> None:
    with store.db.transaction(write=True):
        local_values.put_reply(store.db, "a", key, "fingerprint", reply, passed)


def reply_of(store: Store, key: str) -> str | None:
    found = local_values.reply(store.db, "a", key)
    return None if found is None else found[1]


def test_the_reply_that_is_stored_last_replaces_an_earlier_one(store: Store) -> None:
    put(store, "key", "earlier", 1)
    put(store, "key", "later", 2)
    assert local_values.reply(store.db, "a", "key") == ("fingerprint", "later")


def test_a_reply_is_deleted_with_the_first_that_is_stored_more_than_a_week_later(store: Store) -> None:
    put(store, "old", "old", 1)
    put(store, "new", "new", WEEK + 1)
    assert reply_of(store, "old") == "old"
    put(store, "newest", "newest", WEEK + 2)
    assert [reply_of(store, key) for key in ("old", "new", "newest")] == [None, "new", "newest"]
