"""One conversation: requests, batches, refusals, keys (contract, sections 2 to 5). Pipes are tests/contract's."""

import contextlib
import json

import msgspec
import pytest

from tests.conftest import Clock, Talk
from tui_tasks.core import database, journal, queries
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations import EditTask, EnsureList, PauseAgent, ResumeAgent, SetListRule
from tui_tasks.core.store import Store
from tui_tasks.dialects.tasklist import TASKLIST

ADD = "tasklist:add_task"
DAY = 24 * 3600


def names(talk: Talk, **envelope) -> list[str]:
    return [task["name"] for task in talk.ok("tasklist:display", envelope)]


def add(talk: Talk, name: str = "task", **envelope) -> str:
    return talk.ok(ADD, envelope, name=name)["uid"]


# A request


@pytest.mark.parametrize("tool_key", ["tool_name", "tool", "name"])
@pytest.mark.parametrize("arguments_key", ["tool_args", "arguments", "args"])
def test_tool_and_arguments_go_by_any_of_their_names(talk, tool_key, arguments_key):
    reply = talk.one({"id": 1, tool_key: ADD, arguments_key: {"name": "one"}})
    assert reply["ok"], reply
    assert reply["result"]["name"] == "one"


def test_arguments_may_be_absent_or_null(talk):
    assert talk.one({"tool": "tasklist:display"})["result"] == []
    assert talk.one({"tool": "tasklist:display", "arguments": None})["result"] == []


@pytest.mark.parametrize("id", ["text", "", "é\U0001f600", 0, -5, 2**53, 2**63 - 1, None])
def test_the_id_is_echoed_as_it_was(talk, id):
    assert talk.one({"id": id, "tool": "tasklist:display"})["id"] == id
    assert talk.one({"id": id, "tool": "no such"})["id"] == id


def test_without_an_id_the_replys_is_null(talk):
    reply = talk.one({"tool": "tasklist:display"})
    assert reply["ok"]
    assert reply["id"] is None


@pytest.mark.parametrize("id", [True, 1.5, [], {}, ["a"]])
def test_a_wrong_id_is_an_invalid_request_and_nothing_is_done(talk, id):
    reply = talk.one({"id": id, "tool": ADD, "arguments": {"name": "one"}})
    assert (reply["ok"], reply["id"], reply["error"]["code"]) == (False, None, "invalid_request")
    assert names(talk) == []


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        True,
        "tasklist:display",
        {},
        {"id": 1},
        {"tool": ""},
        {"tool": None},
        {"tool": 5},
        {"tool": ["tasklist:display"]},
        {"arguments": {"name": "x"}},
        {"tool": "tasklist:display", "arguments": []},
        {"tool": "tasklist:display", "arguments": 3},
        {"tool": "tasklist:display", "agent": "human"},
        {"tool": "tasklist:display", "agent": 7},
        {"tool": "tasklist:display", "agent": ""},
        {"tool": "tasklist:display", "list": 7},
        {"tool": "tasklist:display", "list": ""},
        {"tool": "tasklist:clear", "if_version": "1"},
        {"tool": "tasklist:clear", "if_version": 1.5},
        {"tool": "tasklist:clear", "if_version": True},
        {"tool": "tasklist:clear", "idempotency_key": 5},
        {"tool": "tasklist:clear", "idempotency_key": ""},
    ],
    ids=json.dumps,
)
def test_json_that_is_no_request_is_an_invalid_request(talk, value):
    add(talk, "stays")
    reply = talk.one(value)
    assert (reply["ok"], reply["error"]["code"]) == (False, "invalid_request")
    assert names(talk) == ["stays"]


def test_keys_that_nobody_knows_are_ignored(talk):
    reply = talk.one({"tool": ADD, "arguments": {"name": "one"}, "jsonrpc": "2.0", "method": [1], "result": {}})
    assert reply["ok"]


def test_nulls_in_the_envelope_are_as_if_absent(talk):
    nothing = dict.fromkeys(("id", "agent", "list", "if_version", "idempotency_key", "topic", "thoughts"))
    assert talk.ok("tasklist:add_task", nothing, name="one")["name"] == "one"


def test_an_agent_may_speak_for_itself_in_the_envelope(talk):
    add(talk, agent="worker-2")
    add(talk)
    assert [entry["actor"] for entry in talk.ok("control:history")["entries"]] == ["worker-2", "agent"]
    assert talk.ok("control:hello", {"agent": "worker-3"})["agent"] == "worker-3"


