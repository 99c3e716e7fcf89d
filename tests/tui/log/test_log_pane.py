"""The log: every entry of the journal on a line, newest last, the same however long it is."""

import re
from collections import defaultdict

import pytest

from tests.docs import schema_page
from tests.tui.driving import SIZES, by_agent, lines, opened, said, settle, shown, until
from tests.tui.logs import HOSTILE, log_of, texts
from tests.tui.plan import MINUTE, NOW, ZONE, at
from tests.tui.sessions import Sessions
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk, NoteStuck, OpenAsk, PauseAgent, SendMessage
from tui_tasks.core.operations.jobs import EditJob, FinishRun, RunJob
from tui_tasks.core.operations.sessions import EndSession
from tui_tasks.core.operations.tasks import (
    AcceptTask,
    AddTask,
    ClaimTask,
    CreatePlan,
    DeclineTask,
    DeleteTask,
    EditTask,
    EnsureList,
    ExtendClaim,
    LapseClaims,
    LogTask,
    MoveTask,
    SetListReview,
)
from tui_tasks.core.operations.work import (
    DiscardWork,
    FailWork,
    MergeWork,
    RestoreWork,
    RunWork,
    SetWork,
    StartWork,
    WorkReady,
)
from tui_tasks.core.read import job_lines, job_queries
from tui_tasks.core.read.agents.session_queries import ADDED_BY_HUMAN, PROMPT_OF_WORK
from tui_tasks.core.read.pages import log_lines, log_pages
from tui_tasks.core.read.pages.task_filter import Filter
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests.filter_syntax import parse
from tui_tasks.settings.config import Config
from tui_tasks.tui.agents.agents_screen import AgentsScreen
from tui_tasks.tui.log.log_entry import EntryDetail
from tui_tasks.tui.log.log_pane import OF_LOG
from tui_tasks.tui.log.log_rows import when
from tui_tasks.tui.log.log_text import name_and_text, text_of, who_of
from tui_tasks.tui.screens.digest_screen import DigestScreen


@pytest.mark.parametrize("size", SIZES)
async def test_the_newest_entry_is_last_and_has_the_cursor(plan, make_app, size):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert texts(app)[-1] == "running tests 14/22"
        assert log_of(app).row_list.row.new["message"] == "running tests 14/22"
        last = [line for line in shown(app).splitlines() if "running tests" in line][-1]
        assert last.startswith("> 20:15")
        assert "#5" in last


