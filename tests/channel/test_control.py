"""Hello, a task with every field, events and history (docs: protocol, section 7)."""

import json
from datetime import datetime

import pytest

from tests.conftest import SECOND, START
from tests.talking import ADD, add, task
from tui_tasks import __version__
from tui_tasks.channel.subscription import PAGE
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import SendMessage

EVERY_FIELD = {
    *(
        "uid",
        "number",
        "key",
        "list",
        "name",
        "description",
        "status",
        "priority",
        "tags",
        "domain",
        "result",
        "metadata",
    ),
    *("agent", "intent", "depends_on", "blocked", "held", "node_ids", "version"),
    *("created_at", "updated_at", "started_at", "finished_at", "due", "estimate", "links", "verified", "checks"),
    *("work", "works"),
}


# Hello, and a task with every field


def test_hello_tells_what_an_agent_needs_to_start(talk):
    add(talk)
    hello = talk.ok("control:hello")
    assert {key: hello[key] for key in hello if key != "tools"} == {
        "protocol": 1,
        "version": __version__,
        "agent": "agent",
        "list": None,
        "read_only": False,
        "seq": 1,
    }
    tools = {tool["name"]: tool for tool in hello["tools"]}
    seeds = [
        *("add_task", "add_task_before", "add_task_after", "delete_task", "update_task", "swap_tasks"),
        *(f"set_task_{status}" for status in ("pending", "in_progress", "done", "failed", "skipped")),
        *("log_task_progress", "get_task_logs", "get_task_in_progress", "get_task", "get_tasks", "clear", "display"),
    ]
    assert len(seeds) == 18
    assert {f"tasklist:{name}" for name in seeds} <= tools.keys()
    for name in ("hello", "subscribe", "unsubscribe", "history", "undo", "claim", "heartbeat", "release", "task"):
        assert f"control:{name}" in tools
    for tool in tools.values():
        assert tool.keys() == {"name", "description", "input_schema"}
        assert len(tool["description"]) > 20
        assert tool["input_schema"]["type"] == "object"
        assert "$ref" not in json.dumps(tool["input_schema"])
    assert tools[ADD]["input_schema"]["required"] == ["name"]
    assert tools["tasklist:get_task_in_progress"]["input_schema"]["properties"] == {}


def test_hello_is_brief_and_tells_those_tools_whole_that_are_asked_for(talk):
    brief = {tool["name"]: tool for tool in talk.ok("control:hello")["tools"]}
    whole = {tool["name"]: tool for tool in talk.ok("control:hello", tools="all")["tools"]}
    some = {tool["name"]: tool for tool in talk.ok("control:hello", tools=["ask", "claim"])["tools"]}
    assert brief.keys() == whole.keys() == some.keys()
    assert len(json.dumps(list(brief.values()))) < 0.7 * len(json.dumps(list(whole.values())))
    assert (some["ask"], some["control:heartbeat"]) == (whole["ask"], whole["control:heartbeat"])
    assert some["todo"] == brief["todo"] != whole["todo"]
    assert brief["todo"]["input_schema"]["required"] == whole["todo"]["input_schema"]["required"]
    refused = talk.refused("control:hello", tools=["aks"])
    assert (refused["code"], refused["data"]["argument"]) == ("invalid_argument", "tools")
    assert "no tool or dialect 'aks'; did you mean" in refused["message"]


def test_control_task_shows_every_field(talk):
    uid = add(talk)
    shown = task(talk, uid)
    assert shown.keys() == EVERY_FIELD
    assert (shown["list"], shown["status"], shown["priority"], shown["version"]) == ("tasklist", "pending", 3, 1)
    assert (shown["blocked"], shown["tags"], shown["depends_on"], shown["node_ids"]) == (False, [], [], [])
    assert (shown["started_at"], shown["finished_at"]) == (None, None)
    assert datetime.fromisoformat(shown["created_at"]).timestamp() == START / SECOND


def test_a_task_is_started_and_finished_when_its_status_says_so(talk, clock):
    uid = add(talk)
    clock.forward(10)
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    clock.forward(20)
    talk.ok("tasklist:set_task_done", uid=uid)
    shown = task(talk, uid)
    instants = [shown[name] for name in ("created_at", "started_at", "finished_at", "updated_at")]
    assert [datetime.fromisoformat(at).timestamp() - START / SECOND for at in instants] == [0, 10, 30, 30]


# Events


def test_an_event_tells_who_changed_what_when_from_what_to_what_and_why(talk, clock):
    uid = add(talk)
    talk.ok("control:subscribe")
    clock.now = int(datetime.fromisoformat("2026-01-02T11:23:54.120+00:00").timestamp() * SECOND)
    talk.ok("tasklist:set_task_done", {"agent": "worker", "thoughts": ["done at last"]}, uid=uid)
    (event,) = talk.events()
    assert sorted(event) == sorted(["event", "seq", "at", "actor", "task", "changes", "why"])
    assert (event["event"], event["seq"], event["actor"]) == ("task.updated", 2, "worker")
    assert event["at"] == "2026-01-02T11:23:54.120+00:00"
    assert event["changes"] == {"status": ["pending", "done"]}
    assert event["why"] == {"thoughts": ["done at last"]}
    assert event["task"] == task(talk, uid)


