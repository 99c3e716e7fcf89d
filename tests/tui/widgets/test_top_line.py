"""The top line: how many agents are there."""

from __future__ import annotations

from tests.tui.driving import lines
from tests.tui.plan import NOW, Plan
from tui_tasks.core import connections
from tui_tasks.core.operations.sessions import Process
from tui_tasks.core.store import Store
from tui_tasks.tui.app.app import TaskApp


async def test_the_top_line_counts_the_agents_that_are_there(app: TaskApp, plan: Plan) -> None:
    async with app.run_test(size=(120, 40)):
        assert lines(app)[0].endswith("live  2 agents")
        with Store(plan.path) as store, store.db.transaction(write=True):
            connections.end(store.db, "claude-2", Process(), NOW)
        assert app.context.state.agent_count(NOW + 2_000_000) == 1
