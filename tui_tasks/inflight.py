"""A request on its way through a session."""

from __future__ import annotations

from typing import Final

import msgspec

from tui_tasks.core.errors import Forbidden, Refusal
from tui_tasks.dialects.arguments import Arguments
from tui_tasks.dialects.base import Tool
from tui_tasks.requests import Request

DEFECT: Final = "a defect in tui-tasks; the channel goes on"


class InFlight(msgspec.Struct):
    """What is known of a request before it is run; `refusal`: it will not be."""

    id: str | int | None
    request: Request | None = None
    tool: Tool | None = None
    arguments: Arguments | None = None
    refusal: Refusal | None = None

    @property
    def writes(self) -> bool:
        """Whether it needs a write transaction; a forbidden one is kept in the journal."""
        request, tool = self.request, self.tool
        if self.refusal or request is None or tool is None:
            return isinstance(self.refusal, Forbidden)
        return tool.writes(self.arguments) or request.idempotency_key is not None
