"""A client of an ntfy server: publishes messages, and reads those of a topic. It uses nothing else of ntfy's API."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Final

TIMEOUT_SECONDS: Final = 10.0
# The server sends a keepalive message every 45 s.
SILENCE_SECONDS: Final = 90.0
# An answer is a nonce, so a longer line is none.
MAX_LINE_BYTES: Final = 8_192


class NtfyFailed(Exception):
    """The server cannot be reached, or refused the request."""


class NtfyForbidden(NtfyFailed):
    """The server does not accept the token, or requires one."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirects: the token is only for the configured server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class NtfyClient:
    """A client of one server; `token` is sent if there is one."""

    def __init__(self, server: str, token: str | None) -> None:
        self.server = server.rstrip("/")
        self._headers = {"User-Agent": "tui-tasks"} | ({"Authorization": f"Bearer {token}"} if token else {})
        # Plain HTTP is for this machine only, which is not reached through a proxy.
        proxies = [urllib.request.ProxyHandler({})] if self.server.startswith("http://") else []
        self._opener = urllib.request.build_opener(_NoRedirects, *proxies)

    def publish(self, message: dict[str, Any]) -> None:
        """Publish a message, given as ntfy's JSON.

        Raises:
            NtfyFailed: it may not have arrived.
        """
        with self._open(self.server + "/", json.dumps(message).encode(), TIMEOUT_SECONDS):
            pass

    def messages(self, topic: str, since: str) -> Iterator[tuple[str, str]]:
        """Yield the id and the text of each message as it arrives. `since` is an id or a Unix time to begin after.

        Raises:
            NtfyFailed: the connection ended, as it does now and then.
        """
        with self._open(f"{self.server}/{topic}/json?since={since}", None, SILENCE_SECONDS) as response:
            try:
                while line := response.readline(MAX_LINE_BYTES):
                    if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                        _skip_rest_of_line(response)
                    elif (value := _parse_message(line)) is not None:
                        yield value
            except (OSError, http.client.HTTPException) as error:
                raise NtfyFailed(str(error)) from error
        raise NtfyFailed("the server has ended the connection")

    def _open(self, address: str, body: bytes | None, seconds: float) -> Any:
        request = urllib.request.Request(address, body, self._headers, method="GET" if body is None else "POST")
        try:
            return self._opener.open(request, timeout=seconds)
        except urllib.error.HTTPError as error:
            error.close()
            kind = NtfyForbidden if error.code in (401, 403) else NtfyFailed
            raise kind(f"the server answers {error.code}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NtfyFailed(str(getattr(error, "reason", error))) from error


def _skip_rest_of_line(response: Any) -> None:
    while (rest := response.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
        pass


def _parse_message(line: bytes) -> tuple[str, str] | None:
    """Return the id and the text of a message; None for other lines."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("event") != "message":
        return None
    return str(value.get("id", ""))[:64], str(value.get("message", ""))
