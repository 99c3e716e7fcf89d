"""The fixed lines above the panes: the counts, what each agent does, what needs the human by its words."""

from __future__ import annotations

import re
import time

import pytest
from msgspec.structs import replace

from tests.conftest import Clock
from tests.hooks.playing import Player
from tests.started import DEADLINE
from tests.tui.driving import (
    SIZES,
    above,
    agents_line,
    below,
    by_agent,
    counts_line,
    kill_after_its_lease,
    lines,
    needs_rows,
    opened,
    press,
    said,
    shown,
    until,
)
from tests.tui.plan import NOW, SECOND, Plan, connect
from tests.tui.sessions import with_sessions
from tests.tui.work.test_work_screen import begun
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations import Operation, Revert
from tui_tasks.core.operations.asks import AnswerAsk, NoteStuck, OpenAsk, PauseAgent
from tui_tasks.core.operations.jobs import CreateJob, FinishRun, RecordSettings, RequestChecks, RunJob
from tui_tasks.core.operations.sessions import EndSession, RecordReport, SessionReport, TurnEnded
from tui_tasks.core.operations.tasks import (
    AddTask,
    ClaimTask,
    CreatePlan,
    DeleteTask,
    EditTask,
    LapseClaims,
    LogTask,
)
from tui_tasks.core.operations.work import RunWork, StartWork, WorkReady
from tui_tasks.core.read import ask_queries, job_queries
from tui_tasks.core.read.agents import last_words, session_queries
from tui_tasks.core.read.overview import changes_since
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections, local_values
from tui_tasks.settings.config import SessionSettings
from tui_tasks.text import safe
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.needs import changes_text
from tui_tasks.tui.needs.agent_entries import AgentEntries
from tui_tasks.tui.needs.open_needs import Needs
from tui_tasks.tui.painting import line_painter
from tui_tasks.tui.painting.styles import StyleCache
from tui_tasks.tui.state.app_state import AppState
from tui_tasks.tui.state.seen import Seen
from tui_tasks.tui.widgets.agent_line import AgentLines, agent_groups


def fail_a_job(plan: Plan, name: str) -> None:
    with Store(plan.path) as store:
        [job] = store.commit(
            CreateJob(name=name, type="adhoc", system_prompt="", prompt="go", timezone="UTC"),
            actor="claude-1",
            now=NOW,
        )
        store.commit(RunJob(job.uid), actor="human", now=NOW)
        [run] = job_queries.open_runs(store.db, job.uid)
        store.commit(FinishRun(run.uid, "error", "no paper"), actor="claude-1", now=NOW)


async def test_a_job_that_has_failed_reaches_the_now_line(app, plan):
    async with opened(app) as pilot:
        assert "✗ #3  Fix flaky" in above(app)
        fail_a_job(plan, "nightly")
        await until(pilot, lambda: "✗ S1  nightly: no paper" in above(app))


async def test_the_only_thing_that_has_failed_is_named_and_a_click_goes_there(app, plan, agent):
    agent(EditTask(plan[3], {"status": "done"}))
    fail_a_job(plan, "nightly")
    async with opened(app) as pilot:
        (line,) = (line for line in above(app).splitlines() if "S1  nightly: no paper" in line)
        assert line.endswith(" now"), "with its age"
        await pilot.click("#needs", offset=(line.index("nightly"), 1 + needs_rows(app).index(line)))
        assert app.navigation.pane_name == "schedule"


async def test_a_failure_that_was_seen_is_not_counted_and_has_its_row_again_when_it_is_not_or_another_comes(app, plan):
    async with opened(app) as pilot:
        assert "✗ #3  Fix flaky" in above(app)
        await press(app, pilot, ".", ".")
        assert "#3  Fix flaky" not in above(app) and "✗ failures dismissed" in above(app)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "? 2 questions  ▲ 0 stuck or gone  ✗ failures dismissed" in counts_line(app))
        await press(app, pilot, "u")
        assert "✗ #3  Fix flaky DST test: test_dst_gap" in above(app)
        await press(app, pilot, ".", ".")
        fail_a_job(plan, "nightly")
        await until(pilot, lambda: "✗ S1  nightly: no paper" in above(app))
        assert "✗ #3" not in above(app) and "✗ 1 failed" in above(app)


async def test_an_edit_of_a_failed_task_does_not_bring_back_its_row_that_the_human_dismissed(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, ".", ".")
        assert "#3  Fix flaky" not in above(app)
        by_agent(plan, "claude-2", EditTask(plan[3], {"name": "Fix the flaky test"}), now=NOW + SECOND)
        await until(pilot, lambda: "Fix the flaky test" in shown(app))
        assert "#3  Fix" not in above(app) and "✗ failures dismissed" in above(app)


def test_when_and_why_tasks_failed_is_read_again_only_of_one_that_was_changed_as_a_journal_may_be_long(
    plan, monkeypatch
) -> None:
    reads: list[str] = []
    for name in ("failed_at", "end_reason"):
        real = getattr(task_records, name)
        monkeypatch.setattr(task_records, name, lambda db, task, real=real: reads.append(task.uid) or real(db, task))
    by_agent(plan, "claude-2", EditTask(plan[5], {"status": "failed"}), now=NOW)
    with Store(plan.path) as store:
        state = AppState(store.db, NOW)

        def facts() -> dict[str, tuple[int, str]]:
            return {task.uid: (state.failures.at(task), state.failures.why(task)) for task in state.failures.tasks}

        def read_by(operation: Operation, now: int) -> dict[str, tuple[int, str]]:
            reads.clear()
            since = journal.newest(store.db)
            by_agent(plan, "claude-2", operation, now=now)
            changes = changes_since(store.db, since)
            assert changes is not None
            state.apply(changes, now)
            return facts()

        before = facts()
        assert before[plan[5]][0] == NOW and sorted(reads) == sorted([plan[3], plan[5]] * 2)
        said = before | {plan[5]: (NOW, "no network")}
        assert (read_by(LogTask(plan[5], "no network"), NOW + SECOND), reads) == (said, [plan[5]] * 2)
        assert read_by(EditTask(plan[5], {"status": "pending"}), NOW + SECOND) == {plan[3]: before[plan[3]]}
        again = read_by(EditTask(plan[5], {"status": "failed"}), NOW + 2 * SECOND)
        assert (again[plan[3]], again[plan[5]][0], reads) == (before[plan[3]], NOW + 2 * SECOND, [plan[5]] * 2)


async def test_where_there_is_no_room_failed_tasks_and_jobs_are_counted_together(app, plan):
    fail_a_job(plan, "nightly")
    async with opened(app, (40, 12)):
        assert "✗ 2" in lines(app)[0]


