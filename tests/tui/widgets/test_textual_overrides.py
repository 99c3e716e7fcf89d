import re
from io import StringIO

from rich.console import Console
from textual.geometry import Region

from tests.tui.driving import opened
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.widgets.textual_overrides import CellsUpdate


async def test_a_widget_is_painted_when_it_is_shown_though_its_place_was_asked_for_before(app):
    async with opened(app) as pilot:
        head, compositor = app.query_one("#list-rule"), app.screen._compositor
        head.display = False
        await pilot.pause()
        compositor.render_partial_update()
        head.display = True
        compositor.update_widgets({head})
        assert head.is_on_screen
        assert head in compositor.reflow(app.screen, app.size).shown
        assert head.region in compositor._dirty_regions


async def test_a_repaint_gives_the_terminal_the_columns_that_changed_and_no_more(app):
    async with opened(app):
        rows = app.query_one("#tasks")
        compositor = app.screen._compositor
        compositor.render_partial_update()
        rows.refresh(Region(7, 2, 5, 1))
        compositor.update_widgets({rows})
        update = compositor.render_partial_update()
        assert isinstance(update, CellsUpdate)
        written = update.render_segments(Console(file=StringIO(), color_system=None))
        x, y = rows.region.x + 7, rows.region.y + 2
        move = f"\x1b[{y + 1};{x + 1}H"
        assert written.startswith(move)
        assert cell_len(re.sub(r"\x1b\[[0-9;]*m", "", written.removeprefix(move))) == 5
