"""Passes answers, messages and pauses from the human to agents through hooks (docs: protocol, section 10).

The database has what the human decided; files beside it pass that to hooks, which open no database. One process at a
time that has the database open keeps both in step.
"""

from __future__ import annotations

import os

import msgspec

from tui_tasks.core.journal import journal
from tui_tasks.core.operations.asks import DeliverMessages
from tui_tasks.core.read import asks, messages
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.session_snapshots import AgentSession
from tui_tasks.core.snapshots import HumanMessage, iso
from tui_tasks.core.store import Store
from tui_tasks.hooks.folder import Folder
from tui_tasks.hooks.replies import answer_file, answers, mailbox
from tui_tasks.hooks.replies.forms import MESSAGE_BEGINS
from tui_tasks.hooks.spool import Spool


class Outbox:
    """Keeps the files in step with a database, at each call of `look`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen = -1
        # The questions for the requests of waiting hooks, by the names under which the hooks wait.
        self._asks: dict[str, str] = {}

    def look(self, now: int) -> None:
        """Write new files for hooks, and record what they delivered.

        Raises:
            StorageFailed: call again later.
        """
        try:
            spool = Spool(self._store.path, make=False)
        except OSError:
            return  # no hook has written anything for this database yet
        with spool:
            waiting = answer_file.waiting(spool.folder)
            newest = journal.newest(self._store.db)
            boxes = mailbox.sessions(spool.folder)
            if newest == self._seen and not boxes and not waiting:
                return
            lock = spool.lock_intake()
            if lock is None:
                return
            try:
                self._answer(spool.folder, waiting)
                self._send(spool.folder, set(boxes), now, is_new=newest != self._seen)
                self._seen = newest
            finally:
                os.close(lock)

    def _answer(self, folder: Folder, waiting: list[str]) -> None:
        """Send the human's answers to waiting hooks; release those whose request ended otherwise."""
        db = self._store.db
        self._asks = {name: uid for name, uid in self._asks.items() if name in waiting}
        for name in waiting:
            if name not in self._asks and (found := asks.waiting_as(db, name)) is not None:
                self._asks[name] = found
            uid = self._asks.get(name)
            ask = None if uid is None else asks.ask(db, uid)
            if ask is None or ask.state == "open":
                continue
            is_humans = ask.state == "answered" and asks.is_answered_by_human(db, ask.uid)
            decision = answers.decision(ask) if is_humans else None
            told = b"" if decision is None else msgspec.json.encode(decision)
            answer_file.send(folder, name, str((ask.request or {}).get("hash")), told)

    def _send(self, folder: Folder, boxes: set[str], now: int, *, is_new: bool) -> None:
        """Write messages and pauses for sessions, and record what was delivered."""
        for session in sessions.live(self._store.db):
            name = mailbox.name_of(session.program, session.session)
            if name in boxes:
                boxes.discard(name)
                self._record_delivered(folder, session, now)
                mailbox.remove(folder, name)
            if is_new:
                self._write_waiting(folder, session)
        for name in boxes:
            mailbox.remove(folder, name, with_content=True)  # its session has ended; the messages wait in the database

    def _record_delivered(self, folder: Folder, session: AgentSession, now: int) -> None:
        box = mailbox.opened(folder, session.program, session.session, make=False)
        if box is None:
            return
        with box:
            mailbox.give_back(box)
            if (until := mailbox.delivered_until(box)) is not None:
                self._store.commit(DeliverMessages(session.uid, until=until), actor=session.uid, now=now)
                mailbox.forget(box, until)
            # Messages that the agent got over its own channel are not delivered again.
            waiting = {message.seq for message in messages.waiting(self._store.db, session.uid)}
            for letter in mailbox.letters(box):
                if letter.number not in waiting:
                    mailbox.withdraw(box, letter.number)

    def _write_waiting(self, folder: Folder, session: AgentSession) -> None:
        found = messages.waiting(self._store.db, session.uid)
        agent = messages.agent(self._store.db, session.uid)
        why = agent.message if agent is not None and agent.paused else None
        name = mailbox.name_of(session.program, session.session)
        if not found and why is None and name not in mailbox.sessions(folder):
            return
        box = mailbox.opened(folder, session.program, session.session, make=True)
        assert box is not None
        with box:
            for message in found:
                mailbox.put(box, message.seq, message_text(message), ends_turn=message.ends_turn)
            mailbox.set_pause(box, None if why is None else pause_text(why))
        mailbox.remove(folder, name)


def message_text(message: HumanMessage) -> str:
    """Return a message as the model reads it, with its author and time."""
    return f"{MESSAGE_BEGINS}{iso(message.sent_at)}:\n{message.text}"


def pause_text(why: str) -> str:
    """Return what a paused agent reads instead of its tool's output."""
    return f"The human who supervises you has paused you: {why}\nUse no tools; end your turn and wait for the human."
