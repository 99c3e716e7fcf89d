"""Delivers messages to a session with a reply of ours, such as one over MCP, instead of with its next hook."""

from __future__ import annotations

import os

from tui_tasks.core.operations.asks import DeliverMessages
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.session_snapshots import AgentSession
from tui_tasks.core.snapshots import HumanMessage
from tui_tasks.core.store import Store
from tui_tasks.hooks.folder import Folder
from tui_tasks.hooks.replies import mailbox
from tui_tasks.hooks.replies.outbox import message_text
from tui_tasks.hooks.spool import Spool


def collect(store: Store, agent: str, now: int) -> tuple[HumanMessage, ...]:
    """Return the messages that wait for a session's agent, recorded as delivered, so that its hooks no longer deliver
    them.

    Messages that a hook is delivering at the moment, and those that end the turn, which only hooks can do, are left to
    hooks, and so are all sent after them.

    Raises:
        StorageFailed: nothing could be recorded; the messages still wait.
        OSError: the same.
    """
    waiting = ask_queries.waiting(store.db, agent)
    session = session_queries.find(store.db, agent) if waiting else None
    if session is None:
        return ()
    with Spool(store.path, make=True) as spool:
        # The process that holds the lock writes messages for hooks.
        lock = spool.lock_intake()
        if lock is None:
            return ()
        try:
            return _collect(store, spool.folder, session, waiting, now)
        finally:
            os.close(lock)


def _collect(
    store: Store, folder: Folder, session: AgentSession, waiting: tuple[HumanMessage, ...], now: int
) -> tuple[HumanMessage, ...]:
    box = mailbox.opened(folder, session.program, session.session, make=True)
    assert box is not None
    with box:
        mailbox.set_process(box, session.pid, session.born)
        mailbox.give_back(box)
        claimed, until = _claim_messages(box, waiting)
        if claimed:
            try:
                store.commit(DeliverMessages(session.uid, until=until), actor=session.uid, now=now)
            except BaseException:
                mailbox.settle(box, claimed, printed=False)
                raise
            mailbox.settle(box, claimed, printed=True)
            mailbox.forget(box, until)
    numbers = {letter.number for letter, _ in claimed}
    return tuple(message for message in waiting if message.seq in numbers)


def _claim_messages(box: Folder, waiting: tuple[HumanMessage, ...]) -> tuple[list[tuple[mailbox.Letter, str]], int]:
    """Claim messages in order as far as it goes; return them, and the seq up to which all are claimed or delivered."""
    claimed, until = [], 0
    for message in waiting:
        mailbox.put(box, message.seq, message_text(message), ends_turn=message.ends_turn)
        letter = next(letter for letter in mailbox.letters(box) if letter.number == message.seq)
        if not letter.is_delivered:
            claim = None if letter.state or message.ends_turn else mailbox.claim_one(box, letter)
            if claim is None:
                break
            claimed.append(claim)
        until = message.seq
    return claimed, until
