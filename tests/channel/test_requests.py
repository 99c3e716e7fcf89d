"""A request: its envelope, its arguments, the version it names (docs: protocol, section 2)."""

import json

import pytest

from tests.talking import ADD, add, names

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


def test_arguments_may_come_as_a_string_that_holds_an_object(talk):
    assert talk.one({"name": ADD, "arguments": '{"name": "as models write calls"}'})["ok"]
    assert names(talk) == ["as models write calls"]
    for wrong in ("", "name", '["name"]', "{", '{"name": "x", "name": "y"}'):
        reply = talk.one({"name": ADD, "arguments": wrong})
        assert reply["error"]["code"] == "invalid_request", wrong
    assert names(talk) == ["as models write calls"]


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
    [["done", "failed"], '["done", "failed"]', "['done','failed']", " [ 'done' , \"failed\" ] "],
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
