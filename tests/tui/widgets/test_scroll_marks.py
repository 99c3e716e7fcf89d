"""What shows which part of a list or text is on screen is as thin everywhere."""

import pytest

from tests.tui.driving import by_agent, lines, settle, until
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.tui.painting.line_painter import ThinScrollBar

BLOCKS = set("▁▂▃▄▅▆▇█▐")


@pytest.mark.parametrize("keys", [("S",), ("a", "j", "j")], ids=["figures", "a question"])
async def test_a_part_of_textual_scrolls_by_a_mark_as_lists_have(evening, make_app, keys):
    by_agent(evening, "claude-1", OpenAsk("A long question, " * 90, ("one", "two")))
    app = make_app(evening.path)
    async with app.run_test(size=(80, 20)) as pilot:
        await settle(pilot, *keys)
        await until(pilot, lambda: any(line[79:] == "▐" for line in lines(app)))
        assert {line[79:] for line in lines(app)} & BLOCKS == {"▐"}


def test_a_bar_can_be_dragged_by_its_mark_and_clicked_beside_it():
    segments = ThinScrollBar.render_bar(10, 100, 20, 40).segments
    assert "".join(segment.text for segment in segments) == "    ▐▐    "
    actions = [segment.style.meta["@mouse.down"] for segment in segments]
    assert actions == ["scroll_up"] * 4 + ["grab"] * 2 + ["scroll_down"] * 4
