"""The asks inbox: what a program asks the person at its terminal for is answered only where its hook waits for that."""

import os
from pathlib import Path

import pytest

from tests.tui.driving import settle, shown
from tests.tui.plan import NOW
from tui_tasks.core.read import asks
from tui_tasks.core.store import Store
from tui_tasks.hooks import intake
from tui_tasks.hooks.folder import Folder
from tui_tasks.hooks.replies import answer_file
from tui_tasks.hooks.spool import Spool

PAYLOAD = b"""{"session_id": "s-1", "hook_event_name": "PermissionRequest", "tool_name": "Bash",
 "tool_input": {"command": "make"}, "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits"}]}"""


def ask_for_permission(path: str, answer: str | None) -> None:
    with Store(path) as store, Spool(path, make=True) as spool:
        spool.put({"program": "claude", "at": NOW, "answer": answer, "wait": 50}, PAYLOAD)
        intake.process_payloads(store, NOW)


@pytest.fixture
def empty(tmp_path: Path) -> str:
    return str(tmp_path / "tasks.db")


async def test_a_request_whose_hook_waits_no_more_is_not_answered_from_here(empty, make_app):
    ask_for_permission(empty, "gone")
    app = make_app(empty)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        for key in "1y":
            await settle(pilot, key)
            assert "claude-1 asks in its own window, and waits for no answer from here." in shown(app)
        [ask] = asks.open_asks(app.link.db)
        assert ask.state == "open"


async def test_a_request_whose_hook_waits_is_answered_by_a_key(empty, make_app):
    ask_for_permission(empty, "here")
    with (
        Folder(f"{empty}-hooks", make=False) as folder,
        Folder(answer_file.FOLDER, make=True, inside=folder) as answers,
    ):
        os.mkfifo("here", dir_fd=answers.fd)
        pipe = answers.open("here", os.O_RDWR | os.O_NONBLOCK)
        app = make_app(empty)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, "a")
            assert "It waits for your answer." in shown(app)
            await settle(pilot, "y")
            assert 'answered just now: "Allow"' in shown(app)
        os.close(pipe)
