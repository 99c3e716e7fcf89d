"""The tools over MCP's standard input and output, driven by the SDK's own client against real processes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.fork_server import Forked
from tests.mcp_server.shared import Driven, driven, error, held
from tests.started import DEADLINE, Started
from tui_tasks.core.operations.asks import AnswerAsk, SendMessage
from tui_tasks.core.read.ask_queries import open_asks
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.mcp_server.stdio import StrictLines


def test_a_call_gives_a_result_that_another_call_can_use(client: Driven) -> None:
    made = client.ok("tasklist_add_task", {"list": "usable"}, name="one")
    assert client.ok("tasklist_get_task", uid=made["uid"]) == made
    assert client.ok("tasklist_display", {"list": "usable"}) == [made]
    assert client.ok("tasklist_get_task_in_progress", {"list": "usable"}) is None


def test_seed_001s_results_have_their_text_and_what_it_tells_of(client: Driven) -> None:
    made = client.call("task", {"list": "seed"}, action="create", title="Restore")
    uid = made.structured_content["task"]["task_id"]
    assert made.content[0].text == f"Task created: Restore ({uid})\nPriority: medium\nStatus: open"


def test_a_refusal_is_an_error_with_its_code_and_writes_nothing(client: Driven) -> None:
    refused = client.call("tasklist_add_task", {"list": "refused"}, name="one", bogus=1)
    assert error(refused)["code"] == "invalid_argument"
    assert error(refused)["data"]["argument"] == "bogus"
    assert refused.content[0].text.startswith("invalid_argument: unknown argument bogus")
    assert client.ok("tasklist_display", {"list": "refused"}) == []


def test_a_verb_of_the_humans_is_forbidden_and_the_attempt_is_kept(client: Driven) -> None:
    assert client.refused("control_pause", agent="other")["code"] == "forbidden"
    (entry,) = client.ok("control_history", limit=1)["entries"]
    assert entry["event"] == "agent.refused"


@pytest.mark.parametrize("in_meta", [True, False], ids=["in _meta", "among the arguments"])
def test_a_write_goes_through_only_at_the_version_it_names(client: Driven, in_meta: bool) -> None:
    def rename(uid: str, name: str, version: Any) -> Any:
        beside = {"if_version": version}
        if in_meta:
            return client.call("tasklist_update_task", beside, uid=uid, name=name)
        return client.call("tasklist_update_task", uid=uid, name=name, **beside)

    uid = client.ok("tasklist_add_task", name="one")["uid"]
    assert not rename(uid, "two", 1).is_error
    refused = error(rename(uid, "three", 1))
    assert (refused["code"], refused["data"]["version"]) == ("conflict", 2)
    assert error(rename(uid, "three", "two"))["code"] == "invalid_request"
    assert client.ok("tasklist_get_task", uid=uid)["name"] == "two"


@pytest.mark.parametrize("in_meta", [True, False], ids=["in _meta", "among the arguments"])
def test_a_call_with_a_key_is_done_once_and_its_reasoning_is_kept(client: Driven, in_meta: bool) -> None:
    beside = {"idempotency_key": f"k{in_meta}", "thoughts": ["it is needed"], "topic": "start"}

    def add(name: str) -> Any:
        if in_meta:
            return client.call("tasklist_add_task", beside, name=name)
        return client.call("tasklist_add_task", name=name, **beside)

    first, again, other = [add(name) for name in ("one", "one", "two")]
    assert held(again) == held(first)
    assert error(other)["code"] == "invalid_request"
    (entry,) = client.ok("control_history", limit=1)["entries"]
    assert (entry["task"]["uid"], entry["why"]) == (
        held(first)["uid"],
        {"thoughts": ["it is needed"], "topic": "start"},
    )


def test_blanks_beside_the_arguments_are_absent(client: Driven) -> None:
    """Clients with strict schemas fill every argument."""
    blank = {"idempotency_key": "", "thoughts": "", "if_version": None}
    uid = client.ok("tasklist_add_task", name="one", description="", idempotency_key="", thoughts="", topic=None)["uid"]
    assert client.ok("control_update_task", uid=uid, name="two", status="", tags=[], list="", **blank)["name"] == "two"
    claim = client.ok("control_claim", list="", uid="", **blank)["claim"]
    assert client.ok("control_release", claim=claim)["status"] == "pending"


def test_a_claim_that_finds_nothing_says_why(client: Driven) -> None:
    nothing, why = client.call("control_claim", list="todo").content
    assert (nothing.text, why.text) == ("null", "nothing is pending in todo")


def test_a_call_names_its_list_in_meta_but_speaks_as_nobody_else(client: Driven) -> None:
    client.ok("tasklist_add_task", {"list": "mine", "agent": "agent"}, name="one")
    (entry,) = client.ok("control_history", limit=1)["entries"]
    assert (entry["actor"], entry["task"]["list"]) == ("agent", "mine")
    assert client.refused("tasklist_add_task", {"agent": "human"}, name="one")["code"] == "invalid_request"
    assert client.refused("tasklist_add_task", {"agent": "robin"}, name="one")["code"] == "forbidden"
    assert client.refused("tasklist_add_task", name="one", agent="robin")["data"]["argument"] == "agent"


def test_what_reads_takes_nothing_beside_its_arguments(client: Driven) -> None:
    assert client.refused("tasklist_display", if_version=1)["data"]["argument"] == "if_version"


def test_calls_that_wait_are_answered_when_another_process_commits(client: Driven) -> None:
    answers: dict[str, Any] = {}

    async def ask(question: str) -> None:
        answers[question] = held(await client.session.call_tool("ask", {"question": question}))

    async def script() -> None:
        with Store(str(client.db)) as store:
            async with anyio.create_task_group() as group:
                for question in ("One?", "Two?"):
                    group.start_soon(ask, question)
                while len(asks := open_asks(store.db)) < 2:
                    await client.session.call_tool("tasklist_display", {})
                for each in asks:
                    store.commit(AnswerAsk(each.uid, f"Yes: {each.question}"), actor="human", now=each.opened_at)

    client.run(script)
    assert {question: reply["answer"] for question, reply in answers.items()} == {
        "One?": "Yes: One?",
        "Two?": "Yes: Two?",
    }


def test_a_question_that_nobody_answers_times_out_and_other_calls_are_served_meanwhile(client: Driven) -> None:
    async def script() -> None:
        async def ask() -> None:
            answer = await client.session.call_tool("ask", {"question": "May I?", "timeout": 0.5})
            assert error(answer)["code"] == "timeout"

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            assert not (await client.session.call_tool("tasklist_add_task", {"name": "meanwhile"})).is_error

    client.run(script)


def test_what_the_human_wrote_comes_once_with_the_next_result_for_model_and_client(client: Driven) -> None:
    with Store(str(client.db)) as store:
        for text in ("stop", "look\nhere"):
            store.commit(SendMessage("agent", text), actor="human", now=1)
    told = client.call("tasklist_get_task", uid="none")
    assert [part.text for part in told.content][:2] == [
        "Message from the human: stop",
        "Message from the human: look\nhere",
    ]
    assert [message["text"] for message in told.meta["tui-tasks/messages"]] == ["stop", "look\nhere"]
    assert told.structured_content["messages"] == told.meta["tui-tasks/messages"]
    assert told.is_error
    again = client.call("tasklist_get_task", uid="none")
    assert len(again.content) == 1
    assert "messages" not in again.structured_content


ADD = '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "tasklist_add_task", "arguments": %s}}'


NO_MESSAGES = [
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
    *(
        (ADD.replace("7", id_, 1) % '{"name": "x"}', None, "invalid_request: the id of")
        for id_ in ("1.5", "true", "null")
    ),
    (ADD % ('{"name": "' + "x" * 1_100_000 + '"}'), 7, "too_large: a line of over 1,048,576 bytes"),
]


def test_a_line_that_is_no_message_is_answered_and_the_next_is_served(tmp_path: Path) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    command = [sys.executable, "-m", "tui_tasks", "mcp", "--db", str(tmp_path / "tasks.db")]
    with Forked(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None

        def send(*lines: str) -> None:
            assert server.stdin is not None
            server.stdin.write("".join(f"{line}\n" for line in lines).encode(errors="surrogateescape"))
            server.stdin.flush()

        def replies(count: int) -> list[dict[str, Any]]:
            assert server.stdout is not None
            return [json.loads(server.stdout.readline()) for _ in range(count)]

        send(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}),
            json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        )
        assert [reply["id"] for reply in replies(1)] == [1]
        for n, (sent, of, why) in enumerate(NO_MESSAGES):
            send(sent, ADD.replace("7", f"{100 + n}", 1) % f'{{"name": "good {n}"}}')
            good, refused = sorted(replies(2), key=lambda reply: "error" in reply)
            assert (good["id"], good["result"]["isError"]) == (100 + n, False), sent[:80]
            assert refused["id"] == of, sent[:80]
            assert refused["error"]["message"].startswith(why), sent[:80]
        server.stdin.close()
        assert server.wait(DEADLINE) == 0
        assert server.stderr.read() == b""
    listed = [sys.executable, "-m", "tui_tasks", "ls", "--json", "--db", str(tmp_path / "tasks.db")]
    tasks = json.loads(subprocess.run(listed, capture_output=True, check=True, timeout=DEADLINE).stdout)
    assert [task["name"] for task in tasks] == [f"good {n}" for n in range(len(NO_MESSAGES))]


def test_an_agent_is_there_as_long_as_its_server_runs(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with driven(db, "--agent-only", "robin") as agent, Store(str(db), read_only=True) as store:
        agent.ok("tasklist_add_task", name="x")
        assert connections.connected_agents(store.db) == ["robin"]
    with Store(str(db)) as store:
        assert connections.connected_agents(store.db) == []


def test_a_client_that_dies_ends_the_server_without_a_word(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tui_tasks", "mcp", "--db", str(tmp_path / "tasks.db")]
    pipe = subprocess.PIPE
    with Started(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
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
        assert server.wait(DEADLINE) == 0
        assert server.stderr.read() == b""


def test_a_wrong_line_whose_answer_nobody_reads_any_more_ends_as_a_client_that_is_gone_does() -> None:
    async def read_wrong_line() -> None:
        lines = StrictLines.__new__(StrictLines)
        lines._input = io.BytesIO(b'{"jsonrpc": "2.0", "id": 1, "meth')
        lines.write, client = anyio.create_memory_object_stream[Any](0)
        client.close()
        async for _ in lines:
            pytest.fail("no message")

    with pytest.raises(BrokenPipeError):
        anyio.run(read_wrong_line)
