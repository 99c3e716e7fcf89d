"""The plan of the pictures with what the other screens show: more agents, and jobs with a history."""

from __future__ import annotations

from tests.tui.plan import Plan, at
from tui_tasks.core.operations import LogTask
from tui_tasks.core.store import Store


def with_agents(plan: Plan) -> Plan:
    """One agent that is quiet, one that does nothing at the moment, and one that has just said something."""
    with Store(plan.path) as store:
        store.commit(LogTask(plan[6], "joined"), actor="codex-1", now=at(19, 58, 30))
        store.commit(LogTask(plan[8], "looked at the backups"), actor="watcher", now=at(20, 15, 40))
        store.commit(LogTask(plan[5], "tests 14/22"), actor="claude-1", now=at(20, 15, 2))
    return plan
