"""What is imported until the screen stands: each module takes 0.1 to 1 ms of it."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.started import DEADLINE
from tests.terminals import Terminal

# Only keys, other panes and settings of one's own need these.
NEEDLESS = (
    {f"tui_tasks.hooks.replies.{name}" for name in ("answer_file", "mailbox", "outbox")}
    | {f"tui_tasks.tui.{name}" for name in ("board", "schedule", "log", "inbox", "agents.fleet_screen")}
    | {"tui_tasks.tui.agents.answering", "tui_tasks.tui.inputs.dialogs", "tui_tasks.core.rules.agents.request_text"}
    | {"tui_tasks.channel.session", "tui_tasks.dialects.base", "tui_tasks.runner.service", "tui_tasks.runner.git"}
    | {"tui_tasks.core.schedule", "tui_tasks.core.operations.jobs", "tui_tasks.runner.processes"}
    | {"argparse", "ctypes"}
    | {"zoneinfo", "dateutil", "croniter", "cron_descriptor"}
    | {"pygments", "sysconfig", "urllib.request"}
)
MOST = 165
PROGRAM = """
import os, sys
from pathlib import Path
from tui_tasks.tui.app.app import TaskApp

def painted(app):
    Path(sys.argv[-1]).write_text("\\n".join(sys.modules))
    os._exit(0)

TaskApp._begin = painted
os.chdir(Path(sys.argv[-1]).parent)
from tui_tasks.cli.main import main
main(["--db", sys.argv[1]])
"""


def test_the_first_paint_waits_for_no_module_that_it_does_not_need(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "x.db"), str(tmp_path / "modules")]
    terminal = Terminal(command, piped=False, columns=120, lines=40)
    terminal.process.wait(DEADLINE)
    terminal.hang_up()
    found = set((tmp_path / "modules").read_text().split("\n"))
    assert sorted(found & NEEDLESS) == []
    ours = sorted(name for name in found if name.startswith("tui_tasks"))
    assert len(ours) <= MOST, (len(ours), ours)
