"""The board: every task in the column of what has become of it, moved by keys and mouse whatever agents do."""

import re

import pytest

from tests.tui.board.test_board_drags import drag, place_of
from tests.tui.boards import board_of, columns, status
from tests.tui.driving import SIZES, by_agent, lines, opened, press, said, settle, shown, until
from tests.tui.plan import NOW
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk
from tui_tasks.core.operations.jobs import RequestChecks
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, DeleteTask, EditTask, LogTask, SetListRule
from tui_tasks.core.operations.work import RunWork, StartWork, WorkReady
from tui_tasks.core.read.digest import needs_you
from tui_tasks.core.read.pages import board_pages, list_pages
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.tui.board.card_column import BoardTabs, ColumnHead
from tui_tasks.tui.board.cards import CardContent, lines_of
from tui_tasks.tui.painting.styles import StyleCache
from tui_tasks.tui.state.task_cache import FAILED_OTHERWISE, TO_REVIEW
from tui_tasks.tui.widgets.screen_head import ChangesRule


async def at_card(pilot, uid: str) -> None:
    await settle(pilot)
    board_of(pilot.app).go_to(uid)
    await settle(pilot)
    assert board_of(pilot.app).target() == uid


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_the_rule_above_the_columns_names_the_list_as_boldly_as_the_list_does(make_app, plan, size):
    async with opened(make_app(plan.path, pane="board"), size) as pilot:
        assert any(line.startswith("─ Plan ──") for line in lines(pilot.app))
        (rule,) = pilot.app.pane.query(ChangesRule)
        assert next(part.style.bold for part in rule.render_line(0) if part.text == "Plan")


