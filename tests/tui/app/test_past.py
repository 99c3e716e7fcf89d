"""The past on the screen: every pane as it was, read only, and the four keys that go back and on in time."""

from __future__ import annotations

import asyncio
import gc
import itertools
import re
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.started import DEADLINE
from tests.tui.driving import (
    SIZES,
    agents_line,
    by_agent,
    counts_line,
    lines,
    named,
    opened,
    press,
    said,
    settle,
    shown,
    until,
    write,
)
from tests.tui.evening import Jobs, with_agents
from tests.tui.plan import MINUTE, NOW, ZONE, Plan
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.maintenance import moments
from tui_tasks.core.operations.asks import PauseAgent
from tui_tasks.core.operations.tasks import AddTask, EditTask, LogTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.tables import STATE
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections, local_values
from tui_tasks.tui.agents.agents_screen import AgentsScreen
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.state.past_link import PastLink

Look = Callable[..., TaskApp]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the private folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def look(plan: Plan) -> Look:
    """Look at the plan as it was."""

    def at_moment(when: object, **options: object) -> TaskApp:
        link = PastLink(plan.path, str(when), clock=lambda: NOW, zone=ZONE)
        return TaskApp(link, zone=ZONE, list_name=plan.list_uid, **options)

    return at_moment


def rows(db: Database) -> dict[str, list[str]]:
    return {table: sorted(map(repr, db.sql(f"SELECT * FROM {table}").fetchall())) for table in STATE}


def newest(plan: Plan) -> int:
    with Store(plan.path) as store:
        return journal.newest(store.db)


def head(app: TaskApp) -> str:
    return lines(app)[0]


async def test_the_panes_show_what_was_with_the_name_of_the_database_its_instant_and_entry(
    plan: Plan, look: Look
) -> None:
    seq = newest(plan)
    with Store(plan.path) as store:
        was = rows(store.db)
    by_agent(plan, "claude-1", EditTask(plan[5], {"status": "failed", "name": "Sink auth flow"}))
    by_agent(plan, "claude-1", AddTask("Written later", plan.list_uid))
    async with opened(look(seq)) as pilot:
        assert f"{Path(plan.path).name}  as it was Sat 21 Nov 20:15:02, journal entry {seq}" in head(pilot.app)
        assert rows(pilot.app.link.db) == was
        for pane in "1234":
            await press(pilot.app, pilot, pane)
            assert "Sink auth flow" not in shown(pilot.app)
            assert "Written later" not in shown(pilot.app)
        await press(pilot.app, pilot, "1")
        assert "◐ #5  Ship auth flow" in shown(pilot.app)


async def test_what_the_human_had_hidden_by_then_is_hidden_in_the_past_and_what_they_hid_later_is_not(
    plan: Plan, look: Look
) -> None:
    with Store(plan.path) as store:
        local_values.put(store.db, local_values.DISMISSED, {local_values.key_of_task(plan[3]): NOW - 10 * MINUTE})
    for when, words in (("20:12", "failures dismissed"), ("20:00", "1 failed")):
        async with opened(look(when)) as pilot:
            assert f"✗ {words}" in counts_line(pilot.app)


async def test_an_instant_shows_ages_as_they_were_then(plan: Plan, look: Look) -> None:
    async with opened(look("18:00")) as pilot:
        assert "as it was Sat 21 Nov 18:00:00" in head(pilot.app)
        (line,) = [line for line in lines(pilot.app) if "✓ #1  Inventory GA usage" in line]
        assert line.rstrip().endswith(" 59m")


async def test_less_and_greater_go_back_and_on_by_a_change_and_say_which(plan: Plan, look: Look) -> None:
    before = newest(plan)
    by_agent(plan, "claude-1", EditTask(plan[8], {"status": "in_progress"}), LogTask(plan[8], "begun"))
    with Store(plan.path) as store:
        now = rows(store.db)
    async with opened(look(before + 2)) as pilot:
        app = pilot.app
        assert "◐ #8  Backup restore drill" in shown(app)
        await press(app, pilot, "less_than_sign")
        assert head(app).endswith(f" entry {before}")
        assert "○ #8  Backup restore drill" in shown(app)
        await press(app, pilot, "less_than_sign")
        earlier = app.link.as_of.seq
        assert earlier < before
        await press(app, pilot, "greater_than_sign", "greater_than_sign")
        assert head(app).endswith(f" entry {before + 2}")
        assert rows(app.link.db) == now
        assert "claude-1  log  Backup restore drill: begun  (and 1 more)" in said(app)
        await press(app, pilot, "greater_than_sign")
        assert said(app) == "The journal has nothing later."


