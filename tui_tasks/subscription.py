"""Events for one subscriber: in order, none skipped, none twice (contract, section 7)."""

from __future__ import annotations

from contextlib import closing
from typing import Final

import msgspec

from tui_tasks.core import journal
from tui_tasks.core.errors import CursorExpired
from tui_tasks.core.store import Store

_encode = msgspec.json.Encoder().encode

# Behind by more than this after its reader stood still, a subscriber is told so and skipped to the present.
LAG_LIMIT: Final = 1_000
PAGE: Final = 200
PAGE_BYTES: Final = 256 * 1024


class Subscription:
    """How far a subscriber has heard; nobody listens while `cursor` is None."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.cursor: int | None = None
        self._file = store.db.file

    def begin(self, since: int | None) -> int:
        """Send events after `since`, or from now on; return where they start."""
        self.cursor = journal.newest(self._store.db) if since is None else since
        self._file = self._store.db.file
        return self.cursor

    def end(self) -> None:
        """Send no more events."""
        self.cursor = None

    def events(self, *, blocked: bool) -> list[bytes]:
        """The next events, a page at the most; `blocked`: the reader had stopped reading.

        Raises:
            StorageFailed: try again later.
        """
        if self.cursor is None:
            return []
        # Only who listens needs it: jobs' events bring calendars and time zones along.
        from tui_tasks.dialects.events import page

        if blocked and journal.newest(self._store.db) - self.cursor > LAG_LIMIT:
            return [self._lagged()]
        try:
            with self._store.db.transaction(write=False):
                if self._store.db.file != self._file:
                    # Numbers mean something else in a backup that was put in its place.
                    return [self._lagged()]
                with closing(journal.each_since(self._store.db, self.cursor, PAGE)) as entries:
                    lines, last = page(self._store.db, entries, PAGE_BYTES)
        except CursorExpired:
            return [self._lagged()]
        if last is not None:
            self.cursor = last
        return lines

    def _lagged(self) -> bytes:
        """Skip to the present, and say from where to subscribe again (contract, section 3)."""
        lagged = {"event": "lagged", "since": self.cursor}
        self.cursor, self._file = journal.newest(self._store.db), self._store.db.file
        return _encode(lagged)
