from tui_tasks.core import queries


async def test_keys_move_the_cursor_and_a_mark_goes_on_to_the_next(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("g", "j", "j", "v")
        assert app.pane.window.marks == [plan[3]]
        assert app.pane.window.cursor == plan[4]


async def test_a_status_is_set_by_two_keys_and_taken_back_by_one(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("G", "k", "s", "d")
        await app.workers.wait_for_complete()
        assert queries.task(app.bridge.db, plan[8]).status == "done"
        await pilot.press("u")
        await app.workers.wait_for_complete()
        assert queries.task(app.bridge.db, plan[8]).status == "pending"