async def test_an_agent_that_waits_for_an_answer_about_its_task_is_not_shown_at_work(app, plan, agent):
    async with opened(app) as pilot:
        assert "◐ claude-1 #5" in agents_line(app)
        agent(OpenAsk("Which port?", (), plan[5]))
        await until(pilot, lambda: "claude-1 waiting" in above(app))
        assert counts_line(app).startswith(" ? 3 questions   ▲ 0 stuck or gone   ✗ 1 failed   • ")
        assert agents_line(app) == " ? claude-1 waiting #4   ? claude-2 waiting #7"
        assert re.search(r"\? #5  Which port\? +claude-1 ", above(app))


async def test_agents_that_wait_stand_in_the_order_in_which_they_asked_as_in_agents(plan, make_app):
    by_agent(plan, "zed", OpenAsk("First?", (), plan[6]), now=NOW - 2 * SECOND)
    by_agent(plan, "ada", OpenAsk("Second?", (), plan[8]), now=NOW - SECOND)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        assert agents_line(app).index("zed") < agents_line(app).index("ada")
        await press(app, pilot, "A")
        assert shown(app).rindex("zed") < shown(app).rindex("ada")


async def test_a_small_screen_names_an_agent_that_waits_where_none_is_at_work(plan, make_app, agent):
    agent(OpenAsk("Which port?", (), plan[5]))
    async with opened(make_app(plan.path), (40, 12)) as pilot:
        assert lines(pilot.app)[0].startswith(" ? claude-1  ? 3  ▲ 0  ✗ 1")


async def test_what_agents_have_deleted_is_told_beside_what_they_have_changed(app, plan, agent):
    async with opened(app) as pilot:
        assert counts_line(app).endswith("• unseen since 19:58: failed #3, asked #4 #7, started #5")
        [made] = agent(AddTask("made and gone", plan.list_uid))
        agent(DeleteTask(made.uid))
        agent(DeleteTask(plan[9]))
        await until(pilot, lambda: counts_line(app).endswith(" started #5, 1 deleted"))
        with Store(plan.path) as store:
            store.commit(Revert((journal.newest(store.db),)), actor="human", now=NOW)
        await until(pilot, lambda: counts_line(app).endswith(" started #5"))
        agent(DeleteTask(plan[9]))
        await until(pilot, lambda: "1 deleted" in counts_line(app))
        await press(app, pilot, "full_stop")
        assert "deleted" not in counts_line(app)


@pytest.mark.parametrize("cells", range(1, 24))
def test_names_that_differ_at_their_ends_are_never_cut_alike_where_that_can_be_seen(cells: int) -> None:
    shown = {safe.fit_ends(name, cells) for name in ("reviewer-alpha1", "reviewer-alpha2")}
    assert {safe.cell_len(name) for name in shown} == {cells}
    assert len(shown) == (2 if cells >= 6 else 1)


def leave(plan: Plan, *agents: str) -> None:
    with Store(plan.path) as store, store.db.transaction(write=True):
        for agent in agents:
            connections.end(store.db, agent, Process(), NOW)


ROWS = (
    (" • ? #4  jose is maintained but heavier; pyjwt is in the lockfile. Which one?", "claude-1", "9m"),
    (" • ? #7  Approve: delete the old GA property", "claude-2", "4m"),
    (" • ✗ #3  Fix flaky DST test: test_dst_gap: expected 02:30, got 03:30", "claude-2", "17m"),
)


async def test_counts_agents_questions_and_failures_each_have_their_place_above_the_pane(app):
    async with opened(app, (120, 40)):
        counts = " ? 2 questions   ▲ 0 stuck or gone   ✗ 1 failed   "
        assert counts_line(app) == f"{counts}• unseen since 19:58: failed #3, asked #4 #7, started #5"
        assert agents_line(app) == ' ? claude-2 waiting #7   ◐ claude-1 #5 Ship auth flow "running tests 14/22" asks #4'
        for line, (words, aside, waits) in zip(needs_rows(app), ROWS, strict=True):
            assert re.fullmatch(f"{re.escape(words)} +{aside} +{waits}", line)


async def test_rows_of_what_needs_the_human_stand_in_the_columns_of_the_list_below_them(app):
    async with opened(app, (120, 40)) as pilot:
        for size in ((120, 40), (100, 30), (80, 30)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            first, second, third = (line for line in needs_rows(app) if line[3] != " ")
            in_list = next(line for line in below(app) if "Migrate" in line)
            numbered = ((first, "#4"), (second, "#7"), (third, "#3"), (in_list, "#7"))
            assert {line.index(number) for line, number in numbered} == {5}
            assert second.index("Approve") == in_list.index("Migrate") == 9
            assert second.rindex("claude-2") == in_list.rindex("claude-2")
            assert {len(line) for line in (first, second, third, in_list)} == {size[0] - 1}


async def test_only_the_mark_of_a_row_is_coloured_and_number_and_agent_stand_back(app):
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, "full_stop")
        style = StyleCache.of(app).style
        for row, color in enumerate(("$state-needs-you", "$state-needs-you", "$state-failed")):
            parts = [segment for segment in app.query_one("#needs").render_line(row) if segment.text.strip()]
            mark, number, text, *cause, aside = parts
            assert mark.style.color == style(color).color
            assert {each.style.color for each in (number, aside)} == {style("$muted").color}
            assert (cause or [text])[0].style.color == style("").color, "of a failure one reads the cause"
            assert [each.text for each in cause] == ["test_dst_gap: expected 02:30, got 03:30"] * (row == 2)
            assert not cause or text.style.color == style("$muted").color


async def test_a_question_goes_on_in_the_next_free_row_beside_its_agent(app, plan, agent):
    async with opened(app, (80, 30)) as pilot:
        first, more = needs_rows(app)[:2]
        assert first == " • ? #4  jose is maintained but heavier; pyjwt is in the         claude-1    9m"
        assert more == " " * 9 + "lockfile. Which one?"
        agent(OpenAsk(f"{'May I drop the old table? ' * 2}Yes or no?", (), plan[5]))
        await until(pilot, lambda: "May I" in above(app))
        rows = needs_rows(app)
        asked = next(at for at, line in enumerate(rows) if "May I" in line)
        assert re.fullmatch(r" • \? #5  May I drop the old table\? .* Yes or no\? +now", rows[asked])


async def test_a_question_about_no_task_keeps_its_columns_and_its_agent(plan, make_app):
    by_agent(
        plan, "roamer", OpenAsk("May I look around in all of your folders, and in those of others as well, at once?")
    )
    async with opened(make_app(plan.path), (80, 30)) as pilot:
        (line,) = (line for line in above(pilot.app).splitlines() if "May I look" in line)
        assert re.fullmatch(r" • \?     May I look around.* roamer +now", line)


