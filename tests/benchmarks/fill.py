"""Databases of any size, made through the program's own operations."""

from __future__ import annotations

import random
from pathlib import Path

from tui_tasks.core.operations.tasks import AddTask
from tui_tasks.core.read.tasks import task_queries, task_search
from tui_tasks.core.store import Store

START = 1_767_352_934_000_000
GROUP = 2_000
_WORDS = [
    "auth",
    "flow",
    "test",
    "deploy",
    "cache",
    "index",
    "audit",
    "login",
    "token",
    "backup",
    "restore",
    "migrate",
    "schema",
    "report",
    "metric",
    "alert",
    "queue",
    "worker",
    "session",
    "cookie",
    "header",
    "proxy",
    "shard",
    "replica",
    "vacuum",
    "journal",
    "cursor",
    "window",
    "column",
    "theme",
    "contrast",
    "snapshot",
    "release",
]
_STATUSES = ("pending", "pending", "pending", "done", "done", "done", "done", "failed", "skipped", "cancelled")


def fill(path: Path, tasks: int, name: str = "task") -> None:
    """Put so many tasks into the list of that name."""
    chance = random.Random(tasks)
    with Store(str(path)) as store:
        home = task_queries.find_list(store.db, name)
        assert home is not None
        for begin in range(0, tasks, GROUP):
            with store.transaction(START + begin) as transaction:
                for number in range(begin, min(begin + GROUP, tasks)):
                    with transaction.change():
                        transaction.speak(f"claude-{number % 3}")
                        transaction.run(_task(chance, number, home.uid))
        # As the scheduler has done after some seconds.
        while task_search.catch_up_index(store.db, GROUP):
            pass


def _task(chance: random.Random, number: int, list_uid: str) -> AddTask:
    return AddTask(
        f"{' '.join(chance.choices(_WORDS, k=4))} {number}",
        list_uid,
        " ".join(chance.choices(_WORDS, k=12)),
        status=chance.choice(_STATUSES),
        priority=chance.randint(1, 4),
    )
