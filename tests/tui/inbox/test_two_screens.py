"""Two screens of one person on one database: a key on one allows only what has stood on that one, as it is now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.tui.driving import shown
from tests.tui.inbox.test_tricks import KEYS, WHOLE, Stage, reviewed
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.operations.jobs import EditJob
from tui_tasks.core.operations.tasks import EditTask, SetListReview

__all__ = ("reviewed",)

Trick = Callable[[Stage, Stage], Awaitable[None]]
TRICKS: dict[str, Trick] = {}


def trick(made: Trick) -> Trick:
    """Name a trick by its function."""
    TRICKS[made.__name__.replace("_", " ")] = made
    return made


async def open_both(here: Stage, there: Stage, *kind: str) -> None:
    """Open the inbox on both screens."""
    await here.opens(*kind)
    await there.opens(*kind)


async def two_questions(here: Stage, there: Stage) -> None:
    """Ask a harmless question and another one, and open both screens."""
    here.asks()
    here.asks("Drop it?", by="other")
    await open_both(here, there)


async def two_held_tasks(here: Stage, there: Stage) -> None:
    """File a harmless task and another one, and open both screens."""
    here.files("Harmless", by="agent-1")
    here.files("Drop it", by="agent-2", description="evil")
    await open_both(here, there, "held")


async def a_held_task(here: Stage, there: Stage) -> str:
    """File a task and open both screens; return its uid."""
    uid = here.files()
    await open_both(here, there, "held")
    return uid


# `here` is the screen on which keys that allow follow at once; `there` is the other one.


@trick
async def answered_there_and_the_next_is_here(here: Stage, there: Stage) -> None:
    await two_questions(here, there)
    await there.press("y")
    await here.sees()


@trick
async def answered_there_before_it_is_seen_here(here: Stage, there: Stage) -> None:
    await two_questions(here, there)
    await there.press("y")


@trick
async def read_there_alone(here: Stage, there: Stage) -> None:
    here.asks("Drop it?")
    await there.opens()
    await there.stands(60)
    await here.press("a")


@trick
async def a_long_one_read_there_to_its_end(here: Stage, there: Stage) -> None:
    here.asks("May I?\n" * 100 + "And drop it?")
    await open_both(here, there)
    await there.press(*["pagedown"] * 12)
    await there.stands(60)
    await here.stands(60)


@trick
async def put_off_there(here: Stage, there: Stage) -> None:
    await two_questions(here, there)
    await there.press("z")
    await here.press("z")


@trick
async def denied_there_and_asked_anew(here: Stage, there: Stage) -> None:
    here.asks()
    await open_both(here, there)
    await there.press("2")
    here.asks()
    await here.sees()


@trick
async def all_of_an_agent_settled_there(here: Stage, there: Stage) -> None:
    here.asks("Harmless")
    here.asks("Drop it?", by="other")
    await open_both(here, there)
    await there.press("x", "enter")
    await here.sees()


# Held tasks and jobs


@trick
async def accepted_there_and_the_next_is_here(here: Stage, there: Stage) -> None:
    await two_held_tasks(here, there)
    await there.press("y")
    await here.sees()


@trick
async def accepted_there_undone_and_edited(here: Stage, there: Stage) -> None:
    uid = await a_held_task(here, there)
    await there.press("y", "u")
    here.does(EditTask(uid, {"description": "evil"}))
    await here.sees()


@trick
async def accepted_here_undone_there_and_edited_before_the_redo(here: Stage, there: Stage) -> None:
    uid = here.files()
    await here.opens("held")
    await here.press("y")
    await there.press("u")
    here.does(EditTask(uid, {"description": "evil"}))
    await here.sees()
    await here.press("ctrl+r")


@trick
async def accepted_there_undone_here_and_edited_before_the_redo(here: Stage, there: Stage) -> None:
    uid = await a_held_task(here, there)
    await there.press("y")
    await here.press("u")
    here.does(EditTask(uid, {"name": "evil"}))
    await there.press("ctrl+r")


@trick
async def declined_there_edited_and_the_decline_undone(here: Stage, there: Stage) -> None:
    uid = await a_held_task(here, there)
    await there.press("x", "enter")
    here.does_or_not(EditTask(uid, {"description": "evil"}))
    await there.press("u")
    await here.sees()


@trick
async def declined_there_and_the_next_is_here(here: Stage, there: Stage) -> None:
    await two_held_tasks(here, there)
    await there.press("x", "enter")
    await here.sees()


@trick
async def marked_here_and_one_is_edited_there(here: Stage, there: Stage) -> None:
    here.files("Harmless", by="agent-1", description="short")
    uid = here.files("Tidy", by="agent-2")
    await here.opens("held")
    await here.press("V")
    await there.opens("held")
    here.does(EditTask(uid, {"description": "evil"}), by="agent-2")
    await here.sees()


@trick
async def marked_here_and_all_are_declined_there_with_others_in_their_place(here: Stage, there: Stage) -> None:
    for number in range(3):
        here.files("Tidy", by=f"agent-{number}")
    await here.opens("held")
    await here.press("V")
    await there.opens("held")
    await there.press("V", "x", "enter")
    for number in range(3):
        here.files("Drop it", by=f"agent-{number}")
    await here.sees()


@trick
async def joined_there_with_another(here: Stage, there: Stage) -> None:
    here.files("Harmless")
    here.files("Drop it", by="agent-2", **WHOLE)
    await open_both(here, there, "held")
    await there.press("x", "enter")
    await here.sees()


@trick
async def a_form_is_open_here_and_the_task_changes(here: Stage, there: Stage) -> None:
    uid = here.files("Harmless")
    await here.opens("held")
    await here.press("e")
    here.does(EditTask(uid, {"description": "evil"}))
    await here.sees()
    await here.press("ctrl+s", "escape", "escape")


@trick
async def review_ends_there_and_begins_again_with_an_edit_between(here: Stage, there: Stage) -> None:
    uid = here.files("Harmless")
    await here.opens("held")
    here.does(SetListReview(here.plan.list_uid, False), by="human")
    here.does_or_not(EditTask(uid, {"description": "evil"}))
    here.does(SetListReview(here.plan.list_uid, True), by="human")
    await here.sees()


@trick
async def a_job_accepted_there_undone_and_edited(here: Stage, there: Stage) -> None:
    uid = here.makes()
    await open_both(here, there, "held")
    await there.press("y", "u")
    here.does(EditJob(uid, {"prompt": "evil"}))
    await here.sees()


@trick
async def a_job_accepted_here_undone_there_and_edited_before_the_redo(here: Stage, there: Stage) -> None:
    uid = here.makes()
    await here.opens("held")
    await here.press("y")
    await there.press("u")
    here.does(EditJob(uid, {"prompt": "evil"}))
    await here.sees()
    await here.press("ctrl+r")


@trick
async def answered_by_another_way_and_undone_there(here: Stage, there: Stage) -> None:
    uid = here.asks()
    here.asks("Drop it?", by="other")
    await here.opens()
    here.does(AnswerAsk(uid, "No"), by="human")
    await there.press("u")
    await here.sees()


async def test_a_key_on_one_screen_allows_nothing_that_had_not_stood_on_it(reviewed, make_app, seconds) -> None:
    allowed = {}
    here_app, there_app = make_app(reviewed.path), make_app(reviewed.path)
    async with here_app.run_test(size=(120, 40)) as pilot, there_app.run_test(size=(120, 40)) as other:
        here, there = Stage(here_app, pilot, reviewed, seconds), Stage(there_app, other, reviewed, seconds)
        for name, play in TRICKS.items():
            await play(here, there)
            before = here.answered() + here.accepted()
            await here.press(*KEYS)
            if set(now := here.answered() + here.accepted()) - set(before):
                allowed[name] = (set(now) - set(before), shown(here_app))
            await there.clears()
            await here.clears()
        for stage in (here, there):
            before = stage.answered()
            stage.asks()
            await stage.opens()
            await stage.press("y")
            assert len(stage.answered()) == len(before) + 1, "the keys reach each screen"
            await stage.clears()
        here.store.close()
        there.store.close()
    assert allowed == {}
