"""`ask`, `control:answer_of`, `control:cancel`: questions to the human, and when they end (docs: protocol, 7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Meta

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import database_clock
from tui_tasks.core.errors import Problem, TimedOut
from tui_tasks.core.operations.asks import CloseAsk, OpenAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.snapshots import iso
from tui_tasks.dialects.requests.arguments import Arguments, Choices, TaskUid, Text, Uid
from tui_tasks.dialects.tool_table import Call, Table, Wait

ASKS = Table()
SECOND = 1_000_000
MAX_WAIT = 31_536_000
# Later than any instant.
NO_LIMIT = 2**62


class _Ask(Arguments):
    question: Annotated[Text, Meta(min_length=1, pattern=r"\S")]
    options: Annotated[Choices, Meta(description="Up to 9 answers; the human can write another.")] = []
    task: Annotated[TaskUid, Meta(description="The task it is about.")] | None = None
    timeout: (
        Annotated[float, Meta(gt=0, le=MAX_WAIT, description="Seconds until it is withdrawn; default: never.")] | None
    ) = None
    wait: Annotated[float, Meta(ge=0, le=MAX_WAIT, description="Seconds until the reply is a ticket.")] | None = None

    @classmethod
    def hint(cls, path: str, value: Any) -> str:
        """Return what to send in place of a value."""
        return "it is a number of seconds" if path in ("timeout", "wait") else ""

    @classmethod
    def further_problems(cls, given: dict[str, Any], now: int) -> Iterable[Problem]:
        """Yield what the human could not see of it."""
        from tui_tasks.core.rules.agents.ask_rules import problems_with  # few requests ask

        question, options = given.get("question"), given.get("options")
        texts = [text for text in options if isinstance(text, str)] if isinstance(options, list) else []
        return problems_with(question if isinstance(question, str) else "", texts)


@ASKS.tool("ask", _Ask, writes=True, waits=True)
def ask(call: Call, given: _Ask) -> Wait:
    """Ask the human, for approval and for decisions that are not yours.

    The reply comes with the answer. With `wait` it may be a ticket: `{"ask", "state": "open"}`; continue, and read
    the answer with control:answer_of.
    """
    if call.resumes is not None:
        return _wait_for(call, ask_queries.ask(call.db, call.resumes), given.wait)
    deadline = None if given.timeout is None else call.now + int(given.timeout * SECOND)
    asked = OpenAsk(given.question, tuple(given.options), given.task, deadline, call.project)
    return _wait_for(call, call.run(asked), given.wait)


class _Cancel(Arguments):
    request: Annotated[str | int, Meta(description="The `id` of the request, a string or an integer.")]


@ASKS.tool("control:cancel", _Cancel, while_paused=True)
def cancel(call: Call, given: _Cancel) -> None:
    """End the wait of your request: it is answered `timeout`, and a question is withdrawn.

    An answered request stays. Returns null.
    """
    call.channel.cancel(call.agent, given.request)


class _AnswerOf(Arguments):
    ask: Annotated[Uid, Meta(description="The ticket's `ask`, or its first 8 letters at least.")]
    wait: Annotated[float, Meta(ge=0, le=MAX_WAIT, description="Seconds to wait.")] = 0


@ASKS.tool("control:answer_of", _AnswerOf, waits=True)
def answer_of(call: Call, given: _AnswerOf) -> Any:
    """Read the human's answer to your earlier question; `state`: open, answered, withdrawn or timeout."""
    asked = ask_queries.own_ask(call.db, call.agent, given.ask)

    def check(later: Call) -> dict[str, Any] | None:
        state = _state_of(later, asked.uid)
        # Here and not in `give_up`, which gets a write transaction: read-only channels wait, too.
        return state if state["state"] != "open" or later.elapsed_time >= deadline else None

    until = database_clock.until(call.db, asked.uid)
    deadline = min(
        call.elapsed_time + int(given.wait * SECOND), asked.expires_at or NO_LIMIT if until is None else until
    )
    state = check(call)
    if state is not None:
        return state
    return Wait(check, lambda later: _state_of(later, asked.uid), deadline, question=asked.uid)


def _state_of(call: Call, uid: str) -> dict[str, Any]:
    """Return the state of a question; an open one whose time is over reads as timed out."""
    asked = ask_queries.ask(call.db, uid)
    until = database_clock.until(call.db, uid)
    is_over = (
        asked.state == "open" and asked.expires_at is not None and until is not None and until <= call.elapsed_time
    )
    return {
        "ask": uid,
        "state": "timeout" if is_over else asked.state,
        "answer": asked.answer,
        "at": iso(asked.answered_at) if asked.answered_at is not None else None,
    }


def _wait_for(call: Call, asked: Ask, wait: float | None) -> Wait:
    def check(later: Call) -> dict[str, Any] | None:
        current = ask_queries.ask(later.db, asked.uid)
        if current.state == "answered":
            return {"answer": current.answer, "at": iso(current.answered_at)}
        if current.state != "open":
            raise TimedOut(f"the question was {current.state}")
        if ticket_at is not None and later.elapsed_time >= ticket_at:
            return {"ask": asked.uid, "state": "open"}
        return None

    def give_up(later: Call) -> Any:
        # The answer may have come since the last check.
        if (answered := check(later)) is not None:
            return answered
        later.run(CloseAsk(asked.uid, "timeout" if asked.expires_at is not None else "withdrawn"))
        raise TimedOut("nobody has answered the question", id=asked.uid)

    def withdraw(later: Call) -> Any:
        if (answered := check(later)) is not None:
            return answered
        later.run(CloseAsk(asked.uid, "withdrawn"))
        raise TimedOut("the question was withdrawn", id=asked.uid)

    until = database_clock.until(call.db, asked.uid)
    deadline = asked.expires_at if until is None else until
    ticket_at = None if wait is None else call.elapsed_time + int(wait * SECOND)
    if ticket_at is not None and (deadline is None or ticket_at < deadline):
        # An agent that leaves before then wants no answer.
        return Wait(check, check, ticket_at, asked.uid, withdraw, asked.uid)
    return Wait(check, give_up, deadline, asked.uid, withdraw, asked.uid)