async def test_every_task_is_in_the_column_of_what_has_become_of_it(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert columns(app) == {
            "Pending": ["Write integration tests", "Backup restore drill"],
            "In progress": ["Ship auth flow"],
            "Needs you": ["Pick JWT lib: jose or pyjwt", "Migrate analytics GA to Plausible"],
            "Failed": ["Fix flaky DST test"],
            "Done": ["Inventory GA usage", "Audit CloudFlare WAF rules", "Old cookie banner"],
        }
        for head in ("○ Pending 2", "◐ In progress 1", "? Needs you 2", "✗ Failed 1", "✓ Done 2  1 skipped"):
            assert head in shown(app)


async def test_the_card_of_the_next_task_says_so_also_when_another_becomes_the_next(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert re.search(r" Backup restore .*\n.*drill .*\n +next ", shown(app))
        by_agent(plan, "human", AddTask("The one after", plan.list_uid))
        await until(pilot, lambda: "The one after" in shown(app))
        by_agent(plan, "human", EditTask(plan[8], {"status": "skipped"}))
        await until(pilot, lambda: re.search(r" The one after .*\n +next ", shown(app)))


async def test_the_card_of_a_pending_task_says_what_its_checks_say_as_its_row_does(plan, checks, make_app):
    by_agent(plan, "human", RequestChecks(plan[8]))
    checks.run("failed", exit_code=1)
    app = make_app(plan.path, pane="board")
    async with opened(app) as pilot:
        card = re.search(r" Backup restore .*\n.*drill .*\n +next .*\n +✗ tests failed ", shown(app))
        await press(app, pilot, "1")
        row = re.search(r" Backup restore drill +✗ tests failed ", shown(app))
        assert card and row, shown(app)


def test_an_age_does_not_stand_alone_on_a_line_of_a_card():
    content = CardContent("Plan", (("~ stale", ""), ("claude-2", ""), ("3h", "")), age="3h")
    drawn = ["".join(text for text, _ in line) for line in lines_of(content, 18, 6)]
    assert drawn == ["Plan", "~ stale", "claude-2 · 3h"]
    drawn = ["".join(text for text, _ in line) for line in lines_of(content, 18, 2)]
    assert drawn == ["Plan", "~ stale · 3h"], "who has it goes first"


@pytest.mark.parametrize("size", [(120, 40), (80, 30)])
async def test_a_card_shows_the_whole_question_and_the_whole_reason_where_there_is_room(plan, make_app, size):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        texts = {}
        for column in board_of(app).columns:
            for drawn in column.cards._painter._drawn:
                for color in ("$muted", "$state-needs-you", "$state-failed"):
                    said = " ".join(text for line in drawn.lines for text, style in line if style == color)
                    texts.setdefault(drawn.row.number, {})[color] = said
        assert "jose is maintained but heavier; pyjwt is in the lockfile. Which one?" in texts[4]["$muted"]
        assert "Approve: delete the old GA property" in texts[7]["$muted"]
        assert "test_dst_gap: expected 02:30, got 03:30" in texts[3]["$muted"]
        # Only the mark of a card calls, where the head of its column does not.
        assert {texts[number]["$state-needs-you"] for number in (4, 7)} == {"?" if size[0] == 80 else ""}
        assert texts[3]["$state-failed"] == ("✗" if size[0] == 80 else "")


@pytest.mark.parametrize("size", [(120, 40), (80, 26), (40, 12)])
async def test_cards_are_as_far_apart_in_each_column_and_each_says_whose_it_is(plan, make_app, size):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        shown_columns = [column for column in board_of(app).columns if column.display and column.cards.rows_on_screen]
        assert len({column.cards._painter.gap for column in shown_columns}) == 1
        for column in shown_columns:
            for drawn in column.cards._painter._drawn:
                said = " ".join(text for line in drawn.lines for text, _ in line)
                assert drawn.row.part == "pending" or "claude-" in said or "you" in said, said


async def test_a_click_finds_a_card_whatever_the_heights_of_those_above_it(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for name, place in (("to Plausible", 7), ("Which one?", 4), ("Audit", 2)):
            # The lines above the panes may have the same words.
            x, y = next((line.index(name), y) for y, line in list(enumerate(lines(app)))[::-1] if name in line)
            assert await pilot.click(offset=(x, y))
            await settle(pilot)
            assert board_of(app).target() == plan[place], name


async def test_cards_of_one_line_stand_below_each_other_where_not_all_fit_with_the_cursor_on_screen(plan, make_app):
    by_agent(plan, "human", *(AddTask(f"Task {number}", plan.list_uid) for number in range(200)))
    by_agent(plan, "human", *(AddTask(f"Tagged {number}", plan.list_uid, tags=("slow",)) for number in range(5)))
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        pending, *_ = board_of(app).columns
        cards, drawing = pending.cards, pending.cards._card_drawing

        def is_whole():
            heights = [len(drawn.lines) for drawn in cards._painter._drawn]
            return sum(heights) <= cards.size.height and cards.cursor in cards.keys_on_screen

        board_of(app).go_to(cards.rows_held[30].uid)
        await settle(pilot)
        assert len(cards.keys_on_screen) == cards.size.height and is_whole()
        for keys in (["G"], ["k"] * 45, ["j"] * 45, ["g"], ["pagedown"], ["pageup"]):
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
                assert is_whole(), key
        await settle(pilot, "G")
        assert {len(drawn.lines) for drawn in cards._painter._drawn} == {1, 2}
        assert sum(len(drawn.lines) for drawn in cards._painter._drawn) >= cards.size.height - 1
        assert len(drawing._contents) == len(cards.keys_on_screen), "cards that are not on screen cost nothing"


def widths_of(app) -> list[int]:
    return [column.size.width for column in board_of(app).columns]


@pytest.mark.parametrize("size", SIZES[:2])
async def test_a_column_that_gets_its_first_card_or_loses_its_last_one_changes_widths_and_no_other(
    plan, make_app, size
):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        before = widths_of(app)
        by_agent(plan, "human", EditTask(plan[8], {"status": "done", "name": "A name that is so long that it wraps"}))
        await until(pilot, lambda: plan[8] not in board_of(app).columns[0].cards.keys_on_screen)
        await settle(pilot)
        assert widths_of(app) == before
        by_agent(plan, "human", *(EditTask(uid, {"status": "done"}) for uid in plan.uids))
        await until(pilot, lambda: widths_of(app)[0] == 18 < before[0])
        assert sum(widths_of(app)) == sum(before)


async def test_an_empty_column_gives_its_room_to_those_with_long_names(plan, make_app):
    with Store(plan.path) as store:
        other = store.commit(CreatePlan("Other"), actor="human", now=NOW)[0].uid
        name = "Write tests that say what happens where two of them run at once"
        store.commit(AddTask(name, other), actor="human", now=NOW)
    app = make_app(plan.path, pane="board", list_name=other)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert widths_of(app)[0] > 40 and widths_of(app)[1:] == [18] * 4
        (drawn,) = board_of(app).columns[0].cards._painter._drawn
        assert len(drawn.lines) == 2


async def test_cards_keep_their_places_beside_a_detail_that_opens_below_them(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[5])

        def places() -> dict[str, int]:
            return {
                drawn.row.uid: start
                for column in board_of(app).columns
                for drawn, start in zip(column.cards._painter._drawn, column.cards._painter._starts, strict=False)
            }

        before = places()
        await settle(pilot, "enter")
        assert board_of(app).is_open
        assert places().items() <= before.items() and plan[1] in places()
        await settle(pilot, "escape", "escape")
        assert places() == before


async def test_the_scroll_mark_of_a_column_says_on_which_side_more_cards_are(plan, make_app):
    by_agent(plan, "human", *(AddTask(f"Task {number} that waits", plan.list_uid) for number in range(40)))
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(80, 24)) as pilot:
        await at_card(pilot, plan[6])
        cards = board_of(app).columns[0].cards

        def marks():
            ends = [cards.render_line(y).text[-1] for y in range(cards.size.height)]
            return ends[0] != " ", ends[-1] != " "

        assert marks() == (True, False), "more cards below"
        await settle(pilot, "G")
        assert "Task 39" in shown(app) and marks() == (False, True)
        by_agent(plan, "human", *(DeleteTask(card.uid) for card in cards.rows_held if card.name.startswith("Task")))
        await settle(pilot)
        await until(pilot, lambda: cards.cursor in cards.keys_on_screen)


async def test_a_narrower_screen_has_three_columns_what_failed_before_what_is_done(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert columns(app)["Active"] == [
            "Pick JWT lib: jose or pyjwt",
            "Migrate analytics GA to Plausible",
            "Ship auth flow",
        ]
        assert columns(app)["Closed"][0] == "Fix flaky DST test"
        for head in ("○ Pending 2", " Active  ? 2  ◐ 1", " Closed  ✗ 1  ✓ 2  – 1"):
            assert head in shown(app), "the number of each state, which add up"
        head = app.screen.query(ColumnHead)[2]
        (failed,) = (part.style for part in head.render_line(0) if part.text.strip() == "✗ 1")
        assert failed.color == StyleCache.of(app).style("$state-failed").color, "failed tasks are not counted in green"
        assert "Which one?" in " ".join(shown(app).split())
        last = lines(app)[-2].split("│")[1]
        assert last.split() == ["!high", "·", "#auth"], "the card at work is whole"
        assert "GA property" in shown(app)
        await pilot.resize_terminal(80, 23)
        await settle(pilot)
        assert re.search(r"(approve or deny\? …|Approve: delete the .*…) ", shown(app)), "one without room is cut"


async def test_a_small_screen_has_one_column_at_a_time_and_tells_of_the_others(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot)
        assert " < ○ 2  [◐ 1]  ? 2  ✓ 2  ✗ 1 >" in shown(app)
        await settle(pilot, "l", "right", "l")
        assert list(columns(app)) == ["Failed"]
        assert "test_dst_gap" in shown(app)
        await settle(pilot, "h", "left", "h", "left", "h")
        assert list(columns(app)) == ["Pending"]
        assert "[○ 2]" in shown(app)
        app.screen.query_one(BoardTabs).show([("pending", "0"), ("in_progress", "1"), ("done", "0")], 1)
        await settle(pilot)
        assert "   ○ 0  [◐ 1]  ✓ 0" in shown(app) and "✓ 0 >" not in shown(app), "no arrow to where no card is"


async def test_the_card_under_the_cursor_stays_there_through_every_size(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[7])
        for size in ((80, 24), (40, 12), (200, 60), (60, 16), (120, 40)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert board_of(app).target() == plan[7], size
            assert "Migrate" in shown(app)


async def test_h_and_l_go_to_the_next_column_and_each_keeps_its_cursor(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[8])
        await settle(pilot, "l", "l", "j")
        assert board_of(app).target() == plan[7]
        await settle(pilot, "h", "h")
        assert board_of(app).target() == plan[8]
        await settle(pilot, "h")
        assert board_of(app).target() == plan[8]
        assert shown(app).count(">") == 1


async def test_a_card_moves_to_the_next_column_and_the_cursor_with_it(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[8])
        await settle(pilot, "L")
        await until(pilot, lambda: plan[8] == board_of(app).target() and board_of(app).at == 1)
        assert status(app, plan[8]) == "in_progress"
        await settle(pilot, "H")
        await until(pilot, lambda: board_of(app).at == 0)
        assert status(app, plan[8]) == "pending"
        await settle(pilot, "H")
        assert "Pending is the first column." in shown(app)
        await settle(pilot, "u")
        await until(pilot, lambda: status(app, plan[8]) == "in_progress")


async def test_cards_that_cannot_all_be_in_progress_are_refused_without_naming_one_that_is_pending(plan, make_app):
    by_agent(plan, "human", SetListRule(plan.list_uid, True), *(AddTask(f"T{n}", plan.list_uid) for n in range(2)))
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[8])
        await settle(pilot, "j", "v", "j", "v", "L")
        assert said(app) == "This list takes one task in progress at a time for each agent, not 2 tasks."


async def test_a_card_that_failed_asks_why_and_the_answer_is_in_its_log(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[5])
        await settle(pilot, "L", "L", *"no disk", "enter")
        await until(pilot, lambda: status(app, plan[5]) == "failed")
        assert task_records.logs(app.link.db, plan[5])[-1].message == "no disk"
        await until(pilot, lambda: "no disk" in shown(app))


async def test_going_back_at_the_question_why_moves_nothing(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(80, 24)) as pilot:
        await at_card(pilot, plan[5])
        seq = app.link.seq
        await pilot.press("s", "f")
        await pilot.press("escape")
        await settle(pilot)
        assert status(app, plan[5]) == "in_progress"
        assert app.link.seq == seq


async def test_a_second_card_in_progress_is_refused_by_the_name_of_the_first(plan, make_app):
    by_agent(plan, "human", SetListRule(plan.list_uid, True), EditTask(plan[5], {"status": "pending"}))
    by_agent(plan, "human", EditTask(plan[5], {"status": "in_progress", "agent": None}))
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[8])
        await settle(pilot, "L")
        assert "#5 Ship auth flow is in progress, and this list takes one at a time" in shown(app)
        assert status(app, plan[8]) == "pending"
        assert board_of(app).target() == plan[8]


@pytest.mark.parametrize("key", ["H", "L"])
async def test_a_card_that_waits_for_an_answer_is_not_moved_as_it_could_not_be_moved_back(plan, make_app, key):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[4])
        await settle(pilot, key)
        refused = "#4 Pick JWT lib: jose or pyjwt stays here until you answer: a answers, s sets its status."
        assert said(app) == refused
        assert status(app, plan[4]) == "pending"


async def test_a_card_whose_work_waits_for_review_is_not_moved(plan, make_app):
    with Store(plan.path) as store:
        operation = StartWork(plan[8], "robot", "/api", "/tree", branch="task/8", base="main", base_commit="c0ffee")
        (work,) = store.commit(operation, actor="human", now=NOW)
        store.commit(RunWork(work.uid, prompt="Drill"), WorkReady(work.uid, "Drilled."), actor="system", now=NOW)
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[8])
        was = status(app, plan[8])
        await settle(pilot, "L")
        assert said(app).startswith("#8 Backup restore drill stays here until its work is merged or discarded: Enter ")
        assert status(app, plan[8]) == was