async def test_a_list_that_fills_the_screen_keeps_eight_rows_below_the_questions(plan, make_app):
    by_agent(plan, "human", *(AddTask(f"More {number}", plan.list_uid) for number in range(40)))
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        for size in ((120, 40), (80, 24), (60, 24), (80, 16)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            await press(app, pilot, "g")
            needs = needs_rows(app)
            assert re.search("[?] 2( questions)? +▲ 0 stuck or gone +✗ 1 failed", counts_line(app))
            assert re.match(" [?] claude-2 (waiting )?#7", agents_line(app))
            if size[1] > 16:
                assert needs[0].startswith(" • ? #4")
                assert any(line.startswith(" • ✗ #3") for line in needs), "in a row of its own"
            else:
                assert re.fullmatch(r" • \? #4 .*", needs[0]), needs
            rows = [line for line in below(app) if re.match(r".. . #\d", line)]
            assert len(rows) >= (8 if size[1] > 16 else 5)


async def test_where_there_is_one_line_it_shows_all(app):
    async with opened(app, (120, 12)) as pilot:
        counts = " ? 2 questions   ▲ 0 stuck or gone   ✗ 1 failed  "
        assert lines(app)[0].startswith(f"{counts}? claude-2 waiting #7  ◐ claude-1 ")
        assert lines(app)[-2].endswith("• failed #3, asked #4 #7, started #5")
        await pilot.resize_terminal(40, 24)
        await until(pilot, lambda: lines(app)[0].startswith(" ◐ claude-1 #5 ? claude-2 ? 2 ▲ 0 ✗ 1"))


async def test_nothing_moves_in_a_pane_while_no_question_comes_or_goes(app, plan, agent):
    async with opened(app, (80, 24)) as pilot:
        before = len(above(app).splitlines())
        agent(LogTask(plan[5], "tests 15/22"))
        await until(pilot, lambda: "tests 15/22" in agents_line(app))
        assert len(above(app).splitlines()) == before


async def test_the_command_of_a_permission_stands_above_every_pane(plan, make_app):
    app = make_app(with_sessions(plan).path)
    answer = [AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db) if ask.request is None]
    by_agent(plan, "human", *answer)
    async with opened(app, (120, 40)) as pilot:
        for size in ((120, 40), (80, 24)):
            await pilot.resize_terminal(*size)
            for pane in ("1", "2", "3", "4"):
                await press(app, pilot, pane)
                assert re.search(r"\? +Bash: rm -rf build/.*  claude-3 ", above(app)), (pane, size)
                if size == (120, 40):
                    assert "◐ claude-4" in above(app) and "◐ claude-1" in above(app), pane


async def test_an_agent_that_is_gone_stands_first_with_the_task_that_it_left_and_its_row_says_so(app, plan):
    async with opened(app, (120, 40)) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            leave(plan, "claude-1")
            await until(pilot, lambda: "▲ claude-1" in "".join(lines(app)[:3]))
            assert "◐ " not in "".join(line.partition("•")[0] for line in lines(app)[: 3 if size[0] > 60 else 1])
            if size[0] > 60:
                assert "▲ claude-1 gone" in counts_line(app)
                assert agents_line(app).startswith(" ▲ claude-1 gone #5 Ship auth")
                assert re.search(r"▲ #5  gone: Ship auth flow +claude-1 ", above(app))
            (row,) = (line for line in below(app)[1:] if line[5:7] == "#5")
            assert "▲ #5  Ship auth" in row
            assert ("claude-1 gone" if size[0] > 60 else "claude-1 g") in row
            with Store(plan.path) as store, store.db.transaction(write=True):
                connections.begin(store.db, "claude-1", Process(), NOW)
            await until(pilot, lambda: "◐ claude-1 #5" in agents_line(app) or "◐ claude-1 #5" in lines(app)[0])


async def test_an_agent_that_was_killed_is_gone_until_its_task_is_seen_though_its_claim_has_lapsed(plan, make_app):
    kill_after_its_lease(plan, "alpha", plan[8])
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            await press(app, pilot, "g")
            (row,) = (line for line in below(app)[1:] if line[5:7] == "#8")
            assert "○ #8  Backup" in row and ("alpha gone 6m" if size[0] > 60 else "alpha g") in row
            assert "▲ alpha" in lines(app)[1 if size[0] > 60 else 0]
            if size[0] > 60:
                assert "▲ alpha gone" in counts_line(app)
                assert agents_line(app).startswith(" ▲ alpha gone #8")
                assert re.search("▲ #8  gone: Backup restore drill, its claim lapsed +alpha +6m", above(app))
            await press(app, pilot, "full_stop", "full_stop")
            assert "agent alpha" in said(app)
            await press(app, pilot, "j")
            assert "alpha" not in shown(app)
            await press(app, pilot, "u")
            assert "alpha" in shown(app)


async def test_a_task_that_a_lapsed_claim_has_left_says_so_on_its_card_and_in_its_detail(plan, make_app):
    by_agent(plan, "alpha", ClaimTask("alpha", 60 * SECOND, plan[8]), now=NOW - 400 * SECOND)
    by_agent(plan, "system", LapseClaims(), now=NOW - 300 * SECOND)
    app = make_app(plan.path)
    async with opened(app, (140, 40)) as pilot:
        for key, times in (("1", 2), ("2", 1)):
            await press(app, pilot, key)
            app.navigation.go_to(plan[8])
            await until(pilot, lambda times=times: shown(app).count("alpha gone 6m") >= times)
        by_agent(plan, "beta", ClaimTask("beta", 60 * SECOND, plan[8]))
        await until(pilot, lambda: "alpha gone" not in shown(app))
        await press(app, pilot, "1")
        assert "alpha gone" not in shown(app)


async def test_a_task_whose_agent_is_gone_is_one_that_needs_attention(app, plan):
    async with opened(app) as pilot:
        leave(plan, "claude-1")
        await until(pilot, lambda: plan[5] in app.state.left)
        seen = []
        for _ in range(4):
            await press(app, pilot, "exclamation_mark")
            seen.append(app.pane.target())
        assert plan[5] in seen


async def test_the_card_of_a_task_whose_agent_is_gone_says_so(plan, make_app):
    leave(plan, "claude-1")
    app = make_app(plan.path, pane="board")
    async with opened(app):
        assert "claude-1 gone now" in shown(app)


def stop(plan: Plan, agent: str, at: int | None) -> None:
    with Store(plan.path) as store, store.db.transaction(write=True):
        connections.set_stopped(store.db, agent, Process(), at)


async def test_a_task_whose_agent_is_stopped_says_so_until_it_goes_on(plan, app):
    async with opened(app, (120, 40)) as pilot:
        for pane in ("1", "2"):
            await press(app, pilot, pane)
            assert "stuck: suspended" not in shown(app)
            stop(plan, "claude-1", NOW)
            await until(pilot, lambda: agents_line(app).startswith(" ▲ claude-1 stuck #5"))
            assert "▲ claude-1 stuck" in counts_line(app)
            assert re.search(r"▲ #5  stuck: its process is suspended.*  claude-1", above(app))
            await until(pilot, lambda: re.search(r"claude-1 stuck:?.*suspended", shown(app), re.DOTALL))
            stop(plan, "claude-1", None)
            await until(pilot, lambda: "suspended" not in shown(app))


