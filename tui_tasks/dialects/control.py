"""`control:*` and `ask`, the tools beyond the seeds: those of the channel, questions to the human and when they end,
and one table of all (docs: protocol, 7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta, Raw

from tui_tasks import __version__
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import database_clock, journal
from tui_tasks.core.errors import InvalidArgument, InvalidRequest, NotFound, Problem, TimedOut
from tui_tasks.core.operations.asks import CloseAsk, OpenAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import iso
from tui_tasks.dialects.control_agents import CLAIMS
from tui_tasks.dialects.control_tasks import MAX_PAGE, TASKS
from tui_tasks.dialects.events import page
from tui_tasks.dialects.requests import confinement
from tui_tasks.dialects.requests.arguments import (
    Arguments,
    Choices,
    Name,
    Nothing,
    TaskUid,
    Text,
    Uid,
    schema,
    without_words,
)
from tui_tasks.dialects.requests.confinement import is_visible, visible_tools
from tui_tasks.dialects.tool_table import INTEGER, TEXT, Call, Table, Tool, Wait, list_of, object_of
from tui_tasks.text.times import SECOND

ASKS = Table()
MAX_WAIT = 31_536_000
# Later than any instant.
_NEVER = 2**62


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


@ASKS.tool("ask", _Ask, writes=True, waits=True, output=object_of("", answer=TEXT, at=TEXT, ask=TEXT, state=TEXT))
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


@ASKS.tool("control:answer_of", _AnswerOf, waits=True, output=object_of("ask state answer at", ask=TEXT, state=TEXT))
def answer_of(call: Call, given: _AnswerOf) -> Any:
    """Read the human's answer to your earlier question; `state`: open, answered, withdrawn or timeout."""
    asked = ask_queries.own_ask(call.db, call.agent, given.ask)

    def check(later: Call) -> dict[str, Any] | None:
        state = _state_of(later, asked.uid)
        # Here and not in `give_up`, which gets a write transaction: read-only channels wait, too.
        return state if state["state"] != "open" or later.database_now >= deadline else None

    until = database_clock.end_of(call.db, asked.uid)
    deadline = min(call.database_now + int(given.wait * SECOND), asked.expires_at or _NEVER if until is None else until)
    state = check(call)
    if state is not None:
        return state
    return Wait(check, lambda later: _state_of(later, asked.uid), deadline, question=asked.uid)


