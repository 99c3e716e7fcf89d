"""Results as data, for clients that want them: structured content that is what its output schema says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from tests.mcp_server.shared import Driven, driven
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.store import Store


@pytest.fixture(scope="module")
def client(tmp_path_factory: Any) -> Iterator[Driven]:
    with driven(tmp_path_factory.mktemp("mcp") / "tasks.db", "--structured") as found:
        # The SDK's client holds each result to the schema that was listed.
        found.run(found.session.list_tools)
        yield found


def data(client: Driven, tool: str, **arguments: Any) -> Any:
    result = client.call(tool, **arguments)
    assert not result.is_error, result.content
    assert result.content, "a client that reads no data is given text"
    return result.structured_content


def test_the_text_says_what_the_data_says(client: Driven) -> None:
    shown = client.call("tasklist_add_task", name="the same twice")
    assert json.loads(shown.content[0].text) == shown.structured_content


def test_every_tool_says_what_it_returns(client: Driven) -> None:
    for tool in client.run(client.session.list_tools).tools:
        assert tool.output_schema is not None, tool.name
        assert tool.output_schema["type"] == "object", tool.name
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)


def test_what_the_tools_return_is_as_they_say(client: Driven) -> None:
    assert data(client, "tasklist_get_task_in_progress") == {"result": None}
    one = data(client, "tasklist_add_task", name="one")
    two = data(client, "tasklist_add_task_after", uid=one["uid"], name="two")
    assert data(client, "tasklist_display", brief=True)["result"][0].keys() == {"uid", "name", "status"}
    data(client, "tasklist_swap_tasks", uid1=one["uid"], uid2=two["uid"])
    data(client, "tasklist_set_task_in_progress", uid=one["uid"])
    data(client, "tasklist_get_task_in_progress")
    data(client, "tasklist_log_task_progress", uid=one["uid"], message="m")
    data(client, "tasklist_get_task_logs", uid=one["uid"])
    data(client, "tasklist_get_tasks", status=["pending"])
    data(client, "control_task", uid=one["uid"])
    data(client, "control_update_task", uid=one["uid"], estimate=5)
    data(client, "control_undo")
    data(client, "control_hello")
    data(client, "control_history", limit=2)
    data(client, "control_agents")
    made = data(client, "task", action="create", title="t")
    data(client, "task", action="list")
    data(client, "task", action="update", task_id=made["task"]["task_id"], status="completed", result={"a": 1})
    data(client, "memory", action="list")
    data(client, "agent", action="list_tasks")
    data(client, "agent", action="other")
    items = [{"id": n, "content": n, "status": "pending"} for n in "ab"]
    data(client, "todo", merge=False, todos=items)
    plan = data(client, "create_plan", title="p", tasks=[{"title": "t"}])
    task = plan["tasks"][0]["id"]
    data(client, "tasks", action="pending", suggest_next=True)
    data(client, "tasks", action="get_state", task_id=task)
    for name in ("get_plans", "get_pending_tasks", "get_my_tasks"):
        data(client, name)
    data(client, "update_task", id=task, notes="n")
    assert data(client, "get_session_state", task_id=task) == {"result": None}
    data(client, "save_session_state", task_id=task, approach="a")
    data(client, "get_session_state", task_id=task)
    data(client, "link_task_nodes", task_id=task, node_ids=["n"])
    claim = data(client, "control_claim")
    claim = claim.get("result", claim)["claim"]
    data(client, "control_heartbeat", claim=claim)
    data(client, "control_release", claim=claim)
    ticket = data(client, "ask", question="q", wait=0)
    data(client, "control_answer_of", ask=ticket["ask"])
    job = data(client, "scheduler_create_adhoc_task", name="j", system_prompt="", prompt="")["uuid"]
    data(client, "scheduler_show_task", uuid=job)
    data(client, "scheduler_update_task", uuid=job, retries=1)
    data(client, "scheduler_list_tasks")
    data(client, "scheduler_find_task_by_name", name="j")
    run = data(client, "scheduler_run_task", uuid=job)["run_id"]
    data(client, "scheduler_get_runs", uuid=job)
    data(client, "scheduler_finish_run", run_id=run, outcome="success")
    data(client, "scheduler_disable_task", uuid=job)
    data(client, "scheduler_enable_task", uuid=job)
    data(client, "scheduler_delete_task", uuid=job)
    data(client, "tasklist_delete_task", uid=two["uid"])
    data(client, "tasklist_clear")


def test_what_the_human_wrote_is_in_the_data_and_in_the_text(client: Driven) -> None:
    with Store(str(client.db)) as store:
        store.commit(SendMessage("agent", "stop"), actor="human", now=1)
    told = client.call("tasklist_display")
    assert told.content[0].text == "Message from the human: stop"
    assert json.loads(told.content[1].text) == told.structured_content["result"]
    assert told.structured_content["messages"][0]["text"] == "stop"
    assert "result" in told.structured_content
