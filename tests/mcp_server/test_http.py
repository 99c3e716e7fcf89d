"""MCP over HTTP: one real server for all tests, driven by the SDK's own client and by bare requests."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.responses import Response

from tests.fork_server import Forked
from tests.mcp_server.shared import error, held
from tests.mcp_server.test_asking import REVISIONS
from tests.started import DEADLINE
from tui_tasks.cli.main import main
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.operations.sessions import SessionReport, SessionStarted
from tui_tasks.core.read.ask_queries import open_asks
from tui_tasks.core.store import Store
from tui_tasks.hooks import intake, session_processes
from tui_tasks.mcp_server import http as over_http
from tui_tasks.mcp_server import http_limits
from tui_tasks.runner import processes
from tui_tasks.settings.http_tokens import Tokens
from tui_tasks.state import callers


class Elsewhere:
    """A server at some address, with a token for each of three agents."""

    def __init__(self, url: str, db: Path, tokens: dict[str, str]) -> None:
        self.url = url
        self.db = db
        self.tokens = tokens
        self.port = int(url.rsplit(":", 1)[1].partition("/")[0])

    @asynccontextmanager
    async def client(self, agent: str, mode: str = "legacy", **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[agent]}"}
        async with httpx2.AsyncClient(headers=headers, timeout=DEADLINE) as bare:
            transport = streamable_http_client(self.url, http_client=bare)
            async with mcp.Client(transport, mode=mode, **options) as found:
                yield found

    def post(self, body: bytes, **headers: str) -> tuple[int, bytes]:
        """What a bare request gets."""
        given = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self.tokens['robin']}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            connection.request("POST", "/mcp", body, given)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: Any) -> Iterator[Elsewhere]:
    db = tmp_path_factory.mktemp("http") / "tasks.db"
    tokens = Tokens(str(db))
    made = {
        "robin": tokens.add("robin", read_only=False, now=1),
        "sam": tokens.add("sam", read_only=False, now=1),
        "reader": tokens.add("reader", read_only=True, now=1),
    }
    command = [sys.executable, "-m", "tui_tasks", "mcp", "--http", "--port", "0", "--db", str(db)]
    with Forked(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            yield Elsewhere(server.stdout.readline().strip(), db, made)
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(DEADLINE) == 0, server.stderr.read()
        assert "Traceback" not in server.stderr.read()


def run(script: Any) -> None:
    async def limited() -> None:
        with anyio.fail_after(DEADLINE):
            await script()

    anyio.run(limited)


@pytest.mark.parametrize("mode", REVISIONS)
def test_an_agent_elsewhere_works_under_the_name_of_its_token(elsewhere: Elsewhere, mode: str) -> None:
    async def script() -> None:
        async with elsewhere.client("robin", mode) as robin, elsewhere.client("sam", mode) as sam:
            uid = held(await robin.call_tool("tasklist_add_task", {"name": "one"}))["uid"]
            held(await sam.call_tool("tasklist_update_task", {"uid": uid, "name": "two"}))
            posing = await sam.call_tool("tasklist_get_task", {"uid": uid}, meta={"agent": "robin"})
            assert error(posing)["code"] == "forbidden"
            assert held(await robin.call_tool("control_hello", {}))["agent"] == "robin"
        with Store(str(elsewhere.db), read_only=True) as store:
            actors = [entry.actor for entry in journal.latest(store.db, 10) if entry.task == uid]
        assert actors == ["robin", "sam"]

    run(script)


@pytest.mark.linux
def test_a_token_with_the_name_of_a_program_is_nobodys_session(elsewhere: Elsewhere) -> None:
    elsewhere.tokens["claude"] = Tokens(str(elsewhere.db)).add("claude", read_only=False, now=1)
    starter = Process(*processes.identity())
    with Store(str(elsewhere.db)) as store, store.transaction(1) as transaction:
        report = SessionReport("claude", "s", (SessionStarted(),), process=starter)
        assert intake.record_report(transaction, "", report, tasks=False)
        started_by = (session_processes.ParentProcess(starter, is_shared=False),)
        assert session_processes.agent_of(store.db, "claude", started_by, "claude") == "claude-1"

    async def script() -> None:
        async with elsewhere.client("claude") as client:
            assert held(await client.call_tool("control_hello", {}))["agent"] == "claude"

    run(script)


@pytest.mark.parametrize("mode", REVISIONS)
def test_a_token_that_reads_writes_nothing(elsewhere: Elsewhere, mode: str) -> None:
    async def script() -> None:
        async with elsewhere.client("reader", mode) as reader:
            assert error(await reader.call_tool("tasklist_add_task", {"name": "x"}))["code"] == "forbidden"
            assert not (await reader.call_tool("tasklist_display", {})).is_error

    run(script)


def test_two_agents_wait_and_each_is_answered(elsewhere: Elsewhere) -> None:
    async def script() -> None:
        answers: dict[str, str] = {}

        async def ask(agent: str) -> None:
            async with elsewhere.client(agent) as client:
                answers[agent] = held(await client.call_tool("ask", {"question": agent}))["answer"]

        with Store(str(elsewhere.db)) as screen:
            async with anyio.create_task_group() as group:
                group.start_soon(ask, "robin")
                group.start_soon(ask, "sam")
                while len(asks := open_asks(screen.db)) < 2:
                    await anyio.sleep(0.01)
                for asked in asks:
                    screen.commit(AnswerAsk(asked.uid, f"to {asked.agent}"), actor="human", now=asked.opened_at)
        assert answers == {"robin": "to robin", "sam": "to sam"}

    run(script)


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tasklist_display"}}


def test_nobody_comes_in_without_a_token(elsewhere: Elsewhere) -> None:
    body = json.dumps(CALL).encode()
    for shown in ("", "Bearer ", "Bearer wrong", f"Basic {elsewhere.tokens['robin']}"):
        assert elsewhere.post(body, Authorization=shown)[0] == 401


def test_a_page_of_another_site_does_not_come_in(elsewhere: Elsewhere) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).encode()
    assert elsewhere.post(body, Origin="https://evil.example")[0] == 403
    assert elsewhere.post(body, Host="evil.example")[0] == 421
    assert elsewhere.post(body, Origin=f"http://127.0.0.1:{elsewhere.port}")[0] not in (401, 403, 421)


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"{", 400, "parse_error"),
        (b'{"a": 1, "a": 2}', 400, "parse_error"),
        (b'{"a": NaN}', 400, "parse_error"),
        (b'{"a": "\\ud800"}', 400, "parse_error"),
        (b'"' + b"x" * 1_100_000 + b'"', 413, "too_large"),
    ],
    ids=["broken", "twice", "nan", "surrogate", "long"],
)
def test_a_body_that_is_no_strict_json_is_refused(elsewhere: Elsewhere, body: bytes, status: int, why: str) -> None:
    found, told = elsewhere.post(body)
    assert found == status
    assert why in told.decode()


def test_a_write_whose_reply_was_lost_is_done_once_when_it_is_sent_again(elsewhere: Elsewhere) -> None:
    async def script() -> None:
        async with elsewhere.client("robin") as robin:
            session_id = await opened(elsewhere)
            send_and_hang_up(elsewhere, session_id, {"name": "once", "idempotency_key": "lost"})
            async with elsewhere.client("robin") as again:
                first = held(await again.call_tool("tasklist_add_task", {"name": "once", "idempotency_key": "lost"}))
            found = [task for task in held(await robin.call_tool("tasklist_display", {})) if task["name"] == "once"]
            assert found == [first]

    run(script)


async def opened(elsewhere: Elsewhere) -> str:
    """The id of a session that was begun by bare requests."""
    headers = {"Authorization": f"Bearer {elsewhere.tokens['robin']}", "Accept": "application/json, text/event-stream"}
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    async with httpx2.AsyncClient(headers=headers, timeout=DEADLINE) as bare:
        begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
        reply = await bare.post(elsewhere.url, json=begin)
        assert reply.status_code == 200
        found = reply.headers["mcp-session-id"]
        begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await bare.post(elsewhere.url, json=begun, headers={"mcp-session-id": found})
    return str(found)


def send_and_hang_up(elsewhere: Elsewhere, session_id: str, arguments: dict[str, Any]) -> None:
    """Send a call, and cut the line before anything of the reply is read."""
    call = {**CALL, "params": {"name": "tasklist_add_task", "arguments": arguments}}
    body = json.dumps(call).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{elsewhere.port}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nAuthorization: Bearer {elsewhere.tokens['robin']}\r\n"
        f"mcp-session-id: {session_id}\r\nmcp-protocol-version: 2025-11-25\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", elsewhere.port)) as line:
        line.sendall(head.encode() + body)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def test_a_session_is_of_no_use_to_another_agent(elsewhere: Elsewhere) -> None:
    async def script() -> None:
        session_id = await opened(elsewhere)
        other = f"Bearer {elsewhere.tokens['sam']}"
        body = json.dumps(CALL).encode()
        assert elsewhere.post(body, Authorization=other, mcp_session_id=session_id)[0] == 404

    run(script)


# Tokens


def test_what_is_revoked_ends_at_once(elsewhere: Elsewhere) -> None:
    tokens = Tokens(str(elsewhere.db))
    body = json.dumps(CALL).encode()
    shown = f"Bearer {tokens.add('gone', read_only=False, now=1)}"
    assert elsewhere.post(body, Authorization=shown)[0] != 401
    tokens.revoke("gone")
    assert elsewhere.post(body, Authorization=shown)[0] == 401


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who hands out tokens."""
    monkeypatch.setattr(callers, "has_terminal", lambda: True)