async def test_a_card_that_is_moved_on_from_in_progress_is_done_and_the_keys_say_so_before(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[5])
        assert "H → Pending  L → Done" in shown(app)
        await settle(pilot, "L")
        await until(pilot, lambda: status(app, plan[5]) == "done" and board_of(app).at == 3)
        assert "H → In progress  L → Failed" in shown(app)
        await at_card(pilot, plan[4])
        assert " → " not in lines(app)[-1], "it waits for an answer"
        await at_card(pilot, plan[8])
        assert "s Status  L → In progress" in shown(app)


async def test_a_small_screen_says_where_a_card_would_go(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(40, 12)) as pilot:
        await at_card(pilot, plan[5])
        assert "h/l column   H → Pending   L → Done" in shown(app)
        await at_card(pilot, plan[1])
        assert " h/l column  H → In progress  L → Failed" in shown(app), "none of it is cut"


async def test_marked_cards_move_together_as_one_change(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[6])
        await settle(pilot, "v", "j", "v", "L")
        await until(pilot, lambda: status(app, plan[8]) == status(app, plan[6]) == "in_progress")
        await until(pilot, lambda: not columns(app)["Pending"])
        assert board_of(app).selection() == [board_of(app).target()]
        await settle(pilot, "u")
        await until(pilot, lambda: status(app, plan[8]) == status(app, plan[6]) == "pending")


