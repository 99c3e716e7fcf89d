"""`control:*` and `ask`, the tools beyond the seeds: those of the channel, and one table of all (docs: protocol, 7)."""

from __future__ import annotations

import re
from contextlib import closing
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta, Raw

from tui_tasks import __version__
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import InvalidArgument, InvalidRequest, NotFound
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.dialects.control_asks import ASKS
from tui_tasks.dialects.control_claims import CLAIMS
from tui_tasks.dialects.control_tasks import MAX_PAGE, TASKS
from tui_tasks.dialects.events import page
from tui_tasks.dialects.requests import confinement
from tui_tasks.dialects.requests.arguments import (
    Arguments,
    Name,
    Nothing,
    TaskUid,
    schema,
    without_words,
)
from tui_tasks.dialects.requests.confinement import is_visible, visible_tools
from tui_tasks.dialects.tool_table import Call, Table, Tool

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


@CONTROL.tool("control:hello", _Hello, while_paused=True)
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


@CONTROL.tool("control:history", _History, while_paused=True)
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