@pytest.mark.usefixtures("at_terminal")
def test_a_token_is_printed_once_and_kept_as_a_hash_that_its_owner_alone_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = str(tmp_path / "tasks.db")
    assert main(["token", "add", "robin", "--db", db]) == 0
    made = capsys.readouterr().out.strip()
    assert re.fullmatch(r"tui-tasks_[\w-]{43}", made)
    file = Path(f"{db}.tokens")
    assert made not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert main(["token", "add", "robin", "--db", db]) == 1
    assert main(["token", "add", "sam", "--read-only", "--db", db]) == 0
    capsys.readouterr()
    assert main(["token", "list", "--db", db]) == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows == [["robin", "agent"], ["sam", "read-only"]]
    assert main(["token", "revoke", "robin", "--db", db]) == 0
    assert main(["token", "revoke", "robin", "--db", db]) == 1
    assert [token.agent for token in Tokens(db).all()] == ["sam"]


@pytest.mark.usefixtures("at_terminal")
@pytest.mark.parametrize("name", ["human", "shell", " ", "a\u200bb"])
def test_no_token_is_for_a_name_under_which_no_agent_speaks(name: str, tmp_path: Path) -> None:
    assert main(["token", "add", name, "--db", str(tmp_path / "tasks.db")]) == 1
    assert not (tmp_path / "tasks.db.tokens").exists()


