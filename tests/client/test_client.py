"""The clients in Python, against real servers."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from tests.contract.client import ROOT
from tests.docs import client_tools
from tui_tasks import clock
from tui_tasks.client import AsyncClient, Client, ServerGone, ToolError, sync_client
from tui_tasks.client.tools import METHODS
from tui_tasks.core.operations.asks import AnswerAsk, SendMessage
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.tool_table import TABLE


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("client") / "data" / "tasks.db")


@pytest.fixture(scope="module")
def client(db: str):
    with Client(db, agent="worker") as made:
        yield made


def test_the_methods_and_their_types_are_those_of_the_tool_table():
    for file, text in client_tools.unformatted().items():
        there, made = (ast.dump(ast.parse(source)) for source in (file.read_text(), text))
        assert there == made, "python -m tests.docs.tools_page"


def test_a_method_is_described_by_a_whole_sentence_of_its_tool():
    stub = ast.parse(client_tools.STUB_FILE.read_text())
    told = {
        found.name: " ".join((ast.get_docstring(found) or "").split())
        for found in ast.walk(stub)
        if isinstance(found, ast.FunctionDef) and found.name != "_call"
    }
    assert told.keys() == METHODS.keys()
    for name, about in told.items():
        rest = TABLE.tools[METHODS[name]].description.split("\n")[0].removeprefix(about)
        assert about.endswith("."), name
        assert rest == "" or rest.startswith(" "), (name, about)


def test_a_name_that_is_no_tool_is_no_attribute(client):
    assert not hasattr(client, "tasklist_dance")
    with pytest.raises(AttributeError, match="'Client' object has no attribute 'tasklist:add_task'"):
        getattr(client, "tasklist:add_task")
    assert set(METHODS) < set(dir(client))
    assert client.tasklist_add_task.__name__ == "tasklist_add_task"
    with pytest.raises(TypeError):
        client.tasklist_add_task("by position")


USE = """\
from tui_tasks import open_state
from tui_tasks.client import AsyncClient, Client, ServerGone, ToolError


def use(client: Client) -> None:
    client.tasklist_add_task(name="Build", description=None)
    client.tasks(action="pending", suggest_next=True)
    client.control_update_task(uid="a", due=None)
    with open_state() as state:
        state.tools.tasklist_add_task(name="Build")


async def use_async(client: AsyncClient) -> None:
    made = await client.tasklist_add_task(name="Build")
    print(made["uid"])


def misuse(client: Client, other: AsyncClient) -> None:
    client.tasklist_add_task()
    client.tasklist_add_task(name=5)
    client.tasklist_add_task("Build")
    client.tasklist_dance()
    client.task(action="dance")
    other.tasklist_add_task(name="Build")["uid"]
