"""Projects on the screen: the switcher, the one that is chosen, and what is kept to it."""

from __future__ import annotations

import re

import pytest
from textual import events

from tests.tui.driving import (
    below,
    by_agent,
    counts_line,
    lines,
    named,
    opened,
    order,
    press,
    said,
    shown,
    until,
    write,
)
from tests.tui.plan import NOW
from tests.tui.sessions import three_projects
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.tui.state.projects import ProjectChoice


@pytest.fixture
def three(plan):
    return three_projects(plan)


def row(app, name: str) -> str:
    return next(line for line in lines(app) if line.lstrip(" >*").startswith(name))


def _agents(app) -> int:
    return sum(member.is_there for member in app.state.members)


async def test_the_switcher_tells_what_is_open_who_works_and_what_needs_you(three, make_app):
    app = make_app(three.path)
    async with opened(app) as pilot:
        await press(app, pilot, *named("projects"))
        assert "2 open" in row(app, "web")
        assert "2 agents, 1 works" in row(app, "web")
        assert "question" not in row(app, "web")
        assert "? 1 question" in row(app, "api")
        assert "? 3 questions" in row(app, "All projects")
        assert re.search("✗ [0-9]+ failed", row(app, "All projects"))
        assert "? 2 questions" in row(app, "(no project)")
        titles = [line.lstrip(" >*").split("  ")[0] for line in lines(app) if " open " in line]
        assert titles == ["All projects", "api", "infra", "web", "(no project)"]


async def test_it_filters_as_one_types_and_counts_what_agents_do_meanwhile(three, make_app):
    app = make_app(three.path)
    async with opened(app) as pilot:
        await pilot.press(*named("projects"))
        await write(pilot, "inf")
        await pilot.pause()
        assert "web" not in "".join(below(app))
        assert "1 open" in row(app, "infra")
        home = next(each for each in app.state.lists.values() if each.project == "infra")
        by_agent(three, "codex-3", AddTask("More", home.uid))
        await until(pilot, lambda: "2 open" in row(app, "infra"))
        await press(app, pilot, "enter")
        assert app.state.current_list.project == "infra"
        assert "infra  auth.db" in lines(app)[0]
        for width in range(70, 90):
            await pilot.resize_terminal(width, 24)
            await press(app, pilot)
            assert " 4 Schedule " in lines(app)[0], "the project's name is parted from the panes"


async def test_keys_of_a_list_move_in_the_projects_until_a_letter_or_a_slash_begins_the_filter(three, make_app):
    app = make_app(three.path)
    async with opened(app) as pilot:
        await press(app, pilot, *named("projects"), "j", "j", "k")
        assert row(app, "api").startswith(">") and "/ Filter" in lines(app)[-1]
        await press(app, pilot, "G")
        assert row(app, "(no project)").startswith(">")
        await press(app, pilot, "g", "j", "j", "j", "enter")
        assert app.state.current_list.project == "web"
        await press(app, pilot, *named("projects"), "slash", "j", "j")
        assert "nothing by that name" in shown(app) and "/ Filter" not in lines(app)[-1]
        await press(app, pilot, "backspace", "backspace", "j", "enter")
        assert app.state.current_list.project == "api", "an empty filter moves again"
        await press(app, pilot, *named("projects"), "p", "i", "enter")
        assert app.state.current_list.project == "api"


async def test_the_lists_that_keys_go_through_are_the_projects_alone(three, make_app):
    app = make_app(three.path)
    async with opened(app) as pilot:
        await pilot.press(*named("projects"))
        await write(pilot, "web")
        await press(app, pilot, "enter")
        await press(app, pilot, "right_square_bracket")
        assert said(app) == "There is no other list with tasks."
        await pilot.press(*named("projects"))
        await write(pilot, "all")
        await press(app, pilot, "enter", "right_square_bracket")
        assert app.state.current_list.project != "web"


async def test_agents_and_inbox_show_all_until_they_are_kept_to_the_project(three, make_app):
    app = make_app(three.path)
    async with opened(app) as pilot:
        await press(app, pilot, *named("keep"))
        assert "No project is chosen. : projects chooses one." in said(app)
        await pilot.press("escape", *named("projects"))
        await write(pilot, "api")
        await press(app, pilot, "enter", "A")
        assert all(name in shown(app) for name in ("web", "api", "infra"))
        assert len(app.screen.listed.rows) == 9
        await press(app, pilot, *named("keep"))
        assert {app.state.projects.of_member(member) for member in app.screen.listed.rows} == {("api",)}
        assert "api alone" in shown(app)
        await press(app, pilot, "escape", "a")
        assert [ask.agent for ask in app.screen.listed.rows] == ["claude-4"]
        await press(app, pilot, *named("keep"))
        assert len(app.screen.listed.rows) == 4, "the task that has failed too"
        assert "api alone" not in shown(app)


