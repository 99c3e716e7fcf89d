"""The human's messages, delivered with replies (docs: protocol, section 3) or by a subscription's events."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from tui_tasks.channel.pending_request import PendingRequest
from tui_tasks.core.commit.transaction import Reading, Transaction
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.read import messages
from tui_tasks.core.snapshots import HumanMessage, iso
from tui_tasks.core.store import Store


class MessageDelivery:
    """Delivers the human's messages to the agents of one session, each once."""

    def __init__(
        self, store: Store, clock: Callable[[], int], will_send: Callable[[str, int], bool], *, is_off: bool
    ) -> None:
        """Create the delivery of a session.

        Args:
            clock: returns the time of day, in microseconds since the epoch.
            will_send: returns whether an agent is still to be sent an entry as an event.
            is_off: whether the session cannot record a delivery, or agents get messages by other means.
        """
        self._store = store
        self._clock = clock
        self._will_send = will_send
        self._is_off = is_off
        # The entries that record deliveries of this session: an event may tell of one that was made by another.
        self._delivered: set[int] = set()

    def waiting_for(self, pending: PendingRequest, reading: Reading) -> tuple[HumanMessage, ...]:
        """Return the messages to send with the reply to a request: those that no pending event will deliver."""
        if self._is_off:
            return ()
        found = reading.state_cache.messages_waiting_for(pending.agent)
        if not found:
            return ()
        return tuple(message for message in found if not self._will_send(pending.agent, message.seq))

    def add(self, pending: PendingRequest, reply: dict[str, Any], transaction: Transaction) -> None:
        """Add the agent's messages to its reply, and record the delivery."""
        found = self.waiting_for(pending, transaction)
        if not found:
            return
        self._record_delivery(transaction, found[0].agent, found[-1].seq)
        reply["seq"] = transaction.seq
        reply["messages"] = [{"at": iso(message.sent_at), "text": message.text} for message in found]

    def add_late(self, pending: PendingRequest, reply: dict[str, Any]) -> None:
        """Add messages to the reply to a request that waited. If the storage fails, the next reply has them."""
        store = self._store
        with contextlib.suppress(StorageFailed):
            with store.reading() as reading:
                if not self.waiting_for(pending, reading):
                    return
            with store.transaction(self._clock()) as transaction:
                self.add(pending, reply, transaction)

    def record(self, agent: str, until: int) -> None:
        """Record that a subscriber receives the messages up to the entry `until`.

        Raises:
            StorageFailed: the database cannot be written.
        """
        if self._is_off:
            return
        with self._store.reading() as reading:
            if not reading.state_cache.messages_waiting_for(agent):
                return
        with self._store.transaction(self._clock()) as transaction:
            self._record_delivery(transaction, agent, until)

    def give_back(self, lines: Iterable[bytes], subscriber: str) -> None:
        """Let the messages wait again that these lines bring, which could not be written.

        If the storage fails, they stay delivered (docs: protocol, section 7).

        Args:
            lines: replies, and events for the agent `subscriber`.
        """
        with contextlib.suppress(StorageFailed):
            db = self._store.db
            with db.transaction(write=False):
                found = [message for line in lines for message in _brought_by(db, line, subscriber)]
            for message in found:
                if message.delivered_seq in self._delivered:
                    from tui_tasks.core.operations.asks import ReturnMessages

                    operation = ReturnMessages((message.delivered_seq,))
                    self._store.commit(operation, actor=message.agent, now=self._clock())

    def _record_delivery(self, transaction: Transaction, agent: str, until: int) -> None:
        from tui_tasks.core.operations.asks import DeliverMessages

        with transaction.change():
            transaction.speak(agent)
            delivered = transaction.run(DeliverMessages(agent, until=until))
        self._delivered.update(message.delivered_seq for message in delivered)


def _brought_by(db: Database, line: bytes, subscriber: str) -> list[HumanMessage]:
    """Return the messages that a line brings, which is a reply, the replies of a batch, or an event."""
    if b'"messages":' not in line and b'"event":"message"' not in line:
        return []
    decoded = msgspec.json.decode(line)
    found: list[HumanMessage | None] = []
    for reply in decoded if isinstance(decoded, list) else [decoded]:
        if reply.get("event") == "message" and reply.get("to") == subscriber:
            found.append(messages.sent_by(db, reply["seq"]))
        elif "ok" in reply:
            brought = reply.get("messages", ())
            found += [messages.last_delivered(db, message["text"], reply["seq"]) for message in brought]
    return [message for message in found if message is not None]