async def test_j_and_k_move_a_card_past_its_neighbour_in_the_list(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(80, 24)) as pilot:
        await at_card(pilot, plan[6])
        await settle(pilot, "J")
        await until(pilot, lambda: columns(app)["Pending"] == ["Backup restore drill", "Write integration tests"])
        assert board_of(app).target() == plan[6]
        await settle(pilot, "K")
        await until(pilot, lambda: columns(app)["Pending"] == ["Write integration tests", "Backup restore drill"])
        names = [task.name for task in task_queries.tasks(app.link.db, app.state.list_id)]
        assert names.index("Write integration tests") + 1 == names.index("Backup restore drill")


async def test_marked_cards_move_within_their_column_together(plan, make_app):
    by_agent(plan, "human", *(AddTask(f"more {each}", plan.list_uid) for each in range(2)))
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[6])
        await settle(pilot, "v", "j", "v", "J")
        moved = ["more 0", "Write integration tests", "Backup restore drill", "more 1"]
        await until(pilot, lambda: columns(app)["Pending"] == moved)


async def test_keys_typed_at_once_move_a_card_as_often_as_they_were_pressed(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(80, 24)) as pilot:
        await at_card(pilot, plan[8])
        await pilot.press("L", "L")
        await until(pilot, lambda: status(app, plan[8]) == "done")
        by_agent(plan, "human", *(AddTask(f"more {each}", plan.list_uid) for each in range(3)))
        await at_card(pilot, plan[6])
        await pilot.press("J", "J", "J")
        await until(pilot, lambda: columns(app)["Pending"][-1] == "Write integration tests")


