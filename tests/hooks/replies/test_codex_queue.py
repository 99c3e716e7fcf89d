"""Messages for a Codex that waits for its person are queued by its own command, and by no other."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from tests.contract.client import DEADLINE
from tests.hooks.screens import Screen
from tui_tasks import clock
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.read import message_queries
from tui_tasks.core.store import Store
from tui_tasks.hooks.hook_folder import Spool, put_payload
from tui_tasks.hooks.programs.codex import CodexQueue

THREAD = "01a20709-24ce-7391-82f4-d8425c8b378f"
WRITES_DOWN = '#!/bin/sh\nprintf "%s\\n" "$@" >> "$CODEX_HOME/queued"\nexit {status}\n'


class Codex:
    """A session of Codex whose last turn is over, and the command, which writes down what it is given."""

    def __init__(self, human: Screen, folder: Path) -> None:
        self.human, self.home, self.bin = human, folder / "codex", folder / "bin"
        (self.home / "sessions").mkdir(parents=True)
        self.bin.mkdir()
        self.command(0)
        self.queue = CodexQueue(human.store)

    def command(self, status: int) -> None:
        file = self.bin / "codex"
        file.write_text(WRITES_DOWN.format(status=status))
        file.chmod(0o700)

    def fires(self, event: str, session: str = THREAD, home: Path | None = None) -> None:
        told = {"session_id": session, "hook_event_name": event, "prompt": "go"}
        told["transcript_path"] = str((home or self.home) / "sessions" / "r.jsonl")
        with Spool(self.human.store.path, make=True) as spool:
            put_payload(spool.folder, {"program": "codex", "at": clock.now(), "pid": 0}, json.dumps(told).encode())
        self.human.look()

    def writes(self, text: str) -> None:
        self.human.does(SendMessage("codex-1", text))
        self.human.look()

    def looks(self) -> str:
        """Look until nothing more is being done; return what was queued."""
        end = time.monotonic() + DEADLINE
        self.queue.look()
        while self.queue._queuing is not None:
            assert time.monotonic() < end, "it never ended"
            threading.Event().wait(0.005)
            self.queue.look()
        self.human.look()
        queued = self.home / "queued"
        return queued.read_text() if queued.exists() else ""

    def waiting(self) -> int:
        return len(message_queries.waiting(self.human.store.db, "codex-1"))


@pytest.fixture
def codex(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Codex:
    found = Codex(Screen(store), tmp_path)
    monkeypatch.setenv("CODEX_HOME", str(found.home))
    monkeypatch.setenv("PATH", f"{found.bin}{os.pathsep}{os.environ['PATH']}")
    found.fires("UserPromptSubmit")
    found.fires("Stop")
    return found


def test_messages_reach_a_codex_that_is_idle_once_in_the_order_sent(codex: Codex) -> None:
    codex.writes("first $(id)")
    codex.writes("--second")
    words, thread, *lines = codex.looks().splitlines()
    assert (words, thread) == ("queue", f"--thread={THREAD}")
    assert lines[0].startswith("--message=The human who supervises you wrote at ")
    assert [line for line in lines if line in ("first $(id)", "--second")] == ["first $(id)", "--second"]
    assert codex.waiting() == 0
    assert codex.looks().count("queue\n") == 1


def test_one_that_works_hears_of_them_by_its_next_hook(codex: Codex) -> None:
    codex.fires("UserPromptSubmit")
    codex.writes("wait")
    assert codex.looks() == ""
    assert codex.waiting() == 1


def test_what_cannot_be_queued_waits_for_the_next_hook(codex: Codex) -> None:
    codex.command(1)
    codex.writes("one")
    assert codex.looks().count("queue\n") == 1
    assert codex.waiting() == 1
    assert codex.looks().count("queue\n") == 1


def test_a_message_with_a_nul_or_longer_than_a_command_line_waits_too(codex: Codex) -> None:
    codex.writes("a\0b")
    assert codex.looks() == ""
    codex.writes("x" * 900_000)
    assert codex.looks() == ""
    assert codex.waiting() == 2


@pytest.mark.parametrize("which", ["thread", "home"])
def test_no_command_is_run_for_what_a_payload_makes_up(codex: Codex, tmp_path: Path, which: str) -> None:
    session, home = ("-x", codex.home) if which == "thread" else (THREAD.replace("0", "1"), tmp_path / "other")
    codex.fires("UserPromptSubmit", session, home)
    codex.fires("Stop", session, home)
    codex.human.does(SendMessage("codex-2", "hello"))
    codex.human.look()
    assert codex.looks() == ""
