"""Questions to the human: waited for, answered, withdrawn (docs: protocol, section 7, `ask`)."""

import json
from datetime import datetime

import pytest

from tests.conftest import SECOND, Talk
from tests.talking import add, settled
from tui_tasks.channel import waits
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk, OpenAsk, SettleAsks
from tui_tasks.core.operations.jobs import RecordSettings
from tui_tasks.core.operations.sessions import RecordReport, SessionReport, SessionStarted
from tui_tasks.core.operations.tasks import DeleteTask, LogTask
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.tool_table import Wait


def asked(talk: Talk, **arguments) -> str:
    """A question that waits; its uid."""
    assert talk.session.answer([{"id": "q", "tool": "ask", "arguments": {"question": "Shall I?", **arguments}}]) == []
    return ask_queries.open_asks(talk.store.db)[-1].uid


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


def test_many_that_wait_cost_a_commit_of_another_one_read_and_each_gets_its_answer_withdrawal_and_timeout(
    talk, store, clock, monkeypatch
):
    uids = [asked(talk, question=f"Number {number}?") for number in range(20)]
    late = asked(talk, question="In time?", timeout=60)
    read, ask = [], ask_queries.ask
    monkeypatch.setattr(ask_queries, "ask", lambda db, uid: [read.append(uid), ask(db, uid)][1])
    add(talk, "meanwhile")
    assert settled(talk) == [] and read == []
    store.commit(AnswerAsk(uids[3], "yes"), CloseAsk(uids[5], "withdrawn"), actor="human", now=clock())
    assert [reply["ok"] for reply in settled(talk)] == [True, False] and {*read} == {uids[3], uids[5]}
    read.clear()
    clock.forward(61)
    (reply,) = settled(talk)
    assert reply["error"]["code"] == "timeout" and {*read} == {late}


def test_of_one_agent_fifty_questions_wait_and_no_more(talk, other, store, clock):
    store.commit(RecordSettings("/config.toml", ask_limit=3), actor="human", now=clock())
    uids = [asked(talk, question=f"Number {number}?") for number in range(3)]
    error = talk.refused("ask", question="One more?")
    assert (error["code"], error["data"]["limit"], error["data"]["open"]) == ("conflict", 3, 3)
    assert other.session.answer([{"id": 1, "tool": "ask", "agent": "bob", "args": {"question": "Mine?"}}]) == []
    assert len(ask_queries.open_asks(store.db)) == 4
    store.commit(AnswerAsk(uids[0], "yes"), actor="human", now=clock())
    asked(talk, question="Now?")


def test_without_a_setting_the_fifty_first_question_is_refused(talk):
    for number in range(50):
        asked(talk, question=f"Number {number}?")
    assert talk.refused("ask", question="One more?")["data"]["limit"] == 50


def of_many(talk: Talk, names: int, each: int) -> list[dict]:
    """The refusals of so many questions of so many agents."""
    refused = []
    for number in range(names * each):
        request = {"id": number, "agent": f"agent-{number % names}", "tool": "ask", "args": {"question": f"{number}?"}}
        refused += talk.session.answer([request])
    return [json.loads(reply)["error"] for reply in refused]


def test_of_all_agents_a_thousand_questions_wait_whatever_their_names_are(talk, store, clock):
    refused = of_many(talk, names=335, each=3)
    assert len(ask_queries.open_asks(store.db)) == 1_000
    assert {(error["code"], error["data"]["limit"], error["data"]["open"]) for error in refused} == {
        ("conflict", 1_000, 1_000)
    }
    assert refused[0]["message"] == (
        "1000 questions of all agents wait for the human, the limit: wait until one is answered or ends"
    )
    store.commit(SettleAsks((ask_queries.open_asks(store.db)[0].uid,)), actor="human", now=clock())
    asked(talk, question="Now?")


def test_where_the_questions_of_all_are_too_many_the_live_sessions_of_a_process_still_ask_a_few(talk, store, clock):
    store.commit(RecordSettings("/config.toml", ask_total=2), actor="human", now=clock())
    for number in (1, 2):
        process = Process("boot", "ns", 4711, "born")
        report = SessionReport("opencode", f"s-{number}", (SessionStarted(),), clock(), process, is_shared=True)
        store.commit(RecordReport(report), actor=f"opencode-{number}", now=clock())
    of_many(talk, names=4, each=1)
    refused = []
    for number in range(6):
        request = {"tool": "ask", "agent": f"opencode-{1 + number % 2}", "args": {"question": "?"}}
        refused += [(number, json.loads(reply)["error"]["data"]["limit"]) for reply in talk.session.answer([request])]
    assert refused == [(5, 2)]


