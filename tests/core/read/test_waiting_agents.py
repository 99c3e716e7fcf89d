"""Whether an agent of the channel waits for an answer or works on, and until when its requests show that it lives."""

from __future__ import annotations

import msgspec
import pytest

from tests.conftest import SECOND, Clock
from tui_tasks.channel.presence import Presence
from tui_tasks.channel.session import Session
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import agent_states, agent_views, stuck_causes, stuck_signs
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.runner.scheduler_service import StuckWatch
from tui_tasks.text.glyphs import AGENT_LOOKS
from tui_tasks.text.times import DAY

QUIET_AFTER = 600 * SECOND


class Serving:
    """An agent that speaks through a process of its own, and has a task in progress."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        presence = Presence(store, stays=True)
        self.session = Session(store, TABLE, Identity(agent="alpha"), clock, presence=presence)
        self.uid = self.send("tasklist:add_task", name="Ship it")["result"]["uid"]
        self.send("control:claim", lease_seconds=3600)

    def send(self, tool: str, **arguments: object) -> dict:
        """Send a request; return its reply, or nothing while it waits."""
        replies = [*self.session.answer([{"tool": tool, "arguments": arguments}]), *self.session.settle()]
        return msgspec.json.decode(replies[0]) if replies else {}

    def ticket(self) -> str:
        """Ask, and get a ticket at once."""
        return self.send("ask", question="jose or pyjwt?", wait=0)["result"]["ask"]

    def later(self, seconds: float) -> None:
        self.clock.forward(seconds)
        self.session.settle()

    @property
    def state(self) -> str:
        """The state as the screen shows it."""
        (member,) = agent_views.everyone(self.store.db, self.clock() - DAY)
        state = agent_states.state_of(member, self.clock(), QUIET_AFTER)
        return AGENT_LOOKS[state].word

    @property
    def cause(self) -> str | None:
        """Why it is stuck."""
        found = stuck_causes.causes(
            stuck_signs.of_agents(self.store.db, self.clock()), self.clock(), stuck_causes.Thresholds()
        )
        return found["alpha"].kind if "alpha" in found else None


@pytest.fixture
def alpha(store: Store, clock: Clock) -> Serving:
    return Serving(store, clock)


def test_one_that_has_a_ticket_works_on(alpha):
    alpha.ticket()
    assert alpha.state == "working"
    alpha.later(5)
    alpha.send("tasklist:log_task_progress", uid=alpha.uid, message="going on")
    assert alpha.state == "working"
    assert len(ask_queries.open_asks(alpha.store.db)) == 1


def test_one_waits_with_its_ticket_only_while_it_asks_for_the_answer(alpha):
    ask = alpha.ticket()
    alpha.later(5)
    alpha.send("tasklist:log_task_progress", uid=alpha.uid, message="going on")
    alpha.later(5)
    assert alpha.send("control:answer_of", ask=ask, wait=30) == {}
    assert alpha.state == "waiting"
    alpha.later(31)
    assert alpha.state == "working"


def test_one_that_asks_without_a_ticket_waits_until_it_is_answered(alpha):
    alpha.send("ask", question="jose or pyjwt?")
    alpha.later(300)
    assert (alpha.state, alpha.cause) == ("waiting", "human")
    (ask,) = ask_queries.open_asks(alpha.store.db)
    alpha.store.commit(AnswerAsk(ask.uid, "jose"), actor="human", now=alpha.clock())
    alpha.session.settle()
    assert alpha.state == "working"


def test_one_that_waits_for_two_answers_waits_on_for_the_other(alpha):
    alpha.send("ask", question="jose or pyjwt?")
    alpha.later(1)
    alpha.send("ask", question="RS256?")
    older, newer = ask_queries.open_asks(alpha.store.db)
    for ask, state in ((newer, "waiting"), (older, "working")):
        alpha.store.commit(AnswerAsk(ask.uid, "yes"), actor="human", now=alpha.clock())
        alpha.later(250)
        assert (alpha.state, alpha.cause) == (state, "human" if state == "waiting" else None)


@pytest.mark.parametrize("request_", [("ask", {"question": "RS256?"}), ("control:lists", {})])
def test_a_request_ends_what_is_recorded_about_its_silence(alpha, request_):
    tool, arguments = request_
    alpha.later(700)
    StuckWatch(stuck_causes.Thresholds).look(alpha.store, alpha.clock())
    assert alpha.state == "stuck"
    alpha.later(1)
    alpha.send(tool, **arguments)
    assert alpha.state == ("waiting" if tool == "ask" else "working")


def test_a_wait_with_a_key_by_which_it_can_be_repeated_is_a_wait_too(alpha):
    request = {"tool": "ask", "arguments": {"question": "jose or pyjwt?"}, "idempotency_key": "once"}
    alpha.session.answer([request])
    alpha.later(1)
    assert alpha.state == "waiting"


def test_one_that_logs_beside_a_question_that_waits_works_and_one_that_only_renews_its_lease_waits(alpha):
    claim = alpha.send("control:claim", uid=add_task(alpha), lease_seconds=60)
    alpha.send("ask", question="jose or pyjwt?")
    alpha.later(5)
    if claim.get("result"):
        alpha.send("control:heartbeat", claim=claim["result"]["claim"])
    assert alpha.state == "waiting"
    alpha.send("tasklist:log_task_progress", uid=alpha.uid, message="going on")
    assert alpha.state == "working"


def add_task(alpha: Serving) -> str:
    return alpha.send("task", action="create", title="Another")["result"]["structuredContent"]["task"]["task_id"]


def test_one_that_has_a_ticket_and_no_task_waits(store, clock):
    alpha = Serving(store, clock)
    alpha.send("tasklist:set_task_done", uid=alpha.uid)
    alpha.ticket()
    assert alpha.state == "waiting"


def test_requests_that_change_nothing_are_a_sign_of_life(alpha):
    for _ in range(130):
        alpha.later(10)
        assert alpha.send("tasklist:log_task_progress", uid="no such task", message="on")["ok"] is False
    assert (alpha.state, alpha.cause) == ("working", None)
    alpha.later(601)
    assert (alpha.state, alpha.cause) == ("quiet", "silent")


@pytest.mark.parametrize(("is_over", "state"), [(True, "working"), (False, "waiting")])
def test_a_request_through_another_process_ends_the_wait_only_if_the_first_is_no_more(
    alpha, store, clock, is_over, state
):
    ask = alpha.ticket()
    alpha.send("control:answer_of", ask=ask, wait=30)
    if is_over:
        (connection,) = connections.everyone(store.db)
        with store.db.transaction(write=True):
            connections.end(store.db, "alpha", connection.process, clock())
    again = Session(store, TABLE, Identity(agent="alpha"), clock, presence=Presence(store, stays=True))
    again.answer([{"tool": "control:lists"}])
    assert alpha.state == state
