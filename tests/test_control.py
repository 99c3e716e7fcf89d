"""What goes beyond the seeds: hello, events, history, undo, claims, ask (contract, section 7)."""

import json
from datetime import datetime

import pytest

from tests.conftest import SECOND, START, Talk
from tui_tasks import __version__, oneshot
from tui_tasks.core import kept, queries
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations import (
    AddTask,
    AnswerAsk,
    CreatePlan,
    DeleteTask,
    EditTask,
    EnsureList,
    LogTask,
    MoveTask,
    SendMessage,
    Undo,
)
from tui_tasks.core.store import Store
from tui_tasks.dialects.base import Wait

ADD = "tasklist:add_task"
EVERY_FIELD = {
    *("uid", "key", "list", "name", "description", "status", "priority", "tags", "domain", "result", "metadata"),
    *("agent", "intent", "depends_on", "blocked", "node_ids", "version"),
    *("created_at", "updated_at", "started_at", "finished_at"),
}


def add(talk: Talk, name: str = "task", **envelope) -> str:
    return talk.ok(ADD, envelope, name=name)["uid"]


def task(talk: Talk, uid: str) -> dict:
    return talk.ok("control:task", uid=uid)


def names(talk: Talk) -> list[str]:
    return [found["name"] for found in talk.ok("tasklist:display")]


@pytest.fixture
def other(path, store, clock):
    """Another process's conversation: a connection of its own."""
    with Store(str(path)) as second:
        yield Talk(second, clock, agent="other")


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
    assert tools["tasklist:display"]["input_schema"]["properties"] == {}


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


# Undo


def test_undo_takes_back_ones_own_newest_change_one_after_the_other(talk):
    uid = add(talk, "one")
    talk.ok("tasklist:update_task", uid=uid, name="two", description="d")
    talk.ok("tasklist:set_task_done", uid=uid)
    assert talk.ok("control:undo") == {"undone": 3}
    assert task(talk, uid)["status"] == "pending"
    assert talk.ok("control:undo") == {"undone": 2}
    assert (task(talk, uid)["name"], task(talk, uid)["description"]) == ("one", "")
    assert talk.ok("control:undo") == {"undone": 1}
    assert names(talk) == []
    seq = talk.seq()
    assert talk.refused("control:undo")["code"] == "conflict"
    assert talk.seq() == seq


def test_undo_is_of_the_agent_that_speaks_and_leaves_others_changes(talk, other):
    add(talk, "mine")
    add(other, "theirs")
    talk.ok("control:undo")
    assert names(talk) == ["theirs"]
    assert talk.refused("control:undo")["code"] == "conflict"
    other.ok("control:undo")
    assert names(talk) == []


def test_an_undo_is_itself_no_change_to_be_undone(talk):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    talk.ok("control:undo")
    talk.ok("tasklist:log_task_progress", uid=uid, message="m")
    talk.ok("control:undo")
    assert talk.ok("tasklist:get_task_logs", uid=uid) == []
    talk.ok("control:undo")
    assert names(talk) == []


def test_undo_raises_the_version_and_is_in_the_journal_like_any_change(talk):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    talk.ok("control:subscribe")
    talk.ok("control:undo", {"topic": "wrong task"})
    assert task(talk, uid)["version"] == 3
    (event,) = talk.events()
    assert (event["event"], event["changes"]) == ("task.updated", {"status": ["done", "pending"]})
    assert (event["actor"], event["why"]) == ("agent", {"topic": "wrong task"})


def test_swaps_are_taken_back_one_by_one(talk):
    one, two = add(talk, "1"), add(talk, "2")
    add(talk, "3")
    for _ in range(3):
        talk.ok("tasklist:swap_tasks", uid1=one, uid2=two)
    for order in ("123", "213", "123"):
        talk.ok("control:undo")
        assert "".join(names(talk)) == order