def test_every_kind_of_change_to_a_task_has_its_event(talk):
    talk.ok("control:subscribe")
    one, two = add(talk, "one"), add(talk, "two")
    talk.ok("tasklist:update_task", uid=one, name="new", description="d")
    talk.ok("tasklist:swap_tasks", uid1=one, uid2=two)
    talk.ok("tasklist:log_task_progress", uid=one, message="said")
    talk.ok("tasklist:delete_task", uid=one)
    talk.ok("control:undo")
    events = talk.events()
    kinds = [event["event"] for event in events]
    assert kinds[:3] == ["task.created", "task.created", "task.updated"]
    assert set(kinds[3:-3]) == {"task.moved"}
    assert kinds[-3:] == ["task.logged", "task.deleted", "task.restored"]
    assert events[2]["changes"] == {"name": ["one", "new"], "description": ["", "d"]}
    assert "said" in json.dumps(events[-3])
    for event in events:
        assert event["task"].keys() == EVERY_FIELD
        assert "ok" not in event


def test_events_show_the_task_as_it_was_then_not_as_it_is_now(talk):
    uid = add(talk, "first")
    long = "d" * 5_000
    talk.ok("tasklist:update_task", uid=uid, description=long)
    talk.ok("tasklist:update_task", uid=uid, name="second")
    talk.ok("tasklist:update_task", uid=uid, description="short")
    talk.ok("tasklist:delete_task", uid=uid)
    shown = [(entry["task"]["name"], entry["task"]["description"]) for entry in talk.ok("control:history")["entries"]]
    assert shown == [("first", ""), ("first", long), ("second", long), ("second", "short"), ("second", "short")]


def test_a_subscriber_hears_what_comes_after_and_nothing_before(talk, other):
    add(talk, "before")
    assert talk.ok("control:subscribe") == {"seq": 1}
    assert talk.events() == []
    add(talk, "own")
    add(other, "theirs")
    assert [(event["seq"], event["actor"]) for event in talk.events()] == [(2, "agent"), (3, "other")]
    assert talk.events() == []


def test_since_takes_up_where_one_left_off_none_skipped_none_twice(talk, other):
    for number in range(450):
        add(other if number % 3 else talk, str(number))
    assert talk.ok("control:subscribe", since=7) == {"seq": 7}
    heard: list[int] = []
    while events := talk.events():
        heard += [event["seq"] for event in events]
    assert heard == list(range(8, 451))
    assert talk.ok("control:subscribe", since=448) == {"seq": 448}
    assert [event["seq"] for event in talk.events()] == [449, 450]
    assert talk.refused("control:subscribe", since=451)["data"]["argument"] == "since"


def test_the_journal_is_read_once_for_an_event_and_again_only_behind_a_full_page(talk, other, monkeypatch):
    talk.ok("control:subscribe")
    read, real = [], journal.each_since
    monkeypatch.setattr(journal, "each_since", lambda *given: (read.append(given[1]), real(*given))[1])
    add(other)
    (page,) = talk.session.subscription.pages(blocked=False)
    assert (len(page), len(read)) == (1, 1)
    for number in range(PAGE + 1):
        add(other, str(number))
    read.clear()
    assert [len(page) for page in talk.session.subscription.pages(blocked=False)] == [PAGE, 1]
    assert len(read) == 2


def test_the_delivery_of_a_message_is_an_event_of_the_same_turn(talk, other):
    talk.ok("control:subscribe")
    other.store.commit(SendMessage("agent", "Stop."), actor="human", now=START)
    heard = [json.loads(line) for page in talk.session.subscription.pages(blocked=False) for line in page]
    assert [event["event"] for event in heard] == ["message", "message.delivered"]


def test_unsubscribed_one_hears_no_more(talk):
    talk.ok("control:subscribe")
    assert talk.ok("control:unsubscribe") is None
    add(talk)
    assert talk.events() == []


def test_one_who_stopped_reading_is_told_lagged_and_can_take_up_again(talk, other):
    talk.ok("control:subscribe")
    for number in range(3):
        replies = other.one([{"tool": ADD, "arguments": {"name": f"{number}.{n}"}} for n in range(1000)])
        assert replies[-1]["ok"]
    (lagged,) = [json.loads(line) for line in talk.session.subscription.events(blocked=True)]
    assert lagged == {"event": "lagged", "since": 0}
    assert talk.events() == []
    add(other, "after")
    assert [event["task"]["name"] for event in talk.events()] == ["after"]
    talk.ok("control:subscribe", since=lagged["since"])
    assert talk.events()[0]["seq"] == 1


