"""What everything is measured against: bare sqlite3, on the same disk, with the same pragmas, in the same run."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from tui_tasks.core.engine import driver


def connect(path: Path) -> Any:
    """Open a bare database as the program opens its own."""
    connection = driver.connect(path)
    connection.execute("PRAGMA journal_mode=wal")
    connection.execute("PRAGMA synchronous=full")
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    connection.execute("CREATE TABLE IF NOT EXISTS one (id INTEGER PRIMARY KEY, a TEXT, b TEXT)")
    return connection


def durable_commits(path: Path, seconds: float) -> tuple[float, list[float]]:
    """Transactions of three inserts each: how many a second, and how long each took (seconds)."""
    connection = connect(path)
    took: list[float] = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        at = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            connection.execute("INSERT INTO one (a, b) VALUES (?, ?)", ("a task's name", "what is to be done there"))
        connection.execute("COMMIT")
        took.append(time.perf_counter() - at)
    connection.close()
    return len(took) / sum(took), took


def p(values: list[float], percent: float) -> float:
    """A percentile."""
    return statistics.quantiles(values, n=1000, method="inclusive")[min(998, int(percent * 10) - 1)]
