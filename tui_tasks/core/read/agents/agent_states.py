"""Which state an agent is in, in one word for people: from what its program or the channel reported, for how long it
was not heard, and what it has left. Screen and shell take it from here.
"""

from __future__ import annotations

from tui_tasks.core import vocab
from tui_tasks.core.read.agents.fleet import Member
from tui_tasks.core.read.agents.left_tasks import LeftTask
from tui_tasks.core.read.agents.session_queries import BY_MACHINE, BY_PROCESS, PLACEHOLDER, AgentSession
from tui_tasks.core.read.work_queries import SILENT_AFTER
from tui_tasks.text.times import age, ago


def state_of(member: Member, now: int, quiet_after: int) -> str:
    """Return an agent's state now, a key of `AGENT_LOOKS` of `text.glyphs`.

    Args:
        member: the agent.
        now: in microseconds, as the next.
        quiet_after: an agent of the channel that was not heard for so long is quiet. A session's program reports.
    """
    state = reported_state(member, now, quiet_after)
    # The agent of work that waits for review is not at work, unless a tool runs.
    is_ready = member.to_review is not None and member.tool is None
    if is_ready and state in ("working", "idle", "interrupted", "gone"):
        return "ready"
    if member.failed_work is None and member.left_task(now, quiet_after) is not None:
        return "left"
    if state in ("working", "idle") and member.is_quiet(now, quiet_after):
        return "quiet"
    if state == "idle" and member.refused_claim is not None:
        return "stuck"
    return "finished" if has_finished(member) else state


def left_text(left: LeftTask, who: str, now: int) -> str:
    """Return why nobody is at work on a task: `claude-1 gone 5m`, `claude-1 quiet 5m`, or that its claim has lapsed."""
    if left.is_gone or left.is_quiet:
        return f"{who} {'gone' if left.is_gone else 'quiet'} {age(left.at, now)}"
    return f"claim of {who} lapsed {ago(left.at, now)}"


def lapsed_text(member: Member, now: int) -> str:
    """Return `its claim on #8 lapsed 5m ago`; empty where none has."""
    claim = member.refused_claim or member.lapsed_claim
    return f"its claim on #{claim.task.number} lapsed {ago(claim.at, now)}" if claim is not None else ""


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
    """Return whether an agent that is gone has ended as it should: with no task, claim or question, none taken from it
    since, and not by the end of its machine, or of its process where its program reports its end.
    """
    session = member.session
    reports = session is not None and not session.session.startswith(PLACEHOLDER)
    is_lost = session is not None and session.ended_by in (BY_MACHINE, *((BY_PROCESS,) if reports else ()))
    has_open = member.task is not None or member.ask is not None or bool(member.lapsed) or member.left_undone
    return member.state == "gone" and not has_open and not is_lost


def is_over(member: Member, now: int, seen_at: int) -> bool:
    """Return whether an agent needs nobody any more: it is gone, and the human has seen its failure, or an hour passed.

    `seen_at`: when the human said last that all was seen.
    """
    if member.failed_work is not None:
        return not vocab.agent_failed(member.state, member.failed_work.at, seen_at, now, has_failed_work=True)
    if member.state == "failed":
        ended_at = member.session.ended_at if member.session is not None else None
        return not vocab.agent_failed(member.state, ended_at, seen_at, now)
    return member.state == "gone"


def is_starting(session: AgentSession | None) -> bool:
    """Return whether a program that was started here has reported nothing yet."""
    return session is not None and session.last_prompt is None and session.session.startswith(PLACEHOLDER)


def is_silent(session: AgentSession, now: int) -> bool:
    """Return whether it has reported nothing for long: it may ask whether to trust the folder."""
    return is_starting(session) and now - session.started_at >= SILENT_AFTER