# Where it listens


class Limited:
    """The limits before an application that counts what reaches it; the clock moves as it waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.served = 0
        self.limits = http_limits.RequestLimits(self._serve, lambda: self.now, self._sleep)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        self.served += 1
        await Response("ok")(scope, receive, send)

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def ask(self, token: str | None, address: str = "10.0.0.1") -> tuple[int, dict[bytes, bytes]]:
        """Send a request; return the status and headers of its response."""
        start: dict[str, Any] = {}

        async def send(message: Any) -> None:
            start.update(message if message["type"] == "http.response.start" else {})

        async def asked() -> None:
            user = None if token is None else AuthenticatedUser(AccessToken(token=token, client_id=token, scopes=[]))
            with _as(user):
                scope = {"type": "http", "method": "GET", "headers": [], "client": (address, 1)}
                await self.limits(scope, lambda: anyio.sleep_forever(), send)  # type: ignore[arg-type,return-value]

        anyio.run(asked)
        return start["status"], dict(start["headers"])


@contextmanager
def _as(user: AuthenticatedUser | None) -> Iterator[None]:
    before = auth_context_var.set(user)
    try:
        yield
    finally:
        auth_context_var.reset(before)


def test_a_token_above_its_rate_waits_and_only_a_flood_is_refused() -> None:
    limited = Limited()
    assert [limited.ask("a")[0] for _ in range(250)] == [200] * 250
    assert limited.now == pytest.approx(1.0), "50 requests above the burst take a second"
    limited.now = 100.0

    async def at_once(seconds: float) -> None:
        assert seconds <= 2

    limited.limits._sleep = at_once
    told = [limited.ask("a") for _ in range(400)]
    assert [status for status, _ in told].count(429) == 100
    assert told[-1][1][b"retry-after"] == b"1"
    limited.now += 1
    assert limited.ask("a")[0] == 200


def test_one_agents_flood_takes_nothing_from_another_at_its_address() -> None:
    limited = Limited()

    async def at_once(seconds: float) -> None:
        pass

    limited.limits._sleep = at_once
    while limited.ask("flood")[0] != 429:
        pass
    assert limited.ask("other")[0] == 200
    assert limited.now == 0


def test_whoever_has_no_token_keeps_no_connection(elsewhere: Elsewhere) -> None:
    limited = Limited()
    assert limited.ask(None)[1][b"connection"] == b"close"
    assert b"connection" not in limited.ask("a")[1]
    connection = http.client.HTTPConnection("127.0.0.1", elsewhere.port, timeout=DEADLINE)
    connection.request("POST", "/mcp", b"{}", {"Content-Type": "application/json"})
    reply = connection.getresponse()
    assert (reply.status, reply.getheader("connection")) == (401, "close")
    connection.close()


HELLO = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}


def session_of_2025_03(elsewhere: Elsewhere) -> dict[str, str]:
    """Begin a session of that revision; return its headers."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {elsewhere.tokens['robin']}",
    }
    connection = http.client.HTTPConnection("127.0.0.1", elsewhere.port, timeout=DEADLINE)
    begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    connection.request("POST", "/mcp", json.dumps(begin).encode(), headers)
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return {**headers, "Mcp-Session-Id": reply.getheader("mcp-session-id") or ""}


