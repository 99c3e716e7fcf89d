"""Cards moved by the mouse: to another column, within their own, or nowhere."""

from tests.tui.boards import board_of, columns, status
from tests.tui.driving import below, by_agent, settle, shown, until
from tui_tasks.core.operations.tasks import EditTask, SetListRule


async def drag(pilot, source, target) -> None:
    """By the left button from one place on the screen to another, with a step between."""
    await pilot.mouse_down(offset=source)
    await pilot.hover(offset=((source[0] + target[0]) // 2, target[1]))
    await pilot.hover(offset=target)
    await pilot.mouse_up(offset=target)
    await settle(pilot)


def place_of(app, name: str) -> tuple[int, int]:
    """Where on the screen a text stands, below the lines above the pane."""
    whole = shown(app).splitlines()
    for y in range(len(whole) - len(below(app)), len(whole)):
        if name in (line := whole[y]):
            return line.index(name), y
    raise AssertionError(name)


async def test_a_card_dragged_to_another_column_gets_its_status(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await drag(pilot, place_of(app, "Backup restore"), place_of(app, "In progress"))
        await until(pilot, lambda: status(app, plan[8]) == "in_progress")
        await until(pilot, lambda: board_of(app).target() == plan[8])


async def test_a_card_dragged_to_needs_you_says_how_cards_come_there(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await drag(pilot, place_of(app, "Backup restore"), place_of(app, "Migrate"))
        assert "A card comes here when its agent asks you something" in shown(app)
        assert status(app, plan[8]) == "pending"


async def test_a_drag_that_breaks_the_rule_of_the_list_says_why(plan, make_app):
    by_agent(plan, "human", SetListRule(plan.list_uid, True), EditTask(plan[5], {"status": "pending"}))
    by_agent(plan, "human", EditTask(plan[5], {"status": "in_progress", "agent": None}))
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await drag(pilot, place_of(app, "Backup restore"), place_of(app, "Active"))
        assert "takes one at a time" in shown(app)
        assert status(app, plan[8]) == "pending"


async def test_a_card_dragged_within_its_column_gets_that_place(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await drag(pilot, place_of(app, "#8 Backup"), place_of(app, "#6 Write"))
        await until(pilot, lambda: columns(app)["Pending"][0] == "Backup restore drill")
        assert status(app, plan[8]) == "pending"


async def test_escape_ends_a_drag_and_nothing_moves(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.mouse_down(offset=place_of(app, "Backup restore"))
        await pilot.hover(offset=place_of(app, "In progress"))
        await pilot.press("escape")
        await pilot.mouse_up(offset=place_of(app, "In progress"))
        await settle(pilot)
        assert status(app, plan[8]) == "pending"
        assert "◐ In progress" in shown(app)
