"""The events of one subscriber: in order, none left out, none twice (docs: protocol, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final

import msgspec

from tui_tasks.core.errors import CursorExpired
from tui_tasks.core.journal import journal
from tui_tasks.core.snapshots import Entry
from tui_tasks.core.store import Store

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
            with self._store.db.transaction(write=False):
                if self._store.db.file != self._file:
                    # A backup replaced the database; there the same seq is another entry.
                    return [self._skip_to_newest()]
                lines, cursor, message = self._page(self.cursor)
        except CursorExpired:
            return [self._skip_to_newest()]
        if message is not None:
            self._deliver(self._agent, message)
        self.cursor = cursor
        return lines

    def _page(self, cursor: int) -> tuple[list[bytes], int, int | None]:
        """Return the next events, the seq up to which the journal was read, and the seq of the last message among them.

        Entries that the subscriber may not receive are skipped.
        """
        # Imported on first use: it imports calendars and time zones, which only subscribers need.
        from tui_tasks.dialects.json_shapes.events import page

        passed, message = cursor, None

        def allowed(entries: Iterator[Entry]) -> Iterator[Entry]:
            nonlocal passed, message
            for entry in entries:
                passed = entry.seq
                if entry.kind == "message.sent" and entry.new is not None and entry.new["agent"] == self._agent:
                    message = entry.seq
                if self._is_visible(entry):
                    yield entry

        while True:
            before = passed
            with closing(journal.each_since(self._store.db, before, PAGE)) as entries:
                lines, _ = page(self._store.db, allowed(entries), PAGE_BYTES, for_subscriber=True)
            if lines or passed == before:
                return lines, passed, message

    def _skip_to_newest(self) -> bytes:
        """Skip to the newest entry; return `lagged` with the seq to resume from (docs: protocol, section 3)."""
        lagged = {"event": "lagged", "since": self.cursor}
        self.cursor, self._file = journal.newest(self._store.db), self._store.db.file
        return _encode(lagged)