def test_a_batch_of_the_revision_that_has_them_is_answered_by_one_array(elsewhere: Elsewhere) -> None:
    headers = session_of_2025_03(elsewhere)
    batch = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "control_lists_x", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
    ]
    connection = http.client.HTTPConnection("127.0.0.1", elsewhere.port, timeout=DEADLINE)
    connection.request("POST", "/mcp", json.dumps(batch).encode(), headers)
    told = json.loads(connection.getresponse().read())
    assert [each["id"] for each in told] == [1, 2, 3]
    assert told[0]["result"]["tools"]
    assert told[1]["result"]["isError"]
    assert told[2]["error"]["code"] == -32601
    for wrong in ([], [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}]):
        connection.request("POST", "/mcp", json.dumps(wrong).encode(), headers)
        reply = connection.getresponse()
        assert (reply.status, json.loads(reply.read())["error"]["code"]) == (400, -32600)
    connection.close()


def test_a_request_with_the_id_of_an_open_one_is_refused_and_both_are_answered(elsewhere: Elsewhere) -> None:
    headers = session_of_2025_03(elsewhere)
    first, second = (http.client.HTTPConnection("127.0.0.1", elsewhere.port, timeout=DEADLINE) for _ in range(2))
    with Store(str(elsewhere.db)) as human:
        first.request("POST", "/mcp", called("ask", question="One answer?"), headers)
        while not (asked := [each for each in open_asks(human.db) if each.question == "One answer?"]):
            pass
        second.request("POST", "/mcp", called("tasklist_display"), headers)
        refused = second.getresponse()
        told = json.loads(refused.read())
        assert (refused.status, told["id"], told["error"]["code"]) == (400, 7, -32600)
        assert "open request" in told["error"]["message"]
        human.commit(AnswerAsk(asked[0].uid, "Yes"), actor="human", now=asked[0].opened_at)
        assert b"Yes" in first.getresponse().read()
    second.request("POST", "/mcp", called("tasklist_display"), headers)
    assert second.getresponse().status == 200
    first.close()
    second.close()


