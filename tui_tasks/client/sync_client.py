"""The client that waits for each reply."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tui_tasks.client import requests
from tui_tasks.client.errors import ServerGone
from tui_tasks.client.tools import Tools


class Client(Tools):
    """A connection to a `tui-tasks serve` process, with one request at a time; threads take turns.

    Each tool is a method: `client.tasklist_add_task(name="Build")`. `with Client(...) as client:` closes it.
    """

    def __init__(
        self,
        db: str | None = None,
        *,
        agent: str | None = None,
        list: str | None = None,
        read_only: bool = False,
        on_message: Callable[[str], None] = lambda text: None,
        program: Sequence[str] | None = None,
    ) -> None:
        """Start no process yet; the first call does.

        Args:
            db: the path of the database; None: `TUI_TASKS_DB`, else the user's own.
            agent: the name under which changes are made.
            list: the list that all tools work on.
            read_only: whether calls that write are refused.
            on_message: called with what the human writes to the agent.
            program: the argv that starts `tui-tasks`; None: this installation.
        """
        self._command = requests.server_command(db, agent, list, read_only=read_only, program=program)
        self._on_message = on_message
        self._turn = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._last_id = 0

    def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **envelope: Any) -> Any:
        """Call a tool; return its result. `envelope`: `if_version`, `idempotency_key`, `thoughts` and the like.

        Raises:
            ToolError: the call was refused.
            ServerGone: the server cannot be kept running.
        """
        with self._turn:
            self._last_id += 1
            request = requests.request(self._last_id, tool, arguments or {}, envelope)
            for _ in range(requests.TRIES):
                if (reply := self._ask(request)) is not None:
                    return requests.result(reply, self._on_message)
                self._stop()
        raise ServerGone(f"{' '.join(self._command)} ends before it answers")

    def events(self, since: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield events as they happen, after the number `since` or from now on, without gaps even if the server
        restarts.

        Raises:
            ToolError: the subscription was refused.
            ServerGone: the server cannot be kept running.
        """
        failures = 0
        while failures < requests.TRIES:
            failures += 1
            with self._started_server() as server, contextlib.suppress(OSError):
                assert server.stdin is not None
                assert server.stdout is not None
                arguments = {"since": since} if since is not None else {}
                server.stdin.write(requests.line(requests.request(0, requests.SUBSCRIBE, arguments, {})))
                server.stdin.flush()
                for line in server.stdout:
                    message = requests.decode(line)
                    if "ok" in message:
                        since = requests.result(message, self._on_message)["seq"] if since is None else since
                        continue
                    if message["event"] == "lagged":
                        since = message["since"]
                        break
                    failures, since = 0, message["seq"]
                    yield message
        raise ServerGone(f"{' '.join(self._command)} ends again and again")

    def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return self.call(tool, {name: value for name, value in arguments.items() if value is not None})

    def _ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the reply to a request; None if the server ended."""
        if self._server is None:
            self._server = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with contextlib.suppress(OSError):
            self._server.stdin.write(requests.line(request))
            self._server.stdin.flush()
            for line in self._server.stdout:
                reply: dict[str, Any] = requests.decode(line)
                if "ok" in reply and reply["id"] == request["id"]:
                    return reply
        return None

    @contextlib.contextmanager
    def _started_server(self) -> Iterator[subprocess.Popen[bytes]]:
        server = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            yield server
        finally:
            _end(server)

    def _stop(self) -> None:
        if self._server is not None:
            _end(self._server)
            self._server = None

    def close(self) -> None:
        """End the server. Whatever it replied to is stored."""
        self._stop()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(server: subprocess.Popen[bytes]) -> None:
    """End a server by closing its input; kill it if it does not end in time."""
    assert server.stdin is not None
    assert server.stdout is not None
    with contextlib.suppress(OSError):
        server.stdin.close()
    server.stdout.close()
    try:
        server.wait(5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
