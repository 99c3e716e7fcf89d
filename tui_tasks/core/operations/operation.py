"""The base of all operations: what `store.commit` takes. `core.rules` decides what each becomes."""

from __future__ import annotations

import msgspec


class Operation(msgspec.Struct, frozen=True):
    """A write."""