async def test_the_cursor_goes_with_its_card_when_an_agent_moves_it(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[5])
        by_agent(plan, "claude-1", EditTask(plan[5], {"status": "done"}))
        await until(pilot, lambda: "Ship auth flow" in columns(app)["Done"])
        await settle(pilot)
        assert board_of(app).target() == plan[5]
        assert board_of(app).at == 3


async def test_what_the_human_does_is_done_to_the_card_they_see_however_much_an_agent_writes(plan, make_app):
    app = make_app(plan.path, pane="board")
    with Store(plan.path) as agent:
        async with app.run_test(size=(120, 40)) as pilot:
            await at_card(pilot, plan[8])
            begun, states = app.link.seq, ("pending", "in_progress", "failed", "done")
            for number in range(200):
                uid = plan[(1, 2, 3, 6, 9)[number % 5]]
                change = EditTask(uid, {"status": states[number % 4]})
                agent.commit(change, AddTask(f"t{number}", before=plan[6]), actor="a", now=NOW)
                if number % 20 == 0:
                    await pilot.press("L" if number % 40 else "H")
            await settle(pilot)
            assert board_of(app).target() == plan[8]
            mine = [entry for entry in journal.since(agent.db, begun, 1_000) if entry.actor == "human"]
            assert {entry.task for entry in mine} == {plan[8]}
            await until(pilot, lambda: app.link.seq == journal.newest(agent.db))
            await settle(pilot)
            there = columns(app)
            for column in board_of(app).columns:
                column.cards.reload()
            assert columns(app) == there, "what came in piece by piece is what there is"


async def test_a_card_in_another_column_that_moves_leaves_the_cursor_alone(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[8])
        by_agent(plan, "claude-2", EditTask(plan[3], {"status": "done"}), DeleteTask(plan[6]))
        await until(pilot, lambda: not columns(app)["Failed"])
        assert (board_of(app).target(), board_of(app).at) == (plan[8], 0)
        assert "○ Pending 1" in shown(app)
        assert ">  #8 Backup" in shown(app)