def test_the_reasoning_is_kept_with_the_entry_and_nothing_else_is(talk):
    why = {"topic": "t", "observations": ["a", "b"], "thoughts": {"deep": [1]}, "reflection": ""}
    uid = add(talk, **why, mood="fine")
    add(talk)
    first, second = talk.ok("control:history")["entries"]
    assert first["why"] == why
    assert second["why"] is None
    assert first["task"]["uid"] == uid


# if_version


def test_a_write_at_the_version_it_names_happens_and_raises_the_version_by_one(talk):
    uid = add(talk)
    assert talk.ok("control:task", uid=uid)["version"] == 1
    talk.ok("tasklist:update_task", {"if_version": 1}, uid=uid, name="new", status="done", description="d")
    assert talk.ok("control:task", uid=uid)["version"] == 2


@pytest.mark.parametrize("version", [0, 1, 3, -1, 2**63 - 1])
def test_a_write_at_another_version_is_a_conflict_that_shows_the_task(talk, version):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    seq = talk.seq()
    error = talk.refused("tasklist:update_task", {"if_version": version}, uid=uid, name="new")
    assert error["code"] == "conflict"
    assert error["data"]["version"] == 2
    assert error["data"]["task"] == talk.ok("control:task", uid=uid)
    assert talk.seq() == seq


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("tasklist:delete_task", {}),
        ("tasklist:update_task", {"name": "x"}),
        ("tasklist:set_task_pending", {}),
        ("tasklist:set_task_in_progress", {}),
        ("tasklist:set_task_done", {}),
        ("tasklist:set_task_failed", {}),
        ("tasklist:set_task_skipped", {}),
        ("tasklist:log_task_progress", {"message": "m"}),
    ],
)
def test_every_tool_that_changes_one_named_task_takes_if_version(talk, tool, arguments):
    uid = add(talk)
    assert talk.refused(tool, {"if_version": 2}, uid=uid, **arguments)["code"] == "conflict"
    talk.ok(tool, {"if_version": 1}, uid=uid, **arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (ADD, {"name": "x"}),
        ("tasklist:add_task_before", {"uid": "", "name": "x"}),
        ("tasklist:add_task_after", {"uid": "", "name": "x"}),
        ("tasklist:swap_tasks", {"uid1": "", "uid2": ""}),
        ("tasklist:clear", {}),
        ("tasklist:display", {}),
        ("tasklist:get_task", {"uid": ""}),
        ("tasklist:get_task_logs", {"uid": ""}),
        ("control:task", {"uid": ""}),
        ("control:undo", {}),
        ("control:claim", {}),
        ("control:hello", {}),
        ("control:history", {}),
    ],
)
def test_with_a_tool_that_does_not_change_exactly_one_named_task_it_is_an_invalid_request(talk, tool, arguments):
    uid = add(talk)
    seq = talk.seq()
    error = talk.refused(tool, {"if_version": 1}, **{name: value or uid for name, value in arguments.items()})
    assert error["code"] == "invalid_request"
    assert talk.seq() == seq


def test_a_write_that_changes_nothing_leaves_version_and_journal_alone(talk):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    seq = talk.seq()
    talk.ok("tasklist:set_task_done", uid=uid)
    talk.ok("tasklist:update_task", uid=uid, name="task", status="done", description="")
    talk.ok("tasklist:swap_tasks", uid1=uid, uid2=uid)
    talk.ok("tasklist:clear", {"list": "never used"})
    assert talk.seq() == seq
    assert talk.ok("control:task", uid=uid)["version"] == 2


def test_if_version_of_a_task_that_is_not_there_is_not_found(talk):
    error = talk.refused("tasklist:delete_task", {"if_version": 1}, uid="none")
    assert (error["code"], error["data"]["id"]) == ("not_found", "none")


# Idempotency keys


def test_the_same_key_again_gives_the_stored_reply_and_writes_nothing(talk):
    first = talk.one({"id": 1, "tool": ADD, "arguments": {"name": "one"}, "idempotency_key": "k"})
    add(talk, "another")
    seq = talk.seq()
    again = talk.one({"id": 2, "tool": ADD, "arguments": {"name": "one"}, "idempotency_key": "k"})
    assert again == first | {"id": 2}
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


