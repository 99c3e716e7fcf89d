"""Texts about agents that several screens use: their names, words, and what matters most about one now.

Pure, except for reads of a given database and the numbers of tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from tui_tasks.core import agent_names, vocab
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import agent_states
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.core.read.agents.last_words import Word
from tui_tasks.core.read.agents.session_queries import PLACEHOLDER, AgentSession, asked_for, process
from tui_tasks.core.read.agents.stuck_causes import Sign
from tui_tasks.core.read.message_queries import Sent
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import MINUTE, age, short_count
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.state.context import Context

ENDED: Final = ("gone", "finished")
"""The states of agents that are no longer there."""
MAX_TOOL_USE: Final = 48
"""The cells of a tool and what it works on, beside other words."""


def who(name: str, limit_cells: int | None = None) -> str:
    """Return an actor's name for people: "you" is the human alone; others as `agent_names.display_name` has them."""
    return "you" if name == vocab.HUMAN else agent_names.display_name(name, limit_cells)


def has_hooks(session: AgentSession) -> bool:
    """Return whether a session is of a program whose hooks bring it what the human sends."""
    from tui_tasks.hooks import PROGRAM_NAMES

    return session.program in PROGRAM_NAMES


def live_task(db: Database, uid: str) -> TaskLine | None:
    """Return the task with a uid; None when it is deleted."""
    task = list_pages.line(db, uid)
    return None if task is None or task.deleted else task


def deleted_text(context: Context, uid: str) -> str:
    """Return that a task was deleted, by which other, and what brings it back."""
    from tui_tasks.core.commit import journal  # these two are rarely needed
    from tui_tasks.core.read.pages import change_summaries

    task = task_queries.task_or_deleted(context.db, uid)
    if not task.deleted:
        return f"#{task.number} was deleted with its list."
    change = change_summaries.deletion_of(context.db, uid)
    by = journal.entry(context.db, change).actor if change is not None else vocab.HUMAN
    if by == vocab.HUMAN:
        return f"#{task.number} was deleted. {context.keymap.key_of('undo')} brings it back."
    return f"{who(by, 30)} deleted #{task.number}. : revert in its list brings it back."


def latest_words(word: Word | None, context: Context | None = None) -> str:
    """Return an agent's words for display: what it said, or a short text on what it did; with a context, what became of
    its question as well.
    """
    if word is None:
        return ""
    if context is not None and (asked := _question_of(word, context)) is not None:
        from tui_tasks.tui.asks import ask_text  # few screens begin with a question

        line = ask_text.request_line(asked, ascii_only=context.ascii_only)
        return line if asked.state == "open" else f"{ask_text.outcome(asked, context.clock.now())}: {line}"
    if word.kind == "status":
        return look(word.text).word
    is_of_session = word.kind.startswith("session.")  # its state says the same
    return word.text or ("" if is_of_session else word.kind.replace(".", " ").replace("_", " "))


def _question_of(word: Word, context: Context) -> Ask | None:
    """Return the question that a word is; None if it is none."""
    if not word.ask:
        return None
    from tui_tasks.core.read import ask_queries  # few screens begin with a question

    try:
        return ask_queries.ask(context.db, word.ask)
    except NotFound:  # another database may have taken the place of this one
        return None


def said_of_task(member: AgentView, context: Context) -> str:
    """Return what an agent said last in the log of its task; empty without one."""
    return task_records.last_said(context.db, member.task.uid, member.name) if member.task is not None else ""


def is_closed(word: Word, context: Context) -> bool:
    """Return whether a word is a question that waits for no answer."""
    asked = _question_of(word, context)
    return asked is not None and asked.state != "open"


def failure(sign: Sign, context: Context) -> str:
    """Return `✗ Bash: test_login: assert 401 == 200` of a failure of an agent."""
    from tui_tasks.text.output_lines import check_failure  # few agents are stuck

    task = live_task(context.db, sign.task) if sign.task else None
    what = f"#{task.number}" if task is not None else sign.what
    said = ": ".join(filter(None, (what, check_failure(sign.text))))
    return f"{look('failed').mark(ascii_only=context.ascii_only)} {said}"


def quoted_words(word: Word | None, context: Context) -> str:
    """Return `latest_words`, what the agent said itself in quotes."""
    text = latest_words(word, context)
    is_its_own = word is not None and word.kind in ("logged", "asked") and not is_closed(word, context)
    return f'"{text}"' if text and is_its_own else text


