"""What goes on, and what waits, without the screen that the human has quit."""

from __future__ import annotations

from collections.abc import Iterator

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import DatabaseRefused, StorageFailed
from tui_tasks.core.vocab import SHELL


def quitting_lines(path: str) -> list[str]:
    """Return how many agents still run, how many questions wait, and what becomes of permissions that wait.

    There is a line for each that there is, with the command that shows more.
    """
    from tui_tasks.core.store import Store

    try:
        with Store(path, read_only=True) as store:
            return [*_running(store.db), *_waiting(store.db, path)]
    except (DatabaseRefused, StorageFailed):
        return []


def _running(db: Database) -> Iterator[str]:
    from tui_tasks.core.read import work_queries

    if number := work_queries.count_running(db):
        agents, them, one = ("agent still runs", "it", "it") if number == 1 else ("agents still run", "them", "one")
        yield f"{number} {agents}: `tui-tasks work ls` lists {them}, `work discard N` ends {one}."


def _waiting(db: Database, path: str) -> Iterator[str]:
    from tui_tasks.core.read import ask_queries

    # A command that asks stands at a terminal of its own.
    asks = [ask for ask in ask_queries.open_asks(db) if ask.agent != SHELL]
    requests = [ask for ask in asks if _is_of_window(db, ask)]
    if number := len(asks) - len(requests):
        questions, them, one = ("question waits", "it", "it") if number == 1 else ("questions wait", "them", "one")
        yield f"{number} {questions}: `tui-tasks asks` lists {them}, `asks answer` answers {one}."
    if not requests:
        return
    from tui_tasks.hooks import screen_presence

    number, is_one = len(requests), len(requests) == 1
    # A program also has its own questions.
    word = "permission" if all((ask.request or {}).get("kind") == "permission" for ask in requests) else "request"
    permissions = f"{word} waits" if is_one else f"{word}s wait"
    if screen_presence.is_open(path):
        yield f"{number} {permissions} on another screen."
    else:
        asking = "its program asks for it in its" if is_one else "their programs ask for them in their"
        yield f"{number} {permissions}: {asking} own window{'' if is_one else 's'} now."


def _is_of_window(db: Database, ask: Ask) -> bool:
    """Return whether a program asks that has a window: it reports by hooks, and no job has started it."""
    from tui_tasks.core.read import job_queries

    return ask.request is not None and job_queries.job_of_agent(db, ask.agent) is None
