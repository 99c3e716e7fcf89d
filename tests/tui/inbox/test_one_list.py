"""One list of what needs the human: the rows above the panes, the counts, the inbox and `!` have the same, in order."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.tui.driving import (
    above,
    by_agent,
    counts_line,
    kill_after_its_lease,
    lines,
    needs_rows,
    opened,
    press,
    said,
    settle,
    shown,
    until,
)
from tests.tui.inbox.test_inbox_lines import every_kind, in_list
from tests.tui.plan import MINUTE, NOW, SECOND, Plan, connect
from tests.tui.widgets.test_head_lines import fail_a_job, leave
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.asks import AnswerAsk, NoteStuck, OpenAsk
from tui_tasks.core.operations.jobs import CreateJob, FinishRun, NoteRunAgent, RunJob
from tui_tasks.core.operations.tasks import AddTask, ClaimTask, EditTask, EnsureList, LapseClaims, LogTask
from tui_tasks.core.operations.work import FailWork, RunWork, StartWork
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.tui.agents.agents_screen import AgentsScreen
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.needs import open_needs
from tui_tasks.tui.needs.agent_entries import AgentEntries
from tui_tasks.tui.needs.open_needs import Kind, Need, Needs, counted, tally
from tui_tasks.tui.schedule.run_view import RunView

__all__ = ("every_kind",)


def answer_all(plan: Any) -> None:
    with Store(plan.path, read_only=True) as store:
        asks = ask_queries.open_asks(store.db)
    by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in asks))


@pytest.fixture
def everything(every_kind):
    """All that can need the human at once: also a lapsed claim, a failed and a late job, a late task."""
    kill_after_its_lease(every_kind, "alpha", every_kind[8])
    fail_a_job(every_kind, "nightly")
    late = CreateJob("drill", "planned", "", "go", timezone="Europe/Berlin", plan=("2026-11-21T20:00:00",))
    by_agent(every_kind, "claude-1", late, now=NOW - 30 * MINUTE)
    (rent,) = by_agent(every_kind, "human", AddTask("Pay the rent", every_kind.list_uid))
    by_agent(every_kind, "human", EditTask(rent.uid, {"due": "2026-11-01"}))
    return every_kind


def keys_of(app) -> list[str]:
    return [need.key for need in Needs(app.context).all()]


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_back_from_a_task_opened_in_the_inbox_and_from_there_ends_where_the_human_was_before(
    plan, make_app, pane
):
    (there,) = by_agent(plan, "claude-1", AddTask("Far away", new_list=EnsureList("Other", "task")))
    by_agent(plan, "claude-1", EditTask(there.uid, {"status": "in_progress"}), OpenAsk("May I?", task_uid=there.uid))
    app = make_app(plan.path, pane=pane)
    async with opened(app, (120, 40)) as pilot:
        here = next(home.id for home in app.state.lists.values() if home.uid == plan.list_uid)
        app.context.navigation.show_list(here)
        app.pane.go_to(plan[8])
        await settle(pilot, "a", "g")
        while "May I?" not in getattr(app.screen.ask, "question", ""):
            await settle(pilot, "j")
        await settle(pilot, "enter")
        assert app.pane.target() == there.uid and app.state.list_id != here
        await settle(pilot, "escape")
        assert isinstance(app.screen, Inbox) and app.screen.ask.question == "May I?"
        await settle(pilot, "escape")
        assert (app.state.list_id, app.pane.target(), app.pane.is_inside) == (here, plan[8], False)


async def test_what_needs_the_human_is_read_once_for_all_lines_that_show_it(everything, make_app, monkeypatch):
    reads = []

    def read(entries: AgentEntries):
        reads.append(entries)
        return iter(())

    app = make_app(everything.path)
    async with opened(app, (120, 60)) as pilot:
        await settle(pilot)
        monkeypatch.setattr(AgentEntries, "in_trouble", read)
        app.context.last_needs.state = ()
        spans: list[int] = []
        found = [Needs(app.context, spans.append).all() for _ in range(3)]
        assert (len(reads), found[1:]) == (1, found[:1] * 2)
        assert len(spans) == 3  # each line is told when what it shows changes by time alone
        before = len(found[0])
        by_agent(everything, "robin", OpenAsk("Which port?"))
        await until(pilot, lambda: len(Needs(app.context).all()) == before + 1)
        read_then = len(reads)
        assert (Needs(app.context).every(), len(reads)) == (app.context.last_needs.needs, read_then)


async def test_the_inbox_lists_all_that_is_counted_above_in_the_same_order(everything, make_app):
    app = make_app(everything.path)
    async with opened(app, (120, 60)) as pilot:
        found = Needs(app.context).all()
        assert {need.kind for need in found} == set(open_needs.ALL)
        words = tally(found)
        for word in ("gone", "late", "proposed", "to review"):
            counted = rf"[▲!⇡] \S+ {word}" if words[word] == 1 and word != "proposed" else f"{words[word]} {word}"
            assert re.search(counted, counts_line(app))
        await settle(pilot, "a")
        assert [row.uid for row in app.screen.listed.rows] == [need.key for need in found]
        assert [need.order for need in found] == sorted(need.order for need in found)


def test_each_count_has_one_wording_and_all_that_failed_is_counted_together() -> None:
    assert [counted(number, "question") for number in (0, 1, 2)] == ["0 questions", "1 question", "2 questions"]
    assert [counted(2, word) for word in ("failed", "late")] == ["2 failed", "2 late"]
    failed = (Kind.AGENTS, Kind.FAILED, Kind.JOBS, Kind.CHECKS)
    words = ("failed", "failed", "failed", "check failed")
    assert tally(Need(kind, str(kind), word) for kind, word in zip(failed, words, strict=True)) == {"failed": 4}


@pytest.mark.parametrize(("size", "words"), [((80, 12), ["2 failed"]), ((40, 12), ["2"])])
async def test_a_failed_check_is_no_question_on_a_small_screen(plan, make_app, checks, report, size, words):
    answer_all(plan)
    report(plan[6], "failed")
    async with opened(make_app(plan.path), size) as pilot:
        assert re.findall(r"✗ (\d[a-z ]*?)(?=  |$)", lines(pilot.app)[0]) == words


def test_questions_of_one_instant_stand_in_the_order_of_the_inbox() -> None:
    asks = [Ask(at, uid, "a", "Which?", (), None, NOW, None, "open", None, None) for at, uid in enumerate("cab")]
    needs = [Need(Kind.ASKS, ask.uid, "question", ask.opened_at, row=ask) for ask in reversed(asks)]
    assert [need.row for need in sorted(needs, key=lambda need: need.order)] == sorted(asks, key=ask_queries.by_age)


def test_failures_in_one_row_are_as_old_as_the_newest_of_them():
    needs = [Need(Kind.FAILED, uid, "failed", at, uid, row=uid) for at, uid in enumerate("abc", NOW)]
    (one,) = open_needs.grouped(needs, lambda need: "no such host")
    assert (one.at, one.count, [part.at for part in one.parts]) == (NOW + 2, 3, [NOW, NOW + 1, NOW + 2])


async def test_the_next_key_goes_round_all_of_it_in_that_order(everything, make_app):
    app = make_app(everything.path)
    async with opened(app, (120, 60)) as pilot:
        wanted = list(dict.fromkeys(need.target for need in Needs(app.context).all()))
        went = []
        for _ in range(len(wanted) + 1):
            await press(app, pilot, "exclamation_mark")
            if isinstance(app.screen, Inbox):
                went.append(app.screen.window.cursor)
            elif app.navigation.pane_name == "schedule":
                went.append(app.pane.line.job.name)
            else:
                went.append(app.pane.target())
        assert went == [*wanted, wanted[0]]


async def test_an_agent_that_is_gone_with_a_lapsed_claim_stands_above_in_the_inbox_and_on_the_way_of_the_next_key(
    plan, make_app
):
    kill_after_its_lease(plan, "alpha", plan[8])
    answer_all(plan)
    by_agent(plan, "claude-2", EditTask(plan[3], {"status": "done"}))
    app = make_app(plan.path)
    async with opened(app) as pilot:
        assert re.search(r"▲ #8  gone: Backup restore drill, its claim lapsed +alpha +6m", above(app))
        await press(app, pilot, "exclamation_mark")
        assert app.pane.target() == plan[8] and said(app).startswith("1 of 1: #8 gone: Backup")
        await press(app, pilot, "a")
        (row,) = in_list(app)
        assert re.search(r"▲ #8  Backup restore drill: alpha is gone, its claim lapsed +alpha +6m", row)
        await until(pilot, lambda: "\n alpha is gone: left " in shown(app))
        assert "Give back" not in lines(app)[-1]
        await settle(pilot, "s")
        assert said(app).startswith("Nothing to give back: #8 ") and app.screen_stack[-1] is app.screen


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_a_failed_task_is_a_row_of_the_inbox_with_its_reason_and_a_key_for_its_status(plan, make_app, size):
    answer_all(plan)
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        await settle(pilot, "a")
        assert "test_dst_gap" in shown(app) and "claude-2 set it failed 17m ago" in shown(app)
        assert "s Status" in lines(app)[-1] and "W Work" in lines(app)[-1]
        await settle(pilot, "s", "p")
        task = task_queries.task(app.link.db, plan[3])
        assert (task.status, task.agent) == ("pending", None)
        await until(pilot, lambda: not app.screen.listed.rows)


async def test_enter_on_a_failed_task_shows_it_in_its_list(plan, make_app):
    answer_all(plan)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "a", "enter")
        assert not isinstance(app.screen, Inbox) and app.pane.target() == plan[3]


async def test_on_a_failed_task_a_key_writes_to_its_agent_and_the_one_for_questions_names_the_key_that_dismisses(
    plan, make_app
):
    answer_all(plan)
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await settle(pilot, "a", "z")
        assert said(app) == "z is for questions: . dismisses this row."
        await settle(pilot, "m")
        assert "Message to claude-2" in shown(app)
        await settle(pilot, "escape")
        by_agent(plan, "human", EditTask(plan[3], {"status": "pending"}), EditTask(plan[8], {"status": "failed"}))
        await until(pilot, lambda: "#8" in app.screen.listed.rows[0].number)
        await settle(pilot, "m")
        assert said(app) == "No agent is under the cursor." and "m Message" not in lines(app)[-1]


async def test_a_failed_job_is_a_row_that_runs_it_again_and_shows_its_runs(plan, make_app):
    answer_all(plan)
    by_agent(plan, "claude-2", EditTask(plan[3], {"status": "done"}))
    fail_a_job(plan, "nightly")
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "a")
        assert re.search(r"✗ S1  nightly: no paper", shown(app)) and "r Run now" in lines(app)[-1]
        await settle(pilot, "r")
        assert said(app) == "Started “nightly”; Enter shows its output."
        await settle(pilot, "enter")
        assert isinstance(app.screen, RunView)


async def test_a_task_that_failed_with_a_job_says_why_the_job_did_and_leaves_its_row_when_it_is_hidden(plan, make_app):
    answer_all(plan)
    by_agent(plan, "claude-2", EditTask(plan[3], {"status": "done"}))
    with Store(plan.path) as store:
        (job,) = store.commit(CreateJob("Nightly audit", "adhoc", "", "Go", "UTC"), actor="human", now=NOW - MINUTE)
        (run,) = store.commit(RunJob(job.uid), actor="human", now=NOW - MINUTE)
        store.commit(NoteRunAgent(run.uid, "claude-1", "s-1"), actor="system", now=NOW - MINUTE)
        failed = EditTask(plan[8], {"status": "failed"}), LogTask(plan[8], "no tape")
        store.commit(*failed, actor="claude-1", now=NOW - 3 * SECOND)
        store.commit(FinishRun(run.uid, "error", "out of tokens"), actor="claude-1", now=NOW - 2 * SECOND)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "a")
        assert [row.number for row in app.screen.listed.rows] == ["#8"]
        assert "no tape" in shown(app) and "job Nightly audit failed: out of tokens" in shown(app)
        await settle(pilot, ".")
        await until(pilot, lambda: [row.number for row in app.screen.listed.rows] == ["S1"])
        assert "✗ S1  Nightly audit: out of tokens" in shown(app)
        await settle(pilot, ".")
        await until(pilot, lambda: not app.screen.listed.rows)


NEEDS = ["failed", "job", "late job", "gone", "lapsed", "stuck", "late task"]


def leave_only(plan: Plan, what: str) -> None:
    """Leave nothing else that needs the human."""
    answer_all(plan)
    if what != "failed":
        by_agent(plan, "claude-2", EditTask(plan[3], {"status": "done"}))
    if what == "job":
        fail_a_job(plan, "nightly")
    elif what == "late job":
        late = CreateJob("drill", "planned", "", "go", timezone="Europe/Berlin", plan=("2026-11-21T20:00:00",))
        by_agent(plan, "human", late, now=NOW - 30 * MINUTE)
    elif what == "gone":
        leave(plan, "claude-1")
    elif what == "lapsed":
        kill_after_its_lease(plan, "alpha", plan[8])
    elif what == "stuck":
        by_agent(plan, "system", NoteStuck("claude-1", "failure", "the same failure 3 times", NOW))
    elif what == "late task":
        by_agent(plan, "claude-2", EditTask(plan[8], {"due": "2026-11-01"}))


# On the wide screen, one for each place that Enter leads to.
ROWS = [*((what, (80, 24)) for what in NEEDS), ("failed", (120, 40)), ("job", (120, 40)), ("stuck", (120, 40))]


@pytest.mark.parametrize(("what", "size"), ROWS)
async def test_enter_shows_a_row_in_full_and_esc_leads_back_to_it_from_every_pane(plan, make_app, what, size):
    leave_only(plan, what)
    by_agent(plan, "claude-2", EditTask(plan[1], {"status": "failed"}), now=NOW - MINUTE)
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        for key, pane in (("1", "list"), ("2", "board"), ("3", "log")):
            await settle(pilot, key, "a")
            wanted = next(uid for uid in keys_of(app) if uid != f"task:{plan[1]}")
            app.screen.window.move_to(wanted)
            await settle(pilot, "enter")
            if what in ("job", "late job"):
                assert isinstance(app.screen, RunView)
            elif what == "stuck":
                assert isinstance(app.screen, AgentsScreen) and app.screen.window.cursor == "claude-1"
            else:
                assert len(app.screen_stack) == 1
                assert app.pane.is_inside or (app.pane.NAME == "board" and app.pane.is_open)
                assert app.pane.target() in wanted
            await settle(pilot, "escape")
            assert isinstance(app.screen, Inbox) and app.screen.window.cursor == wanted
            await settle(pilot, "escape")
            assert len(app.screen_stack) == 1 and pane == app.pane.NAME and not app.pane.is_inside
            await settle(pilot, "escape")
            assert len(app.screen_stack) == 1


@pytest.mark.parametrize("keys", [("escape",), ("escape", "escape"), ("1",)])
async def test_what_was_typed_in_the_inbox_is_kept_where_another_row_is_opened_in_full(plan, make_app, keys):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "a", "m", *"half", "escape", "G", "enter", *keys)
        if not isinstance(app.screen, Inbox):
            await settle(pilot, "a")
        await settle(pilot, "g", "m")
        assert "half" in shown(app)


async def test_the_way_back_to_the_inbox_ends_where_the_human_goes_to_another_task(plan, make_app):
    leave_only(plan, "failed")
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        await settle(pilot, "a", "enter")
        assert app.pane.is_inside
        app.pane.row_list.move_to(plan[5])
        await settle(pilot, "escape", "escape")
        assert len(app.screen_stack) == 1


@pytest.mark.parametrize("what", NEEDS)
async def test_the_key_for_seen_dismisses_a_row_everywhere_until_undo_brings_it_back(plan, make_app, what):
    leave_only(plan, what)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        before = keys_of(app)
        assert len(before) == 1
        counts = counts_line(app).split(" • ")[0].split("   •")[0]
        changes = counts_line(app).partition("• ")[2]
        await settle(pilot, "a")
        assert ". Dismiss" in lines(app)[-1]
        await settle(pilot, "full_stop")
        assert keys_of(app) == [] and not app.screen.listed.rows
        assert said(app).startswith("Dismissed: ") and said(app).endswith(" u brings it back.")
        failed = "failures dismissed" if what in ("failed", "job") else "0 failed"
        assert counts_line(app).startswith(f" ? 0 questions   ▲ 0 stuck or gone   ✗ {failed}   • ")
        gone = {"failed": "failed #3, ", "job": "failed S1, ", "late job": "late S1, "}.get(what, "")
        assert counts_line(app).endswith(changes.replace(gone, "")), "nothing else is marked as seen"
        await settle(pilot, "u")
        assert re.match(r"\S.* is back\. u again undoes", said(app)) and "failures" not in said(app)
        assert keys_of(app) == before and counts_line(app).startswith(counts)
        await settle(pilot, "full_stop")
    again = make_app(plan.path)
    async with opened(again):
        assert keys_of(again) == [], "it stays hidden"


def crash_on(plan, uid: str, agents: int = 1) -> None:
    """So many agents are started on a task, and fail."""
    works = []
    for number in range(agents):
        start = StartWork(uid, "robot", "/repo", f"/trees/{number}", branch=f"task/{number}", is_race=number > 0)
        works += by_agent(plan, "human", start)
        by_agent(plan, "system", RunWork(works[-1].uid))
    for work in works:
        by_agent(plan, "system", FailWork(work.uid, f"{work.agent} was killed"))


async def test_a_task_that_failed_in_several_ways_is_one_row_and_counts_once_on_every_screen(plan, make_app):
    answer_all(plan)
    crash_on(plan, plan[5])
    by_agent(plan, "bob", EditTask(plan[5], {"status": "failed"}), LogTask(plan[5], "host unreachable"))
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await settle(pilot)
        failed = [need.task for need in Needs(app.context).all() if need.counted_as == "failed"]
        assert sorted(failed) == sorted([plan[3], plan[5]])
        assert "✗ 2 failed" in counts_line(app) and "2 failed" in shown(app).partition("tasks")[2]
        for key in "aDAS":
            await settle(pilot, key)
            assert "✗ 2 failed" in counts_line(app), key
            await settle(pilot, "escape")
        await settle(pilot, "a", "G", "full_stop")
        hidden = {plan[3], plan[5]} - {need.task for need in Needs(app.context).all()}
        assert len(hidden) == 1 and "✗ 1 failed" in counts_line(app)
        await settle(pilot, "escape", "D")
        assert "✗ 1 failed" in counts_line(app) and re.search(r"· #\d  dismissed", shown(app))


async def test_tab_takes_failed_tasks_and_jobs_for_one_part(everything, make_app):
    app = make_app(everything.path)
    async with opened(app, (120, 60)) as pilot:
        words = []
        await settle(pilot, "a")
        for _ in range(9):
            line = app.screen.listed.get(app.screen.window.cursor)
            words.append("question" if isinstance(line, Ask) else line.need.word)
            await settle(pilot, "tab")
    turn = words[: words.index("question", 1)]
    assert len(set(turn)) == len(turn) and {"failed", "late", "to review", "proposed"} <= set(turn)


async def test_a_failed_agent_counts_above_the_panes_of_a_small_screen_as_everywhere(plan, make_app):
    answer_all(plan)
    crash_on(plan, plan[8])
    app = make_app(plan.path)
    async with opened(app, (40, 12)) as pilot:
        await settle(pilot)
        assert "✗ 2" in lines(app)[0]
        await settle(pilot, "A")
        assert "✗ 2" in lines(app)[0]
        await settle(pilot, "escape", "D")
        assert "✗ 2 failed" in lines(app)[1]


async def test_the_last_of_several_agents_that_failed_on_a_task_has_its_row(plan, make_app):
    answer_all(plan)
    crash_on(plan, plan[8], agents=2)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot)
        assert [need.agent for need in Needs(app.context).all() if need.task == plan[8]] == ["robot-2"]


@pytest.mark.parametrize(
    ("what", "word"), [("late job", "late"), ("late task", "late"), ("stuck", "stuck"), ("gone", "gone")]
)
async def test_the_key_for_seen_says_of_what_stays_though_seen_which_key_dismisses_it(plan, make_app, what, word):
    leave_only(plan, what)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "full_stop")
        stays = f"1 {word} row stays; . in the inbox dismisses it."
        assert said(app) == f"All marked as seen. u brings the marks back. {stays}"
        await settle(pilot, "full_stop")
        assert said(app).endswith(stays) and len(keys_of(app)) == 1
        await settle(pilot, "a", "full_stop", "escape", "full_stop")
        assert keys_of(app) == [] and "stays" not in said(app)


async def test_what_was_hidden_comes_back_when_it_fails_again(plan, make_app):
    answer_all(plan)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "a", "full_stop")
        assert keys_of(app) == []
        by_agent(plan, "claude-2", EditTask(plan[3], {"status": "in_progress"}), now=NOW + SECOND)
        by_agent(plan, "claude-2", EditTask(plan[3], {"status": "failed"}), now=NOW + 2 * SECOND)
        await until(pilot, lambda: keys_of(app) == [f"task:{plan[3]}"])


async def test_keys_that_mark_say_that_they_need_a_held_task_and_the_help_offers_none(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "a", "v")
        assert said(app) == "Only held tasks can be marked."
        await settle(pilot, "V")
        assert said(app) == "Only held tasks can be marked, and none is here."
        await settle(pilot, "question_mark", *"mark")
        await settle(pilot)
        assert re.search(r"Mark the task +Only held tasks can be marked\.", shown(app))
        assert re.search(r"V  .* none is here\.", shown(app))


async def test_on_a_question_the_key_for_seen_marks_everything_as_seen(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "a", "full_stop")
        assert said(app).startswith("All seen; ")
        assert len(app.screen.listed.rows) == 3


async def test_in_few_rows_stands_the_first_of_each_kind(plan, make_app):
    by_agent(plan, "claude-1", OpenAsk("Which port?"), OpenAsk("Which host?"))
    leave(plan, "claude-1")
    app = make_app(plan.path)
    async with opened(app, (120, 20)):
        rows = [" ".join(line.split()) for line in needs_rows(app)]
        assert any(row.startswith("• ▲ #5 gone: Ship auth flow claude-1") for row in rows), rows
        assert any(row.startswith("• ✗ #3 Fix flaky DST test: ") for row in rows) and " + " not in rows[-1], rows
        assert counts_line(app).startswith(" ? 4 questions   ▲ claude-1 gone   ✗ 1 failed ")


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 160])
async def test_the_agent_of_a_question_stands_beside_it_unless_its_words_need_the_room(plan, make_app, width):
    by_agent(plan, "claude-1", OpenAsk(f"{'May I drop the old table? ' * 9}Yes or no?", (), plan[5]))
    async with opened(make_app(plan.path), (width, 40)) as pilot:
        rows = [line for line in above(pilot.app).splitlines() if re.match(r" • \? #\d", line)]
        assert len(rows) == 3
        assert all(
            re.search(r" claude-[12] +(9m|4m|now)$", row) for row in rows if width >= (72 if "Approve" in row else 120)
        )


async def test_a_failed_task_names_who_worked_on_it_in_the_list_above_it_and_in_the_inbox(plan, make_app):
    by_agent(plan, "claude-9", EditTask(plan[8], {"status": "in_progress"}))
    by_agent(plan, "claude-9", EditTask(plan[8], {"status": "failed"}))
    app = make_app(plan.path)
    async with opened(app) as pilot:
        rows = [line for line in lines(app)[2:] if re.search("✗ (#8|Backup)", line)]
        assert len(rows) == 2 and all("claude-9" in row for row in rows)
        await settle(pilot, "a")
        (row,) = (line for line in lines(app) if "✗ #8" in line)
        assert "claude-9" in row


async def test_a_task_that_another_set_failed_names_both_who_set_it_and_who_worked_on_it(plan, make_app):
    by_agent(plan, "system", EditTask(plan[5], {"status": "failed"}))
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await press(app, pilot, "a", "G")
        assert "system set it failed now, claude-1 had worked on it" in shown(app)


async def test_how_long_ago_something_was_stays_true_in_the_detail_of_a_row(plan, make_app):
    by_agent(plan, "claude-1", EditTask(plan[8], {"status": "failed"}), now=NOW - 90 * SECOND)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await press(app, pilot, "a", "G")
        assert "claude-1 set it failed 1m ago" in shown(app)
        assert app.screen._asked.span_us == 30 * SECOND, "it is drawn again when that is no longer true"


@pytest.mark.parametrize("status", ["done", "in_progress"])
async def test_an_agent_whose_requests_are_refused_since_its_claim_lapsed_is_stuck_until_another_has_its_task(
    plan, make_app, status
):
    by_agent(plan, "alpha", ClaimTask("alpha", 60 * SECOND, plan[8]), now=NOW - 400 * SECOND)
    with Store(plan.path) as store:
        connect(store, "alpha")
        by_agent(plan, "system", LapseClaims(), now=NOW - 300 * SECOND)
        with store.db.transaction(write=True):
            connections.put_sign(store.db, "alpha", NOW - 10 * SECOND)
    answer_all(plan)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        assert re.search(r"▲ +stuck: its claim on #8 lapsed 5m ago +alpha +5m", above(app))
        assert "alpha stuck" in counts_line(app)
        await press(app, pilot, "a")
        assert "its claim on #8" in in_list(app)[0] and "in progress" not in shown(app).partition("Fix flaky")[0]
        await press(app, pilot, "A")
        assert re.search(r"▲ alpha +stuck 5m +its claim on #8 lapsed", shown(app))
        by_agent(plan, "beta", EditTask(plan[8], {"status": status}), now=NOW)
        await until(pilot, lambda: re.search(r"alpha +idle", shown(app)) and "its claim on #8" not in shown(app))
        assert "alpha stuck" not in counts_line(app)