def where(member: AgentView, context: Context) -> str:
    """Return where an agent works: its projects, else the name of its folder, and the host if it is another one."""
    machine = process(member.session).machine if member.session is not None else ""
    host = ""
    if machine and machine != context.db.machine:
        from tui_tasks.core.unjournaled import heartbeats  # for agents on another machine alone

        host = f"@{heartbeats.machine_name(context.db, machine)}"
    return f"{_place(member, context)}{host}"


def _place(member: AgentView, context: Context) -> str:
    folder = PurePath(member.session.cwd or "").name if member.session is not None else ""
    return " ".join(context.state.projects.of_member(member)) or folder


def matter(member: AgentView, context: Context, state: str) -> tuple[str, str]:
    """Return what matters most about an agent now, and its colour: what it waits for, a failure, its tool, its
    words.
    """
    now = context.clock.now()
    session = member.session
    word = _word_on_its_task(member)
    last = (session.last_message if session is not None else None) or latest_words(word, context)
    if not last and word is not member.word and (said := said_of_task(member, context)):
        last = f'"{said}"'
    if (of_state := _of_state(member, context, state, last)) is not None:
        return of_state
    if member.near is not None:
        return member.near, "$state-overdue"
    if member.tool is not None:
        since = f" {age(member.tool_since, now)}" if member.tool_since is not None else ""
        return f"{safe_line(member.tool_use, MAX_TOOL_USE)}{since}", ""
    if state == "working" and (said := _said_since(member)):
        return f'"{said}"{_since_spoken(member, now)}', ""
    if state == "working" and (prompt := asked_for(session)):
        return prompt, "$muted"
    if state == "working" and not last and session is not None and session.session.startswith(PLACEHOLDER):
        return f"reports nothing: {context.keymap.key_of('agent_peek')} shows its terminal", "$muted"
    if state == "idle" and session is not None and agent_states.is_silent(session, now):
        return "not reported yet: its terminal may ask something", "$state-needs-you"
    if word is not None and word.kind == "asked" and last == latest_words(word, context):
        said = said_of_task(member, context)
        return (f'"{said}"', "") if said and is_closed(word, context) else (last, "$muted")
    # A status alone would read as that of an agent that is gone.
    is_past = state == "idle" or (state in ENDED and word is not None and word.kind == "status")
    if is_past and last and (session is None or not session.last_message):
        return f"last: {last}{_on_task(word, context)}", "$muted"
    return last, "$muted"


def _of_state(member: AgentView, context: Context, state: str, last: str) -> tuple[str, str] | None:
    """Return what an agent waits for, or why it does not go on, and its colour; None where its state says neither."""
    asks = state in ("waiting", "asking", "paused") or (state in ENDED and member.task is None)
    if asks and member.ask is not None:
        return _question(member, member.ask, context, state), "$state-needs-you"
    if state == "failed" and member.failed_work is not None:
        return member.failed_work.text, "$state-failed"
    if state in ("stuck", "failed") and member.stuck is not None:
        # A turn that ended at a limit of the model's service has failed, and waits.
        return member.stuck.text, "$state-overdue"
    if state == "ended":
        return member.between, "$muted"
    if state == "ready":
        return context.state.works.reviews.get(member.name) or "work to review", "$state-needs-you"
    if state == "stopped":
        return _suspended(member), "$state-overdue"
    if state == "paused":
        return pause_words(member.message), "$muted"
    if state == "failed":
        return last, "$state-failed"
    if state == "interrupted":
        return "you ended its turn", "$muted"
    if state in ENDED and member.task is None and member.session is not None and (lost := _lost(context, member.name)):
        return lost, "$muted"
    if state in ("gone", "left") and member.task is not None:
        return f"#{member.task.number} left in progress", "$state-overdue"
    has_lost = state in ("left", "quiet", "idle", "stuck") and member.task is None
    if has_lost and (lapsed := agent_states.lapsed_text(member, context.clock.now())):
        return lapsed, "$state-overdue"
    return None


def pause_words(message: str) -> str:
    """Return what the human wrote to an agent that is paused."""
    from tui_tasks.core.operations.asks import PAUSED  # few agents are paused

    return message if message != PAUSED else "you have paused it"


_NOT_READ: Final = "not read"
# The words and the colour of each state of a message. What an agent says since may be about anything.
_SENT_LOOKS: Final = {
    "waiting": ("waiting", "$state-needs-you"),
    _NOT_READ: (_NOT_READ, "$state-overdue"),
    "delivered": ("delivered", "$muted"),
    "spoken": ("it spoke since", "$state-done"),
}


