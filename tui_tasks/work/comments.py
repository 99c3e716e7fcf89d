"""What the human writes to an agent at work: comments as one message, and how an agent at rest is woken to read it, by
a prompt or by a new start of its program.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks.core.agent_snapshots import HumanMessage, Work
from tui_tasks.core.engine.file_writes import make_folder
from tui_tasks.core.operations.work import CommentWork
from tui_tasks.core.read import ask_queries, work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN
from tui_tasks.default_paths import data_folder
from tui_tasks.hooks.replies.outbox import Outbox
from tui_tasks.work import clean_up
from tui_tasks.work.agent_terminals import Terminals
from tui_tasks.work.starting import Starter

PROMPT: Final = "Go on: the human has written to you."
_AT_REST: Final = ("idle", "interrupted", "failed")
_LINES: Final = 100  # of a terminal that are compared


class Sent(NamedTuple):
    """The result of sending comments: the work, and whether its program was started again."""

    work: Work
    is_started_again: bool


class LineComment(NamedTuple):
    """A comment of the human on a line of a file; without a line, on the file; without a path, on the work."""

    text: str
    path: str = ""
    line: int | None = None


def comments_text(comments: Sequence[LineComment]) -> str:
    """Return comments as one message."""
    lines = []
    for one in comments:
        where = one.path if one.line is None else f"{one.path}:{one.line}"
        lines.append(f"{where}: {one.text}" if where else one.text)
    return "\n".join(lines)


def conflict_text(work: Work, files: Sequence[str]) -> str:
    """Return the message that hands a conflict back to the agent."""
    return (
        f"{work.base} has moved on, and your work conflicts with it in {', '.join(files)}. "
        f"Merge {work.base} into your branch, resolve the conflicts, commit, and report it ready again."
    )


def send(store: Store, work: Work, comments: str | Sequence[LineComment], clock: Callable[[], int]) -> Sent:
    """Send comments to the agent of a work as one message; it goes on. If it has ended, its program is started again.

    Raises:
        Conflict: the work is over, or the program cannot be started again.
        InvalidArgument: there is no text.
    """
    work_queries.check_here(store.db, work)
    text = comments if isinstance(comments, str) else comments_text(comments)
    is_gone = clean_up.is_gone(store.db, work)
    if is_gone:
        Starter(store, Path(work.repository), clock).check_go_on(work_queries.find(store.db, work.uid))
    commented: Work = store.commit(CommentWork(work.uid, text), actor=HUMAN, now=clock())[0]
    if not is_gone:
        Outbox(store).look(clock())
    wake(store, commented, clock())
    return Sent(work_queries.find(store.db, work.uid), is_started_again=is_gone)


def wake(store: Store, work: Work, now: int) -> bool:
    """Wake an agent at rest for whom messages wait, once for each; return whether it was done.

    Raises:
        Conflict: its process has ended, and cannot be started again.
    """
    waiting = [message for message in ask_queries.waiting(store.db, work.agent) if not message.ends_turn]
    seen = session_queries.seen(store.db, work.agent)
    is_gone = clean_up.is_gone(store.db, work)
    is_at_rest = work.terminal is not None and seen is not None and seen.state in _AT_REST
    if not waiting or not (is_gone or is_at_rest):
        return False
    mark = _mark(store, work, waiting[-1])
    if is_gone:
        if not _begin(mark):
            return False
        Starter(store, Path(work.repository), lambda: now).go_on(work)
        return True
    assert work.terminal is not None
    terminals = Terminals(store.path)
    if not _begin(mark, lambda: _screen(terminals, work.terminal)):
        return False
    # It gets its messages with a prompt.
    if not terminals.type_line(work.terminal, PROMPT):
        mark.write_text(_screen(terminals, work.terminal))
    return True


def _mark(store: Store, work: Work, message: HumanMessage) -> Path:
    """Return the file that is there once an agent was woken for a message.

    If a dialog stood in the way of the prompt, the file has what the terminal showed: once it shows something else, the
    agent is woken again.
    """
    path = Path(data_folder(store.path)) / "work" / f"{work.uid}.woken-{message.id}"
    make_folder(str(path.parent))
    return path


def _begin(mark: Path, screen: Callable[[], str] = str) -> bool:
    """Make the mark; return whether this process is the first, or what stood in the way is gone."""
    with contextlib.suppress(FileNotFoundError):
        missed = mark.read_text()
        if not missed or missed == screen():
            return False
        mark.unlink()
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _screen(terminals: Terminals, name: str | None) -> str:
    """Return an id of a terminal's screen."""
    lines = terminals.lines(name, _LINES) if name is not None else []
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
