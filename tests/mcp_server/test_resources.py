"""What a client may look at, be told of and pick over MCP, and how long a reply may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import mcp
import mcp_types as types
import pytest
from mcp.shared.subscriptions import ResourceUpdated

from tests.mcp_server.shared import Served, held, served
from tests.mcp_server.test_asking import REVISIONS, in_process
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.store import Store
from tui_tasks.mcp_server import results

INBOX = "tui-tasks://inbox"


async def read(client: mcp.Client, uri: str) -> Any:
    (contents,) = (await client.read_resource(uri)).contents
    return json.loads(contents.text)


@pytest.mark.parametrize("mode", REVISIONS)
def test_lists_tasks_and_the_inbox_can_be_read(path: Path, mode: str) -> None:
    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode=mode) as client:
            task = held(await client.call_tool("tasklist_add_task", {"name": "one"}, meta={"list": "a/b ü"}))
            offered = {str(one.uri): one for one in (await client.list_resources()).resources}
            assert {INBOX, "tui-tasks://list/a%2Fb%20%C3%BC"} <= offered.keys()
            shown = await read(client, "tui-tasks://list/a%2Fb%20%C3%BC")
            assert (shown["list"], shown["total"], shown["tasks"][0]["uid"]) == ("a/b ü", 1, task["uid"])
            assert (await read(client, f"tui-tasks://task/{task['uid']}"))["version"] == 1
            with Store(found.store.path) as screen:
                screen.commit(SendMessage("agent", "look here"), actor="human", now=1)
            inbox = await read(client, INBOX)
            assert [message["text"] for message in inbox["messages"]] == ["look here"]
            named = {one.name for one in (await client.list_resource_templates()).resource_templates}
            assert named == {"list", "task"}
            for none in ("tui-tasks://list/none", "tui-tasks://task/none", "other://x"):
                with pytest.raises(mcp.MCPError, match=r"none|other"):
                    await client.read_resource(none)

    in_process(path, script)


def test_a_connection_of_one_list_reads_no_other(path: Path) -> None:
    async def run() -> None:
        with Store(str(path)) as store:
            home = store.commit(EnsureList("theirs", "tasklist"), actor="other", now=1)[0]
            task = store.commit(AddTask("secret", home.uid), actor="other", now=1)[0]
        async with served(path, list="mine", list_only=True) as found, mcp.Client(found.server) as client:
            assert [str(one.uri) for one in (await client.list_resources()).resources] == [INBOX]
            for uri in ("tui-tasks://list/theirs", f"tui-tasks://task/{task.uid}"):
                with pytest.raises(mcp.MCPError):
                    await client.read_resource(uri)

    anyio.run(run)


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_a_subscriber_is_told_of_what_it_named_whoever_changed_it(path: Path) -> None:
    note: list[str] = []

    async def script(found: Served) -> None:
        async def on_message(message: Any) -> None:
            if isinstance(message, types.ResourceUpdatedNotification):
                note.append(str(message.params.uri))

        async with mcp.Client(found.server, mode="legacy", message_handler=on_message) as client:
            task = held(await client.call_tool("tasklist_add_task", {"name": "one"}))
            uri = f"tui-tasks://task/{task['uid']}"
            for each in (uri, INBOX):
                await client.session.subscribe_resource(each)
            await client.call_tool("tasklist_set_task_done", {"uid": task["uid"]})
            await client.call_tool("tasklist_add_task", {"name": "another"})
            with Store(found.store.path) as screen:
                screen.commit(SendMessage("agent", "look here"), actor="human", now=1)
            while len(note) < 2:
                await anyio.sleep(0.001)
            assert note == [uri, INBOX]
            await client.session.unsubscribe_resource(uri)
            await client.call_tool("tasklist_set_task_pending", {"uid": task["uid"]})
            with Store(found.store.path) as screen:
                screen.commit(SendMessage("agent", "again"), actor="human", now=1)
            while len(note) < 3:
                await anyio.sleep(0.001)
            assert set(note[2:]) == {INBOX}

    in_process(path, script)


def test_a_listener_of_the_newest_revision_is_told_too(path: Path) -> None:
    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode="2026-07-28") as client:
            uri = "tui-tasks://list/tasklist"
            async with client.listen(resource_subscriptions=[uri]) as changes:
                await client.call_tool("tasklist_add_task", {"name": "one"})
                assert await anext(aiter(changes)) == ResourceUpdated(uri=uri)

    in_process(path, script)


@pytest.mark.parametrize("mode", REVISIONS)
def test_a_person_may_pick_a_prompt(path: Path, mode: str) -> None:
    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode=mode) as client:
            offered = (await client.list_prompts()).prompts
            assert [prompt.name for prompt in offered] == ["next", "hand_over", "retrospective"]
            for prompt in offered:
                (said,) = (await client.get_prompt(prompt.name)).messages
                assert said.role == "user"
            with pytest.raises(mcp.MCPError, match="use one of next, hand_over, retrospective"):
                await client.get_prompt("none")

    in_process(path, script)


# The length of replies


def test_a_long_list_is_cut_between_tasks_and_read_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MAX_BYTES", 700)

    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode="legacy") as client:
            made = [
                held(await client.call_tool("tasklist_add_task", {"name": f"task {n}", "description": "d" * 50}))
                for n in range(10)
            ]
            cut = await client.call_tool("tasklist_display", {})
            first = json.loads(cut.content[0].text)
            assert first == made[: len(first)]
            assert 0 < len(first) < 10
            assert cut.content[1].text.startswith(f"Cut: {len(first)} of 10 are shown")
            assert f'"after": "{first[-1]["uid"]}"' in cut.content[1].text
            rest = held(await client.call_tool("tasklist_display", {"after": first[-1]["uid"], "limit": 100}))
            assert first + rest == made
            brief = held(await client.call_tool("tasklist_display", {"brief": True, "limit": 3}))
            assert [task.keys() for task in brief] == [{"uid", "name", "status"}] * 3

            newest = json.loads((await client.call_tool("control_history", {})).content[0].text)["entries"]
            assert newest[-1]["task"]["uid"] == made[-1]["uid"]
            seen, since = [], 0
            while since is not None:
                page = json.loads((await client.call_tool("control_history", {"since": since})).content[0].text)
                seen += page["entries"]
                since = page["next"]
            assert [entry["seq"] for entry in seen] == list(range(1, len(seen) + 1))
            assert len(seen) == 10

    in_process(path, script)


def test_a_reply_costs_20000_tokens_at_the_most() -> None:
    items = [{"uid": str(n), "name": "n" * 1_000} for n in range(500)]
    kept, note = results.truncated("tasklist:display", {}, items)
    assert len(json.dumps(kept)) / 4 < 20_500
    assert kept
    assert note
    assert results.truncated("tasklist:display", {"limit": 500}, items) == (items, "")


@pytest.mark.parametrize(("tool", "key"), [("control:find", "tasks"), ("control:history", "entries")])
def test_a_page_that_is_cut_goes_on_after_its_last_item(tool: str, key: str) -> None:
    items = [{"uid": str(n), "seq": n, "name": "n" * 1_000} for n in range(100)]
    cut, note = results.truncated(tool, {"since": 0}, {key: items, "next": "later"})
    last = cut[key][-1]
    assert cut["next"] == (last["uid"] if tool == "control:find" else last["seq"])
    assert len(cut[key]) < 100
    assert note.startswith("Cut: ")


def test_hello_over_mcp_names_the_tools_and_describes_those_that_are_asked_for(path: Path) -> None:
    async def script(found: Served) -> None:
        async with mcp.Client(found.server, mode="legacy") as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert set(held(await client.call_tool("control_hello", {}))["tools"]) >= set(listed)
            (ask,) = (
                tool
                for tool in held(await client.call_tool("control_hello", {"tools": ["ask"]}))["tools"]
                if tool["name"] == "ask"
            )
            assert ask["input_schema"]["properties"]

    in_process(path, script)