def test_the_shells_question_about_a_command_of_the_human_is_asked_whatever_waits(talk, store, clock):
    store.commit(RecordSettings("/config.toml", ask_total=1), actor="human", now=clock())
    of_many(talk, names=2, each=1)
    store.commit(OpenAsk("Compact?", ("yes", "no")), actor="shell", now=clock())
    assert [ask.agent for ask in ask_queries.open_asks(store.db)] == ["agent-0", "shell"]


def test_all_questions_of_one_agent_are_answered_or_withdrawn_at_once(talk, store, clock):
    uids = tuple(asked(talk, question=f"Number {number}?", options=["yes", "no"]) for number in range(3))
    store.commit(AnswerAsk(uids[0], "no"), actor="human", now=clock())
    settled(talk)
    (ended,) = store.commit(SettleAsks(uids, "not now"), actor="human", now=clock())
    assert [(ask.uid, ask.answer) for ask in ended] == [(uid, "not now") for uid in uids[1:]]
    assert [reply["result"]["answer"] for reply in settled(talk)] == ["not now", "not now"]
    uid = asked(talk)
    store.commit(SettleAsks((uid,)), actor="human", now=clock())
    (reply,) = settled(talk)
    assert (reply["error"]["code"], "withdrawn" in reply["error"]["message"]) == ("timeout", True)


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
    assert ask_queries.open_asks(talk.store.db) == []


def test_at_the_end_of_input_a_question_without_a_timeout_is_withdrawn_and_one_with_goes_on(talk, clock):
    asked(talk)
    asked(talk, timeout=10)
    (reply,) = settled(talk, ending=True)
    assert reply["error"]["code"] == "timeout"
    assert len(ask_queries.open_asks(talk.store.db)) == 1
    clock.forward(10)
    assert settled(talk, ending=True)[0]["error"]["code"] == "timeout"


def test_an_answer_that_comes_at_the_very_end_is_not_lost(talk, other, clock):
    uid = asked(talk, timeout=1)
    (waiting,) = talk.session.waits._waiting
    given = waiting.wait

    def check(call):
        found = given.check(call)
        if found is None and ask_queries.open_asks(other.store.db):
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
    store.commit(AnswerAsk(ask_queries.open_asks(store.db)[0].uid, "yes"), actor="human", now=clock())
    (reply,) = settled(talk)
    assert talk.one(request) == reply
    assert ask_queries.open_asks(store.db) == []


def test_a_keyed_question_sent_twice_is_asked_once_and_both_are_answered(talk, store, clock):
    request = {"tool": "ask", "arguments": {"question": "Shall I?"}, "idempotency_key": "k"}
    assert talk.lines(request | {"id": 1}, request | {"id": 2}) == []
    (question,) = ask_queries.open_asks(store.db)
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
        (question,) = ask_queries.open_asks(store.db)
        store.commit(AnswerAsk(question.uid, "yes"), actor="human", now=clock())
        assert [reply["result"]["answer"] for reply in settled(talk)] == ["yes"]


def test_a_storage_that_fails_while_a_question_waits_loses_neither(talk, store, clock, monkeypatch):
    uid = asked(talk)
    store.commit(AnswerAsk(uid, "yes"), actor="human", now=clock())
    with monkeypatch.context() as failing:
        failing.setattr(ask_queries, "ask", lambda *_: (_ for _ in ()).throw(StorageFailed("busy", retryable=True)))
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
        failing.setattr(
            "tui_tasks.core.unjournaled.local_values.drop_reply",
            lambda *_: (_ for _ in ()).throw(StorageFailed("full", retryable=True)),
        )
        assert [reply["id"] for reply in settled(talk)] == ["q"]
    clock.forward(1)
    assert [(reply["id"], reply["error"]["code"]) for reply in settled(talk)] == [("k", "timeout")]


