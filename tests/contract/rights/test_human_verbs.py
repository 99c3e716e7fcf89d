"""An agent has an agent's rights: each verb of the human's by each way in is refused, and recorded."""

from __future__ import annotations

import json
from typing import Any

from tests.contract.client import Agent
from tests.contract.rights.attempts import HUMANS, OWN, assert_recorded, call, over_mcp
from tui_tasks.core.commit import journal
from tui_tasks.core.store import Store


def test_on_the_channel_alone_and_in_a_batch(db):
    with Agent(db, "--agent", "sly") as agent:
        for verb, arguments in HUMANS.items():
            assert agent.refused(verb, **arguments)["code"] == "forbidden"
            agent.write([{"tool": OWN, "args": {"name": "x"}}, {"tool": verb, "args": arguments}])
            assert [reply["error"]["code"] for reply in agent.reply()] == ["conflict", "forbidden"]
        assert agent.finish() == []
    assert_recorded(db, *[("sly", verb) for verb in HUMANS for _ in range(2)])


def test_from_a_shell(db):
    for verb, arguments in HUMANS.items():
        done = call(db, verb, arguments, "--agent", "sly")
        assert (done.returncode, json.loads(done.stderr)["code"], done.stdout) == (1, "forbidden", "")
    assert_recorded(db, *[("sly", verb) for verb in HUMANS])


def test_over_mcp(db):
    async def script(session: Any) -> None:
        for verb, arguments in HUMANS.items():
            refused = await session.call_tool(verb.replace(":", "_"), arguments)
            assert refused.is_error
            assert refused.structured_content["error"]["code"] == "forbidden"

    over_mcp(db, script, "--agent", "sly")
    assert_recorded(db, *[("sly", verb) for verb in HUMANS])


def test_from_inside_a_run_where_it_may_not_make_or_start_jobs_either(db):
    with Store(str(db)) as store:
        before = journal.newest(store.db)
    job = {"name": "more", "system_prompt": "", "prompt": "x"}
    wanted = HUMANS | {"scheduler:create_adhoc_task": job}
    with Agent(db, TUI_TASKS_RUN_TOKEN="any") as agent:
        for verb, arguments in wanted.items():
            assert agent.refused(verb, **arguments)["code"] == "forbidden"
        assert agent.finish() == []
    assert before == 2
    assert_recorded(db, *[("agent", verb) for verb in wanted])


def test_arguments_under_a_key_that_is_none_run_nothing(db):
    with Agent(db) as agent:
        agent.ok(OWN, name="stays")
        for key in ("input", "inputs", "params", "parameters", "kwargs", "tool_input"):
            refused = agent.refused("tasklist:clear", {key: {"list": "scratch"}})
            assert refused["code"] == "invalid_request"
            assert "arguments" in refused["message"]
            agent.write({"tool": "tasklist:clear", key: {"list": "scratch"}})
            assert agent.reply()["error"]["code"] == "invalid_request"
        agent.write({"tool": "tasklist:add_task", "description": "flat"})
        error = agent.reply()["error"]
        assert (error["code"], error["data"]) == ("invalid_request", {"key": "description"})
        agent.write({"tool": "control:claim", "lease_seconds": 5})
        assert agent.reply()["error"]["code"] == "invalid_request"
        agent.write({"tool": "tasklist:display", "comment": "of no tool"})
        assert len(agent.reply()["result"]) == 1
        assert agent.finish() == []