async def test_attention_to_a_question_about_no_task_opens_the_inbox(plan, make_app):
    app = make_app(with_sessions(plan).path)
    async with opened(app) as pilot:
        by_agent(plan, "human", *(EditTask(plan[at], {"status": "done"}) for at in (3, 4, 7)))
        answers = [AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db) if ask.request is None]
        by_agent(plan, "human", *answers)
        await until(pilot, lambda: counts_line(app).startswith(" ? 1 question ") and not app.state.failed)
        await press(app, pilot, "exclamation_mark")
        assert "claude-3 wants to use Bash" in shown(app)


async def test_the_note_of_a_stranger_changes_neither_worker_nor_last_word(app, plan):
    async with opened(app) as pilot:
        by_agent(plan, "stranger", LogTask(plan[5], "STRANGERS"))
        await until(pilot, lambda: "stranger" in app.state.spoke)
        assert '◐ claude-1 #5 Ship auth flow "running tests' in agents_line(app)


async def test_a_task_of_the_human_is_no_work_of_an_agent(tmp_path, make_app):
    path = tmp_path / "t.db"
    with Store(str(path)) as store:
        (home,) = store.commit(CreatePlan("Mine"), actor="human", now=NOW)
        store.commit(AddTask("by hand", home.uid, status="in_progress"), actor="human", now=NOW)
    app = make_app(path)
    async with opened(app, (80, 24)):
        assert counts_line(app) == " ? 0 questions  ✗ 0 failed   • 0 changed"
        assert agents_line(app) == " no agent connected"


async def test_one_that_makes_single_calls_has_left_only_after_it_was_silent_for_long(plan, make_app):
    by_agent(plan, "caller", EditTask(plan[8], {"status": "in_progress"}), now=NOW - 60_000_000)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        assert plan[8] not in app.state.left
        app.context.clock.now = lambda: NOW + 3_600_000_000
        by_agent(plan, "human", LogTask(plan[1], "later"))
        await until(pilot, lambda: plan[8] in app.state.left and app.state.left[plan[8]].agent == "caller")


async def test_more_agents_than_fit_are_counted(plan, make_app):
    for number in range(12):
        with Store(plan.path) as store:
            (made,) = store.commit(AddTask(f"Job {number}", plan.list_uid), actor=f"bot-{number}", now=NOW)
            done = (EditTask(made.uid, {"status": "in_progress"}), LogTask(made.uid, f"step {number}"))
            store.commit(*done, actor=f"bot-{number}", now=NOW)
            connect(store, f"bot-{number}")
    for size in ((120, 40), (80, 24)):
        async with opened(make_app(plan.path), size) as pilot:
            rows = lines(pilot.app)[1:3]
            assert re.match(r" [?] claude-2 (waiting )?#7", rows[0]) and "◐ bot-0 #10 " in rows[-1]
            assert rows[-1].endswith(f" +{13 - rows[-1].count('◐')}")


async def test_of_many_questions_only_those_are_laid_out_that_a_screen_has_room_for(plan, make_app, monkeypatch):
    for number in range(20):
        flood = [OpenAsk(f"May I {each}? {'please ' * 1_000}") for each in range(10)]
        with Store(plan.path) as store:
            store.commit(*flood, actor=f"bot-{number}", now=NOW)
    laid_out: list[str] = []
    request_line = ask_text.request_line
    monkeypatch.setattr(
        ask_text, "request_line", lambda ask, **how: (laid_out.append(ask.uid), request_line(ask, **how))[1]
    )
    async with opened(make_app(plan.path), (120, 40)) as pilot:
        assert "? 202 questions" in counts_line(pilot.app)
        assert "✗ #3  Fix flaky" in above(pilot.app)
        assert re.search(r"✗ #3  Fix flaky [^+]* 17m\n +\d+ more: a$", above(pilot.app))
        assert len(set(laid_out)) < 60


async def test_more_late_tasks_than_are_read_are_not_told_as_that_number(tmp_path, make_app):
    path = str(tmp_path / "late.db")
    with Store(path) as store:
        (home,) = store.commit(CreatePlan("chores"), actor="human", now=NOW)
        made = store.commit(*(AddTask(f"Chore {at}", home.uid) for at in range(130)), actor="human", now=NOW)
        store.commit(*(EditTask(task.uid, {"due": "2026-01-02"}) for task in made), actor="human", now=NOW)
    async with opened(make_app(path), (120, 40)) as pilot:
        await until(pilot, lambda: "late" in above(pilot.app))
        assert "! 100+ late" in counts_line(pilot.app)
        last, more = above(pilot.app).splitlines()[-2:]
        assert re.fullmatch(r"   ! #\d+ +Chore \d+: due Fri 2026-01-02 +46w", last)
        assert more == "     94+ more: a"


async def test_the_last_word_of_an_agent_is_one_about_the_task_that_the_now_line_names(app, plan):
    async with opened(app, (160, 24)) as pilot:
        by_agent(plan, "claude-1", LogTask(plan[8], "looked at the drill"))
        await until(pilot, lambda: app.state.members[0].word.text == "looked at the drill")
        assert '◐ claude-1 #5 Ship auth flow "running tests 14/22"' in agents_line(app)
        with Store(plan.path) as store:
            (made,) = store.commit(AddTask("Fresh", plan.list_uid), actor="claude-2", now=NOW)
            store.commit(EditTask(made.uid, {"status": "in_progress"}), actor="claude-2", now=NOW)
            store.commit(LogTask(plan[8], "not this one"), actor="claude-2", now=NOW)
            answers = [AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(store.db)]
            store.commit(*answers, actor="human", now=NOW)
        await until(pilot, lambda: "◐ claude-2 #10 Fresh" in agents_line(app))
        assert "not this one" not in agents_line(app)


async def test_the_note_of_a_stranger_is_not_the_last_word_of_a_row_or_a_card(plan, app):
    async with opened(app, (200, 40)) as pilot:
        for stranger in ("stranger", "human"):
            by_agent(plan, stranger, LogTask(plan[5], "STRANGERS"))
            await until(pilot, lambda: app.link.seq == journal.newest(app.link.db))
            # The detail of the task, with its whole log, is not on screen.
            for keys in (("1", "g"), ("2",)):
                await press(app, pilot, *keys)
                assert "STRANGERS" not in shown(app), (stranger, keys)
                assert '"running tests' in "\n".join(below(app)[1:]), shown(app)