async def test_the_inbox_names_the_project_of_whoever_asks(three, make_app):
    app = make_app(three.path)
    async with opened(app) as pilot:
        await press(app, pilot, "a")
        assert any("api" in line and "claude-4" in line for line in lines(app))


async def test_the_log_is_filtered_by_project_and_names_it(three, make_app):
    app = make_app(three.path, pane="log")
    async with opened(app) as pilot:
        assert "web/tasklist" in shown(app)
        await pilot.press("slash")
        await write(pilot, "project:infra")
        await press(app, pilot)
        assert "Ship it: infra" in shown(app)
        assert "Ship it: web" not in shown(app)
        assert "claude-5" in shown(app)
        assert "claude-3" not in "".join(lines(app)[4:])


async def test_with_project_the_screen_shows_that_one_alone(three, make_app):
    app = make_app(three.path, project=ProjectChoice("infra", is_alone=True))
    async with opened(app) as pilot:
        assert app.state.current_list.project == "infra"
        await press(app, pilot, "3")
        assert "Ship it: infra" in shown(app)
        assert "Ship it: web" not in shown(app)
        assert "infra alone" in shown(app)
        await press(app, pilot, *named("keep"))
        assert "Ship it: web" in shown(app)


async def test_a_project_opens_in_the_list_that_was_left_in_it_whatever_changed_since(three, make_app):
    with Store(three.path) as store:
        (second,) = store.commit(EnsureList("web/second", "tasklist", "web"), actor="claude-9", now=NOW)
        store.commit(AddTask("Left here", second.uid), actor="claude-9", now=NOW)
        store.commit(AddTask("Newer", task_queries.find_list(store.db, "web/tasklist").uid), actor="claude-9", now=NOW)
    for project, turns in (("web", ["right_square_bracket"]), ("api", [])):
        app = make_app(three.path, project=ProjectChoice(project))
        async with opened(app) as pilot:
            await press(app, pilot, *turns)
            assert app.state.current_list.name == ("web/second" if turns else "api/tasklist")
    app = make_app(three.path, project=ProjectChoice("web"))
    async with opened(app):
        assert app.state.current_list.name == "web/second"


async def test_a_project_without_lists_shows_none_of_anothers(three, make_app):
    app = make_app(three.path, project=ProjectChoice("other"))
    async with opened(app):
        assert app.state.current_list is None
        assert "Ship it" not in shown(app)


@pytest.mark.parametrize("pane", ["list", "board"])
@pytest.mark.parametrize("keys", [("enter",), ("enter", "escape")], ids=" ".join)
async def test_the_first_task_of_a_project_goes_into_a_list_of_its_own(three, make_app, pane, keys):
    app = make_app(three.path, project=ProjectChoice("other"), pane=pane)
    async with opened(app) as pilot:
        await press(app, pilot, "n")
        await write(pilot, "First one")
        await press(app, pilot, *keys)
        home = app.state.current_list
        assert (home.name, home.project, home.total, home.one_in_progress) == ("other/tasklist", "other", 1, True)
        assert app.pane.row_list.row.name == "First one"
        await press(app, pilot, "escape", "u")
        assert app.state.current_list is None
        assert "First one" not in shown(app).split("Undone")[0]
        assert "addition of #15 First one" in said(app)
        await press(app, pilot, "ctrl+r")
        assert app.state.current_list.name == "other/tasklist"


async def test_several_pasted_lines_are_the_first_tasks_of_a_project(three, make_app):
    app = make_app(three.path, project=ProjectChoice("other"))
    async with opened(app) as pilot:
        await press(app, pilot, "n")
        await app.on_event(events.Paste("one\ntwo\nthree"))
        await press(app, pilot, "t")
        assert order(app) == ["one", "two", "three"]


async def test_the_switcher_lists_a_project_without_tasks_and_goes_there(three, make_app):
    app = make_app(three.path, project=ProjectChoice("other"))
    async with opened(app) as pilot:
        await press(app, pilot, *named("projects"))
        assert row(app, "other").startswith("  * other")
        await write(pilot, "web")
        await press(app, pilot, "enter")
        assert app.state.current_list.project == "web"
        await press(app, pilot, *named("projects"))
        await write(pilot, "other")
        await press(app, pilot, "enter")
        assert app.state.current_list is None
        assert "other has no list yet; n adds a task to it." in said(app)
        assert "No tasks in other yet." in shown(app)
        assert "go to no project, api, infra, web" in shown(app)