def test_a_deleted_task_comes_back_to_its_place_with_all_it_had(talk):
    uids = [add(talk, str(number)) for number in range(3)]
    talk.ok("tasklist:log_task_progress", uid=uids[1], message="kept")
    talk.ok("tasklist:set_task_in_progress", uid=uids[1])
    before = talk.ok("tasklist:display")
    talk.ok("tasklist:delete_task", uid=uids[1])
    talk.ok("control:undo")
    assert talk.ok("tasklist:display") == before
    assert [entry["message"] for entry in talk.ok("tasklist:get_task_logs", uid=uids[1])] == ["kept"]


def test_a_cleared_list_comes_back_whole_and_the_human_can_bring_it_back_too(talk, store, clock):
    for number in range(5):
        add(talk, str(number))
    before = talk.ok("tasklist:display")
    assert talk.ok("tasklist:clear") == {"deleted": 5}
    assert talk.ok("tasklist:display") == []
    talk.ok("control:undo")
    assert talk.ok("tasklist:display") == before
    talk.ok("tasklist:clear")
    cleared = talk.seq() - 4
    store.commit(Undo(cleared), actor="human", now=clock())
    assert talk.ok("tasklist:display") == before


def test_what_somebody_has_changed_since_is_not_taken_back(talk, other):
    uid = add(talk)
    talk.ok("tasklist:update_task", uid=uid, name="mine")
    other.ok("tasklist:update_task", uid=uid, name="theirs")
    seq = talk.seq()
    assert talk.refused("control:undo")["code"] == "conflict"
    assert (talk.seq(), names(talk)) == (seq, ["theirs"])


def test_another_field_of_the_same_task_is_not_the_same(talk, other):
    uid = add(talk)
    talk.ok("tasklist:update_task", uid=uid, name="mine")
    other.ok("tasklist:update_task", uid=uid, description="theirs")
    talk.ok("control:undo")
    assert talk.ok("tasklist:get_task", uid=uid) == {
        "uid": uid,
        "name": "task",
        "description": "theirs",
        "status": "pending",
    }


def test_a_task_that_others_have_worked_on_or_deleted_is_not_taken_back(talk, other):
    uid = add(talk)
    other.ok("tasklist:log_task_progress", uid=uid, message="worked on it")
    assert talk.refused("control:undo")["code"] == "conflict"
    talk.ok("tasklist:set_task_done", uid=uid)
    other.ok("tasklist:delete_task", uid=uid)
    assert talk.refused("control:undo")["code"] == "conflict"


def test_undo_does_not_break_one_in_progress(talk, other):
    one, two = add(talk), add(other)
    talk.ok("tasklist:set_task_in_progress", uid=one)
    talk.ok("tasklist:set_task_done", uid=one)
    other.ok("tasklist:set_task_in_progress", uid=two)
    error = talk.refused("control:undo")
    assert (error["code"], error["data"]["in_progress"]) == ("conflict", two)


def test_an_undo_costs_the_same_after_a_long_past_as_after_a_short_one(talk, store):
    costs = []
    for size in (300, 3_000):
        while talk.seq() < size:
            talk.one([{"tool": ADD, "arguments": {"name": "task"}}] * 100)
        steps = [0]

        def count(steps=steps) -> None:
            steps[0] += 1

        uid = talk.ok(ADD, name="last")["uid"]
        talk.ok("tasklist:update_task", uid=uid, name="new")
        store.db._connection.set_progress_handler(count, 100)
        talk.ok("control:undo")
        store.db._connection.set_progress_handler(None, 0)
        costs.append(steps[0] + 1)
    assert costs[1] < 2 * costs[0]


def test_no_agent_can_take_from_the_journal(talk):
    uid = add(talk)
    talk.ok("tasklist:log_task_progress", uid=uid, message="said")
    talk.ok("control:undo")
    talk.ok("tasklist:delete_task", uid=uid)
    talk.ok("control:undo")
    talk.ok("control:undo")
    talk.ok("tasklist:clear")
    seqs = [entry["seq"] for entry in talk.ok("control:history", since=0)["entries"]]
    assert seqs == list(range(1, talk.seq() + 1))


# Claims


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


def test_a_list_that_may_take_no_more_in_progress_gives_null(talk, other):
    add(talk)
    add(talk)
    assert talk.ok("control:claim", list="tasklist")["task"]
    assert talk.ok("control:claim", list="tasklist") is None
    assert other.ok("control:claim") is None
    assert add(other, list="free")
    assert other.ok("control:claim")["task"]["list"] == "free"


