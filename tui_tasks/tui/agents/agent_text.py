"""Texts about questions and agents that several screens use. Pure, except for reads of a given database and the numbers
of tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Final

from tui_tasks.core import agent_names, machine_leases, vocab
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents.activity import Word
from tui_tasks.core.read.agents.fleet import Member
from tui_tasks.core.read.agents.session_queries import BY_MACHINE, PLACEHOLDER, AgentSession, process
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.work_queries import SILENT_AFTER
from tui_tasks.text.glyphs import LOOKS, Look, look
from tui_tasks.text.safe import LINE_CHARS, safe_line
from tui_tasks.text.times import HOUR, SECOND, age, ago, short_count
from tui_tasks.tui.state.context import Context


def who(name: str, limit_cells: int | None = None) -> str:
    """Return an actor's name for people: "you" is the human alone; others as `names.shown` has them."""
    return "you" if name == vocab.HUMAN else agent_names.shown(name, limit_cells)


_YES: Final = frozenset(
    {"approve", "approved", "yes", "y", "ok", "okay", "allow", "accept", "confirm", "proceed", "go"}
)
_NO: Final = frozenset(
    {"deny", "denied", "no", "n", "reject", "refuse", "disallow", "decline", "cancel", "abort", "stop"}
)


def _first_word(option: str) -> str:
    words = option.casefold().split()
    return words[0].strip(".,:;!?") if words else ""


def _only(options: Sequence[str], words: frozenset[str], otherwise: str) -> str | None:
    """Return the only option that begins with one of the words, or is one; `otherwise` when there are no options."""
    if not options:
        return otherwise
    matches = [option for option in options if _first_word(option) in words]
    if len(matches) > 1:
        matches = [option for option in matches if option.casefold() in words]
    return matches[0] if len(matches) == 1 else None


def approving(options: Sequence[str]) -> str | None:
    """Return the answer that approves: an option that says yes; `approve` without options; None where it is ambiguous.

    The options that begin with a word of consent count, of several only the one that is such a word.
    """
    return _only(options, _YES, "approve")


def denying(options: Sequence[str]) -> str | None:
    """Return the answer that denies: an option that says no; `deny` without options; None when it is ambiguous."""
    return _only(options, _NO, "deny")


def why_not_always(ask: Ask, found: Sequence[str]) -> str:
    """Return why nothing can be allowed from now on, where there is not exactly one option for it."""
    from tui_tasks.hooks.replies import outbox

    program = (ask.request or {}).get("program")
    if program is not None and (why := outbox.why_not(program, "always")) is not None:
        return why
    if found:
        return "There are several ways to allow it always: choose one by its number."
    return "Its program suggests nothing to allow always."


def has_no_unseen(ask: Ask) -> bool:
    """Return whether a question and its options have no invisible characters."""
    from tui_tasks.core.rules.agents.ask_rules import unseen

    return all(unseen(text) is None for text in (ask.question, *ask.options))


def ask_state(ask: Ask) -> str:
    """Return the name in `format.LOOKS` of a question's state."""
    return {"open": "needs_you", "answered": "done"}.get(ask.state, "skipped")


def ask_word(ask: Ask) -> str:
    """Return the state of a closed question as a word."""
    return "too late" if ask.state == "timeout" else ask.state


def closed(ask: Ask, now: int) -> str:
    """Return what became of a closed question."""
    when = ""
    if ask.answered_at is not None:
        when = f" {ago(ask.answered_at, now)}" if now - ask.answered_at >= SECOND else " just now"
    if ask.state == "answered":
        edited = ", with the input as you edited it" if (ask.request or {}).get("updated_input") is not None else ""
        answer = "; ".join((ask.answer or "").split("\n"))
        by_rule = f", by rule: {safe_line(ask.rule, 60)}" if ask.rule else ""
        return f'answered{when}: "{safe_line(answer, 60)}"{edited}{by_rule}'
    if ask.state == "timeout":
        return f"no answer in time; {who(ask.agent, 20)} went on{when}"
    if ask.reason:
        return f"{who(ask.agent, 20)}{when}: {safe_line(ask.reason, 120)}"
    return f"{who(ask.agent, 20)} has withdrawn the question{when}"


def live_task(db: Database, uid: str) -> TaskLine | None:
    """Return the task with a uid; None when it is deleted."""
    task = list_pages.line(db, uid)
    return None if task is None or task.deleted else task


