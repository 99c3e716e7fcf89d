"""Starting an agent from the screen, and looking at what it does."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from textual import events

from tests.started import DEADLINE
from tests.tui.driving import SIZES, below, by_agent, counts_line, lines, named, opened, said, settle, shown, until
from tests.tui.plan import NOW, at
from tui_tasks.cli.main import main
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.asks import OpenAsk, SendMessage
from tui_tasks.core.operations.jobs import GiveChecks
from tui_tasks.core.operations.sessions import EndSession, RecordReport, SessionReport, TurnEnded
from tui_tasks.core.operations.tasks import ClaimTask, DeleteTask, EditTask, LogTask
from tui_tasks.core.operations.work import (
    CommentWork,
    CountWork,
    DiscardWork,
    FailWork,
    MergeWork,
    RunWork,
    StartWork,
    WorkReady,
)
from tui_tasks.core.read import message_queries, work_queries
from tui_tasks.core.read.agents import agent_views, session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.settings import project
from tui_tasks.text.times import MINUTE, SECOND
from tui_tasks.tui.agents import agent_messages, agent_text
from tui_tasks.tui.agents.agents_screen import AgentsScreen
from tui_tasks.tui.asks import answer_keys
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.needs.open_needs import Needs, visit
from tui_tasks.tui.state.app_state import AppState
from tui_tasks.tui.work import attaching, peek_screens
from tui_tasks.tui.work.peek_screens import Peek
from tui_tasks.tui.work.start_form import StartForm
from tui_tasks.work import agent_terminals, program_commands, starting
from tui_tasks.work.starting import Started, StartRequest


def begun(plan: Any, number: int, program: str = "robot", now: int = NOW, **more: Any) -> Any:
    """Start an agent on a task, in the state alone."""
    named = {"branch": f"task/{number}", **more}
    with Store(plan.path) as store:
        place = named.pop("worktree", f"/trees/{number}")
        operation = StartWork(plan[number], program, "/repo", place, base="main", **named)
        (work,) = store.commit(operation, actor="human", now=now)
        store.commit(RunWork(work.uid, prompt="Do it"), actor="system", now=now)
        return work


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All programs are installed."""
    monkeypatch.setattr(program_commands, "is_installed", lambda settings, name: True)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, StartRequest]]:
    """What the screen asked to start; nothing is made."""
    asked: list[tuple[str, StartRequest]] = []

    def start(self: Any, uid: str, request: StartRequest) -> Started:
        asked.append((uid, request))
        (work,) = self._store.commit(
            StartWork(uid, request.program, "/repo", f"/trees/{uid}"), actor="human", now=self._clock()
        )
        return Started(work, ("its submodules are empty",))

    monkeypatch.setattr(starting.Starter, "start", start)
    return asked


