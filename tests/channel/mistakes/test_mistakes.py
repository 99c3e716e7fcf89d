"""Each line that models write wrongly is refused with what it takes to write the next one right (`lines.toml`)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock, Talk
from tui_tasks.channel.line_splitter import LineSplitter
from tui_tasks.core.store import Store

LINES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "lines.toml").read_text())["line"]


@pytest.fixture(scope="module")
def agent():
    """A conversation with a task or two in each dialect. A refusal writes nothing, so that all lines share it."""
    with Store(":memory:") as store:
        talk = Talk(store, Clock())
        talk.ok("tasklist:add_task", name="first")
        talk.ok("tasklist:add_task", name="second")
        talk.ok("tasklist:set_task_in_progress", uid="#1")
        talk.ok("task", action="create", title="board one")
        talk.ok("todo", merge=False, todos=[{"id": one, "content": one, "status": "pending"} for one in "ab"])
        talk.ok("scheduler:create_adhoc_task", name="Nightly", system_prompt="", prompt="go", dedicated_context=False)
        yield talk


def test_there_are_lines_enough():
    assert len({line["sent"] for line in LINES}) == len(LINES) >= 150
    assert all(line["said"] for line in LINES)


@pytest.mark.parametrize("line", LINES, ids=[f"{at}: {line['sent'][:50]!a}" for at, line in enumerate(LINES)])
def test_the_reply_to_a_wrong_line_says_how_to_put_it_right(agent: Talk, line: dict[str, Any]) -> None:
    (said,) = agent.session.answer(LineSplitter().feed(line["sent"].encode() + b"\n"))
    reply = json.loads(said)
    error = (reply[0] if isinstance(reply, list) else reply)["error"]
    assert error["code"] == line["code"]
    for words in line["said"]:
        assert words in error["message"]
