"""Which state an agent is in, as the screen shows it: what its program or the channel reported, and for how long it has
been silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tui_tasks.core import vocab
from tui_tasks.core.read.agents.fleet import Member
from tui_tasks.core.read.agents.session_queries import BY_MACHINE, PLACEHOLDER, AgentSession
from tui_tasks.core.read.work_queries import SILENT_AFTER
from tui_tasks.text.glyphs import LOOKS, Look

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

LOOKS_OF_STATES: Final = {
    "stuck": LOOKS["stuck"],
    "left": Look("·", "gone", ".", "$state-overdue"),
    "stopped": LOOKS["stopped"],
    "waiting": LOOKS["needs_you"]._replace(word="waiting"),
    "asking": LOOKS["in_progress"]._replace(word="working"),
    "failed": LOOKS["failed"],
    "quiet": LOOKS["quiet"],
    "interrupted": LOOKS["interrupted"],
    "ready": LOOKS["reviewable"]._replace(word="to review"),
    "working": LOOKS["in_progress"]._replace(word="working"),
    "paused": LOOKS["skipped"]._replace(word="paused", letter="-"),
    "idle": LOOKS["pending"]._replace(word="idle", letter="o"),
    "gone": Look("·", "gone", ".", "$muted"),
    "finished": Look("·", "finished", ".", "$muted"),
}
"""How the state of an agent is shown, the worst first. One that has `left` is gone from a task in progress; for
`finished` see `has_finished`. One that is `asking` works on meanwhile, which the screen says; one that is `waiting`
does not.
"""
RANKS: Final = {state: rank for rank, state in enumerate(LOOKS_OF_STATES)}


def state_of(member: Member, now: int, quiet_after: int) -> str:
    """Return an agent's state now, a key of `LOOKS_OF_STATES`.

    An agent of the channel that has been silent for long, or since its claim lapsed, is quiet, as nothing else is known
    of its activity. A session's state is reported by its program.
    """
    is_silent = member.session is None and now - member.last_seen > quiet_after
    state = reported_state(member, now, quiet_after)
    return "quiet" if (state == "working" and is_silent) or (state == "idle" and member.is_silent) else state


def shown_state(member: Member, context: Context, quiet_after: int) -> str:
    """Return an agent's state now, where one whose work waits to be merged is not at work, and one that is gone from a
    task has `left` it.
    """
    now = context.clock.now()
    state = state_of(member, now, quiet_after)
    if member.task is not None and member.task.uid in context.state.reviewable:
        return "ready" if state in ("quiet", "working", "idle", "gone") else state
    return "left" if member.left_task(now, quiet_after) is not None else state


def reported_state(member: Member, now: int, quiet_after: int) -> str:
    """Return an agent's state without regard to its silence.

    One that asked about something else than its task, and has done something since, is `asking`: it works on. An agent
    that makes single calls from a shell is not connected between them. While it has a task or a question, it is gone
    only after a silence. One that is stuck is so whatever it asks.
    """
    if member.state == "waiting" and member.stuck is not None and member.stuck.cause not in (None, "human"):
        return "stuck"
    if member.state == "gone" and member.calls_alone and not member.has_left(now, quiet_after):
        state = "waiting" if member.ask is not None else "working" if member.task is not None else "gone"
    else:
        state = member.state
    return "asking" if state == "waiting" and member.goes_on else state


def has_finished(member: Member) -> bool:
    """Return whether an agent that is gone has ended as it should: with no task, claim or question, and not by its
    process's end alone.
    """
    is_lost = member.session is not None and member.session.ended_by in ("process", BY_MACHINE)
    has_open = member.task is not None or member.ask is not None or bool(member.lapsed)
    return member.state == "gone" and not has_open and not is_lost


def is_over(member: Member, now: int, seen_at: int) -> bool:
    """Return whether an agent needs nobody any more: it is gone, and the human has seen its failure, or an hour passed.

    `seen_at`: when the human said last that all was seen.
    """
    ended_at = member.session.ended_at if member.session is not None else None
    if member.state == "failed":
        return not vocab.agent_failed(member.state, ended_at, seen_at, now)
    return member.state == "gone"


def is_starting(session: AgentSession | None) -> bool:
    """Return whether a program that was started here has reported nothing yet."""
    return session is not None and session.last_prompt is None and session.session.startswith(PLACEHOLDER)


def is_silent(session: AgentSession, now: int) -> bool:
    """Return whether it has reported nothing for long: it may ask whether to trust the folder."""
    return is_starting(session) and now - session.started_at >= SILENT_AFTER
