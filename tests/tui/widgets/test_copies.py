"""What agents wrote is copied as it is shown: pasted elsewhere, it presses no key and ends no paste."""

import unicodedata

import pytest

from tests.payloads import MIXED, text
from tests.tui.driving import by_agent, opened, press, settle
from tui_tasks.core.operations.jobs import EditJob
from tui_tasks.core.operations.tasks import EditTask, LogTask

HOSTILE = f"\x1b[201~\nrm -rf ~\x1b]0;t\x07dddd\x9b31m\u202e\udc80{text(MIXED, 'x')}"


def assert_harmless(copied):
    assert copied.replace("\n", "").isprintable(), copied
    assert all(unicodedata.category(char) not in ("Cc", "Cf", "Cs") for char in copied.replace("\n", ""))


@pytest.mark.parametrize(("key", "in_it"), [("t", "␛[201~ rm -rf ~␛]0;t␇dddd"), ("m", "␛[201~\n  rm -rf ~␛]0;t␇dddd")])
async def test_a_title_and_a_description(app, plan, key, in_it):
    by_agent(
        plan,
        "claude-1",
        EditTask(plan[1], {"name": HOSTILE.replace("\udc80", ""), "description": HOSTILE.replace("\udc80", "")}),
    )
    async with opened(app) as pilot:
        await press(app, pilot, "Y", key)
        assert in_it in app.clipboard
        assert_harmless(app.clipboard)


async def test_an_entry_of_the_log(plan, make_app):
    by_agent(plan, "claude-1", LogTask(plan[1], HOSTILE.replace("\udc80", "")))
    app = make_app(plan.path, pane="log")
    async with opened(app) as pilot:
        await settle(pilot, "Y")
        assert "dddd" in app.clipboard and "\n" not in app.clipboard
        assert_harmless(app.clipboard)


@pytest.mark.parametrize("key", ["n", "p"])
async def test_a_job(jobs, make_app, key):
    app = make_app(jobs.plan.path, pane="schedule")
    async with opened(app) as pilot:
        uid = app.pane.line.job.uid
        hostile = HOSTILE.replace("\udc80", "")
        by_agent(jobs.plan, "claude-1", EditJob(uid, {"name": hostile, "prompt": hostile}))
        await settle(pilot, "Y", key)
        assert "dddd" in app.clipboard
        assert_harmless(app.clipboard)
        assert ("\n" in app.clipboard) == (key == "p")
