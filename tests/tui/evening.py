"""The plan of the pictures with what the other screens show: more agents, and jobs with a history."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot
from textual.screen import ModalScreen

from tests.tui.plan import NOW, Plan, at
from tui_tasks.core.operations import LogTask, Operation
from tui_tasks.core.store import Store
from tui_tasks.tui.app import TaskApp


def with_agents(plan: Plan) -> Plan:
    """One agent that is quiet, one that does nothing at the moment, and one that has just said something."""
    with Store(plan.path) as store:
        store.commit(LogTask(plan[6], "joined"), actor="codex-1", now=at(19, 58, 30))
        store.commit(LogTask(plan[8], "looked at the backups"), actor="watcher", now=at(20, 15, 40))
        store.commit(LogTask(plan[5], "tests 14/22"), actor="claude-1", now=at(20, 15, 2))
    return plan


def shown(app: TaskApp) -> str:
    """What is on screen, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def settle(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, one after the other's work is done."""
    await pilot.pause()
    for key in keys:
        await pilot.press(key)
        await pilot.pause()
    asked = isinstance(pilot.app.screen, ModalScreen)
    if not asked:
        await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def by_agent(plan: Plan, agent: str, *operations: Operation, now: int = NOW) -> list[Any]:
    """What another process does meanwhile."""
    with Store(plan.path) as store:
        return store.commit(*operations, actor=agent, now=now)


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait until the screen has taken in what another process wrote."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline, shown(pilot.app)
        await pilot.pause(0.02)
