"""What must hold of a database whatever has happened to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.core.job_steps import replayed, tables
from tui_tasks.core.commit import journal
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.store import Store


@dataclass(frozen=True)
class Found:
    """What a database holds: each live text with how often, the status of each live task, the journal's newest seq."""

    texts: Counter[str]
    statuses: dict[str, str]
    seq: int


def found(path: Path, *, replay: bool = True) -> Found:
    """Open a database as the program does, hold it to its invariants, and tell what is in it.

    Raises:
        AssertionError: SQLite finds damage, the chain is broken, something belongs to nothing or is miscounted, a list
            has two tasks of an agent in progress that may have one, or the journal does not give the tables.
    """
    with Store(str(path)) as store:
        wrong = list(database_findings.findings(store.db))
        assert not wrong, wrong
        crowded = store.db.sql(
            "SELECT list_id FROM task WHERE deleted = 0 AND solo = 1 AND status = 'in_progress' "
            "GROUP BY list_id, coalesce(agent, status_by) HAVING count(*) > 1"
        ).fetchall()
        assert not crowded, f"two in progress in lists {crowded}"
        if replay:
            assert replayed(store) == tables(store.db), "the journal does not give the tables"
        names = [text for (text,) in store.db.sql("SELECT name FROM task WHERE deleted = 0")]
        names += [text for (text,) in store.db.sql("SELECT message FROM log WHERE deleted = 0")]
        statuses = dict(store.db.sql("SELECT uid, status FROM task WHERE deleted = 0").fetchall())
        return Found(Counter(names), statuses, journal.newest(store.db))
