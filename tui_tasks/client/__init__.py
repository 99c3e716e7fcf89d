"""A client of the control channel for programs in Python: `Client`, and `AsyncClient` for asyncio.

It starts `tui-tasks serve` and speaks with it. A request is sent again, under the same idempotency key, where the
server has ended before it answered; events go on after the last one that was heard.
"""

from tui_tasks.client.async_client import AsyncClient
from tui_tasks.client.errors import ToolError
from tui_tasks.client.sync_client import Client

__all__ = ["AsyncClient", "Client", "ToolError"]
