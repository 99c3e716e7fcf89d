"""What is done until the screen stands: each module takes 0.1 to 1 ms of it, each widget a half, each rule a tenth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.started import DEADLINE
from tests.terminals import Terminal
from tests.tui.driving import opened, settle
from tests.tui.plan import NOW
from tui_tasks.core.operations.tasks import AddTask, CreatePlan
from tui_tasks.core.store import Store
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.inputs.dialogs import Menu
from tui_tasks.tui.keys.actions import Controller, LateController

# Only keys, other panes and settings of one's own need these.
NEEDLESS = (
    {f"tui_tasks.hooks.replies.{name}" for name in ("answer_pipes", "message_folders", "reply_sender")}
    | {f"tui_tasks.tui.{name}" for name in ("board", "schedule", "log", "inbox", "asks", "agents.agents_screen")}
    | {"tui_tasks.tui.inputs.dialogs", "tui_tasks.core.rules.agents.request_text", "tui_tasks.core.unhidden_text"}
    | {"tui_tasks.channel.session", "tui_tasks.dialects.tool_table", "tui_tasks.core.schedule"}
    | {f"tui_tasks.runner.{name}" for name in ("scheduler_service", "git", "processes")}
    | {f"tui_tasks.core.operations.{name}" for name in ("asks", "jobs", "sessions", "tasks", "work")}
    | {f"tui_tasks.tui.tasks.{name}" for name in ("add_actions", "links", "mark_actions")}
    | {"tui_tasks.tui.app.list_actions", "tui_tasks.tui.work"}
    | {"argparse", "ctypes"}
    | {"zoneinfo", "dateutil", "croniter", "cron_descriptor"}
    | {"pygments", "ssl", "sysconfig", "urllib.request"}
)
MOST_MODULES = 149
# With a task, its counts and its text as well; and the store, by which the rights of the caller are checked.
MOST_MODULES_WITH_A_TASK = 158
MOST_WIDGETS = 21
MOST_RULES = 64
# Regular expressions that modules compile while they are imported.
MOST_PATTERNS = 0
PROGRAM = """
import json, os, re, sys
from pathlib import Path
import tui_tasks.cli.supervise.screen_program  # first, as the program does
from tui_tasks.tui.app.task_app import TaskApp

def painted(app):
    made = {"widgets": len(list(app.screen.walk_children())), "rules": len(app.stylesheet.rules)}
    ours = [module for name, module in sys.modules.items() if name.startswith("tui_tasks")]
    made["patterns"] = sum(isinstance(value, re.Pattern) for module in ours for value in vars(module).values())
    Path(sys.argv[-1]).write_text(json.dumps({"modules": list(sys.modules), **made}))
    os._exit(0)

TaskApp._begin = painted
os.chdir(Path(sys.argv[-1]).parent)
from tui_tasks.cli.main import main
main(["--db", sys.argv[1]])
"""


REPLAY = """
import sys
from tui_tasks.cli.supervise import screen_program

link = screen_program._link(sys.argv[1], "1", read_only=True)
link.stop()
print(*sorted({"textual", "rich"} & set(sys.modules)))
"""


@pytest.mark.parametrize(("has_task", "most"), [(False, MOST_MODULES), (True, MOST_MODULES_WITH_A_TASK)])
def test_the_first_paint_waits_for_nothing_that_it_does_not_need(tmp_path: Path, has_task: bool, most: int) -> None:
    if has_task:
        with Store(str(tmp_path / "x.db")) as store:
            (plan,) = store.commit(CreatePlan("Plan"), actor="human", now=NOW)
            store.commit(AddTask("Write the tests", plan.uid), actor="human", now=NOW)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "x.db"), str(tmp_path / "made")]
    terminal = Terminal(command, piped=False, columns=120, lines=40)
    terminal.process.wait(DEADLINE)
    terminal.hang_up()
    made = json.loads((tmp_path / "made").read_text())
    found = set(made["modules"])
    assert sorted(found & NEEDLESS) == []
    ours = sorted(name for name in found if name.startswith("tui_tasks"))
    assert len(ours) <= most, (len(ours), ours)
    assert made["widgets"] <= MOST_WIDGETS
    assert made["rules"] <= MOST_RULES
    assert made["patterns"] <= MOST_PATTERNS


async def test_controllers_that_are_made_later_are_what_is_said_of_them_before(app: TaskApp) -> None:
    async with opened(app):
        late = [each for each in (*app.controllers, *app.pane.controllers) if isinstance(each, LateController)]
        assert len(late) == 6
        for each in late:
            made = type(each.made)
            assert each.ids == {name.removeprefix("do_") for name in dir(made) if name.startswith("do_")}
            assert (made.takes_key, made.opens_input) == (Controller.takes_key, Controller.opens_input)
            assert each.may_refuse or made.why_not is Controller.why_not


async def test_the_first_dialog_makes_textual_parse_no_style_again(
    app: TaskApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(app) as pilot:
        parsed: list[str] = []
        monkeypatch.setattr(app.stylesheet, "reparse", lambda: parsed.append("all"))
        await settle(pilot, "equals_sign")
        assert (type(app.screen), app.screen.styles.align, parsed) == (Menu, ("left", "bottom"), [])


def test_a_replay_that_tells_how_far_it_is_waits_for_no_textual(tmp_path: Path) -> None:
    path = str(tmp_path / "x.db")
    with Store(path) as store:
        store.commit(CreatePlan("Plan"), actor="human", now=NOW)
    ended = subprocess.run([sys.executable, "-c", REPLAY, path], capture_output=True, text=True, timeout=DEADLINE)
    assert (ended.stdout, ended.stderr) == ("\n", "")
