"""The name under which a command line speaks (docs: protocol, section 1, `--agent`): never the human."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from tui_tasks import clock
from tui_tasks.channel import requests
from tui_tasks.core.errors import DatabaseRefused, Refusal, ReservedName
from tui_tasks.core.operations.changes import RecordRefusal
from tui_tasks.core.store import Store


def check(
    agent: str | None,
    list_name: str | None,
    tool: str,
    database: Callable[[], str],
    otherwise: str,
    *,
    read_only: bool,
) -> None:
    """Refuse invalid names, and speaking as the human; that attempt is recorded if the database exists.

    It is recorded for `otherwise`, the name without `--agent`.

    Raises:
        InvalidRequest: a name is blank or too long.
        ReservedName: the agent's is the human's, or the program's own.
    """
    requests.name("--list", list_name)
    requests.name("--agent", agent)
    try:
        requests.agent_name(agent, tool)
    except ReservedName as refused:
        with contextlib.suppress(DatabaseRefused, Refusal):
            if not read_only and Path(database()).exists():
                _record_refusal(database(), tool, refused, otherwise)
        raise


def _record_refusal(database: str, tool: str, refused: ReservedName, actor: str) -> None:
    with Store(database) as store:
        store.commit(RecordRefusal(tool, refused.message), actor=actor, now=clock.now())
