"""The exceptions of the clients."""

from __future__ import annotations

from typing import Any


class ToolError(Exception):
    """A request was refused; nothing of it was done.

    Attributes:
        code: a stable code for programs (docs: protocol, section 3).
        message: a text for people and models.
        data: details, such as what is in the way.
    """

    def __init__(self, code: str, message: str, data: dict[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.data = data

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed a little later: another process held the database for too long."""
        return bool(self.data.get("retryable"))


class ServerGone(ConnectionError):
    """The server ends again and again before it answers."""
