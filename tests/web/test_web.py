"""`tui-tasks web` without a browser: who is served, what a page may do, and that a tab and its process end together."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, WSServerHandshakeError
from aiohttp.test_utils import TestClient, TestServer

from tests.contract.client import program
from tests.started import DEADLINE, Started
from tui_tasks.cli.command_parser import parser as made_parser
from tui_tasks.cli.main import main
from tui_tasks.cli.supervise import screen_commands
from tui_tasks.web import page_server

TOKEN = "the-token"
NEVER = ["/nonexistent/program"]
# What begins as a screen does, and then does not listen.
DEAF = [sys.executable, "-c", "import time; print('__GANGLION__', flush=True); time.sleep(60)"]

Client = TestClient[Any, Any]


def serving(command: list[str], story: Callable[[Client], Awaitable[None]]) -> None:
    """Run a story against a server whose tabs are drawn by a command."""

    async def run() -> None:
        async with TestClient(TestServer(page_server.application(command, TOKEN))) as client:
            await story(client)

    asyncio.run(run())


def screen(db: Path, *arguments: str) -> list[str]:
    """The command that draws a tab of `tui-tasks web`."""
    return screen_commands.screen_of(made_parser("web").parse_args(["web", "--db", str(db), *arguments]))


PATHS = ("/", "/ws", "/static/js/textual.js", "/page.css", "/download/x", "/wrong/", "/wrong/ws", "/the-toke/", "//")


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_shown(path: str) -> None:
    async def story(client: Client) -> None:
        for headers in ({}, {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}):
            async with client.get(path, headers=headers, allow_redirects=False) as reply:
                assert reply.status == 403
                assert "token" in await reply.text()

    serving(NEVER, story)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[bad"}, 403),
    ],
)
def test_another_name_and_pages_elsewhere_are_refused_with_the_token_too(headers: dict[str, str], status: int) -> None:
    async def story(client: Client) -> None:
        async with client.get(f"/{TOKEN}/", headers=headers) as reply:
            assert reply.status == status
        with pytest.raises(WSServerHandshakeError) as refused:
            await client.ws_connect(f"/{TOKEN}/ws", headers=headers)
        assert refused.value.status == status

    serving(NEVER, story)


def test_a_page_loads_only_what_is_below_its_token_and_may_do_nothing_else() -> None:
    async def story(client: Client) -> None:
        async with client.get(f"/{TOKEN}/", headers={"Host": "localhost:80", "Origin": "http://localhost"}) as reply:
            assert reply.status == 200
            page, policy = await reply.text(), reply.headers["Content-Security-Policy"]
        assert f'"ws://localhost:80/{TOKEN}/ws"' in page
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "allow-popups" not in policy
        loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
        async with client.get(f"/{TOKEN}/page.css") as reply:
            loaded += re.findall(r'url\("([^"]+)"\)', await reply.text())
        for path in [path for path in loaded if not path.startswith("data:")]:
            async with client.get(f"/{TOKEN}/{path}") as reply:
                assert reply.status == 200, path
                assert reply.headers["X-Content-Type-Options"] == "nosniff"
        for path in ("download/x", "static/", "nothing"):
            async with client.get(f"/{TOKEN}/{path}") as reply:
                assert reply.status in (403, 404), path

    serving(NEVER, story)


def test_a_tab_shows_the_panes_takes_keys_and_ends_with_its_process(db: Path) -> None:
    async def story(client: Client) -> None:
        drawn = b""
        async with client.ws_connect(f"/{TOKEN}/ws?width=120&height=40") as page:

            async def until(text: bytes) -> None:
                nonlocal drawn
                while text not in re.sub(rb"\x1b\[[^a-zA-Z]*[a-zA-Z]", b"", drawn):
                    drawn += await asyncio.wait_for(page.receive_bytes(), DEADLINE)

            await until(b"Ship it")
            for junk in (
                "{",
                "[]",
                "7",
                '["resize", {}]',
                '["stdin", 7]',
                '["no such", 1]',
                '["resize", {"width": 1e999, "height": 1}]',
            ):
                await page.send_str(junk)
            # Keys of the list, too: nothing was clicked that would give it the focus.
            await page.send_str(json.dumps(["stdin", "V"]))
            await until(b"1 task marked")
            await page.send_str(json.dumps(["stdin", "2"]))
            await until(b"Needs you")
            assert b"read only" in drawn
            assert set(re.findall(rb"\x1b\](\d+)", drawn)) <= {b"22"}  # the shape of the pointer, which Textual sets
            await page.send_str(json.dumps(["stdin", "q"]))
            async for _ in page:  # it ends
                pass

    serving(screen(db), story)


def test_a_closed_tab_ends_its_process_by_force_where_it_does_not_listen(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(page_server, "STOP_SECONDS", 0.2)
    began: list[Any] = []
    open_process = page_server.Tab._open_app_process

    async def noting(self: Any, *size: int) -> Any:
        began.append(await open_process(self, *size))
        return began[-1]

    monkeypatch.setattr(page_server.Tab, "_open_app_process", noting)

    async def story(client: Client) -> None:
        async with client.ws_connect(f"/{TOKEN}/ws"):
            pass
        await asyncio.wait_for(began[0].wait(), DEADLINE)

    serving(DEAF, story)
    assert began[0].returncode == -9


def test_a_screen_that_cannot_begin_closes_the_page_and_its_reason_stands_in_the_log(capfd) -> None:
    async def story(client: Client) -> None:
        async with client.ws_connect(f"/{TOKEN}/ws") as page:
            assert [message async for message in page] == []
        assert page.close_code is not None

    serving([sys.executable, "-c", "raise SystemExit('it cannot be read')"], story)
    assert capfd.readouterr() == ("", "it cannot be read\n")


def test_so_many_tabs_and_no_more(monkeypatch) -> None:
    monkeypatch.setattr(page_server, "MAX_TABS", 1)
    monkeypatch.setattr(page_server, "STOP_SECONDS", 0.2)

    async def story(client: Client) -> None:
        async with client.ws_connect(f"/{TOKEN}/ws"):
            with pytest.raises(WSServerHandshakeError) as refused:
                await client.ws_connect(f"/{TOKEN}/ws")
            assert refused.value.status == 503

    serving(DEAF, story)


def test_a_tab_is_the_read_only_screen_unless_the_whole_one_is_asked_for(db: Path) -> None:
    program = [sys.executable, "-m", "tui_tasks"]
    assert screen(db, "--list", "mine") == [*program, "watch", "--db", str(db), "--list", "mine"]
    assert screen(db, "--write", "--no-scheduler") == [*program, "--db", str(db), "--no-scheduler"]


def test_the_command_prints_its_address_and_ends_by_a_signal(db: Path, tmp_path: Path) -> None:
    with Started(
        program("web", "--db", str(db), "--port", "0"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()

        async def look() -> int:
            async with ClientSession() as session, session.get(address) as reply:
                return reply.status

        assert asyncio.run(look()) == 200
        assert len(address.rsplit("/", 2)[1]) >= 40
        running.terminate()
        assert running.communicate(timeout=DEADLINE) == ("", "")
        assert running.returncode == 0


def test_what_cannot_be_served_is_told_in_a_line(db: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    assert main(["web", "--db", str(tmp_path / "none.db")]) == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["web", "--db", str(db), "--port", str(taken.getsockname()[1])]) == 1
    assert main(["web", "--db", str(db), "--port", "70000"]) == 1
    monkeypatch.setitem(sys.modules, "tui_tasks.web", None)
    assert main(["web", "--db", str(db)]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [any(word in line for word in ("no database", "listen", "[web]")) for line in told] == [True] * 4


def test_the_screen_ends_when_the_server_is_killed(db: Path) -> None:
    env = {**os.environ, "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}
    with Started(
        screen(db), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
    ) as drawing:
        assert drawing.stdin is not None
        assert drawing.stdout is not None
        assert drawing.stdout.readline() == b"__GANGLION__\n"
        drawing.stdin.close()
        try:
            assert drawing.wait(DEADLINE) == 128 + signal.SIGHUP
        finally:
            drawing.kill()
