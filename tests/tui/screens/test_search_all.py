"""The search in all lists: what is found stands with its list beside it, and is gone to."""

import pytest

from tests.tui.driving import SIZES, lines, opened, press, said, shown, until, write
from tests.tui.plan import NOW
from tui_tasks.core.operations.tasks import AddTask, DeleteList
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.screens import place_pickers


@pytest.fixture
def elsewhere(plan):
    """A task in each of two other lists."""
    with Store(plan.path) as store:
        home = {name: task_queries.find_list(store.db, name) for name in ("task", "todo")}
        add = AddTask("Write the JWT docs", home["task"].uid, tags=("docs",), agent="bob")
        (one,) = store.commit(add, actor="bob", now=NOW)
        (two,) = store.commit(AddTask("jwt again", home["todo"].uid), actor="bob", now=NOW)
    return one.uid, two.uid


def found(app) -> list[str]:
    return [row.entry.title.split(maxsplit=2)[2] for row in app.screen.query_one("#entries").rows_on_screen]


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_found_stands_with_its_list_beside_it(plan, elsewhere, make_app, size):
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app, size) as pilot:
        await press(app, pilot, "ctrl+f")
        await write(pilot, "jwt")
        await press(app, pilot)
        assert found(app) == ["Pick JWT lib: jose or pyjwt", "Ship auth flow", "Write the JWT docs", "jwt again"]
        rows = [line for line in lines(app) if "#" in line][-4:]
        # The list on screen comes first.
        assert [row.split()[-1] for row in rows] == ["Plan", "Plan", "task", "todo"]


async def test_what_is_chosen_is_gone_to_in_its_list(plan, elsewhere, make_app):
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        await press(app, pilot, "3", "ctrl+f")
        await write(pilot, "#docs @bob")
        await press(app, pilot, "enter")
        assert app.state.current_list.name == "task"
        assert app.navigation.pane_name == "list"
        assert app.pane.target() == elsewhere[0]


async def test_only_the_lists_that_are_named_are_looked_into(plan, elsewhere, make_app):
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        await press(app, pilot, "ctrl+f")
        await write(pilot, "jwt list:to")
        await press(app, pilot)
        assert found(app) == ["jwt again"]
        await press(app, pilot, *["backspace"] * 7)
        await write(pilot, "-list:plan ")
        await press(app, pilot)
        assert sorted(found(app)) == ["Write the JWT docs", "jwt again"]
        await press(app, pilot, "escape")
        assert app.state.current_list.name == "Plan"


async def test_nothing_found_and_words_that_mean_nothing_are_told(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await press(app, pilot, "ctrl+f")
        assert "status:open" in shown(app)
        await write(pilot, "is:failed")
        await press(app, pilot)
        assert "Nothing matches in any list: try fewer words." in shown(app)
        assert "no filter word 'is:'" in said(app)
        await press(app, pilot, "enter", "escape")
        assert app.state.current_list.name == "Plan"


async def test_a_long_list_is_looked_through_piece_by_piece(plan, elsewhere, make_app, monkeypatch):
    monkeypatch.setattr(list_pages, "STRETCH", 1)
    monkeypatch.setattr(list_pages, "MAX_PASSED", 2)
    monkeypatch.setattr(place_pickers, "_LISTS_AT_ONCE", 1)
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        await press(app, pilot, "ctrl+f")
        await write(pilot, "again -real")
        await until(pilot, lambda: "Looking" not in shown(app) and bool(found(app)))
        assert found(app) == ["jwt again"]


async def test_tasks_of_a_deleted_list_are_not_found(plan, elsewhere, make_app):
    app = make_app(plan.path)
    with Store(plan.path) as store:
        store.commit(DeleteList(plan.list_uid), actor="human", now=NOW)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await press(app, pilot, "ctrl+f")
        await write(pilot, "jwt")
        await press(app, pilot)
        assert sorted(found(app)) == ["Write the JWT docs", "jwt again"]
