"""Talking to an ntfy server: a message out, and the messages of a topic in. Nothing else of its API is used."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Final

SECONDS: Final = 10.0
# The server says each 45 s that it is there.
SILENCE_SECONDS: Final = 90.0
# An answer is a nonce; a line that is longer is none.
MOST_LINE: Final = 8_192


class NtfyFailed(Exception):
    """The server cannot be reached, or has refused."""


class NtfyForbidden(NtfyFailed):
    """The server knows the token not, or has not been given one."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows none: the token is for the server that the human has named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class NtfyClient:
    """One server, with the token for it where there is one."""

    def __init__(self, server: str, token: str | None) -> None:
        self.server = server.rstrip("/")
        self._headers = {"User-Agent": "tui-tasks"} | ({"Authorization": f"Bearer {token}"} if token else {})
        # No proxy stands between this machine and itself.
        proxies = [urllib.request.ProxyHandler({})] if self.server.startswith("http://") else []
        self._opener = urllib.request.build_opener(_NoRedirects, *proxies)

    def publish(self, message: dict[str, Any]) -> None:
        """Send a message, as JSON.

        Raises:
            NtfyFailed: it may not have arrived.
        """
        with self._open(self.server + "/", json.dumps(message).encode(), SECONDS):
            pass

    def messages(self, topic: str, since: str) -> Iterator[tuple[str, str]]:
        """Yield the id and the text of each message after the one of an id, or after an instant, as they come.

        Raises:
            NtfyFailed: the connection has ended, as it does now and then.
        """
        with self._open(f"{self.server}/{topic}/json?since={since}", None, SILENCE_SECONDS) as response:
            try:
                while line := response.readline(MOST_LINE):
                    if len(line) == MOST_LINE and not line.endswith(b"\n"):
                        _pass_over(response)
                    elif (told := _told(line)) is not None:
                        yield told
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


def _pass_over(response: Any) -> None:
    while (rest := response.readline(MOST_LINE)) and not rest.endswith(b"\n"):
        pass


def _told(line: bytes) -> tuple[str, str] | None:
    """Return id and text of a message; None for what else a server tells, and for what is no JSON."""
    try:
        told = json.loads(line)
    except ValueError:
        return None
    if not isinstance(told, dict) or told.get("event") != "message":
        return None
    return str(told.get("id", ""))[:64], str(told.get("message", ""))