async def test_braces_go_back_and_on_by_an_hour(plan: Plan, look: Look) -> None:
    async with opened(look("20:10")) as pilot:
        app = pilot.app
        seqs = [app.link.as_of.seq]
        for hour in (19, 18, 17):
            await press(app, pilot, "left_curly_bracket")
            assert f"Sat 21 Nov {hour}:10:00" in head(app)
            seqs.append(app.link.as_of.seq)
        assert seqs == sorted(seqs, reverse=True)
        assert "✓ #1  Inventory GA usage" in shown(app)
        assert "○ #2  Audit CloudFlare WAF rules" in shown(app)
        for seq in reversed(seqs[:-1]):
            await press(app, pilot, "right_curly_bracket")
            assert app.link.as_of.seq == seq
        await press(app, pilot, "right_curly_bracket")
        assert app.link.as_of.instant == NOW, "no later than it is"


async def test_the_beginning_is_as_far_back_as_it_goes(plan: Plan, look: Look) -> None:
    async with opened(look(2)) as pilot:
        app = pilot.app
        await press(app, pilot, "less_than_sign", "less_than_sign")
        assert said(app) == "Here the journal begins."
        assert "No tasks yet." in shown(app)
        for key in ("less_than_sign", "left_curly_bracket"):
            await press(app, pilot, key)
            assert said(app) == "The journal has nothing earlier."
        await press(app, pilot, "greater_than_sign")
        await press(app, pilot, "greater_than_sign")
        assert "○ #1  Inventory GA usage" in shown(app)


@pytest.mark.parametrize("size", SIZES)
async def test_cursor_and_marks_stay_where_they_are(plan: Plan, look: Look, size: tuple[int, int]) -> None:
    async with opened(look(newest(plan)), size) as pilot:
        app = pilot.app
        await press(app, pilot, "j", "j", "v", "j")
        here = app.pane.target()
        for key in ("less_than_sign", "left_curly_bracket", "greater_than_sign", "right_curly_bracket"):
            await press(app, pilot, key)
            assert app.pane.target() == here
            assert [line for line in lines(app) if re.match(r"[ >]\+ \S #\d+ ", line)]


async def test_the_foot_of_the_past_offers_no_inbox(evening: Plan, look: Look) -> None:
    async with opened(look(newest(evening)), (120, 40)) as pilot:
        for pane in "1234":
            await press(pilot.app, pilot, pane)
            assert "Inbox" not in lines(pilot.app)[-1] and "Answer" not in lines(pilot.app)[-1]


async def test_nothing_can_be_written_and_what_is_written_meanwhile_comes_by_a_step(plan: Plan, look: Look) -> None:
    seq = newest(plan)
    async with opened(look(seq)) as pilot:
        app = pilot.app
        # Each key is pressed after a pause.
        app.key_queue.clock = itertools.count(step=60).__next__
        await press(app, pilot, "n")
        assert said(app) == "This screen is read only: it changes nothing."
        by_agent(plan, "claude-1", AddTask("Written meanwhile", plan.list_uid))
        app.link.catch_up()
        await pilot.pause()
        assert "Written meanwhile" not in shown(app)
        await press(app, pilot, "greater_than_sign")
        assert "Written meanwhile" in shown(app)
        assert "•" not in shown(app), "nothing is new in what was"


async def test_who_was_there_is_told_by_what_each_had_open_and_by_no_process_of_today(plan: Plan, look: Look) -> None:
    with_agents(plan)
    seq = newest(plan)
    by_agent(plan, "human", PauseAgent("claude-1", "stop"))
    async with opened(look(seq)) as pilot:
        app = pilot.app
        assert "agents" not in head(app)
        await press(app, pilot, "A")
        screen = app.screen
        assert isinstance(screen, AgentsScreen)
        states = {member.name: member.state for member in screen.listed.rows}
        assert states["claude-1"] in ("waiting", "working")
        assert "gone" not in states.values()
        assert "of connections only the last is known" in head(app)
        assert f"entry {seq}" in head(app), "the moment is told in the same place"
        await press(app, pilot, "greater_than_sign")
        assert {member.name: member.state for member in screen.listed.rows}["claude-1"] == "paused"


async def test_an_agent_whose_last_connection_had_ended_is_gone_and_the_line_of_counts_says_so(
    plan: Plan, look: Look
) -> None:
    with Store(plan.path) as store, store.db.transaction(write=True):
        connections.end(store.db, "claude-1", Process(), NOW + MINUTE)
    by_agent(plan, "human", LogTask(plan[8], "later"), now=NOW + 2 * MINUTE)
    async with opened(look(newest(plan))) as pilot:
        app = pilot.app
        await until(pilot, lambda: "▲ claude-1 gone" in counts_line(app))
        assert "▲ claude-1 gone #5" in agents_line(app)
        await press(app, pilot, "less_than_sign")
        assert "▲ 0 stuck or gone" in counts_line(app) and "◐ claude-1 #5" in agents_line(app)