def test_a_plan_is_named_by_its_id(talk, store, clock):
    (plan,) = store.commit(CreatePlan("Release"), actor="human", now=clock())
    store.commit(AddTask("in the plan", plan.uid), actor="human", now=clock())
    held = talk.ok("control:claim", list=plan.uid)
    assert (held["task"]["name"], held["task"]["list"]) == ("in the plan", plan.uid)


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


# Ask


def asked(talk: Talk, **arguments) -> str:
    """A question that waits; its uid."""
    assert talk.session.answer([{"id": "q", "tool": "ask", "arguments": {"question": "Shall I?", **arguments}}]) == []
    return queries.open_asks(talk.store.db)[-1].uid


def settled(talk: Talk, **how) -> list[dict]:
    return [json.loads(line) for line in talk.session.settle(**how)]


def test_a_question_waits_for_the_human_and_holds_up_nobody(talk, store, clock):
    uid = asked(talk, options=["yes", "no"])
    assert settled(talk) == []
    add(talk, "meanwhile")
    clock.forward(5)
    store.commit(AnswerAsk(uid, "yes"), actor="human", now=clock())
    (reply,) = settled(talk)
    assert (reply["id"], reply["ok"], reply["result"]["answer"]) == ("q", True, "yes")
    assert datetime.fromisoformat(reply["result"]["at"]).timestamp() * SECOND == clock()
    assert reply["seq"] == talk.seq()
    assert settled(talk) == []


def test_a_question_is_answered_from_another_process_and_told_as_events(talk, other, clock):
    talk.ok("control:subscribe")
    of = add(talk)
    uid = asked(talk, task=of)
    other.store.commit(AnswerAsk(uid, "in my own words"), actor="human", now=clock())
    assert settled(talk)[0]["result"]["answer"] == "in my own words"
    opened, answered = talk.events()[1:]
    assert (opened["event"], opened["actor"], opened["task"]["uid"]) == ("ask.opened", "agent", of)
    assert (answered["event"], answered["actor"]) == ("ask.answered", "human")
    assert "in my own words" in json.dumps(answered)


def test_a_question_that_nobody_answers_in_time_is_a_timeout(talk, clock):
    asked(talk, timeout=2.5)
    assert talk.session.due() == clock() + 2_500_000
    clock.forward(2.4)
    assert settled(talk) == []
    clock.forward(0.1)
    (reply,) = settled(talk)
    assert (reply["id"], reply["ok"], reply["error"]["code"]) == ("q", False, "timeout")
    assert queries.open_asks(talk.store.db) == []


def test_at_the_end_of_input_a_question_without_a_timeout_is_withdrawn_and_one_with_goes_on(talk, clock):
    asked(talk)
    asked(talk, timeout=10)
    (reply,) = settled(talk, ending=True)
    assert reply["error"]["code"] == "timeout"
    assert len(queries.open_asks(talk.store.db)) == 1
    clock.forward(10)
    assert settled(talk, ending=True)[0]["error"]["code"] == "timeout"


def test_an_answer_that_comes_at_the_very_end_is_not_lost(talk, other, clock):
    uid = asked(talk, timeout=1)
    (waiting,) = talk.session.waits._waiting
    given = waiting.wait

    def check(call):
        found = given.check(call)
        if found is None and queries.open_asks(other.store.db):
            other.store.commit(AnswerAsk(uid, "just in time"), actor="human", now=clock())
        return found

    waiting.wait = Wait(check, given.give_up, given.deadline)
    clock.forward(1)
    (reply,) = settled(talk)
    assert reply["ok"], reply
    assert reply["result"]["answer"] == "just in time"


def test_a_keyed_question_that_was_answered_is_not_asked_again(talk, store, clock):
    request = {"tool": "ask", "arguments": {"question": "Shall I?"}, "idempotency_key": "k"}
    assert talk.lines(request) == []
    store.commit(AnswerAsk(queries.open_asks(store.db)[0].uid, "yes"), actor="human", now=clock())
    (reply,) = settled(talk)
    assert talk.one(request) == reply
    assert queries.open_asks(store.db) == []


