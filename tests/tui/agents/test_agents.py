"""The agents screen: who is there, in which state, and what the human can tell them."""

import re
import subprocess
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.started import Started
from tests.tui.driving import (
    SIZES,
    above,
    agents_line,
    below,
    by_agent,
    counts_line,
    lines,
    opened,
    place,
    said,
    settle,
    shown,
    task,
    until,
)
from tests.tui.evening import Jobs, with_agents
from tests.tui.plan import NOW, SECOND, at, connect
from tests.tui.sessions import Sessions
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.asks import (
    PAUSED,
    AnswerAsk,
    CloseAsk,
    DeliverMessages,
    NoteStuck,
    OpenAsk,
    PauseAgent,
    SendMessage,
)
from tui_tasks.core.operations.jobs import FinishRun, RunJob
from tui_tasks.core.operations.tasks import ClaimTask, EditTask, ExtendClaim, LapseClaims, LogTask
from tui_tasks.core.read import ask_queries, job_queries, message_queries
from tui_tasks.core.read.agents import agent_states, agent_views, last_words
from tui_tasks.core.read.agents.agent_states import state_of
from tui_tasks.core.read.agents.stuck_causes import Thresholds
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.runner import processes
from tui_tasks.runner.scheduler_service import StuckWatch
from tui_tasks.settings.config import Config
from tui_tasks.text.times import DAY
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_layout import AgentOrder, Filled, columns
from tui_tasks.tui.agents.agent_rows import AgentsRows
from tui_tasks.tui.agents.agents_screen import AgentsScreen

QUIET = 600_000_000


def states(plan, now: int = NOW) -> dict[str, str]:
    with Store(plan.path) as store:
        return {member.name: state_of(member, now, QUIET) for member in agent_views.everyone(store.db, 0)}


def row_of(app, name: str) -> str:
    return next(line for line in below(app) if name in line[:16])


def answered(plan):
    """The agents, and claude-1 waits for nobody."""
    with Store(with_agents(plan).path) as store:
        mine = [ask.uid for ask in ask_queries.open_asks(store.db) if ask.agent == "claude-1"]
    by_agent(plan, "human", *(AnswerAsk(uid, "x") for uid in mine))
    return plan


@pytest.mark.linux
async def test_a_read_only_screen_sees_by_itself_that_an_agent_was_killed(plan, make_app):
    with Started(["cat"], stdin=subprocess.PIPE) as agent:
        with Store(plan.path) as store, store.db.transaction(write=True):
            connections.begin(store.db, "codex-9", Process(*processes.identity(agent.pid)), NOW)
        by_agent(plan, "codex-9", ClaimTask("codex-9", 60 * SECOND, plan[8]))
        app = make_app(plan.path, read_only=True)
        async with opened(app) as pilot:
            assert "codex-9" in agents_line(app)
            assert "0 stuck or gone" in above(app) and "gone #" not in above(app)
            agent.kill()
            await until(pilot, lambda: "codex-9 gone" in agents_line(app))
            assert "codex-9 gone" in counts_line(app)


def test_who_waits_for_the_human_who_works_who_does_nothing_and_who_is_gone(plan):
    assert states(with_agents(plan)) == {
        "claude-1": "asking",
        "claude-2": "waiting",
        "codex-1": "finished",
        "watcher": "idle",
    }
    assert states(answered(plan))["claude-1"] == "working"


def test_one_with_a_task_in_progress_that_says_nothing_is_quiet(plan):
    answered(plan)
    assert states(plan, at(20, 25))["claude-1"] == "working"
    assert states(plan, at(20, 25, 3))["claude-1"] == "quiet"


def test_one_that_is_quiet_or_gone_is_so_since_it_was_last_there_as_above_the_panes(plan):
    with Store(answered(plan).path) as store:
        (member,) = (one for one in agent_views.everyone(store.db, 0) if one.name == "claude-1")
    assert member.since != member.last_seen
    for state in ("quiet", "left", "gone", "finished"):
        assert agent_states.began(member, state, ()) == member.last_seen


def test_one_that_left_a_day_ago_is_not_told_of_unless_it_left_something_open(plan):
    by_agent(answered(plan), "old", LogTask(plan[8], "bye"), now=at(1, 0))
    by_agent(plan, "older", EditTask(plan[8], {"status": "in_progress", "agent": "older"}), now=at(0, 30))
    with Store(plan.path) as store:
        found = {member.name: member.state for member in agent_views.everyone(store.db, at(12, 0))}
    assert "old" not in found
    assert found["older"] == "gone"


def test_a_paused_agent_is_paused_even_where_it_never_spoke(plan):
    by_agent(plan, "human", PauseAgent("codex-9", "not today"))
    with Store(plan.path) as store:
        (found,) = (member for member in agent_views.everyone(store.db, 0) if member.name == "codex-9")
    assert (found.state, found.message, found.word) == ("paused", "not today", None)


