"""The top line: how many agents are there, and what is next; the foot: the keys in the order of use, or a message."""

from __future__ import annotations

import contextlib

import pytest

from tests.tui.driving import agents_line, by_agent, counts_line, lines, opened, press, settle, shown, until
from tests.tui.plan import NOW, Plan
from tests.tui.sessions import hook_waits, with_sessions
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.widgets.foot_line import FootLine

LONG = (
    "/home/you/.local/share/tui-tasks/worktrees/api/12-rotate-keys exists already: remove it, or set [work] worktree to"
    " another path"
)


async def test_the_line_below_names_the_agents_that_are_there(app: TaskApp, plan: Plan) -> None:
    by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db)))
    async with opened(app) as pilot:
        assert "○ claude-2 idle" in agents_line(app)
        # It leaves no entry in the journal.
        with Store(plan.path) as store, store.db.transaction(write=True):
            connections.end(store.db, "claude-2", Process(), NOW)
        await until(pilot, lambda: "claude-2 finished" in agents_line(app))


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (160, "auth.db  live  next #8 Backup restore drill  ◷ Server status in 14m"),
        (120, "auth.db  live  next #8 Backup restore drill  ◷ Server status in 14m"),
        (80, "next #8 Backup restore drill  ◷ S1 in 14m"),
        (60, "next #8 Backup restore…"),
    ],
)
async def test_the_next_task_and_job_stand_above_the_schedule_which_names_the_job_itself(
    plan, jobs, make_app, width, words
):
    app = make_app(plan.path, pane="schedule")
    async with opened(app, (width, 24)):
        assert lines(app)[0].rstrip().endswith(words), lines(app)[0]


async def test_the_next_task_is_one_that_can_start_now_so_not_one_with_an_open_question(app, agent, plan):
    async with opened(app) as pilot:
        assert "next #8 Backup" in lines(app)[0]
        asks = ask_queries.open_asks(app.link.db)
        by_agent(plan, "human", AnswerAsk(asks[-1].uid, "approve"))
        await until(pilot, lambda: "next #7 Migrate" in lines(app)[0])
        agent(EditTask(plan[7], {"status": "in_progress"}))
        await until(pilot, lambda: "next #8 Backup" in lines(app)[0])


@pytest.mark.parametrize(
    ("width", "words"), [(120, "next in Plan #8 Backup restore drill"), (80, "next in Plan #8 Backup restore drill")]
)
async def test_a_next_task_and_a_failed_one_of_another_list_are_named_with_their_list(plan, make_app, width, words):
    app = make_app(plan.path)
    by_agent(plan, "claude-1", AddTask("elsewhere", task_queries.find_list(app.link.db, "task").uid, status="done"))
    async with opened(app, (width, 24)) as pilot:
        await until(pilot, lambda: sum(bool(home.total) for home in app.state.lists.values()) == 2)
        assert "next #8 Backup" in lines(app)[0]
        await press(app, pilot, "right_square_bracket")
        assert lines(app)[0].rstrip().endswith(words) and "✗ 1 failed in Plan  " in counts_line(app)
        await press(app, pilot, "left_square_bracket")
        assert "next #8 Backup" in lines(app)[0] and "✗ 1 failed  " in counts_line(app)


async def test_the_foot_begins_with_what_waits_and_ends_with_the_help(app, plan):
    async with opened(app, (80, 24)) as pilot:
        foot = " a Inbox  . Seen  s Status  n New  e Edit  / Filter  v Mark  A Agents  ? Help"
        assert lines(app)[-1] == foot
        by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db)))
        await press(app, pilot, "full_stop", "full_stop", "j")
        await until(pilot, lambda: lines(app)[-1].startswith(" s Status  n New  e Edit  / Filter  v Mark  a Inbox"))
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: lines(app)[-1] == " s Status  / Filter  a Inbox  ? Help")


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 24)])
async def test_the_foot_of_every_screen_ends_with_the_way_back_and_the_help(app, size):
    async with opened(app, size) as pilot:
        for key in ("a", "A", "D", "S"):
            await press(app, pilot, key)
            assert lines(app)[-1].endswith("  Esc Back  ? Help"), lines(app)[-1]
            await press(app, pilot, "escape")
            assert len(app.screen_stack) == 1


async def test_the_foot_of_the_agents_has_the_help_where_there_is_room_for_little(app):
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "A")
        assert lines(app)[-1] == " a Answer  . Seen  Esc Back  ? Help"


