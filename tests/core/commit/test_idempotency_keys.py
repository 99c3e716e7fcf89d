"""Stored replies: what a key gives, and how long its reply is kept."""

from __future__ import annotations

from tests.conftest import SECOND
from tui_tasks.core.commit import idempotency_keys
from tui_tasks.core.store import Store

WEEK = 7 * 24 * 3600 * SECOND


def put(store: Store, key: str, reply: str, passed: int) -> None:
    with store.db.transaction(write=True):
        idempotency_keys.put(store.db, "a", key, "fingerprint", reply, passed)


def reply_of(store: Store, key: str) -> str | None:
    found = idempotency_keys.find(store.db, "a", key)
    return None if found is None else found[1]


def test_the_reply_that_is_stored_last_replaces_an_earlier_one(store: Store) -> None:
    put(store, "key", "earlier", 1)
    put(store, "key", "later", 2)
    assert idempotency_keys.find(store.db, "a", "key") == ("fingerprint", "later")


def test_a_reply_is_deleted_with_the_first_that_is_stored_more_than_a_week_later(store: Store) -> None:
    put(store, "old", "old", 1)
    put(store, "new", "new", WEEK + 1)
    assert reply_of(store, "old") == "old"
    put(store, "newest", "newest", WEEK + 2)
    assert [reply_of(store, key) for key in ("old", "new", "newest")] == [None, "new", "newest"]
