"""What passes between the human and the agents: questions, messages, pauses (docs: protocol, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from tui_tasks.core import names
from tui_tasks.core.commit import elapsed
from tui_tasks.core.errors import Conflict, InvalidArgument
from tui_tasks.core.operations.asks import (
    AnswerAsk,
    CloseAsk,
    DeliverMessages,
    OpenAsk,
    PauseAgent,
    ResumeAgent,
    ReturnMessages,
    SendMessage,
)
from tui_tasks.core.operations.changes import RecordRefusal
from tui_tasks.core.read import asks, messages
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.snapshots import Agent, Ask, HumanMessage

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


MAX_OPTIONS: Final = 9
"""Each is chosen by a key of its own."""
MAX_OPTION: Final = 500
# Characters that join or vary the one before them; several in a row could hide a text.
_JOINING: Final = frozenset("\u200c\u200d\ufe0e\ufe0f")
# Marks of direction, which the screen shows as replacement characters.
_BIDI: Final = frozenset(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def unseen(text: str) -> str | None:
    """Return the first character of a text that is invisible and does not belong to the one before it; None without
    one.
    """
    before = " "
    for char in text:
        if names.is_invisible(char) and char not in _BIDI:
            joins = char in _JOINING and not before.isspace() and before not in _JOINING
            if not joins:
                return char
        before = char
    return None


def _refuse_unseen(argument: str, text: str) -> None:
    if (char := unseen(text)) is not None:
        raise InvalidArgument(argument, f"{argument}: U+{ord(char):04X} in it cannot be seen by the human")


def _check_asked(op: OpenAsk) -> None:
    """Refuse a question that the human could not see whole.

    Raises:
        InvalidArgument: there are too many options, a long one, or something invisible.
    """
    if len(op.options) > MAX_OPTIONS:
        raise InvalidArgument("options", f"options: at most {MAX_OPTIONS}, not {len(op.options)}")
    _refuse_unseen("question", op.question)
    for at, option in enumerate(op.options):
        if len(option) > MAX_OPTION:
            raise InvalidArgument(f"options[{at}]", f"options[{at}]: at most {MAX_OPTION} characters")
        _refuse_unseen(f"options[{at}]", option)


@rule(OpenAsk)
def open_ask(tx: Transaction, op: OpenAsk) -> Ask:
    """Open a question to the human."""
    _check_asked(op)
    task = queries.task(tx.db, op.task_uid) if op.task_uid is not None else None
    ask = Ask(
        id=tx.state_cache.next_id("ask"),
        uid=tx.new_uid(),
        agent=tx.actor,
        question=op.question,
        options=op.options,
        task_uid=op.task_uid,
        opened_at=tx.now,
        expires_at=op.expires_at,
        state="open",
        answer=None,
        answered_at=None,
        project=op.project,
    )
    if op.expires_at is not None:
        elapsed.put(tx.db, ask.uid, tx.elapsed_time + op.expires_at - tx.now, tx.elapsed_time)
    tx.emit("ask.opened", "ask", ask.uid, new=asdict(ask), task=task)
    return ask


def _end(tx: Transaction, uid: str, kind: str, new: dict[str, object]) -> Ask:
    ask = asks.ask(tx.db, uid)
    if ask.state != "open":
        raise Conflict(f"question {uid} is {ask.state} already", state=ask.state, id=uid)
    task = queries.any_task(tx.db, ask.task_uid) if ask.task_uid else None
    tx.emit(kind, "ask", uid, old={name: getattr(ask, name) for name in new}, new=new, task=task)
    return asks.ask(tx.db, uid)


@rule(AnswerAsk)
def answer_ask(tx: Transaction, op: AnswerAsk) -> Ask:
    """Answer a question. The human's alone; callers check that it is the human."""
    new: dict[str, object] = {"state": "answered", "answer": op.answer, "answered_at": tx.now}
    if op.updated_input is not None:
        request = asks.ask(tx.db, op.uid).request
        if request is None or request.get("kind") != "permission":
            raise InvalidArgument("updated_input", f"question {op.uid} asks for no tool whose input could be edited")
        new["request"] = {**request, "updated_input": op.updated_input}
    return _end(tx, op.uid, "ask.answered", new)


@rule(CloseAsk)
def close_ask(tx: Transaction, op: CloseAsk) -> Ask:
    """Close a question without an answer."""
    why = {} if op.reason is None else {"reason": op.reason}
    return _end(tx, op.uid, f"ask.{op.state}", {"state": op.state, "answered_at": tx.now, **why})


