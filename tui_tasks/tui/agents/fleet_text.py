"""Texts about agents in the fleet. Pure, except for the numbers of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Final

from tui_tasks.core.read.agents.activity import Word
from tui_tasks.core.read.agents.fleet import Member
from tui_tasks.core.read.agents.session_queries import PLACEHOLDER
from tui_tasks.core.read.work_queries import SILENT_AFTER
from tui_tasks.core.session_snapshots import AgentSession
from tui_tasks.text.glyphs import LOOKS, Look, look
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import HOUR, age, short_count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.state.context import Context

LOOKS_OF_STATES: Final = {
    "waiting": LOOKS["needs_you"]._replace(word="waiting"),
    "failed": LOOKS["failed"],
    "stuck": LOOKS["stuck"],
    "stopped": LOOKS["stopped"],
    "quiet": LOOKS["quiet"],
    "interrupted": LOOKS["interrupted"],
    "working": LOOKS["in_progress"]._replace(word="working"),
    "paused": LOOKS["skipped"]._replace(word="paused", letter="-"),
    "idle": LOOKS["pending"]._replace(word="idle", letter="o"),
    "gone": Look("·", "gone", ".", "$muted"),
}
"""How the state of an agent is shown, the worst first."""
RANKS: Final = {state: rank for rank, state in enumerate(LOOKS_OF_STATES)}

_FAILURE_LASTS: Final = HOUR
"""For so many microseconds a session that an error has ended is listed above those without errors."""

_TOTALS: Final = {
    "waiting": "waiting for you",
    "interrupted": "interrupted",
    "working": "working",
}


def latest_words(word: Word | None) -> str:
    """Return an agent's words for display: what it said, or a short text on what it did."""
    if word is None:
        return ""
    if word.kind == "status":
        return look(word.text).word
    return word.text or word.kind.replace(".", " ").replace("_", " ")


def state_of(member: Member, now: int, quiet_after: int) -> str:
    """Return an agent's state now, a key of `LOOKS_OF_STATES`.

    An agent of the channel that has been silent for long is quiet, as nothing else is known of its activity. A
    session's state is reported by its program.
    """
    is_silent = member.session is None and now - member.last_seen > quiet_after
    state = reported_state(member, now, quiet_after)
    return "quiet" if state == "working" and is_silent else state


def reported_state(member: Member, now: int, quiet_after: int) -> str:
    """Return an agent's state without regard to its silence.

    An agent that makes single calls from a shell is not connected between them. While it has a task or a question, it
    is gone only after a silence.
    """
    if member.state == "gone" and member.calls_alone and not member.has_left(now, quiet_after):
        return "waiting" if member.ask is not None else "working" if member.task is not None else "gone"
    return member.state


def is_over(member: Member, now: int, seen_at: int) -> bool:
    """Return whether an agent needs nobody any more: it is gone, and the human has seen its failure, or an hour passed.

    `seen_at`: when the human said last that all was seen.
    """
    ended_at = member.session.ended_at if member.session is not None else None
    if member.state != "failed" or ended_at is None:
        return member.state == "gone"
    return ended_at <= seen_at or now - ended_at > _FAILURE_LASTS


def where(member: Member, context: Context) -> str:
    """Return where an agent works: its projects, else the name of its folder."""
    folder = PurePath(member.session.cwd or "").name if member.session is not None else ""
    return " ".join(context.state.projects.of_member(member)) or folder


def matter(member: Member, context: Context, state: str) -> tuple[str, str]:
    """Return what matters most about an agent now, and its colour: what it waits for, a failure, its tool, its
    words.
    """
    now = context.clock.now()
    session = member.session
    last = (session.last_message if session is not None else None) or latest_words(member.word)
    asks = state in ("waiting", "paused") or (state == "gone" and member.task is None)
    if asks and member.ask is not None:
        many = f"{member.questions} questions: " if member.questions > 1 else ""
        verb = "asks: " if state == "paused" and not many else ""
        return f"{many}{verb}{agent_text.request_line(member.ask, ascii_only=context.ascii_only)}", "$state-needs-you"
    if state in ("stuck", "failed") and member.stuck is not None:
        # A turn that ended at a limit of the model's service has failed, and waits.
        return member.stuck.text, "$state-overdue"
    if state == "stopped":
        return _suspended(member), "$state-overdue"
    if state == "paused":
        return member.message, "$muted"
    if state == "failed":
        return last, "$state-failed"
    if state == "gone" and member.task is not None:
        return f"left while #{member.task.number} was in progress", "$state-overdue"
    if member.near is not None:
        return f"near its limit: {member.near}", "$state-overdue"
    if member.tool is not None:
        since = f" {age(member.tool_since, now)}" if member.tool_since is not None else ""
        return f"{member.tool}{since}", ""
    if state == "working" and session is not None and session.last_prompt:
        return session.last_prompt, "$muted"
    if state == "idle" and _is_silent(session, now):
        return "not reported yet: its terminal may ask something", "$state-needs-you"
    if state == "idle" and last and (session is None or not session.last_message):
        return f"last: {last}", "$muted"
    return last, "$muted"


def _is_silent(session: AgentSession | None, now: int) -> bool:
    """Return whether a program that was started here has reported nothing: it may ask whether to trust the folder."""
    if session is None or session.last_prompt is not None or not session.session.startswith(PLACEHOLDER):
        return False
    return now - session.started_at >= SILENT_AFTER


def _suspended(member: Member) -> str:
    pid = member.session.pid if member.session is not None else 0
    return "its process is suspended: fg" + (f", or kill -CONT {pid}" if pid else "")


def totals(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return the number of each state as text with its colour, the worst first."""
    return [
        (f"{counts[state]} {_TOTALS.get(state, state)}", shown.color)
        for state, shown in LOOKS_OF_STATES.items()
        if counts.get(state)
    ]


def spent_by_all(members: Sequence[Member]) -> str:
    """Return what all agents that report it have spent; empty when none does."""
    sessions = [member.session for member in members if member.session is not None]
    tokens = [one.tokens for one in sessions if one.tokens is not None]
    costs = [one.cost_usd for one in sessions if one.cost_usd is not None]
    parts = [f"{short_count(sum(tokens))} tokens"] if tokens else []
    return "  ".join([*parts, *([f"${sum(costs):,.2f}"] if costs else [])])


def places(members: Sequence[Member], context: Context) -> str:
    """Return the projects and folders of the agents, by name."""
    found = {each for member in members for each in context.state.projects.of_member(member)}
    found |= {where(member, context) for member in members if not context.state.projects.of_member(member)}
    return "  ".join(sorted(safe_line(place, 16) for place in found if place))
