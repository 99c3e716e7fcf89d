"""The client for programs that wait for each reply."""

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
    """A conversation with `tui-tasks serve`, one request at a time; threads take turns.

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
        """`on_message` is given what the human writes to the agent; `program` is what runs as `tui-tasks`."""
        self._command = requests.server(db, agent, list, read_only=read_only, program=program)
        self._on_message = on_message
        self._turn = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._last_id = 0

    def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **envelope: Any) -> Any:
        """Call a tool, and return its result. `envelope`: `if_version`, `idempotency_key`, `thoughts` and the like.

        Raises:
            ToolError: it is refused.
            ServerGone: the server cannot be kept running.
        """
        with self._turn:
            self._last_id += 1
            made = requests.request(self._last_id, tool, arguments or {}, envelope)
            for _ in range(requests.TRIES):
                if (reply := self._ask(made)) is not None:
                    return requests.result(reply, self._on_message)
                self._stop()
        raise ServerGone(f"{' '.join(self._command)} ends before it answers")

    def events(self, since: int | None = None) -> Iterator[dict[str, Any]]:
        """Events as they come, after `since` or from now on; they go on where the server or the reader lagged."""
        failures = 0
        while failures < requests.TRIES:
            failures += 1
            with self._started() as server, contextlib.suppress(OSError):
                assert server.stdin is not None
                assert server.stdout is not None
                asked = {"since": since} if since is not None else {}
                server.stdin.write(requests.line(requests.request(0, requests.LISTENED_TO, asked, {})))
                server.stdin.flush()
                for line in server.stdout:
                    told = requests.decode(line)
                    if "ok" in told:
                        since = requests.result(told, self._on_message)["seq"] if since is None else since
                        continue
                    if told["event"] == "lagged":
                        since = told["since"]
                        break
                    failures, since = 0, told["seq"]
                    yield told
        raise ServerGone(f"{' '.join(self._command)} ends again and again")

    def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return self.call(tool, {name: value for name, value in arguments.items() if value is not None})

    def _ask(self, made: dict[str, Any]) -> dict[str, Any] | None:
        """The reply to a request; None where the server has ended."""
        if self._server is None:
            self._server = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with contextlib.suppress(OSError):
            self._server.stdin.write(requests.line(made))
            self._server.stdin.flush()
            for line in self._server.stdout:
                reply: dict[str, Any] = requests.decode(line)
                if "ok" in reply and reply["id"] == made["id"]:
                    return reply
        return None

    @contextlib.contextmanager
    def _started(self) -> Iterator[subprocess.Popen[bytes]]:
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
        """End the server; whatever was answered is done."""
        self._stop()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(server: subprocess.Popen[bytes]) -> None:
    """End a server of one's own: it ends with its input."""
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
