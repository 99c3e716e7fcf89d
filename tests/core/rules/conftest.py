"""What the tests of rules share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Clock
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.store import Store


@pytest.fixture
def add(store: Store, clock: Clock) -> Callable[..., str]:
    """Add a task by an agent; return its uid."""

    def add_task(name: str = "a task", home: str = "tasklist", **fields) -> str:
        (found,) = store.commit(EnsureList(home, "task"), actor="agent", now=clock())
        return store.commit(AddTask(name, found.uid, **fields), actor="agent", now=clock())[0].uid

    return add_task


@pytest.fixture
def do(store: Store, clock: Clock) -> Callable[..., list]:
    """Commit operations, a second later."""

    def run(*operations, actor: str = "agent") -> list:
        return store.commit(*operations, actor=actor, now=clock.forward(1))

    return run
