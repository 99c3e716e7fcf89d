"""`control:*` and `ask`: the tools beyond the seeds (docs: protocol, section 7)."""

from __future__ import annotations

import re
from contextlib import closing
from itertools import islice
from typing import Annotated, Any, Literal

from msgspec import Meta, Raw

from tui_tasks import __version__
from tui_tasks.core.commit import elapsed
from tui_tasks.core.errors import Conflict, InvalidArgument, InvalidRequest, NotFound, TimedOut
from tui_tasks.core.journal import journal
from tui_tasks.core.operations.asks import CloseAsk, OpenAsk
from tui_tasks.core.operations.changes import Undo
from tui_tasks.core.operations.checks import RequestChecks
from tui_tasks.core.operations.claims import ClaimNext, ExtendClaim, ReleaseClaim
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import asks
from tui_tasks.core.read.tasks import queries, ready
from tui_tasks.core.schema import work_links
from tui_tasks.core.schema.task_fields import FIELDS, TaskField, local_time
from tui_tasks.core.snapshots import Ask, Claim, Task, iso
from tui_tasks.dialects.base import Call, Table, Tool, Wait, one_of
from tui_tasks.dialects.json_shapes import agent_shapes
from tui_tasks.dialects.json_shapes.events import page
from tui_tasks.dialects.requests import selection
from tui_tasks.dialects.requests.arguments import Arguments, Name, Nothing, TaskUid, Text, Uid, schema, without_words
from tui_tasks.dialects.requests.confinement import is_visible, visible_tools

CONTROL = Table()
PROTOCOL = 1
SECOND = 1_000_000
MAX_PAGE = 10_000
# For a channel limited to one list, entries are filtered as they are read.
NO_LIMIT = 2**62
DEFAULT_LEASE = 300
MAX_WAIT = 31_536_000
# The first sentence; if it is very short, the next one too.
_SENTENCE = re.compile(r".{20,}?\.(?=\s|$)", re.DOTALL)

# Up to the largest integer of SQLite.
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class _Hello(Arguments):
    tools: Annotated[list[Name], Meta(description="Tell these whole: names, dialects, or all.")] = []


@CONTROL.tool("control:hello", _Hello, while_paused=True)
def hello(call: Call, given: _Hello) -> dict[str, Any]:
    """Learn how you are known here, and which tools there are. They are told in brief: name those to be told whole.

    Where a task's uid is taken, so is `#3`, its number in the list, or the first 6 or more characters of it. Where
    `list` is null, each dialect has a list of its own.
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
        return frozenset(selection.select(words, call.channel.table).tools)
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
    since: Annotated[Seq, Meta(description="Events after this seq; left out: from now on.")] | None = None


@CONTROL.tool("control:subscribe", _Since, while_paused=True)
def subscribe(call: Call, given: _Since) -> dict[str, int]:
    """Hear what the human and other agents do: events come as lines between replies, in order, none skipped.

    Each has `event`, `seq`, `at`, `actor`, the task as it became, and `changes`. After a reconnect, pass the last
    seq you saw as `since`. Returns the seq from which events follow.
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
    """Hear no more events on this channel. Returns null."""
    call.channel.subscription.end()


