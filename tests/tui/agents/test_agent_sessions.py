"""Sessions of agent programs in Agents and in the inbox: their lines, their permissions, their turns."""

import itertools
import json
import re

import pytest

from tests.core.job_steps import Jobs
from tests.started import DEADLINE
from tests.tui.agents.test_agents import row_of
from tests.tui.driving import (
    SIZES,
    above,
    agents_line,
    below,
    by_agent,
    counts_line,
    lines,
    named,
    opened,
    said,
    settle,
    shown,
    until,
)
from tests.tui.evening import with_agents
from tests.tui.plan import NOW, at
from tests.tui.sessions import COMMAND, Sessions, asks_permission, hook_waits, with_sessions
from tests.tui.work.test_work_screen import begun
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import AnswerAsk, DeliverMessages, NoteStuck, PauseAgent, ResumeAgent
from tui_tasks.core.operations.jobs import NoteRunAgent, RunJob
from tui_tasks.core.operations.sessions import (
    EndSession,
    PromptSubmitted,
    SessionEnded,
    SessionReport,
    TurnFailed,
)
from tui_tasks.core.operations.tasks import EditTask, EnsureList, SetListReview
from tui_tasks.core.operations.work import CountWork, RunWork, StartWork, WorkReady
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import agent_states, agent_views
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.hooks import intake
from tui_tasks.text.glyphs import AGENT_LOOKS
from tui_tasks.text.times import DAY, SECOND, age
from tui_tasks.tui.agents import agent_layout
from tui_tasks.tui.agents.agent_layout import GoneAgents
from tui_tasks.tui.agents.agents_screen import AgentsScreen
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.keys import stray_words
from tui_tasks.tui.painting.styles import StyleCache


@pytest.fixture(scope="module")
def first_people(first_plan, tmp_path_factory):
    """The plan with sessions that tests copy: they take some thirty hooks."""
    return with_sessions(first_plan.copied(tmp_path_factory.mktemp("people") / "auth.db"))


@pytest.fixture
def people(first_people, tmp_path):
    plan = first_people.copied(tmp_path / "auth.db")
    with hook_waits(plan):
        yield plan


@pytest.fixture(scope="module")
def first_crowd(first_plan, tmp_path_factory):
    """The plan with many sessions that tests copy: they take some fifty hooks."""
    plan = first_plan.copied(tmp_path_factory.mktemp("crowd") / "auth.db")
    many(plan)
    return plan


@pytest.fixture
def crowd(first_crowd, tmp_path):
    """Twenty-one that work, and three that are gone."""
    return first_crowd.copied(tmp_path / "auth.db")


def ask_of(app, agent: str):
    """The newest question of an agent."""
    uids = app.link.db.sql("SELECT uid FROM ask WHERE agent = ? ORDER BY id DESC", (agent,)).fetchall()
    return ask_queries.ask(app.link.db, uids[0][0])