def sent_line(sent: Sent, context: Context, width: int, *, to: str = "") -> list[Part]:
    """Return the line of a message of the human's: when, to whom if that is not known, its words, and its state."""
    when = f" {context.clock.time_of(sent.message.sent_at)}  "
    who = f"you to {to}: " if to else "you: "
    state, color = _SENT_LOOKS[_sent_state(sent, context)]
    room = width - len(when) - cell_len(who) - len(state) - 5
    text = f"{who}{safe_line(sent.message.text, max(8, room))}  "
    return [(when, "$muted"), (text, ""), (state, color)]


def _sent_state(sent: Sent, context: Context) -> str:
    """Return the state of a message; one to an agent that has ended with its work does not wait."""
    name = sent.message.agent
    is_there = any(one.name == name and one.is_there for one in context.state.members)
    return (
        _NOT_READ if sent.state == "waiting" and not is_there and work_queries.is_over(context.db, name) else sent.state
    )


def _word_on_its_task(member: AgentView) -> Word | None:
    """Return its last word; None where that is a status of another task than the one beside it."""
    word, task = member.word, member.last_task
    is_other = word is not None and task is not None and word.kind == "status" and word.task not in (None, task.uid)
    return None if is_other else word


def _on_task(word: Word | None, context: Context) -> str:
    """Return ` #3`, the task whose status an agent has set last; else nothing."""
    task = live_task(context.db, word.task) if word is not None and word.kind == "status" and word.task else None
    return f" #{task.number}" if task is not None else ""


def _said_since(member: AgentView) -> str:
    """Return what an agent said last about its task in this turn."""
    word = member.word
    is_new = word is not None and word.kind == "logged" and word.at >= (member.since or 0)
    return word.text if is_new and word is not None else ""


def _since_spoken(member: AgentView, now: int) -> str:
    """Return ` 7m`, how long ago an agent spoke; empty within a minute, which is usual for one at work."""
    return f" {age(member.word.at, now)}" if member.word is not None and now - member.word.at >= MINUTE else ""


def _question(member: AgentView, ask: Ask, context: Context, state: str) -> str:
    """Return what an agent asks; of one that works on, with the mark, since when, and about which task."""
    from tui_tasks.tui.asks import ask_text  # few screens begin with a question

    many = f"{member.questions} questions: " if member.questions > 1 else ""
    verb = "asks: " if state == "paused" and not many else ""
    if state == "asking":
        return f"{asks_since(ask, context, brief=True)} {asked(member, ask, context)}"
    return f"{many}{verb}{ask_text.request_line(ask, ascii_only=context.ascii_only)}"


def asked(member: AgentView, ask: Ask, context: Context) -> str:
    """Return what an agent that works on asks, and about which task."""
    from tui_tasks.tui.asks import ask_text  # few screens begin with a question

    if member.questions > 1:
        return f"{member.questions} questions: {ask_text.request_line(ask, ascii_only=context.ascii_only)}"
    about = live_task(context.db, context.state.asked_about.get(ask.uid, ""))
    number = f"#{about.number} " if about is not None else ""
    return f"{number}{ask_text.request_line(ask, ascii_only=context.ascii_only)}"


def asks_since(ask: Ask, context: Context, *, brief: bool = False) -> str:
    """Return `? asks 9m`: that an agent asks, and since when; `brief`: `? 9m`."""
    mark = look("needs_you").mark(ascii_only=context.ascii_only)
    return f"{mark} {'' if brief else 'asks '}{age(ask.opened_at, context.clock.now())}"


def besides(member: AgentView, context: Context, primary: str, state: str) -> list[tuple[str, str]]:
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
    elif (prompt := asked_for(session)) and prompt not in primary:
        found.append((f"asked for: {prompt}", "$muted"))
    return found


def _lost(context: Context, agent: str) -> str:
    """Return why the work of an agent was discarded: whose was merged instead. Empty if it was not."""
    work = work_queries.of_agent(context.db, agent)
    return work.message or "" if work is not None and work.state == "discarded" else ""


def _suspended(member: AgentView) -> str:
    pid = member.session.pid if member.session is not None else 0
    return "its process is suspended: fg" + (f", or kill -CONT {pid}" if pid else "")


def spent_by_all(members: Sequence[AgentView]) -> str:
    """Return what all agents that report it have spent; empty when none does."""
    sessions = [member.session for member in members if member.session is not None]
    tokens = [one.tokens for one in sessions if one.tokens is not None]
    costs = [one.cost_usd for one in sessions if one.cost_usd is not None]
    parts = [f"{short_count(sum(tokens))} tokens"] if tokens else []
    return "  ".join([*parts, *([f"${sum(costs):,.2f}"] if costs else [])])
