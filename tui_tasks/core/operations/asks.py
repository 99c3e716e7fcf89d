"""Writes between the human and agents: questions, messages, pauses, and agents being stuck."""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.core.operations import Operation


class OpenAsk(Operation, frozen=True):
    """Ask the human a question. Result: the question.

    Attributes:
        question: the text.
        options: the answers to choose from; empty: any text.
        task_uid: the task that it is about.
        expires_at: when it times out, in microseconds since the epoch; None: never.
        project: the project of the channel.
    """

    question: str
    options: tuple[str, ...] = ()
    task_uid: str | None = None
    expires_at: int | None = None
    project: str | None = None


class AnswerAsk(Operation, frozen=True):
    """The human's answer to a question. Result: the question.

    Attributes:
        uid: the question.
        answer: the text; of several questions of a program, a line for each.
        updated_input: the tool's input as edited by the human, if the program allows that.
        choices: for each question of a program, the option that was chosen, counted from 0; None: the line of text.
        shown: the hash of the request that the screen has shown whole, if the stored one is not whole.
    """

    uid: str
    answer: str
    updated_input: Any = None
    choices: tuple[int | None, ...] = ()
    shown: str = ""


class SettleAsks(Operation, frozen=True):
    """Answer several open questions with the same words of the human, or withdraw them. Result: those that were open.

    The words allow nothing: a permission is denied with them. A question that they cannot answer is withdrawn.

    Attributes:
        uids: the questions.
        answer: the words; None: the questions are withdrawn.
    """

    uids: tuple[str, ...]
    answer: str | None = None


class AnswerByRule(Operation, frozen=True):
    """Answer an open permission of a program, `uid`, by a standing rule of the human's. Result: whether one does."""

    uid: str


class AnswerByPhone(Operation, frozen=True):
    """The human's answer from a phone, by its hashed nonce (`core.unjournaled.phone_answers`). Result: the question."""

    nonce: str


class CloseAsk(Operation, frozen=True):
    """Close a question without an answer, as `timeout` or `withdrawn`; `reason` says why. Result: the question."""

    uid: str
    state: str
    reason: str | None = None


class SendMessage(Operation, frozen=True):
    """Send an agent a message of the human; `ends_turn`: it also ends the agent's turn, if its program can. Result: the
    message.
    """

    to: str
    text: str
    ends_turn: bool = False


class DeliverMessages(Operation, frozen=True):
    """Deliver the waiting messages to an agent. Result: the messages, in the order in which they were sent.

    `until` is the seq of the last entry to include: messages sent later keep waiting.
    """

    agent: str
    until: int | None = None


class WithdrawMessage(Operation, frozen=True):
    """Withdraw a message, by its uid, that was not delivered. Result: the message."""

    message: str


class ReturnMessages(Operation, frozen=True):
    """Let messages wait again whose delivery was recorded, and could not be made. Result: the messages.

    `delivered` are the seqs of the entries that recorded it.
    """

    delivered: tuple[int, ...]


PAUSED: Final = "the human has paused you"
"""What a paused agent reads where the human gives no reason."""


class PauseAgent(Operation, frozen=True):
    """Pause an agent; `message` tells it why. Result: the agent."""

    agent: str
    message: str


class ResumeAgent(Operation, frozen=True):
    """End the pause of an agent. Result: the agent."""

    agent: str


class NoteStuck(Operation, frozen=True):
    """Record that an agent is stuck, or with `cause` None that it no longer is. Result: whether that is new.

    Attributes:
        agent: the agent.
        cause: a kind of `stuck_causes.Cause`.
        text: a line about the cause.
        since: when it became stuck.
    """

    agent: str
    cause: str | None
    text: str = ""
    since: int | None = None
