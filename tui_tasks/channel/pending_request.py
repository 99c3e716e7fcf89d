"""A request on its way through a session."""

from __future__ import annotations

from typing import Final

import msgspec

from tui_tasks.channel.requests import Request
from tui_tasks.core.errors import Forbidden, Refusal, ReservedName
from tui_tasks.dialects.base import Tool
from tui_tasks.dialects.requests.arguments import Arguments

# What an agent may not do is kept as `agent.refused` (docs: protocol, section 3), and that it posed as the human.
KEPT: Final = (Forbidden, ReservedName)
DEFECT: Final = "a defect in tui-tasks; the channel goes on"


class PendingRequest(msgspec.Struct):
    """What is known of a request before it is run; `refusal`: it will not be."""

    id: str | int | None
    request: Request | None = None
    tool: Tool | None = None
    arguments: Arguments | None = None
    refusal: Refusal | None = None
    # Whether it needs a write transaction; some refusals are kept in the journal.
    writes: bool = False
    # What its reply says beside the result (`Call.note`).
    note: str | None = None
