"""What a person uses beside the commands on tasks, with the tasks on a server."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.contract.client import ROOT
from tests.fork_server import Forked
from tests.postgres.machines import run
from tests.started import DEADLINE


@pytest.fixture
def url(machine, server_url):
    """A server with one task, which another machine has added."""
    machine("there")
    assert run("--db", server_url, "add", "Build").returncode == 0
    machine("here")
    return server_url


def test_a_command_that_reads_shows_what_another_machine_wrote(url, machine, tmp_path):
    for at, (command, says) in enumerate(
        (
            (("digest",), "entry of the journal"),
            (("export", "jsonl"), '"Build"'),
            (("lists",), "1 open of 1"),
            (("prime",), "Open tasks: 1"),
            (("agents",), "No agents: `tui-tasks setup claude` connects one."),
            (("asks",), "No open questions."),
            (("show", "1"), "Build"),
            (("sync-file", "--once", f"{tmp_path}/team.jsonl"), ""),
        )
    ):
        machine(f"here-{at}")
        done = run("--db", url, *command)
        assert done.returncode == 0, done.stderr
        assert says in done.stdout, command


def test_an_import_goes_to_the_server(url, machine, tmp_path):
    file = tmp_path / "tasks.md"
    file.write_text("- [ ] Ship\n")
    assert run("--db", url, "import", "markdown", str(file)).returncode == 0
    machine("elsewhere")
    assert '"Ship"' in run("--db", url, "ls", "--json").stdout


def added_over_mcp(url: str, *options: str) -> dict[str, Any]:
    """Let an agent add a task over MCP; return the result."""
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    add = {"name": "tasklist_add_task", "arguments": {"name": "Ship"}}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": add},
    )
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tui_tasks", "mcp", "--db", url, *options]
    with Forked(command, cwd=ROOT, stdin=pipe, stdout=pipe) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages).encode())
        server.stdin.flush()
        replies = [json.loads(server.stdout.readline()) for _ in range(2)]
        assert [reply["id"] for reply in replies] == [1, 2]
        server.stdin.close()
        assert server.wait(DEADLINE) == 0
    result: dict[str, Any] = replies[1]["result"]
    return result


def test_an_agent_works_over_mcp(url, machine):
    assert added_over_mcp(url)["isError"] is False
    machine("elsewhere")
    assert '"Ship"' in run("--db", url, "ls", "--json").stdout
