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
    "runs": ("4", "g", "j", "j", "j", "enter", "enter"),
    "a job": ("4", "g", "e"),
    "the agents": ("A",),
    "the stats": ("S",),
    "the inbox": ("a",),
    "a reply": ("a", "r"),
    "an answer": ("a", "1"),
}


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_all_of_it_is_letters(evening, make_app, size):
    by_agent(evening, "claude-1", OpenAsk("A long question, " * 40, ("one", "two")))
    app = make_app(evening.path, config=Config(ascii=True))
    screens = {}
    async with app.run_test(size=size) as pilot:
        for name, keys in ON_THE_WAY.items():
            await settle(pilot, *keys)
            screens[name] = shown(app)
            await settle(pilot, "escape", "escape", "escape", "1")
    assert {
        name: letters for name in screens if (letters := {each for each in screens[name] if not each.isascii()})
    } == {}
    assert len(set(screens.values())) == len(ON_THE_WAY)
