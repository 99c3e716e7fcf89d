"""The human works while an agent writes all the time: nothing of the human's is lost, moved or done to another task."""

from __future__ import annotations

import threading

import pytest

from tests.entries import all_entries
from tests.started import DEADLINE
from tests.tui.driving import opened, place_of, said, task, until
from tests.tui.plan import NOW
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, LogTask, MoveTask
from tui_tasks.core.store import Store
from tui_tasks.tui.inputs.dialogs import LineDialog, Menu
from tui_tasks.tui.inputs.task_form import EditScreen

# Who types ten keys a second meets 200 changes a second; here no key is pressed before so many have come.
PER_KEY = 20


class Agent(threading.Thread):
    """Adds tasks above the human's, changes, moves, logs and deletes, on a connection of its own.

    It writes on while a key is handled, but never far ahead of what is `wanted`.
    """

    def __init__(self, plan) -> None:
        super().__init__(daemon=True)
        self.plan = plan
        self.changes = 0
        self.wanted = 200
        self.wants_more = threading.Condition()
        self.stopped = threading.Event()
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            with Store(self.plan.path) as store:
                number, own = 0, []
                while not self.stopped.is_set():
                    with self.wants_more:
                        self.wants_more.wait_for(lambda: self.changes < self.wanted + PER_KEY or self.stopped.is_set())
                    number += 1
                    steps = [AddTask(f"Agent {number}", before=own[0] if own else self.plan[1])]
                    steps += [EditTask(uid, {"name": f"Agent was here {number}"}) for uid in own[:2]]
                    steps += [MoveTask(own[-1], before=own[0]), LogTask(own[1], f"step {number}")] if own[1:] else []
                    steps += [LogTask(self.plan[5], f"tests {number}")]
                    steps += [DeleteTask(own.pop())] if len(own) > 40 else []
                    made = store.commit(*steps, actor="claude-9", now=NOW + number)
                    own.insert(0, made[0].uid)
                    self.changes += len(steps)
        except BaseException as error:  # told by the test, which looks at it
            self.failed = error

    def want(self) -> int:
        """Have so many changes more than there are; return how many there are to be."""
        with self.wants_more:
            self.wanted = self.changes + PER_KEY
            self.wants_more.notify()
        return self.wanted

    def stop(self) -> None:
        """End it."""
        with self.wants_more:
            self.stopped.set()
            self.wants_more.notify()
        if self.ident is not None:
            self.join(DEADLINE)


@pytest.fixture
def busy(plan):
    agent = Agent(plan)
    yield agent
    agent.stop()
    assert agent.failed is None


class Human:
    """Presses keys and drags on a screen, never before the agent has written some more."""

    def __init__(self, app, pilot, busy) -> None:
        self.app, self.pilot, self.busy = app, pilot, busy

    async def sees(self, condition) -> None:
        await until(self.pilot, condition)

    async def waits_for_changes(self) -> None:
        wanted = self.busy.want()
        await self.sees(lambda: self.busy.changes >= wanted or self.busy.failed is not None)

    async def presses(self, *keys) -> None:
        for key in keys:
            await self.waits_for_changes()
            await self.pilot.press("space" if key == " " else key)

    async def drags(self, source, target) -> bool:
        """Drag one row to another by the mouse, with the agent writing between press, move and release."""
        window = self.app.pane.row_list

        def line_of(uid):
            return [row.uid for row in window.rows_on_screen].index(uid)

        await self.waits_for_changes()
        await self.pilot.mouse_down(window, offset=(12, line_of(source)))
        await self.waits_for_changes()
        await self.pilot.hover(window, offset=(12, line_of(target)))
        await self.waits_for_changes()
        return await self.pilot.mouse_up(window, offset=(12, line_of(target)))


async def test_typing_editing_marking_and_dragging_go_where_they_were_meant_to(plan, make_app, busy):
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        human = Human(app, pilot, busy)
        busy.start()
        await human.sees(lambda: app.state.current_list.total > 30)
        window = app.pane.row_list
        await human.presses("G", "k")
        await human.sees(lambda: window.cursor == plan[8])
        await human.presses("n", *"half", "enter")
        await human.sees(lambda: window.row is not None and window.row.name == "half")
        new = window.cursor
        await human.presses("up")
        await human.sees(lambda: window.cursor == plan[8])
        await human.presses("e")
        await human.sees(lambda: isinstance(app.screen, EditScreen))
        await human.presses(*" 2", "ctrl+s")
        await human.sees(lambda: task(app, plan[8]).name == "Backup restore drill 2")
        await human.presses("s")
        await human.sees(lambda: isinstance(app.screen, Menu))
        await human.presses("f")
        await human.sees(lambda: isinstance(app.screen, LineDialog))
        await human.presses(*"why", "enter")
        await human.sees(lambda: task(app, plan[8]).status == "failed")
        await human.presses("k", "v", "s", "d")
        await human.sees(lambda: task(app, plan[7]).status == "done")
        assert await human.drags(plan[4], plan[6])
        await human.sees(lambda: place_of(app, plan[4]) == place_of(app, plan[6]) + 1)
        await human.presses("u")
        await human.sees(lambda: place_of(app, plan[4]) == place_of(app, plan[3]) + 1)
        busy.stop()
        await app.workers.wait_for_complete()
        app.link.catch_up()
        assert done_by_human(app, new) == [
            ("task.created", new),
            ("task.updated", plan[8]),
            ("task.updated", plan[8]),
            ("task.logged", plan[8]),
            ("task.updated", plan[7]),
            ("task.moved", plan[4]),
            ("task.moved", plan[4]),
        ]
        assert place_of(app, new) == place_of(app, plan[8]) + 1
        assert not said(app).startswith("Cannot")


def done_by_human(app, first):
    """What the human did on the screen, beginning with the task made there."""
    entries = [entry for entry in all_entries(app.link.db) if entry.actor == "human"]
    done = [(entry.kind, entry.task) for entry in entries]
    return done[done.index(("task.created", first)) :]