@pytest.mark.parametrize("size", SIZES)
async def test_w_asks_for_program_place_and_words_and_starts_an_agent(plan, started, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W")
        assert isinstance(app.screen, StartForm)
        assert "claude" in shown(app) and "a new worktree" in shown(app)
        assert lines(app)[-1].startswith(" Enter Start  Tab Next field")
        await settle(pilot, "tab", "right", "tab", "space", "tab", *"now")
        assert "codex" in shown(app) and "this checkout" in shown(app)
        await settle(pilot, "enter")
        await until(pilot, lambda: bool(started))
        await until(pilot, lambda: "codex-" in said(app))
    assert started == [(plan[9], StartRequest(program="codex", here=True, words="now"))]


async def test_w_offers_the_programs_that_are_installed_first(plan, make_app, monkeypatch):
    monkeypatch.setattr(program_commands, "is_installed", lambda settings, name: name == "gemini")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W", "tab")
        assert "Program       gemini" in shown(app) and "not installed" not in shown(app)
        await settle(pilot, "question_mark")
        assert said(app) == "←→ or a first letter changes the value, Tab goes on; Enter: Start; Esc goes back."
        await settle(pilot, "right")
        assert "Program       claude  not installed" in shown(app)


async def test_undo_passes_over_every_start_of_an_agent_in_one_question(plan, make_app):
    with Store(plan.path) as store:
        store.commit(EditTask(plan[7], {"name": "Move analytics"}), actor="human", now=NOW)
    works = [begun(plan, number) for number in (9, 8)]
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("u")
        await until(pilot, lambda: said(app).endswith(". u again offers the change before it."))
        await pilot.press("u")
        await until(pilot, lambda: "agent started” cannot be undone: " in " ".join(shown(app).split()))
        asked = " ".join(shown(app).split())
        assert "discard its work instead" in asked
        assert asked.count("agent started") == 1 and "Undo “#7 " in asked
        await settle(pilot, "y")
        await until(pilot, lambda: said(app).startswith("Undone") and "#7 " in said(app))
    with Store(plan.path) as store:
        assert all(work_queries.find(store.db, work.uid).state == "working" for work in works)


async def test_w_on_a_task_that_somebody_has_claimed_says_so_before_the_form(plan, make_app):
    with Store(plan.path) as store:
        store.commit(ClaimTask("codex-7", 60_000_000, plan[8]), actor="codex-7", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "W")
        assert not isinstance(app.screen, StartForm)
        assert "codex-7 has claimed #8: set it pending first (s)." in said(app)


async def test_the_first_line_of_w_names_the_agent_that_has_the_task_in_progress_or_asks_about_it(plan, make_app):
    by_agent(plan, "codex-7", EditTask(plan[8], {"status": "in_progress"}))
    by_agent(plan, "codex-9", OpenAsk("Which bucket?", task_uid=plan[9]))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "W")
        assert "Start an agent on “Backup restore drill”: codex-7 has it in progress" in shown(app)
        await settle(pilot, "escape")
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W")
        assert "Start an agent on “Old cookie banner”: codex-9 asks about it" in shown(app)
        await settle(pilot, "escape")
        app.pane.row_list.mark([plan[8], plan[9]])
        await settle(pilot, "W")
        named = "codex-7 has #8 in progress; codex-9 asks about #9"
        assert f"Start an agent on 2 tasks: {named}" in shown(app)


async def test_the_agent_that_lost_a_race_names_the_winner_in_its_row(plan, make_app):
    loser, _ = begun(plan, 8), begun(plan, 8, is_race=True, is_shared=True)
    with Store(plan.path) as store:
        why = "the work of robot-2 was merged instead"
        store.commit(EditTask(plan[8], {"status": "done"}), DiscardWork(loser.uid, message=why), actor="human", now=NOW)
        with store.db.transaction(write=True):
            store.db.sql("UPDATE session SET state = 'gone', ended_at = ? WHERE uid = ?", (NOW, loser.agent))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        (row,) = (line for line in lines(app) if line[2:].strip(" –").startswith("robot-1"))
        assert "the work of robot-2 was merged" in row


