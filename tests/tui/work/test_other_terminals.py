"""The terminals of agents that somebody has started in a tmux of their own, or elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.started import until
from tests.tui.driving import said, settle
from tui_tasks.core.read.agents import session_queries
from tui_tasks.runner import processes
from tui_tasks.tui.agents.agents_screen import AgentsScreen
from tui_tasks.tui.work import attaching
from tui_tasks.tui.work.attaching import Place, TmuxPane
from tui_tasks.work import agent_terminals

HERE = SimpleNamespace(machine="")
"""All that is asked of the database: the session comes from the test."""

needs_tmux = pytest.mark.skipif(not agent_terminals.is_there(), reason="tmux is not installed")


@pytest.fixture
def pane(tmp_path: Path):
    """A process in somebody's own tmux: the socket of its server, and its pid."""
    folder = Path(tempfile.mkdtemp(prefix="o", dir="/tmp"))  # the path of a socket is limited
    socket, file = folder / "s", tmp_path / "pid"
    tmux = ["env", "-u", "TMUX", "tmux", "-S", str(socket), "-f", "/dev/null"]
    subprocess.run(
        [*tmux, "new-session", "-d", "-s", "mine", f"echo $$ > {file}.new; mv {file}.new {file}; exec sleep 600"],
        check=True,
    )
    until(file.exists, "the pid of the pane")
    yield str(socket), int(file.read_text())
    subprocess.run([*tmux, "kill-server"], check=False)
    shutil.rmtree(folder)


def of_process(monkeypatch: pytest.MonkeyPatch, pid: int) -> None:
    """Let every agent be this process."""
    known = processes.identity(pid)
    session = SimpleNamespace(boot=known.boot, namespace=known.namespace, pid=pid, born=known.born)
    monkeypatch.setattr(session_queries, "find", lambda db, agent: session)


@needs_tmux
def test_an_agent_in_somebodys_own_tmux_is_found_by_its_processs_terminal(pane, monkeypatch):
    socket, pid = pane
    of_process(monkeypatch, pid)
    assert attaching.find(HERE, "claude-1") == Place(TmuxPane(socket, "mine", "%0"))


@needs_tmux
def test_a_screen_in_the_same_tmux_switches_to_it_and_another_attaches_in_its_place(pane, monkeypatch):
    socket, pid = pane
    of_process(monkeypatch, pid)
    ran, told = [], []
    monkeypatch.setattr(attaching, "_runs", lambda words: ran.append(list(words)) or True)
    monkeypatch.setattr(attaching, "_in_place", lambda context, agent, words: ran.append(list(words)))
    context = SimpleNamespace(db=HERE, say=told.append)
    monkeypatch.setenv("TMUX", f"{socket},1,0")
    attaching._go_to_other(context, "claude-1")
    assert ran.pop() == ["tmux", "-S", socket, "switch-client", "-t", "%0"]
    assert told == ["claude-1 is in mine of your tmux."]
    monkeypatch.delenv("TMUX")
    attaching._go_to_other(context, "claude-1")
    assert ran.pop() == ["env", "-u", "TMUX", "tmux", "-S", socket, "attach-session", "-t", "%0"]


@pytest.mark.parametrize(
    ("tty", "settings", "told"),
    [
        ("?", "", "The agent runs without a terminal."),
        (
            "pts/77",
            "",
            "The agent is in another terminal (/dev/pts/77): a command in `attach` of [work] could show it.",
        ),
        ("pts/77", 'attach = ["show", "{tty}", "{pid}", "{agent}"]', ("show", "/dev/pts/77", "PID", "claude-1")),
    ],
)
def test_another_terminal_is_shown_by_a_command_of_the_settings_or_says_why_not(
    tty, settings, told, monkeypatch, tmp_path
):
    of_process(monkeypatch, os.getpid())
    monkeypatch.setattr(attaching, "_output", lambda *words: f"{tty}\n" if words[0] == "ps" else "")
    file = tmp_path / "config.toml"
    file.write_text(f"[work]\n{settings}\n")
    file.chmod(0o600)
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(file))
    found = attaching.find(HERE, "claude-1")
    if isinstance(told, tuple):
        assert found == Place(None, tuple(word.replace("PID", str(os.getpid())) for word in told))
    else:
        assert found == told


async def test_enter_on_an_agent_to_whose_terminal_there_is_no_way_shows_its_log_and_says_so(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert isinstance(app.screen, AgentsScreen)
        while app.screen.agent_here() != "claude-1":
            await settle(pilot, "j")
        await settle(pilot, "enter")
        assert app.navigation.pane_name == "log"
        assert said(app) == "No terminal; showing its log."
