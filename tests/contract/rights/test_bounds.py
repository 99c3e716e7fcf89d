"""A channel that is kept to its agent, or to its list, reads and writes nothing else."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests import fork_server
from tests.contract.client import Agent, environment, program
from tests.contract.rights.attempts import NOW, OWN, assert_recorded, call, kept, over_mcp
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import PauseAgent
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


def test_a_channel_of_one_agent_speaks_as_no_other_and_the_attempt_is_kept(db):
    with Agent(db, "--agent", "alice") as alice:
        task = alice.ok(OWN, name="hers")
        held = alice.ok("control:claim")
        assert alice.finish() == []
    with Store(str(db)) as store:
        store.commit(PauseAgent("bob", "wait"), actor="human", now=NOW)
        start = journal.newest(store.db)
    release = {"claim": held["claim"]}
    with Agent(db, "--agent-only", "bob") as bob:
        assert bob.refused(OWN, name="x")["code"] == "paused"
        assert bob.refused(OWN, {"agent": "bob2"}, name="x")["code"] == "forbidden"
        assert bob.refused("control:release", {"agent": "alice"}, **release)["code"] == "forbidden"
        assert bob.refused("control:task", {"agent": "alice"}, uid=task["uid"])["code"] == "forbidden"
        bob.write([{"tool": "control:release", "args": release, "agent": "alice"}])
        assert [reply["error"]["code"] for reply in bob.reply()] == ["forbidden"]
        assert bob.ok("control:hello", {"agent": "bob"})["agent"] == "bob"
        assert bob.finish() == []
    with Store(str(db), read_only=True) as store:
        entries = journal.since(store.db, start, 100)
        assert [(entry.kind, entry.actor) for entry in entries] == [("agent.refused", "bob")] * 4
        assert task_queries.task(store.db, task["uid"]).status == "in_progress"


def test_a_call_and_a_client_of_mcp_speak_as_no_other(db):
    async def script(session: Any) -> None:
        refused = await session.call_tool("tasklist_add_task", {"name": "x"}, meta={"agent": "bob2"})
        assert refused.structured_content["error"]["code"] == "forbidden"
        assert not (await session.call_tool("tasklist_add_task", {"name": "y"}, meta={"agent": "bob"})).is_error

    over_mcp(db, script, "--agent", "bob")
    assert [(entry.kind, entry.actor) for entry in kept(db)] == [
        ("agent.refused", "bob"),
        ("task.created", "bob"),
    ]
    done = call(db, OWN, {"name": "x"}, "--agent-only", "bob", "--agent", "bob2")
    assert (done.returncode, done.stdout) == (2, "")


def test_bounds_are_refused_by_commands_that_would_not_keep_them(db):
    for option in ("--agent-only", "--list-only"):
        for arguments in ((option, "x", "ls"), ("ls", option, "x"), ("add", "one", option, "x")):
            command = program(*arguments, "--db", str(db))
            done = fork_server.run(command, env=environment(db.parent), capture_output=True, stdin=subprocess.DEVNULL)
            assert (done.returncode, done.stdout) == (2, b"")
    assert_recorded(db)


def test_a_channel_of_one_list_reads_nothing_of_another(db, two_lists):
    with Agent(db, "--agent", "alice", "--list-only", "mine") as agent:
        assert agent.ok("control:subscribe", since=0) == {"seq": 0}
        told = [
            *(agent.ok("control:history"), agent.ok("control:history", since=0)),
            *(agent.ok("tasks", action="pending", suggest_next=True), agent.ok("get_my_tasks"), agent.ok("get_plans")),
            *(agent.ok("tasklist:display"), agent.ok("task", action="list"), agent.ok("memory", action="list")),
            *(agent.ok("memory", action="search", query="secret"), agent.ok("tasks", action="list_plans")),
        ]
        assert "open to all" in json.dumps(told[0])
        assert "open to all" in json.dumps(told[1])
        assert "secret" not in json.dumps(told)
        unknown = [
            agent.refused("tasklist:get_task", uid=two_lists["task"]),
            agent.refused("tasklist:get_task_logs", uid=two_lists["task"]),
            agent.refused("control:task", uid=two_lists["task"]),
            agent.refused("control:history", task=two_lists["task"]),
            agent.refused("get_session_state", task_id=two_lists["task"]),
            agent.refused("get_pending_tasks", plan_id=two_lists["plan"]),
            agent.refused("memory", action="get", memory_id=two_lists["memory"]),
            agent.refused("control:claim", list="theirs"),
            agent.refused("ask", question="May I?", task=two_lists["task"]),
        ]
        assert [error["code"] for error in unknown] == ["not_found"] * len(unknown)
        assert "secret" not in json.dumps(unknown)
        assert agent.refused("tasklist:display", {"list": "theirs"})["code"] == "forbidden"
        assert agent.refused("scheduler:list_tasks")["code"] == "forbidden"
        assert agent.refused("scheduler:show_task", uuid=two_lists["job"])["code"] == "forbidden"
        offered = {tool["name"] for tool in agent.ok("control:hello")["tools"]}
        assert "tasklist:display" in offered
        assert not any(name.startswith("scheduler:") or name == "create_plan" for name in offered)
        agent.ok(OWN, name="last")
        while (event := agent.event())["event"] != "task.created" or event["task"]["name"] != "last":
            assert "secret" not in json.dumps(event)
        assert agent.finish() == []


@pytest.mark.parametrize("tool", ["scheduler:list_tasks", "scheduler:create_adhoc_task"])
def test_what_reaches_beyond_the_list_of_a_channel_is_kept_whether_it_reads_or_writes(db, tool):
    db.parent.mkdir(mode=0o700, exist_ok=True)
    job = {} if tool == "scheduler:list_tasks" else {"name": "x", "system_prompt": "", "prompt": "p"}
    with Agent(db, "--agent", "alice", "--list-only", "mine") as agent:
        assert agent.refused(tool, **job)["code"] == "forbidden"
        (kept,) = agent.ok("control:history")["entries"]
        assert (kept["event"], kept["actor"], kept["refusal"]["tool"]) == ("agent.refused", "alice", tool)
        agent.finish()


def test_a_channel_of_one_list_writes_nothing_of_another(db, two_lists):
    with Store(str(db)) as store:
        start = journal.newest(store.db)
    uid = {"uid": two_lists["task"]}
    with Agent(db, "--agent", "alice", "--list-only", "mine") as agent:
        own = agent.ok("tasklist:display")[0]["uid"]
        unknown = [
            agent.refused("tasklist:delete_task", **uid),
            agent.refused("tasklist:set_task_pending", **uid),
            agent.refused("tasklist:add_task_after", name="x", **uid),
            agent.refused("tasklist:swap_tasks", uid1=own, uid2=two_lists["task"]),
            agent.refused("task", action="update", task_id=two_lists["task"], title="x"),
            agent.refused("agent", action="update_task", task_id=two_lists["task"], title="x"),
            agent.refused("tasks", action="update", id=two_lists["task"], notes="x"),
            agent.refused("update_task", id=two_lists["task"], notes="x"),
            agent.refused("link_task_nodes", task_id=two_lists["task"], node_ids=["x"]),
            agent.refused("control:update_task", estimate=5, **uid),
            agent.refused("control:release", claim=two_lists["claim"]),
            agent.refused("control:heartbeat", claim=two_lists["claim"]),
        ]
        assert [error["code"] for error in unknown] == ["not_found"] * len(unknown)
        beyond = [
            agent.refused("tasklist:clear", {"list": "theirs"}),
            agent.refused("tasks", action="create_plan", title="x", tasks=[]),
            agent.refused("create_plan", title="x", tasks=[]),
            agent.refused("scheduler:delete_task", uuid=two_lists["job"]),
            agent.refused("scheduler:create_adhoc_task", name="x", system_prompt="", prompt="x"),
        ]
        assert [error["code"] for error in beyond] == ["forbidden"] * len(beyond)
        # The newest change of its name is the one in this list; what is older is another's.
        assert agent.ok("control:undo")["undone"] <= start
        assert agent.refused("control:undo")["code"] == "conflict"
        assert agent.ok("tasklist:clear") == {"deleted": 0}
        assert agent.finish() == []
    with Store(str(db), read_only=True) as store:
        changed = [entry for entry in journal.since(store.db, start, 100) if entry.kind != "agent.refused"]
        assert {entry.image["list"] for entry in changed if entry.image} == {"mine"}
        assert task_queries.task(store.db, two_lists["task"]).status == "in_progress"


def test_a_list_that_is_not_there_yet_lets_nothing_else_be_seen(db, two_lists):
    with Agent(db, "--agent", "alice", "--list-only", "unmade") as agent:
        assert agent.ok("memory", action="list")["total"] == 0
        assert agent.ok("tasks", action="pending", suggest_next=True) == {"tasks": [], "suggested_next": None}
        assert agent.ok("get_plans") == {"plans": []}
        assert agent.ok("control:claim") is None
        assert agent.refused("control:undo")["code"] == "conflict"
        assert agent.refused("control:task", uid=two_lists["task"])["code"] == "not_found"
        assert agent.finish() == []


def test_every_argument_that_names_a_task_is_looked_at_in_a_channel_of_one_list(db, two_lists):
    """Whatever tool there is: with another list's task it is refused, or it names none."""
    from tui_tasks.dialects.requests.confinement import is_within
    from tui_tasks.dialects.tool_table import TABLE

    named = {"uid", "uid1", "uid2", "task_id", "task", "id", "claim", "plan_id", "list", "memory_id"}
    seen = {name for tool in TABLE.tools.values() if is_within(tool) for name in tool.argument_names}
    others = {name for name in seen if name.endswith(("uid", "id", "_ids", "depends_on")) or name in ("task", "list")}
    assert others - named == {"agent_id", "node_ids"} | ({"depends_on"} & others)
