"""Messages to the phone by ntfy: their texts with the answers that each offers, and a client of the server.

An answer is offered only if the phone shows all that a person must read; else the question is answered on the screen.
The texts are pure functions. The client publishes messages, and reads those of a topic; it uses nothing else of ntfy's
API.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tui_tasks.core import agent_names
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read.overview import Alert
from tui_tasks.core.rules.agents.request_text import ALLOW, DENY, ask_lines, ask_options, is_kept_whole, takes_yes
from tui_tasks.core.unhidden_text import invisible_char
from tui_tasks.text.safe import cell_len, safe_line, safe_text
from tui_tasks.text.times import count

MAX_ACTIONS: Final = 3
"""The limit of an ntfy server."""
# A server accepts 4,096 bytes of a whole message.
MAX_TEXT_BYTES: Final = 3_000
# A notification shows about so many rows of so many columns above its buttons; the rest is in the app alone.
MAX_ROWS: Final = 10
_COLUMNS: Final = 40
_LABEL_CHARS: Final = 40
_NAME_CHARS: Final = 60
_HIGH, _DEFAULT = 4, 3
_ON_SCREEN_NOTE: Final = "Answer it on the screen."


def answers(ask: Ask, *, titles: bool) -> tuple[str, ...]:
    """Return the answers that are offered, as on the screen; at most three."""
    is_whole = titles and _is_whole(ask)
    if ask.is_permission:
        wanted: Sequence[str] = (ALLOW, DENY) if is_whole else (DENY,)
        return tuple(answer for answer in wanted if answer in ask.options)
    if not is_whole or (ask.request is not None and not ask.options):
        return ()
    return (ask.options or (("approve", "deny") if takes_yes(ask.question) else ()))[:MAX_ACTIONS]


def _is_whole(ask: Ask) -> bool:
    """Return whether the phone shows all of a question and of the offered answers."""
    if not is_kept_whole(ask) or any(invisible_char(text) is not None for text in (ask.question, *ask.options)):
        return False
    offered = ask.options[:MAX_ACTIONS] if not ask.is_permission else ()
    fits = all(safe_line(option, _LABEL_CHARS) == option for option in (*offered, *ask_options(ask, offered)))
    rows = sum(max(1, -(-cell_len(line) // _COLUMNS)) for line in ask_lines(ask))
    # Combining marks take bytes and no columns.
    return rows <= MAX_ROWS and len(_text(ask).encode()) <= MAX_TEXT_BYTES and fits


def _text(ask: Ask) -> str:
    return "\n".join(ask_lines(ask))


def of_ask(ask: Ask, project: str, nonces: Mapping[str, str], reply_address: str, *, titles: bool) -> dict[str, Any]:
    """Return the message for a question; `nonces` are the nonces of the offered answers, by answer."""
    who = agent_names.display_name(ask.agent, _NAME_CHARS) + (
        f" ({safe_line(project, _NAME_CHARS)})" if project and titles else ""
    )
    what = "wants a permission" if (ask.request or {}).get("kind") == "permission" else "asks"
    text = safe_text(_text(ask), MAX_TEXT_BYTES).encode()[:MAX_TEXT_BYTES].decode(errors="ignore") if titles else ""
    more = len(ask.options) > len(nonces) and (ask.request or {}).get("kind") != "permission"
    parts = [text] if text else []
    parts += [_ON_SCREEN_NOTE] if not nonces or more else []
    message: dict[str, Any] = {"title": f"{who} {what}", "message": "\n\n".join(parts) or what, "priority": _HIGH}
    if nonces:
        message["actions"] = [
            {
                "action": "http",
                "label": safe_line(ask_options(ask, [answer])[0], _LABEL_CHARS),
                "url": reply_address,
                "method": "POST",
                "body": nonce,
                "clear": True,
            }
            for answer, nonce in nonces.items()
        ]
    return message


def of_failures(alerts: Sequence[Alert], *, titles: bool) -> dict[str, Any]:
    """Return the message for what failed."""
    text = count(len(alerts), "failure")
    names = [safe_line(alert.text, _NAME_CHARS) for alert in alerts[:5]] if titles else []
    more = [f"and {len(alerts) - 5} more"] if titles and len(alerts) > 5 else []
    return {"title": f"tui-tasks: {text}", "message": "\n".join((*names, *more)) or text, "priority": _DEFAULT}


def too_late(ask: Ask | None, *, titles: bool) -> dict[str, Any]:
    """Return the message for an answer that was not accepted."""
    who = agent_names.display_name(ask.agent, _NAME_CHARS) if ask is not None else "an agent"
    question = f"\n{safe_line(ask.question, 200)}" if ask is not None and titles else ""
    return {"title": "Too late", "message": f"Your answer to {who} was not taken.{question}", "priority": _DEFAULT}


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
