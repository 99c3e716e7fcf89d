"""`setup`: what it writes is read as the agent programs read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tui_tasks.cli.agents.setup import CLIENTS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TUI_TASKS_CONFIG": str(folder / "none")}
    environment.pop("TUI_TASKS_DB", None)
    command = [sys.executable, "-m", "tui_tasks", "setup", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def entry(folder: Path, file: str, key: str = "mcpServers") -> dict:
    return json.loads((folder / file).read_text())[key]["tui-tasks"]


@pytest.mark.parametrize("client", [name for name, client in CLIENTS.items() if client.file])
def test_the_entry_starts_a_server_on_that_database_under_the_agents_name(folder: Path, client: str) -> None:
    done = run(folder, client, "--db", "own.db", "--list", "sprint")
    assert (done.returncode, done.stderr) == (0, "")
    written = entry(folder, str(CLIENTS[client].file), CLIENTS[client].key)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tasklist_add_task"}}
    hello["params"]["arguments"] = {"name": "from there"}
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start}, hello]
    with subprocess.Popen(
        [written["command"], *written["args"]], cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        for line in lines:
            server.stdin.write(json.dumps(line).encode() + b"\n")
            server.stdin.flush()
            reply = json.loads(server.stdout.readline())
        server.stdin.close()
    assert reply["result"]["isError"] is False
    ls = [sys.executable, "-m", "tui_tasks", "call", "control:history", "--db", str(folder / "own.db")]
    (added,) = json.loads(subprocess.run(ls, capture_output=True, text=True, timeout=60).stdout)["entries"][-1:]
    assert (added["actor"], added["task"]["name"], added["task"]["list"]) == (client, "from there", "sprint")


def test_what_else_is_in_the_file_stays_and_a_second_time_changes_nothing(folder: Path) -> None:
    file = folder / ".mcp.json"
    file.write_text('{"other": [1, "ü"], "mcpServers": {"mine": {"command": "x"}}}')
    file.chmod(0o640)
    assert run(folder, "claude").returncode == 0
    there = json.loads(file.read_text())
    assert (there["other"], there["mcpServers"]["mine"]) == ([1, "ü"], {"command": "x"})
    assert file.stat().st_mode & 0o777 == 0o640
    before = file.stat().st_mtime_ns
    assert "already" in run(folder, "claude").stdout
    assert file.stat().st_mtime_ns == before
    assert "already" not in run(folder, "claude", "--agent", "claude-2").stdout
    assert "claude-2" in entry(folder, ".mcp.json")["args"]


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": []}', "\udcff", "[" * 100_000])
def test_a_file_that_is_not_as_it_should_be_is_left_alone_and_told(folder: Path, content: str) -> None:
    file = folder / ".mcp.json"
    file.write_bytes(content.encode(errors="surrogateescape"))
    done = run(folder, "claude")
    assert done.returncode == 1
    assert str(file) in done.stderr
    assert "Traceback" not in done.stderr
    assert file.read_bytes() == content.encode(errors="surrogateescape")
    assert [each.name for each in folder.iterdir()] == [".mcp.json"]


ODD = """{
\t"other": [1e400, 1.10, 12345678901234567890123, "\\u00fc", "}"],
   "mcpServers" : {%s},   "last":null
}"""


@pytest.mark.parametrize(
    ("inside", "after"),
    [
        ("", '\n    "tui-tasks": ENTRY\n  '),
        (" \n ", '\n    "tui-tasks": ENTRY\n  '),
        ('"mine": {"a": -0.0}', '"mine": {"a": -0.0},\n    "tui-tasks": ENTRY'),
        ('"tui-tasks" : {"command": 1E400 } , "b":{}', '"tui-tasks" : ENTRY , "b":{}'),
    ],
)
def test_of_a_file_nothing_but_the_entry_is_written_anew(folder: Path, inside: str, after: str) -> None:
    file = folder / ".mcp.json"
    file.write_text(ODD % inside)
    assert run(folder, "claude").returncode == 0
    written = json.dumps(entry(folder, ".mcp.json"), indent=2).replace("\n", "\n    ")
    assert file.read_text() == ODD % after.replace("ENTRY", written)
    assert "already" in run(folder, "claude").stdout


@pytest.mark.parametrize("content", ["{}", "\ufeff{ }\n", '{"a": 1e400}\n'])
def test_a_file_that_names_no_servers_yet_is_given_some(folder: Path, content: str) -> None:
    file = folder / ".mcp.json"
    file.write_text(content)
    assert run(folder, "claude").returncode == 0
    text = file.read_text()
    assert text.startswith(content[: content.index("{") + 1])
    assert json.loads(text.removeprefix("\ufeff"))["mcpServers"].keys() == {"tui-tasks"}
    assert ("1e400" in text) == ("1e400" in content)


@pytest.mark.parametrize(
    ("client", "link", "target"),
    [
        ("claude", "..mcp.json.new", "../victim"),
        ("claude", ".mcp.json", "../victim"),
        ("cursor", ".cursor", ".."),
        ("gemini", ".gemini/settings.json", "../../victim"),
    ],
)
def test_nothing_is_read_or_written_through_a_link_in_the_project(
    folder: Path, client: str, link: str, target: str
) -> None:
    victim = folder.parent / "victim"
    victim.write_text('{"secret": 1}')
    (folder / link).parent.mkdir(exist_ok=True)
    (folder / link).symlink_to(target)
    before = sorted(folder.parent.iterdir())
    done = run(folder, client)
    assert "Traceback" not in done.stderr
    assert victim.read_text() == '{"secret": 1}'
    assert (folder / link).is_symlink()
    assert sorted(folder.parent.iterdir()) == before
    if link == "..mcp.json.new":
        assert entry(folder, ".mcp.json")
    else:
        assert done.returncode == 1
        assert f"{folder / link} is a link" in done.stderr


def test_an_agent_that_is_set_up_by_its_own_command_is_given_that_command(folder: Path) -> None:
    done = run(folder, "codex", "--db", "own.db")
    assert done.stdout.startswith("Run: codex mcp add tui-tasks -- ")
    assert str(folder / "own.db") in done.stdout
    assert list(folder.iterdir()) == []


def test_an_agent_that_is_not_known_is_wrong_usage(folder: Path) -> None:
    done = run(folder, "nobody")
    assert done.returncode == 2
    assert "claude" in done.stderr


def test_the_entry_keeps_the_bounds_that_were_asked_for(folder: Path) -> None:
    assert run(folder, "claude").returncode == 0
    assert entry(folder, ".mcp.json")["args"][2:] == ["mcp", "--agent-only", "claude"]
    options = ("--read-only", "--no-scheduler", "--list-only", "sprint", "--agent-only", "bob", "--tools", "todo,ask")
    assert run(folder, "claude", *options).returncode == 0
    written = entry(folder, ".mcp.json")["args"][2:]
    bounds = ["--agent-only", "bob", "--list-only", "sprint", "--tools", "todo,ask", "--read-only", "--no-scheduler"]
    assert written == ["mcp", *bounds]