async def go_to(pilot, agent: str) -> None:
    pilot.app.screen.window.move_to(agent)
    await settle(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_the_one_that_is_worst_off_comes_first(people, make_app, size):
    app = make_app(people.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "A")
        rows = app.screen.listed.rows
        states = [app.screen._rows.state_of(row) for row in rows]
        assert states == ["asking", "waiting", "waiting", "failed", "working", "idle", "finished"]
        assert "rm -rf build/" in row_of(app, rows[2].name)
        assert "overloaded" in row_of(app, rows[3].name)
        assert ("Edit login.test.ts 9s" if size[0] > 40 else "Edit login.test.ts") in row_of(app, rows[4].name)
        if size[0] >= 60:
            assert re.match(r" \? 3 questions +▲ 0 stuck or gone +✗ 2 failed ", counts_line(app))
        else:
            assert lines(app)[0].startswith(" Agents") and "? 3  ✗ 2" in lines(app)[0]


def ended_by_an_error(plan, session: str, now: int) -> None:
    """The service of the model answers no more, and the program ends."""
    with Store(plan.path) as store, store.transaction(now) as transaction:
        events = (PromptSubmitted("go"), TurnFailed("overloaded"), SessionEnded())
        assert intake.record_report(transaction, "", SessionReport("claude", session, events, now), tasks=False)


async def test_a_session_that_an_error_has_ended_stands_above_the_others_for_an_hour_or_until_it_was_seen(
    people, make_app
):
    ended_by_an_error(people, "long ago", at(19, 10))
    ended_by_an_error(people, "of late", at(19, 20))
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        rows = [(member.name, member.state) for member in app.screen.listed.rows][3:]
        assert [state for _, state in rows] == ["failed", "failed", "working", "idle", "gone", "failed"]
        assert [name for name, state in rows if state == "failed"] == ["claude-5", "claude-8", "claude-7"]
        await settle(pilot, "escape", "full_stop", "full_stop", "A")
        rows = [(member.name, member.state) for member in app.screen.listed.rows][3:]
        # What is still there can be asked for something.
        assert [state for _, state in rows] == ["failed", "working", "idle", "gone", "failed", "failed"]
        assert rows[0][0] == "claude-5"


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_every_state_fits_in_its_column_with_the_longest_age(width):
    ages = [age(0, span) for span in (0, 59 * SECOND, 300 * DAY, 3_000 * DAY)]
    longest = max(len(f"{shown.word} {each}") for shown in AGENT_LOOKS.values() for each in ages)
    assert longest + 2 <= agent_layout.columns(width, agent_layout.Filled(8)).state


@pytest.mark.parametrize(
    ("height", "doing", "question"), [(30, "running tests 14/22", 1), (20, "running tests 14/2…  ? asks 9m ", 0)]
)
async def test_at_80_columns_a_question_never_takes_the_place_of_what_its_agent_does(
    people, make_app, height, doing, question
):
    app = make_app(with_agents(people).path)
    async with opened(app, (80, height)) as pilot:
        await settle(pilot, "A", "j", "j")
        at = next(number for number, row in enumerate(lines(app)) if " claude-1  working " in row)
        line, beside = lines(app)[at : at + 2]
        assert doing in line and "#5 Ship auth flow" in line
        assert ("? asks 9m " in line) is not bool(question)
        assert beside.strip().startswith("? asks 9m  #4 jose is maintained") is bool(question)


async def test_an_agent_that_has_failed_is_counted_as_such_and_told_of_where_it_is_out_of_sight(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        changes = "• unseen since 19:58: failed #3 claude-5, asked #4 #7 claude-3, started #5"
        assert counts_line(app) == f" ? 3 questions  ▲ 0 stuck or gone  ✗ 2 failed   {changes}"
        assert re.search(r"• ✗ +Fix the docs: overloaded +claude-5 +2m", above(app))
        with Store(people.path) as store:
            for number in range(20):
                asks_permission(Sessions(store), f"more {number}", at(20, 14))
        await settle(pilot, "A", "g")
        assert "overloaded" not in "".join(below(app)) and "↓ 16 below need you  G" in lines(app)[0]


async def test_an_agent_that_failed_without_a_task_is_named_by_its_prompt(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert any(re.match(r" • ✗ +Fix the docs: overloaded .*claude-5", line) for line in lines(app))
        await settle(pilot, "a")
        assert any(re.match(r". ✗ +Fix the docs: overloaded .*claude-5", line[1:]) for line in lines(app))


async def test_rows_of_the_inbox_without_a_project_or_an_agent_use_those_columns(evening, make_app):
    app = make_app(with_sessions(evening).path)
    async with app.run_test(size=(62, 24)) as pilot:
        await settle(pilot, "a")
        ask, late = (next(line for line in lines(app)[3:] if part in line) for part in ("rm -rf", "S3 "))
        assert " api " in ask
        assert "Restore test: due 19:50, no scheduler runs " in late


async def test_at_80_columns_a_line_says_in_which_folder_its_agent_is(people, make_app):
    app = make_app(people.path)
    async with opened(app, (80, 24)) as pilot:
        await settle(pilot, "A")
        head = next(row for row in below(app) if " who " in row)
        for agent, what, place in (
            ("claude-5", "overloaded", "web"),
            ("claude-3", "Bash: rm -rf build/", "api"),
            ("codex-1", "All tests pass.", "infra"),
        ):
            row = row_of(app, agent)
            assert row[head.index("what") :].startswith(what)
            assert row[head.index("where") : head.index("task")].strip() == place
            begins = [head.index(column) for column in ("state", "what", "where", "task")]
            assert all(row[at - 2 : at] == "  " for at in begins), "or two columns read as one"


async def test_what_is_unknown_of_what_it_spent_is_never_zero(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert row_of(app, "codex-1").rstrip().endswith('infra  "Port the API"'), "nobody has costs: no column"
        assert "spent" not in shown(app)
        assert "$0" not in shown(app) and "0 tokens" not in shown(app)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_an_agent_that_asks_has_the_task_of_its_question_and_the_whole_question(people, make_app, size):
    app = make_app(people.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "A")
        text = " ".join(" ".join(below(app)).split())
        assert "#5 Ship auth flow" in row_of(app, "claude-1")
        asked = "? asks 9m #4 jose is maintained but heavier; pyjwt is in the lockfile. Which one?"
        assert asked in text[: text.index("claude-2")], "below its line, not in the note alone"


async def test_one_that_asks_and_is_stuck_says_both(plan, make_app):
    by_agent(plan, "system", NoteStuck("claude-1", "failure", "the same failure 3 times", at(20, 3)))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert "▲ claude-1  stuck 12m" in row_of(app, "claude-1") and "the same failure" in row_of(app, "claude-1")
        assert app.screen.agent_here() == "claude-1", "one that is stuck stands first"
        rows = "\n".join(below(app))
        rows = rows[rows.index("the same failure") :]
        assert "Which one?" in rows[: rows.index("claude-2")]
        assert counts_line(app).startswith(" ? 2 questions   ▲ claude-1 stuck   ✗ 1 failed ")
        assert shown(app).splitlines()[-1].startswith(" a Choose  . Seen  m Message")


FAILURE = "exit 1 after {}s\nFAILED tests/test_auth.py::test_login - assert 401 == 200\n"


@pytest.mark.parametrize(("is_apart", "also"), [(True, "20:05, 20:03"), (False, "2 times at 20:03")])
async def test_an_agent_that_fails_again_and_again_shows_the_failures_that_make_it_stuck(
    plan, make_app, is_apart, also
):
    with Store(plan.path) as store:
        sessions = Sessions(store)
        sessions.begin("claude", "s", "Make it pass", at(20, 1), "/home/me/code/api")
        for minute, second in ((2, 0), (3, 0), (5, 0) if is_apart else (3, 9), (8, 0)):
            failed = {"tool_name": "Bash", "tool_use_id": "t", "error": FAILURE.format(second)}
            sessions.tell("claude", "s", "PostToolUseFailure", at(20, minute, second), **failed)
        store.commit(NoteStuck("claude-3", "failure", "the same failure 3 times", at(20, 3)), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        await go_to(pilot, "claude-3")
        below_stuck = shown(app).partition("stuck since 20:03")[2].splitlines()[1:]
        why = "✗ Bash: test_login: assert 401 == 200"
        assert below_stuck[0].strip() == f"20:08  {why}  also {also}" and "20:02" not in "".join(below_stuck)
        assert "tool failed" not in "".join(below_stuck), "the same is not told twice"
        note = app.screen._note_text.lines(110, 20)
        assert [style for line in note for text, style in line if why in text] == ["$state-failed"]
        await settle(pilot, "a", "tab")
        (row,) = (at for at, line in enumerate(lines(app)) if "stuck: the same failure 3 times" in line)
        assert lines(app)[row + 1].strip() == why


async def test_an_agent_whose_work_is_ready_is_not_at_work(plan, make_app):
    ready = begun(plan, 9)
    counts = {"ahead": 1, "behind": 0, "files": 3, "insertions": 41, "deletions": 7, "dirty": False}
    with Store(plan.path) as store:
        store.commit(CountWork(ready.uid, counts), WorkReady(ready.uid, "Done."), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert "⇡" in row_of(app, ready.agent) and "to review" in row_of(app, ready.agent)
        assert "3 files +41" in row_of(app, ready.agent)
        assert " to review" in counts_line(app) and " 1 working" not in shown(app)


async def test_an_act_has_one_word_and_one_key_and_a_question_is_not_told_twice(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        await go_to(pilot, _waits_for_permission(app))
        text = shown(app)
        assert lines(app)[-1].startswith(" y Allow  n Deny  a Choose ")
        drawn = [line.strip() for line in lines(app)]
        at = drawn.index("y Allow once   n Deny   a choose…")
        assert drawn[at + 1] == 'Allow once, and from now on every "make ..." in api (settings.local.json)'
        assert text.count("Allow Bash?") == 1


async def test_a_tool_that_begins_is_in_its_line_though_the_journal_has_nothing_of_it(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A")
        with Store(people.path) as store:
            seq = journal.newest(store.db)
            told = Sessions(store)
            told.tell("claude", "b", "PostToolUse", at(20, 15, 40), tool_name="Edit", tool_use_id="u")
            told.tell("claude", "b", "PreToolUse", at(20, 15, 41), tool_name="WebFetch", tool_use_id="v")
            assert journal.newest(store.db) == seq
        await until(pilot, lambda: "WebFetch 1s" in row_of(app, "claude-4"))


async def test_a_permission_that_stands_there_whole_is_allowed_from_the_line(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        name = _waits_for_permission(app)
        await go_to(pilot, name)
        assert "make all" in shown(app)
        await settle(pilot, "y")
        assert ask_of(app, name).answer == "Allow"


async def test_beside_a_permission_that_stands_whole_the_other_questions_have_rows_above_in_their_words(
    people, make_app
):
    app = make_app(people.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A")
        name = _waits_for_permission(app)
        await go_to(pilot, name)
        assert len(app.screen.window.rows_on_screen) == 5
        head = " ".join("\n".join(lines(app)[:9]).split())
        assert "• ? #7 Approve: delete the old GA property" in head and "lockfile. Which one?" in head
        assert "Bash: rm" not in head, "the note has it"
        drawn = [line.strip() for line in lines(app)]
        assert "y Allow once   n Deny   a choose…" in drawn
        assert 'Allow once, and from now on every "make ..." in api (settings.local.json)' in drawn
        for part in ("│ rm -rf build/⏎", "│ make all", "description: Clean the build"):
            assert part in drawn
        await settle(pilot, "y")
        assert ask_of(app, name).answer == "Allow"


async def test_a_longer_permission_takes_lines_of_the_agents_to_stand_there_whole(people, make_app):
    with Store(people.path) as store:
        command = {"command": "\n".join(f"make {number}" for number in range(7))}
        asks_permission(Sessions(store), "a", at(20, 15), tool_input=command)
    app = make_app(people.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A")
        name = _waits_for_permission(app)
        await go_to(pilot, name)
        assert "│ make 6" in [line.strip() for line in lines(app)]
        await settle(pilot, "y")
        assert ask_of(app, name).answer == "Allow"


@pytest.mark.parametrize(("size", "many"), [((40, 12), 1), ((120, 40), 300)])
async def test_one_that_does_not_stand_there_whole_is_answered_in_the_inbox_alone_and_allowed_at_its_end(
    people, make_app, size, many
):
    with Store(people.path) as store:
        long = {"command": "\n".join(f"echo {number}" for number in range(many)) + "\nrm -rf build/\nmake all"}
        asks_permission(Sessions(store), "a", at(20, 15), tool_input=long)
    app = make_app(people.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "A")
        await go_to(pilot, _waits_for_permission(app))
        assert lines(app)[-1].startswith(" a Answer ") and not re.search("Allow|Approve|Deny", lines(app)[-1])
        for key in "yx" if size == (40, 12) else "y":
            await settle(pilot, key)
            assert said(app) == "Not answered: a shows the whole question."
        # A reason that is typed on after x is dropped, up to its end.
        await settle(pilot, *["enter"] * (size == (40, 12)), "a")
        assert isinstance(app.screen, Inbox)
        ask = app.screen.ask
        assert ask.state == "open" and ask.request["tool"] == "Bash"
        if many > 1:
            await settle(pilot, "y")
            assert "More below" in said(app)
            assert ask_queries.ask(app.link.db, ask.uid).state == "open"
        while not app.screen.reading.is_read(app.screen.questions.view_of(ask).version):
            await settle(pilot, "pagedown")
        await settle(pilot, "y")
        assert ask_queries.ask(app.link.db, ask.uid).answer == "Allow"


def _waits_for_permission(app) -> str:
    return next(member.name for member in app.screen.listed.rows if member.ask and member.ask.request)


async def test_deny_from_the_line_says_why(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        name = _waits_for_permission(app)
        await go_to(pilot, name)
        await settle(pilot, "x", *"keep", "enter")
        assert ask_of(app, name).answer == "Deny: keep"


async def test_one_whose_hook_waits_no_more_takes_no_answer_and_says_where_it_is_answered(plan, make_app):
    app = make_app(with_sessions(plan).path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        name = _waits_for_permission(app)
        await go_to(pilot, name)
        await settle(pilot, "y")
        assert said(app).startswith("Only its own window can answer")
        assert said(app).endswith("waits for no answer from here.")
        assert ask_of(app, name).state == "open"


@pytest.mark.parametrize("screen", ["agents", "inbox"])
async def test_allow_always_takes_what_its_program_suggests(people, make_app, screen):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        name = _waits_for_permission(app)
        await go_to(pilot, name)
        await settle(pilot, *(("a",) if screen == "inbox" else ()), *named("always"))
        assert ask_of(app, name).answer == "Allow always: Bash(make:*) (localSettings)"


async def test_where_nothing_is_suggested_nothing_is_allowed_always(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", *named("always"))
        assert "suggests nothing" in said(app)
        assert app.screen.ask.state == "open"


async def test_what_a_tool_is_given_can_be_edited_is_shown_so_and_allowed_by_a_key(people, make_app, monkeypatch):
    monkeypatch.setattr(editor, "edit", lambda context, text: text.replace("make all", "make test"))
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        name = _waits_for_permission(app)
        await go_to(pilot, name)
        await settle(pilot, "a", "e")
        assert ask_of(app, name).state == "open"
        assert "make test" in shown(app)
        await settle(pilot, "y")
        ask = ask_of(app, name)
        assert ask.answer == "Allow"
        assert ask.request["updated_input"] == {**COMMAND, "command": "rm -rf build/\nmake test"}


@pytest.mark.parametrize("text", ["{", "[]", None])
async def test_an_edit_that_is_no_object_sends_nothing(people, make_app, monkeypatch, text):
    monkeypatch.setattr(editor, "edit", lambda context, before: text)
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        name = _waits_for_permission(app)
        await go_to(pilot, name)
        await settle(pilot, "a", "e")
        assert ask_of(app, name).state == "open"
        assert "othing" in said(app)


async def test_what_was_redacted_cannot_be_edited(people, make_app, monkeypatch):
    monkeypatch.setattr(editor, "edit", lambda context, before: json.dumps({"command": "x"}))
    with Store(people.path) as store:
        asks_permission(
            Sessions(store), "a", at(20, 15), tool_input={"command": "curl -H ghp_abcdefghijklmnopqrstuvwxyz012345"}
        )
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        name = _waits_for_permission(app)
        await go_to(pilot, name)
        await settle(pilot, "a", "e")
        assert ask_of(app, name).state == "open"


async def test_a_change_of_a_file_is_shown_as_what_goes_and_what_comes(people, make_app):
    change = {"file_path": "/src/a.py", "old_string": "one\ntwo", "new_string": "one\x1b[2J\nthree"}
    with Store(people.path) as store:
        asks_permission(Sessions(store), "a", at(20, 15), tool_name="Edit", tool_input=change)
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        await go_to(pilot, _waits_for_permission(app))
        await settle(pilot, "a")
        text = shown(app)
        for line in ("file_path: /src/a.py", "- one", "- two", "+ one␛[2J", "+ three", "in /home/me/code/api"):
            assert line in text
        assert "\x1b" not in text


async def test_one_answered_in_its_own_window_is_told_so(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        await go_to(pilot, _waits_for_permission(app))
        await settle(pilot, "a")
        with Store(people.path) as store:
            Sessions(store).tell("claude", "a", "PostToolUse", at(20, 15, 41), tool_name="Bash", tool_use_id="t")
        await until(pilot, lambda: "own window, or is no longer asked" in shown(app))


async def test_x_on_an_agent_that_a_run_has_started_tells_that_the_run_ends_too(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        working = next(member for member in app.screen.listed.rows if member.state == "working")
        with Store(people.path) as store:
            jobs = Jobs(store, lambda: NOW)
            job = jobs.make("review", "adhoc", dedicated_context=True)
            run = jobs.commit(RunJob(job.uid), "human")
            jobs.commit(NoteRunAgent(run.uid, working.name, "s-1"))
        await go_to(pilot, working.name)
        await settle(pilot, "x", *"enough", "enter")
        assert "Its turn ends now, and its run with it." in said(app)


async def test_x_ends_the_turn_of_one_that_works_and_says_why_not_of_others(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        working = next(member for member in app.screen.listed.rows if member.state == "working")
        await go_to(pilot, working.name)
        await settle(pilot, "x", *"enough", "enter")
        last = journal.latest(app.link.db, 1)[0]
        assert (last.kind, last.new["text"], last.new["ends_turn"]) == ("message.sent", "enough", True)
        assert "you: enough  waiting" in shown(app)
        # Each key is pressed after a pause.
        app.key_queue.clock = itertools.count(step=60).__next__
        for state in ("idle", "gone"):
            other = next(member for member in app.screen.listed.rows if member.state == state)
            await go_to(pilot, other.name)
            assert "End turn" not in lines(app)[-1]
            await settle(pilot, "x")
            assert f"{other.name} is {state}" in said(app)
        channel = next(member for member in app.screen.listed.rows if member.session is None)
        await go_to(pilot, channel.name)
        await settle(pilot, "x")
        assert "pause it, or write to it" in said(app)


async def test_one_that_makes_single_calls_is_not_called_gone_while_its_line_says_that_it_works(plan, make_app):
    by_agent(plan, "robin", EditTask(plan[8], {"status": "in_progress", "agent": "robin"}))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert "robin     working" in row_of(app, "robin")
        await go_to(pilot, "robin")
        await settle(pilot, "x")
        assert said(app).endswith("robin has no turn to end: pause it, or write to it.")


async def test_a_message_says_when_an_agent_reads_it_that_does_not_now(people, make_app):
    app = make_app(people.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        for state, when in (
            ("gone", "its session is resumed"),
            ("working", "its next tool starts or ends, or its turn ends"),
        ):
            name = next(member.name for member in app.screen.members if member.state == state)
            await go_to(pilot, name)
            await settle(pilot, "m", *"hello", "enter")
            assert said(app) == f"Queued: {name} reads it when {when}. u takes it back."


async def test_the_palette_takes_back_what_an_agent_did_since_a_moment(plan, make_app):
    from tui_tasks.core.operations.tasks import EditTask

    by_agent(plan, "rogue", EditTask(plan[8], {"name": "Gone wrong"}), now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        await go_to(pilot, "rogue")
        await settle(pilot, *named("revert"), *"10x", "enter")
        assert said(app).startswith("10x is not an instant")
        await settle(pilot, *named("revert"), *"10m", "enter")
        await settle(pilot, "y")
        await until(pilot, lambda: task_queries.task(app.link.db, plan[8]).name == "Backup restore drill")


async def test_the_agent_of_the_now_line_is_told_to_be_paused(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "paused" not in agents_line(app)
        by_agent(plan, "human", PauseAgent("claude-1", "wait"))
        await until(pilot, lambda: "– claude-1 paused #5" in agents_line(app))
        by_agent(plan, "human", ResumeAgent("claude-1"))
        await until(pilot, lambda: "◐ claude-1 #5" in agents_line(app))


def many(plan) -> None:
    """Twenty that work, one that waits for a permission, and three that are gone."""
    with Store(plan.path) as store:
        sessions = Sessions(store)
        for number in range(24):
            sessions.begin("claude", f"s{number}", f"Prompt {number}", at(20, 1), "/home/me/code/api")
        for number in (1, 2, 3):
            sessions.tell("claude", f"s{number}", "SessionEnd", at(20, 2), reason="other")


@pytest.mark.parametrize("size", SIZES)
async def test_who_waits_for_the_human_above_the_lines_on_screen_is_told_and_one_key_goes_there(crowd, make_app, size):
    app = make_app(crowd.path)
    async with app.run_test(size=(size[0], min(size[1], 16))) as pilot:
        await settle(pilot, "A", "G")
        above = " above" if size[0] > 60 else ""
        assert f"↑ 2{above} need you  g" in shown(app).splitlines()[0]
        with Store(crowd.path) as store:
            asks_permission(Sessions(store), "s20", NOW)
        await until(pilot, lambda: f"↑ 3{above} need you  g" in shown(app).splitlines()[0])
        await settle(pilot, "g")
        assert "need you  g" not in shown(app)


async def test_who_waits_out_of_sight_is_told_instead_of_the_counts(crowd, make_app):
    with Store(crowd.path) as store:
        for number in range(4, 10):
            Sessions(store).tell("claude", f"s{number}", "Stop", at(20, 3), last_assistant_message="Done.")
        Sessions(store).tell("claude", "s10", "StopFailure", at(20, 13), error_message="overloaded", error="overloaded")
    app = make_app(crowd.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "A", "G")
        assert re.fullmatch(" Agents +↑ 3 need you  g", shown(app).splitlines()[0])


async def test_those_that_are_gone_are_one_line_that_enter_opens(crowd, make_app):
    app = make_app(crowd.path)
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot, "A", "G")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert "· 3 finished   Enter shows them" in shown(app)
            assert [len(row.names) for row in app.screen.listed.rows if isinstance(row, GoneAgents)] == [3]
            assert len(app.screen.listed.rows) == 2 + 21 + 1
            await settle(pilot, "enter", "j")
            assert app.screen.member.state == "gone"
            await settle(pilot, "k", "enter")
            assert len(app.screen.listed.rows) == 2 + 21 + 1


async def test_those_that_finished_are_told_from_those_whose_process_ended(plan, make_app):
    with Store(plan.path) as store:
        sessions = Sessions(store)
        for number in range(3):
            sessions.begin("claude", f"s{number}", f"Prompt {number}", at(20, 1), "/home/me/code/api")
        for number in (1, 2):
            sessions.tell("claude", f"s{number}", "SessionEnd", at(20, 2), reason="other")
        with store.db.transaction(write=True):
            store.db.sql("UPDATE session SET ended_by = 'process' WHERE session = 's2'")
            connections.end(store.db, "claude-1", Process(), NOW)
    app = make_app(plan.path)
    by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert " ▲ claude-1 gone " in counts_line(app)
        assert "· 1 offline, 1 finished" in shown(app)


async def test_a_program_without_hooks_has_no_turn_to_end_and_finishes_with_its_process(plan, make_app):
    with Store(plan.path) as store:
        (work,) = store.commit(StartWork(plan[9], "robot", "/repo", "/trees/9"), actor="human", now=NOW)
        store.commit(RunWork(work.uid, prompt="Do it."), actor="human", now=NOW)
        app = make_app(plan.path)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, "A")
            await go_to(pilot, "robot-1")
            assert "End turn" not in shown(app).splitlines()[-1]
            app.key_queue.clock = itertools.count(step=60).__next__  # each key is pressed after a pause
            await settle(pilot, "x")
            assert said(app).endswith("robot-1 has no hooks: it hears nothing. : discard ends it.")
            await settle(pilot, "m", *"hello")
            when = "when it next calls a tool of tui-tasks, or you send its work back: its program has no hooks"
            assert f"Message to robot-1. Read {when}" in " ".join(shown(app).split())
            await settle(pilot, "enter")
            assert said(app) == f"Queued: robot-1 reads it {when}. u takes it back."
            assert "you: hello  waiting" in shown(app)
            await settle(pilot, "u")
            await until(pilot, lambda: said(app) == "Taken back: your message to robot-1. m has its text again.")
            assert "you: hello" not in shown(app)
            await settle(pilot, "m", "enter")
            store.commit(DeliverMessages("robot-1"), actor="robot-1", now=NOW)
            await until(pilot, lambda: "you: hello  delivered" in shown(app))
            await settle(pilot, "u")
            assert said(app).startswith("robot-1 has your message already: it stays sent. u again undoes")
            await settle(pilot, "P")
            assert "is paused: its calls to tui-tasks are refused, but it works on" in said(app)
            await settle(pilot, "P", *named("discard"))
            assert "Discard the work of robot-1 on #9?" in shown(app)
            await settle(pilot, "escape")
        store.commit(EditTask(plan[9], {"status": "done"}), actor="robot-1", now=NOW)
        store.commit(EndSession("robot-1", "its process has ended"), actor="system", now=NOW)
        (robot,) = (one for one in agent_views.everyone(store.db, 0) if one.name == "robot-1")
    assert agent_states.has_finished(robot)


async def test_one_that_is_gone_and_has_left_a_task_has_a_line_above_those_that_work(crowd, make_app):
    with Store(crowd.path) as store, store.db.transaction(write=True):
        connections.end(store.db, "claude-1", Process(), NOW)
    app = make_app(crowd.path)
    by_agent(crowd, "human", *(AnswerAsk(ask.uid, "x") for ask in ask_queries.open_asks(app.link.db)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert app.screen.listed.rows[0].name == "claude-1"
        assert "#5 left in progress" in row_of(app, "claude-1")


async def test_a_prompt_that_cannot_become_a_task_says_why(plan, make_app):
    with Store(plan.path) as store:
        (home,) = store.commit(EnsureList("sessions", "session"), actor="human", now=NOW)
        store.commit(SetListReview(home.uid, review=True), actor="human", now=NOW)
        with store.transaction(NOW) as transaction:
            report = SessionReport("claude", "s", (PromptSubmitted("Write the tests"),), NOW)
            assert intake.record_report(transaction, "", report, tasks=True)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        await go_to(pilot, "claude-3")
        (line,) = (line for line in shown(app).splitlines() if line.startswith(" no task "))
        assert "held until the human" in line or "pending" in line
        with Store(plan.path) as store:
            store.commit(SetListReview(home.uid, review=False), actor="human", now=NOW)
            with store.transaction(NOW) as transaction:
                report = SessionReport("claude", "s", (PromptSubmitted("Once more"),), NOW)
                assert intake.record_report(transaction, "", report, tasks=True)
        await until(pilot, lambda: " no task " not in shown(app))


async def test_the_rules_of_a_list_are_not_changed_where_it_is_not_on_screen(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        for word in ("one", "hold", "change"):
            seq = journal.newest(app.link.db)
            for screen, how in (("A", "Esc goes back to the panes"), ("4", "1 shows it")):
                await settle(pilot, screen, *named(word))
                assert said(app) == f"No list is on screen. {how}."
                await settle(pilot, "escape", "escape")
            assert journal.newest(app.link.db) == seq
            await settle(pilot, "2", *named(word))
            assert "No list is on screen" not in said(app)
            await settle(pilot, "escape")


async def test_words_typed_at_a_prompt_that_could_not_open_are_dropped_up_to_a_pause(people, make_app, monkeypatch):
    # The g would move once no other letter comes for so long.
    monkeypatch.setattr(stray_words, "_TYPING", DEADLINE)
    app = make_app(people.path)
    now = [0.0]
    app.key_queue.clock = lambda: now[0]
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        idle = next(member for member in app.screen.listed.rows if member.state == "idle")
        await go_to(pilot, idle.name)
        seq = journal.newest(app.link.db)
        await settle(pilot, "x", *"gemini-3", "space", "q", "enter")
        assert isinstance(app.screen, AgentsScreen)
        assert journal.newest(app.link.db) == seq
        assert said(app).endswith(f"{idle.name} is idle: it has no turn to end. What you typed was dropped.")
        assert app.screen.agent_here() == idle.name
        await settle(pilot, "x", *"no", "escape")
        assert not isinstance(app.screen, AgentsScreen), "Esc closes what is open"
        await settle(pilot, "A")
        await go_to(pilot, idle.name)
        await settle(pilot, "x", "enter")
        # Enter has ended the words.
        await settle(pilot, "k")
        assert app.screen.agent_here() != idle.name
        await go_to(pilot, idle.name)
        await settle(pilot, "x", "x")
        now[0] += 1.1
        await settle(pilot, "m", *"hello", "enter")
        last = journal.latest(app.link.db, 1)[0]
        assert (last.kind, last.new["text"]) == ("message.sent", "hello")


async def test_the_line_of_a_program_without_hooks_names_the_key_that_shows_its_terminal(plan, make_app):
    with Store(plan.path) as store:
        (work,) = store.commit(StartWork(plan[9], "robot", "/repo", "/trees/9"), actor="human", now=NOW)
        process = Process("b", "n", 4, "7")
        store.commit(RunWork(work.uid, process, prompt="Work on task #9."), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert "working" in row_of(app, work.agent)
        at = next(at for at, line in enumerate(lines(app)) if "reports nothing: Space shows its" in line)
        assert lines(app)[at + 1].strip() == "terminal"


async def test_a_program_that_was_started_and_has_reported_nothing_is_said_to_ask_at_its_terminal(plan, make_app):
    with Store(plan.path) as store:
        started = StartWork(plan[9], "codex", "/repo", "/trees/9")
        (work,) = store.commit(started, actor="human", now=NOW - 6 * SECOND)
        store.commit(RunWork(work.uid, Process("b", "n", 4, "7")), actor="system", now=NOW - 6 * SECOND)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert "not reported yet: its terminal" in row_of(app, work.agent)


async def test_only_mark_and_state_of_a_row_are_coloured_and_what_it_says_is_read_as_any_text(people, make_app):
    app = make_app(people.path)
    async with opened(app, (120, 40)) as pilot:
        await settle(pilot, "A", "G")
        style = StyleCache.of(app).style
        drawn = [list(app.screen.window.render_line(line)) for line in range(app.screen.window.size.height)]
        for agent, said, color in (
            ("claude-5", "overloaded", "$state-failed"),
            ("claude-2", "Approve: delete", "$state-needs-you"),
        ):
            row = next(row for row in drawn if any(agent in part.text for part in row))
            colors = {part.style.color for part in row if said in part.text and part.style is not None}
            marks = {part.style.color for part in row if part.text in "✗?" and part.style is not None}
            assert (colors, marks) == ({style("").color}, {style(color).color})