async def test_the_note_of_a_stranger_does_not_replace_the_reason_of_a_failure(plan, app):
    async with opened(app, (160, 40)) as pilot:
        for stranger in ("claude-1", "human"):
            by_agent(plan, stranger, LogTask(plan[3], "STRANGERS"))
            by_agent(plan, "claude-2", LogTask(plan[3], "written later"))
            await until(pilot, lambda: app.link.seq == journal.newest(app.link.db))
            for pane in ("1", "2"):
                await press(app, pilot, pane, "g", "j")
                assert "STRANGERS" not in shown(app), (stranger, pane)
                assert "written later" not in shown(app), (stranger, pane)
                assert "test_dst_gap" in shown(app), (stranger, pane)
            assert app.state.failures.last[0][1].startswith("test_dst_gap"), stranger


async def test_a_human_who_sets_a_task_failed_gives_its_reason(plan, make_app):
    by_agent(plan, "human", EditTask(plan[5], {"status": "failed"}), LogTask(plan[5], "out of time"), now=NOW)
    by_agent(plan, "claude-1", LogTask(plan[5], "I went on"), now=NOW)
    app = make_app(plan.path)
    async with opened(app, (160, 40)):
        assert "✗ #5  Ship auth flow: out of time" in above(app)
        assert "out of time" in next(line for line in below(app)[1:] if line[5:7] == "#5")


async def test_the_agents_have_a_line_of_their_own_those_in_trouble_first(app, plan):
    async with opened(app, (80, 24)) as pilot:
        answers = [AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db)]
        by_agent(plan, "human", *answers, EditTask(plan[3], {"status": "done"}))
        by_agent(plan, "claude-2", EditTask(plan[7], {"status": "in_progress"}))
        by_agent(plan, "system", NoteStuck("claude-2", "failure", "the same failure 3 times: pytest", NOW))
        await until(pilot, lambda: "▲ claude-2 stuck" in counts_line(app))
        assert agents_line(app).startswith(" ▲ claude-2 stuck #7 ") and "◐ claude-1 #5" in agents_line(app)
        assert re.search(r"▲ #7  stuck: the same failure 3 times: pytest +claude-2 ", above(app))


async def test_work_to_review_and_failed_checks_are_named(plan, make_app, checks, report):
    report(plan[6], "failed")
    answers = [AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(checks.store.db)]
    by_agent(plan, "human", *answers)
    app = make_app(plan.path)
    async with opened(app, (120, 24)):
        assert re.search(r"✗ #6  Write integration.*: \w+ failed", above(app))


async def test_a_question_alone_is_told_whole(app, plan):
    by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db)))
    by_agent(plan, "claude-1", OpenAsk("Which of the two libraries " * 8))
    async with opened(app, (120, 40)):
        text = re.sub(" claude-1 +now", "", above(app))
        assert " ".join(text.split()).count("Which of the two libraries") == 8


@pytest.mark.parametrize(("seconds", "line"), [(4, "◐ codex-1 #9 Old cookie"), (6, "codex-1 may ask something in its")])
async def test_an_agent_that_was_started_and_has_reported_nothing_starts_then_may_ask_in_its_terminal(
    plan, make_app, seconds, line
):
    with Store(plan.path) as store:
        at = NOW - seconds * 1_000_000
        (work,) = store.commit(StartWork(plan[9], "codex", "/repo", "/trees/9"), actor="human", now=at)
        store.commit(RunWork(work.uid, Process("b", "n", 4, "7")), actor="system", now=at)
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await until(pilot, lambda: line in agents_line(app))


@pytest.mark.parametrize(("seconds", "is_shown"), [(4, False), (6, True)])
async def test_an_agent_that_was_started_and_ended_its_turn_with_nothing_to_review_waits_at_its_prompt(
    plan, make_app, seconds, is_shown
):
    with Store(plan.path) as store:
        at = NOW - seconds * 1_000_000
        (work,) = store.commit(StartWork(plan[9], "codex", "/repo", "/trees/9"), actor="human", now=at)
        store.commit(RunWork(work.uid, Process("b", "n", 4, "7"), "Do it"), actor="system", now=at)
        session = session_queries.find(store.db, work.agent).session
        store.commit(
            RecordReport(SessionReport("codex", session, (TurnEnded("Which one?"),), at), "", tasks=False),
            actor=work.agent,
            now=at,
        )
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await pilot.pause()
        assert ("codex-1 waits at its prompt #9 " in agents_line(app)) is is_shown
        assert ('"Which one?"' in agents_line(app)) is is_shown


async def test_a_program_that_has_just_ended_is_at_work_until_its_changes_are_read(plan, make_app):
    work = begun(plan, 9)
    with Store(plan.path) as store:
        store.commit(EndSession(work.agent, "its process has ended"), actor="system", now=NOW)
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        assert f"◐ {work.agent} #9 ended, reading its changes" in agents_line(app)
        assert not re.search("(?<!stuck or )gone ", shown(app))
        await press(app, pilot, "A")
        assert re.search(rf"◐ {work.agent} +ended now +reading its changes", shown(app))


async def test_agents_that_are_there_and_do_nothing_are_named_rather_than_denied(app, plan):
    by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db)))
    by_agent(plan, "claude-1", *(EditTask(plan[at], {"status": "done"}) for at in (3, 5)))
    async with opened(app, (120, 40)) as pilot:
        await until(pilot, lambda: agents_line(app) == " ○ claude-1, claude-2 idle")
        assert counts_line(app).startswith(" ? 0 questions   ▲ 0 stuck or gone   ✗ 0 failed   • ")


async def test_a_turn_that_failed_with_the_task_of_its_prompt_is_one_failure(plan, make_app):
    with Store(plan.path) as store:
        player = Player(store, Clock(NOW - 60 * SECOND), "claude")
        player.settings = SessionSettings(tasks=True)
        session = {"session_id": "s9", "cwd": "/home/me/cli"}
        player.play({**session, "hook_event_name": "SessionStart", "source": "startup"})
        player.play({**session, "hook_event_name": "UserPromptSubmit", "prompt": "Port the CLI"})
        player.play({**session, "hook_event_name": "StopFailure", "error": "rate_limit"})
    app = make_app(plan.path)
    async with opened(app, (120, 40)):
        (failed,) = (one for one in app.context.state.members if one.state == "failed")
        assert failed.failed_task is not None and failed.failed_task.name == "Port the CLI"
        needs = [need for need in Needs(app.context).every() if need.word == "failed" and need.agent != "claude-2"]
        assert [need.task for need in needs if need.task != plan[3]] == [failed.failed_task.uid]


