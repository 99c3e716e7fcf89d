"""The screens as their users see them, at each size and in each theme."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.evening import in_order
from tests.tui.plan import Plan, Step, at
from tests.tui.stories.conftest import SCREENSHOTS, Draw, with_scheduler
from tests.tui.week import BusyWeek
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.store import Store
from tui_tasks.settings.config import Config
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.painting import theme_file

SIZES = ("120x40", "80x24", "40x12")
MakeApp = Callable[..., TaskApp]


def at_each_size(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("picture", [f"{name}-{size}" for size in SIZES])


async def settled(pilot: Pilot[None]) -> None:
    """Let what is read a little later be read."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@at_each_size("list")
def test_the_list_tells_who_is_on_what_what_is_stuck_and_what_changed(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    draw(make_app(evening.path, list_name=evening.list_uid), press=["j", "j", "j", "j"], run_before=settled)


@at_each_size("board")
def test_the_board_tells_where_each_task_stands(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    draw(make_app(evening.path, list_name=evening.list_uid, pane="board"), run_before=settled)


@at_each_size("log")
def test_the_log_tells_who_did_what_since_the_human_last_looked(
    plan: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    draw(make_app(plan.path, list_name=plan.list_uid, pane="log"), run_before=settled)


@at_each_size("schedule")
def test_the_schedule_tells_what_runs_next_what_is_overdue_and_why_a_job_failed(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    app = make_app(evening.path, list_name=evening.list_uid, pane="schedule")
    draw(app, run_before=settled)


@at_each_size("asks")
def test_the_inbox_tells_what_waits_for_the_human_and_takes_the_answer(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    draw(make_app(evening.path, list_name=evening.list_uid), press=["a"], run_before=settled)


@at_each_size("agents")
def test_the_agents_screen_tells_who_works_who_is_quiet_and_who_needs_the_human(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    draw(make_app(evening.path, list_name=evening.list_uid), press=["A"], run_before=settled)


@at_each_size("stats")
def test_the_stats_tell_how_it_went_these_last_days(
    tmp_path: Path, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    week = BusyWeek(tmp_path / "auth.db")
    with_scheduler(week)
    draw(make_app(week.path, list_name=week.other_uid), press=["S"], run_before=settled)


@at_each_size("detail")
def test_a_task_is_opened_with_its_log(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    app = make_app(evening.path, list_name=evening.list_uid)
    draw(app, press=["j", "j", "j", "j", "enter"], run_before=settled)


@at_each_size("quick-add")
def test_quick_add_previews_what_it_understood(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    typed = "Rotate API keys #infra !high @claude-2 after #5"
    app = make_app(evening.path, list_name=evening.list_uid)
    draw(app, press=["n", *(_KEYS.get(letter, letter) for letter in typed)], run_before=settled)


@at_each_size("filter")
def test_the_filter_narrows_the_list_while_it_is_typed(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    typed = "jwt status:open who:claude-1"
    app = make_app(evening.path, list_name=evening.list_uid)
    draw(app, press=["/", *(_KEYS.get(letter, letter) for letter in typed)], run_before=settled)


_KEYS = {" ": "space", "#": "number_sign", "!": "exclamation_mark", "@": "at", "-": "minus", ":": "colon"}


@at_each_size("palette")
def test_the_palette_finds_a_theme(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    app = make_app(evening.path, list_name=evening.list_uid)
    draw(app, press=["colon", *"them"], run_before=settled)


@at_each_size("help")
def test_the_help_shows_every_key(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    draw(make_app(evening.path, list_name=evening.list_uid), press=["question_mark"], run_before=settled)


@at_each_size("empty")
def test_an_empty_list_tells_what_to_do_next(
    tmp_path: Path, make_app: MakeApp, draw: Draw, picture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The path is on the picture.
    monkeypatch.chdir(tmp_path)
    with Store("tasks.db"):
        pass
    draw(make_app("tasks.db"), run_before=settled)


@at_each_size("due")
def test_the_list_tells_what_is_due_and_marks_what_is_overdue_where_there_is_no_room_to_tell(
    tmp_path: Path, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    due = {5: "2026-11-20", 6: "2026-11-21", 7: "2026-11-21T18:00:00.000+00:00", 8: "2026-11-28", 1: "2026-11-20"}

    def given(plan: Plan) -> list[Step]:
        edits = [EditTask(plan[place], {"due": day}) for place, day in due.items()]
        return [(at(16, 4), lambda store, now: store.commit(*edits, actor="human", now=now))]

    plan = with_scheduler(in_order(tmp_path / "auth.db", given))
    draw(make_app(plan.path, list_name=plan.list_uid), run_before=settled)


@at_each_size("read-only")
def test_read_only_shows_the_same_and_says_so(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    draw(make_app(evening.path, list_name=evening.list_uid, read_only=True), run_before=settled)


@at_each_size("ascii")
def test_with_ascii_letters_stand_for_glyphs(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    app = make_app(evening.path, list_name=evening.list_uid, config=Config(ascii=True))
    draw(app, run_before=settled)


@pytest.mark.parametrize("picture", [f"theme-{name}-80x24" for name in sorted(theme_file.load(None)[0])])
def test_each_theme_shows_the_same_list(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    name = picture.removeprefix("theme-").removesuffix("-80x24")
    app = make_app(evening.path, list_name=evening.list_uid, config=Config(theme=name))
    draw(app, press=["j", "j", "j", "j"], run_before=settled)


def test_the_readme_shows_only_pictures_that_a_story_draws() -> None:
    readme = (SCREENSHOTS.parent / "README.md").read_text()
    shown = {line.split("screenshots/")[1].split(")")[0] for line in readme.splitlines() if "screenshots/" in line}
    assert shown
    for name in shown:
        assert (SCREENSHOTS / name).exists()
