"""Actions that only the human may take, in a shell: they need a person at a terminal, as the screen does.

Refused are runs of jobs, processes of agent programs, pipes and named agents; the attempt is recorded.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from tui_tasks import clock
from tui_tasks.core.errors import Forbidden, StorageFailed
from tui_tasks.core.operations.changes import RecordRefusal
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.vocab import HUMAN, SHELL
from tui_tasks.runner.process import processes
from tui_tasks.runner.process.run_context import inside_run

if TYPE_CHECKING:
    import argparse

    from tui_tasks.core.operations.operation import Operation
    from tui_tasks.core.store import Store


def commit(options: argparse.Namespace, store: Store, *operations: Operation) -> list[Any]:
    """Commit operations as the human; return their results.

    Raises:
        Forbidden: the caller is not recognisable as a person at a terminal.
        Refusal: the state forbids it.
    """
    require_person(options, store)
    return list(store.commit(*operations, actor=HUMAN, now=clock.now()))


def require_person(options: argparse.Namespace, store: Store) -> None:
    """Refuse a caller that is not recognisable as a person at a terminal.

    Raises:
        Forbidden: the message has the reason.
    """
    other = _why_no_person(options, store)
    if other is None:
        return
    called = f"tui-tasks {options.command.name} {getattr(options, 'action', None) or ''}".rstrip()
    refused = Forbidden(f"`{called}` is for a person at a terminal: {other}")
    if not store.read_only:
        with contextlib.suppress(StorageFailed):  # it is refused even if the attempt cannot be recorded
            store.commit(RecordRefusal(called, refused.message), actor=options.agent or SHELL, now=clock.now())
    raise refused


def _why_no_person(options: argparse.Namespace, store: Store) -> str | None:
    """Return why the caller is no person at a terminal; None if it is one."""
    if options.agent is not None:
        return "--agent names an agent"
    if inside_run(os.environ, store.db):
        return "this is inside a run of a job"
    live = sessions.live(store.db)
    agents = {processes.ProcessIdentity(one.boot, one.namespace, one.pid, one.born): one.uid for one in live if one.pid}
    for pid in processes.ancestors(os.getpid()) if agents else ():
        if (agent := agents.get(processes.identity(pid))) is not None:
            return f"this was started by {agent}"
    return None if _has_terminal() else "standard input is no terminal"


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
