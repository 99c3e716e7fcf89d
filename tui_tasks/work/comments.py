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

import msgspec

from tui_tasks.core.agent_snapshots import HumanMessage, Work
from tui_tasks.core.engine.file_writes import make_folder
from tui_tasks.core.operations.work import CommentWork
from tui_tasks.core.read import message_queries, work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.rules import work_refusals
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN
from tui_tasks.hooks.replies.reply_sender import ReplySender
from tui_tasks.installation import data_folder
from tui_tasks.text.safe import path_text
from tui_tasks.work import clean_up
from tui_tasks.work.agent_terminals import Terminals
from tui_tasks.work.starting import Starter

PROMPT: Final = "Go on: the human has written to you."
_AT_REST: Final = ("idle", "interrupted", "failed")
_LINES: Final = 100  # of a terminal that are compared
_MAX_FILES: Final = 20
_MAX_QUOTE: Final = 200
_END: Final = "Report it ready again when you are done."


class SentComments(NamedTuple):
    """The result of sending comments: the work, and whether its program was started again."""

    work: Work
    is_started_again: bool


class Comment(msgspec.Struct, frozen=True):
    """A comment of the human's on a work.

    Attributes:
        path: the file; empty: it is on the work as a whole.
        line: the number of its line; 0: it is on the file.
        is_old: whether the line was removed, so that the number is that in the old file.
        quote: the line.
        text: the human's words.
    """

    path: str
    line: int
    is_old: bool
    quote: str
    text: str


def review_message(
    base: str, comments: Sequence[Comment] = (), conflicts: Sequence[str] = (), uncommitted: Sequence[str] = ()
) -> str:
    """Return what the agent is sent: all comments, and how to go on; empty if there is nothing to say.

    Args:
        base: the branch that the work is to be merged into.
        comments: of the human.
        conflicts: the files in which the work conflicts with that branch.
        uncommitted: the files that are not committed.
    """
    parts = []
    for comment in comments:
        where = f"{comment.path}:{comment.line}" if comment.line else comment.path
        old = " (removed line)" if comment.is_old else ""
        quote = f"\n> {comment.quote[:_MAX_QUOTE]}" if comment.quote.strip() else ""
        parts.append(f"{where}{old}{quote}\n{comment.text}".strip())
    if parts:
        parts.insert(0, session_queries.COMMENT_HEADS[len(parts) > 1])
    if conflicts:
        parts.append(
            f"Your work does not merge into {base}: conflicts in {_named(conflicts)}."
            f" Merge {base} into your branch and resolve them."
        )
    if uncommitted and (not parts or conflicts):
        parts.append(f"Not committed: {_named(uncommitted)}. Commit what belongs to the work, remove the rest.")
    return "\n\n".join([*parts, _END]) if parts else ""


def comments_in(message: str) -> str:
    """Return a sent message without the sentences that tell the agent what it is and how to go on."""
    return "\n\n".join(part for part in message.split("\n\n") if part not in (*session_queries.COMMENT_HEADS, _END))


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MAX_FILES} more" if len(paths) > _MAX_FILES else ""
    return f"{', '.join(map(path_text, paths[:_MAX_FILES]))}{more}"


def send(store: Store, work: Work, text: str, clock: Callable[[], int]) -> SentComments:
    """Send a message to the agent of a work; it goes on. If it has ended, its program is started again.

    Raises:
        Conflict: the work is over, or the program cannot be started again.
        InvalidArgument: there is no text.
    """
    work_refusals.check_here(store.db, work)
    work_refusals.check_not_over(store.db, work, "merged", "discarded", "failed")
    is_gone = clean_up.is_gone(store.db, work)
    if is_gone:
        Starter(store, Path(work.repository), clock).check_go_on(work_queries.find(store.db, work.uid))
    commented: Work = store.commit(CommentWork(work.uid, text), actor=HUMAN, now=clock())[0]
    if not is_gone:
        ReplySender(store).look(clock())
    wake(store, commented, clock())
    return SentComments(work_queries.find(store.db, work.uid), is_started_again=is_gone)


def wake(store: Store, work: Work, now: int) -> bool:
    """Wake an agent at rest for whom messages wait, once for each; return whether it was done. One whose program has
    ended is started again only for comments, and for an answer that lets it go on: other messages wait for these.

    Raises:
        Conflict: its process has ended, and cannot be started again.
    """
    waiting = [message for message in message_queries.waiting(store.db, work.agent) if not message.ends_turn]
    seen = session_queries.seen(store.db, work.agent)
    is_gone = clean_up.is_gone(store.db, work)
    is_at_rest = work.terminal is not None and seen is not None and seen.state in _AT_REST
    if not waiting or not (is_gone or is_at_rest):
        return False
    if is_gone and not any(work_queries.lets_go_on(store.db, message) for message in waiting):
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
