"""The human's messages to agents, and pauses; and what is recorded of an agent: refusals, terminals, being stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import asdict

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Agent, HumanMessage
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument
from tui_tasks.core.operations import RecordRefusal, RecordTerminal
from tui_tasks.core.operations.asks import (
    DeliverMessages,
    NoteStuck,
    PauseAgent,
    ResumeAgent,
    ReturnMessages,
    SendMessage,
    WithdrawMessage,
)
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.agents import last_words
from tui_tasks.core.read.agents.session_queries import Stuck
from tui_tasks.core.rules import rule

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(SendMessage)
def send_message(tx: Transaction, op: SendMessage) -> HumanMessage:
    """Send a message of the human's to an agent; it waits until it is delivered."""
    if not op.text.strip():
        raise InvalidArgument("text", "a message must not be empty")
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


@rule(WithdrawMessage)
def withdraw_message(tx: Transaction, op: WithdrawMessage) -> HumanMessage:
    """Withdraw a message of the human's: it waits no more, and no entry delivers it."""
    message = message_queries.message(tx.db, op.message)
    if message.delivered_at is not None:
        raise Conflict(f"{message.agent} has the message already", id=message.uid)
    tx.emit("message.withdrawn", "human_message", message.uid, old={"delivered_at": None}, new={"delivered_at": tx.now})
    return message


@rule(ReturnMessages)
def return_messages(tx: Transaction, op: ReturnMessages) -> tuple[HumanMessage, ...]:
    """Queue messages again that did not reach their agent."""
    returned = []
    for seq in op.delivered:
        message = message_queries.delivered_by(tx.db, seq)
        if message is not None:
            old = {"delivered_at": message.delivered_at, "delivered_seq": message.delivered_seq}
            new = dict.fromkeys(old)
            returned.append(msgspec.structs.replace(message, **new))
            tx.emit("message.returned", "human_message", message.uid, old=old, new=new)
    return tuple(returned)


def _set_agent(tx: Transaction, name: str, kind: str, *, paused: bool, message: str) -> Agent:
    known = message_queries.agent(tx.db, name)
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


@rule(RecordTerminal)
def record_terminal(tx: Transaction, op: RecordTerminal) -> None:
    """Record what is done in the human's name from a terminal (docs: isolation)."""
    new = {"command": op.command, "terminal": op.terminal, "parents": list(op.parents)}
    tx.emit("terminal.used", "terminal", op.terminal, new=new)


@rule(NoteStuck)
def note_stuck(tx: Transaction, op: NoteStuck) -> bool:
    """Record a cause once, whichever of several processes finds it first."""
    if tx.actor != vocab.SYSTEM:
        raise Forbidden("an agent is stuck by what it does, not by what it says")
    known = last_words.noted(tx.db).get(op.agent)
    if (known.cause if known is not None else None) == op.cause:
        return False
    new = Stuck(op.agent, op.cause, op.text, op.since)
    kind = "agent.stuck" if op.cause is not None else "agent.unstuck"
    tx.emit(kind, "stuck", op.agent, old=asdict(known) if known is not None else None, new=asdict(new))
    return True
