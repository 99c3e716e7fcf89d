"""Words that agents hide in what a human decides about: each is drawn with a sign, wherever it is decided."""

from __future__ import annotations

import argparse
import re

import pytest
from textual.pilot import Pilot

from tests.tui.driving import by_agent, lines, settle, shown, until
from tests.tui.plan import NOW, Plan
from tui_tasks import ntfy
from tui_tasks.cli.supervise import decision_commands
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.asks import CloseAsk, OpenAsk
from tui_tasks.core.operations.jobs import CreateJob, EditJob
from tui_tasks.core.operations.tasks import AddTask, EditTask, SetListReview
from tui_tasks.core.read import ask_queries
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.store import Store

BLANKS = "Fix it." + " " * 3_000 + "Push it."
LATE = "g\u0456thub.com"
# In each, a second text could pass for the first; by the sign that tells them apart.
HIDDEN = {
    "thousands of blanks": (BLANKS, "␠×3000"),
    "a look-alike": (f"Push to {LATE}.", "g<U+0456>thub.com"),
    "a newline in the place of a wrap": ("Push to\nthe mirror.", "Push to⏎"),
    "a tab": ("Push\tit.", "Push⇥it."),
    "its own sign": ("Push⏎it.", "Push<U+23CE>it."),
}
# A question is no command: a new line is a line that no mark of a wrap begins, and in one line a dot.
IN_QUESTIONS = {**HIDDEN, "a newline in the place of a wrap": ("Push to\nthe mirror.", "Push to ·")}
# Questions with these are refused; tasks are not.
UNSEEN = {
    "no width": ("is\u200bAdmin", "is<U+200B>Admin"),
    "a tag": ("is\U000e0041Admin", "is<U+E0041>Admin"),
    "a filler": ("is\u3164Admin", "is<U+3164>Admin"),
    "a joiner in ASCII": ("is\u200dAdmin", "is<U+200D>Admin"),
}
PERSIAN = "می\u200cخواهم"


def packed(text: str) -> str:
    """A text without the blanks and frames that a screen adds."""
    return re.sub(r"[\s↳│]", "", text)


async def on_screen(make_app, plan: Plan, *keys: str, size: tuple[int, int] = (120, 40)) -> str:
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, *keys)
        return packed(shown(app))


async def is_drawn(pilot: Pilot[None], sign: str, times: int | None = None) -> None:
    """Wait until a sign is on screen, so many times if it must be."""

    def holds() -> bool:
        count = packed(shown(pilot.app)).count(packed(sign))
        return count == times if times else count > 0

    await until(pilot, holds)


def file_task(plan: Plan, name: str, description: str) -> str:
    with Store(plan.path) as store:
        store.commit(SetListReview(plan.list_uid, True), actor="human", now=NOW)
        return store.commit(AddTask(name, plan.list_uid, description), actor="claude-1", now=NOW)[0].uid


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_nothing_is_hidden_in_the_description_of_a_held_task(plan: Plan, make_app, size) -> None:
    uid = file_task(plan, "Mend it", "Nothing yet.")
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a", "tab", "tab")
        for text, sign in (HIDDEN | UNSEEN).values():
            assert packed(sign) not in packed(shown(app))
            by_agent(plan, "claude-1", EditTask(uid, {"description": text}))
            await is_drawn(pilot, sign)


async def test_nothing_is_hidden_in_the_prompt_of_a_held_job(plan: Plan, make_app) -> None:
    with Store(plan.path) as store:
        store.review = lambda: ReviewPolicy(jobs=True)
        uid = store.commit(CreateJob("nightly", "adhoc", "", "Nothing yet.", "UTC"), actor="claude-1", now=NOW)[0].uid
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "tab", "tab")
        for text, sign in (HIDDEN | UNSEEN).values():
            assert packed(sign) not in packed(shown(app))
            by_agent(plan, "claude-1", EditJob(uid, {"prompt": text}))
            await is_drawn(pilot, sign)


