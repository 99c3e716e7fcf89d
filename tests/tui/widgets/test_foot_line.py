"""A message at the foot takes the place of the keys, for a moment and with as many lines as it needs."""

from tests.tui.driving import lines, opened, settle

LONG = (
    "/home/you/.local/share/tui-tasks/worktrees/api/12-rotate-keys exists already: remove it, or set [work] worktree to"
    " another path"
)


async def test_a_message_that_is_too_long_for_a_line_is_read_to_its_end_and_nothing_moves(plan, make_app):
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        before = lines(app)
        app.context.say(LONG)
        await settle(pilot)
        assert " ".join(line.strip() for line in lines(app)[-2:]) == LONG
        assert lines(app)[:-2] == before[:-2]
        app.context.say("Done.")
        await settle(pilot)
        assert lines(app) == [*before[:-1], lines(app)[-1]]
        assert lines(app)[-1].strip() == "Done."