def test_after_compaction_an_old_cursor_has_expired_and_the_oldest_is_told(talk, store):
    for number in range(10):
        add(talk, str(number))
    with store.db.transaction(write=True):
        store.db.sql("DELETE FROM journal WHERE seq <= 5")
    for tool in ("control:subscribe", "control:history"):
        error = talk.refused(tool, since=3)
        assert (error["code"], error["data"]) == ("cursor_expired", {"oldest": 6})
        talk.ok(tool, since=5)
    assert [event["seq"] for event in talk.events()] == [6, 7, 8, 9, 10]


def test_a_message_of_the_humans_reaches_the_agent(talk, store, clock):
    talk.ok("control:subscribe")
    store.commit(SendMessage("agent", "look at [b]this"), actor="human", now=clock())
    (event,) = talk.events()
    assert (event["event"], event["actor"], event["to"], event["text"]) == (
        "message",
        "human",
        "agent",
        "look at [b]this",
    )


# History


def test_history_without_since_is_the_newest_oldest_first_and_has_no_next_page(talk):
    for number in range(120):
        add(talk, str(number))
    page = talk.ok("control:history")
    assert [entry["seq"] for entry in page["entries"]] == list(range(21, 121))
    assert page["next"] is None
    page = talk.ok("control:history", limit=2)
    assert ([entry["seq"] for entry in page["entries"]], page["next"]) == ([119, 120], None)


def test_history_with_since_goes_on_page_by_page_to_the_end(talk):
    for number in range(25):
        add(talk, str(number))
    seen, since, pages = [], 3, 0
    while since is not None:
        page = talk.ok("control:history", since=since, limit=11)
        seen += [entry["seq"] for entry in page["entries"]]
        since, pages = page["next"], pages + 1
    assert (seen, pages) == (list(range(4, 26)), 2)
    assert talk.ok("control:history", since=25) == {"entries": [], "next": None}
    assert len(talk.ok("control:history", since=0)["entries"]) == 25


def test_history_of_one_task(talk):
    one, two = add(talk, "one"), add(talk, "two")
    talk.ok("tasklist:set_task_done", uid=one)
    talk.ok("tasklist:set_task_done", uid=two)
    talk.ok("tasklist:log_task_progress", uid=one, message="m")
    talk.ok("tasklist:delete_task", uid=one)
    history = talk.ok("control:history", task=one)["entries"]
    assert [entry["seq"] for entry in history] == [1, 3, 5, 6]
    page = talk.ok("control:history", task=one, since=1, limit=2)
    assert ([entry["seq"] for entry in page["entries"]], page["next"]) == ([3, 5], 5)


def test_history_and_subscription_tell_the_same_of_an_entry(talk):
    talk.ok("control:subscribe")
    uid = add(talk, topic="t")
    talk.ok("tasklist:update_task", uid=uid, description="d" * 3_000, status="done")
    talk.ok("tasklist:log_task_progress", uid=uid, message="m")
    talk.ok("control:claim")
    talk.refused("control:pause")
    assert talk.events() == talk.ok("control:history")["entries"]


# What no dialect has


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2026-02-03", "2026-02-03"),
        ("2026-02-03T10:00+01:00", "2026-02-03T09:00:00.000+00:00"),
        ("2026-02-03T09:00:00Z", "2026-02-03T09:00:00.000+00:00"),
    ],
)
def test_an_agent_sets_when_a_task_is_due_and_what_it_takes(talk, given, kept):
    uid = add(talk)
    shown = talk.ok("control:update_task", uid=uid, due=given, estimate=90)
    assert (shown["due"], shown["estimate"], shown["version"]) == (kept, 90, 2)
    assert task(talk, uid) == shown
    (told,) = talk.ok("control:history", limit=1)["entries"]
    assert told["changes"] == {"due": [None, kept], "estimate": [None, 90]}
    assert told["task"]["due"] == kept
    talk.ok("control:undo")
    assert (task(talk, uid)["due"], task(talk, uid)["estimate"]) == (None, None)


def test_an_empty_date_and_no_minutes_take_both_away(talk):
    uid = add(talk)
    talk.ok("control:update_task", uid=uid, due="2026-02-03", estimate=90)
    shown = talk.ok("control:update_task", uid=uid, due="", estimate=0)
    assert (shown["due"], shown["estimate"]) == (None, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"due": "soon"},
        {"due": "2026-02-30"},
        {"estimate": -1},
        {"estimate": 10**9},
        {"due": "9999-12-31T23:59-14:00"},
    ],
)
def test_what_is_no_date_and_no_span_is_refused_and_nothing_is_written(talk, wrong):
    uid = add(talk)
    assert talk.refused("control:update_task", uid=uid, **wrong)["code"] == "invalid_argument"
    assert task(talk, uid)["version"] == 1
