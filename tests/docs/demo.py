"""The recorded demonstration of the README: `python -m tests.docs.demo` plays it and writes `screenshots/demo.svg`."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Final
from unittest.mock import patch

from textual.pilot import Pilot

from tests.contract.client import ROOT
from tests.docs.animation import Frame, svg
from tests.tui.driving import until
from tests.tui.evening import Jobs, with_agents
from tests.tui.plan import NOW, ZONE, Plan, connect
from tui_tasks.core.commit import journal
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import EditTask, LogTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.settings.config import Config
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.asks import answer_keys
from tui_tasks.tui.keys import action_table
from tui_tasks.tui.state.database_link import DatabaseLink

FILE: Final = ROOT / "screenshots" / "demo.svg"
COLUMNS: Final = 100
LINES: Final = 26
TYPED: Final = "Rotate keys #infra !high"
ANSWER: Final = "pyjwt"
_SECOND: Final = 1_000_000


class Demo:
    """Plays a few minutes of an evening on the real screen and records it."""

    def __init__(self, folder: Path) -> None:
        self._plan = with_agents(Plan(folder / "auth.db"))
        Jobs(self._plan)
        with Store(self._plan.path) as store:
            connect(store, "opencode-1")
        self._now = NOW
        self.frames: list[Frame] = []

    async def record(self) -> None:
        """Play all scenes."""
        link = DatabaseLink(self._plan.path, read_only=False, clock=lambda: self._now)
        app = TaskApp(link, zone=ZONE, list_name=self._plan.list_uid, config=Config())
        async with app.run_test(size=(COLUMNS, LINES)) as pilot:
            self._pilot, self._app = pilot, app
            await self._shoot("Your tasks, who works on them, and what needs you", 3)
            await self._add_a_task()
            await self._answer_a_question()
            await self._look_at_the_board()
            await self._press("pane_log")
            await self._shoot("The log: who changed what, when and why", 3)
            await self._press("agents")
            await self._shoot("Every agent, most urgent first", 3)

    async def _add_a_task(self) -> None:
        caption = "Add a task in your own words"
        await self._press("new")
        for at in range(1, len(TYPED) + 1):
            await self._type(TYPED[at - 1])
            if at % 4 == 0 or at == len(TYPED):
                await self._shoot(caption, 0.25)
        await self._shoot(caption, 1)
        await self._pilot.press("enter", "escape")
        await self._shoot(caption, 1.5)
        with Store(self._plan.path) as store:
            (made,) = (each for each in task_queries.tasks(store.db, self._list(store)) if each.name in TYPED)
        await self._do("opencode-1", EditTask(made.uid, {"status": "in_progress"}), LogTask(made.uid, "found 3 keys"))
        await self._shoot("An agent takes it. You see each step", 2.5)

    async def _answer_a_question(self) -> None:
        await self._press("asks")
        await self._shoot("An agent asks instead of guessing", 3)
        await self._pilot.press("1")
        await self._shoot("You answer with a key. It has the answer at once", 2)
        await self._pilot.press("escape", "j", "j", "j", "j")
        uid = self._plan[5]
        await self._do("claude-1", LogTask(uid, f"uses {ANSWER}; 22/22 tests pass"), EditTask(uid, {"status": "done"}))
        await self._shoot("It continues, and reports the task done", 3)

    async def _look_at_the_board(self) -> None:
        await self._press("pane_board")
        await self._shoot("The board: what waits, runs, needs you, failed, is done", 3)

    def _list(self, store: Store) -> int:
        found = task_queries.find_list(store.db, self._plan.list_uid)
        assert found is not None
        return found.id

    async def _do(self, actor: str, *operations: Operation) -> None:
        """Commit as an agent, from a connection of its own."""
        self._now += _SECOND
        with Store(self._plan.path) as store:
            store.commit(*operations, actor=actor, now=self._now)
        await until(self._pilot, lambda: self._app.link.seq >= journal.newest(self._app.link.db))

    async def _press(self, action: str) -> None:
        """Press the key of an action, whichever it is."""
        await self._pilot.press(action_table.ACTIONS[action].keys.split(",")[0])

    async def _type(self, text: str) -> None:
        keys = {" ": "space", "#": "number_sign", "!": "exclamation_mark", "@": "at", "-": "minus"}
        await self._pilot.press(keys.get(text, text))

    async def _shoot(self, caption: str, seconds: float) -> None:
        """Add the present screen as a frame."""
        await _settle(self._pilot)
        strips = self._pilot.app.screen._compositor.render_strips()
        self.frames.append(Frame(caption, seconds, tuple(strip.simplify() for strip in strips)))


async def _settle(pilot: Pilot[None]) -> None:
    """Let the screen read its data and paint."""
    for _ in range(3):
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()


def record() -> list[Frame]:
    """Play the demonstration on a temporary database; return its frames."""
    for name in ("NO_COLOR", "TEXTUAL_THEME"):
        os.environ.pop(name, None)
    # Keys come faster here than a person reads.
    with tempfile.TemporaryDirectory() as folder, patch.object(answer_keys, "READ_SECONDS", -math.inf):
        demo = Demo(Path(folder))
        asyncio.run(demo.record())
    return demo.frames


def main() -> int:
    """Record the demonstration and write its picture."""
    frames = record()
    FILE.write_text(svg(frames, COLUMNS, LINES))
    print(f"{FILE}: {len(frames)} frames, {FILE.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