async def test_outside_projects_the_screen_begins_with_the_lists_of_no_project(three, make_app):
    app = make_app(three.path, project=ProjectChoice(""))
    async with opened(app) as pilot:
        assert app.state.current_list.project is None
        assert "no project  auth.db" in lines(app)[0]
        by_agent(three, "codex-3", AddTask("More", next(each.uid for each in app.state.lists.values() if each.project)))
        await until(pilot, lambda: any(each.total == 3 for each in app.state.lists.values() if each.project))
        assert app.state.current_list.project is None
        await press(app, pilot, "A")
        assert all(name in shown(app) for name in ("web", "api", "infra"))


async def test_where_there_is_no_project_the_screen_does_not_speak_of_projects(plan, make_app):
    app = make_app(plan.path, project=ProjectChoice(""))
    async with opened(app) as pilot:
        assert "project" not in shown(app)
        await press(app, pilot, *named("keep"))
        assert "No project is chosen. : projects chooses one." in said(app)


async def test_an_agent_of_the_channel_is_where_its_connections_are_and_so_are_its_questions(three, make_app):
    with Store(three.path) as store:
        for number, project in enumerate(("web", "infra")):
            process = Process("boot", "namespace", number, "born")
            with store.db.transaction(write=True):
                connections.begin(store.db, "builder", process, NOW, project)
        store.commit(OpenAsk("Ship it?", project="infra"), actor="builder", now=NOW)
    app = make_app(three.path)
    async with opened(app) as pilot:
        await press(app, pilot, *named("projects"))
        assert "3 agents, 1 works" in row(app, "web")
        assert "? 1 question" in row(app, "infra")
        await press(app, pilot, "escape", "A")
        assert any("builder" in line and "infra web" in line for line in lines(app))
        await press(app, pilot, "escape", "a")
        assert any("Ship it?" in line and "infra" in line for line in lines(app))


async def test_the_cursor_stays_on_its_project_when_another_comes_before_it(three, make_app):
    app = make_app(three.path)
    async with opened(app) as pilot:
        await press(app, pilot, *named("projects"), "down", "down")
        assert row(app, "infra").startswith(">")
        by_agent(three, "codex-3", EnsureList("beta/tasklist", "tasklist", "beta"))
        await until(pilot, lambda: any("beta" in line for line in lines(app)))
        assert row(app, "infra").startswith(">")
        await press(app, pilot, "enter")
        assert app.state.projects.chosen == "infra"


async def test_the_switcher_counts_the_agents_that_the_top_line_counts_also_when_one_leaves(three, make_app):
    app = make_app(three.path)
    async with opened(app) as pilot:
        await press(app, pilot, *named("projects"))
        assert f"{_agents(app)} agents" in row(app, "All projects")
        was = _agents(app)
        assert "gone" not in row(app, "All projects")
        with Store(three.path) as store, store.db.transaction(write=True):
            connections.end(store.db, "claude-1", Process(), NOW)
        await until(pilot, lambda: _agents(app) == was - 1)
        await until(pilot, lambda: f"{was - 1} agents" in row(app, "All projects"))
        assert app.state.left
        await until(pilot, lambda: "▲ 1 gone" in row(app, "All projects"))


async def test_a_screen_in_a_repository_without_a_project_says_so_and_how_to_make_one(tmp_path, make_app):
    app = make_app(tmp_path / "t.db", project=ProjectChoice("", folder_has_none=True))
    async with opened(app):
        assert "no project  " in lines(app)[0]
        assert "No tasks yet." in shown(app)
        assert "tui-tasks init" in shown(app)


async def test_the_switcher_counts_what_needs_the_human_as_the_line_of_counts_does(three, jobs, make_app):
    app = make_app(three.path)
    async with opened(app, (140, 40)) as pilot:
        counts = counts_line(app).partition("  ◐ S1")[0].split("▲")[0].strip(), "✗ 2 failed"
        assert counts[1] in counts_line(app)
        await press(app, pilot, *named("projects"))
        assert all(one in row(app, "All projects") for one in counts), (counts, row(app, "All projects"))
        assert "1 late" in row(app, "(no project)") or "S3 late" in row(app, "(no project)")