def _state_of(call: Call, uid: str) -> dict[str, Any]:
    """Return the state of a question; an open one whose time is over reads as timed out."""
    asked = ask_queries.ask(call.db, uid)
    until = database_clock.end_of(call.db, uid)
    is_over = (
        asked.state == "open" and asked.expires_at is not None and until is not None and until <= call.database_now
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
        if ticket_at is not None and later.database_now >= ticket_at:
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

    until = database_clock.end_of(call.db, asked.uid)
    deadline = asked.expires_at if until is None else until
    ticket_at = None if wait is None else call.database_now + int(wait * SECOND)
    if ticket_at is not None and (deadline is None or ticket_at < deadline):
        # An agent that leaves before then wants no answer.
        return Wait(check, check, ticket_at, asked.uid, withdraw, asked.uid)
    return Wait(check, give_up, deadline, asked.uid, withdraw, asked.uid)


CONTROL = Table()
PROTOCOL = 1
# For a channel limited to one list, entries are filtered as they are read.
NO_LIMIT = 2**62
# The first sentence; if it is very short, the next one too.
_SENTENCE = re.compile(r".{20,}?\.(?=\s|$)", re.DOTALL)

# Up to the largest integer of SQLite.
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class _Hello(Arguments):
    tools: Annotated[list[Name], Meta(description="In full: names, dialects, or all.")] = []


@CONTROL.tool(
    "control:hello",
    _Hello,
    while_paused=True,
    output=object_of("protocol version agent list read_only seq", agent=TEXT, seq=INTEGER),
)
def hello(call: Call, given: _Hello) -> dict[str, Any]:
    """Learn your name here and the tools, in brief; name those that you want in full.

    For a task's uid you can also give its number (`#3` or `3`), or its first 6 or more characters. If `list` is null,
    each dialect has its own list.
    """
    channel = call.channel
    whole = _named_tools(call, given.tools)
    tools = [
        _tool_json(tool, whole=tool.name in whole) for tool in visible_tools(channel.identity, channel.table.tools)
    ]
    return {
        "protocol": PROTOCOL,
        "version": __version__,
        "agent": call.agent,
        "list": call.bound_list,
        **({} if call.project is None else {"project": call.project}),
        "read_only": channel.identity.read_only,
        "seq": journal.newest(call.db),
        "tools": tools,
    }


def _named_tools(call: Call, words: list[str]) -> frozenset[str]:
    """Return the names of the tools that are to be described in full."""
    if "all" in words:
        return frozenset(call.channel.table.tools)
    try:
        return frozenset(confinement.select(words, call.channel.table).tools)
    except InvalidRequest as unknown:
        raise InvalidArgument("tools", f"tools: {unknown.message}") from None


def _tool_json(tool: Tool, *, whole: bool) -> dict[str, Any]:
    """Return a tool as an agent sees it; unless `whole`, with one sentence, and a schema without descriptions."""
    taken = schema(tool.arguments)
    if whole:
        return {"name": tool.name, "description": tool.description, "input_schema": taken}
    first = _SENTENCE.match(tool.description)
    return {
        "name": tool.name,
        "description": first[0] if first else tool.description,
        "input_schema": without_words(taken),
    }


class _Since(Arguments):
    since: Annotated[Seq, Meta(description="Events after this seq; default: from now.")] | None = None


@CONTROL.tool("control:subscribe", _Since, while_paused=True)
def subscribe(call: Call, given: _Since) -> dict[str, int]:
    """Get what the human and other agents do as events between replies, in order, none skipped.

    Each has `event`, `seq`, `at`, `actor`, the task as it became, and `changes`. After a reconnect, pass the last
    seq you saw as `since`. Returns the seq after which events follow.
    """
    if given.since is not None:
        _refuse_future(call, given.since)
        journal.refuse_compacted(call.db, given.since)
    return {"seq": call.channel.subscription.begin(given.since, call.agent)}


def _refuse_future(call: Call, since: int) -> None:
    newest = call.transaction.seq if call.transaction else journal.newest(call.db)
    if since > newest:
        raise InvalidArgument("since", f"since: the newest seq is {newest}")


@CONTROL.tool("control:unsubscribe", Nothing, while_paused=True)
def unsubscribe(call: Call, given: Nothing) -> None:
    """Stop events on this channel. Returns null."""
    call.channel.subscription.end()


class _History(Arguments):
    since: Annotated[Seq, Meta(description="After this seq; default: the newest.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100
    task: Annotated[TaskUid, Meta(description="Only of this task.")] | None = None


@CONTROL.tool(
    "control:history",
    _History,
    while_paused=True,
    output=object_of("entries next", entries=list_of(object_of("event seq at actor"))),
)
def history(call: Call, given: _History) -> dict[str, Any]:
    """Read who changed what, when and why, with old and new values. Oldest first.

    Without `since` the newest entries. A page may end sooner than `limit` says. Returns `entries` and `next`, the
    `since` of the next page (null at the end).
    """
    if given.task is not None and task_queries.any_task(call.db, given.task) is None:
        raise NotFound("task", given.task)
    identity = call.channel.identity
    most = NO_LIMIT if identity.list_only else given.limit
    if given.since is None:
        with closing(journal.each_latest(call.db, most, given.task)) as entries:
            visible = (entry for entry in entries if is_visible(call.db, identity, entry))
            lines, _ = page(call.db, islice(visible, given.limit))
        return {"entries": [Raw(line) for line in reversed(lines)], "next": None}
    with closing(journal.each_since(call.db, given.since, most + 1, given.task)) as entries:
        visible = (entry for entry in entries if is_visible(call.db, identity, entry))
        lines, last = page(call.db, islice(visible, given.limit))
        more = next(visible, None)
    return {"entries": [Raw(line) for line in lines], "next": None if more is None else last}


for _part in (TASKS, CLAIMS, ASKS):
    CONTROL.add(_part)


class _Anything(Arguments):
    """Arguments of the human's tools, which are not listed for agents."""


for _verb, _does in (
    ("control:answer", "Answer a question."),
    ("control:message", "Write to an agent."),
    ("control:pause", "Pause an agent."),
    ("control:resume", "Resume a paused agent."),
    ("control:accept", "Accept a held task."),
    ("control:decline", "Cancel a held task."),
    ("control:review", "Say whether what agents file in a list is held."),
    ("control:compact", "Drop old entries of the journal."),
    ("control:config", "Change the settings: the runner, the limits."),
):

    def _human_only(call: Call, given: Any) -> None:
        raise AssertionError("refused before it is called")

    _human_only.__doc__ = _does
    CONTROL.tool(_verb, _Anything, writes=True, human=True)(_human_only)
