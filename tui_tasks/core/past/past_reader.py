"""Read the past as any database is read: tables as they were, and the journal up to the entry after which that is."""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.core.engine import open_checks
from tui_tasks.core.engine.database import Database

# SQLite looks for a name among temporary tables and views first.
_VIEWS: Final = (
    "CREATE TEMP VIEW journal AS SELECT * FROM live.journal WHERE seq <= (SELECT seq FROM main.position)",
    # The output of a run that had ended is what it is now.
    "CREATE TEMP VIEW run_log AS SELECT * FROM live.run_log "
    "WHERE run_uid IN (SELECT uid FROM main.run WHERE state = 'final')",
    "CREATE TEMP VIEW view AS SELECT * FROM live.view WHERE key GLOB 'filter:*'",
)


class PastReader(Database):
    """A connection to a `PastState`, read only; the journal is read where it is, in the live database.

    Saved filters are shown as they are now. What no journal tells is not there: who was connected, and what each
    agent was at from one entry to the next.
    """

    def __init__(self, path: str, live: str) -> None:
        """Connect to the past at `path` of the database at `live`.

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