"""


def test_the_types_of_the_methods_hold_under_mypy_strict(tmp_path):
    pytest.importorskip("mypy", reason="mypy is in the extra dev")
    (tmp_path / "use.py").write_text(USE)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", "cache", "use.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    told = re.findall(r"use\.py:(\d+): error: .*\[([a-z-]+)\]", done.stdout)
    first = USE[: USE.index("    client.tasklist_add_task()\n")].count("\n") + 1
    assert told == [
        (str(first + at), kind)
        for at, kind in enumerate(("call-arg", "arg-type", "call-arg", "attr-defined", "arg-type", "index"))
    ], done.stdout + done.stderr


def test_a_tool_is_a_method_that_returns_its_result_or_raises(client):
    made = client.tasklist_add_task(name="Build é", description="x")
    assert client.tasklist_get_task(uid=made["uid"]) == made
    assert client.call("control:task", {"uid": made["uid"]})["version"] == 1
    with pytest.raises(ToolError) as refused:
        client.call("tasklist:set_task_done", {"uid": made["uid"]}, if_version=7)
    assert (refused.value.code, refused.value.data["version"], refused.value.is_retryable) == ("conflict", 1, False)


def test_a_write_whose_server_is_killed_is_sent_again_and_done_once(client, db):
    client.tasklist_add_task(name="before")
    client._connection._server.kill()
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


# Runs the program given to it, and at its first start cuts the first line that has MARK in the middle, as a kill does.
CUTTER = """\
import os, pathlib, subprocess, sys
mark, state, command = sys.argv[1].encode(), pathlib.Path(sys.argv[2]), sys.argv[3:]
server = subprocess.Popen(command, stdout=subprocess.PIPE)
for line in server.stdout:
    if mark in line and not state.exists():
        state.touch()
        os.write(1, line[: len(line) // 2])
        server.kill()
        break
    os.write(1, line)
"""


def cutting(folder: Path, mark: str) -> list[str]:
    """The argv of a server that is killed in the midst of a line."""
    return [sys.executable, "-c", CUTTER, mark, str(folder / "was-cut"), sys.executable, "-m", "tui_tasks"]


def test_half_a_reply_is_a_server_that_has_gone_and_the_write_is_sent_again_and_done_once(db, tmp_path):
    with Client(db, agent="cut", program=cutting(tmp_path, "half a reply")) as client:
        made = client.tasklist_add_task(name="half a reply")
        assert (tmp_path / "was-cut").exists()
        assert [task["uid"] for task in client.tasklist_display() if task["name"] == "half a reply"] == [made["uid"]]

    async def script() -> None:
        program = cutting(tmp_path, "another half")
        (tmp_path / "was-cut").unlink()
        async with AsyncClient(db, agent="cut", program=program) as client:
            made = await client.tasklist_add_task(name="another half")
            assert (tmp_path / "was-cut").exists()
            found = [task["uid"] for task in await client.tasklist_display() if task["name"] == "another half"]
            assert found == [made["uid"]]

    asyncio.run(script())


def test_after_half_an_event_the_events_go_on_after_the_last_whole_one(db, client, tmp_path):
    since = client.control_hello()["seq"]
    for name in ("whole", "half an event", "last"):
        client.tasklist_add_task(name=name)
    events = Client(db, agent="monitor", program=cutting(tmp_path, "half an event")).events(since)
    assert [next(events)["task"]["name"] for _ in range(3)] == ["whole", "half an event", "last"]
    assert (tmp_path / "was-cut").exists()
    events.close()

    async def script() -> list[str]:
        (tmp_path / "was-cut").unlink()
        events = AsyncClient(db, agent="monitor", program=cutting(tmp_path, "half an event")).events(since)
        names = [(await anext(events))["task"]["name"] for _ in range(3)]
        await events.aclose()
        return names

    assert asyncio.run(script()) == ["whole", "half an event", "last"]
    assert (tmp_path / "was-cut").exists()


def test_a_server_that_cannot_be_kept_running_is_told_of():
    for program in ("pass", 'print(\'{"id": 1, "ok\')', "print('hello')", "print('5')"):
        with Client(program=[sys.executable, "-c", program]) as client:
            with pytest.raises(ServerGone):
                client.tasklist_display()
            with pytest.raises(ServerGone):
                next(client.events())

        async def script(program: str) -> None:
            async with AsyncClient(program=[sys.executable, "-c", program]) as client:
                with pytest.raises(ServerGone):
                    await client.tasklist_display()
                with pytest.raises(ServerGone):
                    await anext(client.events())

        asyncio.run(script(program))


def waiting_ask(db: str, client: Client, **arguments: Any) -> Future[Any]:
    """A question that another thread asks and waits for, once it stands."""
    asked: Future[Any] = Future()

    def ask() -> None:
        try:
            asked.set_result(client.ask(question="go?", **arguments))
        except Exception as error:
            asked.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    with Client(db, agent="looker") as looker:
        next(event for event in looker.events(0) if event["event"] == "ask.opened" and event["actor"] == "waiter")
    return asked


def open_questions(db: str) -> list[str]:
    with Store(db) as store:
        return [asked.uid for asked in ask_queries.open_asks(store.db)]


def test_a_heartbeat_passes_while_another_thread_waits_for_an_answer(tmp_path):
    db = str(tmp_path / "tasks.db")
    with Client(db, agent="waiter") as client:
        client.tasklist_add_task(name="work")
        claim = client.control_claim(lease_seconds=60)["claim"]
        asked = waiting_ask(db, client, timeout=600)
        assert client.control_heartbeat(claim=claim)["claim"] == claim
        assert not asked.done()
        (uid,) = open_questions(db)
        with Store(db) as store:
            store.commit(AnswerAsk(uid, "yes"), actor="human", now=clock.now())
        assert asked.result(30)["answer"] == "yes"


def test_a_client_that_is_closed_while_another_thread_asks_withdraws_the_question(tmp_path):
    db = str(tmp_path / "tasks.db")
    client = Client(db, agent="waiter")
    asked = waiting_ask(db, client, timeout=600)
    client.close()
    with pytest.raises(ToolError, match="withdrawn"):
        asked.result(30)
    assert open_questions(db) == []


def test_a_call_that_is_interrupted_withdraws_its_question(tmp_path, monkeypatch):
    class Interrupted(SimpleQueue):
        def get(self) -> None:
            raise KeyboardInterrupt

    db = str(tmp_path / "tasks.db")
    with Client(db, agent="waiter") as client:
        with monkeypatch.context() as patch:
            patch.setattr(sync_client, "SimpleQueue", Interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.ask(question="go?", timeout=600)
        client.control_hello()
        client.control_hello()  # the first may be answered before the question is withdrawn
        assert open_questions(db) == []


def test_an_ask_of_the_async_client_that_is_cancelled_withdraws_its_question(tmp_path):
    db = str(tmp_path / "tasks.db")

    async def script() -> None:
        async with AsyncClient(db, agent="waiter") as client:
            for arguments in ({}, {"timeout": 600}, {"wait": 300}):
                asked = asyncio.create_task(client.ask(question="go?", **arguments))
                while not await client.control_hello() or not open_questions(db):
                    pass
                asked.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asked
                await client.control_hello()
                await client.control_hello()
                assert open_questions(db) == [], arguments

    asyncio.run(script())


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
            os.kill(client._connection._server.pid, signal.SIGKILL)
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
