"""The client that waits for each reply."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, Final

from tui_tasks.client import requests
from tui_tasks.client.requests import ServerGone
from tui_tasks.client.tools import Tools

_CHUNK: Final = 64 * 1024


class Client(Tools):
    """A connection to a `tui-tasks serve` process, which threads may share: a call that waits holds up no other.

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
            on_message: called with what the human writes to the agent, in the thread of the call that gets it.
            program: the argv that starts `tui-tasks`; None: this installation.
        """
        self._command = requests.server_command(db, agent, list, read_only=read_only, program=program)
        self._on_message = on_message
        self._connecting = threading.Lock()
        self._connection: _Connection | None = None
        self._ids = itertools.count(1)

    def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **envelope: Any) -> Any:
        """Call a tool; return its result. `envelope`: `if_version`, `idempotency_key`, `thoughts` and the like.

        A call that is interrupted while it waits is cancelled: its question is withdrawn.

        Raises:
            ToolError: the call was refused.
            ServerGone: the server cannot be kept running, or the client was closed by another thread.
        """
        request = requests.request(next(self._ids), tool, arguments or {}, envelope)
        for _ in range(requests.TRIES):
            if (reply := self._ask(request)) is not None:
                return requests.result(reply, self._on_message)
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
            server = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            try:
                arguments = {"since": since} if since is not None else {}
                _write(server, requests.request(0, requests.SUBSCRIBE, arguments, {}))
                for message in _messages(server):
                    if "ok" in message:
                        since = requests.result(message, self._on_message)["seq"] if since is None else since
                    elif message["event"] == "lagged":
                        failures, since = 0, message["since"]
                        break
                    else:
                        failures, since = 0, message["seq"]
                        yield message
            finally:
                assert server.stdout is not None
                server.stdout.close()
                _end(server)
        raise ServerGone(f"{' '.join(self._command)} ends again and again")

    def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return self.call(tool, arguments)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the reply to a request; None if the server ended.

        Raises:
            ServerGone: the client was closed meanwhile.
        """
        with self._connecting:
            if self._connection is None or not self._connection.is_open:
                self._connection = _Connection(self._command, self._ids)
            connection = self._connection
        return connection.ask(request)

    def close(self) -> None:
        """End the server. Whatever it replied to is stored; calls of other threads that wait are cancelled."""
        with self._connecting:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Connection:
    """A server, and the thread that hands each of its replies to the call that waits for it.

    Attributes:
        is_open: whether the server takes requests, as far as is known.
    """

    def __init__(self, command: Sequence[str], ids: Iterator[int]) -> None:
        self._ids = ids
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        # The requests without a reply yet; None in place of a reply: the server has ended.
        self._waiting: dict[int, tuple[dict[str, Any], SimpleQueue[dict[str, Any] | None]]] = {}
        self.is_open = True
        self._is_closed = False
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read, name="tui-tasks replies", daemon=True)
        self._reader.start()

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the reply to a request; None if the server ended.

        Raises:
            ServerGone: the connection was closed meanwhile.
        """
        replies: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        with self._lock:
            if not self.is_open:
                return None
            self._waiting[request["id"]] = request, replies
        try:
            self._send(request)
            reply = replies.get()
        except BaseException:
            self._send(requests.cancellation(next(self._ids), request))
            raise
        finally:
            with self._lock:
                self._waiting.pop(request["id"], None)
        if reply is None and self._is_closed:
            raise ServerGone("the client was closed while the call waited")
        return reply

    def _send(self, request: dict[str, Any]) -> None:
        with self._sending:
            _write(self._server, request)

    def _read(self) -> None:
        for message in _messages(self._server):
            if "ok" in message:
                with self._lock:
                    _, replies = self._waiting.get(message.get("id", 0), (None, None))
                if replies is not None:
                    replies.put(message)
        # What it wrote last was no line, or its end: it serves no more.
        with self._lock:
            self.is_open = False
            waiting = list(self._waiting.values())
        for _, replies in waiting:
            replies.put(None)
        assert self._server.stdout is not None
        self._server.stdout.close()
        _end(self._server)

    def close(self) -> None:
        """End the server; calls that wait are cancelled."""
        self._is_closed = True
        with self._lock:
            waiting = [request for request, _ in self._waiting.values()]
        for request in waiting:
            self._send(requests.cancellation(next(self._ids), request))
        with self._sending:
            _end(self._server)
        self._reader.join()


def _write(server: subprocess.Popen[bytes], request: dict[str, Any]) -> None:
    """Write a request. If the server has ended, its output says so."""
    assert server.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        server.stdin.write(requests.line(request))
        server.stdin.flush()


def _messages(server: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    assert server.stdout is not None
    handle = server.stdout.fileno()
    return requests.messages(iter(lambda: os.read(handle, _CHUNK), b""))


def _end(server: subprocess.Popen[bytes]) -> None:
    """End a server by closing its input; kill it if it does not end in time."""
    assert server.stdin is not None
    with contextlib.suppress(OSError):
        server.stdin.close()
    try:
        server.wait(requests.END_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