def test_the_pulse_counts_by_the_minute_up_to_now(plan):
    for second in (1, 2, 3):
        by_agent(plan, "codex-1", LogTask(plan[8], "copied"), now=at(20, 12, second))
    by_agent(plan, "codex-1", LogTask(plan[8], "copied"), now=at(20, 14))
    with Store(plan.path) as store:
        (found,) = (member for member in agent_views.everyone(store.db, 0) if member.name == "codex-1")
    assert agent_views.pulse_at(found, at(20, 15, 59), 5) == [0, 3, 0, 1, 0]
    assert agent_views.pulse_at(found, at(22, 0), 5) == [0] * 5


def test_a_heartbeat_is_no_sign_of_work_and_no_last_word(plan):
    ((_, claim),) = by_agent(plan, "codex-1", ClaimTask("codex-1", 600 * SECOND, plan[8]), now=at(20, 12))
    by_agent(plan, "codex-1", ExtendClaim("codex-1", claim.uid), now=at(20, 13))
    with Store(plan.path) as store:
        (found,) = (member for member in agent_views.everyone(store.db, 0) if member.name == "codex-1")
    assert agent_views.pulse_at(found, at(20, 13, 1), 2)[1] == 0
    assert found.word.kind != "claim.extended"


def test_the_last_word_is_what_was_said_and_not_what_was_moved_since(plan):
    by_agent(plan, "codex-1", LogTask(plan[8], "copied 3 of 9"), now=at(20, 14))
    by_agent(plan, "codex-1", *(EditTask(plan[8], {"priority": n}) for n in (1, 2)), now=at(20, 15))
    with Store(plan.path) as store:
        (word,) = last_words.words(store.db, "codex-1", 1)
    assert (word.kind, word.text, word.task) == ("logged", "copied 3 of 9", plan[8])


def test_a_message_that_it_has_been_given_is_no_word_of_an_agent(plan):
    by_agent(plan, "human", SendMessage("codex-9", "hello"), now=at(20, 14))
    by_agent(plan, "codex-9", DeliverMessages("codex-9"), now=at(20, 15))
    with Store(plan.path) as store:
        assert last_words.words(store.db, "codex-9", 1) == []


@pytest.mark.parametrize("result", [{"commits": 3}, ["a"], 5, True, None, "text"])
def test_a_task_that_it_has_done_is_a_word_whatever_the_result(plan, result):
    changes = {"status": "done", "result": result}
    by_agent(plan, "codex-1", EditTask(plan[8], changes), now=at(20, 15))
    with Store(plan.path) as store:
        (word,) = last_words.words(store.db, "codex-1", 1)
    assert (word.kind, word.text, word.task) == ("status", "done", plan[8])


def test_a_run_that_it_has_done_is_a_word_too(plan):
    jobs = Jobs(plan)
    by_agent(plan, "human", RunJob(jobs[5]), now=at(20, 14))
    with Store(plan.path) as store:
        (run,) = job_queries.open_runs(store.db, jobs[5])
    by_agent(plan, "codex-1", FinishRun(run.uid, "error", "no paper"), now=at(20, 15))
    with Store(plan.path) as store:
        (word,) = last_words.words(store.db, "codex-1", 5)
    assert (word.kind, word.text, word.job) == ("ran", "no paper", "Weekly report")


async def test_the_note_on_an_agent_names_the_job_of_what_it_ran(plan, jobs, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A")
        assert " 20:13  ◷ Login audit: 12 logins" in shown(app)


def test_known_people_are_read_anew_only_where_they_spoke(plan, monkeypatch):
    with Store(plan.path) as store:
        known = agent_views.everyone(store.db, 0)
        asked = []
        monkeypatch.setattr(last_words, "newest_entries", lambda db, name: asked.append(name) or [])
        agent_views.everyone(store.db, 0, known)
        assert asked == []
        store.commit(LogTask(plan[5], "more"), actor="claude-1", now=NOW)
        agent_views.everyone(store.db, 0, known)
        assert asked == ["claude-1"]


async def test_every_agent_has_a_line_with_its_task_and_last_word(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot, "A")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert ("14m" if size[0] >= 80 else "9m") in row_of(app, "claude-1")
            assert "17m" in row_of(app, "codex-1")
            assert row_of(app, "codex-1").lstrip(" •").startswith("–")
            assert row_of(app, "watcher").lstrip(" •").startswith("○")
            if size[0] >= 80:
                assert any(line.startswith(f"─ Agents   {len(app.screen.members)} ─") for line in lines(app))
                assert "finished 17m" in row_of(app, "codex-1")
                assert '"running tests 14/22"' in row_of(app, "claude-1")
                assert "? asks 9m  #4 jose is maintained" in shown(app), "below what it does"
                assert "looked at the backups" in row_of(app, "watcher")


async def test_quiet_begins_after_the_seconds_of_the_configuration(plan, make_app):
    for seconds, state in (7200, "working"), (30, "quiet"):
        app = make_app(answered(plan).path, config=Config(quiet_after=seconds))
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot, "A")
            assert state in row_of(app, "claude-1")