# Batches


def test_a_batch_is_answered_by_one_line_in_order_and_each_sees_what_came_before(talk):
    (replies,) = talk.lines(
        [
            {"id": "a", "tool": ADD, "arguments": {"name": "one"}},
            {"id": "b", "tool": "tasklist:display"},
            {"id": "c", "tool": ADD, "arguments": {"name": "two"}},
        ]
    )
    assert [reply["id"] for reply in replies] == ["a", "b", "c"]
    assert all(reply["ok"] for reply in replies)
    assert [task["name"] for task in replies[1]["result"]] == ["one"]
    assert names(talk) == ["one", "two"]


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"tool": "tasklist:delete_task", "arguments": {"uid": "none"}}, "not_found"),
        ({"tool": ADD, "arguments": {"name": " "}}, "invalid_argument"),
        ({"tool": "nothing"}, "unknown_tool"),
        ({"tool": "control:answer"}, "forbidden"),
        ({"no": "tool"}, "invalid_request"),
        (5, "invalid_request"),
    ],
)
def test_a_batch_with_a_refusal_does_nothing_and_names_its_index(talk, at, bad, code):
    add(talk, "before")
    batch = [{"id": n, "tool": ADD, "arguments": {"name": f"new {n}"}} for n in range(3)]
    batch[at] = bad
    replies = talk.one(batch)
    assert [reply["ok"] for reply in replies] == [False] * 3
    assert replies[at]["error"]["code"] == code
    for n, reply in enumerate(replies):
        if n != at:
            assert (reply["id"], reply["error"]["code"], reply["error"]["data"]["failed"]) == (n, "conflict", at)
    assert names(talk) == ["before"]


def test_a_batch_that_breaks_a_rule_at_its_end_is_taken_back_whole(talk):
    uids = [add(talk), add(talk)]
    replies = talk.one([{"tool": "tasklist:set_task_in_progress", "arguments": {"uid": uid}} for uid in uids])
    assert replies[1]["error"]["data"]["in_progress"] == uids[0]
    assert replies[0]["error"]["data"]["failed"] == 1
    assert talk.ok("tasklist:get_task_in_progress") is None


@pytest.mark.parametrize(
    "batch",
    [
        [],
        [{"tool": "tasklist:display"}] * 1001,
        [[]],
        [{"tool": ADD, "arguments": {"name": "x"}}, [{"tool": "tasklist:display"}]],
        [{"tool": ADD, "arguments": {"name": "x"}}, {"tool": "ask", "arguments": {"question": "?"}}],
    ],
    ids=["empty", "1001", "nested", "one nested", "waiting"],
)
def test_a_batch_of_none_or_too_many_or_with_a_wait_or_a_batch_is_one_invalid_request(talk, batch):
    (reply,) = talk.lines(batch)
    assert isinstance(reply, dict)
    assert (reply["id"], reply["ok"], reply["error"]["code"]) == (None, False, "invalid_request")
    assert names(talk) == []
    assert queries.open_asks(talk.store.db) == []


def test_a_batch_of_1000_is_served(talk):
    replies = talk.one([{"id": n, "tool": ADD, "arguments": {"name": str(n)}} for n in range(1000)])
    assert [reply["id"] for reply in replies if reply["ok"]] == list(range(1000))
    assert len(names(talk)) == 1000


def test_a_batch_is_one_change_and_each_of_its_requests_raises_the_version(talk):
    uid = add(talk)
    replies = talk.one(
        [
            {"tool": "tasklist:update_task", "arguments": {"uid": uid, "name": "new"}},
            {"tool": "tasklist:set_task_done", "arguments": {"uid": uid}, "if_version": 2},
        ]
    )
    assert all(reply["ok"] for reply in replies), replies
    assert talk.ok("control:task", uid=uid)["version"] == 3
    talk.ok("control:undo")
    assert (talk.ok("control:task", uid=uid)["name"], talk.ok("control:task", uid=uid)["status"]) == ("task", "pending")


