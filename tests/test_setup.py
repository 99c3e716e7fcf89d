"""`setup`: what it writes is read as the agent programs read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tui_tasks.setup import CLIENTS


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


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": []}', "\udcff"])
def test_a_file_that_is_not_as_it_should_be_is_left_alone_and_told(folder: Path, content: str) -> None:
    file = folder / ".mcp.json"
    file.write_bytes(content.encode(errors="surrogateescape"))
    done = run(folder, "claude")
    assert done.returncode == 1
    assert str(file) in done.stderr
    assert "Traceback" not in done.stderr
    assert file.read_bytes() == content.encode(errors="surrogateescape")
    assert [each.name for each in folder.iterdir()] == [".mcp.json"]


def test_an_agent_that_is_set_up_by_its_own_command_is_given_that_command(folder: Path) -> None:
    done = run(folder, "codex", "--db", "own.db")
    assert done.stdout.startswith("Run: codex mcp add tui-tasks -- ")
    assert str(folder / "own.db") in done.stdout
    assert list(folder.iterdir()) == []


def test_an_agent_that_is_not_known_is_wrong_usage(folder: Path) -> None:
    done = run(folder, "nobody")
    assert done.returncode == 2
    assert "claude" in done.stderr
