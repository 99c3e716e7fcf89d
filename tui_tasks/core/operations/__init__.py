"""Every possible write, as a frozen value: `store.commit` runs them, `core.rules` decides what each changes.

Instants are microseconds since the epoch. Names and words are those of the state (`core.vocab`), never of a dialect.
"""

from __future__ import annotations

import msgspec


class Operation(msgspec.Struct, frozen=True):
    """A write: `store.commit` runs it, `core.rules` decides what it changes."""
