import re
from io import StringIO

import pytest
from rich.console import Console
from textual._compositor import Compositor
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region

from tests.tui.driving import SIZES, named, opened, settle, shown
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


@pytest.mark.parametrize("size", SIZES)
async def test_a_screen_that_opens_is_laid_out_and_painted_once_and_one_that_closes_paints_what_is_below_once(
    evening, make_app, size, monkeypatch
):
    layouts, paints = [], []
    reflow, render_update = Compositor.reflow, Compositor.render_update

    def laid_out(self, *rest):
        layouts.append(self)
        return reflow(self, *rest)

    def painted(self, *rest, **named):
        if (update := render_update(self, *rest, **named)) is not None:
            paints.append(self)
        return update

    monkeypatch.setattr(Compositor, "reflow", laid_out)
    monkeypatch.setattr(Compositor, "render_update", painted)
    app = make_app(evening.path)
    async with opened(app, size) as pilot:
        assert (len(layouts), len(paints)) == (1, 1)
        for key in ("a", "A", "D", "question_mark", "m", "e", "s"):
            layouts.clear(), paints.clear()
            await settle(pilot, key)
            assert app.screen is not app.screen_stack[0] and (len(layouts), len(paints)) == (1, 1), key
            assert key not in "ms" or ">  ✓ #1" in shown(app), "what is below a dialog stays on screen"
            layouts.clear(), paints.clear()
            await settle(pilot, "escape")
            assert app.screen is app.screen_stack[0] and (len(layouts), len(paints)) == (0, 1), key


async def test_a_pane_that_is_made_is_laid_out_when_it_is_shown(app, monkeypatch):
    layouts = []
    reflow = Compositor.reflow
    monkeypatch.setattr(Compositor, "reflow", lambda *all: layouts.append(all) or reflow(*all))
    async with opened(app) as pilot:
        for key in ("2", "3", "4", "1", "2"):
            layouts.clear()
            await settle(pilot, key)
            assert len(layouts) == 1, key


@pytest.mark.parametrize(("keys", "times"), [(["slash"], 1), (["n"], 1), (named("new list"), 2)])
async def test_an_input_of_one_line_is_laid_out_once_and_a_letter_in_it_lays_out_nothing(app, monkeypatch, keys, times):
    layouts = []
    reflow = Compositor.reflow
    monkeypatch.setattr(Compositor, "reflow", lambda *all: layouts.append(all) or reflow(*all))
    async with opened(app) as pilot:
        layouts.clear()
        await settle(pilot, *keys)
        assert len(layouts) == times
        layouts.clear()
        for letter in "due":
            await pilot.press(letter)
        assert app.focused.value == "due" and not layouts


async def test_a_screen_has_the_classes_of_its_size_before_its_parts_are_styled(app, monkeypatch):
    styled = []
    apply = Stylesheet.apply

    def noted(self, node, **named):
        styled.append((node, node.screen.classes if node.is_attached else frozenset()))
        return apply(self, node, **named)

    monkeypatch.setattr(Stylesheet, "apply", noted)
    async with opened(app, (40, 12)) as pilot:
        styled.clear()
        await settle(pilot, "A")
        parts = [classes for node, classes in styled if classes]
        assert parts and all({"-narrow", "-short"} <= classes for classes in parts)
        names = [node.id for node, _ in styled if node.id]
        assert len(names) == len(set(names)), "each is styled once"
