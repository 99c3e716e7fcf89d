"""Agent programs themselves, from a folder in which npm has installed them, against a scripted model on loopback.

They are hundreds of MB, so this is run by an option alone: `pytest --agents FOLDER`, where
`npm install @anthropic-ai/claude-code` was run in FOLDER.
"""

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.contract.client import DEADLINE, ROOT, environment
from tests.contract.client import program as command
from tests.hooks.playing import COMMAND
from tests.hooks.screens import Screen, screen
from tests.started import Started
from tui_tasks import clock
from tui_tasks.cli.admin.program_files import PROGRAMS
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.dialects.control_agents import agents_page
from tui_tasks.hooks import hook_forms

QUIET = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
)


@pytest.fixture
def claude_code(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--agents")
    if folder is None:
        pytest.skip("not run: give --agents FOLDER, in which npm has installed the programs")
    return Path(folder).resolve() / "node_modules" / ".bin" / "claude"


class Model(ThreadingHTTPServer):
    """Answers each request by the next of its turns; what has no tools to choose from is a title maker, say."""

    def __init__(self, turns: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.turns = turns
        self.heard: list[str] = []


class _Answering(BaseHTTPRequestHandler):
    server: Model

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        asked = json.loads(body)
        is_turn = len(asked.get("tools") or []) > 1 and bool(self.server.turns)
        block = self.server.turns.pop(0) if is_turn else {"type": "text", "text": "Fine."}
        if is_turn:
            self.server.heard.append(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in _events(block, asked.get("model")):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


def _events(block: dict[str, Any], model: object) -> Iterator[dict[str, Any]]:
    """A message of one block in the form in which it is streamed."""
    is_tool = block["type"] == "tool_use"
    usage = {"input_tokens": 10, "output_tokens": 5}
    yield {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        },
    }
    begun = {**block, "input": {}} if is_tool else {"type": "text", "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if is_tool
        else {"type": "text_delta", "text": block["text"]}
    )
    yield {"type": "content_block_start", "index": 0, "content_block": begun}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "tool_use" if is_tool else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}


@contextlib.contextmanager
def scripted(turns: list[dict[str, Any]]) -> Iterator[Model]:
    with Model(turns) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        try:
            yield model
        finally:
            model.shutdown()


def touch(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{name}", "name": "Bash", "input": {"command": f"touch {name}"}}


@contextlib.contextmanager
def running(program: Path, home: Path, model: Model, db: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """`claude -p` with our hooks and our server, in a folder of its own."""
    (home / ".claude").mkdir(parents=True)
    project = home / "project"
    project.mkdir()
    hooks = hook_forms.hook_settings("claude", [*COMMAND, "claude", "--db", str(db)])
    settings = {**hooks, "enableAllProjectMcpServers": True, "permissions": {"allow": ["mcp__tui-tasks"]}}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    server = PROGRAMS["claude"].entry(command("mcp", "--agent-only", "claude", "--db", str(db)))
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"tui-tasks": server}}))
    kept = {name: value for name, value in environment(home).items() if name in ("PATH", "HOME", "LANG")}
    environ = kept | dict.fromkeys(QUIET, "1") | {"PYTHONPATH": str(ROOT), "ANTHROPIC_API_KEY": "sk-ant-dummy"}
    environ |= {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_address[1]}", "TMPDIR": str(home)}
    with Started(
        [program, "-p", "go", "--permission-mode", "default"],
        cwd=project,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def state(human: Screen) -> str:
    human.look()
    seen = session_queries.seen(human.store.db, "claude-1")
    assert seen is not None
    return seen.state


def test_claude_code_is_seen_answered_and_written_to(claude_code: Path, tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    turns = [touch("one"), touch("two"), {"type": "text", "text": "Done."}]
    with scripted(turns) as model, screen(db) as human, running(claude_code, tmp_path / "home", model, db) as process:
        assert "touch one" in human.ask().question
        assert state(human) == "waiting"
        human.does(SendMessage("claude-1", "The word is xyzzy."))
        human.look()
        human.answers("Allow")
        assert "touch two" in human.ask().question
        human.answers("Deny: one is enough")
        output, _ = process.communicate(timeout=DEADLINE)
        assert output.strip() == b"Done."
        assert state(human) == "gone"
        assert message_queries.waiting(human.store.db, "claude-1") == ()
    assert {path.name for path in (tmp_path / "home" / "project").iterdir()} == {".mcp.json", "one"}
    assert "The word is xyzzy." in model.heard[1]
    assert "one is enough" in model.heard[2]


def test_what_claude_code_does_over_mcp_is_done_by_its_session(claude_code: Path, tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    added = {"type": "tool_use", "id": "toolu_1", "name": "mcp__tui-tasks__tasklist_add_task", "input": {"name": "x"}}
    turns = [added, {"type": "text", "text": "Done."}]
    with scripted(turns) as model, screen(db) as human, running(claude_code, tmp_path / "home", model, db) as process:
        assert process.communicate(timeout=DEADLINE)[0].strip() == b"Done."
        human.look()
        found = agents_page(human.store.db, clock.now(), everyone=True)
        assert [(one["agent"], one["state"]) for one in found] == [("claude-1", "gone")]
        lists = task_queries.lists(human.store.db)
        assert "x" in {task.name for home in lists for task in task_queries.tasks(human.store.db, home.id)}