class _History(Arguments):
    since: Annotated[Seq, Meta(description="After this seq; left out: the newest.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100
    task: Annotated[TaskUid, Meta(description="Of this task alone.")] | None = None


@CONTROL.tool("control:history", _History, while_paused=True)
def history(call: Call, given: _History) -> dict[str, Any]:
    """Read what happened: who changed what, when, from what to what, and why. Oldest first.

    Without `since` the newest entries. A page may end sooner than `limit` says. Returns `entries` and `next`, the
    `since` of the next page (null at the end).
    """
    if given.task is not None and queries.any_task(call.db, given.task) is None:
        raise NotFound("task", given.task)
    identity = call.channel.identity
    most = NO_LIMIT if identity.list_only else given.limit
    if given.since is None:
        with closing(journal.each_latest(call.db, most, given.task)) as entries:
            told = (entry for entry in entries if is_visible(call.db, identity, entry))
            lines, _ = page(call.db, islice(told, given.limit))
        return {"entries": [Raw(line) for line in reversed(lines)], "next": None}
    with closing(journal.each_since(call.db, given.since, most + 1, given.task)) as entries:
        told = (entry for entry in entries if is_visible(call.db, identity, entry))
        lines, last = page(call.db, islice(told, given.limit))
        more = next(told, None)
    return {"entries": [Raw(line) for line in lines], "next": None if more is None else last}


class _OneTask(Arguments):
    uid: TaskUid


def _full(call: Call, task: Task) -> dict[str, Any]:
    return call.full(task)


@CONTROL.tool("control:task", _OneTask)
def show_task(call: Call, given: _OneTask) -> dict[str, Any]:
    """Read one task with every field; its `version`, as `if_version`, lets you write only if it is unchanged."""
    return _full(call, queries.task(call.db, given.uid))


class _Update(_OneTask):
    due: (
        Annotated[
            str,
            Meta(max_length=40, description="2026-01-31, or 2026-01-31T17:00+01:00; '': never."),
        ]
        | None
    ) = None
    estimate: Annotated[int, Meta(ge=0, le=525_600, description="Minutes; 0: none.")] | None = None


@CONTROL.tool("control:update_task", _Update, writes=True, subject="uid")
def update_task(call: Call, given: _Update) -> dict[str, Any]:
    """Set what no other tool sets: when a task is due, and how long it is thought to take. Returns the task."""
    values = {name: getattr(given, name) for name in FIELDS if hasattr(given, name)}
    one_of("due", values)
    changes = {
        name: _parsed_value(FIELDS[name], value, call.now) if value else None
        for name, value in values.items()
        if value is not None
    }
    return _full(call, call.run(EditTask(given.uid, changes)))


def _parsed_value(field: TaskField, value: Any, now: int) -> Any:
    try:
        return field.parse(str(value), local_time(now))
    except ValueError as error:
        raise InvalidArgument(field.name, f"{field.name}: {error}") from None


class _Link(_OneTask):
    kind: Literal["branch", "commit", "pull_request", "file"]
    target: Annotated[str, Meta(description="Name, hash, https address or path.")]
    remove: bool = False


@CONTROL.tool("control:link", _Link, writes=True, subject="uid")
def link(call: Call, given: _Link) -> dict[str, Any]:
    """Link a task to its work: a branch, a commit, a pull request or a file; `remove` unlinks. Returns the task."""
    try:
        wanted = work_links.checked(given.kind, given.target)
        links = work_links.changed(queries.task(call.db, given.uid).links, [wanted], remove=given.remove)
    except ValueError as error:
        raise InvalidArgument("target", f"target: {error}") from None
    return _full(call, call.run(EditTask(given.uid, {"links": links})))


class _Agents(Arguments):
    everyone: Annotated[bool, Meta(description="Also those that ended over a day ago.")] = False


@CONTROL.tool("control:agents", _Agents, while_paused=True)
def agents(call: Call, given: _Agents) -> list[dict[str, Any]]:
    """See who works here: sessions of agent programs, and agents of this channel, oldest first, each with its state.

    That is working, waiting, idle, interrupted, failed or gone. What is unknown is null.
    """
    return agent_shapes.agents(call.db, call.now, everyone=given.everyone)


@CONTROL.tool("control:undo", Nothing, writes=True, in_steps=True)
def undo(call: Call, given: Nothing) -> dict[str, int]:
    """Take back your own newest change that still stands: a request, or a batch, is one. Others' changes stay."""
    within = call.only_list
    if within is None and call.channel.identity.list_only:
        raise Conflict(f"{call.agent} has no change to undo")
    last, _ = call.run(Undo(within=within.uid if within is not None else None))
    return {"undone": last}


class _RequestCheck(_OneTask):
    check: Annotated[Name, Meta(description="One of them; left out: all.")] | None = None


@CONTROL.tool("control:request_check", _RequestCheck, writes=True)
def request_check(call: Call, given: _RequestCheck) -> dict[str, Any]:
    """Run a task's checks, which the human has set, now. The event check.finished and control:task tell how they end.

    What passes counts when you set the task done, unless its files change after. Returns `uid` and `verified`.
    """
    return {"uid": given.uid, "verified": call.run(RequestChecks(given.uid, given.check))}


class _Claim(Arguments):
    list: Annotated[Name, Meta(description="Take from this list (a plan by its id); left out: any.")] | None = None
    lease_seconds: Annotated[int, Meta(ge=1, le=86_400, description="How long you hold it without a heartbeat.")] = (
        DEFAULT_LEASE
    )


@CONTROL.tool("control:claim", _Claim, writes=True)
def claim(call: Call, given: _Claim) -> dict[str, Any] | None:
    """Take the next task for yourself: the most urgent, then oldest pending one that waits for no other.

    Others cannot write to it until you finish or release it, or the lease runs out (send control:heartbeat before
    that). Null: `note` says why.
    """
    handle = given.list or call.bound_list
    home = queries.find_list(call.db, handle) if handle is not None else None
    if handle is not None and home is None:
        if given.list is None:
            call.note = f"nothing is pending in {handle}, which is not made yet"
            return None
        raise NotFound("list", handle)
    taken = call.run(ClaimNext(call.agent, given.lease_seconds * SECOND, home.uid if home else None, call.project))
    if taken is None:
        call.note = ready.why_none(
            call.db,
            home.id if home else None,
            call.agent,
            project=call.project,
            is_confined=call.channel.identity.list_only,
        )
        return None
    task, claim_ = taken
    return {"task": _full(call, task), **_claim_json(claim_)}


def _claim_json(claim_: Claim) -> dict[str, Any]:
    return {"claim": claim_.uid, "expires_at": iso(claim_.expires_at)}


class _ClaimArguments(Arguments):
    claim: Uid


@CONTROL.tool("control:heartbeat", _ClaimArguments, writes=True, while_paused=True)
def heartbeat(call: Call, given: _ClaimArguments) -> dict[str, Any]:
    """Keep a claimed task: its lease runs anew from now."""
    return _claim_json(call.run(ExtendClaim(call.agent, given.claim)))


@CONTROL.tool("control:release", _ClaimArguments, writes=True, while_paused=True)
def release(call: Call, given: _ClaimArguments) -> dict[str, Any]:
    """Give a claimed task back as pending, for another to take."""
    return _full(call, call.run(ReleaseClaim(call.agent, given.claim)))


class _Ask(Arguments):
    question: Annotated[Text, Meta(min_length=1, pattern=r"\S")]
    options: Annotated[
        list[Name],
        Meta(description="Up to 9 answers to choose from; the human can write another."),
    ] = []
    task: Annotated[TaskUid, Meta(description="What it is about.")] | None = None
    timeout: (
        Annotated[float, Meta(gt=0, le=MAX_WAIT, description="Seconds until it is withdrawn; left out: never.")] | None
    ) = None
    wait: (
        Annotated[float, Meta(ge=0, le=MAX_WAIT, description="Seconds until a ticket is given in its place.")] | None
    ) = None


@CONTROL.tool("ask", _Ask, writes=True, waits=True)
def ask(call: Call, given: _Ask) -> Wait:
    """Ask the human a question, for decisions that are not yours and for approval.

    The reply comes when it is answered. With `wait` it may be a ticket: `{"ask", "state": "open"}`; go on, and read the
    answer with control:answer_of.
    """
    if call.resumes is not None:
        return _wait_for(call, asks.ask(call.db, call.resumes), given.wait)
    deadline = None if given.timeout is None else call.now + int(given.timeout * SECOND)
    asked = OpenAsk(given.question, tuple(given.options), given.task, deadline, call.project)
    return _wait_for(call, call.run(asked), given.wait)


class _AnswerOf(Arguments):
    ask: Annotated[Uid, Meta(description="The ticket's `ask`.")]
    wait: Annotated[float, Meta(ge=0, le=MAX_WAIT, description="Seconds to wait for it.")] = 0


@CONTROL.tool("control:answer_of", _AnswerOf, waits=True)
def answer_of(call: Call, given: _AnswerOf) -> Any:
    """Read the human's answer to a question that you asked before; `state`: open, answered, withdrawn or timeout."""
    asked = asks.ask(call.db, given.ask)
    if asked.agent != call.agent:
        raise NotFound("question", given.ask)

    def check(later: Call) -> dict[str, Any] | None:
        found = _state_of(later, asked.uid)
        # Here and not in `give_up`, which gets a write transaction: read-only channels wait, too.
        return found if found["state"] != "open" or later.elapsed_time >= deadline else None

    until = elapsed.until(call.db, asked.uid)
    deadline = min(
        call.elapsed_time + int(given.wait * SECOND), asked.expires_at or NO_LIMIT if until is None else until
    )
    found = check(call)
    return found if found is not None else Wait(check, lambda later: _state_of(later, asked.uid), deadline)


def _state_of(call: Call, uid: str) -> dict[str, Any]:
    """Return the state of a question; an open one whose time is over reads as timed out."""
    asked = asks.ask(call.db, uid)
    until = elapsed.until(call.db, uid)
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
        found = asks.ask(later.db, asked.uid)
        if found.state == "answered":
            return {"answer": found.answer, "at": iso(found.answered_at)}
        if found.state != "open":
            raise TimedOut(f"the question was {found.state}")
        if ticket_at is not None and later.elapsed_time >= ticket_at:
            return {"ask": asked.uid, "state": "open"}
        return None

    def give_up(later: Call) -> Any:
        # The answer may have come since the last check.
        if (answered := check(later)) is not None:
            return answered
        later.run(CloseAsk(asked.uid, "timeout" if asked.expires_at is not None else "withdrawn"))
        raise TimedOut("nobody has answered the question", id=asked.uid)

    until = elapsed.until(call.db, asked.uid)
    deadline = asked.expires_at if until is None else until
    ticket_at = None if wait is None else call.elapsed_time + int(wait * SECOND)
    if ticket_at is not None and (deadline is None or ticket_at < deadline):
        # An agent that leaves before then wants no answer.
        return Wait(check, check, ticket_at, asked.uid, abandon=give_up)
    return Wait(check, give_up, deadline, asked.uid)


class _Anything(Arguments):
    """Arguments of the human's tools, which are not listed for agents."""


for _verb, _does in (
    ("control:answer", "Answer a question."),
    ("control:message", "Write to an agent."),
    ("control:pause", "Pause an agent."),
    ("control:resume", "Let a paused agent go on."),
    ("control:accept", "Let a held task be taken up."),
    ("control:decline", "Cancel a held task."),
    ("control:review", "Say whether what agents file in a list is held."),
    ("control:compact", "Drop old entries of the journal."),
    ("control:config", "Change the settings: the runner, the limits."),
):

    def _human_only(call: Call, given: Any) -> None:
        raise AssertionError("refused before it is called")

    _human_only.__doc__ = _does
    CONTROL.tool(_verb, _Anything, writes=True, human=True)(_human_only)