def test_a_keyed_question_sent_twice_is_asked_once_and_both_are_answered(talk, store, clock):
    request = {"tool": "ask", "arguments": {"question": "Shall I?"}, "idempotency_key": "k"}
    assert talk.lines(request | {"id": 1}, request | {"id": 2}) == []
    (question,) = queries.open_asks(store.db)
    store.commit(AnswerAsk(question.uid, "yes"), actor="human", now=clock())
    replies = settled(talk)
    assert [(reply["id"], reply["ok"]) for reply in replies] == [(1, True), (2, True)]
    assert {reply["result"]["answer"] for reply in replies} == {"yes"}


def test_a_keyed_question_is_taken_up_again_after_a_restart(path, clock):
    request = {"tool": "ask", "arguments": {"question": "Shall I?"}, "idempotency_key": "k"}
    with Store(str(path)) as store:
        Talk(store, clock).lines(request)
    with Store(str(path)) as store:
        talk = Talk(store, clock)
        assert talk.lines(request) == []
        (question,) = queries.open_asks(store.db)
        store.commit(AnswerAsk(question.uid, "yes"), actor="human", now=clock())
        assert [reply["result"]["answer"] for reply in settled(talk)] == ["yes"]


def test_a_storage_that_fails_while_a_question_waits_loses_neither(talk, store, clock, monkeypatch):
    uid = asked(talk)
    store.commit(AnswerAsk(uid, "yes"), actor="human", now=clock())
    with monkeypatch.context() as failing:
        failing.setattr(queries, "ask", lambda *_: (_ for _ in ()).throw(StorageFailed("busy", retryable=True)))
        assert settled(talk) == []
    clock.forward(1)
    assert settled(talk)[0]["result"]["answer"] == "yes"


def test_a_task_that_is_deleted_while_a_question_waits_does_no_harm(talk, store, clock):
    of = add(talk)
    uid = asked(talk, task=of)
    store.commit(LogTask(of, "gone"), DeleteTask(of), actor="human", now=clock())
    store.commit(AnswerAsk(uid, "yes"), actor="human", now=clock())
    assert settled(talk)[0]["result"]["answer"] == "yes"


def test_a_reply_is_not_lost_where_the_storage_fails_over_the_one_behind_it(talk, store, clock, monkeypatch):
    first = asked(talk)
    keyed = {"id": "k", "tool": "ask", "arguments": {"question": "Or?", "timeout": 1}, "idempotency_key": "k"}
    assert talk.lines(keyed) == []
    store.commit(AnswerAsk(first, "yes"), actor="human", now=clock())
    clock.forward(1)
    with monkeypatch.context() as failing:
        failing.setattr(kept, "drop", lambda *_: (_ for _ in ()).throw(StorageFailed("full", retryable=True)))
        assert [reply["id"] for reply in settled(talk)] == ["q"]
    clock.forward(1)
    assert [(reply["id"], reply["error"]["code"]) for reply in settled(talk)] == [("k", "timeout")]


def test_at_the_end_of_input_a_wait_that_could_not_be_given_up_is_tried_again_later_and_not_at_once(
    talk, clock, monkeypatch
):
    asked(talk)
    waits = talk.session.waits
    assert waits.endless(clock())
    with monkeypatch.context() as failing:
        failing.setattr(queries, "ask", lambda *_: (_ for _ in ()).throw(StorageFailed("full", retryable=True)))
        assert settled(talk, ending=True) == []
    assert not waits.endless(clock())
    clock.forward(1)
    assert waits.endless(clock())
    assert settled(talk, ending=True)[0]["error"]["code"] == "timeout"


@pytest.mark.parametrize("arguments", [{}, {"timeout": 600}])
def test_a_question_of_a_caller_who_is_interrupted_is_withdrawn(talk, store, monkeypatch, arguments):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(oneshot, "_pause", interrupted)
    with pytest.raises(KeyboardInterrupt):
        oneshot.ask(talk.session, {"tool": "ask", "arguments": {"question": "Shall I?", **arguments}})
    assert queries.open_asks(store.db) == []
