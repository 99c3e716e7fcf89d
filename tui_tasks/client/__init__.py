"""A client of the control channel for Python programs: `Client`, and `AsyncClient` for asyncio.

It starts `tui-tasks serve` and makes requests to it. If the server ends before it replies, the request is sent again
under the same idempotency key; events continue after the last one that was received.
"""

from tui_tasks.client.async_client import AsyncClient
from tui_tasks.client.requests import ServerGone, ToolError
from tui_tasks.client.sync_client import Client

__all__ = ["AsyncClient", "Client", "ServerGone", "ToolError"]
