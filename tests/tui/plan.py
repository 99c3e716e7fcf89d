"""The plan that the pictures show, built through the same operations as everything, on a clock that stands still."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from zoneinfo import ZoneInfo

from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, LogTask
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections, local_values

SECOND, MINUTE = 1_000_000, 60_000_000
ZONE = ZoneInfo("Europe/Berlin")


def at(hour: int, minute: int, second: int = 0) -> int:
    """An instant of that Saturday evening in Berlin, in microseconds."""
    local = datetime(2026, 11, 21, hour, minute, second, tzinfo=ZONE)
    return int(local.astimezone(UTC).timestamp()) * 1_000_000


NOW = at(20, 15, 42)


def connect(store: Store, *agents: str) -> None:
    """Let agents be there, as those are that speak through a process which lives."""
    with store.db.transaction(write=True):
        for agent in agents:
            connections.begin(store.db, agent, Process(), at(16, 0))


Step = tuple[int, Callable[[Store, int], object]]
"""When something happens, and what is done then."""


def looked(store: Store, now: int) -> None:
    """Let the human look at everything so far."""
    with store.db.transaction(write=False):
        seq = journal.newest(store.db)
    local_values.put(store.db, local_values.LOOKED, {"seq": seq, "at": now})


WHY = {
    "topic": "which database",
    "thoughts": ["SQLite hides what locks do.", "Postgres starts in three seconds in a container."],
    "reflection": "I should have asked before I began.",
}


class Plan:
    """The tasks by their places: `plan[5]` is the uid of #5."""

    def __init__(self, path: Path, later: list[Step] | None = None) -> None:
        """With `later`, what happens in the evening is not done but noted there."""
        self.path = str(path)
        self._later, self._is_evening = later, False
        self.uids: list[str] = []
        with Store(self.path) as store:
            self._store = store
            self._build()
            connect(store, "claude-1", "claude-2")

    def copied(self, path: Path) -> Self:
        """The same plan in a database of its own."""
        copied = copy.copy(self)
        copied.path = shutil.copy(self.path, str(path))
        return copied

    def __getitem__(self, place: int) -> str:
        return self.uids[place - 1]

    def _do(self, actor: str, when: int, *operations: Operation, why: Any = None) -> list[object]:
        if self._later is not None and self._is_evening:
            self._later.append((when, lambda store, now: store.commit(*operations, actor=actor, now=now, why=why)))
            return []
        return self._store.commit(*operations, actor=actor, now=when, why=why)

    def _status(self, actor: str, when: int, place: int, status: str) -> None:
        self._do(actor, when, EditTask(self[place], {"status": status}))

    def _build(self) -> None:
        self._begin(at(16, 0))
        self._evening()

    def _begin(self, now: int) -> None:
        """Make the list and its tasks."""
        self.list_uid = self._do("human", now, CreatePlan("Plan"))[0].uid
        self._add(now)

    def _evening(self) -> None:
        """Let people and agents work on them."""
        self._is_evening = True
        self._status("human", at(16, 5), 9, "skipped")
        self._status("claude-2", at(17, 1), 1, "done")
        self._status("claude-2", at(18, 12), 2, "done")
        self._do("claude-1", at(19, 12), EditTask(self[6], {"description": "Against a real Postgres."}), why=WHY)
        self._do("human", at(19, 14), EditTask(self[8], {"description": "On the standby."}))
        if self._later is None:
            looked(self._store, at(19, 58))
        else:
            self._later.append((at(19, 58), looked))
        self._status("claude-2", at(19, 58, 20), 3, "in_progress")
        self._do(
            "claude-2",
            at(19, 58, 41),
            EditTask(self[3], {"status": "failed"}),
            LogTask(self[3], "test_dst_gap: expected 02:30, got 03:30"),
        )
        self._work()

    def _add(self, now: int) -> None:
        titles = (
            ("Inventory GA usage", "claude-2"),
            ("Audit CloudFlare WAF rules", "claude-2"),
            ("Fix flaky DST test", "claude-2"),
            ("Pick JWT lib: jose or pyjwt", "claude-1"),
            ("Ship auth flow", "claude-1"),
            ("Write integration tests", None),
            ("Migrate analytics GA to Plausible", "claude-2"),
            ("Backup restore drill", None),
            ("Old cookie banner", None),
        )
        for number, (title, agent) in enumerate(titles):
            task = self._do("human", now + MINUTE + number * SECOND, AddTask(title, self.list_uid, agent=agent))[0]
            self.uids.append(task.uid)
        about = "JWT middleware, login and refresh endpoints.\nTests must pass before merge."
        self._do("human", now + 2 * MINUTE, EditTask(self[5], {"description": about, "tags": ("auth",), "priority": 2}))
        self._do("human", now + 3 * MINUTE, EditTask(self[6], {"depends_on": (self[5],)}))

    def _work(self) -> None:
        self._status("claude-1", at(20, 1), 5, "in_progress")
        self._log(at(20, 1, 5), "started")
        self._log(at(20, 3), "read the RFC")
        self._log(at(20, 5), "sketched the middleware")
        self._log(at(20, 6), "needs the library of #4")
        question = "jose is maintained but heavier; pyjwt is in the lockfile. Which one?"
        self._do(
            "claude-1",
            at(20, 6, 11),
            LogTask(self[4], "compared both libraries"),
            OpenAsk(question, ("pyjwt", "jose"), self[4]),
        )
        self._log(at(20, 11, 9), "wrote login endpoint")
        self._do(
            "claude-2",
            at(20, 11, 30),
            LogTask(self[7], "exported the old figures"),
            OpenAsk("Approve: delete the old GA property", ("approve", "deny"), self[7]),
        )
        self._log(at(20, 13, 40), "wrote middleware/jwt.py")
        self._log(at(20, 15, 2), "running tests 14/22")

    def _log(self, when: int, message: str) -> None:
        self._do("claude-1", when, LogTask(self[5], message))
