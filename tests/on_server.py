"""Where some suites have their databases: files; with TUI_TASKS_TESTS_ON_SERVER=1 on a private PostgreSQL cluster.

A server holds no NUL character, and dates entries by its own clock: here tests go on by the clock that they set. Where
a server does not answer for 2 s, a channel serves a read without what it would have to write first: here it waits for
longer, as a test's machine may be busy.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

IS_ON_SERVER = os.environ.get("TUI_TASKS_TESTS_ON_SERVER") == "1"
_numbers = itertools.count()
# They stay until the cluster ends, with this process.
_databases = contextlib.ExitStack()


@cache
def _cluster() -> Any:
    from tests.postgres.cluster import Cluster

    return Cluster.make()


@cache
def url_of(path: str) -> str:
    """Return the URL of a database of its own for a path; without a server, the path."""
    return _new_url() if IS_ON_SERVER else path


def _new_url() -> str:
    url: str = _cluster().conninfo(_databases.enter_context(_cluster().database()))
    return f"{url}&connect_timeout=60&tcp_user_timeout=60000"


def path_of(path: str) -> str:
    """Return the path of a new replica for that of a file; without a server, the path."""
    if not IS_ON_SERVER:
        return path
    from tui_tasks.postgres.team_server import server_id

    _use_own_clocks()
    _wait_longer()
    if path == ":memory:":
        path = str(Path(_folder()) / f"{next(_numbers)}.db")
    url = _new_url()
    Path(f"{path}.replica-server").write_text(json.dumps({"url": url, "id": server_id(url)}))
    return f"{path}.replica"


@cache
def _folder() -> str:
    return tempfile.mkdtemp()


@cache
def _use_own_clocks() -> None:
    from tui_tasks.postgres.replica import Replica

    real = Replica.state_transaction

    @contextlib.contextmanager
    def without_time(self: Replica, *, write: bool, is_repeatable: bool = False) -> Iterator[None]:
        with real(self, write=write, is_repeatable=is_repeatable):
            yield None

    Replica.state_transaction = without_time  # type: ignore[method-assign]


@cache
def _wait_longer() -> None:
    from tui_tasks.postgres import team_server

    team_server._SESSION = "-c idle_in_transaction_session_timeout=60s -c lock_timeout=60s"  # type: ignore[misc]
