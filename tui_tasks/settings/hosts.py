"""The names by which this machine calls itself, which are accepted for what it serves."""

from __future__ import annotations

from typing import Final

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
