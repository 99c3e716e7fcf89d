"""The requests of an agent program to the human: they become questions in the inbox, and the answers are sent back.

As a waiting hook does (`hooks.replies.answer_pipes`), this process keeps a named pipe beside the database open, which
shows others that somebody waits for the answer. The answer itself is read from the database.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from tui_tasks.agent_runs.program_protocol import HumanRequest
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.operations.asks import CloseAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.hooks import hooks_folder
from tui_tasks.hooks.hook_folder import Folder
from tui_tasks.hooks.replies import answer_pipes, reply_sender

# Called with the id of a request, the decision (None: denied), and the text of a denial.
SendAnswer = Callable[[str, dict[str, Any] | None, str], None]

# Seconds between two looks for screens that want a request whole.
_LOOK: Final = 0.25
_DENIED: Final = "This is denied: the question was closed without an answer."


class _Pending:
    """A request, and the question for it once that was written."""

    def __init__(self, pipe: _Pipe, deadline: float) -> None:
        self.pipe = pipe
        # When it is denied, in seconds of the monotonic clock.
        self.deadline = deadline
        self.ask: str | None = None
        # Whether screens may ask for the whole request, as what is kept of it is not whole.
        self.is_asked_for = False
        # The state and reason with which its question is to be closed, if the program no longer waits.
        self.closes_as: tuple[str, str] | None = None


class OpenRequests:
    """The requests of one agent program that wait for the human.

    Args:
        wait: seconds after which a request is denied.
        answer: sends the program an answer.
    """

    def __init__(self, store: Store, wait: float, answer: SendAnswer) -> None:
        self._store = store
        self._wait = wait
        self._answer = answer
        self._pending: dict[str, _Pending] = {}

    def add(self, request: HumanRequest) -> HumanRequest:
        """Add a request; return it with the name under which its answer is awaited.

        Raises:
            OSError: the named pipe cannot be created.
        """
        fields = {name: getattr(request.asked, name) for name in request.asked.__struct_fields__}
        pipe = _Pipe(self._store.path, json.dumps({reply_sender.OF_RUN: fields}).encode())
        self._pending[request.id] = _Pending(pipe, time.monotonic() + self._wait)
        report = msgspec.structs.replace(request.report, answer=pipe.name, hash=answer_pipes.request_hash(pipe.body))
        return msgspec.structs.replace(request, report=report)

    def withdraw(self, request_id: str) -> None:
        """Remove a request for whose answer the program no longer waits."""
        if request_id in self._pending:
            self._close(self._pending[request_id], "withdrawn", "the program no longer waits for the answer")

    def deny_late(self) -> bool:
        """Deny the requests past their deadline; return whether there were any. Needs no database."""
        now, within = time.monotonic(), f"within {self._wait:g} s"
        late = [one for one in self._pending.items() if one[1].closes_as is None and one[1].deadline <= now]
        for request_id, pending in late:
            self._close(pending, "timeout", f"no answer {within}: denied")
            self._answer(request_id, None, f"No answer {within}. Denied.")
        return bool(late)

    def exchange_answers(self, agent: str, now: int, *, is_paused: bool) -> None:
        """Send the program the answers that arrived, and close the questions for which it no longer waits.

        While the agent is paused answers are kept back, as one could let a tool run.

        Raises:
            StorageFailed: try again later.
        """
        self._match_asks()
        for request_id, pending in list(self._pending.items()):
            if pending.ask is None:
                continue
            ask = ask_queries.ask(self._store.db, pending.ask)
            if pending.closes_as is not None:
                if ask.state == "open":
                    with contextlib.suppress(Conflict, NotFound):  # it may have been answered meanwhile
                        self._store.commit(CloseAsk(ask.uid, *pending.closes_as), actor=SYSTEM, now=now)
                del self._pending[request_id]
            elif ask.state != "open" and is_paused:
                pending.deadline = math.inf
            elif ask.state != "open":
                pending.pipe.close()
                del self._pending[request_id]
                by_human = ask_queries.is_answered_by_human(self._store.db, ask)
                self._answer(request_id, reply_sender.decision_for(ask) if by_human else None, _DENIED)

    def pass_on(self) -> None:
        """Pass each request on to the screens that want it whole."""
        for pending in self._pending.values():
            if pending.is_asked_for:
                pending.pipe.pass_on()

    def seconds_to_wait(self) -> float:
        """Return the seconds until the next request is denied, or screens are looked after."""
        deadlines = [pending.deadline for pending in self._pending.values() if pending.closes_as is None]
        look = _LOOK if any(pending.is_asked_for for pending in self._pending.values()) else math.inf
        return min(look, max(0.0, min(deadlines, default=math.inf) - time.monotonic()))

    def end(self) -> None:
        """Remove all requests, as the program is gone; the end of its session closes the questions."""
        for pending in self._pending.values():
            pending.pipe.close()
        self._pending.clear()

    def _close(self, pending: _Pending, state: str, reason: str) -> None:
        pending.pipe.close()
        pending.closes_as = (state, reason)

    def _match_asks(self) -> None:
        """Find the questions that were written for requests."""
        if all(pending.ask is not None for pending in self._pending.values()):
            return
        for pending in self._pending.values():
            if pending.ask is None and (uid := ask_queries.waiting_as(self._store.db, pending.pipe.name)) is not None:
                ask = ask_queries.ask(self._store.db, uid)
                pending.ask = uid
                pending.is_asked_for = (ask.request or {}).get("is_whole") is not True


class _Pipe:
    """A named pipe that is open for reading while the answer to a request is awaited."""

    def __init__(self, database: str, body: bytes) -> None:
        self._database = database
        self.body = body
        self.name = f"{time.time_ns()}-{os.getpid()}"
        with (
            Folder(hooks_folder(database), make=True) as folder,
            Folder(answer_pipes.FOLDER, make=True, inside=folder) as made,
        ):
            os.mkfifo(self.name, 0o600, dir_fd=made.fd)
            # Open for writing, too: otherwise it would signal an end of file when others open it to test for a reader.
            self._fd = made.open(self.name, os.O_RDWR | os.O_NONBLOCK)

    def pass_on(self) -> None:
        """Pass the request on to the screens that want it whole."""
        if self._fd < 0:
            return
        with (
            contextlib.suppress(OSError),
            Folder(hooks_folder(self._database), make=False) as folder,
            Folder(answer_pipes.FOLDER, make=False, inside=folder) as made,
        ):
            answer_pipes.hear(made, self._fd, self.body)

    def close(self) -> None:
        """Remove the pipe, and an answer that another process put beside it. A second call has no effect."""
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        try:
            with (
                Folder(hooks_folder(self._database), make=False) as folder,
                Folder(answer_pipes.FOLDER, make=False, inside=folder) as made,
            ):
                answer_pipes.remove(made, self.name)
        except OSError:
            pass  # processes that look for waiting hooks remove the rest