@pytest.mark.parametrize(
    ("size", "moment"),
    [((40, 12), "was 20:15:02"), ((80, 24), "was Sat 21 Nov 20:15:02")],
)
async def test_the_first_line_tells_the_moment_to_the_second(
    plan: Plan, look: Look, size: tuple[int, int], moment: str
) -> None:
    async with opened(look(newest(plan)), size) as pilot:
        assert moment in head(pilot.app) and "entry" not in head(pilot.app)


async def test_the_log_that_is_exported_ends_with_what_is_shown(
    plan: Plan, look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(look(12)) as pilot:
        await settle(pilot, "3", *named("export"), "j")
        pilot.app.screen.query_one("#answer").value = "past.jsonl"
        await settle(pilot, "enter")
    assert (tmp_path / "past.jsonl").read_text().count("\n") == 12


async def test_the_output_of_a_run_that_had_ended_is_shown_and_that_of_one_that_ran_is_not(
    plan: Plan, look: Look
) -> None:
    jobs = Jobs(plan)
    app = look(newest(plan))
    assert app.link.db.sql("SELECT count(*) FROM run_log WHERE run_uid = ?", (jobs.running,)).fetchone() == (0,)
    app.link.stop()


async def test_the_keys_do_nothing_elsewhere_and_the_help_says_where_they_do(plan: Plan, app: TaskApp) -> None:
    async with opened(app) as pilot:
        await press(app, pilot, "less_than_sign", "colon")
        await write(pilot, "time")
        assert "Time travel" not in shown(app)
        await press(app, pilot, "escape", "question_mark")
        await write(pilot, "time")
        (line,) = [line for line in lines(app) if "Time travel: back by an hour" in line]
        assert "with watch --at" in line


async def test_the_palette_and_the_foot_have_the_keys_where_the_past_is_shown(plan: Plan, look: Look) -> None:
    async with opened(look(12)) as pilot:
        app = pilot.app
        assert "< Earlier  > Later  { Hour earlier  } Hour later" in lines(app)[-1]
        await press(app, pilot, "colon")
        await write(pilot, "time b")
        await press(app, pilot, "enter")
        assert head(app).endswith(" entry 11")


async def test_every_screen_stands_a_leap_to_the_beginning_and_back(plan: Plan, look: Look) -> None:
    Jobs(with_agents(plan))
    actions = (
        "job_runs",
        "asks",
        "agents",
        "stats",
        "digest",
        "pane_log",
        "log_open",
        "pane_board",
        "pane_list",
        "open",
    )
    async with opened(look(newest(plan), pane="schedule"), (80, 24)) as pilot:
        app = pilot.app
        seq = app.link.as_of.seq
        for action in (*actions, Inbox(app.context)):
            app.actions_here.do(action) if isinstance(action, str) else app.push_screen(action)
            await pilot.pause()
            for there in (0, seq):
                assert await app.link.move(lambda db, moment, now, there=there: moments.after(db, there), silent)
                await pilot.pause()
                assert app.link.as_of.seq == there
            app.navigation.close_overlays()


def silent(done: int, total: int) -> None:
    """Tell nobody how far a replay has come."""


async def test_leaving_removes_the_private_database(plan: Plan, look: Look, scratch: Path) -> None:
    async with opened(look(12)) as pilot:
        assert len(list(scratch.iterdir())) == 1
        await pilot.press("q")
    assert not list(scratch.iterdir())
    with Store(plan.path) as store:
        assert len(task_queries.tasks(store.db, task_queries.list_by_uid(store.db, plan.list_uid).id)) == 9


def test_a_replay_is_told_of(plan: Plan) -> None:
    heard: list[tuple[int, int]] = []
    link = PastLink(plan.path, "3", clock=lambda: NOW, report=lambda done, total: heard.append((done, total)))
    assert heard == [(3, 3)]
    link.stop()


def test_who_leaves_while_the_journal_is_replayed_leaves_nothing_behind(plan: Plan, scratch: Path) -> None:
    def leave(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PastLink(plan.path, "3", clock=lambda: NOW, report=leave)
    assert not list(scratch.iterdir())


async def test_who_leaves_during_a_step_sees_no_error_of_python(plan: Plan) -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
    link = PastLink(plan.path, "3", clock=lambda: NOW)
    is_left = threading.Event()

    def step(*_: object) -> None:
        is_left.wait(DEADLINE)
        raise RuntimeError

    moving = asyncio.ensure_future(link.move(step, lambda done, total: None))
    await asyncio.sleep(0)
    moving.cancel()
    await asyncio.gather(moving, return_exceptions=True)
    is_left.set()
    link.stop()
    for _ in range(3):
        await asyncio.sleep(0)
    del moving
    gc.collect()
    assert told == []
