"""Seven days of a plan, written in the order in which they happened: their figures can be counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tui.evening import KEPT, Jobs, day, with_agents
from tests.tui.plan import MINUTE, Plan, at
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, LogTask
from tui_tasks.core.store import Store


class Week:
    """A plan of seven days, written in the order in which it happened: its figures can be counted by hand."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.uids: list[str] = []
        with Store(self.path) as store:
            self._store = store
            made = self._do("human", day(13, 9), CreatePlan("Plan"))
            self.list_id = made.id
            for number in range(9):
                self.uids.append(self._do("human", day(13, 9, number), AddTask(f"Task {number}", made.uid)).uid)
            self._days(made.uid)

    def _do(self, actor: str, when: int, *operations):
        return self._store.commit(*operations, actor=actor, now=when)[0]

    def _status(self, task: str, when: int, status: str, actor: str = "claude-1") -> None:
        self._do(actor, when, EditTask(task, {"status": status}))

    def _days(self, plan: str) -> None:
        """One done on Sunday after 10 minutes, two on Tuesday after 30 and 60, one failed on Friday."""
        for number, minutes, place in ((15, 10, 0), (17, 30, 1), (17, 60, 2)):
            begun = day(number, 10 + place)
            self._status(self.uids[place], begun, "in_progress")
            self._status(self.uids[place], begun + minutes * MINUTE, "done")
        self._status(self.uids[3], day(20, 10), "in_progress")
        asked = self._do("claude-1", day(20, 10, 5), OpenAsk("Which?", ("a", "b"), self.uids[3]))
        self._do("human", day(20, 10, 11), AnswerAsk(asked.uid, "a"))
        self._do("claude-1", day(20, 10, 12), LogTask(self.uids[3], "going on"))
        self._status(self.uids[3], day(20, 10, 29), "failed")
        self._do("human", day(20, 12), AddTask("One more", plan))
        self.asked = self._do("claude-1", at(19, 34, 42), OpenAsk("And now?", (), self.uids[4]))


DONE_A_DAY = (2, 4, 1, 5, 3, 5, 1)
TOOK = (4, 12, 25, 38, 38, 55, 70, 110, 300)
WAITED = (1, 2, 4, 6, 6, 9, 22)
TITLES = (
    "Set up the staging server", "Move secrets out of the repository", "Pin the base images", "Cache wheels in CI",
    "Split the settings by environment", "Type the HTTP client", "Drop Python 3.9", "Rename the worker queues",
    "Log requests as JSON", "Trace slow queries", "Index orders by customer", "Retry webhooks with backoff",
    "Validate uploads by size", "Test the login page on phones", "Document the release steps", "Rotate the TLS keys",
    "Fix the sitemap", "Paginate the audit log", "Time out idle sessions", "Escape names in e-mails",
    "Count failed logins",
)  # fmt: skip


class BusyWeek(Plan):
    """The plan of the pictures beside a list in which much was done that week; `other_uid` is that list."""

    def _build(self) -> None:
        self._more: list[str] = []
        self._asks: dict[int, str] = {}
        self._steps: list[tuple[int, Callable[[Store, int], Any]]] = [(day(14, 9), self._planned)]
        number = 0
        for ahead, count in enumerate(DONE_A_DAY):
            for place in range(count):
                self._worked(number, day(15 + ahead, 9 + 2 * (place % 5), 7 * number % 60))
                number += 1
        # Jobs write with a store of their own, in the order of times.
        self.jobs = Jobs(self, [*self._steps, (at(16, 0), lambda store, now: self._evening())], quarters=KEPT)
        with_agents(self)

    def _planned(self, store: Store, now: int) -> None:
        self._begin(now)
        self.other_uid = store.commit(CreatePlan("Website"), actor="human", now=now)[0].uid
        for number in range(16):
            self._added(store, now + (5 + number) * MINUTE)

    def _added(self, store: Store, now: int) -> None:
        title = TITLES[len(self._more)]
        self._more.append(store.commit(AddTask(title, self.other_uid), actor="human", now=now)[0].uid)

    def _worked(self, number: int, begun: int) -> None:
        """One is taken up, one asked about at times, one done; at times another comes."""
        agent = f"claude-{number % 2 + 1}"

        def become(status: str) -> Callable[[Store, int], Any]:
            def step(store: Store, now: int) -> None:
                store.commit(EditTask(self._more[number], {"status": status}), actor=agent, now=now)

            return step

        def ask(store: Store, now: int) -> None:
            asked = store.commit(
                OpenAsk("Now or after the release?", ("now", "after"), self._more[number]), actor=agent, now=now
            )
            self._asks[number] = asked[0].uid

        def answer(store: Store, now: int) -> None:
            store.commit(AnswerAsk(self._asks[number], "now"), actor="human", now=now)

        took = TOOK[number % len(TOOK)]
        self._steps.append((begun, become("in_progress")))
        self._steps.append((begun + took * MINUTE, become("done")))
        if number % 3 == 0:
            self._steps.append((begun + MINUTE, ask))
            self._steps.append((begun + (1 + WAITED[number // 3 % len(WAITED)]) * MINUTE, answer))
        if number % 4 == 3:
            self._steps.append((begun, self._added))
