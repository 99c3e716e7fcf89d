"""Notifies clients of changed resources: `resources/subscribe`, and `subscriptions/listen` of revisions since 2026."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

# So many entries are read at a time.
_PAGE: Final = 1_000
_SEND_SECONDS: Final = 1
# The most subscribers of a resource; the oldest are dropped, as clients may disappear without unsubscribing.
_MAX_SUBSCRIBERS: Final = 100


class ResourceSubscriptions:
    """The subscribers of each resource, and their position in the journal.

    Attributes:
        listen: serves `subscriptions/listen`.
    """

    def __init__(self, store: Store, identity: Callable[[], Identity]) -> None:
        self._store = store
        self._identity = identity
        self._bus = InMemorySubscriptionBus()
        self.listen: Final = ListenHandler(self._bus)
        self._listening = 0
        self._subscribed: dict[str, list[ServerSession]] = {}
        self._cursor = journal.newest(store.db)

    @property
    def has_subscribers(self) -> bool:
        """Whether anybody is subscribed."""
        return bool(self._subscribed) or self._listening > 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Count a listener while the block runs."""
        self._begin()
        self._listening += 1
        try:
            yield
        finally:
            self._listening -= 1

    def subscribe(self, session: ServerSession, uri: str) -> None:
        """Notify a client of an earlier revision when a resource changes."""
        self._begin()
        self.unsubscribe(session, uri)
        self._subscribed[uri] = [*self._subscribed.get(uri, ())[-_MAX_SUBSCRIBERS:], session]

    def unsubscribe(self, session: ServerSession, uri: str) -> None:
        """End a client's subscription to a resource."""
        # Each request has a session object of its own; `client_params` is the same for the whole connection.
        others = [one for one in self._subscribed.pop(uri, ()) if one.client_params is not session.client_params]
        if others:
            self._subscribed[uri] = others

    def _begin(self) -> None:
        if not self.has_subscribers:
            self._cursor = journal.newest(self._store.db)

    async def notify(self) -> None:
        """Notify the subscribers of what changed since the last call.

        Raises:
            StorageFailed: try again later.
        """
        while self.has_subscribers and (uris := self._changed_uris()) is not None:
            for uri in uris:
                await self._bus.publish(ResourceUpdated(uri=uri))
                for session in self._subscribed.get(uri, ()):
                    # A client that does not read must not delay the others.
                    with anyio.move_on_after(_SEND_SECONDS):
                        await session.send_resource_updated(uri)

    def _changed_uris(self) -> list[str] | None:
        """Return the URIs that the next entries changed; None without new entries."""
        db = self._store.db
        try:
            with db.transaction(write=False), closing(journal.each_since(db, self._cursor, _PAGE)) as found:
                entries = list(found)
                visible = [entry for entry in entries if is_visible(db, self._identity(), entry)]
        except CursorExpired:
            self._cursor = journal.newest(db)
            return list(self._subscribed)
        if not entries:
            return None
        self._cursor = entries[-1].seq
        return resources.changed_uris(visible)
