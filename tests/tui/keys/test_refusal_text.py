"""Refusals name things to a person by numbers and names, never by uids."""

from __future__ import annotations

import pytest

from tests.tui.evening import Jobs
from tests.tui.plan import Plan
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.read import ask_queries, job_queries
from tui_tasks.core.read.tasks.task_names import refusal_text
from tui_tasks.core.store import Store

UID = "a1b2c3d4-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "question {ask} is answered already",
            "the question of claude-1, “jose is maintained but heavier; pyjwt i…”, is answered already",
        ),
        ("run {run} has ended", "the run of S2 Login audit has ended"),
        ("job {job} was deleted", "S2 Login audit was deleted"),
        ("others have put tasks into plan {home}", "others have put tasks into list Plan"),
        ("task {task} is held", "#5 Ship auth flow is held"),
        (f"job {UID} was deleted", "this job was deleted"),
    ],
)
def test_a_refusal_has_numbers_and_names_for_uids(plan: Plan, jobs: Jobs, message: str, words: str) -> None:
    with Store(plan.path) as store:
        ask = ask_queries.open_asks(store.db)[0]
        job = job_queries.job_named(store.db, "Login audit")
        assert job is not None
        run = next(job_queries.each_run(store.db, job.uid, 1))
        uids = {"ask": ask.uid, "run": run.uid, "job": job.uid, "home": plan.list_uid, "task": plan[5]}
        assert refusal_text(store.db, Conflict(message.format(**uids))) == words
        assert refusal_text(store.db, NotFound("question", UID)) == "this question is gone"