def is_permission(ask: Ask) -> bool:
    """Return whether a program asks if a tool may run. Of its command, the beginning matters most."""
    return (ask.request or {}).get("kind") == "permission"


def request_line(ask: Ask, *, ascii_only: bool = False) -> str:
    """Return in one line what an agent waits for: the tool and its command, or the question.

    It is written out as where the human decides about it, at most the beginning that a line shows.
    """
    # Imported here, since few screens begin with a question.
    from tui_tasks.core.rules.agents.request_text import is_written_out

    request = ask.request or {}
    if request.get("kind") != "permission" or not request.get("tool"):
        beginning = ask.question[:LINE_CHARS]
        if is_written_out(ask):
            return beginning.replace("\n", " ")
        return _decided(beginning.strip(), is_prose=True, ascii_only=ascii_only)
    text = f"{request['tool']}: {_gist(request.get('input'))}"[:LINE_CHARS]
    return _decided(text, is_prose=False, ascii_only=ascii_only)


@lru_cache(256)
def _decided(text: str, *, is_prose: bool, ascii_only: bool) -> str:
    """Return a text as one line; kept, as a long one takes milliseconds, and lines are drawn often."""
    from tui_tasks.core.rules.agents.request_text import decided_lines

    return " ".join(decided_lines(text, is_prose=is_prose, ascii_only=ascii_only))


def _gist(given: Any) -> str:
    """Return the most telling value of a tool's input."""
    if not isinstance(given, dict):
        return given if isinstance(given, str) else ""
    value = next((given[key] for key in ("command", "file_path", "path", "url", "pattern") if key in given), None)
    if value is None:
        value = next(iter(given.values()), "")
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