async def test_an_agent_whose_work_waits_for_review_is_not_shown_at_work(plan, make_app):
    work = begun(plan, 9)
    with Store(plan.path) as store:
        store.commit(WorkReady(work.uid), actor="system", now=NOW - 240 * SECOND)
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        assert f"◐ {work.agent}" not in above(app)
        counts = " ? 2 questions   ▲ 0 stuck or gone   ✗ 1 failed   ⇡ #9 to review   • unseen since 19:58: "
        assert counts_line(app) == f"{counts}failed #3, asked #4 #7, to review #9, started #5"
        assert f"? claude-2 waiting #7   ⇡ {work.agent} to review #9" in agents_line(app)
        (line,) = (line for line in above(app).splitlines() if line.startswith(" • ⇡ "))
        assert re.fullmatch(rf" • ⇡ #9  to review: Old cookie banner .* {work.agent} +4m", line)
        await press(app, pilot, "A")
        assert f"⇡ {work.agent} to review 4m" in re.sub(" +", " ", shown(app))


@pytest.mark.parametrize("wrong", ["a failed job", "a late job", "a late task", "a question", "a failed task"])
async def test_each_thing_that_is_wrong_is_counted_in_its_place(app, plan, wrong):
    by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db)))
    by_agent(plan, "claude-1", EditTask(plan[3], {"status": "done"}))
    async with opened(app, (120, 40)) as pilot:
        await until(pilot, lambda: counts_line(app).startswith(" ? 0 questions   ▲ 0 stuck or gone   ✗ 0 failed   • "))
        if wrong == "a failed job":
            fail_a_job(plan, "nightly")
        elif wrong == "a late job":
            job = CreateJob("drill", "planned", "", "go", timezone="Europe/Berlin", plan=("2026-11-21T20:16:00",))
            by_agent(plan, "claude-1", job)
            await until(pilot, lambda: "drill" in lines(app)[0])
            # It is due: nothing is late for a minute.
            app.context.clock.now = lambda: NOW + 77_000_000
            by_agent(plan, "claude-1", LogTask(plan[5], "on"))
            await until(pilot, lambda: "drill now" in lines(app)[0])
            assert counts_line(app).startswith(" ? 0 questions   ▲ 0 stuck or gone   ✗ 0 failed   • ")
            app.context.clock.now = lambda: NOW + 78_000_000
            by_agent(plan, "claude-1", LogTask(plan[5], "on and on"))
        elif wrong == "a late task":
            by_agent(plan, "claude-1", EditTask(plan[8], {"due": "2026-11-20"}))
        elif wrong == "a question":
            by_agent(plan, "claude-1", OpenAsk("Which port?", (), plan[5]))
        else:
            by_agent(plan, "claude-1", EditTask(plan[8], {"status": "failed"}))
        words = {
            "a question": " ? 1 question   ▲ 0 stuck or gone   ✗ 0 failed   • ",
            "a late job": " ? 0 questions   ▲ 0 stuck or gone   ✗ 0 failed   ! S1 late   • ",
            "a late task": " ? 0 questions   ▲ 0 stuck or gone   ✗ 0 failed   ! #8 late   • ",
        }
        said = words.get(wrong, " ? 0 questions   ▲ 0 stuck or gone   ✗ 1 failed   • ")
        await until(pilot, lambda: counts_line(app).startswith(said))


async def test_late_tasks_are_told_above_the_pane_and_become_late_by_time_alone(app, plan):
    by_agent(plan, "human", EditTask(plan[8], {"due": "2026-11-21T20:20:00+01:00"}))
    async with opened(app, (120, 40)) as pilot:
        assert "late" not in above(app)
        app.context.clock.now = lambda: NOW + 600_000_000
        app.frame.redraw()
        row = re.compile(r"! #8  Backup restore drill: due Sat 2026-11-21 20:20 +5m")
        await until(pilot, lambda: row.search(above(app)))
        assert "! #8 late" in counts_line(app)


async def test_how_late_something_is_has_one_wording_and_one_measure(plan, jobs, make_app):
    # A date is late from its end on, which was 20 hours ago.
    by_agent(plan, "human", EditTask(plan[8], {"due": "2026-11-20"}))
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        for place in ("1", "2", "4", "enter", "D", "a", "A", "S"):
            app.navigation.go_to(plan[8])
            await press(app, pilot, place)
            text = shown(app)
            assert not re.search(r"overdue|\d[smhdw] late|late +[1-9]d", text), place
            is_phrase = place in ("1", "2", "enter")
            assert ("late 20h" in text) == is_phrase, f"{place}: in a phrase; elsewhere in columns"
            assert re.search(r"#8 +(late +)?Backup restore drill(: | +)due Fri 2026-11-20 .* 20h\n", text), place
            await press(app, pilot, "escape", "1")


async def test_an_agent_that_calls_from_a_shell_and_holds_a_task_is_named(tmp_path, make_app):
    path = tmp_path / "t.db"
    with Store(str(path)) as store:
        (home,) = store.commit(CreatePlan("Mine"), actor="human", now=NOW)
        (made,) = store.commit(AddTask("by calls", home.uid), actor="human", now=NOW)
        store.commit(EditTask(made.uid, {"status": "in_progress"}), actor="caller", now=NOW)
    async with opened(make_app(path), (80, 24)) as pilot:
        assert "◐ caller #1 by calls" in agents_line(pilot.app) and "no agent" not in shown(pilot.app)


async def test_what_has_changed_is_said_in_words_the_most_important_first_in_a_row_of_its_own_where_the_screen_is_high(
    make_app, plan
):
    by_agent(plan, "claude-2", LogTask(plan[8], "looked"), LogTask(plan[9], "looked"))
    app = make_app(plan.path)
    async with opened(app, (120, 24)) as pilot:
        for width, height, says in (
            (120, 24, "• unseen since 19:58: failed #3, asked #4 #7, started #5, logged #8 #9"),
            (62, 24, "• unseen: failed #3, asked #4 #7, started #5, logged #8 #9"),
            (120, 23, "✗ 1 failed   • failed #3, asked #4 #7, started #5, logged #8 #9"),
            (60, 16, "✗ 1 failed   • ✗ #3 ? #4 #7, +3"),
        ):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            assert counts_line(app).endswith(says), shown(app)


async def test_a_job_that_has_become_slow_and_one_that_has_become_late_since_the_human_looked_are_changes(
    make_app, plan, jobs
):
    app = make_app(plan.path)
    async with opened(app, (120, 24)) as pilot:
        assert "• unseen since 19:58: failed #3, asked #4 #7, slow S1, started #5" in shown(app)
        await press(app, pilot, "full_stop")
        await until(pilot, lambda: "slow S1," not in shown(app) and "◐ S1 slow" in shown(app))
        assert "late S" not in shown(app), "S3 was late before"


async def test_a_task_that_is_done_though_its_check_failed_is_named_for_that_among_what_has_changed(
    make_app, plan, report
):
    report(plan[5], "failed")
    by_agent(plan, "codex-1", LogTask(plan[6], "listed the cases"))
    app = make_app(plan.path)
    async with opened(app, (140, 40)) as pilot:
        says = "• unseen since 19:58: failed #3, check failed #5, asked #4 #7, logged #6"
        assert counts_line(app).endswith(says), counts_line(app)
        await pilot.resize_terminal(90, 40)
        await until(pilot, lambda: counts_line(app).endswith(says))


