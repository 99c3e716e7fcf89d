"""Pictures: what a screen looks like, kept in `screenshots/`, where the README shows them from.

`pytest tests/tui/stories --snapshot-update` draws them anew.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_textual_snapshot
from textual.pilot import Pilot

from tests.tui.evening import in_order
from tests.tui.idle import IdleLoop
from tests.tui.plan import Plan
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.core.unjournaled.heartbeats import Scheduler
from tui_tasks.runner import processes
from tui_tasks.tui.app.task_app import TaskApp

SCREENSHOTS = Path(__file__).parents[3] / "screenshots"
Draw = Callable[..., None]


class Picture(pytest_textual_snapshot.SVGImageExtension):
    """A picture is called what its test's parameter says: `list-120x40`."""

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        return str(SCREENSHOTS)

    @classmethod
    def get_snapshot_name(cls, *, test_location: Any, index: Any = 0) -> str:
        named = re.search(r"\[(.+)\]", test_location.snapshot_name)
        assert named, "a story has its picture's name as a parameter"
        return named[1]


@pytest.fixture(scope="session")
def first_story(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The evening that all pictures show."""
    return in_order(tmp_path_factory.mktemp("story") / "auth.db")


@pytest.fixture
def evening(first_story: Plan, tmp_path: Path) -> Plan:
    """That evening; a story adds what it is about."""
    return with_scheduler(first_story.copied(tmp_path / "auth.db"))


def with_scheduler(plan: Plan) -> Plan:
    """The same plan with a scheduler that lives, as a run goes on: this process stands for it."""
    with Store(plan.path) as store:
        heartbeats.put_scheduler(store.db, Scheduler(*processes.identity(), heartbeats.real_path(store.db)))
    return plan


@pytest.fixture
def plan(evening: Plan) -> Plan:
    """The same evening: no picture shows less of it."""
    return evening


@pytest.fixture
def draw(snap_compare: Callable[..., bool], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Draw:
    """Compare an app's picture with the one that is kept; the size is in the picture's name."""
    size = re.search(r"(\d+)x(\d+)\]", request.node.name)
    assert size

    def compare(
        app: TaskApp,
        press: Iterable[str] = (),
        run_before: Callable[[Pilot[None]], Awaitable[None]] | None = None,
    ) -> None:
        columns, lines = map(int, size.groups())
        with asyncio.Runner(loop_factory=IdleLoop) as runner:
            monkeypatch.setattr(app, "run", partial(app.run, loop=runner.get_loop()))
            assert snap_compare(app, press=press, terminal_size=(columns, lines), run_before=run_before)

    return compare


@pytest.fixture
def snap_compare(snapshot: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plugin's fixture, with its pictures where ours are."""
    monkeypatch.setattr(pytest_textual_snapshot, "SVGImageExtension", Picture)
    return pytest_textual_snapshot.snap_compare.__wrapped__(snapshot, request)