def open_request(tx: Transaction, request: dict[str, Any], question: str, options: tuple[str, ...]) -> Ask:
    """Open what a program asks of the person at its terminal, as a question; the speaker is the program's agent.

    It is never refused, unlike an agent's own question: invisible characters are written out.
    """
    ask = Ask(
        id=tx.state_cache.next_id("ask"),
        uid=tx.new_uid(),
        agent=tx.actor,
        question=_visible(question),
        options=tuple(dict.fromkeys(map(option_text, options)))[:MAX_OPTIONS],
        task_uid=None,
        opened_at=tx.now,
        expires_at=None,
        state="open",
        answer=None,
        answered_at=None,
        request=request,
    )
    tx.emit("ask.opened", "ask", ask.uid, new=asdict(ask))
    return ask


def option_text(option: str) -> str:
    """Return an option of a program's request in the form in which it can be chosen."""
    return _visible(option)[:MAX_OPTION]


def _visible(text: str) -> str:
    """Return a text with its invisible characters written out."""
    if text.isascii():
        return text
    return "".join(f"<U+{ord(char):04X}>" if names.is_invisible(char) and char not in _BIDI else char for char in text)


@rule(SendMessage)
def send_message(tx: Transaction, op: SendMessage) -> HumanMessage:
    """Send a message of the human's to an agent; it waits until it is delivered."""
    if not op.text.strip():
        raise InvalidArgument("text", "a message holds some text")
    sent = HumanMessage(
        id=tx.state_cache.next_id("human_message"),
        uid=tx.new_uid(),
        agent=op.to,
        text=op.text,
        sent_at=tx.now,
        seq=tx.seq + 1,
        ends_turn=op.ends_turn,
    )
    tx.emit("message.sent", "human_message", sent.uid, new=asdict(sent))
    return sent


@rule(DeliverMessages)
def deliver_messages(tx: Transaction, op: DeliverMessages) -> tuple[HumanMessage, ...]:
    """Record messages as delivered. Each is delivered once, by whichever way it goes first."""
    delivered = []
    for message in tx.state_cache.messages_waiting_for(op.agent):
        if op.until is None or message.seq <= op.until:
            new = {"delivered_at": tx.now, "delivered_seq": tx.seq + 1}
            delivered.append(msgspec.structs.replace(message, **new))
            tx.emit("message.delivered", "human_message", message.uid, old=dict.fromkeys(new), new=new)
    return tuple(delivered)


@rule(ReturnMessages)
def return_messages(tx: Transaction, op: ReturnMessages) -> tuple[HumanMessage, ...]:
    """Let messages wait again that did not reach their agent."""
    returned = []
    for seq in op.delivered:
        message = messages.delivered_by(tx.db, seq)
        if message is not None:
            old = {"delivered_at": message.delivered_at, "delivered_seq": message.delivered_seq}
            new = dict.fromkeys(old)
            returned.append(msgspec.structs.replace(message, **new))
            tx.emit("message.returned", "human_message", message.uid, old=old, new=new)
    return tuple(returned)


def _set_agent(tx: Transaction, name: str, kind: str, *, paused: bool, message: str) -> Agent:
    known = messages.agent(tx.db, name)
    wanted = Agent(uid=name, paused=paused, message=message)
    if known == wanted or (known is None and not paused):
        return wanted
    if known is None:
        tx.emit(kind, "agent", name, new=asdict(wanted))
    else:
        new = {"paused": paused, "message": message}
        tx.emit(kind, "agent", name, old={"paused": known.paused, "message": known.message}, new=new)
    return wanted


@rule(PauseAgent)
def pause_agent(tx: Transaction, op: PauseAgent) -> Agent:
    """Pause an agent: its tool calls are refused with the human's text."""
    return _set_agent(tx, op.agent, "agent.paused", paused=True, message=op.message)


@rule(ResumeAgent)
def resume_agent(tx: Transaction, op: ResumeAgent) -> Agent:
    """Resume an agent: its tool calls are served again."""
    return _set_agent(tx, op.agent, "agent.resumed", paused=False, message="")


@rule(RecordRefusal)
def record_refusal(tx: Transaction, op: RecordRefusal) -> None:
    """Record that an agent tried what it may not do (docs: protocol, section 3)."""
    tx.emit("agent.refused", "refusal", tx.actor, new={"tool": op.tool, "message": op.message})