def called(tool: str, **arguments: Any) -> bytes:
    """A call whose id is 7."""
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()


def test_requests_with_one_id_that_are_sent_at_once_are_answered_one_after_another(elsewhere: Elsewhere) -> None:
    headers = session_of_2025_03(elsewhere)
    connections = [http.client.HTTPConnection("127.0.0.1", elsewhere.port, timeout=DEADLINE) for _ in range(4)]
    for connection in connections:
        connection.request("POST", "/mcp", called("tasklist_display"), headers)
    assert all(b'"id":7' in connection.getresponse().read() for connection in connections)
    for connection in connections:
        connection.close()


def test_events_that_were_missed_are_not_replayed_and_the_stream_opens_all_the_same(elsewhere: Elsewhere) -> None:
    headers = {**session_of_2025_03(elsewhere), "Accept": "text/event-stream", "Last-Event-ID": "7"}
    connection = http.client.HTTPConnection("127.0.0.1", elsewhere.port, timeout=DEADLINE)
    connection.request("GET", "/mcp", headers=headers)
    reply = connection.getresponse()
    assert (reply.status, reply.getheader("content-type")) == (200, "text/event-stream")
    connection.close()


def test_half_open_connections_keep_nobody_out(elsewhere: Elsewhere) -> None:
    with ExitStack() as opened:
        for _ in range(200):
            half = opened.enter_context(socket.create_connection(("127.0.0.1", elsewhere.port)))
            half.sendall(b"POST /mcp HTTP/1.1\r\n")
        assert elsewhere.post(b"not json")[0] == 400


def test_every_address_is_not_listened_at_unless_the_host_is_named() -> None:
    with pytest.raises(DatabaseRefused, match="--allow-host"):
        over_http.check_host(over_http.HttpOptions("0.0.0.0", 1))
    over_http.check_host(over_http.HttpOptions("0.0.0.0", 1, ("tasks.example",)))
    allowed = over_http.HttpOptions("0.0.0.0", 1, ("tasks.example",)).security()
    assert "tasks.example" in allowed.allowed_hosts
    assert "https://tasks.example" in allowed.allowed_origins
    assert "127.0.0.1" not in allowed.allowed_hosts


def test_an_address_that_is_taken_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["mcp", "--http", "--port", port, "--db", str(tmp_path / "tasks.db")]) == 1
    assert "cannot listen" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--port", "99999"), "cannot listen at 127.0.0.1:99999: a port is a number from 0 to 65535; name"),
        (("--host", "nosuch.invalid"), "cannot listen at nosuch.invalid"),
        (("--tls-cert", "none.pem", "--tls-key", "none.pem"), "cannot use the certificate none.pem"),
    ],
    ids=["port", "host", "certificate"],
)
def test_what_cannot_be_served_is_told_without_a_traceback(
    options: tuple[str, ...], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", "--http", *options, "--db", str(tmp_path / "tasks.db")]) == 1
    assert why in capsys.readouterr().err
