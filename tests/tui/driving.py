"""Driving the screen as a person does: keys and words, and what there is to be seen; and what others do meanwhile."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.screen import ModalScreen

from tests.started import DEADLINE
from tests.tui import idle
from tests.tui.plan import NOW, SECOND, Plan, connect
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import ClaimTask, LapseClaims
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.layout import is_compact
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.needs_lines import NeedsLines

# Wide, narrow, and a pane of tmux: columns and lines.
SIZES = [(120, 40), (80, 24), (40, 12)]


@contextlib.asynccontextmanager
async def opened(app: TaskApp, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot[None]]:
    """The app on a screen of so many columns and lines."""
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield pilot


async def press(app: TaskApp, pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and wait for what they set to work."""
    await pilot.press(*keys)
    await app.workers.wait_for_complete()
    await pilot.pause()


async def settle(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, one after the other's work is done; letters of an input come at once, as they are typed."""
    await pilot.pause()
    for at_once in _in_turn(pilot.app, keys):
        await pilot.press(*at_once)
        await pilot.pause()
    asked = isinstance(pilot.app.screen, ModalScreen)
    if not asked:
        await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def _in_turn(app: App[None], keys: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield keys, each by itself unless an input that is open by then takes a row of them as letters."""
    at = 0
    while at < len(keys):
        end = at + 1
        if idle.takes_letters(app):
            while end < len(keys) and idle.is_letter(keys[at]) and idle.is_letter(keys[end]):
                end += 1
        yield keys[at:end]
        at = end


async def write(pilot: Pilot[None], text: str) -> None:
    """Type a text."""
    await pilot.press(*("space" if letter == " " else letter for letter in text))


def named(word: str) -> tuple[str, ...]:
    """The keys that perform an action by its word in the palette."""
    return ("colon", *("space" if letter == " " else letter for letter in word), "enter")


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait until the screen has taken in what another process wrote."""
    deadline = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < deadline, shown(pilot.app)
        await pilot.pause(0.02)


def lines(app: TaskApp) -> list[str]:
    """The lines of the screen."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def counts_line(app: TaskApp) -> str:
    """The counts, and what has changed, which may have a row below. The agents may have two rows above, and an empty
    one below them.
    """
    at = _counts_at(app)
    rows = lines(app)[at : at + 1 + _has_changes(app)]
    return "   ".join((f" {rows[0].strip()}", *map(str.strip, rows[1:])))


def _counts_at(app: TaskApp) -> int:
    return next((at for at, line in enumerate(lines(app)[:5]) if re.match(" +[?] \\d", line)), 2)


def _has_changes(app: TaskApp) -> bool:
    return lines(app)[_counts_at(app) + 1].startswith((" • unseen", " * unseen"))


def agents_line(app: TaskApp) -> str:
    """The line of agents, on a screen that has one."""
    return lines(app)[1]


def place(app: TaskApp, text: str) -> tuple[int, int]:
    """The column and the line of the first text on the screen."""
    return next((line.index(text), at) for at, line in enumerate(lines(app)) if text in line)


def above(app: TaskApp) -> str:
    """What stands above the pane, below the line of the panes."""
    return "\n".join(lines(app)[1 : _top(app)]).rstrip("\n")


def needs_rows(app: TaskApp) -> list[str]:
    """The rows of what needs the human, below the counts and what has changed."""
    return above(app).splitlines()[_counts_at(app) + _has_changes(app) :]


def below(app: TaskApp) -> list[str]:
    """The lines of the pane: its head, which is in the rule above a list, then its rows."""
    at = _top(app)
    return lines(app)[at + (not lines(app)[at] or lines(app)[at].startswith(("──", "--"))) :]


def _top(app: TaskApp) -> int:
    """The line at which a pane begins."""
    if is_compact(app.size):
        return next(at for at, line in enumerate(lines(app)) if line.startswith(("──", "─ ", "--", "- ")))
    return max([3, *(needs.region.bottom for needs in app.screen.query(NeedsLines))])


def shown(app: TaskApp) -> str:
    """What is on screen, line by line."""
    return "\n".join(lines(app))


def said(app: TaskApp) -> str:
    """What the foot of the screen says."""
    return app.screen.query_one(FootLine).message


def task(app: TaskApp, uid: str) -> Task | None:
    """A task as the screen's connection finds it, deleted ones too."""
    return task_queries.any_task(app.link.db, uid)


def order(app: TaskApp) -> list[str]:
    """The names in the list that is shown, in order."""
    return [row.name for row in task_queries.tasks(app.link.db, app.state.list_id)]


def place_of(app: TaskApp, uid: str) -> int:
    """Where a task stands in its list, counted from 1."""
    found = task(app, uid)
    assert found is not None
    return app.state.places.ahead(found.list_id, found.rank) + 1


def by_agent(plan: Plan, agent: str, *operations: Operation, now: int = NOW) -> list[Any]:
    """What another process does meanwhile."""
    with Store(plan.path) as store:
        return store.commit(*operations, actor=agent, now=now)


def kill_after_its_lease(plan: Plan, agent: str, uid: str) -> None:
    """Let an agent claim a task, then be killed, and its claim lapse."""
    by_agent(plan, agent, ClaimTask(agent, 60 * SECOND, uid), now=NOW - 400 * SECOND)
    with Store(plan.path) as store:
        connect(store, agent)
        with store.db.transaction(write=True):
            connections.end(store.db, agent, Process(), NOW - 390 * SECOND)
    by_agent(plan, "system", LapseClaims(), now=NOW - 300 * SECOND)