@pytest.mark.parametrize(
    ("width", "says"),
    [
        (120, "since 19:58: failed #3, asked #4 #7, stale #1, started #5"),
    ],
)
async def test_a_task_whose_proof_is_stale_by_now_is_named_as_such_and_not_as_checked(
    make_app, plan, checks, width, says
):
    checks.commit(RequestChecks(plan[1]))
    checks.run("passed")
    app = make_app(plan.path)
    async with opened(app, (140, 40)) as pilot:
        assert counts_line(app).endswith(" started #5, proven #1")
        checks.edit("another")
        await pilot.resize_terminal(width, 24)
        await until(pilot, lambda: counts_line(app).endswith(says))


async def test_many_changed_tasks_are_counted_by_what_has_happened_to_them(make_app, plan):
    by_agent(plan, "claude-2", *(AddTask(f"more {number}", plan.list_uid) for number in range(19)))
    app = make_app(plan.path)
    async with opened(app, (120, 24)) as pilot:
        assert counts_line(app).endswith("• unseen since 19:58: failed #3, asked #4 #7, started #5, new #10–28")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: counts_line(app).endswith(" started #5, new #10–28"))


async def test_no_task_is_read_to_say_that_thousands_have_changed(make_app, plan, monkeypatch):
    by_agent(plan, "claude-2", *(AddTask(f"more {number}", plan.list_uid) for number in range(5_000)))
    app = make_app(plan.path)
    async with opened(app, (120, 40)):
        read = []
        monkeypatch.setattr(list_pages, "line", lambda db, uid: read.append(uid))
        monkeypatch.setattr(Seen, "named_changes", lambda _: read.append("all"))
        words = [one.said() for one in changes_text.what_changed(app.context, ())]
        assert words == ["1 failed", "2 asked", "1 started", "5,000 new"]
        assert read == []


async def test_the_last_status_of_a_task_says_more_than_a_note_and_what_was_seen_is_forgotten(plan, make_app, agent):
    app = make_app(plan.path, pane="schedule")
    async with opened(app, (160, 40)) as pilot:
        agent(EditTask(plan[8], {"description": "In the cellar."}))
        await until(pilot, lambda: "edited #8" in counts_line(app))
        agent(LogTask(plan[8], "looked"))
        await until(pilot, lambda: "logged #8" in counts_line(app))
        agent(EditTask(plan[8], {"status": "skipped"}), LogTask(plan[8], "later"))
        await until(pilot, lambda: "skipped #8" in counts_line(app))
        agent(DeleteTask(plan[9]))
        await until(pilot, lambda: counts_line(app).endswith("started #5, skipped #8, 1 deleted"))
        await press(app, pilot, "full_stop")
        await until(pilot, lambda: counts_line(app).endswith("• 0 changed"))
        agent(LogTask(plan[8], "again"))
        await until(pilot, lambda: counts_line(app).endswith(": logged #8"))


async def test_a_job_that_an_agent_files_for_review_is_counted_as_changed(plan, make_app):
    by_agent(plan, "human", RecordSettings("/config.toml", jobs=True))
    app = make_app(plan.path, pane="schedule")
    async with opened(app, (160, 40)) as pilot:
        await press(app, pilot, "full_stop")
        await until(pilot, lambda: counts_line(app).endswith("• 0 changed"))
        job = CreateJob(name="nightly", type="adhoc", system_prompt="", prompt="go", timezone="UTC")
        by_agent(plan, "claude-1", job, now=NOW + SECOND)
        await until(pilot, lambda: counts_line(app).endswith("• unseen since 20:15: proposed S1"))


async def test_a_question_without_room_is_cut_in_the_middle_and_keeps_what_it_asks(make_app, plan, jobs):
    async with opened(make_app(plan.path, pane="schedule"), (76, 30)) as pilot:
        (line,) = (line for line in above(pilot.app).splitlines() if "jose" in line)
        assert re.search(r"#4  jose is maintained.*… Which one\?$", line)


async def test_a_question_behind_thousands_of_blanks_is_shown_by_its_words_and_ends_no_screen(plan, app):
    async with opened(app) as pilot:
        for number, blank in enumerate(("\n", " ", "\t")):
            (ask,) = by_agent(plan, "claude-2", OpenAsk(f"{blank * 5_000}May I drop {number}?"))
            asked = re.compile(rf"\? +May I drop {number}\? +claude-2")
            await until(pilot, lambda asked=asked: asked.search(above(app)))
            await press(app, pilot, "a")
            assert f"May I drop {number}?" in shown(app)
            await press(app, pilot, "escape")
            by_agent(plan, "human", AnswerAsk(ask.uid, "no"))


async def test_a_reason_without_room_takes_that_of_the_name_of_its_task(make_app, plan, jobs):
    async with opened(make_app(plan.path, pane="schedule"), (70, 30)) as pilot:
        (line,) = (line for line in above(pilot.app).splitlines() if "✗ #3" in line)
        assert re.search(r"✗ #3  test_dst_gap: expected 02:30, got 03:30 +claude-2 +17m", line)


async def test_spaces_within_an_agents_text_do_not_part_it_like_two_entries(app, plan):
    by_agent(plan, "claude-2", OpenAsk("Go?   ? claude-2 asks #12   ✓ nothing needs you"))
    by_agent(plan, "claude-1", LogTask(plan[5], "on   ? claude-2 asks"))
    async with opened(app):
        assert "Go? ? claude-2 asks #12 ✓ nothing needs you" in above(app)
        assert '"on ? claude-2 asks"' in above(app)


@pytest.mark.parametrize("pane", ["list", "board", "schedule", "agents"])
async def test_what_changed_since_the_human_looked_stands_on_every_pane_with_the_key_that_clears_it(
    plan, make_app, pane
):
    app = make_app(plan.path, pane=pane if pane != "agents" else "list")
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, *(["A"] if pane == "agents" else []))
        assert "• unseen since 19:58: failed #3, asked #4 #7, started #5" in shown(app)
        assert ". Seen" in lines(app)[-1]
        for size, words in (
            ((80, 24), "• unseen since 19:58: failed #3, asked #4 #7, started #5"),
            ((40, 12), "#3, ? #4 #7, " if pane == "agents" else "• ✗ #3 ? "),
        ):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert words in shown(app) and ". Seen" in lines(app)[-1], size
        await press(app, pilot, "full_stop")
        await until(
            pilot, lambda: "• failed" not in shown(app) and "• ✗" not in shown(app) and ". Seen" not in lines(app)[-1]
        )


