"""Telling clients that a resource has changed: by `resources/subscribe`, and by `subscriptions/listen` since 2026."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import anyio
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from tui_tasks.core.errors import CursorExpired
from tui_tasks.core.journal import journal
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests.confinement import is_visible
from tui_tasks.dialects.requests.identity import Identity
from tui_tasks.mcp_server import resources

# Entries that are looked at one by one; who is further behind is told that everything may have changed.
_PAGE: Final = 1_000
_SEND_SECONDS: Final = 1
# Clients that have gone without a word are forgotten when so many others have come.
_MOST_SUBSCRIBERS: Final = 100


class ResourceSubscriptions:
    """Who wants to know of which resource, and how far the journal has been read for them.

    Attributes:
        listen: serves `subscriptions/listen`.
    """

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store = store
        self._identity = identity
        self._bus = InMemorySubscriptionBus()
        self.listen: Final = ListenHandler(self._bus)
        self._listening = 0
        self._subscribed: dict[str, list[ServerSession]] = {}
        self._cursor = journal.newest(store.db)

    @property
    def is_wanted(self) -> bool:
        """Whether anybody wants to know."""
        return bool(self._subscribed) or self._listening > 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let somebody listen while the block runs."""
        self._begin()
        self._listening += 1
        try:
            yield
        finally:
            self._listening -= 1

    def subscribe(self, session: ServerSession, uri: str) -> None:
        """Tell a client of an earlier revision when a resource changes."""
        self._begin()
        self.unsubscribe(session, uri)
        self._subscribed[uri] = [*self._subscribed.get(uri, ())[-_MOST_SUBSCRIBERS:], session]

    def unsubscribe(self, session: ServerSession, uri: str) -> None:
        """Tell that client of a resource no more."""
        # A session object is made for each request; what the client said of itself is one for the connection.
        others = [one for one in self._subscribed.pop(uri, ()) if one.client_params is not session.client_params]
        if others:
            self._subscribed[uri] = others

    def _begin(self) -> None:
        if not self.is_wanted:
            self._cursor = journal.newest(self._store.db)

    async def tell(self) -> None:
        """Tell of what has changed since the last time.

        Raises:
            StorageFailed: try again later.
        """
        while self.is_wanted and (uris := self._next()) is not None:
            for uri in uris:
                await self._bus.publish(ResourceUpdated(uri=uri))
                for session in self._subscribed.get(uri, ()):
                    # Who does not read keeps nobody else waiting.
                    with anyio.move_on_after(_SEND_SECONDS):
                        await session.send_resource_updated(uri)

    def _next(self) -> list[str] | None:
        """What the next entries have changed; None where there are no more."""
        db = self._store.db
        try:
            with db.transaction(write=False), closing(journal.each_since(db, self._cursor, _PAGE)) as found:
                entries = list(found)
                told = [entry for entry in entries if is_visible(db, self._identity, entry)]
        except CursorExpired:
            self._cursor = journal.newest(db)
            return list(self._subscribed)
        if not entries:
            return None
        self._cursor = entries[-1].seq
        return resources.touched(told)
