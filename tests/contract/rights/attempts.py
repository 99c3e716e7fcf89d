"""What agents try that is the human's alone, by each way in, and what is recorded of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests import fork_server
from tests.contract.client import environment, program
from tests.started import DEADLINE
from tui_tasks import clock
from tui_tasks.core.commit import journal
from tui_tasks.core.read import ask_queries, message_queries
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


def kept(db: Path) -> list[Entry]:
    """What has been recorded since the start; and nothing of what the human alone does has changed."""
    with Store(str(db), read_only=True) as store:
        assert message_queries.agent(store.db, "other").paused
        assert [ask.state for ask in ask_queries.open_asks(store.db)] == ["open"]
        return journal.since(store.db, 2, 1_000)


def assert_recorded(db: Path, *expected: tuple[str, str]) -> None:
    """Exactly these attempts, each by its actor, are in the journal."""
    entries = kept(db)
    assert [entry.kind for entry in entries] == ["agent.refused"] * len(expected)
    assert [(entry.actor, entry.new["tool"]) for entry in entries] == list(expected)


def call(db: Path, tool: str, arguments: dict[str, Any], *options: str, **environ: str) -> subprocess.CompletedProcess:
    return fork_server.run(
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
        with anyio.fail_after(DEADLINE):
            async with stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
                await session.initialize()
                await script(session)

    anyio.run(run)