async def test_of_thousands_of_agents_only_those_that_fit_are_measured_in_the_time_that_a_key_has(app, monkeypatch):
    async with opened(app) as pilot:
        line = pilot.app.query_one("#at-work", AgentLines)
        few = AgentEntries(app.context, line.lasts).entries()
        began = time.process_time()
        groups = agent_groups(app.context, few * 500, 120)
        assert time.process_time() - began < 0.2
        assert groups[-1].parts == [(f"+{1_000 - len(groups) + 1}", "$muted")]
        (first, *_) = few
        names = [f"agent-{number}" for number in range(3_000)]
        agents = [replace(first, member=replace(first.member, name=name)) for name in names]
        looked_at = []
        monkeypatch.setattr(agent_text, "who", lambda name, *_: looked_at.append(name) or name)
        groups = agent_groups(app.context, agents, 120)
        assert groups[-1].parts == [(f"+{3_000 - len(groups) + 1}", "$muted")]
        assert len(set(looked_at)) < 20


async def test_a_move_of_the_cursor_looks_at_no_agents(app, plan, monkeypatch):
    # Lines with ages, drawn again each second, do look: on a busy machine the test takes longer.
    monkeypatch.setattr(line_painter, "draw_again_in", lambda _: DEADLINE)
    for number in range(3):
        by_agent(plan, "claude-1", OpenAsk(f"Which one, {number}?"))
    async with opened(app) as pilot:
        for place in ("1", "A", "a", "2"):
            await press(app, pilot, place)
            looks = []
            with monkeypatch.context() as patch:
                patch.setattr(AgentEntries, "entries", lambda _, looks=looks: looks.append("entries") or [])
                patch.setattr(last_words, "working", lambda _, looks=looks: looks.append("working") or {})
                await pilot.press("j")
                await pilot.pause()
                assert looks == [], place
            await press(app, pilot, "escape")


async def test_each_failed_task_is_named_with_its_reason(app, plan):
    by_agent(plan, "claude-1", EditTask(plan[8], {"status": "failed"}), LogTask(plan[8], "the disk is full"))
    async with opened(app, (120, 40)):
        said = " ".join(above(app).split())
        assert "#3 Fix flaky DST test: test_dst_gap: expected 02:30" in said
        assert "#8 Backup restore drill" in said and "2 tasks failed" not in said


async def test_a_message_goes_with_the_pane_that_it_was_about(app, plan):
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, "u", "y")
        await until(pilot, lambda: "Undone from " in shown(app))
        await press(app, pilot, "2")
        await until(pilot, lambda: "Undone from " not in shown(app))


async def test_what_is_next_says_why_nothing_can_start_where_there_is_room(plan, jobs, make_app):
    by_agent(plan, "human", EditTask(plan[8], {"status": "skipped"}))
    async with opened(make_app(plan.path), (60, 40)) as pilot:
        for width, words in (
            (120, "next, after #5: #6 Write integration tests  ◷ Server status in 14m"),
            (100, "next, after #5: #6 Write…  ◷ Server status in 14m"),
            (80, "next #6 Write inte…  ◷ Server status in 14m"),
            (70, "next #6 after #5  ◷ S1 in 14m"),
            (60, "next #6 after #5"),
        ):
            await pilot.resize_terminal(width, 40)
            await pilot.pause()
            assert lines(pilot.app)[0].endswith(f"  {words}")
            assert f"4 Schedule{' ' * (4 if width >= 100 else 2)}" in lines(pilot.app)[0], "the two sides stand apart"


async def test_a_task_behind_a_failed_one_is_not_next_but_blocked_by_it(plan, make_app):
    by_agent(plan, "human", EditTask(plan[8], {"status": "skipped"}), EditTask(plan[5], {"status": "failed"}))
    by_agent(plan, "human", AddTask("Behind both", plan.list_uid, depends_on=(plan[6],)))
    async with opened(make_app(plan.path), (120, 40)) as pilot:
        assert "none ready: #6 is blocked by failed #5" in lines(pilot.app)[0]
        assert "after #5 (failed)" in shown(pilot.app) and "next, after" not in shown(pilot.app)
        by_agent(plan, "human", EditTask(plan[5], {"status": "in_progress"}))
        await until(pilot, lambda: "next, after #5: #6 Write integration tests" in lines(pilot.app)[0])
        await until(pilot, lambda: re.search(r"⊘ #6   Write integration tests +next, after #5 ", shown(pilot.app)))
        await press(pilot.app, pilot, "2")
        await until(pilot, lambda: re.search(r"\n {7}next .*\n {7}⊘ after #5", shown(pilot.app)))


async def test_a_paused_agent_without_a_task_is_paused_not_idle(plan, make_app):
    with Store(plan.path) as store:
        connect(store, "robin")
    by_agent(plan, "human", PauseAgent("robin", "not today"))
    app = make_app(plan.path)
    async with opened(app):
        assert "– robin paused" in agents_line(app)


async def test_a_paused_agent_whose_claim_lapsed_has_no_task_that_is_next_for_others(plan, make_app):
    by_agent(plan, "alpha", ClaimTask("alpha", 60 * SECOND, plan[8]), now=NOW - 400 * SECOND)
    by_agent(plan, "human", PauseAgent("alpha", "not today"), now=NOW - 350 * SECOND)
    with Store(plan.path) as store:
        connect(store, "alpha")
    by_agent(plan, "system", LapseClaims(), now=NOW - 300 * SECOND)
    app = make_app(plan.path)
    async with opened(app):
        assert "alpha paused" in agents_line(app) and "alpha paused #8" not in agents_line(app)


async def test_a_paused_agent_is_not_counted_as_one_at_work_on_a_small_screen(plan, make_app):
    with Store(plan.path) as store:
        connect(store, "robin")
    by_agent(plan, "human", PauseAgent("robin", "not today"))
    app = make_app(plan.path)
    async with opened(app, (40, 12)):
        assert "#5" in lines(app)[0] and "◐ 2" not in lines(app)[0]


async def test_an_agent_whose_trouble_was_dismissed_is_in_no_line_as_it_is_in_no_count(plan, make_app):
    by_agent(plan, "system", NoteStuck("claude-1", "failure", "the same failure 3 times: pytest", NOW))
    app = make_app(plan.path)
    async with opened(app) as pilot:
        assert "▲ claude-1" in agents_line(app) and "▲ claude-1 stuck" in counts_line(app)
        app.state.seen.dismiss(local_values.key_of_agent("claude-1"), NOW + SECOND)
        app.frame.redraw()
        await pilot.pause()
        assert "▲" not in agents_line(app) and "▲ 0 stuck or gone" in counts_line(app)


async def test_new_work_to_review_is_marked_as_new(plan, make_app):
    work = begun(plan, 9)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        with Store(plan.path) as store:
            store.commit(WorkReady(work.uid), actor="system", now=NOW + SECOND)
        await until(pilot, lambda: " • ⇡ #9  to review" in above(app))