async def test_a_word_that_comes_in_moves_neither_cursor_nor_rows(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A", "j", "j")
        assert app.screen.agent_here() == "watcher"
        by_agent(plan, "aaa", LogTask(plan[5], "I am new here"))
        await until(pilot, lambda: "aaa" in shown(app))
        assert app.screen.agent_here() == "watcher"


async def test_p_pauses_and_only_that_m_tells_why_and_p_again_lets_it_go_on(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A", "P")
        assert said(app) == "claude-1 is paused. m tells it why, P resumes it."
        assert message_queries.agent(app.link.db, "claude-1").message == PAUSED
        await settle(pilot, "m", *"wait for me", "enter")
        assert message_queries.agent(app.link.db, "claude-1").message == "wait for me"
        assert [message.text for message in message_queries.waiting(app.link.db, "claude-1")] == ["wait for me"]
        assert "paused" in row_of(app, "claude-1")
        await settle(pilot, "P")
        assert not message_queries.agent(app.link.db, "claude-1").paused
        assert "◐ claude-1  working" in row_of(app, "claude-1")


async def test_m_sends_a_message_to_the_agent_under_the_cursor(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "A", "j", "m", *"hello", "enter")
        last = journal.latest(app.link.db, 1)[0]
        assert (last.kind, last.new["agent"], last.new["text"]) == ("message.sent", "claude-2", "hello")


async def test_enter_shows_the_agents_log_and_esc_goes_back(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A", "escape")
        assert not isinstance(app.screen, AgentsScreen)
        await settle(pilot, "A", "enter")
        assert not isinstance(app.screen, AgentsScreen)
        assert app.navigation.pane_name == "log"


async def test_no_agent_at_all_says_how_to_let_one_in(tmp_path, make_app):
    app = make_app(tmp_path / "empty.db")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A", "m", "P", "enter")
        assert "No agent has spoken yet." in shown(app)


async def test_names_and_words_are_text_and_nothing_else(plan, make_app):
    by_agent(plan, "[@click=app.quit]\x1b[2J", LogTask(plan[5], "[/nope]\x07\nmore"), now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot, "A")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert "[@cli" in shown(app)
            assert not {"\x1b", "\x07"} & set(shown(app))


async def test_a_hundred_agents_are_gone_through_by_pages(plan, make_app):
    with Store(plan.path) as store:
        for number in range(100):
            store.commit(LogTask(plan[5], f"word {number}"), actor=f"bot-{number:03}", now=at(20, 14))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A", "G", "enter", "G")
        assert app.screen.agent_here() == "bot-099"
        await settle(pilot, "g")
        assert app.screen.agent_here() == "claude-1"


@pytest.mark.parametrize("state", ["waiting", "delivered", "it spoke since"])
async def test_the_note_tells_what_has_become_of_a_message(plan, make_app, state):
    by_agent(with_agents(plan), "human", SendMessage("claude-1", "hello [b]there"), now=at(20, 15, 10))
    if state != "waiting":
        by_agent(plan, "claude-1", DeliverMessages("claude-1"), now=at(20, 15, 11))
    if state == "it spoke since":
        by_agent(plan, "claude-1", LogTask(plan[5], "yes?"), now=at(20, 15, 12))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        (line,) = (line for line in shown(app).split("\n") if "you: hello [b]there" in line)
        assert line.rstrip().endswith(state)
        if state == "it spoke since":
            (said,) = (each for each in shown(app).split("\n") if each.startswith(" 20:15") and "yes?" in each)
            assert shown(app).index(said) < shown(app).index(line), "the newest comes first"


async def test_an_agent_of_single_calls_is_at_work_between_them_and_gone_after_a_silence(plan, make_app):
    by_agent(plan, "robin", EditTask(plan[7], {"status": "in_progress", "agent": "robin"}), now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert "working" in row_of(app, "robin")
        assert "#7 left" not in row_of(app, "robin")
    app = make_app(plan.path, config=Config(quiet_after=5))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert "#7 left in progress" in row_of(app, "robin")


@pytest.mark.parametrize("size", SIZES)
async def test_why_an_agent_is_stuck_stands_in_its_line_and_above_the_panes(plan, make_app, size):
    with Store(answered(plan).path) as store:
        note = NoteStuck("claude-1", "failure", "the same failure 3 times: pytest", at(20, 3))
        store.commit(note, actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        if size[0] > 60:
            assert "▲ claude-1 stuck" in counts_line(app) and agents_line(app).startswith(
                " ▲ claude-1 stuck #5 Ship auth flow"
            )
            assert re.search("▲ #5  stuck: the same failure 3 times: pytest.* claude-1 ", shown(app))
        else:
            assert "▲ claude-1" in lines(app)[0]
        await settle(pilot, "A")
        assert "the same" in row_of(app, "claude-1")
        if size[1] > 12 and size[0] > 60:
            assert "stuck since" in shown(app)
        # Another process tells that it goes on.
        by_agent(plan, "system", NoteStuck("claude-1", None))
        await until(pilot, lambda: "the same" not in shown(app))


async def test_every_cause_stands_in_agents_and_above_the_panes_with_the_keys_that_help(plan, make_app):
    app = make_app(answered(plan).path)
    async with app.run_test(size=(140, 40)) as pilot:
        for cause in ("limit", "agent", "tool", "failure", "flip", "lease", "silent"):
            by_agent(plan, "system", NoteStuck("claude-1", cause, f"by {cause}", NOW))
            app.link.check()
            await settle(pilot)
            assert agents_line(app).startswith(" ▲ claude-1 stuck #5 ")
            assert re.search(rf"▲ #5  stuck: by {cause} +claude-1 ", shown(app))
            await settle(pilot, "A")
            assert f"by {cause}" in row_of(app, "claude-1")
            foot = shown(app).splitlines()[-1]
            for key in ("m Message", "P Pause", "s Give back", "Enter Its log"):
                assert key in foot, foot
            by_agent(plan, "system", NoteStuck("claude-1", None))
            await settle(pilot, "escape")


async def test_one_whose_turn_a_limit_has_ended_is_told_to_wait_for_it(plan, make_app):
    with Store(plan.path) as store:
        sessions = Sessions(store)
        sessions.begin("claude", "a", "Clean the build", at(20, 0), "/home/me/code/api")
        sessions.tell("claude", "a", "StopFailure", at(20, 1), error="rate_limit", last_assistant_message="Your limit")
        StuckWatch(Thresholds).look(store, NOW)
        (name,) = (each for each in last_words.noted(store.db) if each.startswith("claude"))
    app = make_app(plan.path)
    async with app.run_test(size=(160, 40)) as pilot:
        await settle(pilot)
        assert f"✗ {name} failed" in agents_line(app)
        assert re.search(rf"✗ +Clean the build: waits for a limit: Your limit +{name}", shown(app))
        await settle(pilot, "A")
        assert "waits for a limit: Your limit" in row_of(app, name)


async def test_the_task_of_one_that_is_stuck_is_given_back_by_one_key(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A", "s", "p")
        task = task_queries.task(app.link.db, plan[5])
        assert (task.status, task.agent) == ("pending", None)
        await settle(pilot, "s")
        assert "claude-1 has no task" in said(app)


def test_a_note_makes_nobody_the_worker_of_a_task(plan):
    with Store(plan.path) as store:
        store.commit(EditTask(plan[8], {"status": "in_progress"}), actor="stayer", now=NOW)
        store.commit(LogTask(plan[8], "STRANGERS"), actor="passer-by", now=NOW + 1)
        assert {who: task.name for who, task in last_words.working(store.db).items()} == {
            "claude-1": "Ship auth flow",
            "stayer": "Backup restore drill",
        }
        store.commit(EditTask(plan[8], {"status": "done"}), actor="stayer", now=NOW + 2)
        store.commit(LogTask(plan[8], "well done"), actor="passer-by", now=NOW + 3)
        done = list_pages.line(store.db, plan[8])
        assert done is not None and (done.who, done.updated_by) == ("stayer", "passer-by")


def test_an_undo_gives_a_task_back_to_the_one_who_had_set_its_status(plan):
    with Store(plan.path) as store:
        store.commit(EditTask(plan[8], {"status": "in_progress"}), actor="stayer", now=NOW)
        store.commit(EditTask(plan[8], {"status": "done"}), actor="human", now=NOW)
        store.commit(Undo(), actor="human", now=NOW)
        assert last_words.working(store.db)["stayer"].uid == plan[8]


def test_a_pause_without_a_reason_is_told_to_the_human_in_other_words_than_to_the_agent():
    assert agent_text.pause_words(PAUSED) == "you have paused it" and agent_text.pause_words("not now") == "not now"


@pytest.mark.parametrize(("message", "times"), [(PAUSED, 0), ("not today", 1)])
async def test_below_the_row_of_a_paused_agent_stands_only_a_reason_that_the_human_gave(plan, make_app, message, times):
    by_agent(plan, "human", PauseAgent("claude-1", message))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        app.screen.window.move_to("claude-1")
        await settle(pilot)
        assert shown(app).count("paused: ") == times


async def test_the_key_after_a_resume_acts(plan, make_app):
    by_agent(plan, "human", PauseAgent("claude-1", "wait"))
    app = make_app(plan.path)
    now = [0.0]
    app.key_queue.clock = lambda: now[0]
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        app.screen.window.move_to("claude-1")
        await settle(pilot, "P")
        assert "claude-1 is resumed" in said(app)
        now[0] = 0.5
        await settle(pilot, "m")
        assert "Message to claude-1" in shown(app)
        assert "dropped" not in said(app)


async def test_a_question_that_was_answered_reads_with_the_answer_and_not_as_open(plan, make_app):
    by_agent(plan, "claude-3", OpenAsk("delete the cache?", ("yes", "no")), now=at(20, 0))
    with Store(plan.path) as store:
        connect(store, "claude-3")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        app.screen.window.move_to("claude-3")
        await settle(pilot)
        assert "answered" not in row_of(app, "claude-3")
        await settle(pilot, "y", "j")
        await until(pilot, lambda: 'you answered "yes" ' in row_of(app, "claude-3"))
        app.screen.window.move_to("claude-3")
        await until(pilot, lambda: '20:00  ? asked, you answered "yes" ' in shown(app))


async def test_after_an_answer_the_line_above_the_row_and_agents_show_what_the_agent_said_last(plan, make_app):
    asked = by_agent(plan, "claude-1", OpenAsk("Which port?", (), plan[5]))[0]
    with Store(plan.path) as store:
        old = ask_queries.open_asks(store.db)[0]
    by_agent(plan, "human", AnswerAsk(old.uid, "pyjwt"), AnswerAsk(asked.uid, "80"))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        said = '"running tests 14/22"'
        assert [line for line in lines(app) if "Ship auth flow" in line and said not in line] == []
        assert shown(app).count(said) >= 2 and "Which port?" not in shown(app)
        await settle(pilot, "A")
        assert said in row_of(app, "claude-1")


@pytest.mark.parametrize("size", SIZES)
async def test_an_agent_with_two_questions_shows_the_oldest_first_and_y_answers_it(plan, make_app, size):
    (first,) = by_agent(plan, "claude-3", OpenAsk("delete the cache?", ("yes", "no")), now=at(20, 0))
    (second,) = by_agent(plan, "claude-3", OpenAsk("and the logs?", ("yes", "no")), now=at(20, 14))
    with Store(plan.path) as store:
        connect(store, "claude-3")
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "A")
        app.screen.window.move_to("claude-3")
        await settle(pilot)
        row = row_of(app, "claude-3")
        assert "15m" in row and "2 ques" in row
        assert app.screen.ask.uid == first.uid
        if size[0] >= 120:
            assert "2 questions: delete the cache?" in row
        if size == (120, 40):
            await settle(pilot, "y")
            assert {ask.uid for ask in ask_queries.open_asks(app.link.db) if ask.agent == "claude-3"} == {second.uid}
            await settle(pilot, "j")
            await until(pilot, lambda: "and the logs?" in row_of(app, "claude-3"))
            assert "questions" not in row_of(app, "claude-3")


async def test_a_paused_agent_with_a_question_says_both_and_waits_for_you(plan, make_app):
    by_agent(plan, "claude-3", OpenAsk("delete the cache?", ("yes", "no")), now=at(20, 0))
    by_agent(plan, "human", PauseAgent("claude-3", "not today"))
    app = make_app(plan.path)
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot, "A")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert re.search("[?] 3 (asks|questions) ", counts_line(app)) if size[0] >= 60 else "? 3 " in lines(app)[0]
            assert app.screen.listed.rows[0].name == "claude-3"
            assert "asks: " in row_of(app, "claude-3")
            assert size[0] < 60 or "paused" in row_of(app, "claude-3")


async def test_an_idle_agent_does_not_read_as_at_work(plan, make_app):
    by_agent(answered(plan), "claude-1", EditTask(plan[5], {"status": "pending"}))
    by_agent(plan, "claude-1", EditTask(plan[5], {"status": "in_progress"}))
    by_agent(plan, "human", EditTask(plan[5], {"status": "pending", "agent": None}))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        row = row_of(app, "claude-1")
        assert "idle" in row
        assert "last: in progress #5" in row


def test_one_that_is_gone_and_holds_no_task_does_not_read_as_at_work(plan):
    by_agent(plan, "robin", EditTask(plan[7], {"status": "in_progress", "agent": "robin"}), now=at(20, 14))
    by_agent(plan, "human", EditTask(plan[7], {"status": "pending", "agent": None}), now=at(20, 15))
    with Store(plan.path) as store:
        (member,) = (one for one in agent_views.everyone(store.db, NOW - DAY) if one.name == "robin")
        context = SimpleNamespace(clock=SimpleNamespace(now=lambda: NOW), db=store.db)
        assert agent_text.matter(member, context, "gone")[0] == "last: in progress #7"


@pytest.mark.parametrize("width", [80, 120])
async def test_what_an_agent_works_on_is_named_at_every_width(plan, make_app, width):
    with Store(answered(plan).path) as store:
        Sessions(store).begin("claude", "a", "Port the API", at(20, 0), "/home/me/code/api")
    app = make_app(plan.path)
    async with app.run_test(size=(width, 24)) as pilot:
        await settle(pilot, "A")
        assert "#5 Ship auth flow" in row_of(app, "claude-1")
        assert '"Port the API"' in row_of(app, "claude-3")
        assert ("last 12 min" in shown(app)) is (width == 120), "what has no room for its label is not drawn"
        head = next(row for row in lines(app) if " who " in row)
        assert width == 80 or len(head) == max(len(row_of(app, one.name)) for one in app.screen.members), (
            "the title ends above the present minute"
        )


async def test_at_80_columns_question_and_task_stand_whole_in_their_columns(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(80, 30)) as pilot:
        await settle(pilot, "A")
        rows = below(app)
        head = next(row for row in rows if " who " in row)
        at = next(number for number, row in enumerate(rows) if "claude-2  waiting" in row)
        for column, words in (
            ("what", "Approve: delete the old GA property"),
            ("task", "#7 Migrate analytics GA to Plausible"),
        ):
            begins = head.index(column)
            ends = head.index("task") if column == "what" else None
            assert " ".join(row[begins:ends].strip() for row in rows[at : at + 2]) == words


async def test_a_text_has_all_its_lines_or_one(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(80, 9)) as pilot:
        await settle(pilot, "A")
        for height in range(10, 18):
            await pilot.resize_terminal(80, height)
            await settle(pilot)
            drawing = app.screen.window._agent_rows
            for row in app.screen.listed.rows:
                whole = 1 + len(drawing.others(row, 80))
                assert drawing.heights.get(row.name, 1) in (1, whole), (height, row.name)


async def test_the_column_of_states_is_as_wide_as_those_that_are_shown(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A")
        head = next(line for line in lines(app) if " who " in line)
        assert head.index("what") - head.index("state") == len("finished 17m") + 2


async def test_what_an_agent_works_on_stands_below_its_line_on_a_small_screen(plan, make_app):
    app = make_app(answered(plan).path)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "A")
        assert "#5 " in row_of(app, "claude-1") and "    #5 Ship auth flow" in shown(app)


@pytest.mark.parametrize("size", [(120, 40), (40, 12)])
@pytest.mark.parametrize("said", ["Called them", ""])
async def test_what_became_of_another_task_does_not_stand_beside_the_one_in_progress(plan, make_app, size, said):
    with Store(plan.path) as store:
        connect(store, "robin")
    by_agent(plan, "robin", EditTask(plan[8], {"status": "in_progress"}), now=at(20, 12))
    by_agent(plan, "robin", *[LogTask(plan[8], said)] * bool(said), now=at(20, 13))
    by_agent(plan, "robin", EditTask(plan[7], {"status": "failed"}), now=at(20, 14))
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "A")
        row = row_of(app, "robin")
        assert "failed" not in row and "#8" in row
        assert said in row


async def test_one_that_says_nothing_since_its_claim_lapsed_stands_before_those_that_are_idle(plan, make_app):
    with_agents(plan)
    by_agent(plan, "zeta", ClaimTask("zeta", 60_000_000, plan[8]), now=NOW - 400_000_000)
    by_agent(plan, "system", LapseClaims(), now=NOW - 300_000_000)
    with Store(plan.path) as store:
        connect(store, "alpha", "zeta")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        names = [row.name for row in app.screen.listed.rows]
        assert names.index("zeta") < names.index("alpha")
        assert "quiet 6m" in row_of(app, "zeta") and "#8 Backup" in row_of(app, "zeta")
        assert "idle" in row_of(app, "alpha")


async def test_one_that_has_left_its_task_stands_before_those_that_ask(plan, make_app):
    with Store(with_agents(plan).path) as store, store.db.transaction(write=True):
        connections.end(store.db, "claude-1", Process(), NOW)
    by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in asks_of(plan, "claude-1")))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert [row.name for row in app.screen.listed.rows][:2] == ["claude-1", "claude-2"]
        assert "▲ claude-1  gone" in row_of(app, "claude-1")
        assert " s Give back " in lines(app)[-1]
        assert counts_line(app).startswith(" ? 1 question   ▲ claude-1 gone   ✗ 1 failed ")


async def test_on_a_small_screen_the_task_that_was_left_is_named_once_in_a_line(plan, make_app):
    with Store(with_agents(plan).path) as store, store.db.transaction(write=True):
        connections.end(store.db, "claude-1", Process(), NOW)
    by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in asks_of(plan, "claude-1")))
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "A")
        assert row_of(app, "claude-1").count("#5") == 1


