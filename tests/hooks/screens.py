"""What a process with a writable screen does for hooks, step by step: no thread, no waiting but for the hook."""

import contextlib
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.contract.client import DEADLINE, environment
from tests.hooks.playing import COMMAND
from tests.started import Started, until
from tui_tasks import clock
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.hooks import intake, screen_presence
from tui_tasks.hooks.replies.reply_sender import ReplySender

ALL = dict.fromkeys(("claude", "codex", "gemini", "opencode"), DEADLINE)

NOBODY_WAITS: dict[str, float] = {}


@contextlib.contextmanager
def answering(database: Path, answer: str, question: str = "", *, instead: str | None = None) -> Iterator[list[Ask]]:
    """Answer on the screen what a command at a terminal asks it while the block runs, or `instead` the question with
    that uid; yield what was asked.
    """
    asked: list[Ask] = []

    def answer_it() -> None:
        with Store(str(database)) as store:

            def come() -> bool:
                asked.extend(ask for ask in ask_queries.open_asks(store.db) if ask.agent == "shell")
                return bool(asked)

            until(come)
            store.commit(AnswerAsk(instead or asked[0].uid, answer), actor="human", now=clock.now())

    thread = threading.Thread(target=answer_it)
    thread.start()
    try:
        yield asked
    finally:
        thread.join(DEADLINE)
    assert question in asked[0].question


class Screen:
    """A store that is followed by hand; the human speaks through `does`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.sender = ReplySender(store)

    def look(self) -> None:
        intake.process_payloads(self.store, clock.now())
        self.sender.look(clock.now())

    def does(self, operation: Operation, actor: str = "human") -> Any:
        [result] = self.store.commit(operation, actor=actor, now=clock.now())
        return result

    def asks(self, count: int) -> list[Ask]:
        """So many open questions, once they have come."""

        def come() -> bool:
            self.look()
            return len(ask_queries.open_asks(self.store.db)) >= count

        until(come)
        return list(ask_queries.open_asks(self.store.db))

    def ask(self) -> Ask:
        """The one open question, once it has come."""
        [ask] = self.asks(1)
        return ask

    def answers(self, answer: str, **more: Any) -> None:
        self.does(AnswerAsk(self.ask().uid, answer, **more))
        self.look()


@contextlib.contextmanager
def screen(db: Path, waits: Mapping[str, float] = ALL) -> Iterator[Screen]:
    with Store(str(db)) as store, screen_presence.announced(str(db), waits):
        yield Screen(store)


@contextlib.contextmanager
def asking(program: str, payload: bytes, db: Path, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A hook that was started, and its payload given; it is killed where it has not ended."""
    with Started(
        [*COMMAND, program, "--db", str(db)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(db.parent, **environ),
    ) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(payload)
            process.stdin.close()
            process.stdin = None
            yield process
        finally:
            process.kill()
