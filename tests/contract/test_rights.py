"""An agent has an agent's rights: each verb of the human's by each way in is refused, and recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.contract.client import Agent, environment, program
from tui_tasks import clock
from tui_tasks.core.journal import journal
from tui_tasks.core.operations.asks import OpenAsk, PauseAgent
from tui_tasks.core.read import asks, messages
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Entry
from tui_tasks.core.store import Store

# The processes have the system's clock, and mistrust one that is far from the journal's.
NOW = clock.now()
OWN = "tasklist:add_task"
# What is asked for, and by whom; what an agent that means it would send with it.
HUMANS = {
    "control:answer": {"answer": "yes"},
    "control:message": {"agent": "agent", "text": "do as I say"},
    "control:pause": {"agent": "other"},
    "control:resume": {"agent": "agent"},
    "control:accept": {"uid": "#1"},
    "control:decline": {"uid": "#1", "reason": "no"},
    "control:review": {"list": "tasklist", "review": False},
    "control:compact": {"before": 100},
    "control:config": {"runner": {"command": ["sh", "-c", "id"]}},
}
NAMES = (
    *(
        "human",
        " Human",
        "You",
        "system",
        "shell",
        "Scheduler",
        "hu\u200bman",
        "ｈｕｍａｎ",
        "y\u043eu",
        "\u041dUM\u0410N",
    ),
    *(
        "you\u3164",
        "human\u3164",
        "\u029cuman",
        "hum\u0251n",
        "hurnan",
        "she11",
        "h\u00faman",
        "human\u00a0",
        "human\U000e0041",
    ),
)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A database in which a question is open and an agent is paused."""
    path = tmp_path / "state" / "tasks.db"
    with Store(str(path)) as store:
        (asked,) = store.commit(OpenAsk("May I?", (), None, None), actor="agent", now=NOW)
        store.commit(PauseAgent("other", "wait"), actor="human", now=NOW)
        HUMANS["control:answer"]["uid"] = asked.uid
    return path


def kept(db: Path) -> list[Entry]:
    """What has been recorded since the start; and nothing of what the human alone does has changed."""
    with Store(str(db), read_only=True) as store:
        assert messages.agent(store.db, "other").paused
        assert [ask.state for ask in asks.open_asks(store.db)] == ["open"]
        return journal.since(store.db, 2, 1_000)


def assert_recorded(db: Path, *expected: tuple[str, str]) -> None:
    """Exactly these attempts, each by its actor, are in the journal."""
    entries = kept(db)
    assert [entry.kind for entry in entries] == ["agent.refused"] * len(expected)
    assert [(entry.actor, entry.new["tool"]) for entry in entries] == list(expected)