def test_lines_that_came_together_are_changes_of_their_own_and_a_refusal_among_them_spoils_nothing(talk):
    replies = talk.lines(
        {"id": 1, "tool": ADD, "arguments": {"name": "one"}},
        {"id": 2, "tool": "tasklist:delete_task", "arguments": {"uid": "none"}},
        {"id": 3, "tool": ADD, "arguments": {"name": "two"}},
    )
    assert [(reply["id"], reply["ok"]) for reply in replies] == [(1, True), (2, False), (3, True)]
    assert names(talk) == ["one", "two"]
    talk.ok("control:undo")
    assert names(talk) == ["one"]


def test_a_subscription_within_a_refused_batch_is_not_made(talk):
    talk.one([{"tool": "control:subscribe"}, {"tool": "tasklist:delete_task", "arguments": {"uid": "none"}}])
    add(talk)
    assert talk.events() == []


# Arguments


@pytest.mark.parametrize(
    ("tool", "arguments", "argument"),
    [
        (ADD, {}, "name"),
        (ADD, {"name": None}, "name"),
        (ADD, {"name": ""}, "name"),
        (ADD, {"name": " \t\n\u2003"}, "name"),
        (ADD, {"name": 5}, "name"),
        (ADD, {"name": ["x"]}, "name"),
        (ADD, {"name": "x", "nmae": "y"}, "nmae"),
        (ADD, {"name": "x", "description": 5}, "description"),
        (ADD, {"name": "x" * 10_001}, "name"),
        (ADD, {"name": "x", "description": "d" * 1_000_001}, "description"),
        ("tasklist:delete_task", {"uid": 5}, "uid"),
        ("tasklist:update_task", {"uid": "u", "status": "doing"}, "status"),
        ("tasklist:update_task", {"uid": "u", "status": "cancelled"}, "status"),
        ("tasklist:update_task", {"uid": "u", "status": "Done"}, "status"),
        ("tasklist:update_task", {"uid": "u", "name": " "}, "name"),
        ("tasklist:get_tasks", {}, "status"),
        ("tasklist:get_tasks", {"status": []}, "status"),
        ("tasklist:get_tasks", {"status": "[]"}, "status"),
        ("tasklist:get_tasks", {"status": None}, "status"),
        ("tasklist:get_tasks", {"status": {}}, "status"),
        ("tasklist:get_tasks", {"status": ["done", "open"]}, "status[1]"),
        ("tasklist:get_tasks", {"status": ["done", 5]}, "status[1]"),
        ("tasklist:get_tasks", {"status": "['done','open']"}, "status[1]"),
        ("tasklist:get_tasks", {"status": "open"}, None),
        ("tasklist:get_tasks", {"status": "['done'"}, "status"),
        ("tasklist:get_tasks", {"status": "[99999999999999999999999]"}, None),
        ("tasklist:get_tasks", {"status": "[' \\ud800']"}, None),
        ("tasklist:get_tasks", {"status": "[b'done']"}, None),
        ("tasklist:get_tasks", {"status": "[1j]"}, None),
        ("tasklist:get_tasks", {"status": "[{'done'}]"}, None),
        ("tasklist:get_tasks", {"status": "[" * 100}, "status"),
        ("tasklist:get_tasks", {"status": "[" * 50_000}, "status"),
        ("tasklist:get_tasks", {"status": "[" + "-" * 50_000 + "1]"}, "status"),
        ("tasklist:get_tasks", {"status": "[__import__('os').getpid()]"}, "status"),
        ("tasklist:log_task_progress", {"uid": "u"}, "message"),
        ("tasklist:swap_tasks", {"uid1": "u"}, "uid2"),
        ("tasklist:display", {"verbose": True}, "verbose"),
        ("control:history", {"limit": 0}, "limit"),
        ("control:history", {"limit": -1}, "limit"),
        ("control:history", {"limit": "x"}, "limit"),
        ("control:history", {"since": -1}, "since"),
        ("control:history", {"since": 1.5}, "since"),
        ("control:claim", {"lease_seconds": 0}, "lease_seconds"),
        ("control:claim", {"lease_seconds": -5}, "lease_seconds"),
        ("ask", {"question": ""}, "question"),
        ("ask", {"question": "q", "options": "x", "timeout": -1}, "timeout"),
        ("ask", {"question": "q", "options": [1]}, "options[0]"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_argument_is_refused_by_its_path_and_nothing_is_written(talk, tool, arguments, argument):
    uid = add(talk)
    seq = talk.seq()
    error = talk.refused(tool, **{name: uid if value == "u" else value for name, value in arguments.items()})
    assert error["code"] == "invalid_argument", error
    assert isinstance(error["data"]["argument"], str)
    if argument is not None:
        assert error["data"]["argument"] == argument
    assert error["message"]
    assert talk.seq() == seq


def test_integers_as_great_as_json_may_hold_are_served_or_refused_as_arguments(talk):
    add(talk)
    for tool, name in (("control:history", "since"), ("control:history", "limit"), ("control:subscribe", "since")):
        for value in (2**63 - 1, 2**63, 2**64 - 1):
            reply = talk.ask(tool, **{name: value})
            assert reply["ok"] or reply["error"]["code"] == "invalid_argument", reply


def test_null_for_an_optional_argument_means_absent(talk):
    uid = talk.ok(ADD, name="one", description=None)["uid"]
    task = talk.ok("tasklist:update_task", uid=uid, name=None, description=None, status="done")
    assert task == {"uid": uid, "name": "one", "description": "", "status": "done"}
    assert talk.refused("tasklist:update_task", uid=uid, name=None)["code"] == "invalid_argument"


@pytest.mark.parametrize(
    "given",
    [["done", "failed"], '["done", "failed"]', "['done','failed']", " [ 'done' , \"failed\" ] ", "['done', 'failed',]"],
)
def test_a_list_may_come_as_json_or_as_a_string_that_holds_it(talk, given):
    for status in ("pending", "done", "failed"):
        talk.ok("tasklist:update_task", uid=add(talk, status), status=status)
    assert [task["name"] for task in talk.ok("tasklist:get_tasks", status=given)] == ["done", "failed"]


def test_one_string_where_a_list_is_meant_is_a_list_of_one(talk):
    talk.ok("tasklist:set_task_done", uid=add(talk))
    assert len(talk.ok("tasklist:get_tasks", status="done")) == 1


def test_an_empty_description_empties_it(talk):
    uid = talk.ok(ADD, name="one", description="long")["uid"]
    assert talk.ok("tasklist:update_task", uid=uid, description="")["description"] == ""
    assert talk.ok("tasklist:get_task", uid=uid)["description"] == ""


TEXTS = [
    "a\0b",
    "\x1b]52;c;aGk=\x07\x1b[31m\x9b31m",
    "[bold]x[/bold] [@click=app.quit]y[/]",
    "\u202e\u2066\u200b\ufeff\U000e0041\u2028\u2029\x85",
    "\U0001f469\u200d\U0001f4bb e\u0301 \u00e9 \ufb01 \uff21 \U0010ffff \uffff \ufffd",
    " leading and trailing \r\n\t",
    "'; DROP TABLE task; --",
    '{"json": "[1]"}',
    "['done']",
    "x" * 10_000,
    "\U0001f600" * 10_000,
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_text_is_kept_and_returned_code_point_for_code_point(talk, text):
    uid = talk.ok(ADD, name=text, description=text)["uid"]
    talk.ok("tasklist:log_task_progress", uid=uid, message=text)
    task = talk.ok("tasklist:get_task", uid=uid)
    assert (task["name"], task["description"]) == (text, text)
    assert talk.ok("tasklist:get_task_logs", uid=uid)[0]["message"] == text
    created, logged = talk.ok("control:history")["entries"]
    assert (created["task"]["name"], logged["task"]["description"]) == (text, text)


def test_texts_may_hold_a_million_characters_and_names_ten_thousand(talk):
    text = "\U0001f600" * 1_000_000
    uid = talk.ok(ADD, name="n" * 10_000, description=text)["uid"]
    assert talk.ok("tasklist:get_task", uid=uid)["description"] == text
    talk.ok("tasklist:log_task_progress", uid=uid, message=text)
    assert talk.refused("tasklist:log_task_progress", uid=uid, message=text + "x")["code"] == "invalid_argument"


# Replies


def test_the_seq_of_a_reply_is_the_journals_newest_entry(talk):
    first = talk.ask(ADD, name="one")
    assert first["seq"] == journal.newest(talk.store.db) == 1
    assert talk.ask("tasklist:display")["seq"] == 1
    assert talk.ask(ADD, name="two")["seq"] == 2
    one, two = talk.lines(*({"tool": ADD, "arguments": {"name": name}} for name in ("three", "four")))
    assert (one["seq"], two["seq"]) == (3, 4)


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("tasklist:delete_task", {"uid": "none"}, "not_found"),
        ("tasklist:get_task", {"uid": "none"}, "not_found"),
        ("tasklist:get_task_logs", {"uid": "none"}, "not_found"),
        ("tasklist:add_task_before", {"uid": "none", "name": "x"}, "not_found"),
        ("tasklist:add_task_after", {"uid": "none", "name": "x"}, "not_found"),
        ("tasklist:swap_tasks", {"uid1": "none", "uid2": "none"}, "not_found"),
        ("control:task", {"uid": "none"}, "not_found"),
        ("ask", {"question": "?", "task": "none"}, "not_found"),
        (ADD, {"name": ""}, "invalid_argument"),
        ("tasklist:ad_task", {"name": "x"}, "unknown_tool"),
    ],
)
def test_a_refusal_tells_its_code_and_leaves_no_entry(talk, tool, arguments, code):
    add(talk)
    error = talk.refused(tool, **arguments)
    assert error["code"] == code
    assert isinstance(error["message"], str)
    if code == "not_found":
        assert error["data"] == {"id": "none"}
    assert talk.seq() == 1


def test_an_unknown_tool_is_told_with_the_nearest_names(talk):
    assert ADD in talk.refused("tasklist:ad_task")["data"]["did_you_mean"]
    assert talk.refused("x" * 100_000)["data"]["did_you_mean"] == []


@pytest.mark.parametrize("verb", ["control:answer", "control:message", "control:pause", "control:resume"])
def test_a_verb_of_the_humans_is_forbidden_and_kept_as_refused(talk, verb):
    error = talk.refused(verb, {"agent": "sly", "topic": "power"}, anything="goes")
    assert error["code"] == "forbidden"
    (entry,) = talk.ok("control:history")["entries"]
    assert (entry["event"], entry["actor"], entry["why"]) == ("agent.refused", "sly", {"topic": "power"})
    assert verb in json.dumps(entry)


def test_the_humans_verbs_are_not_offered(talk):
    offered = {tool["name"] for tool in talk.ok("control:hello")["tools"]}
    assert not offered & {"control:answer", "control:message", "control:pause", "control:resume", "control:compact"}


def test_a_read_only_channel_reads_and_refuses_every_write(path, clock):
    with Store(str(path)) as store:
        uid = add(Talk(store, clock))
    with Store(str(path), read_only=True) as store:
        talk = Talk(store, clock, read_only=True)
        assert talk.ok("control:hello")["read_only"] is True
        assert names(talk) == ["task"]
        assert talk.ok("control:history")["entries"]
        talk.ok("control:subscribe")
        for tool, arguments in (
            (ADD, {"name": "x"}),
            ("tasklist:set_task_done", {"uid": uid}),
            ("tasklist:clear", {}),
            ("control:undo", {}),
            ("control:claim", {}),
            ("ask", {"question": "?"}),
        ):
            assert talk.refused(tool, **arguments)["code"] == "forbidden"
        replies = talk.one([{"tool": "tasklist:display"}, {"tool": ADD, "arguments": {"name": "x"}}])
        assert [reply["error"]["code"] for reply in replies] == ["conflict", "forbidden"]


def test_a_defect_is_told_as_internal_without_a_traceback_and_the_channel_goes_on(talk, monkeypatch):
    def broken(call, given):
        call.run(EnsureList("half done", "task"))
        raise KeyError("a secret of the code")

    tools = TASKLIST.tools
    monkeypatch.setitem(tools, ADD, msgspec.structs.replace(tools[ADD], handler=broken))
    reply = talk.one({"id": 1, "tool": ADD, "arguments": {"name": "x"}})
    assert (reply["id"], reply["error"]["code"]) == (1, "internal")
    assert "secret" not in json.dumps(reply)
    assert "Traceback" not in json.dumps(reply)
    assert talk.seq() == 0
    other, batch = talk.lines({"tool": "tasklist:display"}, [{"tool": "tasklist:display"}, {"tool": ADD}])
    assert other["ok"]
    assert [item["ok"] for item in batch] == [False, False]


def test_a_line_that_is_no_json_is_answered_where_it_stood(talk):
    from tui_tasks.core.errors import ParseError, TooLarge

    values = [{"id": 1, "tool": "tasklist:display"}, ParseError("no"), TooLarge("too"), {"id": 2, "tool": "x"}]
    replies = talk.lines(*values)
    assert [reply["id"] for reply in replies] == [1, None, None, 2]
    assert [reply["error"]["code"] for reply in replies[1:]] == ["parse_error", "too_large", "unknown_tool"]


@contextlib.contextmanager
def full_disk(talk: Talk, monkeypatch):
    """No page more than there are, for this connection and for those that are opened meanwhile."""
    pages = talk.store.db.scalar("PRAGMA page_count")
    talk.store.db.sql(f"PRAGMA max_page_count = {pages}")
    pragmas = database._pragmas
    with monkeypatch.context() as full:
        full.setattr(database, "_pragmas", lambda read_only: [*pragmas(read_only), ("max_page_count", pages)])
        yield
    talk.store.db.sql("PRAGMA max_page_count = 1000000")


def test_a_failing_storage_is_told_and_nothing_was_written(talk, monkeypatch):
    add(talk, "kept")
    line = {"id": 1, "tool": ADD, "arguments": {"name": "x", "description": "d" * 900_000}}
    with full_disk(talk, monkeypatch):
        replies = talk.lines(line, {"id": 2, "tool": "tasklist:display"})
    assert [reply["id"] for reply in replies] == [1, 2]
    assert replies[0]["error"]["code"] == "storage_error"
    assert replies[0]["error"]["data"]["retryable"] is True
    assert [task["name"] for task in replies[1]["result"]] == ["kept"]
    assert talk.one(line)["ok"]
    monkeypatch.setattr(journal, "newest", lambda _: (_ for _ in ()).throw(StorageFailed("gone", retryable=False)))
    reply = talk.one({"id": 3, "tool": "control:hello"})
    assert (reply["id"], reply["error"]["code"], reply["error"]["data"]["retryable"]) == (3, "storage_error", False)


def test_where_storage_fails_among_lines_that_came_together_each_is_done_once_or_refused(talk, monkeypatch):
    add(talk, "kept")
    great = {"tool": ADD, "arguments": {"name": "great", "description": "d" * 900_000}}
    lines = [{"tool": ADD, "arguments": {"name": f"small {n}"}} for n in range(4)]
    with full_disk(talk, monkeypatch):
        replies = talk.lines(*lines[:2], great, *lines[2:], [great, lines[0]])
    assert [item["error"]["code"] for item in replies.pop()] == ["storage_error"] * 2
    assert replies[2]["error"]["code"] == "storage_error"
    done = [reply["result"]["name"] for reply in replies if reply["ok"]]
    assert names(talk) == ["kept", *done]
    assert journal.broken_link(talk.store.db) is None


# Paused


def test_a_paused_agent_is_told_what_the_human_wrote_and_others_go_on(talk, store, clock):
    uid = add(talk)
    talk.ok("control:subscribe")
    store.commit(PauseAgent("agent", "wait for me, [bold]please"), actor="human", now=clock())
    for tool, arguments in ((ADD, {"name": "x"}), ("tasklist:display", {}), ("tasklist:set_task_done", {"uid": uid})):
        error = talk.refused(tool, **arguments)
        assert (error["code"], error["message"]) == ("paused", "wait for me, [bold]please")
    assert talk.ok("tasklist:display", {"agent": "another"})
    replies = talk.one([{"tool": "tasklist:display", "agent": "another"}, {"tool": "tasklist:display"}])
    assert [reply["error"]["code"] for reply in replies] == ["conflict", "paused"]
    (event,) = talk.events()
    assert (event["event"], event["actor"]) == ("agent.paused", "human")
    store.commit(ResumeAgent("agent"), actor="human", now=clock())
    assert names(talk) == ["task"]
    (event,) = talk.events()
    assert event["event"] == "agent.resumed"


# One state, lists


def test_tasklist_shows_the_six_statuses_in_its_five_words_and_writing_them_back_changes_nothing(talk, store, clock):
    shown = {"pending": "pending", "in_progress": "in_progress", "done": "done", "failed": "failed"}
    for status in (*shown, "skipped", "cancelled"):
        word = shown.get(status, "skipped")
        uid = add(talk, status)
        store.commit(EditTask(uid, {"status": status}), actor="human", now=clock())
        task = talk.ok("tasklist:get_task", uid=uid)
        assert task["status"] == word
        seq = talk.seq()
        assert talk.ok("tasklist:update_task", uid=uid, status=word) == task
        assert talk.ok(f"tasklist:set_task_{word}", uid=uid) == task
        assert talk.seq() == seq
        assert talk.ok("control:task", uid=uid)["status"] == status
    assert [task["name"] for task in talk.ok("tasklist:get_tasks", status="skipped")] == ["skipped", "cancelled"]


def test_skipped_is_set_where_it_was_not_shown(talk, store):
    uid = add(talk)
    talk.ok("tasklist:set_task_skipped", uid=uid)
    assert queries.task(store.db, uid).status == "skipped"


def test_a_named_list_is_made_at_first_use_and_is_apart(talk, store):
    assert names(talk, list="mine") == []
    assert talk.ok("tasklist:clear", {"list": "mine"}) == {"deleted": 0}
    assert "mine" not in [found.name for found in queries.lists(store.db)]
    uid = add(talk, "in mine", list="mine")
    add(talk, "in the dialect's")
    assert names(talk) == ["in the dialect's"]
    assert names(talk, list="mine") == ["in mine"]
    assert talk.ok("control:task", uid=uid)["list"] == "mine"
    assert talk.ok("tasklist:clear", {"list": "mine"}) == {"deleted": 1}
    assert names(talk) == ["in the dialect's"]


def test_a_channel_may_be_bound_to_a_list_and_a_request_may_name_another(store, clock):
    bound = Talk(store, clock, list="mine")
    assert bound.ok("control:hello")["list"] == "mine"
    add(bound, "one")
    add(bound, "two", list="other")
    assert names(bound) == ["one"]
    assert names(bound, list="other") == ["two"]
    assert Talk(store, clock).ok("control:hello")["list"] is None


@pytest.mark.parametrize("envelope", [{}, {"list": "made by tasklist"}])
def test_a_second_task_in_progress_is_a_conflict_with_the_uid_of_the_first(talk, envelope):
    first, second = add(talk, **envelope), add(talk, **envelope)
    talk.ok("tasklist:set_task_in_progress", uid=first)
    for tool, arguments in (
        ("tasklist:set_task_in_progress", {}),
        ("tasklist:update_task", {"status": "in_progress", "name": "x"}),
    ):
        error = talk.refused(tool, uid=second, **arguments)
        assert (error["code"], error["data"]["in_progress"]) == ("conflict", first)
    assert talk.ok("tasklist:get_task", uid=second)["name"] == "task"
    assert talk.ok("tasklist:set_task_in_progress", uid=first)["status"] == "in_progress"


def test_one_in_progress_is_counted_by_list(talk):
    talk.ok("tasklist:set_task_in_progress", uid=add(talk))
    talk.ok("tasklist:set_task_in_progress", uid=add(talk, list="another"))


def test_a_list_of_another_dialect_has_no_such_limit_until_the_human_gives_it_the_rule(talk, store, clock):
    (home,) = store.commit(EnsureList("free", "task"), actor="human", now=clock())
    uids = [add(talk, list="free") for _ in range(3)]
    for uid in uids[:2]:
        talk.ok("tasklist:set_task_in_progress", uid=uid)
    talk.ok("tasklist:set_task_done", uid=uids[0])
    store.commit(SetListRule(home.uid, True), actor="human", now=clock())
    assert talk.refused("tasklist:set_task_in_progress", uid=uids[2])["data"]["in_progress"] == uids[1]


def test_any_task_is_read_and_written_by_its_uid_whichever_list_it_is_in(talk):
    uid = add(talk, list="mine")
    assert talk.ok("tasklist:set_task_done", uid=uid)["status"] == "done"
    after = talk.ok("tasklist:add_task_after", uid=uid, name="after")["uid"]
    assert names(talk, list="mine") == ["task", "after"]
    assert talk.refused("tasklist:swap_tasks", uid1=after, uid2=add(talk))["code"] == "invalid_argument"


def test_a_clock_that_goes_back_spoils_nothing(talk, clock: Clock):
    uid = add(talk)
    clock.forward(-3600)
    talk.ok("tasklist:log_task_progress", uid=uid, message="earlier")
    clock.forward(10)
    talk.ok("tasklist:log_task_progress", uid=uid, message="later")
    assert [entry["message"] for entry in talk.ok("tasklist:get_task_logs", uid=uid)] == ["earlier", "later"]
