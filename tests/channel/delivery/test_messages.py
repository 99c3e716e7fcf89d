"""What the human writes to an agent reaches it by whatever door it uses, once, in the order sent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.conftest import START, Talk
from tests.started import DEADLINE
from tests.talking import ADD, add
from tui_tasks.channel.loop import ControlChannel
from tui_tasks.channel.session import Session
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Busy, InvalidArgument
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations.asks import AnswerAsk, DeliverMessages, PauseAgent, SendMessage, WithdrawMessage
from tui_tasks.core.read import ask_queries, message_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import TABLE

DISPLAY = {"tool": "tasklist:display"}


@pytest.fixture
def write(store, clock):
    """Write to an agent, as the human does."""

    def send(text: str, to: str = "agent"):
        (sent,) = store.commit(SendMessage(to, text), actor="human", now=clock())
        return sent

    return send


def texts(reply: dict) -> list[str]:
    return [message["text"] for message in reply.get("messages", ())]


def state_of(store: Store, agent: str = "agent") -> list[str]:
    return [sent.state for sent in message_queries.newest(store.db, agent, 9)]


def kinds(store: Store) -> list[str]:
    return [entry.kind for entry in journal.since(store.db, 0, 100)]


@pytest.mark.parametrize(
    "request_",
    [
        {"tool": ADD, "args": {"name": "x"}},
        DISPLAY,
        {"tool": "control:hello"},
        {"tool": "no:such"},
        {"tool": "tasklist:get_task", "args": {"uid": "none"}},
        {"tool": ADD, "args": {"nane": "x"}},
        {"tool": "control:pause"},
        "no request",
    ],
)
def test_messages_come_once_with_the_next_reply_whatever_it_is_in_the_order_sent(talk, write, store, request_):
    write("first\nline")
    write("[b]second\x1b")
    write("for another", to="other")
    reply = talk.one(request_)
    assert reply["messages"] == [
        {"at": "2026-01-02T11:22:14.000+00:00", "text": text} for text in ("first\nline", "[b]second\x1b")
    ]
    assert reply["seq"] == journal.newest(store.db)
    assert "messages" not in talk.one(request_)
    assert kinds(store).count("message.sent") == 3
    assert kinds(store).count("message.delivered") == 2
    assert texts(talk.one({**DISPLAY, "agent": "other"})) == ["for another"]


def test_of_lines_that_came_together_the_first_reply_of_the_agent_brings_them(talk, write):
    write("hello")
    write("and you", to="b")
    replies = talk.lines({**DISPLAY, "agent": "b"}, {"tool": ADD, "args": {"name": "x"}}, DISPLAY)
    assert [texts(reply) for reply in replies] == [["and you"], ["hello"], []]


def test_a_batch_brings_them_with_its_first_reply_done_or_refused(talk, write):
    write("one")
    done = talk.one([{"tool": ADD, "args": {"name": "x"}}, DISPLAY])
    assert [texts(reply) for reply in done] == [["one"], []]
    write("two")
    refused = talk.one([{"tool": ADD, "args": {"name": "x"}}, {"tool": "no:such"}])
    assert [(reply["ok"], texts(reply)) for reply in refused] == [(False, ["two"]), (False, [])]
    assert "messages" not in talk.one(DISPLAY)


def test_a_paused_agent_gets_them_with_the_refusal(talk, write, store, clock):
    store.commit(PauseAgent("agent", "wait"), actor="human", now=clock())
    write("here is why")
    reply = talk.one(DISPLAY)
    assert (reply["error"]["code"], texts(reply)) == ("paused", ["here is why"])


def test_a_reply_that_waited_brings_what_was_sent_meanwhile(talk, write, store, clock):
    assert talk.session.answer([{"id": 1, "tool": "ask", "args": {"question": "go?"}}]) == []
    write("have a look")
    (asked,) = ask_queries.open_asks(store.db)
    store.commit(AnswerAsk(asked.uid, "go"), actor="human", now=clock())
    (reply,) = map(msgspec.json.decode, talk.session.settle())
    assert (reply["result"]["answer"], texts(reply)) == ("go", ["have a look"])
    assert "messages" not in talk.one(DISPLAY)


def test_a_reply_that_is_kept_for_its_key_is_kept_without_them(talk, write):
    request = {"tool": ADD, "args": {"name": "x"}, "idempotency_key": "k"}
    write("hello")
    first, again = talk.one(request), talk.one(request)
    assert texts(first) == ["hello"]
    assert again["result"] == first["result"]
    assert "messages" not in again


def test_a_subscriber_hears_them_at_once_and_no_reply_repeats_them(talk, write, store):
    talk.ok("control:subscribe")
    write("now")
    write("not for you", to="other")
    heard = [(event["event"], event["to"], event["text"]) for event in talk.events()]
    assert heard == [("message", "agent", "now"), ("message", "other", "not for you")]
    assert state_of(store) == ["delivered"]
    (told,) = talk.events()
    assert (told["event"], told["actor"], told["to"], "text" in told) == ("message.delivered", "agent", "agent", False)
    assert "messages" not in talk.one(DISPLAY)
    assert state_of(store, "other") == ["waiting"]


def test_no_subscriber_hears_what_the_human_has_taken_back(talk, write, store, clock):
    talk.ok("control:subscribe")
    message = write("a mistake")
    store.commit(WithdrawMessage(message.uid), actor="human", now=clock())
    assert [event["event"] for event in talk.events()] == ["message.withdrawn"]
    talk.ok("control:subscribe", since=0)
    assert "a mistake" not in str(talk.events())
    history = talk.ok("control:history")
    assert "message.sent" in str(history) and "a mistake" not in str(history)


def test_a_message_that_is_taken_back_before_its_delivery_is_written_is_not_heard(
    talk, write, store, clock, monkeypatch
):
    talk.ok("control:subscribe")
    message = write("a mistake")
    deliver = talk.session.subscription._deliver

    def withdraw_first(agent, until):
        monkeypatch.undo()
        store.commit(WithdrawMessage(message.uid), actor="human", now=clock())
        deliver(agent, until)

    monkeypatch.setattr(talk.session.subscription, "_deliver", withdraw_first)
    heard = [line for page in talk.session.subscription.pages(blocked=False) for line in page]
    assert [msgspec.json.decode(line)["event"] for line in heard] == ["message.withdrawn"]


def test_a_reply_before_the_event_leaves_a_message_to_the_event(talk, write, store):
    talk.ok("control:subscribe")
    write("hello")
    assert "messages" not in talk.one(DISPLAY)
    assert [event["text"] for event in talk.events() if event["event"] == "message"] == ["hello"]
    assert state_of(store) == ["delivered"]


def test_who_subscribes_to_what_was_sent_before_hears_it_by_the_event_alone(talk, write):
    write("earlier")
    reply = talk.one({"tool": "control:subscribe", "args": {"since": 0}})
    assert "messages" not in reply
    assert [event["text"] for event in talk.events() if event["event"] == "message"] == ["earlier"]
    assert "messages" not in talk.one(DISPLAY)


def test_who_hears_no_more_events_gets_what_they_have_not_brought_with_a_reply(talk, write):
    talk.ok("control:subscribe")
    write("later")
    talk.ok("control:unsubscribe")
    assert texts(talk.one(DISPLAY)) == ["later"]


def test_who_subscribes_from_now_on_gets_what_was_sent_before_with_the_reply(talk, write):
    write("earlier")
    assert texts(talk.one({"tool": "control:subscribe"})) == ["earlier"]


def test_another_agent_on_a_subscribed_channel_gets_its_own_with_its_reply(talk, write):
    talk.ok("control:subscribe")
    write("to b", to="b")
    assert texts(talk.one({**DISPLAY, "agent": "b"})) == ["to b"]


def test_an_event_is_heard_only_once_its_delivery_is_written(talk, write, store, monkeypatch):
    talk.ok("control:subscribe")
    write("hello")
    real = Store.transaction

    def busy(*given, **named):
        raise Busy("locked")

    monkeypatch.setattr(Store, "transaction", busy)
    with pytest.raises(Busy):
        talk.events()
    monkeypatch.setattr(Store, "transaction", real)
    assert [event["event"] for event in talk.events()] == ["message"]


def test_one_who_may_not_write_takes_no_message_away(path, clock, write, store):
    write("hello")
    with Store(str(path), read_only=True) as reader:
        watching = Talk(reader, clock, read_only=True)
        watching.ok("control:subscribe", since=0)
        assert "messages" not in watching.one(DISPLAY)
        assert [event["event"] for event in watching.events()] == ["message"]
    assert state_of(store) == ["waiting"]


def test_history_tells_of_sending_and_delivery(talk, write):
    write("hello")
    talk.one(DISPLAY)
    sent, delivered = talk.ok("control:history")["entries"]
    assert (sent["event"], sent["actor"], sent["to"], sent["text"]) == ("message.sent", "human", "agent", "hello")
    assert (delivered["event"], delivered["actor"], delivered["to"]) == ("message.delivered", "agent", "agent")
    assert (delivered["message"], "text" in delivered) == (sent["seq"], False)
    assert delivered["changes"] == {"delivered_at": [None, "2026-01-02T11:22:14.000+00:00"]}


def test_a_channel_of_one_list_hears_of_its_own_messages_alone(store, clock, write):
    mine = Talk(store, clock, list="mine", list_only=True)
    mine.ok("control:subscribe")
    write("to me")
    write("to b", to="b")
    assert [event.get("text") for event in mine.events()] == ["to me"]


def test_a_message_says_whether_its_agent_has_spoken_since_it_was_delivered(talk, write, store):
    uid = add(talk)
    talk.ok("tasklist:log_task_progress", uid=uid, message="before")
    write("well?")
    assert state_of(store) == ["waiting"]
    talk.one(DISPLAY)
    assert state_of(store) == ["delivered"]
    talk.ok("tasklist:set_task_done", uid=uid)
    assert state_of(store) == ["delivered"]
    talk.ok("tasklist:log_task_progress", uid=uid, message="done, see there")
    assert state_of(store) == ["spoken"]


def test_messages_are_replayed_from_the_journal_and_no_undo_takes_them_back(talk, write, store, clock):
    add(talk)
    write("hello")
    write("waits", to="other")
    talk.one(DISPLAY)
    assert list(database_findings.differences(store.db)) == []
    undone = talk.ok("control:undo")["undone"]
    assert journal.entry(store.db, undone).kind == "task.created"
    assert state_of(store) == ["delivered"]


def test_two_doors_at_once_deliver_a_message_once(path, clock, write):
    write("hello")
    with Store(str(path)) as one, Store(str(path)) as two:
        doors = [Session(store, TABLE, Identity(), clock) for store in (one, two)]
        replies = [msgspec.json.decode(door.answer([DISPLAY])[0]) for door in (*doors, *doors)]
    assert [texts(reply) for reply in replies] == [["hello"], [], [], []]


def test_delivery_up_to_an_entry_leaves_what_was_sent_later(store, write, clock):
    first, second = write("one"), write("two")
    (delivered,) = store.commit(DeliverMessages("agent", until=first.seq), actor="agent", now=clock())
    assert [message.text for message in delivered] == ["one"]
    assert [message.uid for message in message_queries.waiting(store.db, "agent")] == [second.uid]
    assert store.commit(DeliverMessages("agent"), actor="agent", now=clock())[0][0].delivered_at == START
    assert store.commit(DeliverMessages("agent"), actor="agent", now=clock()) == [()]


# Lines that cannot be written


def unread(store: Store, clock, *requests: dict, before: int = 0) -> None:
    """Have requests served whose replies nobody reads from the `before`th line on, and the channel end."""
    to_channel, writing = os.pipe()
    reading, from_channel = os.pipe()
    try:
        channel = ControlChannel(Session(store, TABLE, Identity(), clock), to_channel, from_channel)
        flush, left = channel._out.flush, [before]

        def flush_some() -> None:
            if not left[0]:
                os.close(reading)
            left[0] -= 1
            flush()

        channel._out.flush = flush_some
        for request in requests:
            os.write(writing, msgspec.json.encode(request) + b"\n")
        os.close(writing)
        channel.run()
    finally:
        for fd in (to_channel, from_channel):
            os.close(fd)


@pytest.mark.parametrize("request_", [DISPLAY, {"tool": ADD, "args": {"name": "x"}}, {"tool": "no:such"}])
def test_a_message_whose_reply_could_not_be_written_waits_again(store, clock, write, talk, request_):
    write("one")
    write("two")
    unread(store, clock, request_)
    assert state_of(store) == ["waiting", "waiting"]
    assert kinds(store)[-2:] == ["message.returned"] * 2
    assert texts(talk.one(request_)) == ["one", "two"]
    assert state_of(store) == ["delivered", "delivered"]
    assert list(database_findings.differences(store.db)) == []


def test_a_message_in_a_batch_or_a_line_that_was_written_in_part_waits_again(store, clock, write, talk):
    for _ in range(3):
        talk.one({"tool": ADD, "args": {"name": "x" * 9_000}})
    write("one")
    # The reply is longer than what a pipe takes at once.
    unread(store, clock, [DISPLAY, DISPLAY, DISPLAY, DISPLAY], before=1)
    assert texts(talk.one(DISPLAY)) == ["one"]


def test_a_message_whose_line_was_written_does_not_come_twice(store, clock, write, talk):
    write("one")
    unread(store, clock, DISPLAY, before=1)
    assert texts(talk.one(DISPLAY)) == []
    assert "message.returned" not in kinds(store)


def test_a_message_whose_event_could_not_be_written_waits_again_and_one_delivered_before_does_not(
    store, clock, write, talk
):
    write("before")
    assert texts(talk.one(DISPLAY)) == ["before"]
    write("one")
    write("of another", to="other")
    unread(store, clock, {"tool": "control:subscribe", "args": {"since": 0}})
    assert state_of(store) == ["waiting", "delivered"]
    assert texts(talk.one(DISPLAY)) == ["one"]


def test_a_blank_message_is_refused(store, clock):
    with pytest.raises(InvalidArgument):
        store.commit(SendMessage("agent", " \n"), actor="human", now=clock())


def test_no_request_looks_for_messages_anew_while_nobody_writes(talk, monkeypatch):
    uid = add(talk)
    asked = []
    real = message_queries.waiting
    monkeypatch.setattr(message_queries, "waiting", lambda *given: (asked.append(1), real(*given))[1])
    for number in range(5):
        talk.ok("tasklist:log_task_progress", uid=uid, message=str(number))
    assert asked == []


def test_a_call_from_a_shell_prints_them_a_line_each_beside_its_result(tmp_path: Path):
    database = tmp_path / "data" / "tasks.db"
    with Store(str(database)) as store:
        store.commit(SendMessage("agent", "stop\nnow \x1b[31m"), actor="human", now=START)
    environment = os.environ | {"TUI_TASKS_CONFIG": str(tmp_path / "none.toml")}
    command = [sys.executable, "-m", "tui_tasks", "--db", str(database), "call", "tasklist:display"]
    told = [
        subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE) for _ in range(2)
    ]
    assert [done.stdout for done in told] == ["[]\n", "[]\n"]
    assert [done.stderr for done in told] == ["message from the human: stop now ␛[31m\n", ""]