def call(db: Path, tool: str, arguments: dict[str, Any], *options: str, **environ: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        program("call", tool, json.dumps(arguments), "--db", str(db), *options),
        env=environment(db.parent, **environ),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def over_mcp(db: Path, script: Callable[[Any], Any], *options: str) -> None:
    mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    from mcp.client.stdio import stdio_client

    async def run() -> None:
        command = ["-m", "tui_tasks", "mcp", "--db", str(db), *options]
        server = mcp.StdioServerParameters(command=sys.executable, args=command, env=environment(db.parent))
        with anyio.fail_after(60):
            async with stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
                await session.initialize()
                await script(session)

    anyio.run(run)


# The human's verbs


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


# Posing as the human


def test_by_the_envelope_alone_and_in_a_batch(db):
    with Agent(db, "--agent", "sly") as agent:
        for name in NAMES:
            assert agent.refused(OWN, {"agent": name}, name="x")["code"] == "invalid_request"
            posed = {"tool": OWN, "args": {"name": "x"}, "agent": name}
            agent.write([{"tool": OWN, "args": {"name": "x"}}, posed])
            assert [reply["error"]["code"] for reply in agent.reply()] == ["conflict", "invalid_request"]
        assert agent.refused("control:answer", {"agent": "human"}, **HUMANS["control:answer"])["code"] == (
            "invalid_request"
        )
        assert agent.finish() == []
    assert_recorded(db, *[("sly", OWN) for _ in NAMES for _ in range(2)], ("sly", "control:answer"))


def test_by_the_option_of_any_command(db):
    some = NAMES[::5]
    for name in some:
        done = call(db, OWN, {"name": "x"}, "--agent", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert "reserved" in done.stderr
    for command in ("serve", "mcp", "watch", "undo"):
        arguments = program(command, "--db", str(db), "--agent", "human")
        done = subprocess.run(arguments, env=environment(db.parent), capture_output=True, stdin=subprocess.DEVNULL)
        assert (done.returncode, done.stdout) == (2, b"")
    # A verb for people speaks as the shell, and so it is kept.
    assert_recorded(db, *[("agent", OWN)] * len(some), *[("agent", "")] * 3, ("shell", ""))


def test_by_the_option_where_there_is_no_database_none_is_made(tmp_path):
    assert call(tmp_path / "none.db", OWN, {"name": "x"}, "--agent", "human").returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_by_the_option_of_one_who_only_reads_nothing_is_written(db):
    assert call(db, "tasklist:display", {}, "--agent", "human", "--read-only").returncode == 2
    assert_recorded(db)


def test_over_mcp_in_meta(db):
    async def script(session: Any) -> None:
        for name in NAMES:
            refused = await session.call_tool("tasklist_add_task", {"name": "x"}, meta={"agent": name})
            assert refused.structured_content["error"]["code"] == "invalid_request"

    over_mcp(db, script)
    assert_recorded(db, *[("agent", OWN)] * len(NAMES))


def test_no_variable_of_the_environment_names_the_speaker(db):
    names = ("TUI_TASKS_AGENT", "TUI_TASKS_ACTOR", "TUI_TASKS_USER", "USER", "LOGNAME")
    assert call(db, OWN, {"name": "x"}, **dict.fromkeys(names, "human")).returncode == 0
    assert [(entry.kind, entry.actor) for entry in kept(db)] == [("task.created", "agent")]


def test_the_class_for_python_speaks_as_an_agent_whatever_it_is_given(tmp_path):
    from tui_tasks.todo_tool import TodoTool

    items = [{"id": n, "content": n, "status": "pending"} for n in "ab"]
    tool = TodoTool(checkpoint=tmp_path, agent="human", actor="human")
    assert tool.execute(merge=False, todos=items, as_type="dict", agent="human", actor="human")["success"]
    posing = [items[0] | {"agent": "human"}, items[1]]
    assert not tool.execute(merge=True, todos=posing, as_type="dict")["success"]
    with Store(str(tmp_path / "tasks.db")) as store:
        assert {entry.actor for entry in journal.since(store.db, 0, 1_000)} == {"agent"}


# A channel that is kept to its agent, to its list


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
        assert queries.task(store.db, task["uid"]).status == "in_progress"


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
            done = subprocess.run(command, env=environment(db.parent), capture_output=True, stdin=subprocess.DEVNULL)
            assert (done.returncode, done.stdout) == (2, b"")
    assert_recorded(db)


@pytest.fixture
def two_lists(db):
    """What alice has in another list: her task with a memory, a claimed one, a plan, a job."""
    with Agent(db, "--agent", "alice") as alice:
        board = {"list": "theirs"}
        done = alice.ok("task", board, action="create", title="secret done")["structuredContent"]["task"]["task_id"]
        alice.ok("task", action="update", task_id=done, status="completed", result={"key": "secret"})
        task = alice.ok(OWN, board, name="secret task")["uid"]
        alice.ok("tasklist:log_task_progress", uid=task, message="secret log")
        held = alice.ok("control:claim", list="theirs")
        plan = alice.ok("create_plan", title="secret plan", tasks=[{"title": "secret step"}])
        job = alice.ok("scheduler:create_adhoc_task", name="secret job", system_prompt="", prompt="secret")
        memory = alice.ok("memory", action="list")["memories"][0]
        alice.ok(OWN, {"list": "mine"}, name="open to all")
        assert alice.finish() == []
    return {
        "task": task,
        "done": done,
        "claim": held["claim"],
        "plan": plan["plan_id"],
        "job": job["uuid"],
        "memory": memory["memory_id"],
    }


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
        assert queries.task(store.db, two_lists["task"]).status == "in_progress"


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
    from tui_tasks.dialects.table import TABLE

    named = {"uid", "uid1", "uid2", "task_id", "task", "id", "claim", "plan_id", "list", "memory_id"}
    seen = {name for tool in TABLE.tools.values() if is_within(tool) for name in tool.argument_names}
    others = {name for name in seen if name.endswith(("uid", "id", "_ids", "depends_on")) or name in ("task", "list")}
    assert others - named == {"agent_id", "node_ids"} | ({"depends_on"} & others)


# Arguments that would be passed over


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


# Posing as another agent


# As they look to a person who knows `bob` and `claude-1`.
ALIKE = ("b\u043eb", "\uff42ob", "bob\u00a0\u3164", "bo\u200bb", "claude-l", "c1aude-1", "\u0441laude-1", "b\u00f3b")


def test_nobody_who_is_new_looks_like_an_agent_that_is_known(db):
    for name in ("bob", "claude-1"):
        with Agent(db, "--agent", name) as known:
            known.ok(OWN, name="x")
            assert known.finish() == []
    with Agent(db) as agent:
        for name in (*ALIKE, "bob ", " bob", "bob\u3164", "bob\n"):
            assert agent.refused(OWN, {"agent": name}, name="x")["code"] == "invalid_request"
            assert agent.refused("tasklist:display", {"agent": name})["code"] == "invalid_request"
            agent.write([{"tool": OWN, "args": {"name": "x"}, "agent": name}])
            assert [reply["error"]["code"] for reply in agent.reply()] == ["invalid_request"]
        for name in ("bob", "Bob", "bob2", "claude-2", "\u0431\u043e\u0431", "\u9b8d\u52c3"):
            agent.ok(OWN, {"agent": name}, name="x")
        assert agent.finish() == []
    for name in ("b\u043eb", "claude-l", "bob "):
        refused = call(db, OWN, {"name": "x"}, "--agent", name)
        assert refused.returncode != 0
        assert "invalid_request" in refused.stderr or "agent's name" in refused.stderr
    with Store(str(db), read_only=True) as store:
        spoke = {entry.actor for entry in journal.since(store.db, 0, 1_000)}
    assert spoke == {
        "agent",
        "human",
        "bob",
        "claude-1",
        "Bob",
        "bob2",
        "claude-2",
        "\u0431\u043e\u0431",
        "\u9b8d\u52c3",
    }


def test_over_mcp_nobody_looks_like_an_agent_that_is_known(db):
    call(db, OWN, {"name": "x"}, "--agent", "bob")

    async def script(session: Any) -> None:
        refused = await session.call_tool("tasklist_add_task", {"name": "x"})
        assert refused.structured_content["error"]["code"] == "invalid_request"

    over_mcp(db, script, "--agent", "b\u043eb")
    assert [entry.actor for entry in kept(db)] == ["bob"]


def test_of_a_batch_over_several_lines_nothing_is_run(db):
    batch = [{"tool": OWN, "args": {"name": "one"}}, {"tool": "tasklist:clear"}]
    alone = [json.dumps(request) for request in batch]
    with Agent(db) as agent:
        agent.ok(OWN, name="stays")
        for indent in ("", "  "):
            agent.send(f"[\n{indent}{alone[0]},\n{indent}{alone[1]}\n]\n".encode())
            errors = [agent.reply()["error"] for _ in range(4)]
            assert [error["code"] for error in errors] == ["parse_error"] * 4
            assert "one JSON value a line" in errors[2]["message"]
        agent.send(json.dumps(batch, indent=2).encode() + b"\n")
        for _ in json.dumps(batch, indent=2).splitlines():
            assert agent.reply()["ok"] is False
        # What is sent after it is served as ever, and after a line that is only noise too.
        for noise in (b"[", b"{", b"[1,", b"nonsense"):
            agent.send(noise + b"\n")
            assert agent.reply()["error"]["code"] == "parse_error"
            assert [task["name"] for task in agent.ok("tasklist:display")] == ["stays"]
        assert agent.finish() == []
