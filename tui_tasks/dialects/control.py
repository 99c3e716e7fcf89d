"""`control:*` and `ask`: what goes beyond the seeds (docs: protocol, section 7)."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta, Raw

from tui_tasks import __version__
from tui_tasks.core import elapsed
from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound, TimedOut
from tui_tasks.core.journal import journal
from tui_tasks.core.operations import ClaimNext, CloseAsk, EditTask, ExtendClaim, OpenAsk, ReleaseClaim, Undo
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.schema.task_fields import FIELDS, TaskField, local_time
from tui_tasks.core.snapshots import Ask, Claim, Task, full_task, iso
from tui_tasks.dialects.base import Call, Table, Wait, one_of
from tui_tasks.dialects.events import page
from tui_tasks.dialects.requests.arguments import Arguments, Name, Nothing, TaskUid, Text, Uid, schema
from tui_tasks.dialects.requests.confinement import is_told, shown_tools

CONTROL = Table()
PROTOCOL = 1
SECOND = 1_000_000
MAX_PAGE = 10_000
# Of a channel that is told of one list the entries are chosen as they are read.
NO_LIMIT = 2**62
DEFAULT_LEASE = 300
MAX_WAIT = 31_536_000

# As far as SQLite counts.
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]


@CONTROL.tool("control:hello", Nothing, while_paused=True)
def hello(call: Call, given: Nothing) -> dict[str, Any]:
    """Say who you are to this program and what it offers. Call it first.

    Where a tool takes a task's uid it also takes `#3`, its number in the list, or the first 6 or more characters of it.
    Returns the protocol's number, the program's version, your agent name, the list this channel is bound to (null: each
    tool family has its own), whether it is read only, the journal's newest seq, and every tool with the schema of its
    arguments.
    """
    channel = call.channel
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": schema(tool.arguments)}
        for tool in shown_tools(channel.identity, channel.table.tools)
    ]
    return {
        "protocol": PROTOCOL,
        "version": __version__,
        "agent": call.agent,
        "list": call.bound_list,
        "read_only": channel.identity.read_only,
        "seq": journal.newest(call.db),
        "tools": tools,
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
    """Hear no more events. Returns null."""
    call.channel.subscription.end()


class _History(Arguments):
    since: Annotated[Seq, Meta(description="Entries after this seq; left out: the newest ones.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE, description="How many at the most.")] = 100
    task: Annotated[TaskUid, Meta(description="Only what happened to the task with this uid.")] | None = None


@CONTROL.tool("control:history", _History, while_paused=True)
def history(call: Call, given: _History) -> dict[str, Any]:
    """Read what happened: who changed what, when, from what to what, and why. Oldest first.

    Without `since` the newest entries; with it the oldest after it, a page at a time. A page has at most `limit`
    entries and ends sooner where they are long (2 MiB). Returns `entries` and `next`, the `since` of the next page
    (null at the end).
    """
    if given.task is not None and queries.any_task(call.db, given.task) is None:
        raise NotFound("task", given.task)
    identity = call.channel.identity
    most = NO_LIMIT if identity.list_only else given.limit
    if given.since is None:
        with closing(journal.each_latest(call.db, most, given.task)) as entries:
            told = (entry for entry in entries if is_told(call.db, identity, entry))
            lines, _ = page(call.db, islice(told, given.limit))
        return {"entries": [Raw(line) for line in reversed(lines)], "next": None}
    with closing(journal.each_since(call.db, given.since, most + 1, given.task)) as entries:
        told = (entry for entry in entries if is_told(call.db, identity, entry))
        lines, last = page(call.db, islice(told, given.limit))
        more = next(told, None)
    return {"entries": [Raw(line) for line in lines], "next": None if more is None else last}


class _OneTask(Arguments):
    uid: Annotated[TaskUid, Meta(description="The uid of the task.")]


def _full(call: Call, task: Task) -> dict[str, Any]:
    return full_task(task, call.handle(task))


@CONTROL.tool("control:task", _OneTask)
def show_task(call: Call, given: _OneTask) -> dict[str, Any]:
    """Read one task with every field there is: its list, priority, tags, dependencies, result, version and the rest.

    Use the version with `if_version` to write only if nobody else has changed the task meanwhile. Returns the task.
    """
    return _full(call, queries.task(call.db, given.uid))


class _Update(_OneTask):
    due: (
        Annotated[
            str,
            Meta(max_length=40, description="When it is to be done: 2026-01-31, or 2026-01-31T17:00+01:00; '': never."),
        ]
        | None
    ) = None
    estimate: Annotated[int, Meta(ge=0, le=525_600, description="Minutes it is thought to take; 0: none.")] | None = (
        None
    )


@CONTROL.tool("control:update_task", _Update, writes=True, subject="uid")
def update_task(call: Call, given: _Update) -> dict[str, Any]:
    """Set what no other tool sets: when a task is due, and how long it is thought to take. Returns the task."""
    values = {name: getattr(given, name) for name in FIELDS}
    one_of("due", values)
    changes = {
        name: _parsed(FIELDS[name], value, call.now) if value else None
        for name, value in values.items()
        if value is not None
    }
    return _full(call, call.run(EditTask(given.uid, changes)))


def _parsed(field: TaskField, value: Any, now: int) -> Any:
    try:
        return field.parse(str(value), local_time(now))
    except ValueError as error:
        raise InvalidArgument(field.name, f"{field.name}: {error}") from None


@CONTROL.tool("control:undo", Nothing, writes=True, in_steps=True)
def undo(call: Call, given: Nothing) -> dict[str, int]:
    """Take back your own newest change that still stands: a request, or a batch, is one. Others' changes stay.

    Returns `undone`, the seq of what was taken back. Refused as conflict where somebody has changed the same since.
    """
    within = call.only_list
    if within is None and call.channel.identity.list_only:
        raise Conflict(f"{call.agent} has no change to undo")
    last, _ = call.run(Undo(within=within.uid if within is not None else None))
    return {"undone": last}


class _Claim(Arguments):
    list: Annotated[Name, Meta(description="The list to take from (a plan by its id); left out: any.")] | None = None
    lease_seconds: Annotated[
        int, Meta(ge=1, le=86_400, description="How long you hold it without a heartbeat, in seconds.")
    ] = DEFAULT_LEASE


@CONTROL.tool("control:claim", _Claim, writes=True)
def claim(call: Call, given: _Claim) -> dict[str, Any] | None:
    """Take the next task for yourself: the most urgent, then oldest pending one that waits for no other.

    No other agent gets the same. It is in_progress then; others cannot write to it until you finish or release it, or
    the lease runs out (send control:heartbeat before that). Returns `task`, `claim` (its id) and `expires_at`; null
    when there is nothing to take.
    """
    handle = given.list or call.bound_list
    home = queries.find_list(call.db, handle) if handle is not None else None
    if handle is not None and home is None:
        if given.list is None:
            return None
        raise NotFound("list", handle)
    taken = call.run(ClaimNext(call.agent, given.lease_seconds * SECOND, home.uid if home else None))
    if taken is None:
        return None
    task, held = taken
    return {"task": _full(call, task), **_held(held)}


def _held(held: Claim) -> dict[str, Any]:
    return {"claim": held.uid, "expires_at": iso(held.expires_at)}


class _Held(Arguments):
    claim: Annotated[Uid, Meta(description="The id of the claim.")]


@CONTROL.tool("control:heartbeat", _Held, writes=True, while_paused=True)
def heartbeat(call: Call, given: _Held) -> dict[str, Any]:
    """Keep a claimed task: its lease runs anew from now. Returns `claim` and `expires_at`."""
    return _held(call.run(ExtendClaim(call.agent, given.claim)))


@CONTROL.tool("control:release", _Held, writes=True, while_paused=True)
def release(call: Call, given: _Held) -> dict[str, Any]:
    """Give a claimed task back, so that another can take it. Returns the task, pending again."""
    return _full(call, call.run(ReleaseClaim(call.agent, given.claim)))


class _Ask(Arguments):
    question: Annotated[Text, Meta(min_length=1, pattern=r"\S", description="What you want to know.")]
    options: Annotated[
        list[Name],
        Meta(description="Answers to choose from, 9 of 500 characters at the most; the human can write another."),
    ] = []
    task: Annotated[TaskUid, Meta(description="The uid of the task it is about.")] | None = None
    timeout: (
        Annotated[float, Meta(gt=0, le=MAX_WAIT, description="Seconds to wait; left out: until answered.")] | None
    ) = None


@CONTROL.tool("ask", _Ask, writes=True, waits=True)
def ask(call: Call, given: _Ask) -> Wait:
    """Ask the human, who sees the question at once. Use it for decisions that are not yours, and approvals.

    The reply comes when the human has answered; meanwhile other requests are served. Returns `answer` and `at`.
    """
    if call.resumes is not None:
        return _wait_for(call, queries.ask(call.db, call.resumes))
    deadline = None if given.timeout is None else call.now + int(given.timeout * SECOND)
    return _wait_for(call, call.run(OpenAsk(given.question, tuple(given.options), given.task, deadline)))


def _wait_for(call: Call, asked: Ask) -> Wait:
    def check(later: Call) -> dict[str, Any] | None:
        found = queries.ask(later.db, asked.uid)
        if found.state == "answered":
            return {"answer": found.answer, "at": iso(found.answered_at)}
        if found.state != "open":
            raise TimedOut(f"the question was {found.state}")
        return None

    def give_up(later: Call) -> Any:
        # The answer may have come since it was looked for.
        if (answered := check(later)) is not None:
            return answered
        later.run(CloseAsk(asked.uid, "timeout" if asked.expires_at is not None else "withdrawn"))
        raise TimedOut("nobody has answered the question", id=asked.uid)

    until = elapsed.until(call.db, asked.uid)
    return Wait(check, give_up, asked.expires_at if until is None else until, asked.uid)


class _Anything(Arguments):
    """What a verb of the human's takes is nobody else's business."""


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
