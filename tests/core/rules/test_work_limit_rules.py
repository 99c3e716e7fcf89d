"""At a limit an agent's turn ends, and the human decides whether it goes on."""

from __future__ import annotations

import pytest

from tests.core.rules.test_work import RUNS, sound, start
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk
from tui_tasks.core.operations.work import CommentWork, LimitWork, RunWork, WorkReady
from tui_tasks.core.read import ask_queries, work_queries
from tui_tasks.core.rules import work_limit_rules
from tui_tasks.core.vocab import CONTINUE

USED = "1,200 of 1,000 tokens"


@pytest.fixture
def human(do):
    return lambda *operations: do(*operations, actor="human")[-1]


@pytest.fixture
def work(human, add) -> str:
    uid = human(start(add("Rotate keys"), limits={"tokens": 1000})).uid
    human(RunWork(uid, RUNS, "Do it"))
    return uid


def messages(store) -> list[tuple[str, bool]]:
    rows = store.db.sql("SELECT text, ends_turn FROM human_message WHERE agent = 'claude-1' ORDER BY id")
    return [(text, bool(ends)) for text, ends in rows.fetchall()]


def test_at_a_limit_the_turn_ends_and_the_human_is_asked_once(store, do, human, work):
    do(LimitWork(work, "tokens", USED), actor="system")
    (ask,) = ask_queries.open_asks(store.db)
    assert (ask.agent, ask.question, ask.options) == ("claude-1", f"I have used {USED}. Continue?", (CONTINUE, "Stop"))
    stop = f"You have reached your limit: {USED}. Stop here; the human decides what follows."
    assert messages(store) == [(stop, True)]
    assert work_queries.find(store.db, work).message == f"stopped at its limit: {USED}"
    assert work_limit_rules.is_stopped_at_limit(work_queries.find(store.db, work))
    with pytest.raises(Conflict, match="asked already"):
        do(LimitWork(work, "tokens", USED), actor="system")
    sound(store)


def test_an_agent_that_may_go_on_has_the_limit_once_more(store, do, human, work):
    do(LimitWork(work, "tokens", USED), actor="system")
    human(AnswerAsk(ask_queries.open_asks(store.db)[0].uid, CONTINUE))
    found = work_queries.find(store.db, work)
    assert (found.state, found.message, work_limit_rules.is_stopped_at_limit(found)) == ("working", None, False)
    assert work_limit_rules.limits_in_force(found, {"tokens": 50, "turns": 5}) == {"tokens": 2000, "turns": 5}
    assert messages(store)[-1] == ("Continue your task.", False)
    sound(store)


@pytest.mark.parametrize(("answer", "sent"), [("Stop", []), ("Write down what is left.", ["Write down what is left."])])
def test_an_agent_that_may_not_go_on_stays_stopped_and_hears_the_humans_words(store, do, human, work, answer, sent):
    do(LimitWork(work, "tokens", USED), actor="system")
    human(AnswerAsk(ask_queries.open_asks(store.db)[0].uid, answer))
    found = work_queries.find(store.db, work)
    assert (found.message, work_limit_rules.is_stopped_at_limit(found)) == (f"stopped at its limit: {USED}", True)
    assert [text for text, _ in messages(store)[1:]] == sent
    sound(store)


def test_a_question_that_is_withdrawn_lets_nobody_go_on(store, do, human, work):
    do(LimitWork(work, "tokens", USED), actor="system")
    human(CloseAsk(ask_queries.open_asks(store.db)[0].uid, "withdrawn"))
    assert work_limit_rules.is_stopped_at_limit(work_queries.find(store.db, work))


def test_comments_let_an_agent_go_on_that_was_stopped(store, do, human, work):
    do(LimitWork(work, "tokens", USED), actor="system")
    human(AnswerAsk(ask_queries.open_asks(store.db)[0].uid, "Stop"))
    human(WorkReady(work))
    human(CommentWork(work, "Once more"))
    found = work_queries.find(store.db, work)
    assert not work_limit_rules.is_stopped_at_limit(found)
    assert work_limit_rules.limits_in_force(found, {}) == {"tokens": 2000}