LOOKS_OF_STATES: Final = {
    "stuck": LOOKS["stuck"],
    "left": Look("·", "gone", ".", "$state-overdue"),
    "stopped": LOOKS["stopped"],
    "waiting": LOOKS["needs_you"]._replace(word="waiting"),
    "asking": LOOKS["needs_you"]._replace(word="asking"),
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
`finished` see `has_finished`. One that is `asking` works on meanwhile; one that is `waiting` does not.
"""
RANKS: Final = {state: rank for rank, state in enumerate(LOOKS_OF_STATES)}

_FAILURE_LASTS: Final = HOUR
"""For so many microseconds a session that an error has ended is listed above those without errors."""


def latest_words(word: Word | None) -> str:
    """Return an agent's words for display: what it said, or a short text on what it did."""
    if word is None:
        return ""
    if word.kind == "status":
        return look(word.text).word
    return word.text or word.kind.replace(".", " ").replace("_", " ")


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
    if member.state != "failed" or ended_at is None:
        return member.state == "gone"
    return ended_at <= seen_at or now - ended_at > _FAILURE_LASTS


def where(member: Member, context: Context) -> str:
    """Return where an agent works: its projects, else the name of its folder, and the host if it is another one."""
    machine = process(member.session).machine if member.session is not None else ""
    host = f"@{machine_leases.machine_name(context.db, machine)}" if machine and machine != context.db.machine else ""
    return f"{_place(member, context)}{host}"


def _place(member: Member, context: Context) -> str:
    folder = PurePath(member.session.cwd or "").name if member.session is not None else ""
    return " ".join(context.state.projects.of_member(member)) or folder


def matter(member: Member, context: Context, state: str) -> tuple[str, str]:
    """Return what matters most about an agent now, and its colour: what it waits for, a failure, its tool, its
    words.
    """
    now = context.clock.now()
    session = member.session
    last = (session.last_message if session is not None else None) or latest_words(member.word)
    asks = state in ("waiting", "asking", "paused") or (state == "gone" and member.task is None)
    if asks and member.ask is not None:
        many = f"{member.questions} questions: " if member.questions > 1 else ""
        verb = "asks: " if state == "paused" and not many else ""
        if state == "asking" and not many and (about := live_task(context.db, member.ask.task_uid or "")) is not None:
            verb = f"#{about.number} "
        return f"{many}{verb}{request_line(member.ask, ascii_only=context.ascii_only)}", "$state-needs-you"
    if state in ("stuck", "failed") and member.stuck is not None:
        # A turn that ended at a limit of the model's service has failed, and waits.
        return member.stuck.text, "$state-overdue"
    if state == "ready" and member.task is not None:
        return context.state.reviewable[member.task.uid] or "work to review", "$state-needs-you"
    if state == "stopped":
        return _suspended(member), "$state-overdue"
    if state == "paused":
        return member.message, "$muted"
    if state == "failed":
        return last, "$state-failed"
    if state == "gone" and member.task is None and session is not None and (lost := _lost(context, member.name)):
        return lost, "$muted"
    if state in ("gone", "left") and member.task is not None:
        return f"left while #{member.task.number} was in progress", "$state-overdue"
    if state in ("left", "quiet") and member.lapsed_task is not None:
        left = "left while" if state == "left" else "silent since"
        return f"{left} #{member.lapsed_task.number} was in progress, and its claim lapsed", "$state-overdue"
    if member.near is not None:
        return member.near, "$state-overdue"
    if member.tool is not None:
        since = f" {age(member.tool_since, now)}" if member.tool_since is not None else ""
        return f"{member.tool}{since}", ""
    if state == "working" and (said := _said_since(member)):
        return f'"{said}"', ""
    if state == "working" and session is not None and session.last_prompt:
        return session.last_prompt, "$muted"
    if state == "idle" and session is not None and is_silent(session, now):
        return "not reported yet: its terminal may ask something", "$state-needs-you"
    if member.word is not None and member.word.kind == "asked" and last == member.word.text:
        return f"asked: {last}", "$muted"
    if state == "idle" and last and (session is None or not session.last_message):
        return f"last: {last}{_on_task(member.word, context)}", "$muted"
    return last, "$muted"


def _on_task(word: Word | None, context: Context) -> str:
    """Return ` #3`, the task whose status an agent has set last; else nothing."""
    task = live_task(context.db, word.task) if word is not None and word.kind == "status" and word.task else None
    return f" #{task.number}" if task is not None else ""


def _said_since(member: Member) -> str:
    """Return what an agent said last about its task in this turn."""
    word = member.word
    is_new = word is not None and word.kind == "logged" and word.at >= (member.since or 0)
    return word.text if is_new and word is not None else ""


def besides(member: Member, context: Context, primary: str, state: str) -> list[tuple[str, str]]:
    """Return what else matters about an agent, with its colours: the task that it goes on with while it asks about
    another, a limit that it is near to, and what it said last.
    """
    found: list[tuple[str, str]] = []
    ask, task = member.ask if state == "waiting" else None, member.task
    about = context.state.asked_about.get(ask.uid) if ask is not None else None
    if task is not None and about not in (None, task.uid):
        found.append((f"in progress: #{task.number} {task.name}", ""))
    if member.near is not None and member.near not in primary:
        found.append((member.near, "$state-overdue"))
    session, word = member.session, member.word
    said = session.last_message if session is not None and session.last_message else None
    if said is None and word is not None and word.kind == "logged":
        said = word.text
    if said and said not in primary:
        found.append((f'"{said}"', "$muted"))
    elif session is not None and session.last_prompt and session.last_prompt not in primary:
        found.append((f"asked for: {session.last_prompt}", "$muted"))
    return found


def is_starting(session: AgentSession | None) -> bool:
    """Return whether a program that was started here has reported nothing yet."""
    return session is not None and session.last_prompt is None and session.session.startswith(PLACEHOLDER)


def is_silent(session: AgentSession, now: int) -> bool:
    """Return whether it has reported nothing for long: it may ask whether to trust the folder."""
    return is_starting(session) and now - session.started_at >= SILENT_AFTER


def _lost(context: Context, agent: str) -> str:
    """Return why the work of an agent was discarded: whose was merged instead. Empty if it was not."""
    work = work_queries.of_agent(context.db, agent)
    return work.message or "" if work is not None and work.state == "discarded" else ""


def _suspended(member: Member) -> str:
    pid = member.session.pid if member.session is not None else 0
    return "its process is suspended: fg" + (f", or kill -CONT {pid}" if pid else "")


def spent_by_all(members: Sequence[Member]) -> str:
    """Return what all agents that report it have spent; empty when none does."""
    sessions = [member.session for member in members if member.session is not None]
    tokens = [one.tokens for one in sessions if one.tokens is not None]
    costs = [one.cost_usd for one in sessions if one.cost_usd is not None]
    parts = [f"{short_count(sum(tokens))} tokens"] if tokens else []
    return "  ".join([*parts, *([f"${sum(costs):,.2f}"] if costs else [])])