async def test_nothing_is_hidden_in_the_name_of_a_held_task(plan: Plan, make_app) -> None:
    uid = file_task(plan, "Mend it", "")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "tab", "tab")
        for text, sign in UNSEEN.values():
            assert packed(sign) not in packed(shown(app))
            by_agent(plan, "claude-1", EditTask(uid, {"name": text}))
            # In its row, and above its text.
            await is_drawn(pilot, sign, 2)


async def test_a_non_joiner_of_a_script_that_needs_it_stays_in_a_held_task(plan: Plan, make_app) -> None:
    file_task(plan, PERSIAN, PERSIAN)
    drawn = await on_screen(make_app, plan, "a", "tab", "tab")
    assert drawn.count(PERSIAN) == 3
    assert "U+200C" not in drawn


def asked(plan: Plan, text: str, options: tuple[str, ...] = ()) -> Ask:
    with Store(plan.path) as store:
        for ask in ask_queries.open_asks(store.db):
            store.commit(CloseAsk(ask.uid, "withdrawn"), actor=ask.agent, now=NOW)
        store.commit(OpenAsk(text, options), actor="claude-1", now=NOW)
        (ask,) = ask_queries.open_asks(store.db)
    return ask


@pytest.mark.parametrize("key", ["a", "A"])
async def test_nothing_is_hidden_in_a_question(plan: Plan, make_app, key: str) -> None:
    asked(plan, "Nothing yet?")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, key)
        for text, sign in IN_QUESTIONS.values():
            assert packed(sign) not in packed(shown(app))
            asked(plan, text)
            await is_drawn(pilot, sign)


async def test_a_question_has_its_own_lines_and_marks_where_one_goes_on(plan: Plan, make_app) -> None:
    asked(plan, f"The host is down.\n\n{'wait for ops ' * 12}\nWhich one?")
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        below = lines(app)[lines(app).index(" The host is down.") :]
        assert below[1] == "" and below[2].startswith(" wait for ops") and below[3].startswith(" ↳ ")
        assert " Which one?" in below and "⏎" not in shown(app)


@pytest.mark.parametrize("keys", [("a",), ("A",)])
async def test_nothing_is_hidden_in_an_option(plan: Plan, make_app, keys: tuple[str, ...]) -> None:
    asked(plan, "Where to?", (f"push to {LATE}", "no" + " " * 300 + "t here"))
    drawn = await on_screen(make_app, plan, *keys)
    assert "g<U+0456>thub.com" in drawn
    assert "no␠×300" in drawn


@pytest.mark.parametrize("trick", HIDDEN)
def test_a_phone_and_a_shell_show_a_question_with_its_signs(plan: Plan, capsys, trick: str) -> None:
    text, sign = HIDDEN[trick]
    ask, is_broken = asked(plan, text), "\n" in text
    told = ntfy.of_ask(ask, "", {"approve": "n"}, "https://x/y", titles=True)
    assert (text if is_broken else sign) in told["message"]
    options = argparse.Namespace(action=None, json=False, db=str(plan.path), read_only=False)
    decision_commands.run("asks", options)
    assert (text.replace("\n", "\n  │ ") if is_broken else sign) in capsys.readouterr().out


def test_a_phone_allows_nothing_whose_signs_do_not_fit_on_it(plan: Plan) -> None:
    ask = asked(plan, f"{LATE} " * 200)
    assert len(ask.question.encode()) < ntfy.MAX_TEXT_BYTES
    assert ntfy.answers(ask, titles=True) == ()


def test_an_option_that_is_another_with_its_signs_is_not_offered_on_a_phone_where_it_does_not_fit(plan: Plan) -> None:
    ask = asked(plan, "Where to?", (" ".join([LATE] * 3), "no"))
    assert ntfy.answers(ask, titles=True) == ()
