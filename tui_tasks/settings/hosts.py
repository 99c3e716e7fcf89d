"""The names of this machine for itself, by which what it serves may be called."""

from __future__ import annotations

from typing import Final

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
