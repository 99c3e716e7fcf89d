"""A request that a session is serving."""

from __future__ import annotations

from typing import Final

import msgspec

from tui_tasks.channel.requests import Request
from tui_tasks.core.errors import Forbidden, Refusal, ReservedName
from tui_tasks.dialects.base import Tool
from tui_tasks.dialects.requests.arguments import Arguments

# Refusals that are journaled as `agent.refused` (docs: protocol, section 3).
JOURNALED_REFUSALS: Final = (Forbidden, ReservedName)
DEFECT_MESSAGE: Final = "a defect in tui-tasks; the channel goes on"


class PendingRequest(msgspec.Struct):
    """A request with what is known before it runs; if `refusal` is set, it is refused instead."""

    id: str | int | None
    request: Request | None = None
    tool: Tool | None = None
    arguments: Arguments | None = None
    refusal: Refusal | None = None
    # Whether it needs a write transaction; the refusals of `JOURNALED_REFUSALS` do too.
    writes: bool = False
    # Text that the reply carries beside the result (`Call.note`).
    note: str | None = None
