"""The inbox at a glance: what stands above it, its order, its columns, and the rows that each entry gets."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.tui.driving import SIZES, above, agents_line, below, by_agent, counts_line, lines, settle, shown, until
from tests.tui.plan import NOW, SECOND
from tests.tui.work.reviewing import begin
from tui_tasks.core.agent_snapshots import Ask, Process
from tui_tasks.core.operations.asks import AnswerAsk, NoteStuck, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EditTask, LogTask, SetListReview
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections

LONG = "The store keeps a token for each session. " * 4 + "Which store is it to be in the end?"
OUTPUT = "tests/test_auth.py F.\nE   AssertionError: 401 is not 200\n1 failed\n"


@pytest.fixture
def every_kind(plan, report, keys_repository):
    """One of each kind that the inbox lists, beside the two questions of the plan."""
    report(plan[6], "failed", OUTPUT)
    with Store(plan.path) as store:
        store.commit(SetListReview(plan.list_uid, True), actor="human", now=NOW)
        store.commit(AddTask("Rewrite it in Rust", plan.list_uid), actor="codex-12", now=NOW)
        store.commit(NoteStuck("watcher", "failure", "the same failure 3 times", NOW), actor="system", now=NOW)
        with store.db.transaction(write=True):
            connections.end(store.db, "claude-1", Process(), NOW)
    begin(plan, 9, keys_repository("task/9-rotate-keys"), branch="task/9-rotate-keys")
    return plan


def in_list(app) -> list[str]:
    """The lines of the list, up to the rule below it and what is empty above that."""
    found = [*itertools.takewhile(lambda line: not line.startswith(("──", "─ ")), below(app))]
    return found if found[-1].strip() else found[:-1]


async def test_kinds_stand_in_the_order_of_their_urgency(every_kind, make_app):
    app = make_app(every_kind.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        kinds = [getattr(row, "kind", "ask") for row in app.screen.listed.rows]
        assert list(dict.fromkeys(kinds)) == ["ask", "left", "failed", "task", "work", "held"]


@pytest.mark.parametrize("size", [(120, 40), (80, 26)])
async def test_number_text_agent_and_age_of_all_kinds_stand_in_the_same_columns(every_kind, make_app, size):
    app = make_app(every_kind.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a")
        rows = [line for line in in_list(app) if "#" in line[:7]]
        assert len(rows) == len(app.screen.listed.rows)
        assert {line.index("#") for line in rows} == {5}
        titles = (
            "jose is",
            "Approve:",
            "Ship auth",
            "Write integration" if size[0] > 80 else "tests failed: AssertionError",
            "Fix flaky",
            "Old cookie",
            "new task? Rewrite",
        )
        assert {line.index(title) for line, title in zip(rows, titles, strict=True)} == {10}
        names = ["claude-1", "claude-2", "claude-1", "claude-1", "claude-2", "robot-1", "codex-12"]
        if size[0] == 80:  # whose text is whole without a name has none
            assert re.search("expected 02:30, got 03:30 +17m$", rows[4]), rows[4]
            assert rows[0].endswith("Which one?"), "its words come before its agent and its age"
            del rows[4], names[4], rows[0], names[0]
        assert len({line.rindex(name) for line, name in zip(rows, names, strict=True)}) == 1
        assert len({len(line) for line in rows}) == 1, "ages end in one column"


async def test_each_entry_has_the_rows_it_needs_while_rows_are_free(every_kind, make_app):
    with Store(every_kind.path) as store:
        store.commit(OpenAsk(LONG, ("memory", "disk")), actor="codex-1", now=NOW)
    app = make_app(every_kind.path)
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot, "a")
        await until(pilot, lambda: "src/keys.py" in "".join(in_list(app)))
        text = " ".join(" ".join(in_list(app)).split())
        assert "it to be in the end?" in text, "the question whole"
        assert "memory or disk" not in text, "its detail alone has the answers"
        assert "tests failed: AssertionError: 401 is not 200" in text, "why the check has failed"
        assert "M src/keys.py +3 -1 M tests/test_keys.py +4" in text, "the files of work to review"


async def test_on_a_low_screen_what_an_entry_is_about_stands_in_one_line_and_whole_in_its_detail(plan, make_app):
    with Store(plan.path) as store:
        store.commit(OpenAsk(LONG), actor="codex-1", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "j", "j")
        assert len(in_list(app)) == len(app.screen.listed.rows) == 4
        rows = "\n".join(in_list(app))
        assert re.search(r">• \? +The store .*… .*in the end\?$", rows, re.MULTILINE), rows
        assert "it to be in the end?" in shown(app).partition("asks now")[2]


async def test_on_a_low_screen_a_question_that_two_agents_ask_keeps_their_names(plan, make_app):
    alike = "Drop the table users_old with its 1.2 million rows for ever?"
    with Store(plan.path) as store:
        for agent, words in (("codex-1", alike), ("codex-2", alike), ("codex-3", alike.replace("old", "new"))):
            store.commit(OpenAsk(words), actor=agent, now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        rows = "\n".join(in_list(app))
        assert all(f"codex-{number}  " in rows for number in (1, 2)) and "codex-3" not in rows, rows


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_entries_keep_their_lines_and_places_while_the_cursor_moves(every_kind, make_app, size):
    with Store(every_kind.path) as store:
        store.commit(OpenAsk(LONG, ("memory", "disk")), actor="codex-1", now=NOW)
    app = make_app(every_kind.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a")
        places = app.screen.window.row_heights()
        before = [line[:9] for line in in_list(app)]
        for _ in app.screen.listed.rows:
            await settle(pilot, "j")
            assert app.screen.window.row_heights() == places
            assert [line[:9].replace(">", " ") for line in in_list(app)] == [line.replace(">", " ") for line in before]


@pytest.mark.parametrize("size", [*SIZES, (80, 16), (120, 20)])
async def test_of_every_entry_the_text_and_choices_are_on_screen_or_it_says_that_more_is_below(
    every_kind, make_app, size
):
    with Store(every_kind.path) as store:
        store.commit(OpenAsk(6 * LONG, ("memory", "disk")), actor="codex-1", now=NOW)
    app = make_app(every_kind.path)
    told = set()
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a")
        for _ in app.screen.listed.rows:
            scroll = app.screen._both.scroll
            while scroll.scroll_y < scroll.max_scroll_y:
                assert "more below ^d" in shown(app)
                told.add(True)
                await settle(pilot, "ctrl+d")
            assert "more below" not in shown(app)
            assert not app.screen.window.size.height or app.screen.window.cursor in [
                row.uid for row in app.screen.window.rows_on_screen
            ]
            await settle(pilot, "j")
    assert told or size[1] > 30


async def test_an_inbox_of_many_entries_has_a_line_for_each(plan, make_app):
    with Store(plan.path) as store:
        for number in range(40):
            store.commit(OpenAsk(f"Number {number}?"), actor=f"robot-{number}", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        assert len(in_list(app)) == 9 and all("?" in line[:4] for line in in_list(app))


@pytest.mark.parametrize("size", SIZES)
async def test_above_the_inbox_stands_how_the_agents_are_and_what_has_failed_is_listed_in_it(plan, make_app, size):
    with Store(plan.path) as store:
        store.commit(NoteStuck("claude-1", "failure", "the same failure 3 times", NOW), actor="system", now=NOW)
        for ask in ask_queries.open_asks(store.db):
            store.commit(AnswerAsk(ask.uid, "yes"), actor="human", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a")
        above = "\n".join(lines(app)[:4])
        assert "claude-1" in above and "✗ 1" in above
        if size[0] >= 60:
            assert re.match(" Inbox {4,}.*next #", lines(app)[0])
            assert re.search(" [?] 0 (asks|questions) +▲ claude-1 stuck +✗ 1 failed +•", counts_line(app))
            assert agents_line(app).startswith(" ▲ claude-1 stuck #5")
            assert any(re.match(r" . ✗ #3  .*test_dst_gap: expected 02:30", line) for line in in_list(app))


async def test_the_inbox_says_how_many_tasks_have_changed_since_the_human_looked(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        assert counts_line(app).endswith("since 19:58: failed #3, asked #4 #7, started #5")
        assert len(app.state.seen.new) == 4


async def test_the_foot_has_what_can_be_done_with_the_entry_first(every_kind, make_app):
    app = make_app(every_kind.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        assert lines(app)[-1].startswith(" 1-2 Choose  m Reply")
        assert "Tab Next kind" in lines(app)[-1] and lines(app)[-1].endswith("? Help")
        await settle(pilot, "tab")
        assert lines(app)[-1].startswith(" s Give back  m Message")
        await settle(pilot, "tab")
        assert lines(app)[-1].startswith(" r Run again  s Done anyway")


async def test_a_failure_that_has_one_line_gives_its_reason_the_room_of_the_name(every_kind, make_app):
    by_agent(every_kind, "claude-2", EditTask(every_kind[3], {"name": "Fix the flaky test of the change of clocks"}))
    by_agent(every_kind, "claude-2", OpenAsk("Which one?"))
    app = make_app(every_kind.path)
    async with app.run_test(size=(80, 23)) as pilot:
        await settle(pilot, "a", "j")
        (line,) = (line for line in in_list(app) if " #3 " in line)
        assert line.split("#3")[1].strip().startswith("test_dst_gap: expected 02:30, got 03:30 "), shown(app)


async def test_the_age_in_the_rule_below_the_rows_goes_on_with_that_of_the_row(plan, make_app):
    by_agent(plan, "claude-3", OpenAsk("Which port?\n  - 80\n  - 81"), now=NOW - 5 * SECOND)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "j", "j")
        await until(pilot, lambda: "? asks 5s" in shown(app))
        assert "Which port? · - 80 · - 81 " in shown(app), "its lines in one, without their indents"
        app.context.clock.now = lambda: NOW + 3 * SECOND
        await until(pilot, lambda: "? asks 8s" in shown(app))


async def test_below_a_question_stands_what_its_agent_did_lately(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        below = shown(app).split("claude-1 lately")[1]
        assert "20:15  #5  running tests 14/22" in below


async def test_questions_stand_in_one_order_above_the_panes_in_the_inbox_and_in_the_digest(plan, make_app):
    asks = [("codex-1", 50), ("claude-2", 40), ("codex-1", 30), ("claude-1", 20)]
    with Store(plan.path) as store:
        for number, (who, seconds) in enumerate(asks):
            store.commit(OpenAsk(f"Question {number}?"), actor=who, now=NOW - seconds * 1_000_000)
        store.commit(OpenAsk("Question 4?"), OpenAsk("Question 5?"), actor="codex-1", now=NOW - 10_000_000)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 60)) as pilot:
        found = []
        for key in ("1", "a", "D"):
            await settle(pilot, key)
            shown_ = above(app).splitlines() if key == "1" else lines(app)
            rows = [line for line in shown_ if line[:5].strip("> •").startswith("?")]
            found.append([word for row in rows for word in re.findall(r"jose is|Approve|Question \d", row)[:1]])
            await settle(pilot, *(["escape"] if key != "1" else []))
    assert found[0] == ["jose is", "Approve", *(f"Question {number}" for number in range(6))]
    assert found[1] == found[0] and found[2] == found[0]


async def test_no_question_moves_when_an_agent_begins_to_wait_for_its_answer(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        before = [row.uid for row in app.screen.listed.rows if isinstance(row, Ask)]
        with Store(plan.path) as store, store.db.transaction(write=True):
            connections.end(store.db, "claude-1", Process(), NOW)
        await until(pilot, lambda: "claude-1" not in {one.name for one in app.state.members if one.is_there})
        assert [row.uid for row in app.screen.listed.rows][: len(before)] == before


async def test_the_detail_of_a_proposal_has_its_name_once_and_its_keys(every_kind, make_app):
    app = make_app(every_kind.path)
    async with app.run_test(size=(80, 23)) as pilot:
        await settle(pilot, "a")
        app.screen.window.move_to(next(row.uid for row in app.screen.listed.rows if "held" in row.uid))
        await settle(pilot)
        detail = below(app)[len(in_list(app)) :]
        assert re.match(r"─ #10 Rewrite it in Rust · codex-12 ─+ ◇ proposed now ─$", detail[0])
        assert detail[1] == f"{'':11}y Accept   x Decline"


async def test_below_what_is_decided_stand_the_task_of_the_agent_and_the_log_where_there_is_room(plan, make_app):
    by_agent(plan, "claude-2", LogTask(plan[3], "looked at the clock"))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        detail = shown(app).partition("─ #4 Pick JWT lib")[2]
        assert re.search(r"claude-1 lately\n.*#5 Ship auth flow\n +JWT middleware", detail, re.DOTALL)
        await settle(pilot, "j", "j")
        detail = shown(app).partition("─ #3 Fix flaky DST test")[2]
        assert re.search(r"Log  newest first\n +20:15  claude-2: looked at the clock\n", detail)
