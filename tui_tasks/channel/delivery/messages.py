"""The human's messages, delivered with replies (docs: protocol, section 3) or by a subscription's events."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tui_tasks.channel.pending_request import PendingRequest
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.snapshots import HumanMessage, iso
from tui_tasks.core.store import Reading, Store, Transaction


class MessageDelivery:
    """Delivers the human's messages to the agents of one session, each once."""

    def __init__(
        self, store: Store, clock: Callable[[], int], will_send: Callable[[str, int], bool], *, read_only: bool
    ) -> None:
        """Create the delivery of a session.

        Args:
            clock: returns the time of day, in microseconds since the epoch.
            will_send: returns whether an agent is still to be sent an entry as an event.
            read_only: whether the session cannot record a delivery, and so makes none.
        """
        self._store = store
        self._clock = clock
        self._will_send = will_send
        self._read_only = read_only

    def waiting_for(self, pending: PendingRequest, reading: Reading) -> tuple[HumanMessage, ...]:
        """Return the messages to send with the reply to a request: those that no pending event will deliver."""
        if self._read_only:
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
        self._record(transaction, found[0].agent, found[-1].seq)
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
        if self._read_only:
            return
        with self._store.reading() as reading:
            if not reading.state_cache.messages_waiting_for(agent):
                return
        with self._store.transaction(self._clock()) as transaction:
            self._record(transaction, agent, until)

    def _record(self, transaction: Transaction, agent: str, until: int) -> None:
        from tui_tasks.core.operations.asks import DeliverMessages

        with transaction.change():
            transaction.speak(agent)
            transaction.run(DeliverMessages(agent, until=until))
