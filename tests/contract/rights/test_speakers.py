"""Nobody speaks as the human, or as another agent, by any way in."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests import fork_server
from tests.contract.client import Agent, environment, program
from tests.contract.rights.attempts import HUMANS, NAMES, OWN, assert_recorded, call, kept, over_mcp
from tui_tasks.core.commit import journal
from tui_tasks.core.store import Store


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
        done = fork_server.run(arguments, env=environment(db.parent), capture_output=True, stdin=subprocess.DEVNULL)
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

    over_mcp(db, script, "--agent", "\u24d1ob")
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
        # What is sent after its end is served as ever. A line that begins no value needs no end.
        for noise, end in ((b"[", b"\n"), (b"{", b"\n"), (b"[1,", b"\n"), (b"nonsense", b"")):
            agent.send(noise + b"\n" + end)
            assert agent.reply()["error"]["code"] == "parse_error"
            assert [task["name"] for task in agent.ok("tasklist:display")] == ["stays"]
        assert agent.finish() == []
