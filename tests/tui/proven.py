"""What is proven of the plan's tasks, for tests of what the screen tells of it."""

from __future__ import annotations

from tests.tui.plan import Plan
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


def name_of(plan: Plan) -> str:
    with Store(plan.path) as store:
        return task_queries.list_by_uid(store.db, plan.list_uid).name
