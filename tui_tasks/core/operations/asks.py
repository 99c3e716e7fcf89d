"""Writes between the human and agents: questions, messages, pauses, being stuck."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.operations.operation import Operation


class OpenAsk(Operation, frozen=True):
    """Ask the human. Result: the question."""

    question: str
    options: tuple[str, ...] = ()
    task_uid: str | None = None
    expires_at: int | None = None
    project: str | None = None


class AnswerAsk(Operation, frozen=True):
    """The human's answer to a question. Result: the question.

    `updated_input` is what a tool may run with, where its program asked for that and the human has edited it.
    """

    uid: str
    answer: str
    updated_input: Any = None


class AnswerByPhone(Operation, frozen=True):
    """The human's answer from a phone, by its nonce, hashed (`core.phone_answers`). Result: the question."""

    nonce: str


class CloseAsk(Operation, frozen=True):
    """End a question without an answer: `timeout` or `withdrawn`; `reason` says why. Result: the question."""

    uid: str
    state: str
    reason: str | None = None


class SendMessage(Operation, frozen=True):
    """The human writes to an agent, and may end its turn with it where its program can. Result: the message."""

    to: str
    text: str
    ends_turn: bool = False


class DeliverMessages(Operation, frozen=True):
    """Give an agent the human's messages that wait for it. Result: the messages, in the order in which they were sent.

    `until` is the seq of the last entry to look at: what was sent later waits on.
    """

    agent: str
    until: int | None = None


class ReturnMessages(Operation, frozen=True):
    """Let messages wait again whose delivery was recorded, and could not be made. Result: the messages.

    `delivered` are the seqs of the entries that recorded it.
    """

    delivered: tuple[int, ...]


class PauseAgent(Operation, frozen=True):
    """The human pauses an agent; `message` tells it why. Result: the agent."""

    agent: str
    message: str


class ResumeAgent(Operation, frozen=True):
    """The human lets a paused agent go on. Result: the agent."""

    agent: str


class NoteStuck(Operation, frozen=True):
    """Keep that an agent is stuck, or (`cause` None) goes on. The program's own. Result: whether that is new."""

    agent: str
    cause: str | None
    text: str = ""
    since: int | None = None
