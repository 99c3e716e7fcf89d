"""The tools over MCP, driven by the SDK's own client against a real process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp.client.stdio import stdio_client  # noqa: E402 - an extra, which may be missing

from tui_tasks.core.operations import AnswerAsk, SendMessage  # noqa: E402 - after what may be missing
from tui_tasks.core.read.tasks import queries  # noqa: E402 - after what may be missing
from tui_tasks.core.store import Store  # noqa: E402 - after what may be missing
from tui_tasks.dialects.table import TABLE  # noqa: E402 - after what may be missing


def driven(tmp_path: Path, script: Callable[[Any], Awaitable[None]]) -> None:
    async def run() -> None:
        server = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "tui_tasks", "mcp", "--db", str(tmp_path / "tasks.db")]
        )
        with anyio.fail_after(60):
            async with stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
                await session.initialize()
                await script(session)

    anyio.run(run)


def test_every_tool_is_listed_with_its_description_and_schema_under_a_name_without_colons(tmp_path: Path) -> None:
    async def script(session: Any) -> None:
        listed = {tool.name: tool for tool in (await session.list_tools()).tools}
        expected = {tool.name.replace(":", "_") for tool in TABLE.tools.values() if not tool.human}
        assert listed.keys() == expected - {"control_subscribe", "control_unsubscribe"}
        add = listed["tasklist_add_task"]
        assert add.description == TABLE.tools["tasklist:add_task"].description
        assert add.input_schema["required"] == ["name"]
        assert add.input_schema["additionalProperties"] is False

    driven(tmp_path, script)


def test_a_call_gives_a_structured_result_that_another_call_can_use(tmp_path: Path) -> None:
    async def script(session: Any) -> None:
        made = await session.call_tool("tasklist_add_task", {"name": "one"})
        assert not made.is_error
        shown = await session.call_tool("tasklist_get_task", {"uid": made.structured_content["uid"]})
        assert shown.structured_content == made.structured_content
        everything = await session.call_tool("tasklist_display", {})
        assert everything.structured_content == {"result": [made.structured_content]}

    driven(tmp_path, script)


def test_a_refusal_is_an_error_with_its_code_and_writes_nothing(tmp_path: Path) -> None:
    async def script(session: Any) -> None:
        refused = await session.call_tool("tasklist_add_task", {"name": "one", "bogus": 1})
        assert refused.is_error
        assert refused.structured_content["error"]["code"] == "invalid_argument"
        assert refused.structured_content["error"]["data"] == {"argument": "bogus"}
        assert (await session.call_tool("tasklist_display", {})).structured_content == {"result": []}
        unknown = await session.call_tool("tasklist_add_tsk", {})
        assert unknown.is_error
        assert unknown.structured_content["error"]["code"] == "unknown_tool"

    driven(tmp_path, script)


def test_a_verb_of_the_humans_is_forbidden_and_the_attempt_is_kept(tmp_path: Path) -> None:
    async def script(session: Any) -> None:
        refused = await session.call_tool("control_pause", {"agent": "other"})
        assert refused.is_error
        assert refused.structured_content["error"]["code"] == "forbidden"
        (entry,) = (await session.call_tool("control_history", {})).structured_content["entries"]
        assert entry["event"] == "agent.refused"

    driven(tmp_path, script)


async def history(session: Any) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = (await session.call_tool("control_history", {})).structured_content["entries"]
    return entries


@pytest.mark.parametrize("in_meta", [True, False], ids=["in _meta", "among the arguments"])
def test_a_write_goes_through_only_at_the_version_it_names(tmp_path: Path, in_meta: bool) -> None:
    async def rename(session: Any, uid: str, name: str, version: Any) -> Any:
        arguments, beside = {"uid": uid, "name": name}, {"if_version": version}
        if in_meta:
            return await session.call_tool("tasklist_update_task", arguments, meta=beside)
        return await session.call_tool("tasklist_update_task", {**arguments, **beside})

    async def script(session: Any) -> None:
        uid = (await session.call_tool("tasklist_add_task", {"name": "one"})).structured_content["uid"]
        assert not (await rename(session, uid, "two", 1)).is_error
        refused = await rename(session, uid, "three", 1)
        assert refused.structured_content["error"]["code"] == "conflict"
        assert refused.structured_content["error"]["data"]["version"] == 2
        wrong = await rename(session, uid, "three", "two")
        assert wrong.structured_content["error"]["code"] == "invalid_request"
        shown = await session.call_tool("tasklist_get_task", {"uid": uid})
        assert shown.structured_content["name"] == "two"

    driven(tmp_path, script)


@pytest.mark.parametrize("in_meta", [True, False], ids=["in _meta", "among the arguments"])
def test_a_call_with_a_key_is_done_once_and_its_reasoning_is_kept(tmp_path: Path, in_meta: bool) -> None:
    beside = {"idempotency_key": "k1", "thoughts": ["it is needed"], "topic": "start"}

    async def add(session: Any, name: str) -> Any:
        if in_meta:
            return await session.call_tool("tasklist_add_task", {"name": name}, meta=beside)
        return await session.call_tool("tasklist_add_task", {"name": name, **beside})

    async def script(session: Any) -> None:
        first, again, other = [await add(session, name) for name in ("one", "one", "two")]
        assert not first.is_error
        assert again.structured_content == first.structured_content
        assert other.structured_content["error"]["code"] == "invalid_request"
        (entry,) = await history(session)
        assert entry["why"] == {"thoughts": ["it is needed"], "topic": "start"}

    driven(tmp_path, script)


def test_a_call_names_its_list_in_meta_but_speaks_as_nobody_else(tmp_path: Path) -> None:
    async def script(session: Any) -> None:
        await session.call_tool("tasklist_add_task", {"name": "one"}, meta={"list": "mine", "agent": "agent"})
        entries = await history(session)
        assert [(entry["actor"], entry["task"]["list"]) for entry in entries if "task" in entry] == [("agent", "mine")]
        refused = await session.call_tool("tasklist_add_task", {"name": "one"}, meta={"agent": "human"})
        assert refused.structured_content["error"]["code"] == "invalid_request"
        refused = await session.call_tool("tasklist_add_task", {"name": "one"}, meta={"agent": "robin"})
        assert refused.structured_content["error"]["code"] == "forbidden"
        as_argument = await session.call_tool("tasklist_add_task", {"name": "one", "agent": "robin"})
        assert as_argument.structured_content["error"]["data"] == {"argument": "agent"}

    driven(tmp_path, script)


def test_what_reads_takes_nothing_beside_its_arguments_and_a_schema_says_what_is_taken(tmp_path: Path) -> None:
    async def script(session: Any) -> None:
        listed = {tool.name: tool.input_schema["properties"].keys() for tool in (await session.list_tools()).tools}
        beside = {"if_version", "idempotency_key", "topic", "observations", "thoughts", "reflection"}
        assert listed["tasklist_update_task"] == {"uid", "name", "description", "status"} | beside
        assert listed["tasklist_add_task"] == {"name", "description"} | beside - {"if_version"}
        assert listed["tasklist_get_task"] == {"uid"}
        refused = await session.call_tool("tasklist_display", {"if_version": 1})
        assert refused.structured_content["error"]["data"] == {"argument": "if_version"}

    driven(tmp_path, script)


def test_calls_that_wait_are_answered_when_another_process_commits(tmp_path: Path) -> None:
    async def script(session: Any) -> None:
        answers: dict[str, Any] = {}

        async def ask(question: str) -> None:
            answers[question] = await session.call_tool("ask", {"question": question})

        with Store(str(tmp_path / "tasks.db")) as store:
            async with anyio.create_task_group() as group:
                for question in ("One?", "Two?"):
                    group.start_soon(ask, question)
                while len(asks := queries.open_asks(store.db)) < 2:
                    await session.call_tool("tasklist_display", {})
                for each in asks:
                    store.commit(AnswerAsk(each.uid, f"Yes: {each.question}"), actor="human", now=each.opened_at)
        assert {question: reply.structured_content["answer"] for question, reply in answers.items()} == {
            "One?": "Yes: One?",
            "Two?": "Yes: Two?",
        }

    driven(tmp_path, script)


def test_a_question_that_nobody_answers_times_out_and_other_calls_are_served_meanwhile(tmp_path: Path) -> None:
    async def script(session: Any) -> None:
        async def ask() -> None:
            answer = await session.call_tool("ask", {"question": "May I?", "timeout": 1})
            assert answer.is_error
            assert answer.structured_content["error"]["code"] == "timeout"

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            assert not (await session.call_tool("tasklist_add_task", {"name": "meanwhile"})).is_error

    driven(tmp_path, script)


ADD = '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "tasklist_add_task", "arguments": %s}}'


@pytest.mark.parametrize(
    ("sent", "id", "why"),
    [
        (ADD % '{"name": "\\ud800"}', 7, "parse_error: a lone surrogate"),
        (ADD % '{"name": "x", "description": NaN}', 7, "parse_error: NaN is no JSON"),
        (ADD % '{"name": "x", "name": "y"}', 7, "parse_error: the key 'name' comes twice"),
        (ADD % ("[" * 70 + "]" * 70), 7, "parse_error: nested deeper than 64"),
        (ADD % ("[" * 100_000 + "]" * 100_000), 7, "parse_error: nested deeper than 64"),
        (ADD % '{"name": 1e400}', 7, "parse_error: a number too large"),
        ('{"params": {"id": 3, "a": "\\"id\\":4"}, "id": "seven", "x": NaN}', "seven", "parse_error: NaN"),
        ('{"id": "\\ud800", "x": NaN}', None, "parse_error: NaN"),
        ("{", None, "parse_error: not one JSON text"),
        ("\udcff", None, "parse_error: not UTF-8"),
        ('{"id": 7}', 7, "invalid_request: not a message"),
        ("[]", None, "invalid_request: not a message"),
        (ADD % ('{"name": "' + "x" * 1_100_000 + '"}'), 7, "too_large: a line of over 1,048,576 bytes"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_line_that_is_no_message_is_answered_and_the_next_is_served(
    tmp_path: Path, sent: str, id: object, why: str
) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        sent,
        ADD.replace("7", "8", 1) % '{"name": "good"}',
    ]
    command = [sys.executable, "-m", "tui_tasks", "mcp", "--db", str(tmp_path / "tasks.db")]
    given = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(given)
        server.stdin.flush()
        begun, *two = sorted(
            (json.loads(server.stdout.readline()) for _ in range(3)), key=lambda reply: "error" in reply
        )
        good, refused = two
        assert (begun["id"], good["id"], good["result"]["isError"]) == (1, 8, False)
        assert refused["id"] == id
        assert refused["error"]["message"].startswith(why)
        server.stdin.close()
        assert server.wait(60) == 0
        assert server.stderr.read() == b""
    listed = [sys.executable, "-m", "tui_tasks", "ls", "--json", "--db", str(tmp_path / "tasks.db")]
    tasks = json.loads(subprocess.run(listed, capture_output=True, check=True, timeout=60).stdout)
    assert [task["name"] for task in tasks] == ["good"]


def test_a_client_that_dies_ends_the_server_without_a_word(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tui_tasks", "mcp", "--db", str(tmp_path / "tasks.db")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
        server.stdin.write(json.dumps(begin).encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.stdout.close()
        begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
        server.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in (begun, ask)))
        server.stdin.close()
        assert server.wait(60) == 0
        assert server.stderr.read() == b""


def test_what_the_human_wrote_comes_once_with_the_next_result_for_model_and_client(tmp_path: Path) -> None:
    async def script(session: Any) -> None:
        await session.call_tool("tasklist_display", {})
        with Store(str(tmp_path / "tasks.db")) as store:
            for text in ("stop", "look\nhere"):
                store.commit(SendMessage("agent", text), actor="human", now=1)
        told = await session.call_tool("tasklist_get_task", {"uid": "none"})
        assert [part.text for part in told.content][:2] == [
            "Message from the human: stop",
            "Message from the human: look\nhere",
        ]
        assert [message["text"] for message in told.meta["tui-tasks/messages"]] == ["stop", "look\nhere"]
        assert told.structured_content["messages"] == told.meta["tui-tasks/messages"]
        assert told.is_error
        again = await session.call_tool("tasklist_get_task", {"uid": "none"})
        assert len(again.content) == 1
        assert "messages" not in again.structured_content

    driven(tmp_path, script)
