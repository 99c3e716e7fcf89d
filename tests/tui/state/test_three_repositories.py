"""Three repositories with two agents each, by what `setup` has written alone: real hooks, real MCP servers."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.client import environment
from tests.started import Started
from tests.tui.driving import named, opened, press, shown
from tui_tasks import clock
from tui_tasks.cli.main import main
from tui_tasks.core.read.agents import last_words, session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.dialects import control_agents
from tui_tasks.hooks import intake
from tui_tasks.tui.agents.agents_screen import AgentsScreen
from tui_tasks.tui.app.task_app import TaskApp

PROJECTS = ("web", "api", "infra")
# The file with the server, the file with the hooks, and the event of a prompt, by the program.
PROGRAMS = {
    "claude": (".mcp.json", ".claude/settings.json", "UserPromptSubmit"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", "BeforeAgent"),
}


def conversation(title: str) -> str:
    """Add a task over MCP, and look at the list."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "tasklist_add_task", "arguments": {"name": title}}},
    ]
    return "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)


class Program:
    """An agent program in a repository: it runs its hooks, speaks to its server, and stays."""

    def __init__(self, home: Path, repository: Path, program: str) -> None:
        servers, hooks, prompt = PROGRAMS[program]
        entry = json.loads((repository / servers).read_text())["mcpServers"]["tui-tasks"]
        commands = json.loads((repository / hooks).read_text())["hooks"]
        name = f"{program} in {repository.name}"
        told = {"session_id": name, "cwd": str(repository), "source": "startup", "prompt": f"Work as {name}"}
        lines = []
        for event in ("SessionStart", prompt):
            (hook,) = commands[event][0]["hooks"]
            payload = repository / f"{program}-{event}.json"
            payload.write_text(json.dumps({**told, "hook_event_name": event}))
            lines.append(f"{hook['command']} < {payload.name} > /dev/null")
        said = repository / f"{program}.jsonl"
        said.write_text(conversation(f"Of {name}"))
        server = shlex.join([entry["command"], *entry["args"]])
        lines += [f"{server} < {said.name} > {program}.out 2> {program}.err", "echo done", "read _"]
        script = repository / f"{program}.sh"
        script.write_text("\n".join(lines))
        self._process = Started(
            ["sh", script.name],
            cwd=repository,
            env=environment(home, PATH=f"{home / 'bin'}:/usr/bin:/bin"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def wait(self) -> None:
        """Wait until it has done all that it does."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"done\n"

    def end(self) -> None:
        self._process.communicate()


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Path]:
    """The human's database, while six agents work in three repositories."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "tui-tasks"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tui_tasks "$@"\n')
    command.chmod(0o755)
    for name, value in environment(tmp_path, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin").items():
        monkeypatch.setenv(name, value)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "TUI_TASKS_DB", "TUI_TASKS_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    for project in PROJECTS:
        (tmp_path / project).mkdir()
        monkeypatch.chdir(tmp_path / project)
        assert main(["init", "--project", project]) == 0
        for program in PROGRAMS:
            assert main(["setup", program, "--hooks"]) == 0
    capsys.readouterr()
    agents = [Program(tmp_path, tmp_path / project, program) for project in PROJECTS for program in PROGRAMS]
    try:
        for agent in agents:
            agent.wait()
        (found,) = tmp_path.rglob("tasks.db")
        yield found
    finally:
        for agent in agents:
            agent.end()


def listed(store: Store) -> set[str]:
    return {str(one["agent"]) for one in control_agents.agents_page(store.db, clock.now(), everyone=True)}


async def test_nobody_writes_into_anothers_list_and_one_screen_shows_all_six(
    database: Path, make_app: Callable[..., TaskApp]
) -> None:
    with Store(str(database)) as store:
        intake.process_payloads(store, clock.now())
        lists = {home.name: home for home in task_queries.lists(store.db)}
        for project in PROJECTS:
            home = lists[f"{project}/tasklist"]
            assert home.project == project
            names = {task.name for task in task_queries.tasks(store.db, home.id)}
            assert names == {f"Of {program} in {project}" for program in PROGRAMS}
        assert {home.project for home in lists.values() if home.total} == set(PROJECTS)
        live = sorted((session.program, session.project) for session in session_queries.live(store.db))
        assert live == sorted((program, project) for program in PROGRAMS for project in PROJECTS)
        # What each has done over MCP is its session's: six agents, and none of the names of their servers.
        six = {f"{program}-{number}" for program in PROGRAMS for number in (1, 2, 3)}
        assert listed(store) == six
        assert {name for name, *_ in last_words.speakers(store.db)} == six
        assert set(connections.connected_agents(store.db)) <= six
        of_projects = {session.uid: session.project for session in session_queries.live(store.db)}
        for home in lists.values():
            assert all(of_projects[task.created_by] == home.project for task in task_queries.tasks(store.db, home.id))
    app = make_app(database)
    async with opened(app) as pilot:
        await press(app, pilot, "A")
        for project in PROJECTS:
            for number in (1, 2, 3):
                assert f"claude-{number}" in shown(app)
                assert f"gemini-{number}" in shown(app)
            lines = [line for line in shown(app).splitlines() if f" {project} " in line and "as " in line]
            assert len(lines) >= 2, shown(app)
        assert isinstance(app.screen, AgentsScreen)
        assert {member.name for member in app.screen.listed.rows} == six
        await press(app, pilot, "escape", *named("projects"))
        assert all(f"{project} " in shown(app) for project in PROJECTS)
