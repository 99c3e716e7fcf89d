"""With `--ascii` no screen paints anything but letters, scroll bars included."""

import pytest

from tests.tui.driving import by_agent, settle, shown
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.settings.config import Config

ON_THE_WAY = {
    "the list": (),
    "the board": ("2",),
    "the log": ("3",),
    "the schedule": ("4", "j", "j", "j"),
    "runs": ("4", "j", "j", "j", "enter", "enter"),
    "a job": ("4", "e"),
    "the inbox": ("a",),
    "an answer": ("a", "1"),
    "a reply": ("a", "r"),
    "the agents": ("A",),
    "the stats": ("S",),
}


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
@pytest.mark.parametrize("keys", ON_THE_WAY.values(), ids=ON_THE_WAY)
async def test_all_of_it_is_letters(evening, make_app, size, keys):
    by_agent(evening, "claude-1", OpenAsk("A long question, " * 40, ("one", "two")))
    app = make_app(evening.path, config=Config(ascii=True))
    async with app.run_test(size=size) as pilot:
        await settle(pilot, *keys)
        assert {letter for letter in shown(app) if not letter.isascii()} == set()
