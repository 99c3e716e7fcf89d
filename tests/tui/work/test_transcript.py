"""An agent's own record of its session, as a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.driving import SIZES, said, settle, shown, until
from tests.tui.work.test_work_screen import begun
from tui_tasks.hooks import session_records
from tui_tasks.hooks.session_records import Source
from tui_tasks.tui.work import peek_screens
from tui_tasks.tui.work.peek_screens import LastLines, Peek, TranscriptScreen

RECORDED = Path(__file__).parents[2] / "hooks" / "recorded" / "claude-2.1.330-edits.jsonl"


@pytest.fixture
def record(tmp_path, monkeypatch):
    """The record of the agent of #9, which can grow."""
    path = tmp_path / "record.jsonl"
    path.write_text(RECORDED.read_text())
    monkeypatch.setattr(session_records, "source", lambda db, agent: Source("claude", str(path)))
    monkeypatch.setattr(peek_screens, "LOOK_SECONDS", 0.1)
    return path


def say(path: Path, text: str) -> None:
    block = {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}
    with path.open("a") as file:
        file.write(json.dumps(block, separators=(",", ":")) + "\n")


@pytest.mark.parametrize("size", SIZES)
async def test_tab_on_the_last_lines_shows_the_record_with_edits_as_diffs_and_follows_it(plan, record, make_app, size):
    begun(plan, 9)
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "space")
        assert isinstance(app.screen, Peek)
        await settle(pilot, "tab")
        assert isinstance(app.screen, TranscriptScreen)
        await until(pilot, lambda: "All done." in shown(app))
        assert "- two" in shown(app) and "+ three" in shown(app)
        say(record, "One \x1b[31mmore\u202e.")
        await until(pilot, lambda: "One ␛[31mmore" in shown(app))
        await settle(pilot, "g")
        before = len(app.screen._items)
        say(record, "Yet another.")
        await until(pilot, lambda: len(app.screen._items) > before)
        assert "Do the thing" in shown(app)
        # A large screen has room for all of it.
        assert size == SIZES[0] or "Yet another." not in shown(app)
        await settle(pilot, "f")
        await until(pilot, lambda: "Yet another." in shown(app))
        await settle(pilot, "tab")
        assert isinstance(app.screen, Peek)
        await settle(pilot, "space")
        assert not isinstance(app.screen, TranscriptScreen | Peek)


async def test_escape_leads_from_the_record_to_the_last_lines_where_it_was_opened_there_and_then_back(
    plan, record, make_app
):
    begun(plan, 9)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "space", "tab", "escape")
        assert isinstance(app.screen, Peek)
        await settle(pilot, "escape")
        assert not isinstance(app.screen, TranscriptScreen | Peek)


async def test_it_is_searched_and_escape_shows_all_again(plan, record, make_app):
    begun(plan, 9)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.push(TranscriptScreen(app.context, "robot-1"))
        await until(pilot, lambda: "All done." in shown(app))
        await settle(pilot, "slash", *"THREE", "enter")
        assert "+ three" in shown(app) and "All done." not in shown(app)
        await settle(pilot, "escape")
        assert "All done." in shown(app)
        await settle(pilot, "slash", *"zzz", "enter")
        assert "Nothing has these words: / searches for others." in shown(app)


async def test_a_long_result_is_cut_until_it_is_opened(plan, record, make_app):
    begun(plan, 9)
    result = {"type": "tool_result", "content": "\n".join(f"line {number}" for number in range(40))}
    line = {"type": "user", "message": {"content": [result]}}
    record.write_text(json.dumps(line, separators=(",", ":")) + "\n")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 60)) as pilot:
        app.context.push(TranscriptScreen(app.context, "robot-1"))
        await until(pilot, lambda: "28 lines more" in shown(app))
        assert "line 11" in shown(app) and "line 12" not in shown(app)
        await settle(pilot, "enter")
        assert "line 39" in shown(app)


async def test_an_agent_without_a_record_says_why(plan, make_app):
    begun(plan, 9)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.push(TranscriptScreen(app.context, "robot-1"))
        await until(pilot, lambda: "the record of robot is not known" in shown(app))
        await settle(pilot, "t")
        assert "The agent runs without a terminal" in said(app)


def test_nothing_is_kept_of_what_an_ended_agent_has_shown_and_a_running_one_has_a_terminal(plan, make_app):
    drawing = LastLines(make_app(plan.path).context)
    (line,) = drawing.lines(80, 10)
    assert "It has shown nothing yet: Enter goes to its terminal." in line[0][0]
    drawing.has_ended = True
    (line,) = drawing.lines(80, 10)
    assert line[0][0] == " Nothing is kept of what it has shown."