async def test_a_line_tells_when_what_who_and_which_task(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        text = shown(app)
        for line in (
            " 16:01:00  + new      you        #1  Inventory GA usage",
            " 17:01:00  → status   claude-2   #1  Inventory GA usage              pending → done",
            " 19:58:41  ✗ fail     claude-2   #3  Fix flaky DST test              test_dst_gap: expected 02:30, got",
            " 20:06:11  ? ask      claude-1   #4  Pick JWT lib: jose or pyjwt     jose is maintained but heavier; …",
            "> 20:15:02  · log      claude-1   #5  Ship auth flow                  3 messages, last: running tests",
        ):
            assert line in text
        assert text[text.index("everything") :].count("test_dst_gap") == 1, "the reason is told once"


@pytest.mark.parametrize(("span", "words"), [(15 * MINUTE, "claimed for 15m"), (3 * MINUTE // 2, "claimed for 1m 30s")])
async def test_a_claim_says_for_how_long_without_seconds_that_are_none(plan, make_app, span, words):
    by_agent(plan, "alpha", ClaimTask("alpha", span, plan[8]))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert any(words in " ".join(line.split()) and "00s" not in line for line in lines(app))


@pytest.mark.parametrize("pane_size", SIZES)
async def test_the_end_of_a_claim_that_another_ends_names_whose_it_was(plan, make_app, pane_size):
    by_agent(plan, "alpha", ClaimTask("alpha", MINUTE, plan[8]))
    by_agent(plan, "system", LapseClaims(), now=NOW + MINUTE)
    by_agent(plan, "beta", ClaimTask("beta", MINUTE, plan[8]), now=NOW + MINUTE)
    by_agent(plan, "human", EditTask(plan[8], {"status": "done"}), now=NOW + MINUTE)
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=pane_size) as pilot:
        await settle(pilot)
        assert [text for text in texts(app) if text.startswith("claim of")] == [
            "claim of alpha lapsed",
            "claim of beta finished",
        ]
        assert "claim of alpha lapsed" in shown(app) or pane_size[0] < 60


@pytest.mark.parametrize("width", [60, 80, 99])
async def test_a_narrow_line_has_no_name_of_a_task_behind_what_happened(plan, make_app, width):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(width, 40)) as pilot:
        await settle(pilot)
        log = shown(app).split("newest last")[1]
        assert re.search(r"^. 20:06 .*#4  compared both \S+ *$", log, re.M)
        assert re.search(r"^. 20:01 .*#5  pending → in progress *$", log, re.M)


async def test_with_ascii_a_new_status_has_an_arrow_of_two_letters(plan, make_app):
    app = make_app(plan.path, pane="log", config=Config(ascii=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "pending -> in progress" in shown(app)


async def test_a_narrow_line_has_all_of_what_happened_where_it_fits(plan, make_app):
    app = make_app(plan.path, pane="log")
    reason = "zstd is missing in the image: exit status 127"
    by_agent(plan, "claude-2", EditTask(plan[7], {"status": "failed"}), LogTask(plan[7], reason))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        text = shown(app)
        assert " 19:58 ✗ fail     claude-2   #3  test_dst_gap: expected 02:30, got 03:30" in text
        assert "✗ fail     claude-2   #7  zstd is missing in the image: exit status 127" in text


@pytest.mark.parametrize(
    ("shown_plan", "width", "at_once"),
    [
        ("plan", 80, {34: ("pending → in prog", "test_dst_gap", "jose is maint")}),
        ("plan", 120, {70: ("pending → in prog", "test_dst_gap", "jose is maint"), 38: ("Ship auth flow",)}),
        ("evening", 80, {34: ("Login audit  ok 28s", "Server status  where it runs", "Server status  started")}),
        ("evening", 120, {70: ("ok 28s", "where it runs", "started"), 38: ("Login audit", "Server status")}),
    ],
)
async def test_the_columns_of_the_log_stand_still(request, make_app, shown_plan, width, at_once):
    app = make_app(request.getfixturevalue(shown_plan).path, pane="log")
    async with app.run_test(size=(width, 40)) as pilot:
        await settle(pilot)
        log = shown(app).split("newest last")[1].splitlines()
        for place, words in at_once.items():
            assert {next(line.index(word) for line in reversed(log) if word in line) for word in words} == {place}


@pytest.mark.parametrize("keys", ["", "g"])
async def test_a_reason_that_is_given_after_a_failure_is_in_its_line_at_once_as_it_is_in_the_inbox(
    plan, make_app, keys
):
    by_agent(plan, "claude-2", EditTask(plan[7], {"status": "failed"}))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot, *keys)
        by_agent(plan, "claude-2", LogTask(plan[7], "zstd is missing"))
        await settle(pilot)
        assert re.search(r"✗ fail +claude-2 +#7 .*zstd is missing", shown(app))


async def test_only_the_mark_and_the_kind_of_an_entry_have_a_colour(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)

        def colors(word: str) -> list[str]:
            drawn = log_of(app).row_list._painter._drawn
            line = next(
                row.lines[0] for row in reversed(drawn) if any(text.strip() == word for text, _ in row.lines[0])
            )
            return [style for text, style in line if style not in ("$muted", "") and text.strip()]

        assert colors("fail") == ["$state-failed", "$state-failed"]
        assert colors("ask") == ["$state-needs-you", "$state-needs-you"]
        by_agent(plan, "human", *(AnswerAsk(ask.uid, "jose") for ask in app.state.asks))
        await until(pilot, lambda: not app.state.asks and not colors("ask"))
        assert "jose, to claude-1: jose is" in shown(app)


async def test_a_line_calls_its_task_as_it_was_called_then(plan, make_app):
    by_agent(plan, "claude-1", EditTask(plan[5], {"name": "Ship it"}), EditTask(plan[5], {"priority": 1}))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        told = shown(app)
        assert "#5  Ship auth flow                  3 messages, last: running tests 14/22" in told
        assert "#5  Ship it                         was called Ship auth flow" in told
        assert "#5  Ship it                         priority high → urgent" in told


async def test_a_line_has_the_number_of_its_task_wherever_that_stands_now(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "claude-1   #5  Ship auth flow                  3 messages, last: running tests 14/22" in shown(app)
        by_agent(plan, "claude-2", AddTask("Before all", before=plan[1]), DeleteTask(plan[6]))
        by_agent(plan, "claude-2", LogTask(plan[5], "and on"))
        await until(pilot, lambda: "and on" in shown(app))
        assert "claude-1   #5   Ship auth flow                  3 messages, last: running tests 14/22" in shown(app)
        assert "claude-2   #5   Ship auth flow                  and on" in shown(app)
        assert "claude-2   #10  Before all" in shown(app)
        assert "claude-2   #6   Write integration tests" in shown(app)


@pytest.mark.parametrize("size", SIZES)
async def test_a_run_of_progress_is_one_line_that_opens(plan, make_app, size):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert "wrote middleware/jwt.py" not in shown(app)
        assert "▸" in shown(app)
        by_agent(plan, "claude-1", LogTask(plan[5], "all green"))
        await until(pilot, lambda: texts(app)[-1] == "all green")
        assert "running tests" not in shown(app)
        await settle(pilot, "enter")
        words = [shown(app).index(word) for word in ("running tests 14/22", "wrote middleware", "wrote login")]
        assert words == sorted(words), "the newest first"


async def test_the_good_runs_of_a_job_are_one_line_that_opens_and_grows(evening, make_app):
    app = make_app(evening.path, pane="log")
    with Store(evening.path) as store:
        status, audit, *_ = (job.uid for job in job_queries.jobs(store.db))
        store.commit(RunJob(audit, force=True), actor="claude-1", now=NOW)
        (run,) = job_queries.open_runs(store.db, audit)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "✗ fail     claude-1   S1  Server status                   no answer" in shown(app)
        assert "◷ run      claude-1   S1  Server status                   3 runs ok, last 9s" in shown(app)
        assert "◷ run      claude-1   S2  Login audit                     ok 28s" in shown(app)
        assert "◷ run      claude-1   S2  Login audit                     requested" in shown(app)
        by_agent(evening, "claude-1", FinishRun(run.uid, "success", "12 logins"))
        await until(pilot, lambda: "Login audit                     2 runs ok, last 0ms" in shown(app))
        assert "claude-1   S2  Login audit                     requested" not in shown(app)
        assert "Login audit                     ok 28s" not in shown(app)
        row = next(row for row in log_of(app).row_list.rows_held if row.job == status and row.count == 3)
        log_of(app).row_list.move_to(str(row.seq))
        await settle(pilot, "enter")
        assert all(f"{time}:09  ok 9s" in shown(app) for time in ("20:00", "19:45", "19:30"))


async def test_what_was_done_again_is_told_as_redo(plan, make_app):
    app = make_app(plan.path, pane="log")
    with Store(plan.path) as store:
        store.commit(EditTask(plan[8], {"status": "done"}), actor="human", now=NOW)
        store.commit(Undo(), actor="human", now=NOW)
        store.commit(Redo(), actor="human", now=NOW)
        store.commit(Undo(), actor="human", now=NOW)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert texts(app)[-4:] == [
            "pending → done",
            "undo: done → pending",
            "redo: pending → done",
            "undo: done → pending",
        ]


async def test_moves_of_a_task_one_after_another_are_one_line_with_their_count(evening, make_app):
    app = make_app(evening.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for after in (2, 3, 4):
            by_agent(evening, "human", MoveTask(evening[1], after=evening[after]))
        await until(pilot, lambda: "moved in the list 3 times" in shown(app))
        assert shown(app).count("moved in the list") == 1
        await settle(pilot, "enter")
        assert shown(app).count("20:15:42  moved in the list") == 3
        await settle(pilot, "escape")
        by_agent(evening, "human", MoveTask(evening[2], after=evening[4]), Undo())
        await until(pilot, lambda: "undo: moved in the list" in shown(app))
        assert texts(app)[-3:] == ["moved in the list 3 times", "moved in the list", "undo: moved in the list"]


async def test_the_undo_of_a_change_of_a_job_names_the_job_and_what_is_as_before(evening, make_app):
    app = make_app(evening.path, pane="log")
    with Store(evening.path) as store:
        backup = job_queries.jobs(store.db)[0]
        store.commit(EditJob(backup.uid, {"prompt": "Try it."}), actor="human", now=NOW)
        store.commit(Undo(), actor="human", now=NOW)
        store.commit(Redo(), actor="human", now=NOW)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        named = [name_and_text(row) for row in log_of(app).row_list.rows_held[-3:]]
        assert named == [
            (backup.name, "prompt"),
            (backup.name, "undo: prompt as before"),
            (backup.name, "redo: prompt"),
        ]


async def test_where_the_human_last_looked_stands_between_what_was_before_and_since(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "── 19:58  you last looked here ───" in shown(app)
        at_mark = texts(app).index("you last looked here")
        assert texts(app)[at_mark - 1 : at_mark + 2 : 2] == ["description", "pending → in progress"]


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_the_rule_says_since_when_all_lines_on_screen_are_new(plan, make_app, size):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "g")
        assert "new since" not in shown(app)
        await settle(pilot, "G")
        said = (LogTask(plan[number], f"and on {number}") for number in (8, 9, *range(1, 10)))
        by_agent(plan, "claude-2", *said)
        await until(pilot, lambda: "and on 9" in shown(app))
        is_rule = re.compile("─ (Log )?since 19:58 (· [0-9]+ rows above|↑)").match
        (rule,) = filter(is_rule, lines(app))
        assert "you last looked here" not in shown(app), rule
        hidden = int(re.search("([0-9]+) rows|↑([0-9]+)", rule).group(1 if size[0] >= 80 else 2))
        mark = next(app.pane._entries.marks())
        newer = [row for row in app.pane.row_list.rows_held if row.seq > mark.seq]
        assert hidden == len(newer) - len(app.pane.row_list.rows_on_screen)
        await settle(pilot, *["k"] * (len(newer) - hidden), *["k"] * (hidden - 1))
        all_new = "─ everything since 19:58 " if size[0] >= 80 else "─ Log since 19:58 "
        assert all_new in shown(app), "the first of them is on screen"
        await settle(pilot, "full_stop")
        assert "new since" not in shown(app)


async def test_all_seen_takes_the_mark_away_until_something_happens(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "full_stop")
        assert "you last looked here" not in shown(app)
        by_agent(plan, "claude-2", LogTask(plan[5], "and on"))
        await until(pilot, lambda: "and on" in shown(app))
        assert texts(app)[-3:] == ["running tests 14/22", "you last looked here", "and on"]


async def test_it_follows_what_comes_in(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for number in range(3):
            by_agent(plan, "claude-1", *(LogTask(plan[5], f"step {number}.{each}") for each in range(200)))
            await until(pilot, lambda number=number: texts(app)[-1] == f"step {number}.199")
            assert log_of(app).row_list.is_on_last
        assert "following ↓ newest last" in shown(app)


async def test_scrolling_up_leaves_off_following_and_the_end_takes_it_up_again(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "k", "k")
        row, before = log_of(app).row_list.cursor, texts(app)
        by_agent(plan, "claude-1", LogTask(plan[5], "one"), LogTask(plan[5], "two"))
        await until(pilot, lambda: "2 new below" in shown(app))
        assert (log_of(app).row_list.cursor, texts(app)) == (row, before)
        await settle(pilot, "G")
        assert texts(app)[-1] == "two"
        assert "following" in shown(app)
        by_agent(plan, "claude-1", LogTask(plan[5], "three"))
        await until(pilot, lambda: texts(app)[-1] == "three")


async def test_the_wheel_leaves_off_following_as_keys_do(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        log_of(app).row_list.scroll_rows(-3)
        await settle(pilot)
        before = texts(app)
        by_agent(plan, "claude-1", LogTask(plan[5], "later"))
        await until(pilot, lambda: "1 new below" in shown(app))
        assert texts(app) == before
        log_of(app).row_list.scroll_rows(99)
        await settle(pilot)
        assert log_of(app).following


async def test_f_stands_still_and_follows_again(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "f")
        by_agent(plan, "claude-1", LogTask(plan[5], "later"))
        await until(pilot, lambda: "1 new below, f follows" in shown(app))
        assert texts(app)[-1] == "running tests 14/22"
        await settle(pilot, "f")
        assert texts(app)[-1] == "later"


async def test_the_first_entry_is_reached_by_one_key_and_left_by_another(plan, make_app):
    by_agent(plan, "claude-1", *(LogTask(plan[5], f"step {each}") for each in range(400)))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g")
        assert texts(app)[0] == "list Plan"
        await settle(pilot, "ctrl+d", "ctrl+d", "G")
        assert texts(app)[-1] == "step 399"


async def test_what_is_opened_shows_the_agents_reasons_and_stays_while_others_come_in(plan, make_app):
    why = {"topic": "tests", "thoughts": ["they are slow", "so be it"], "reflection": "should have asked"}
    for size in (*SIZES, (80, 30)):
        with Store(plan.path) as store:
            store.commit(EditTask(plan[5], {"intent": f"at {size}"}), actor="claude-1", now=NOW, why=why)
        app = make_app(plan.path, pane="log")
        async with app.run_test(size=size) as pilot:
            await settle(pilot, "enter")
            detail = app.query_one(EntryDetail)
            assert "topic" in shown(app) or size[1] == 12
            assert "they are slow" in shown(app) or size[1] < 30, "further down on a low screen"
            row = log_of(app).row_list.cursor
            by_agent(plan, "claude-2", LogTask(plan[7], "meanwhile"))
            await until(pilot, lambda app=app: log_of(app).rule.below == 1)
            assert log_of(app).row_list.cursor == row
            assert detail.display
            await settle(pilot, "escape")
            assert not log_of(app).is_open


async def test_the_head_of_an_opened_entry_is_a_rule_with_what_it_is_about_and_its_kind_at_the_end(
    plan, jobs, make_app
):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "slash", *"who:claude-1 kind:log", "enter", "enter")
        (head,) = (line for line in lines(app) if line.startswith("─ #5 Ship auth flow"))
        assert re.match(r"─ #5 Ship auth flow · claude-1 · Sat 21 Nov 20:15 ─+ · log ─$", head)
        await settle(pilot, "escape", "escape", "slash", *"kind:run logins", "enter", "enter")
        (head,) = (line for line in lines(app) if line.startswith("─ S2 Login audit · "))
        assert head.endswith("─ ◷ run ─") and "\n ok 28s" in shown(app), "its name stands once"
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "slash", *"who:claude-1 kind:log", "enter", "enter")
        filter_line, rule, rest = lines(app)[1:4]
        assert "kind:log" in filter_line
        assert re.match(r"─ #5 Ship auth flow ─+ · log ─$", rule) and rest == " claude-1 · 20:15"


@pytest.mark.parametrize("pane_size", SIZES)
async def test_what_is_opened_after_another_was_closed_is_the_entry_under_the_cursor(plan, make_app, pane_size):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=pane_size) as pilot:
        await settle(pilot, "g", "j", "j", "enter", "escape", "G", "enter")
        entry = shown(app).rsplit("─\n", 1)[-1]
        assert "running tests 14/22" in entry and "Inventory" not in entry and "Audit" not in entry


async def test_an_instant_of_an_entry_that_is_opened_is_told_as_a_time_of_the_day(plan, make_app):
    with Store(plan.path) as store:
        sessions = Sessions(store)
        sessions.begin("claude", "a", "Release", at(20, 16), "/home/me/code/api")
        sessions.tell("claude", "a", "SessionEnd", at(20, 17), reason="other")
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "enter")
        text = shown(app)
        assert "ended at" in text
        assert "Sat 21 Nov 20:17" in text[text.index("ended at") :]
        assert str(at(20, 16))[:6] not in text


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_opened_is_scrolled_to_its_end_and_back_by_a_key(plan, make_app, size):
    by_agent(plan, "claude-2", EditTask(plan[5], {"description": "\n".join(f"line {n}" for n in range(90))}))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "enter", "tab")
        text = app.query_one("#entry-scroll")
        text.focus()
        await settle(pilot, "G")
        assert text.scroll_y == text.max_scroll_y > 0
        await settle(pilot, "g")
        assert text.scroll_y == 0


async def test_enter_twice_goes_to_the_task(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "enter")
        assert "JWT middleware, login and refresh endpoints." in shown(app)
        await settle(pilot, "enter")
        await until(pilot, lambda: app.navigation.pane_name == "list")
        assert app.pane.target() == plan[5]


async def test_an_entry_is_copied_as_a_line_of_text(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "Y")
        assert app.clipboard == "Sat 21 Nov 20:15  log  claude-1  Ship auth flow: running tests 14/22"


# The filter


async def test_the_filter_keeps_what_is_wanted(plan, make_app):
    found = {
        "kind:fail": ["test_dst_gap: expected 02:30, got 03:30"],
        "kind:ask who:claude-2": ["Approve: delete the old GA property"],
        "who:you kind:status": ["pending → skipped"],
        "middleware kind:log": ["sketched the middleware", "wrote middleware/jwt.py"],
        "MIGRATE kind:log": ["exported the old figures"],
        "kind:log -who:claude-1": ["exported the old figures", "test_dst_gap: expected 02:30, got 03:30"],
        "list:plan kind:new": None,
        "list:tasklist": [],
        "nowhere-to-be-found": [],
    }
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        for words, kept in found.items():
            await settle(pilot, "slash")
            app.query_one("#log FilterWords").value = words
            await settle(pilot, "enter")
            shown_now = [text for text in texts(app) if text != "you last looked here"]
            if kept is None:
                assert len(shown_now) == 10, words
            else:
                assert sorted(shown_now) == sorted(kept), words
            await settle(pilot, "escape")
            assert texts(app)[-1] == "running tests 14/22", words


def test_a_line_of_the_log_is_found_by_every_word_that_it_shows(evening):
    with Store(evening.path) as store:

        def do(actor, *operations, now=NOW):
            return store.commit(*operations, actor=actor, now=now)

        do("alpha", ClaimTask("alpha", MINUTE, evening[8]))
        do("system", LapseClaims(), now=NOW + MINUTE)
        ((_, claim),) = do("beta", ClaimTask("beta", MINUTE, evening[8]), now=NOW + MINUTE)
        do("beta", ExtendClaim("beta", claim.uid), now=NOW + MINUTE)
        do("human", EditTask(evening[8], {"status": "done"}), now=NOW + MINUTE)
        do("human", EditTask(evening[6], {"name": "Renamed", "priority": 1, "tags": ("a",), "due": "2026-12-24"}))
        do("human", EditTask(evening[6], {"due": None}))
        do("human", Undo())
        do("human", Redo())
        do("human", MoveTask(evening[1], after=evening[2]))
        do("human", PauseAgent("claude-2", "wait for me"))
        do("human", SendMessage("claude-1", "read this"))
        do("claude-1", OpenAsk("May I go on?", ()))
        do("human", SetListReview(evening.list_uid, True))
        do("claude-1", CloseAsk(do("claude-1", OpenAsk("Really?", ()))[0].uid, "withdrawn"))
        work = do("human", StartWork(evening[9], "robot", "/repo", "/trees/9", branch="task/9", base="main"))[0]
        do("system", RunWork(work.uid, prompt="Work on task #9: Old cookie banner\n\nYou are in /trees/9."))
        do("system", EndSession(work.agent, "its process has ended"), FailWork(work.uid, "exit 3"))
        other = do("human", StartWork(evening[9], "robot", "/repo", "/trees/9b", branch="task/9b", base="main"))[0]
        do("system", WorkReady(other.uid))
        do("human", DiscardWork(other.uid), RestoreWork(other.uid))
        do("human", MergeWork(other.uid, "c1"), RestoreWork(other.uid))
        numbers = job_lines.numbers(store.db)
        lines = log_pages.page(store.db, log_pages.FIRST, 1_000)
        seqs = [line.seq for line in lines]
        shown_in = defaultdict(list)
        for line in lines:
            label = f"#{line.number}" if line.number else f"S{numbers[line.job]}" if line.job in numbers else ""
            name, text = name_and_text(line)
            shown_words = f"{label} {line.word} {who_of(line)} {name} {text_of(line)} {text}".split()
            for word in {word.strip('":,') for word in shown_words if word not in "→+"}:
                shown_in[word].append(line)
        assert {"merge of the work of robot-2 undone", "discard of the work of robot-2 undone"} <= set(
            map(text_of, lines)
        )
        missed = {}
        for word, having in shown_in.items():
            found = log_pages.find(store.db, seqs, Filter(parse(word, language=OF_LOG).terms))
            if left_out := [text_of(line) for line in having if line.seq not in found]:
                missed[word] = left_out
        for word in ("zebra", "lapsed", "done", "#4", "s2", "high"):
            found = log_pages.find(store.db, seqs, Filter(parse(word, language=OF_LOG).terms))
            others = log_pages.find(store.db, seqs, Filter(parse(f"-{word}", language=OF_LOG).terms))
            assert sorted([*found, *others]) == seqs, word
        # How long something lasts is no word that is stored.
        assert {word: text for word, text in missed.items() if not re.fullmatch(r"\d+[a-z]+", word)} == {}


async def test_a_number_in_the_log_finds_the_entries_of_its_task(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        log_of(app).filter_by("#4 kind:log")
        rows = log_of(app).row_list
        await until(pilot, lambda: rows.keys_on_screen and not rows.is_searching and len(rows.keys_on_screen) < 5)
        found = [(row.number, text_of(row)) for row in rows.rows_on_screen if row.task]
        assert found == [(5, "needs the library of #4"), (4, "compared both libraries")]


def test_whatever_the_log_shows_can_be_filtered_by_its_kind():
    told = set(schema_page.document()["event"]["properties"]["event"]["enum"]) - {"lagged"}
    assert told - set(log_lines.HIDDEN) == {kind for kinds in log_lines.KINDS.values() for kind in kinds}


async def test_failures_of_an_agent_programs_tools_and_turns_are_told_in_words_and_filtered(plan, make_app):
    with Store(plan.path) as store:
        sessions = Sessions(store)
        sessions.begin("claude", "a", "Clean the build", at(20, 9), "/home/me")
        failed = {"tool_name": "Bash", "tool_use_id": "t", "error": "exit 2"}
        sessions.tell("claude", "a", "PostToolUseFailure", at(20, 10), **failed)
        sessions.tell("claude", "a", "StopFailure", at(20, 11), error="rate limit", last_assistant_message="no more")
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "slash")
        for words, found in (
            ("kind:tool", ["Bash failed: exit 2"]),
            ("kind:fail", ["Bash failed: exit 2", "its turn failed: no more"]),
            ("kind:session -kind:fail", ["session started", "asked for: Clean the build"]),
        ):
            app.query_one("#log FilterWords").value = words
            await settle(pilot)
            assert [text for text in texts(app) if text != "you last looked here"][-2:] == found, words


async def test_a_filter_that_means_nothing_says_so(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "slash")
        app.query_one("#log FilterWords").value = "kind:nonsense "
        await settle(pilot)
        assert "no kind 'nonsense'" in shown(app)


async def test_a_filtered_log_follows_only_what_it_wants(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        log_of(app).filter_by("who:claude-2 kind:log")
        await settle(pilot)
        by_agent(plan, "claude-1", LogTask(plan[5], "of the other"))
        by_agent(plan, "claude-2", LogTask(plan[7], "of this one"))
        await until(pilot, lambda: texts(app)[-1] == "of this one")
        assert "of the other" not in texts(app)


async def test_a_rare_word_is_looked_for_piece_by_piece(plan, make_app, monkeypatch):
    monkeypatch.setattr(log_pages, "MAX_PASSED", 4)
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        log_of(app).filter_by("inventory kind:new")
        await until(pilot, lambda: "Inventory GA usage" in texts(app))
        assert [text for text in texts(app) if text != "you last looked here"] == ["Inventory GA usage"]


@pytest.mark.parametrize("size", SIZES)
async def test_a_filter_of_the_log_that_finds_nothing_says_so_until_an_entry_matches(plan, make_app, size):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "slash", *"zebra", "enter")
        said_so = "Nothing matches “zebra”: Esc clears the filter."
        await until(pilot, lambda: said_so in " ".join(shown(app).split()))
        assert "you last looked here" not in shown(app)
        by_agent(plan, "claude-1", LogTask(plan[5], "a zebra"))
        await until(pilot, lambda: texts(app) == ["you last looked here", "a zebra"])
        await settle(pilot, "escape")
        assert "Nothing matches" not in shown(app) and len(texts(app)) > 2


async def test_a_filtered_log_goes_on_following_when_its_last_line_is_the_mark_of_the_last_look(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "slash", *"inventory kind:new", "enter")
        await until(pilot, lambda: texts(app) == ["Inventory GA usage", "you last looked here"])
        assert log_of(app).following
        by_agent(plan, "claude-1", AddTask("Inventory of all", plan.list_uid))
        await until(pilot, lambda: texts(app)[-1] == "Inventory of all")
        assert log_of(app).following and log_of(app).row_list.is_on_last


async def test_what_a_filter_of_the_log_that_finds_nothing_is_follows_what_is_typed(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "slash", *"zebra", "f")
        await until(pilot, lambda: "Nothing matches “zebraf”" in shown(app))


# Text


@pytest.mark.parametrize("size", SIZES)
async def test_text_of_an_agent_is_only_text(plan, make_app, size):
    by_agent(plan, "claude-1", EditTask(plan[5], {"name": HOSTILE, "description": HOSTILE}), LogTask(plan[5], HOSTILE))
    by_agent(plan, "\x1b[31magent", OpenAsk(HOSTILE, (), plan[5]))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert "␛]52;c;QQ==␇" in shown(app)
        await settle(pilot, "k", "k", "enter")
        assert not set(shown(app)) & set("\x1b\x07\x9b\u202e\r")


async def test_letters_stand_for_glyphs_where_only_ascii_is_wanted(plan, make_app):
    from tui_tasks.settings.config import Config

    for size in SIZES:
        app = make_app(plan.path, pane="log", config=Config(ascii=True))
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            assert shown(app).isascii()


def test_every_kind_of_entry_has_words(tmp_path):
    with Store(str(tmp_path / "a.db")) as store:

        def do(*operations, actor="human"):
            return store.commit(*operations, actor=actor, now=NOW)

        home = do(CreatePlan("Plan"))[0]
        one, two = (do(AddTask(name, home.uid))[0] for name in ("one", "two"))
        do(EditTask(one.uid, {"priority": 1, "agent": "a", "name": "uno"}))
        do(MoveTask(one.uid, after=two.uid))
        ask = do(OpenAsk("which?"), actor="a")[0]
        do(AnswerAsk(ask.uid, "that"))
        do(SendMessage("a", "hurry"))
        do(PauseAgent("a", "lunch"))
        do(LogTask(one.uid, "noted"), actor="a")
        do(DeleteTask(two.uid))
        do(Undo())
        three = do(AddTask("three", home.uid))[0]
        work = do(StartWork(three.uid, "robot", "/repo", "/trees/1", makes_worktree=False))[0]
        do(SetWork(work.uid, {"intent": {"step": "x"}, "kept": {}}))
        do(RunWork(work.uid, prompt=f"{PROMPT_OF_WORK}3: three\n\n{ADDED_BY_HUMAN}Be brief.\n\nYou are in /trees/1."))
        do(EndSession(work.agent, "its process has ended"), FailWork(work.uid, "exit 3"), actor="system")
        lines = log_pages.page(store.db, log_pages.FIRST, 100)
        told = [(line.word, text_of(line)) for line in lines]
    assert told == [
        ("new", "list Plan"),
        ("new", "one"),
        ("new", "two"),
        ("edit", "priority medium → urgent, agent - → a, was called one"),
        ("move", "moved in the list"),
        ("ask", "which?"),
        ("answer", "that, to a: which?"),
        ("tell", "to a: hurry"),
        ("pause", "a: lunch"),
        ("log", "noted"),
        ("delete", "two"),
        ("back", "undo: two"),
        ("new", "three"),
        ("session", "session started"),
        ("status", "pending → in progress"),
        ("claim", "claimed for robot-1"),
        ("work", "work of robot-1 started"),
        ("session", "asked for: Be brief."),
        ("work", "work of robot-1 now working"),
        ("session", "session of robot-1 ended"),
        ("work", "work of robot-1 failed: exit 3"),
        ("status", "in progress → pending"),
        ("claim", "claim of robot-1 released"),
    ]


def test_when_it_was_fits_its_column_however_long_ago():
    told = [
        when(instant, NOW, ZONE, 9) for instant in (at(20, 15, 2), NOW - 86_400_000_000, NOW - 10**13, NOW - 10**14)
    ]
    assert told == ["20:15:02", "Fri 20:15", "29 Jul", "21 Sep 23"]
    assert [len(each) <= 9 for each in told] == [True] * 4
    hour = 60 * MINUTE
    briefly = [when(NOW - ago, NOW, ZONE, 5) for ago in (0, 23 * hour, 25 * hour, 10**13)]
    assert briefly == ["20:15", "21:15", "Fri", "29Jul"]


def test_review_and_stuck_agents_have_words_of_their_own(store: Store, talk, clock):
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="human", now=clock())
    store.commit(SetListReview(home.uid, True), actor="human", now=clock())
    uids = [talk.ok("tasklist:add_task", name=name)["uid"] for name in ("one", "two")]
    store.commit(AcceptTask(uids[0], 1), DeclineTask(uids[1], "not now"), actor="human", now=clock())
    store.commit(Undo(), actor="human", now=clock())
    store.commit(NoteStuck("agent", "silent", "gives no sign of life", 1), actor="system", now=clock())
    store.commit(NoteStuck("agent", None), actor="system", now=clock())
    lines = log_pages.page(store.db, log_pages.FIRST, 20)
    assert [(line.word, text_of(line)) for line in lines if line.word != "new"] == [
        ("edit", "list tasklist: new tasks of agents wait for you"),
        ("review", "accepted"),
        ("review", "declined: not now"),
        ("status", "undo: cancelled → pending"),
        ("edit", "undo: waits for you again"),
        ("stuck", "agent gives no sign of life"),
        ("stuck", "agent is not stuck now"),
    ]


# The way back to the screen that has shown something here


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pane", ["list", "log"])
async def test_esc_from_an_entry_that_the_digest_has_opened_leads_back_to_its_line(jobs, make_app, pane, size):
    app = make_app(jobs.plan.path, pane=pane)
    async with opened(app, size) as pilot:
        await settle(pilot, "D", "j")
        cursor = app.screen.window.cursor
        for _ in range(2):
            await settle(pilot, "enter")
            if isinstance(app.screen, DigestScreen):
                await settle(pilot, "j", "enter")
            assert app.pane.NAME == "log" and len(app.screen_stack) == 1
            assert "Esc Back" in lines(app)[-1] or size[0] < 80
            await settle(pilot, "escape")
            assert isinstance(app.screen, DigestScreen)
            assert app.screen.window.cursor.startswith(cursor)
        await settle(pilot, "escape", "escape")
        assert app.navigation.pane_name == pane and len(app.screen_stack) == 1


async def test_esc_from_the_log_of_an_agent_leads_back_to_its_line_once_its_entries_are_closed(evening, make_app):
    app = make_app(evening.path)
    async with opened(app, (80, 24)) as pilot:
        await settle(pilot, "A", "G")
        cursor = app.screen.window.cursor
        await settle(pilot, "enter")
        assert app.pane.NAME == "log" and said(app) == "No terminal; showing its log."
        assert app.pane.filter_bar.text.startswith("agent:")
        await settle(pilot, "k")
        assert "q Quit" not in lines(app)[-1] and "Esc Back" in lines(app)[-1]
        await settle(pilot, "enter", "escape")
        assert app.pane.NAME == "log" and not app.pane.is_open
        await settle(pilot, "escape")
        assert isinstance(app.screen, AgentsScreen) and app.screen.window.cursor == cursor
        await settle(pilot, "enter", "q")
        assert isinstance(app.screen, AgentsScreen)
        await settle(pilot, "escape", "3")
        assert "agent:" not in shown(app)
        await settle(pilot, "escape")
        assert app.navigation.pane_name == "log" and len(app.screen_stack) == 1


@pytest.mark.parametrize("filtered", [False, True])
async def test_on_a_small_screen_which_has_no_tabs_the_rule_above_the_entries_names_the_log(plan, make_app, filtered):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, *(["/", *"tests", "enter"] if filtered else []))
        assert any(line.startswith("─ Log ") for line in lines(app))
