"""The base of all operations."""

from __future__ import annotations

import msgspec


class Operation(msgspec.Struct, frozen=True):
    """A write: `store.commit` runs it, `core.rules` decides what it changes."""
