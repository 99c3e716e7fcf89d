"""Issues of GitHub come in from what `gh issue list --json` printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import bring, counts
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store

RECORDED = (Path(__file__).parents[1] / "recorded" / "github-issues.json").read_text()


def tasks(store: Store) -> list[Task]:
    return task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)


def test_issues_come_in_once_and_what_no_task_has_is_kept_and_told(store: Store, clock: Clock) -> None:
    outcome = bring(store, "github", RECORDED, clock())
    assert counts(outcome) == (3, 0, 0)
    assert outcome.lost == {"author: kept in the metadata alone": 3, "assignees: kept in the metadata alone": 1}
    crash, bump, written = tasks(store)
    assert (crash.name, crash.description) == ("It crashes when opened", "Steps:\n\n- [ ] open\n- [ ] crash")
    assert (crash.tags, crash.agent) == (("bug", "good first issue"), "ada")
    assert (crash.domain, crash.due) == ("2.0", "2026-03-01")
    assert crash.metadata["github"]["number"] == 12
    assert crash.metadata["github"]["url"] == "https://github.com/o/r/issues/12"
    assert [task.status for task in (crash, bump, written)] == ["pending", "cancelled", "done"]
    assert [(entry.agent, entry.message) for entry in task_records.logs(store.db, crash.uid)] == [
        ("imported:ada", "Seen here as well.")
    ]
    assert counts(bring(store, "github", RECORDED, clock())) == (0, 0, 3)


def test_what_was_not_asked_for_stays_and_work_that_began_here_goes_on(store: Store, clock: Clock) -> None:
    bring(store, "github", RECORDED, clock())
    crash, _, _ = tasks(store)
    store.commit(EditTask(crash.uid, {"status": "in_progress"}), actor="human", now=clock())
    issues = [{name: issue[name] for name in ("number", "title", "url", "state")} for issue in json.loads(RECORDED)]
    assert counts(bring(store, "github", json.dumps(issues), clock()))[0] == 0
    task = task_queries.task(store.db, crash.uid)
    assert (task.status, task.tags, task.agent) == ("in_progress", ("bug", "good first issue"), "ada")
    issues[0]["state"] = "CLOSED"
    bring(store, "github", json.dumps(issues), clock())
    assert task_queries.task(store.db, crash.uid).status == "done"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"title": "a"}]', "item 1: Object missing required field `number`"),
        ('[{"title": "a", "number": 1, "labels": ["x"]}]', "item 1: Expected `object`, got `str`"),
        ('[{"title": "a", "number": 1, "createdAt": "x"}]', "item 1: Invalid isoformat string"),
    ],
)
def test_what_is_no_issue_is_named(store: Store, clock: Clock, text: str, told: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{told}"):
        bring(store, "github", text, clock())