def test_at_the_end_of_input_a_wait_that_could_not_be_given_up_is_tried_again_later_and_not_at_once(
    talk, clock, monkeypatch
):
    asked(talk)
    waits = talk.session.waits
    assert waits.can_give_up(clock())
    with monkeypatch.context() as failing:
        failing.setattr(ask_queries, "ask", lambda *_: (_ for _ in ()).throw(StorageFailed("full", retryable=True)))
        assert settled(talk, ending=True) == []
    assert not waits.can_give_up(clock())
    clock.forward(1)
    assert waits.can_give_up(clock())
    assert settled(talk, ending=True)[0]["error"]["code"] == "timeout"


@pytest.mark.parametrize("arguments", [{}, {"timeout": 0.25}])
def test_at_the_end_of_input_a_wait_that_the_storage_keeps_from_ending_is_refused_after_a_second(
    talk, clock, monkeypatch, caplog, arguments
):
    asked(talk, **arguments)
    with monkeypatch.context() as failing:
        failing.setattr(ask_queries, "ask", lambda *_: (_ for _ in ()).throw(StorageFailed("full", retryable=True)))
        assert settled(talk) == settled(talk, ending=True) == []
        clock.forward(0.5)
        assert settled(talk, ending=True) == []
        clock.forward(0.5)
        (reply,) = settled(talk, ending=True)
    assert reply["error"] == {"code": "storage_error", "message": "full", "data": {"retryable": True}}
    assert [record.message for record in caplog.records] == ["full"]
    assert not talk.session.waits


@pytest.mark.parametrize("arguments", [{}, {"timeout": 600}])
def test_a_question_of_a_caller_who_is_interrupted_is_withdrawn(talk, store, monkeypatch, arguments):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(waits, "_sleep_until_change", interrupted)
    with pytest.raises(KeyboardInterrupt):
        waits.ask(talk.session, {"tool": "ask", "arguments": {"question": "Shall I?", **arguments}})
    assert ask_queries.open_asks(store.db) == []


@pytest.mark.parametrize("arguments", [{}, {"timeout": 600}, {"wait": 300}])
def test_a_request_that_waits_is_cancelled_by_its_agent_and_its_question_withdrawn(talk, store, arguments):
    uid = asked(talk, **arguments)
    for other in ({"agent": "other"}, {}):
        assert talk.ok("control:cancel", other, request="q" if other else "none") is None
        assert settled(talk) == []
    assert talk.ok("control:cancel", request="q") is None
    (reply,) = settled(talk)
    assert (reply["id"], reply["error"]["code"], reply["error"]["data"]) == ("q", "timeout", {"id": uid})
    assert ask_queries.ask(store.db, uid).state == "withdrawn"
    assert talk.ok("control:cancel", request="q") is None
    assert settled(talk) == []


def test_a_request_and_what_cancels_it_may_come_together(talk, store):
    ask = {"id": 7, "tool": "ask", "arguments": {"question": "Shall I?"}}
    cancel = {"id": 8, "tool": "control:cancel", "arguments": {"request": 7}}
    assert [reply["id"] for reply in talk.lines(ask, cancel)] == [8]
    assert [reply["id"] for reply in settled(talk)] == [7]
    assert ask_queries.open_asks(store.db) == []
    # The id is free again.
    assert talk.lines(ask) == []
    assert settled(talk) == []


HIDDEN = ("\U000e0041", "\u200b", "\u3164", "\u2060", "\u00ad", "\u200d\u200d", " \u200d", "\U000e0100")


def test_what_the_human_could_not_see_is_not_asked(talk):
    ten = [str(number) for number in range(10)]
    assert talk.refused("ask", question="which?", options=ten)["data"]["argument"] == "options"
    assert talk.refused("ask", question="which?", options=["a", "b" * 501])["data"]["argument"] == "options[1]"
    for hidden in HIDDEN:
        options = ["Yes", f"No{hidden}"]
        assert talk.refused("ask", question="which?", options=options)["data"]["argument"] == "options[1]"
        assert talk.refused("ask", question=f"which{hidden}?")["data"]["argument"] == "question"


def test_what_can_be_seen_is_asked(talk):
    question = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647? \u26a0\ufe0f \U0001f468\u200d\U0001f4bb \u200f\x1b[31m\n\n?"
    asked(talk, question=question, options=[str(number) for number in range(8)] + ["b" * 500])
    assert [found.question for found in ask_queries.open_asks(talk.store.db)] == [question]