async def test_of_a_race_the_agents_whose_work_waits_for_review_are_those_of_the_inbox(plan, make_app):
    first, second, third = (begun(plan, 9, is_race=True, is_shared=True) for _ in range(3))
    counts = {"ahead": 1, "behind": 0, "files": 3, "insertions": 41, "deletions": 7, "dirty": False}
    with Store(plan.path) as store:
        ready = CountWork(second.uid, counts), WorkReady(second.uid)
        store.commit(*ready, EndSession(second.agent, "its process has ended"), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:

        def states() -> dict[str, str]:
            rows = [line[2:].strip(" ·⇡•?◐○") for line in lines(app)]
            return {row.split()[0]: row.split()[1] for row in rows if row.startswith("robot-")}

        await settle(pilot, "A")
        assert states() == {first.agent: "working", second.agent: "to", third.agent: "working"}
        assert re.search(r"⇡ robot-2 +to review .*3 files \+41 -7.* #9 ", shown(app))
        with Store(plan.path) as store:
            store.commit(WorkReady(third.uid), actor="system", now=NOW)
        await settle(pilot, "escape")
        await until(pilot, lambda: "2 works to review" in shown(app))


async def test_w_outside_a_repository_says_so_before_the_form(plan, make_app, monkeypatch):
    monkeypatch.setattr(project, "work_tree", lambda folder: None)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W")
        assert not isinstance(app.screen, StartForm)
        assert said(app).startswith("No git repository in ") and "`git init`" in said(app)
        await settle(pilot, *"drill")
        assert "What you typed was dropped." in said(app)


async def test_a_start_that_is_refused_says_why(plan, make_app, monkeypatch):
    folder = Path(plan.path).parent
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W", "enter")
        await until(pilot, lambda: "claude" in said(app) and "Starting" not in said(app))


async def test_a_program_that_is_not_installed_is_refused_in_the_form_which_keeps_the_focus(
    plan, started, make_app, monkeypatch
):
    monkeypatch.setattr(program_commands, "is_installed", lambda settings, name: name == "claude")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W", "tab", "c")
        assert "codex  not installed" in shown(app)
        await settle(pilot, "enter")
        assert said(app) == "codex is not installed here, so it cannot start. ←→ in Program chooses another."
        assert app.focused.id == "program" and not started


async def test_a_branch_that_words_choose_is_shown_before_they_are_sent(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W")
        assert "Branch" not in shown(app)
        *_, last, _ = lines(app)
        assert "> Instructions" in last
        app.post_message(events.Paste("See the notes base:next of it"))
        await settle(pilot)
        assert "Branch         next, as the instructions say base:" in shown(app)
        await settle(pilot, *["backspace"] * 15)
        assert "Branch" not in shown(app)


async def test_the_form_of_a_start_that_is_refused_stands_there_again_as_it_was_typed(plan, make_app, monkeypatch):
    def refuse(self: Any, uid: str, request: StartRequest) -> Started:
        raise Conflict("no agent was started: this folder is in no git repository")

    monkeypatch.setattr(starting.Starter, "start", refuse)
    work = begun(plan, 8, "codex")
    with Store(plan.path) as store:
        store.commit(FailWork(work.uid, "codex-2 ended with exit 3"), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W")
        assert "Program       codex  ✗ last time: codex-2 ended with exit 3" in shown(app)
        await settle(pilot, "tab", "c", "down", "left", "down", *"base:next now", "enter")
        await until(pilot, lambda: "in no git repository" in said(app))
        assert isinstance(app.screen, StartForm)
        assert "Program       claude" in shown(app) and "this checkout" in shown(app) and "base:next now" in shown(app)
        await settle(pilot, "x")
        assert app.screen.query_one("#answer").value == "base:next nowx"
        await settle(pilot, "escape")
        assert len(app.screen_stack) == 1


@pytest.mark.usefixtures("holding_threads")
async def test_words_of_a_start_that_is_refused_elsewhere_stand_there_again(plan, make_app, monkeypatch):
    goes_on = threading.Event()

    def refuse(self: Any, uid: str, request: StartRequest) -> Started:
        goes_on.wait(DEADLINE)
        raise Conflict("no agent was started: its setup failed")

    monkeypatch.setattr(starting.Starter, "start", refuse)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await pilot.press("W")
        await until(pilot, lambda: isinstance(app.screen, StartForm))
        await pilot.press(*"words", "enter", "A")
        goes_on.set()
        await until(pilot, lambda: "its setup failed" in said(app))
        await settle(pilot, "escape", "W")
        assert app.screen.query_one("#answer").value == "words"


async def test_a_title_that_is_typed_where_no_input_is_open_starts_no_agent(plan, started, make_app, monkeypatch):
    monkeypatch.setattr(answer_keys, "READ_SECONDS", DEADLINE)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W")
        await settle(pilot, *"rite docs".replace(" ", "_"), "enter")
        assert said(app) == "You typed on while this form opened. Enter again starts claude."
        assert isinstance(app.screen, StartForm) and not started
        await settle(pilot, "enter")
        await until(pilot, lambda: bool(started))


async def test_a_key_that_is_typed_on_after_the_form_deletes_no_task(plan, started, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W", "enter", "d")
        await until(pilot, lambda: bool(started))
        assert not task_queries.task(app.link.db, plan[9]).deleted


async def test_words_for_an_agent_take_several_lines_and_name_the_branch_in_any_of_them(plan, started, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W", *"one", "ctrl+j")
        app.post_message(events.Paste("two\r  three base:next now\r\n"))
        await settle(pilot)
        await settle(pilot, "up", "up", "end", *"!", "enter")
        await until(pilot, lambda: bool(started))
    assert started == [(plan[9], StartRequest(program="claude", base="next", words="one!\ntwo\n  three now"))]


async def test_words_for_an_agent_that_esc_leaves_stand_there_again_for_that_task_alone(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W", *"half", "escape")
        assert said(app) == "Kept what you typed: the same key brings it back."
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "W")
        assert app.screen.query_one("#answer").value == ""
        await settle(pilot, "escape")
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W")
        assert app.screen.query_one("#answer").value == "half"
        await settle(pilot, "ctrl+u", "escape", "W")
        assert app.screen.query_one("#answer").value == ""


async def test_up_and_down_go_through_the_lines_of_the_words_and_then_to_the_next_field(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "W", "a", "ctrl+j", "b", "up", "x")
        assert app.screen.query_one("#answer").value == "ax\nb"
        assert "^j New line" in lines(app)[-1] and "←→ Change" not in lines(app)[-1]
        await settle(pilot, "up")
        assert app.screen.focused.id == "place"
        assert "←→ Change" in lines(app)[-1] and "^j New line" not in lines(app)[-1]
        await settle(pilot, "down", "down", "down")
        assert app.screen.focused.id == "program"


async def test_work_that_is_ready_is_marked_and_says_what_there_is_to_review(plan, make_app):
    work = begun(plan, 9)
    counts = {"ahead": 1, "behind": 0, "files": 3, "insertions": 41, "deletions": 7, "dirty": False}
    with Store(plan.path) as store:
        store.commit(CountWork(work.uid, counts), WorkReady(work.uid), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        agents, above, row = [
            line for line in lines(app) if "⇡" in line and "#9" in line and line[0] != "─" and "questions" not in line
        ]
        assert above.startswith(" • ⇡ #9  to review")
        assert "⇡ #9 to review" in counts_line(app)
        assert "robot-1 to review #9" in agents
        assert "3 files +41 -7" in above
        assert "3 files +41 -7" in row


async def test_a_task_whose_work_waits_for_review_is_given_back_by_discarding_that(plan, make_app):
    work = begun(plan, 9)
    with Store(plan.path) as store:
        store.commit(WorkReady(work.uid), EndSession(work.agent, "exit 0"), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.push(AgentsScreen(app.context, work.agent))
        await settle(pilot)
        assert app.screen.agent_here() == work.agent and "Give back" not in lines(app)[-1]
        await settle(pilot, "s")
        assert said(app).startswith("The work on #9 waits for review: x there discards it")


async def test_the_detail_of_a_task_leaves_to_the_review_what_is_not_proven_of_its_files(plan, make_app, checks):
    work = begun(plan, 9)
    with Store(plan.path) as store:
        store.commit(GiveChecks(plan[9], ("tests",)), actor="human", now=NOW)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[9])
        await until(pilot, lambda: "tests  unproven" in shown(app))
        with Store(plan.path) as store:
            store.commit(WorkReady(work.uid), actor="system", now=NOW)
        await until(pilot, lambda: "Enter reviews it" in shown(app))
        assert "tests  unproven" not in shown(app)


async def test_work_that_is_counted_after_it_was_reported_ready_shows_the_new_counts(plan, make_app):
    work = begun(plan, 9)
    counts = {"ahead": 0, "behind": 0, "files": 0, "insertions": 0, "deletions": 0, "dirty": False}
    with Store(plan.path) as store:
        store.commit(CountWork(work.uid, counts), WorkReady(work.uid), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "0 files +0 -0" in shown(app))
        counts |= {"ahead": 1, "files": 3_000, "insertions": 3_001}
        with Store(plan.path) as store:
            store.commit(CountWork(work.uid, counts), actor="system", now=NOW)
        await until(pilot, lambda: "3,000 files +3,001 -0" in shown(app))


async def test_a_task_that_waits_or_is_done_is_refused_before_the_form(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[6])
        await settle(pilot, "W")
        assert said(app).startswith('task #6 "') and ' waits for task #5 "' in said(app)
        assert len(app.screen_stack) == 1
        with Store(plan.path) as store:
            store.commit(EditTask(plan[6], {"status": "done"}), actor="human", now=NOW)
        await settle(pilot, "W")
        await until(pilot, lambda: said(app) == "#6 is done: set it pending first (s).")
        assert len(app.screen_stack) == 1


async def test_marked_tasks_that_cannot_start_are_left_out_before_words_are_typed(plan, started, make_app):
    work = begun(plan, 8)
    with Store(plan.path) as store:
        store.commit(WorkReady(work.uid), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        for number in (8, 9):
            app.context.navigation.go_to(plan[number])
            await settle(pilot, "v")
        await settle(pilot, "W")
        assert "Start an agent on “" in shown(app)
        assert "1 task left out: the work of robot-1 on #8 waits for review" in shown(app)
        await settle(pilot, "enter")
        await until(pilot, lambda: bool(started))
    assert [uid for uid, _ in started] == [plan[9]]


async def test_a_pending_task_whose_agent_failed_says_so_until_another_is_at_work(plan, make_app):
    work = begun(plan, 8)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        with Store(plan.path) as store:
            store.commit(FailWork(work.uid, "robot-1 has ended without a change"), actor="system", now=NOW)

        def row() -> str:
            return next(line for line in below(app) if line[5:].startswith("#8 "))

        await until(pilot, lambda: "ended without a change" in row())
        begun(plan, 8)
        await until(pilot, lambda: "ended without a change" not in row())


BOOM = "robot-1 ended with exit 3: Traceback: boom"


def crashed(plan: Any, number: int) -> None:
    """Start an agent on a task, which fails at once."""
    work = begun(plan, number)
    with Store(plan.path) as store:
        end = EndSession(work.agent, "its process has ended")
        store.commit(end, FailWork(work.uid, BOOM), actor="system", now=NOW)


async def test_an_agent_that_crashed_is_a_failure_on_every_pane(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        assert "✗ 1 failed" in counts_line(app)
        begin = app.context.state.next_task.uid
        crashed(plan, app.context.state.next_task.id)
        await until(pilot, lambda: "✗ 2 failed" in counts_line(app))
        assert app.context.state.next_task is None or app.context.state.next_task.uid != begin
        above, row = [line for line in lines(app) if BOOM in line]
        assert above.strip(" •").startswith("✗ #8  Backup restore drill: ") and "robot-1 " in above
        assert "✗" in row and "○" not in row
        app.context.navigation.go_to(plan[8])
        await until(pilot, lambda: "✗ agent failed" in shown(app))
        assert "✗ failed" not in shown(app), "the task is pending"
        assert "Space shows its last lines, W starts another agent" in shown(app)
        app.context.navigation.filter_by("status:needs_you")
        await settle(pilot)
        assert any(line[5:].startswith("#8 ") for line in below(app)), lines(app)
        app.context.navigation.filter_by("status:failed")
        await settle(pilot)
        assert not any(line[5:].startswith("#8 ") for line in below(app))
        await settle(pilot, "escape")
        await settle(pilot, "2")
        assert "✗ robot-1 ended with" in shown(app)
        await settle(pilot, "a")
        assert any(BOOM in line and line.strip(" >•").startswith("✗") for line in lines(app))
        assert "session prompted" not in shown(app), "it has said nothing"
        await settle(pilot, "escape", "A")
        assert any("robot-1" in line and "failed" in line and BOOM in line for line in lines(app))
        while app.screen.agent_here() != "robot-1":
            await settle(pilot, "j")
        assert "W Work  Space Peek  Enter Terminal" in lines(app)[-1], "nobody has the task to give back"
        await settle(pilot, "W")
        assert "Start an agent on “Backup restore drill”" in shown(app)
        await settle(pilot, "escape")
        assert "Message" not in lines(app)[-1] and "Pause" not in lines(app)[-1]


async def test_a_crash_and_an_agent_that_is_gone_have_one_number_on_every_screen_and_in_the_shell(
    plan, make_app, capsys
):
    crashed(plan, 8)
    with Store(plan.path) as store:
        store.commit(EditTask(plan[9], {"status": "in_progress"}), actor="bob", now=NOW)
        with store.db.transaction(write=True):
            connections.begin(store.db, "bob", Process(), NOW)
            connections.end(store.db, "bob", Process(), NOW)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        counts = r" \? 2 (asks|questions) +▲ (bob|1) gone +✗ 2 failed "
        assert re.match(counts, counts_line(app))
        await settle(pilot, "D")
        assert re.match(counts, counts_line(app))
        assert any(re.match(".. ▲ #9  gone ", line) for line in lines(app)), lines(app)
        await settle(pilot, "escape", "2")
        heads = shown(app)
        assert "? Needs you 3  ✗ 1" in heads and "✗ Failed 1" in heads
    for word, numbers in (("needs_you", {4, 7, 8, 9}), ("failed", {3})):
        main(["ls", f"status:{word}", "--db", str(plan.path)])
        assert {int(line.split()[0][1:]) for line in capsys.readouterr().out.splitlines()} == numbers


async def test_a_crashed_agent_counts_until_it_is_hidden_and_its_task_is_next_again(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        begin = app.context.state.next_task.uid
        crashed(plan, app.context.state.next_task.id)
        await until(pilot, lambda: "✗ 2 failed" in counts_line(app))
        app.context.state.seen.dismiss("stuck:robot-1", NOW)
        app.context.navigation.all_seen()
        app.context.redraw_frame()
        await settle(pilot)
        assert "✗ 1 failed" in counts_line(app)
        assert app.context.state.next_task.uid == begin
        (row,) = [line for line in lines(app) if BOOM in line]
        assert "○" in row


@pytest.mark.parametrize("end", ["delete", "claim", "skip"])
async def test_a_crash_stays_in_sight_whatever_another_agent_makes_of_the_task(end, plan, make_app):
    by_bob = {
        "delete": (DeleteTask(plan[8]), "task deleted by bob"),
        "claim": (ClaimTask("bob", MINUTE, plan[8]), "claimed by bob"),
        "skip": (EditTask(plan[8], {"status": "skipped"}), "skipped by bob"),
    }
    operation, words = by_bob[end]
    words = f"{BOOM}; {words}"
    app = make_app(plan.path)
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        crashed(plan, 8)
        await until(pilot, lambda: "✗ 2 failed" in counts_line(app))
        with Store(plan.path) as store:
            store.commit(operation, actor="bob", now=NOW)
        await until(pilot, lambda: words in shown(app))
        assert "✗ 2 failed" in counts_line(app)
        assert end == "delete" or any(words in line and line[5:].startswith("#8 ") for line in below(app))
        await settle(pilot, "2")
        assert end != "claim" or "✗ robot-1 ended with" in shown(app)
        await settle(pilot, "a")
        assert any(words in line and line.strip(" >•").startswith("✗") for line in lines(app))
        await settle(pilot, "escape", "A")
        assert any("robot-1" in line and "failed" in line and BOOM in line for line in lines(app))
        (need,) = [need for need in Needs(app.context).all() if need.agent == "robot-1"]
        visit(app.context, need)
        await settle(pilot)
        if end == "delete":
            assert isinstance(app.screen, Inbox) and app.screen.item.row.name == "robot-1"
            assert lines(app)[-1].startswith(" W Work  s Give back  Space Peek  Enter Agents  . Dismiss")
            await settle(pilot, "W")
            assert said(app) == "#8 is deleted: s brings it back."
            await settle(pilot, "s", "y")
            await until(pilot, lambda: any(line.rstrip("│ ").endswith(BOOM) for line in lines(app)))
        else:
            assert app.pane.target() == plan[8]


def test_a_task_is_left_by_the_agent_that_has_claimed_it_after_another_has_crashed(plan):
    crashed(plan, 8)
    with Store(plan.path) as store:
        store.commit(ClaimTask("bob", MINUTE, plan[8]), actor="bob", now=NOW)
        with store.db.transaction(write=True):
            connections.begin(store.db, "bob", Process(), NOW)
            connections.end(store.db, "bob", Process(), NOW)
        assert AppState(store.db, NOW).left[plan[8]].agent == "bob"


@pytest.mark.parametrize("end", ["start", "discard", "close", "delete"])
async def test_a_crashed_agent_counts_until_something_follows(end, plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        crashed(plan, 8)
        await until(pilot, lambda: "✗ 2 failed" in counts_line(app))
        with Store(plan.path) as store:
            (work,) = work_queries.of_task(store.db, plan[8])
            changes = {
                "discard": DiscardWork(work.uid),
                "close": EditTask(plan[8], {"status": "done"}),
                "delete": DeleteTask(plan[8]),
            }
            if end in changes:
                store.commit(changes[end], actor="human", now=NOW)
        if end == "start":
            begun(plan, 8)
        await until(pilot, lambda: "✗ 1 failed" in counts_line(app))


async def test_a_task_that_is_done_counts_as_done_only_once_its_work_is_merged(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "2/9 done" in shown(app)
        work = begun(plan, 9)
        with Store(plan.path) as store:
            store.commit(WorkReady(work.uid), actor="system", now=NOW)
            store.commit(EditTask(plan[9], {"status": "done"}), actor=work.agent, now=NOW)
        await until(pilot, lambda: "⇡" in shown(app))
        assert "2/9 done" in shown(app)
        with Store(plan.path) as store:
            store.commit(MergeWork(work.uid, "0" * 40), actor="human", now=NOW)
        await until(pilot, lambda: "3/9 done" in shown(app))


async def test_space_peeks_at_the_last_lines_and_enter_goes_to_the_terminal(plan, make_app, monkeypatch):
    begun(plan, 9, has_terminal=True)
    texts = ["line 1", "\x1b[31mline 2"]
    attached: list[str] = []
    monkeypatch.setattr(agent_terminals, "last_lines", lambda *_: list(texts))
    monkeypatch.setattr(peek_screens, "PEEK_SECONDS", 0.1)
    monkeypatch.setattr(attaching, "attach", lambda context, agent: attached.append(agent))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "space")
        assert isinstance(app.screen, Peek)
        await until(pilot, lambda: "line 1" in shown(app))
        assert "\x1b" not in shown(app) and "task/9" in shown(app)
        texts.append("line 3")
        await until(pilot, lambda: "line 3" in shown(app))
        await settle(pilot, "enter")
        await settle(pilot, "space")
        assert not isinstance(app.screen, Peek)
        await settle(pilot, "A")
        assert isinstance(app.screen, AgentsScreen)
        while app.screen.agent_here() != "robot-1":
            await settle(pilot, "j")
        await settle(pilot, "enter")
    assert attached == ["robot-1", "robot-1"]


async def test_the_peek_of_an_agent_that_crashes_says_how_it_ended_below_its_last_lines(plan, make_app, monkeypatch):
    work = begun(plan, 9, has_terminal=True)
    monkeypatch.setattr(agent_terminals, "last_lines", lambda *_: [*map(str, range(99)), "the last"])
    monkeypatch.setattr(peek_screens, "PEEK_SECONDS", 0.1)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(Peek(app.context, work.agent))
        await until(pilot, lambda: "the last" in shown(app))
        assert "robot-1   working" in lines(app)[0]
        with Store(plan.path) as store:
            store.commit(FailWork(work.uid, BOOM), actor="system", now=NOW)
        await until(pilot, lambda: BOOM in shown(app))
        assert "robot-1   ✗ failed   task/9" in lines(app)[0]
        assert lines(app)[-4:-1] == ["the last", "", f" ✗ {BOOM}"]


def test_all_agents_of_a_race_are_at_work_on_its_task(plan):
    works = [begun(plan, 9, worktree=f"/trees/{name}", branch=f"task/{name}", is_race=True) for name in "ab"]
    with Store(plan.path) as store:
        tasks = {one.name: one.task for one in agent_views.everyone(store.db, 0)}
        assert [tasks[work.agent].uid for work in works] == [plan[9], plan[9]]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_work_to_review_has_one_age_above_in_the_list_and_on_its_card(plan, make_app, size):
    work = begun(plan, 9, now=at(19, 30))
    with Store(plan.path) as store:
        store.commit(WorkReady(work.uid), actor="system", now=NOW - 300 * SECOND)
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        rows = [line for line in lines(app) if re.match(r"[ >]• ⇡ #9 ", line)]
        assert rows and all(line.rstrip("▐ ").endswith(" 5m") for line in rows), rows
        await settle(pilot, "2")
        assert "robot-1 · 5m" in shown(app)


async def test_the_log_says_to_which_agent_a_comment_went(plan, make_app):
    work = begun(plan, 9)
    with Store(plan.path) as store:
        store.commit(WorkReady(work.uid), actor="system", now=NOW)
        store.commit(CommentWork(work.uid, "A comment on your work: why?"), actor="human", now=NOW)
        store.commit(LogTask(plan[8], "mine"), actor="human", now=NOW)
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        (row,) = [line for line in lines(app) if "· log" in line and "on your work" in line]
        assert f"to {work.agent}: A comment on your work: why?" in row
        assert any("· log" in line and "mine" in line and " to " not in line for line in lines(app))


async def test_works_that_are_new_to_review_are_marked_in_their_rows(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        works = [begun(plan, number) for number in (9, 8)]
        with Store(plan.path) as store:
            store.commit(*(WorkReady(work.uid) for work in works), actor="system", now=NOW + SECOND)
        await until(pilot, lambda: all(f" • ⇡ #{number} " in shown(app) for number in (8, 9)))


async def test_a_race_names_all_its_agents_in_the_list_the_detail_and_where_another_is_started(plan, make_app):
    works = [begun(plan, 9, worktree=f"/trees/{name}", branch=f"task/{name}", is_race=True) for name in "ab"]
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot)
        assert any(re.match(r">. . #9 ", line) and "2 works: robot-1, robot-2" in line for line in lines(app))
        assert "robot-1 · task/a" in shown(app) and "robot-2 · task/b" in shown(app)
        await settle(pilot, "W")
        assert "a new worktree, in a race with robot-1, robot-2" in shown(app)
        await settle(pilot, "escape")
        with Store(plan.path) as store:
            store.commit(WorkReady(works[0].uid), actor="system", now=NOW)
        await until(pilot, lambda: "Enter reviews them" in shown(app))
        await until(pilot, lambda: "1 work to review: robot-1; robot-2 works" in shown(app))
        with Store(plan.path) as store:
            store.commit(WorkReady(works[1].uid), actor="system", now=NOW)
        await until(pilot, lambda: "2 works to review: robot-1, robot-2" in shown(app))


async def test_enter_on_an_agent_without_a_terminal_of_ours_shows_its_log_and_peeking_says_why_not(plan, make_app):
    begun(plan, 9)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        while app.screen.agent_here() != "claude-1":
            await settle(pilot, "j")
        await settle(pilot, "space")
        assert "was not started here, so it has no terminal" in said(app)
        await settle(pilot, "g")
        while app.screen.agent_here() != "robot-1":
            await settle(pilot, "j")
        await settle(pilot, "enter")
        assert app.navigation.pane_name == "log"


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_the_foot_names_the_review_on_a_task_whose_work_waits_for_it(plan, make_app, pane):
    work = begun(plan, 9)
    with Store(plan.path) as store:
        store.commit(WorkReady(work.uid), actor="system", now=NOW)
    app = make_app(plan.path, pane=pane)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "Enter Review" not in lines(app)[-1]
        app.navigation.go_to(plan[9])
        await until(pilot, lambda: "Enter Review" in lines(app)[-1])
        app.navigation.go_to(plan[8])
        await until(pilot, lambda: "Enter Review" not in lines(app)[-1])


async def test_work_that_failed_is_discarded_from_the_list(plan, make_app):
    crashed(plan, 9)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, *named("discard"))
        await until(pilot, lambda: "Discard the work of robot-1 on #9?" in shown(app))
        await settle(pilot, "y")
        await until(pilot, lambda: "Discarded the work of robot-1 on #9" in said(app))
        assert "ended with exit 3" not in shown(app)


async def test_work_is_discarded_from_the_list_while_its_agent_is_at_it_and_undo_brings_it_back(plan, make_app):
    work = begun(plan, 9)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, *named("discard"))
        await until(pilot, lambda: "Discard the work of robot-1 on #9?" in shown(app))
        await settle(pilot, "y")
        await until(
            pilot,
            lambda: "Discarded the work of robot-1 on #9. Its files are kept: u brings it back at once." in said(app),
        )
        with Store(plan.path) as store:
            assert work_queries.find(store.db, work.uid).state == "discarded"


async def test_a_message_to_an_agent_that_waits_at_its_prompt_in_our_terminal_is_read_at_once(plan, make_app):
    work = begun(plan, 9, has_terminal=True)
    with Store(plan.path) as store:
        session = session_queries.find(store.db, work.agent).session
        report = SessionReport(work.program, session, (TurnEnded("Which one?"),), NOW)
        store.commit(RecordReport(report, "", tasks=False), actor=work.agent, now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: any(one.name == work.agent for one in app.state.members))
        await agent_messages.send_message(app.context, work.agent, "Go on")
        assert said(app) == "Sent to robot-1."


async def test_a_message_to_an_agent_that_has_ended_with_its_work_does_not_wait_for_it(plan, make_app):
    work = begun(plan, 9)
    with Store(plan.path) as store:
        store.commit(SendMessage(work.agent, "hurry up"), actor="human", now=NOW)
        sent = message_queries.newest(store.db, work.agent, 1)[0]
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        assert agent_text.sent_line(sent, app.context, 80)[-1][0] == "waiting"
        with Store(plan.path) as store:
            store.commit(DiscardWork(work.uid), actor="human", now=NOW)
            store.commit(EndSession(work.agent, "its process has ended"), actor="system", now=NOW)
        await until(pilot, lambda: agent_text.sent_line(sent, app.context, 80)[-1][0] == "not read")
