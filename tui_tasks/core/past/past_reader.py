"""Reads the past like any database: the tables as they were, and the journal up to the entry that is shown."""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.core.engine import open_checks
from tui_tasks.core.engine.database import Database

# SQLite resolves a name among temporary tables and views first.
_VIEWS: Final = (
    "CREATE TEMP VIEW journal AS SELECT * FROM live.journal WHERE seq <= (SELECT seq FROM main.position)",
    # The output of a run that had ended has not changed since.
    "CREATE TEMP VIEW run_log AS SELECT * FROM live.run_log "
    "WHERE run_uid IN (SELECT uid FROM main.run WHERE state = 'final')",
    "CREATE TEMP VIEW view AS SELECT * FROM live.view WHERE key GLOB 'filter:*'",
)


class PastReader(Database):
    """A read-only connection to a `PastState`; the journal is read from the live database.

    Saved filters are the current ones. What is not in the journal is absent: who was connected, and what each agent was
    doing between two entries.
    """

    def __init__(self, path: str, live: str) -> None:
        """Open the past at `path` of the database at `live`.

        Raises:
            DatabaseRefused: one of them cannot be used.
        """
        self._live = live
        super().__init__(path, read_only=True)

    def _prepare(self, connection: Any) -> None:
        connection.execute("PRAGMA query_only = 0")
        connection.execute("ATTACH ? AS live", (open_checks.uri(self._live, "mode=ro"),))
        for view in _VIEWS:
            connection.execute(view)
        connection.execute("PRAGMA query_only = 1")
