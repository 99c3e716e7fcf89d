"""The clients in Python, against real servers."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import client_tools
from tui_tasks.client import AsyncClient, Client, ToolError
from tui_tasks.client.errors import ServerGone
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.store import Store


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("client") / "data" / "tasks.db")


@pytest.fixture(scope="module")
def client(db: str):
    with Client(db, agent="worker") as made:
        yield made


def test_the_methods_are_those_of_the_tool_table():
    there, made = (ast.dump(ast.parse(text)) for text in (client_tools.FILE.read_text(), client_tools.unformatted()))
    assert there == made, "python -m tests.docs.tools_page"


def test_a_tool_is_a_method_that_returns_its_result_or_raises(client):
    made = client.tasklist_add_task(name="Build é", description="x")
    assert client.tasklist_get_task(uid=made["uid"]) == made
    assert client.call("control:task", {"uid": made["uid"]})["version"] == 1
    with pytest.raises(ToolError) as refused:
        client.call("tasklist:set_task_done", {"uid": made["uid"]}, if_version=7)
    assert (refused.value.code, refused.value.data["version"], refused.value.is_retryable) == ("conflict", 1, False)


def test_a_write_whose_server_is_killed_is_sent_again_and_done_once(client, db):
    client.tasklist_add_task(name="before")
    client._server.send_signal(signal.SIGKILL)
    client._server.wait()
    client.tasklist_add_task(name="after")
    names = [task["name"] for task in client.tasklist_display()]
    assert names.count("after") == 1

    class Cut:
        """Loses the reply to a request that was done."""

        def __init__(self, real):
            self.real, self.is_cut = real, False

        def __call__(self, made):
            reply = self.real(made)
            if not self.is_cut and reply is not None:
                self.is_cut = True
                return None
            return reply

    client._ask = Cut(client._ask)
    try:
        client.tasklist_add_task(name="once")
    finally:
        del client._ask
    assert [task["name"] for task in client.tasklist_display()].count("once") == 1


def test_what_the_human_writes_is_given_to_the_program(db):
    told: list[str] = []
    with Client(db, agent="listener", on_message=told.append) as client:
        client.tasklist_display()
        with Store(db) as store:
            store.commit(SendMessage("listener", "stop"), actor="human", now=1)
        client.tasklist_display()
        client.tasklist_display()
    assert told == ["stop"]


def test_events_go_on_after_the_last_one_where_the_server_is_killed(client, db):
    since = client.control_hello()["seq"]
    client.tasklist_add_task(name="e1")
    client.tasklist_add_task(name="e2")
    servers = []
    listener = Client(db, agent="monitor")
    real = subprocess.Popen

    def noting(*given, **named):
        servers.append(real(*given, **named))
        return servers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", noting)
        events = listener.events(since)
        heard = [next(events)]
        servers[-1].kill()
        heard += [next(events)]
        client.tasklist_add_task(name="e3")
        heard += [next(events)]
        events.close()
    assert [event["task"]["name"] for event in heard] == ["e1", "e2", "e3"]
    assert len({event["seq"] for event in heard}) == 3
    assert all(server.poll() is not None for server in servers)


def test_a_server_that_cannot_be_kept_running_is_told_of(tmp_path: Path):
    with Client(program=[sys.executable, "-c", "pass"]) as client, pytest.raises(ServerGone):
        client.tasklist_display()


def test_many_requests_at_once_and_one_that_waits_holds_up_none(db):
    async def script() -> None:
        async with AsyncClient(db, agent="many") as client:
            asked = asyncio.create_task(client.call("ask", {"question": "go?", "timeout": 30}))
            made = await asyncio.gather(*(client.tasklist_add_task(name=f"n{n}") for n in range(20)))
            assert len({task["uid"] for task in made}) == 20
            with pytest.raises(ToolError):
                await client.tasklist_get_task(uid="none")
            assert not asked.done()
            asked.cancel()
            os.kill(client._server.pid, signal.SIGKILL)
            assert (await client.tasklist_get_task(uid=made[0]["uid"]))["name"] == "n0"
            seq = (await client.control_hello())["seq"]
            await client.tasklist_add_task(name="heard")
            events = client.events(seq)
            assert (await anext(events))["task"]["name"] == "heard"
            await events.aclose()

    asyncio.run(script())


def test_a_client_imports_nothing_of_the_program_itself():
    code = "import sys, tui_tasks.client; print([name for name in sys.modules if name.startswith('tui_tasks.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name.startswith("'tui_tasks.client") for name in done.stdout.strip()[1:-1].split(", "))
