"""What reaches an agent unasked: the human's messages with its replies, and the events of its subscription."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.channel.request_reader import PendingRequest
from tui_tasks.core.commit import journal
from tui_tasks.core.commit.transaction import Reading, Transaction
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import CursorExpired, StorageFailed
from tui_tasks.core.snapshots import Entry, iso
from tui_tasks.core.store import Store

if TYPE_CHECKING:
    from tui_tasks.core.agent_snapshots import HumanMessage

_encode = msgspec.json.Encoder().encode

# A subscriber that is more entries behind after its reader had stopped gets `lagged`, and skips to the newest.
LAG_LIMIT: Final = 1_000
PAGE: Final = 200
PAGE_BYTES: Final = 256 * 1024


class Subscription:
    """The position of a subscriber in the journal; nobody is subscribed while `cursor` is None."""

    def __init__(self, store: Store, is_visible: Callable[[Entry], bool], deliver: Callable[[str, int], None]) -> None:
        """Create a subscription.

        Args:
            is_visible: returns whether the subscriber may receive an entry.
            deliver: records that an agent receives the human's messages up to an entry, before they are sent.
        """
        self._store = store
        self._is_visible = is_visible
        self._deliver = deliver
        self._agent = ""
        self.cursor: int | None = None
        self._may_have_more = False
        self._file = store.db.file

    @property
    def agent(self) -> str:
        """The agent that subscribed last; empty where none has."""
        return self._agent

    def begin(self, since: int | None, agent: str) -> int:
        """Start sending `agent` the events after `since` (None: after the newest); return the seq after which they
        start.

        Raises:
            CursorExpired: entries after `since` were compacted away.
        """
        self._agent = agent
        self.cursor = journal.newest(self._store.db) if since is None else since
        self._file = self._store.db.file
        return self.cursor

    def end(self) -> None:
        """Stop sending events."""
        self.cursor = None

    def pages(self, *, blocked: bool) -> Iterator[list[bytes]]:
        """Yield the next events in pages, up to the end of the journal; `blocked`: whether the reader had stopped
        reading.

        Raises:
            StorageFailed: the database cannot be read; a later call may succeed.
        """
        while self.cursor is not None:
            if lines := self.events(blocked=blocked):
                yield lines
            blocked = False
            if not self._may_have_more:
                return

    def will_send(self, agent: str, seq: int) -> bool:
        """Return whether the entry `seq` is still to be sent to an agent."""
        return self.cursor is not None and agent == self._agent and seq > self.cursor

    def events(self, *, blocked: bool) -> list[bytes]:
        """Return the next events, at most one page; `blocked`: whether the reader had stopped reading.

        Raises:
            StorageFailed: the database cannot be read; a later call may succeed.
        """
        if self.cursor is None:
            return []
        if blocked and journal.newest(self._store.db) - self.cursor > LAG_LIMIT:
            return [self._skip_to_newest()]
        try:
            page = self._read(self.cursor)
            if page is not None and page[2] is not None:
                self._deliver(self._agent, page[2])
                # The human may have withdrawn a message before its delivery was written.
                page = self._read(self.cursor, until=page[1])
                self._may_have_more = True  # the entry of the delivery
        except CursorExpired:
            page = None
        if page is None:
            return [self._skip_to_newest()]
        lines, self.cursor, _ = page
        return lines

    def _read(self, cursor: int, until: int | None = None) -> tuple[list[bytes], int, int | None] | None:
        """Return what `_page` does; None where a backup has replaced the database: there, a seq is another entry."""
        with self._store.db.transaction(write=False):
            return self._page(cursor, until) if self._store.db.file == self._file else None

    def _page(self, cursor: int, until: int | None) -> tuple[list[bytes], int, int | None]:
        """Return the next events, the seq up to which the journal was read, and the seq of the last message among them.

        `until`: the last entry to read. Entries that the subscriber may not receive are skipped.
        """
        # Imported on first use: it imports calendars and time zones, which only subscribers need.
        from tui_tasks.dialects.events import page

        passed, message, count = cursor, None, 0

        def allowed(entries: Iterator[Entry]) -> Iterator[Entry]:
            nonlocal passed, message, count
            for entry in entries:
                if until is not None and entry.seq > until:
                    return
                passed, count = entry.seq, count + 1
                if entry.kind == "message.sent" and entry.new is not None and entry.new.get("agent") == self._agent:
                    message = entry.seq
                if self._is_visible(entry):
                    yield entry

        while True:
            count = 0
            with closing(journal.each_since(self._store.db, passed, PAGE)) as entries:
                lines, _ = page(self._store.db, allowed(entries), PAGE_BYTES, for_subscriber=True)
            # Only a page that was full can have more behind it.
            self._may_have_more = count == PAGE or sum(map(len, lines)) >= PAGE_BYTES
            if lines or not self._may_have_more:
                return lines, passed, message

    def _skip_to_newest(self) -> bytes:
        """Skip to the newest entry; return `lagged` with the seq to resume from (docs: protocol, section 3)."""
        lagged = {"event": "lagged", "since": self.cursor}
        self._may_have_more = False
        self.cursor, self._file = journal.newest(self._store.db), self._store.db.file
        return _encode(lagged)


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
        messages = reading.state_cache.messages_waiting_for(pending.agent)
        if not messages:
            return ()
        return tuple(message for message in messages if not self._will_send(pending.agent, message.seq))

    def add(self, pending: PendingRequest, reply: dict[str, Any], transaction: Transaction) -> None:
        """Add the agent's messages to its reply, and record the delivery."""
        messages = self.waiting_for(pending, transaction)
        if not messages:
            return
        self._record_delivery(transaction, messages[0].agent, messages[-1].seq)
        reply["seq"] = transaction.seq
        reply["messages"] = [{"at": iso(message.sent_at), "text": message.text} for message in messages]

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
        """Queue the messages of these lines again: the lines could not be written.

        If the storage fails, they stay delivered (docs: protocol, section 7).

        Args:
            lines: replies, and events for the agent `subscriber`.
        """
        with contextlib.suppress(StorageFailed):
            db = self._store.db
            with db.transaction(write=False):
                messages = [message for line in lines for message in _brought_by(db, line, subscriber)]
            for message in messages:
                if message.delivered_seq in self._delivered:
                    from tui_tasks.core.operations.asks import ReturnMessages

                    operation = ReturnMessages((message.delivered_seq,))
                    self._store.commit(operation, actor=message.agent, now=self._clock())

    def forget_after(self, seq: int) -> None:
        """Forget the deliveries whose entries, after `seq`, were not written."""
        self._delivered = {delivered for delivered in self._delivered if delivered <= seq}

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
    from tui_tasks.core.read import message_queries  # few lines bring a message

    decoded = msgspec.json.decode(line)
    messages: list[HumanMessage | None] = []
    for reply in decoded if isinstance(decoded, list) else [decoded]:
        if reply.get("event") == "message" and reply.get("to") == subscriber:
            messages.append(message_queries.sent_by(db, reply["seq"]))
        elif "ok" in reply:
            brought = reply.get("messages", ())
            messages += [message_queries.last_delivered(db, message["text"], reply["seq"]) for message in brought]
    return [message for message in messages if message is not None]