async def test_where_keys_have_no_room_those_of_use_least_give_way_to_the_way_back_and_the_help(app, plan):
    with_sessions(plan)
    async with opened(app, (80, 24)) as pilot:
        await press(app, pilot, "A")
        app.screen.window.move_to("claude-3")
        await settle(pilot)
        foot = " a Question  . Seen  m Message  P Pause  x End turn  Esc Back  ? Help"
        assert lines(app)[-1] == foot
        await pilot.resize_terminal(100, 24)
        await until(pilot, lambda: lines(app)[-1].endswith("x End turn  Enter Its log  Esc Back  ? Help"))


async def test_a_click_on_a_key_of_the_foot_presses_it(app):
    async with opened(app, (60, 24)) as pilot:
        await pilot.click("#foot", offset=(lines(app)[-1].index("Help"), 0))
        await pilot.pause()
        assert "Here: list" in shown(app)


async def test_the_foot_offers_no_answer_to_a_program_that_waits_for_none(app, plan):
    with_sessions(plan)
    async with opened(app, (80, 24)) as pilot:
        state, foot = app.context.state, app.screen.query_one("#foot", FootLine)
        (asked,) = (ask for ask in state.asks if ask.request is not None)
        state.asked_about[asked.uid] = plan[6]
        state.asking.add(plan[6])
        app.navigation.go_to(plan[6])
        await settle(pilot)
        for is_waiting, word in ((True, "Answer"), (False, "Inbox")):
            with hook_waits(plan) if is_waiting else contextlib.nullcontext():
                foot.redraw()
                await settle(pilot)
                assert lines(app)[-1].startswith(f" a {word}")


async def test_the_foot_answers_from_a_row_with_a_question_and_the_inbox_opens_on_it(app, plan):
    async with opened(app, (80, 24)) as pilot:
        await press(app, pilot, "j", "j", "j")
        assert lines(app)[-1].startswith(" a Answer")
        await press(app, pilot, "k")
        assert lines(app)[-1].startswith(" a Inbox")
        app.navigation.go_to(plan[7])
        await press(app, pilot, "a")
        assert app.screen.ask.question.startswith("Approve: delete")


async def test_read_only_the_foot_offers_no_answer(make_app, plan):
    app = make_app(plan.path, read_only=True)
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[4])
        await until(pilot, lambda: app.pane.target() == plan[4])
        assert "a Inbox" in lines(app)[-1] and "Answer" not in lines(app)[-1]


async def test_a_screen_that_only_reads_offers_no_key_that_marks_all_as_seen(plan, make_app):
    app = make_app(plan.path, read_only=True)
    async with opened(app, (120, 40)):
        assert "started #5\n" in shown(app) and ". Seen" not in lines(app)[-1]


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


async def test_the_second_line_of_a_message_is_painted_again_when_another_of_two_lines_follows(
    app: TaskApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(app, (40, 12)) as pilot:
        app.frame.say("first " * 12)
        await pilot.pause()
        painted = []
        render = FootLine.render_line
        monkeypatch.setattr(FootLine, "render_line", lambda self, y: painted.append(y) or render(self, y))
        app.frame.say("first " * 6 + "then another end")
        await pilot.pause()
        assert 1 in painted
        assert lines(app)[-1].endswith("another end")


@pytest.mark.parametrize(("size", "empty"), [((120, 40), 1), ((80, 24), 0), ((40, 12), 0)])
async def test_only_a_wide_screen_keeps_a_line_above_the_keys_empty(plan, make_app, size, empty):
    by_agent(plan, "human", *(AddTask(f"More {number}", plan.list_uid) for number in range(60)))
    app = make_app(plan.path, pane="log")
    async with opened(app, size):
        assert (lines(app)[-2].strip() == "") is bool(empty) and lines(app)[-1].startswith(" a Inbox")


async def test_a_message_of_two_lines_hides_no_line_of_a_question(plan, make_app):
    by_agent(plan, "claude-1", OpenAsk("\n".join(f"line {number}" for number in range(30))))
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        await press(app, pilot, "a")
        app.context.say(LONG)
        await settle(pilot)
        foot = app.screen.query_one(FootLine)
        assert foot.region.height == 2
        assert all(not other.region.overlaps(foot.region) for other in app.screen.children if other is not foot)
