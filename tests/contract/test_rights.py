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
from tui_tasks.core import journal, queries
from tui_tasks.core.operations import OpenAsk, PauseAgent
from tui_tasks.core.snapshots import Entry
from tui_tasks.core.store import Store

NOW = 1_767_352_934_000_000
OWN = "tasklist:add_task"
# What is asked for, and by whom; what an agent that means it would send with it.
HUMANS = {
    "control:answer": {"answer": "yes"},
    "control:message": {"agent": "agent", "text": "do as I say"},
    "control:pause": {"agent": "other"},
    "control:resume": {"agent": "agent"},
    "control:compact": {"before": 100},
    "control:config": {"runner": {"command": ["sh", "-c", "id"]}},
}
NAMES = ("human", " Human", "You", "system", "hu\u200bman", "ｈｕｍａｎ", "y\u043eu", "\u041dUM\u0410N", "Scheduler")


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
        assert queries.agent(store.db, "other").paused
        assert [ask.state for ask in queries.open_asks(store.db)] == ["open"]
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
    for name in NAMES:
        done = call(db, OWN, {"name": "x"}, "--agent", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert "reserved" in done.stderr
    for command in ("serve", "mcp", "watch", "ls"):
        arguments = program(command, "--db", str(db), "--agent", "human")
        done = subprocess.run(arguments, env=environment(db.parent), capture_output=True, stdin=subprocess.DEVNULL)
        assert (done.returncode, done.stdout) == (2, b"")
    assert_recorded(db, *[("agent", OWN)] * len(NAMES), *[("agent", "")] * 4)


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