async def test_an_answer_takes_a_card_out_of_needs_you(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        ask = next(ask for ask in app.state.asks if ask.task_uid == plan[4])
        by_agent(plan, "human", AnswerAsk(ask.uid, "jose"))
        await until(pilot, lambda: "Pick JWT lib: jose or pyjwt" in columns(app)["Pending"])
        assert columns(app)["Needs you"] == ["Migrate analytics GA to Plausible"]
        assert "? Needs you 1" in shown(app)


async def test_what_a_card_waits_for_is_told_until_it_is_done(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "⊘ after #5" in shown(app)
        by_agent(plan, "claude-1", EditTask(plan[5], {"status": "done"}))
        await until(pilot, lambda: "⊘" not in shown(app))


async def test_a_new_word_of_an_agent_is_on_its_card_at_once(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        by_agent(plan, "claude-1", LogTask(plan[5], "all 22 pass"))
        await until(pilot, lambda: '"all 22 pass"' in shown(app))


async def test_a_tenth_task_widens_the_numbers_of_every_card(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "• #4 Pick" in shown(app)
        by_agent(plan, "claude-1", AddTask("Rotate the keys", plan.list_uid))
        await until(pilot, lambda: "Rotate the" in shown(app))
        assert "• #4  Pick" in shown(app)
        assert ">• #5  Ship" in shown(app), "the mark of what is new stays beside the cursor"


async def test_a_read_only_board_moves_nothing_and_says_so(plan, make_app):
    app = make_app(plan.path, pane="board", read_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "L")
        assert "read only" in shown(app)
        await drag(pilot, place_of(app, "Backup restore"), place_of(app, "In progress"))
        assert status(app, plan[8]) == "pending"


async def test_a_filter_shows_what_matches_in_every_column_and_counts_it(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "slash", *"who:claude-2")
        await until(pilot, lambda: "◐ In progress 0" in shown(app))
        assert columns(app)["Pending"] == columns(app)["In progress"] == []
        assert columns(app)["Failed"] == ["Fix flaky DST test"]
        assert len(columns(app)["Done"]) == 2
        assert board_of(app).target() is not None
        await settle(pilot, "escape")
        assert columns(app)["In progress"] == ["Ship auth flow"] and board_of(app).target() == plan[5]


@pytest.mark.parametrize("size", SIZES)
async def test_a_board_on_which_nothing_matches_says_so_once_and_how_to_leave_the_filter(plan, make_app, size):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "slash", *"zebra", "enter")
        await until(pilot, lambda: shown(app).count("Nothing matches") == 1)
        assert "nothing here" not in shown(app)
        by_agent(plan, "claude-1", EditTask(plan[8], {"name": "A zebra"}))
        await until(pilot, lambda: "Nothing matches" not in shown(app))
        await settle(pilot, "escape")
        assert not board_of(app).filter_bar.is_open


async def test_a_new_card_is_added_from_the_board_and_has_the_cursor(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "n", *"Rotate keys", "enter")
        await until(pilot, lambda: "Rotate keys" in columns(app)["Pending"])
        assert list_pages.line(app.link.db, board_of(app).target()).name == "Rotate keys"


async def test_enter_opens_the_detail_which_follows_the_cursor_until_escape(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[5])
        await settle(pilot, "enter")
        await until(pilot, lambda: "JWT middleware, login and refresh endpoints." in shown(app))
        await settle(pilot, "h")
        await until(pilot, lambda: "Against a real Postgres." in shown(app))
        await settle(pilot, "escape")
        assert "Against a real Postgres." not in shown(app)


async def test_text_of_an_agent_is_only_text(plan, make_app):
    bad = "\x1b]52;c;QQ==\x07[@click=app.quit]x[/nope]\u202e\r\nend"
    by_agent(plan, "claude-1", EditTask(plan[5], {"name": bad}), LogTask(plan[5], bad), OpenAsk(bad, (), plan[8]))
    for size in ((120, 40), (80, 24), (40, 12)):
        app = make_app(plan.path, pane="board")
        async with app.run_test(size=size) as pilot:
            await settle(pilot, "enter")
            text = shown(app)
            assert "␛]52;c;QQ==␇" in text or size[0] == 80
            assert not set(text) & set("\x1b\x07\x9b\u202e\r")


async def test_letters_stand_for_glyphs_where_only_ascii_is_wanted(plan, make_app):
    from tui_tasks.settings.config import Config

    for size in ((120, 40), (80, 24), (40, 12)):
        app = make_app(plan.path, pane="board", config=Config(ascii=True))
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            assert shown(app).isascii()
            await settle(pilot, "s")
            assert "up/down Move" in lines(app)[-1], "^v would be another key"


@pytest.mark.parametrize(
    ("size", "head", "filtered", "done"),
    [
        ((120, 40), "? Needs you 2  ✗ 1", "? Needs you 0  ✗ 1", "✓ Done 2"),
        ((80, 24), " Active  ? 2  ✗ 1 ", " Active  ✗ 1 ", " Closed  ✗ 1  ✓ 2  – 1"),
        ((40, 12), "? 2 ✗ 1", "? 0 ✗ 1", "✓ 2"),
    ],
)
async def test_a_task_whose_check_failed_is_counted_as_failed_and_not_as_a_question(
    plan, report, make_app, size, head, filtered, done
):
    report(plan[5], "failed")
    app = make_app(plan.path, pane="board")
    async with opened(app, size) as pilot:
        assert head in shown(app) and done in shown(app), "the checks of what is done have not run"
        await settle(pilot, "slash", *"ship")
        await until(pilot, lambda: filtered in shown(app))


@pytest.mark.parametrize("size", SIZES)
async def test_a_card_whose_agent_is_gone_stands_under_needs_you_until_the_agent_is_back(plan, make_app, size):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        with Store(plan.path) as store, store.db.transaction(write=True):
            connections.end(store.db, "claude-1", Process(), NOW)
        await until(pilot, lambda: app.state.left)
        await settle(pilot)
        counts = app.pane._counts
        assert (counts.text(["needs_you"]), counts.text(["in_progress"])) == ("3", "0")
        assert ("? Needs you 3" if size[0] >= 100 else "? 3") in shown(app)
        if size[0] >= 100:
            assert "Ship auth flow" in columns(app)["Needs you"]
            assert "claude-1 gone now" in shown(app)
            drawn = next(row for row in board_of(app).columns[2].cards._painter._drawn if row.key == plan[5])
            gone = " ".join(text for line in drawn.lines for text, _ in line)
            assert gone.count("claude-1") == gone.count("now") == 1, "who and since when are said once"
        with Store(plan.path) as store, store.db.transaction(write=True):
            connections.begin(store.db, "claude-1", Process(), NOW)
        await until(pilot, lambda: not app.state.left)
        await settle(pilot)
        assert (counts.text(["needs_you"]), counts.text(["in_progress"])) == ("2", "1")


async def test_a_card_whose_agent_is_gone_moves_left_to_pending(plan, make_app):
    with Store(plan.path) as store, store.db.transaction(write=True):
        connections.end(store.db, "claude-1", Process(), NOW)
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await at_card(pilot, plan[5])
        await settle(pilot, "H")
        assert status(app, plan[5]) == "pending"


async def test_a_question_that_names_no_task_is_about_the_one_its_agent_is_at_work_on_everywhere(plan, make_app):
    with Store(plan.path) as store:
        (ask,) = store.commit(OpenAsk("Which port?"), actor="claude-1", now=NOW)
        assert [line.task for line in needs_you(store.db, {}) if line.uid == ask.uid] == [plan[5]]
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert columns(app)["In progress"] == []
        assert "Ship auth flow" in columns(app)["Needs you"]
        assert "? Needs you 3" in shown(app) and "◐ In progress 0" in shown(app)
        app.navigation.show_pane("list")
        await settle(pilot)
        (row,) = (line for line in lines(app) if "#5 " in line and "Which port?" in line and "Ship" in line)
        assert "? #5  Ship auth flow" in row
        with Store(plan.path) as store:
            store.commit(AnswerAsk(ask.uid, "80"), actor="human", now=NOW)
        await until(pilot, lambda: plan[5] not in app.state.asking)
        assert app.state.needing == set()


@pytest.mark.parametrize(
    ("size", "head"),
    [((120, 40), "? Needs you 2  ⇡ 1"), ((80, 24), " Active  ? 2  ⇡ 1  ◐ 1"), ((40, 12), "? 2 ⇡ 1 ")],
)
async def test_work_to_review_is_counted_under_its_own_sign_and_not_as_a_question(plan, make_app, size, head):
    with Store(plan.path) as store:
        start = StartWork(plan[8], "robot", "/repo", "/trees/8", branch="task/8", base="main")
        (work,) = store.commit(start, actor="human", now=NOW)
        store.commit(RunWork(work.uid, prompt="Do it"), WorkReady(work.uid), actor="system", now=NOW)
    async with opened(make_app(plan.path, pane="board"), size) as pilot:
        await until(pilot, lambda: head in shown(pilot.app))
        counts = board_of(pilot.app)._counts
        parts = (*board_pages.PARTS, FAILED_OTHERWISE, TO_REVIEW)
        assert sum(int(counts.text([part])) for part in parts) == pilot.app.state.current_list.total


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_done_card_with_a_question_or_a_failed_check_stands_under_needs_you_with_its_reason(
    plan, make_app, report, size
):
    report(plan[5], "failed", "E   assert 401 == 200\n1 failed in 0.1s\n")
    with Store(plan.path) as store:
        store.commit(EditTask(plan[7], {"status": "done"}), actor="human", now=NOW)
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        closed = columns(app)["Done" if size[0] > 100 else "Closed"]
        needs = columns(app)["Needs you" if size[0] > 100 else "Active"]
        for name in ("Ship auth flow", "Migrate analytics GA to Plausible"):
            assert name in needs and name not in closed
        # Where the column has several states, the mark of the state stands before the number.
        assert ("✗ tests failed:" if size[0] > 100 else "✗ #5 Ship auth") in shown(app) and "✓ #5" not in shown(app)
        counted = {part: int(board_of(app)._counts.text([part])) for part in (*board_pages.PARTS, FAILED_OTHERWISE)}
        assert (counted["needs_you"], counted[FAILED_OTHERWISE]) == (2, 1)
        assert sum(counted.values()) == app.state.current_list.total
        app.navigation.show_pane("list")
        await settle(pilot)
        (row,) = (line for line in lines(app) if "#7 " in line and "Migrate" in line)
        assert "? #7  Migrate" in row and "Approve:" in row


async def test_a_key_that_moves_a_card_names_the_column_by_its_head(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(80, 24)) as pilot:
        await at_card(pilot, plan[5])
        assert "H → Pending  L → ✓ Closed" in shown(app) and "Closed  ✗ 1  ✓ 2  – 1" in shown(app)
        await at_card(pilot, plan[8])
        assert "L → ◐ Active" in shown(app) and "Active  ? 2  ◐ 1" in shown(app)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_cards_of_a_column_begin_at_one_place_whether_they_have_changed_or_not(plan, make_app, size):
    by_agent(plan, "claude-2", EditTask(plan[8], {"status": "done"}))
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        rows = shown(app).splitlines()
        first, second = (next(row for row in rows if words in row and "✓" in row) for words in ("Backup", "Audit"))
        assert "• ✓ #8 Backup" in first and "  ✓ #2 Audit" in second
        assert first.index("Backup") == second.index("Audit")
        wrapped = next(at for at, row in enumerate(rows) if "#1 Inventory" in row)
        assert size[0] < 100 or rows[wrapped + 1].index("usage") == rows[wrapped].index("Inventory"), "below its title"


@pytest.mark.parametrize("size", [(120, 40), (40, 12)])
async def test_the_keys_of_columns_pass_over_an_empty_one(plan, make_app, size):
    with Store(plan.path) as store:
        store.commit(EditTask(plan[5], {"status": "done"}), actor="human", now=NOW)
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=size) as pilot:
        app.navigation.go_to(plan[8])
        await settle(pilot)
        began = app.pane.at
        await settle(pilot, "l")
        assert app.pane.at > began + 1 and app.pane.target() is not None
        await settle(pilot, *"hhhh")
        assert app.pane.at == began and app.pane.target() == plan[8]


async def test_on_a_small_screen_the_head_of_a_detail_takes_the_place_of_that_of_the_board(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(40, 12)) as pilot:
        app.navigation.go_to(plan[5])
        await settle(pilot, "2", "enter")
        assert re.match("─ #5 Ship auth flow .*─ ◐ in progress ─$", lines(app)[1])