def asks_of(plan, agent: str):
    with Store(plan.path) as store:
        return [ask for ask in ask_queries.open_asks(store.db) if ask.agent == agent]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_one_that_asks_and_works_on_is_at_work_here_and_above_and_shows_question_and_task(plan, make_app, size):
    app = make_app(with_agents(plan).path)
    by_agent(plan, "claude-1", LogTask(plan[5], "tests 15/22"))
    async with app.run_test(size=size) as pilot:
        assert "◐ claude-1 #5" in agents_line(app)
        await settle(pilot, "A")
        row = row_of(app, "claude-1")
        assert "◐ claude-1  working 14m" in row and '"tests 15/22"' in row and "#5 Ship" in row
        at = lines(app).index(row)
        assert lines(app)[at + 1].strip().startswith("? asks 9m  #4 jose")
        assert " asks about #4 Pick JWT lib: jose or pyjwt" in shown(app), "the question below is no part of #5"
        assert "waiting" in row_of(app, "claude-2")
        assert re.match(" [?] 2 (asks|questions) ", counts_line(app))


@pytest.mark.parametrize("cells", [1, 3, 5, 9])
def test_the_title_of_the_column_of_projects_touches_no_other(cells):
    assert columns(120, Filled(8, where=cells)).where > len("where")


