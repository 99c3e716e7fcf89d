"""Runs of the agent programs themselves, which npm has installed in a folder (see `tests.hooks.test_real_programs`)."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.test_real_programs import QUIET, scripted, touch
from tests.runner.hosting import Host, hosted, runners
from tests.started import until
from tui_tasks import clock
from tui_tasks.core.operations.asks import AnswerAsk, SendMessage
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store


@pytest.fixture
def programs(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--agents")
    if folder is None:
        pytest.skip("not run: give --agents FOLDER, in which npm has installed the programs")
    return Path(folder).resolve() / "node_modules" / ".bin"


def allow_then_deny(store: Store, agent: str, first: str, second: str) -> None:
    """Allow what an agent asks for first and deny the second, each after a message."""
    for part, answer in ((first, "Allow"), (second, "Deny: not that one")):
        (ask,) = until(lambda: ask_queries.open_asks(store.db), f"the question about {part}")
        assert part in ask.question
        store.commit(SendMessage(agent, f"after {part}"), actor="human", now=clock.now())
        store.commit(AnswerAsk(ask.uid, answer), actor="human", now=clock.now())
        until(lambda: not ask_queries.open_asks(store.db), "its end")


def test_claude_code_is_started_asked_and_written_to(programs, store, path, tmp_path):
    host = Host(store)
    with scripted([touch("one"), touch("two"), {"type": "text", "text": "Done."}]) as model:
        environment = [f"{name}=1" for name in QUIET]
        environment += [f"HOME={tmp_path}", "ANTHROPIC_API_KEY=sk-ant-dummy", f"PATH={programs}:/usr/bin:/bin"]
        environment += [f"ANTHROPIC_BASE_URL=http://127.0.0.1:{model.server_address[1]}"]
        folder = tmp_path / "project"
        folder.mkdir()
        table = runners(kind="claude", cwd=str(folder), environment=environment, args=["--permission-mode", "default"])
        with hosted(str(path), table):
            run = host.start("agent")
            allow_then_deny(store, "claude-1", "touch one", "touch two")
            ended = host.ended(run)
        assert (ended.outcome, ended.result) == ("success", "Done.")
        assert ended.cost_usd is not None
        assert [(folder / name).exists() for name in ("one", "two")] == [True, False]
        assert "after touch one" in model.heard[1]


class Responses(ThreadingHTTPServer):
    """Answers each request of Codex by the next of its items, in the form in which answers are streamed."""

    def __init__(self, items: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.items = items
        self.heard: list[str] = []


class _Answering(BaseHTTPRequestHandler):
    server: Responses

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        self.server.heard.append(self.rfile.read(int(self.headers["content-length"])).decode(errors="replace"))
        item = self.server.items.pop(0)
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        answer = {"id": f"resp_{len(self.server.items)}", "output": [item], "status": "completed", "usage": usage}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in (
            {"type": "response.created", "response": {**answer, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": answer},
        ):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


@contextlib.contextmanager
def answering(items: list[dict[str, Any]]) -> Iterator[Responses]:
    with Responses(items) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        try:
            yield model
        finally:
            model.shutdown()


def shell(file: Path) -> dict[str, Any]:
    given = {"cmd": f"touch {file}", "sandbox_permissions": "require_escalated", "justification": "it is outside"}
    call = {"type": "function_call", "id": f"fc_{file.name}", "call_id": f"call_{file.name}", "name": "exec_command"}
    return {**call, "arguments": json.dumps(given), "status": "completed"}


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


CODEX_CONFIG = """
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:PORT/v1"
wire_api = "responses"
"""


def test_codex_is_started_asked_and_written_to(programs, store, path, tmp_path):
    host = Host(store)
    folder, home, outside = tmp_path / "project", tmp_path / "codex", tmp_path / "outside"
    for one in (folder, home, outside):
        one.mkdir()
    with answering([shell(outside / "one"), shell(outside / "two"), message("Done.")]) as model:
        (home / "config.toml").write_text(CODEX_CONFIG.replace("PORT", str(model.server_address[1])))
        environment = [f"HOME={tmp_path}", f"CODEX_HOME={home}", f"PATH={programs}:/usr/bin:/bin"]
        with hosted(str(path), runners(kind="codex", cwd=str(folder), environment=environment)):
            run = host.start("agent")
            allow_then_deny(store, "codex-1", "outside/one", "outside/two")
            ended = host.ended(run)
        assert (ended.outcome, ended.result, ended.turns, ended.tokens) == ("success", "Done.", 3, 45)
        assert [(outside / name).exists() for name in ("one", "two")] == [True, False]
        assert "after outside/one" in model.heard[1]
        assert "That was denied: not that one" in model.heard[2]
