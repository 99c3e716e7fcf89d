"""Our plugin in opencode, loaded by node with an opencode that records what it is asked: hooks are real processes."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.client import DEADLINE, environment
from tests.hooks.playing import COMMAND, spooled
from tests.hooks.screens import NOBODY_WAITS, Screen, screen
from tests.started import Started, until
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.hooks import hook_forms

pytestmark = [
    pytest.mark.linux,
    pytest.mark.skipif(shutil.which("node") is None, reason="not run: there is no node to load the plugin"),
]

# It loads the plugins, then does what each line of its input says: an event, a hook of a plugin, or its own end.
DRIVER = """
import readline from "node:readline"
const client = { post: async (request) => { console.log(JSON.stringify({ url: request.url, body: request.body })) } }
const plugins = []
for (const file of process.argv.slice(2)) plugins.push(await (await import(file)).TuiTasks({ client: { client } }))
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line)
  if (name === "exit") process.exit()
  const calls = plugins.map((plugin) => plugin[name]?.(...given))
  if (name !== "event") await Promise.all(calls)
  console.log(JSON.stringify({ done: name }))
}
"""


class OpenCode:
    """A process with our plugin."""

    def __init__(self, folder: Path, db: Path, *, plugins: int = 1) -> None:
        (folder / "driver.mjs").write_text(DRIVER)
        files = [folder / f"plugin-{number}.mjs" for number in range(plugins)]
        for number, file in enumerate(files):
            # As those of a user and of a project, which start the same program by other names.
            flags = ["-s"] * number
            file.write_text(
                hook_forms.opencode_plugin([sys.executable, *flags, *COMMAND[1:], "opencode", "--db", str(db)])
            )
        words = ["node", str(folder / "driver.mjs"), *map(str, files)]
        env = environment(folder)
        self.process = Started(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def does(self, name: str, *given: Any) -> list[dict[str, Any]]:
        """Do one thing; return what opencode was asked meanwhile."""
        self._write(name, *given)
        asked = []
        while "done" not in (line := self.hears()):
            asked.append(line)
        return asked

    def event(self, kind: str, **properties: Any) -> None:
        self.does("event", {"event": {"type": kind, "properties": {"sessionID": "ses_1", **properties}}})

    def prompt(self, text: str) -> None:
        message = {"message": {"id": "msg_1"}, "parts": [{"type": "text", "text": text, "messageID": "msg_1"}]}
        self.does("chat.message", {"sessionID": "ses_1"}, message)

    def hears(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self._lines.get(timeout=DEADLINE))
        return line

    def exits(self) -> None:
        """Exit without waiting for anything."""
        self._write("exit")
        assert self.process.wait(DEADLINE) == 0

    def _write(self, *line: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


@pytest.fixture
def human(db: Path) -> Iterator[Screen]:
    with screen(db, NOBODY_WAITS) as there:
        yield there


@pytest.fixture
def opencode(tmp_path: Path, db: Path) -> Iterator[OpenCode]:
    started = OpenCode(tmp_path, db)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


def test_a_message_to_an_idle_session_is_delivered_without_a_folder_in_the_plugin(
    opencode: OpenCode, human: Screen, tmp_path: Path
) -> None:
    assert str(tmp_path) not in (tmp_path / "plugin-0.mjs").read_text().replace(f'"{tmp_path}/tasks.db"', "")
    opencode.prompt("go")
    opencode.event("session.idle")
    until(lambda: human.look() or session_queries.seen(human.store.db, "opencode-1"))
    human.does(SendMessage("opencode-1", "The word is xyzzy."))
    human.look()
    asked = opencode.hears()
    assert asked["url"] == "/session/ses_1/prompt_async"
    assert "The word is xyzzy." in asked["body"]["parts"][0]["text"]
    assert asked["body"]["noReply"] is False
    until(lambda: human.look() or not message_queries.waiting(human.store.db, "opencode-1"))


def test_the_human_stops_it_and_what_was_said_is_read_with_the_next_prompt(opencode: OpenCode, human: Screen) -> None:
    opencode.prompt("go")
    until(lambda: human.look() or session_queries.seen(human.store.db, "opencode-1"))
    human.does(SendMessage("opencode-1", "Enough.", ends_turn=True))
    human.look()
    assert opencode.hears() == {"url": "/session/ses_1/abort", "body": {}}
    told = opencode.hears()["body"]
    assert told["noReply"] is True
    assert "Enough." in told["parts"][0]["text"]


def test_a_run_that_ends_at_once_tells_its_process_its_tokens_and_its_end(
    opencode: OpenCode, db: Path, human: Screen
) -> None:
    opencode.prompt("go")
    info = {"id": "ses_1", "tokens": {"input": 1000, "output": 50}, "cost": 0.5}
    opencode.event("session.updated", info=info)
    opencode.event("session.idle")
    opencode.exits()
    assert {one.head["pid"] for one in spooled(db)} == {opencode.process.pid}
    assert all(one.head["born"] and one.head["boot"] for one in spooled(db))
    human.look()
    seen = session_queries.seen(human.store.db, "opencode-1")
    assert seen is not None
    assert (seen.state, seen.session.tokens, seen.session.cost_usd) == ("idle", 1050, 0.5)


def test_opencode_waits_for_what_is_told_when_it_disposes_of_the_plugin(opencode: OpenCode, db: Path) -> None:
    opencode.prompt("go")
    opencode.event("session.idle")
    opencode.does("dispose")
    assert len(spooled(db)) == 2


def test_with_the_plugins_of_the_user_and_of_the_project_one_prompt_is_one_task(
    tmp_path: Path, db: Path, human: Screen
) -> None:
    opencode = OpenCode(tmp_path, db, plugins=2)
    opencode.prompt("go")
    opencode.exits()
    assert len(spooled(db)) == 2
    human.look()
    made = [
        task.name for home in task_queries.lists(human.store.db) for task in task_queries.tasks(human.store.db, home.id)
    ]
    assert made == ["go"]