async def test_a_number_shows_a_pane_and_answers_nothing_whatever_the_agent_asks(plan, make_app):
    by_agent(with_agents(plan), "claude-3", OpenAsk("rm -rf /srv/backups/2025", ("allow", "deny")), now=at(20, 0))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        waiting = len(ask_queries.open_asks(app.link.db))
        for name in ("watcher", "claude-1", "claude-3"):
            await settle(pilot, "1", "A")
            app.screen.window.move_to(name)
            await settle(pilot, "2")
            assert app.navigation.pane_name == "board" and len(app.screen_stack) == 1
            assert len(ask_queries.open_asks(app.link.db)) == waiting, name


async def test_a_key_that_moves_acts_after_one_that_was_refused(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        app.screen.window.move_to("watcher")
        await settle(pilot, "y")
        assert said(app) == "watcher asks nothing."
        await settle(pilot, "x")
        assert said(app) == "watcher has no turn to end: pause it, or write to it."
        first = app.screen.listed.rows[0].name
        await settle(pilot, "g")
        await until(pilot, lambda: app.screen.agent_here() == first)


async def test_an_answered_agent_keeps_its_place_and_its_answer_until_the_cursor_leaves_it(plan, make_app):
    for number, question in enumerate(("push it?", "rm -rf /srv/backups/2025?")):
        by_agent(with_agents(plan), "claude-3", OpenAsk(question, ("allow", "deny")), now=at(19, number))
    with Store(plan.path) as store:
        connect(store, "claude-3")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        app.screen.window.move_to("claude-3")
        await settle(pilot)
        place = below(app).index(row_of(app, "claude-3"))
        await settle(pilot, "y")
        app.screen.context.say("")
        await settle(pilot)
        assert shown(app).splitlines()[-1].startswith(" a Next question")
        await settle(pilot, "y")
        assert said(app) == "Already answered: allow."
        assert "answered: allow" in row_of(app, "claude-3") and below(app).index(row_of(app, "claude-3")) == place
        assert [ask.question for ask in ask_queries.open_asks(app.link.db) if ask.agent == "claude-3"] == [
            "rm -rf /srv/backups/2025?"
        ]
        await settle(pilot, "x")
        assert said(app).startswith("Already answered: allow.")
        # Enter ends the words of the reason, for which no input has opened.
        await settle(pilot, "enter", "j", "k")
        assert "rm -rf" in row_of(app, "claude-3")


async def test_other_answers_than_yes_and_no_are_chosen_in_the_inbox(plan, make_app):
    by_agent(plan, "claude-3", OpenAsk("Ship?", ("Do it", "Leave it")), now=at(20, 0))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        app.screen.window.move_to("claude-3")
        await settle(pilot)
        assert shown(app).splitlines()[-1].startswith(" a Choose ") and "   Do it · Leave it   a choose…" in shown(app)
        await settle(pilot, "y")
        assert said(app) == "Yes does not answer this: a shows the whole question."
        await settle(pilot, "n")
        assert said(app) == "No does not answer this: a shows the whole question."
        await settle(pilot, "a")
        assert app.screen.NAME == "inbox" and app.screen.ask.question == "Ship?"
        await settle(pilot, "y")
        assert said(app) == "No single option says yes: 1-2 answer it, m replies in your own words."


async def test_options_stand_on_one_line_unless_one_could_look_like_two(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        for options, here, in_the_inbox in (
            (("Ship", "Wait"), ["Ship · Wait   a choose…"], ["1 Ship   2 Wait   m reply…"]),
            (("Ship   x Wait", "Wait"), ["Ship   x Wait", "Wait", "a choose…"], ["1 Ship   x Wait", "2 Wait"]),
            (("x Ship", "Wait"), ["x Ship · Wait   a choose…"], ["1 x Ship   2 Wait   m reply…"]),
            (("Ship · later", "Wait"), ["Ship · later", "Wait", "a choose…"], ["1 Ship · later   2 Wait   m reply…"]),
        ):
            (ask,) = by_agent(plan, "claude-3", OpenAsk("Now?", options), now=at(20, 0))
            app.link.check()
            await settle(pilot, "A")
            app.screen.window.move_to("claude-3")
            await settle(pilot)
            drawn = [line.strip() for line in lines(app)]
            assert [line for line in drawn if line.startswith(("Ship", "x Ship", "Wait", "a choose"))] == here
            await settle(pilot, "a")
            _, rule = place(app, "? asks")
            found = [line.strip() for line in lines(app)[rule:] if line.strip().startswith(("1 ", "2 Wait"))]
            assert found == in_the_inbox
            by_agent(plan, "claude-3", CloseAsk(ask.uid, "withdrawn"))
            await settle(pilot, "escape", "escape")


async def test_one_at_work_shows_how_long_ago_it_spoke_unless_within_a_minute(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert '"running tests 14/22"  ' in row_of(app, "claude-1")
        by_agent(plan, "claude-1", LogTask(plan[5], "waits for the build"), now=NOW - 7 * 60 * SECOND)
        await until(pilot, lambda: '"waits for the build" 7m' in row_of(app, "claude-1"))


async def test_places_have_a_column_only_where_two_differ(plan, make_app):
    with Store(plan.path) as store:
        sessions = Sessions(store)
        sessions.begin("claude", "a", "Clean the build", at(20, 5), "/home/me/code/api")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert "  where  " not in shown(app) and "api  " not in shown(app)
        with Store(plan.path) as store:
            Sessions(store).begin("claude", "b", "Release", at(20, 10), "/home/me/code/web")
        await until(pilot, lambda: "  where  " in shown(app) and "web  " in shown(app))


async def test_an_agent_is_marked_that_came_to_need_the_human_or_changed_a_task_until_all_is_seen(plan, make_app):
    with Store(with_agents(plan).path) as store:
        store.commit(LogTask(plan[8], "looked at the disks"), actor="before", now=at(19, 57))
        connect(store, "before")
        sessions = Sessions(store)
        sessions.begin("claude", "a", "Clean the build", at(19, 50), "/home/me/code/api")
        sessions.begin("claude", "b", "Release", at(20, 10), "/home/me/code/web")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        marked = {one.name for one in app.screen.members if "•" in row_of(app, one.name)[:3]}
        assert marked == {"claude-1", "claude-2", "codex-1", "watcher"}, "two ask, two have logged"
        await settle(pilot, "full_stop")
        assert not any("•" in row_of(app, one.name)[:3] for one in app.screen.members)


@pytest.mark.parametrize("size", SIZES)
async def test_a_filter_keeps_the_agents_whose_lines_have_its_words_and_escape_leaves_it(plan, make_app, size):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "A")
        everyone = len(app.screen.listed.rows)
        for words, found in (("waiting", ["claude-2"]), ("#5", ["claude-1"]), ("old property", ["claude-2"])):
            await settle(pilot, "slash", "ctrl+u", *words, "enter")
            assert [row.name for row in app.screen.listed.rows] == found, words
        await settle(pilot, "slash", *"zebra", "enter")
        said_so = "Nothing matches “old propertyzebra”: Esc clears the filter."
        await until(pilot, lambda: said_so in " ".join(shown(app).split()))
        await settle(pilot, "escape")
        assert len(app.screen.listed.rows) == everyone and isinstance(app.screen, AgentsScreen)
        await settle(pilot, "escape")
        assert not isinstance(app.screen, AgentsScreen)


async def test_a_letter_of_a_filter_looks_at_each_agent_once_and_a_move_at_none(plan, make_app, monkeypatch):
    app, looked = make_app(with_agents(plan).path), Counter()

    def counted(of: type, name: str) -> None:
        call = getattr(of, name)
        monkeypatch.setattr(of, name, lambda self, row: [looked.update([name]), call(self, row)][1])

    counted(AgentsRows, "says")
    counted(AgentOrder, "needs_you")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A", "slash")
        looked.clear()
        await settle(pilot, "c")
        assert looked["says"] == len(app.screen_stack[-2].members)
        assert looked["needs_you"] == len(app.screen_stack[-2].listed.rows)
        await settle(pilot, "enter")
        looked.clear()
        await settle(pilot, "j", "k")
        assert not looked


async def test_what_agents_with_nothing_open_are_found_by_is_put_together_once(plan, make_app, monkeypatch):
    with Store(plan.path) as store:
        for number in range(20):
            store.commit(LogTask(plan[8], f"note {number}"), actor=f"shell-{number}", now=at(16, 30))
    app, put_together = make_app(plan.path), []
    says = AgentsRows._says
    monkeypatch.setattr(
        AgentsRows, "_says", lambda self, row, state: [put_together.append(row.name), says(self, row, state)][1]
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A", "slash", "n")
        assert len([name for name in put_together if name.startswith("shell")]) == 20
        put_together.clear()
        by_agent(plan, "shell-7", LogTask(plan[8], "not 7 again"), now=at(16, 31))
        app.link.check()
        await settle(pilot, "o", "t")
        assert {name for name in put_together if name.startswith("shell")} == {"shell-7"}
        assert len(app.screen_stack[-2].listed.rows) >= 20 and "not 7 again" in shown(app)


async def test_the_key_that_pauses_an_agent_says_that_it_resumes_a_paused_one(plan, make_app):
    app = make_app(answered(plan).path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert "P Pause" in lines(app)[-1]
        await settle(pilot, "P", "j", "k")
        by_key = {row.name: number for number, row in enumerate(app.screen.listed.rows)}
        paused = next(row.name for row in app.screen.listed.rows if row.state == "paused")
        await settle(pilot, "g", *["j"] * by_key[paused])
        assert "P Resume" in lines(app)[-1] and "P Pause" not in lines(app)[-1]
        await settle(pilot, "colon", *"resume the")
        assert "Resume the agent" in shown(app)


async def test_the_note_has_all_lines_below_the_agents_and_stays_where_it_is_as_the_cursor_moves(plan, make_app):
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await settle(pilot, "A")
        at = lines(app).index(next(line for line in lines(app) if line.startswith("─ claude-1 ")))
        assert "claude-2 " in lines(app)[at - 2] and not lines(app)[at - 1], "an empty line below the last agent"
        assert "Tests must pass before merge." in shown(app)
        await settle(pilot, "j")
        assert lines(app)[at].startswith("─ claude-2 ")


async def test_what_fails_beside_agents_gets_a_row_above_them_at_once(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "A")
        for uid in (plan[6], plan[8], plan[9]):
            by_agent(plan, "amy", EditTask(uid, {"status": "failed"}))
            name = task(app, uid).name
            await until(pilot, lambda name=name: name in above(app))


async def test_keys_go_to_the_pane_that_is_shown_after_an_agents_log(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with opened(app) as pilot:
        for pane in "1234":
            await settle(pilot, pane)
            before = lines(app)[0]
            await settle(pilot, "A", "enter", "escape")
            assert isinstance(app.screen, AgentsScreen)
            await settle(pilot, "escape")
            assert lines(app)[0] == before
            assert app.screen.focused is app.pane.focus_target()
