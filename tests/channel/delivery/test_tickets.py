"""Questions whose answer is read later (docs: protocol, section 7, `control:answer_of`)."""

from __future__ import annotations

from typing import Any

from tests.conftest import SECOND, Talk
from tests.talking import settled
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read import ask_queries


def ticket(talk: Talk, **arguments: Any) -> str:
    """Ask, and wait until a ticket comes in place of the answer."""
    assert talk.lines({"id": "q", "tool": "ask", "arguments": {"question": "Shall I?", "wait": 20, **arguments}}) == []
    talk.clock.now += 20 * SECOND
    (reply,) = settled(talk)
    assert reply["result"].keys() == {"ask", "state"}
    assert reply["result"]["state"] == "open"
    uid: str = reply["result"]["ask"]
    return uid


def answer(talk: Talk, uid: str, text: str) -> None:
    talk.store.commit(AnswerAsk(uid, text), actor="human", now=talk.clock.now)


def test_a_question_that_waits_no_longer_stays_and_its_answer_is_read_later(talk: Talk) -> None:
    uid = ticket(talk)
    assert talk.ok("control:answer_of", ask=uid) == {"ask": uid, "state": "open", "answer": None, "at": None}
    answer(talk, uid, "Yes")
    later = Talk(talk.store, talk.clock)
    found = later.ok("control:answer_of", ask=uid)
    assert (found["state"], found["answer"]) == ("answered", "Yes")
    assert found["at"]


def test_the_beginning_of_an_id_that_the_shell_prints_names_the_own_question(talk: Talk) -> None:
    uid = ticket(talk)
    assert talk.ok("control:answer_of", ask=uid[: ask_queries.SHORT_ID])["ask"] == uid
    talk.refused("control:answer_of", ask=uid[: ask_queries.SHORT_ID - 1])
    other = Talk(talk.store, talk.clock, agent="other")
    for reference in (uid, uid[: ask_queries.SHORT_ID]):
        other.refused("control:answer_of", ask=reference)


def test_an_answer_that_comes_before_the_ticket_is_the_reply(talk: Talk) -> None:
    assert talk.lines({"id": "q", "tool": "ask", "arguments": {"question": "Shall I?", "wait": 20}}) == []
    (asked,) = ask_queries.open_asks(talk.store.db)
    answer(talk, asked.uid, "Yes")
    (reply,) = settled(talk)
    assert reply["result"]["answer"] == "Yes"


def test_an_answer_can_be_waited_for(talk: Talk) -> None:
    uid = ticket(talk)
    assert talk.lines({"id": "w", "tool": "control:answer_of", "arguments": {"ask": uid, "wait": 5}}) == []
    assert settled(talk) == []
    answer(talk, uid, "Yes")
    (reply,) = settled(talk)
    assert reply["result"]["answer"] == "Yes"
    uid = ticket(talk)
    assert talk.lines({"id": "w", "tool": "control:answer_of", "arguments": {"ask": uid, "wait": 5}}) == []
    talk.clock.now += 5 * SECOND
    (reply,) = settled(talk)
    assert reply["result"]["state"] == "open"


def test_a_ticket_of_a_question_with_a_timeout_says_when_that_is_over(talk: Talk) -> None:
    uid = ticket(talk, timeout=60)
    talk.clock.now += 41 * SECOND
    assert talk.ok("control:answer_of", ask=uid)["state"] == "timeout"


def test_nobody_reads_the_answer_to_anothers_question(talk: Talk) -> None:
    uid = ticket(talk)
    answer(talk, uid, "Yes")
    assert talk.refused("control:answer_of", {"agent": "other"}, ask=uid)["code"] == "not_found"
    assert talk.refused("control:answer_of", ask="none")["code"] == "not_found"


def test_a_question_whose_asker_goes_before_the_ticket_is_withdrawn(talk: Talk) -> None:
    assert talk.lines({"id": "q", "tool": "ask", "arguments": {"question": "Shall I?", "wait": 20}}) == []
    talk.session.waits.abandon("q")
    assert ask_queries.open_asks(talk.store.db) == []
