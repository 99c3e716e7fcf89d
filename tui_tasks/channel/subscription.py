"""Events for one subscriber: in order, none skipped, none twice (docs: protocol, section 7)."""

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

# Behind by more than this after its reader stood still, a subscriber is told so and skipped to the present.
LAG_LIMIT: Final = 1_000
PAGE: Final = 200
PAGE_BYTES: Final = 256 * 1024


class Subscription:
    """How far a subscriber has heard; nobody listens while `cursor` is None."""

    def __init__(self, store: Store, is_told: Callable[[Entry], bool], deliver: Callable[[str, int], None]) -> None:
        """`is_told` says of an entry whether the subscriber may hear of it.

        `deliver` writes down that an agent hears the human's messages up to an entry, before it does.
        """
        self._store = store
        self._is_told = is_told
        self._deliver = deliver
        self._agent = ""
        self.cursor: int | None = None
        self._file = store.db.file

    def begin(self, since: int | None, agent: str) -> int:
        """Send `agent` events after `since`, or from now on; return where they start."""
        self._agent = agent
        self.cursor = journal.newest(self._store.db) if since is None else since
        self._file = self._store.db.file
        return self.cursor

    def end(self) -> None:
        """Send no more events."""
        self.cursor = None

    def brings(self, agent: str, seq: int) -> bool:
        """Whether an entry is still to be sent to an agent."""
        return self.cursor is not None and agent == self._agent and seq > self.cursor

    def events(self, *, blocked: bool) -> list[bytes]:
        """The next events, a page at the most; `blocked`: the reader had stopped reading.

        Raises:
            StorageFailed: try again later.
        """
        if self.cursor is None:
            return []
        if blocked and journal.newest(self._store.db) - self.cursor > LAG_LIMIT:
            return [self._lagged()]
        try:
            with self._store.db.transaction(write=False):
                if self._store.db.file != self._file:
                    # Numbers mean something else in a backup that was put in its place.
                    return [self._lagged()]
                lines, cursor, message = self._page(self.cursor)
        except CursorExpired:
            return [self._lagged()]
        if message is not None:
            self._deliver(self._agent, message)
        self.cursor = cursor
        return lines

    def _page(self, cursor: int) -> tuple[list[bytes], int, int | None]:
        """The next events, how far the journal was read for them, and the last of them that is a message to the agent.

        What the subscriber may not hear is passed.
        """
        # Only who listens needs it: jobs' events bring calendars and time zones along.
        from tui_tasks.dialects.events import page

        passed, message = cursor, None

        def told(entries: Iterator[Entry]) -> Iterator[Entry]:
            nonlocal passed, message
            for entry in entries:
                passed = entry.seq
                if entry.kind == "message.sent" and entry.new is not None and entry.new["agent"] == self._agent:
                    message = entry.seq
                if self._is_told(entry):
                    yield entry

        while True:
            before = passed
            with closing(journal.each_since(self._store.db, before, PAGE)) as entries:
                lines, _ = page(self._store.db, told(entries), PAGE_BYTES, is_heard=True)
            if lines or passed == before:
                return lines, passed, message

    def _lagged(self) -> bytes:
        """Skip to the present, and say from where to subscribe again (docs: protocol, section 3)."""
        lagged = {"event": "lagged", "since": self.cursor}
        self.cursor, self._file = journal.newest(self._store.db), self._store.db.file
        return _encode(lagged)
