"""Batches: applied whole or not at all (docs: protocol, section 2)."""

import json

import pytest

from tests.talking import ADD, add, names
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.read import ask_queries


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
    assert ask_queries.open_asks(talk.store.db) == []


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


def test_where_one_fails_half_written_each_of_the_others_is_done_once(talk, store):
    bad = [{"tool": ADD, "arguments": {"name": "never"}}, {"tool": "tasklist:get_task", "arguments": {"uid": "nope"}}]
    replies = talk.lines(
        {"tool": ADD, "arguments": {"name": "one"}},
        {"id": "ask", "tool": "ask", "arguments": {"question": "which?", "timeout": 5}},
        {"tool": "control:subscribe", "arguments": {}},
        bad,
        {"tool": ADD, "arguments": {"name": "two"}},
    )
    assert [reply["ok"] for reply in replies if isinstance(reply, dict)] == [True] * 3
    assert [reply["error"]["code"] for reply in replies[2]] == ["conflict", "not_found"]
    assert names(talk) == ["one", "two"]
    assert [event["event"] for event in talk.events()] == ["task.created"]
    assert talk.seq() == 3
    assert database_findings.broken_link(store.db) is None
    talk.clock.forward(6)
    assert [json.loads(line)["id"] for line in talk.session.settle()] == ["ask"]


def test_a_subscription_within_a_refused_batch_is_not_made(talk):
    talk.one([{"tool": "control:subscribe"}, {"tool": "tasklist:delete_task", "arguments": {"uid": "none"}}])
    add(talk)
    assert talk.events() == []
