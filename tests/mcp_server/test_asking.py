"""A question to the human, by whatever a client has for it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import anyio
import mcp
import mcp_types as types
import pytest
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from tests.mcp_server.shared import Served, error, held, served
from tests.started import DEADLINE
from tui_tasks.core.commit import journal
from tui_tasks.core.read import ask_queries
from tui_tasks.mcp_server import asking

REVISIONS = ["legacy", "2026-07-28"]


def in_process(path: Path, script: Callable[[Served], Awaitable[None]]) -> None:
    async def run() -> None:
        with anyio.fail_after(DEADLINE):
            async with served(path) as found:
                await script(found)

    anyio.run(run)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await anyio.sleep(0.001)


@pytest.mark.parametrize("mode", REVISIONS)
def test_a_client_that_has_nothing_for_it_is_given_a_ticket_in_time(
    path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(asking, "TICKET_SECONDS", 0.05)

    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode=mode) as client:
            ticket = held(await client.call_tool("ask", {"question": "Shall I?"}))
            assert (ticket.keys(), ticket["state"]) == ({"ask", "state"}, "open")
        found.answer("Yes")
        async with mcp.Client(found.server, mode=mode) as later:
            answer = held(await later.call_tool("control_answer_of", {"ask": ticket["ask"]}))
            assert (answer["state"], answer["answer"]) == ("answered", "Yes")

    in_process(path, script)


def test_the_ticket_comes_before_the_least_patient_client_gives_up() -> None:
    assert asking.TICKET_SECONDS < 30


@pytest.mark.parametrize("mode", REVISIONS)
def test_a_client_with_dialogs_shows_the_question_and_its_answer_counts(path: Path, mode: str) -> None:
    shown: list[Any] = []

    async def dialog(context: Any, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        shown.append(params)
        return types.ElicitResult(action="accept", content={"choice": "jose"})

    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode=mode, elicitation_callback=dialog) as client:
            answer = held(await client.call_tool("ask", {"question": "Which?", "options": ["jose", "pyjwt"]}))
            assert answer["answer"] == "jose"
        (params,) = shown
        assert params.message == "Which?"
        assert params.requested_schema["properties"]["choice"]["enum"] == ["jose", "pyjwt"]
        entry = journal.latest(found.store.db, 1)[0]
        # What a client says is not what the screen says.
        assert (entry.kind, entry.actor) == ("ask.answered", "agent")
        assert "dialog" in entry.why["topic"]

    in_process(path, script)


def test_the_screen_may_answer_first_where_a_dialog_stands(path: Path) -> None:
    async def dialog(context: Any, params: Any) -> types.ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode="legacy", elicitation_callback=dialog) as client:
            async with anyio.create_task_group() as group:

                async def human() -> None:
                    await until(lambda: bool(ask_queries.open_asks(found.store.db)))
                    found.answer("From the screen")

                group.start_soon(human)
                answer = held(await client.call_tool("ask", {"question": "Which?"}))
            assert answer["answer"] == "From the screen"

    in_process(path, script)


@pytest.mark.parametrize("mode", REVISIONS)
def test_a_dialog_that_is_declined_leaves_the_question_to_the_screen(
    path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(asking, "TICKET_SECONDS", 0.05)

    async def dialog(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode=mode, elicitation_callback=dialog) as client:
            assert held(await client.call_tool("ask", {"question": "Which?"}))["state"] == "open"
        assert len(ask_queries.open_asks(found.store.db)) == 1

    in_process(path, script)


def test_a_call_that_is_cancelled_withdraws_its_question(path: Path) -> None:
    async def dialog(context: Any, params: Any) -> types.ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def script(found: Served) -> None:
        for callback in (None, dialog):
            async with mcp.Client(found.server, mode="legacy", elicitation_callback=callback) as client:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "ask", {"question": "Which?"})
                    await until(lambda: bool(ask_queries.open_asks(found.store.db)))
                    group.cancel_scope.cancel()
                await until(lambda: not ask_queries.open_asks(found.store.db))

    in_process(path, script)


def test_a_question_with_a_timeout_ends_as_one(path: Path) -> None:
    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode="legacy") as client:
            asked = await client.call_tool("ask", {"question": "Anybody?", "timeout": 0.05})
            assert error(asked)["code"] == "timeout"
        assert ask_queries.open_asks(found.store.db) == []

    in_process(path, script)


def test_a_call_that_waits_tells_that_it_does(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_tasks.mcp_server.handlers._PROGRESS_SECONDS", 0.01)
    told: list[float] = []

    async def script(found: Served) -> None:
        async def progress(passed: float, total: float | None, message: str | None) -> None:
            told.append(passed)
            if len(told) == 2:
                found.answer("Yes")

        async with mcp.Client(found.server, mode="legacy") as client:
            held(await client.call_tool("ask", {"question": "Which?"}, progress_callback=progress))
        assert told == sorted(told)
        assert len(told) >= 2

    in_process(path, script)


# The Tasks extension


class TaskHandle(types.Result):
    result_type: Literal["task"]
    task_id: str
    status: str
    created_at: str
    last_updated_at: str
    ttl_ms: int | None = None
    poll_interval_ms: int | None = None


class Tasks(ClientExtension):
    """A client that declares the extension and hands out the handle as a result."""

    identifier = asking.TASKS

    def __init__(self, handles: list[TaskHandle]) -> None:
        self._handles = handles

    def claims(self) -> Any:
        async def resolve(claimed: TaskHandle, context: ClaimContext) -> types.CallToolResult:
            self._handles.append(claimed)
            return types.CallToolResult(content=[])

        return [ResultClaim(result_type="task", model=TaskHandle, resolve=resolve)]


class TaskRequest(types.Request[Any, str]):
    method: str
    params: Any


async def about(client: mcp.Client, method: str, uid: str) -> dict[str, Any]:
    class Anything(types.Result):
        model_config = {"extra": "allow"}

    request = TaskRequest(method=method, params=asking.TaskParams(task_id=uid))
    result = await client.session.send_request(request, Anything)
    return result.model_dump(by_alias=True)


def test_a_question_is_a_task_for_a_client_that_has_tasks(path: Path) -> None:
    async def script(found: Served) -> None:
        handles: list[TaskHandle] = []
        async with mcp.Client(found.server, mode="2026-07-28", extensions=[Tasks(handles)]) as client:
            await client.call_tool("ask", {"question": "Which?"})
            (handle,) = handles
            assert handle.status == "working"
            assert (await about(client, "tasks/get", handle.task_id))["status"] == "working"
        found.answer("This")
        async with mcp.Client(found.server, mode="2026-07-28", extensions=[Tasks(handles)]) as later:
            ended = await about(later, "tasks/get", handle.task_id)
            assert ended["status"] == "completed"
            assert json.loads(ended["result"]["content"][0]["text"])["answer"] == "This"
            await later.call_tool("ask", {"question": "And now?"})
            await about(later, "tasks/cancel", handles[-1].task_id)
            assert (await about(later, "tasks/get", handles[-1].task_id))["status"] == "cancelled"
            with pytest.raises(mcp.MCPError, match="no task"):
                await about(later, "tasks/get", "nobody's")

    in_process(path, script)
