"""What a terminal does in the human's name is shown on the open screen at once, and taken back by a key."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.tui.driving import said, settle, shown, until
from tests.tui.plan import NOW
from tui_tasks.core.operations import RecordTerminal
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import overview
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.app.frame import Frame

USED = RecordTerminal("tui-tasks release", "/dev/pts/3", ("script 799", "tmux: server 700", "init 1"))


async def test_it_is_told_with_terminal_and_parents_and_a_key_takes_it_back(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        uid = plan[5]
        was = task_queries.task(app.link.db, uid).status
        with Store(plan.path) as store:
            store.commit(USED, EditTask(uid, {"status": "skipped"}), actor="human", now=NOW)
        await until(
            pilot,
            lambda: "script in tmux at /dev/pts/3 ran tui-tasks release in your name." in said(app),
        )
        assert task_queries.task(app.link.db, uid).status == "skipped"
        await settle(pilot, "u")
        assert task_queries.task(app.link.db, uid).status == was
        (alert,) = overview.between(app.link.db, 0, 10_000)[-1:]
        assert (alert.kind, alert.who, alert.text) == ("terminal", "/dev/pts/3", "tui-tasks release")
        await settle(pilot, "3")
        assert "tui-tasks release at /dev/pts/3 < script 799" in " ".join(shown(app).split())


class SaidFrame(Frame):
    text = ""

    def say(self, text: str) -> None:
        self.text = text


@pytest.mark.parametrize(
    ("command", "is_undone"),
    [
        *[(name, True) for name in ("accept", "join", "lists rename", "lists review", "work merge")],
        *[(name, False) for name in ("restore", "compact", "token add", "jobs stop", "move", "rules remove")],
        *[(name, False) for name in ("lists auto", "work start", "asks answer", "agents stop")],
    ],
)
def test_only_what_the_key_undoes_is_said_to_be_undone_by_it(command, is_undone):
    frame = SaidFrame(None, ascii_only=False)
    used = {"command": f"tui-tasks {command}", "terminal": "/dev/pts/3", "parents": ["script 799"]}
    frame.say_terminals([used], SimpleNamespace(key_of=lambda _: "u"))
    assert frame.text.endswith("u undoes it.") is is_undone
