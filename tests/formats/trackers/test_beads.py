"""beads: what `bd export` writes comes in, and goes out as it came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import bring, counts, out
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store
from tui_tasks.formats.format_table import FORMATS

RECORDED = (Path(__file__).parents[1] / "recorded" / "beads.jsonl").read_text()
BEADS = FORMATS["beads"]


@pytest.fixture
def empty(tmp_path: Path):
    with Store(str(tmp_path / "empty.db")) as store:
        yield store


def test_its_export_comes_in_once_and_what_no_task_has_is_kept_and_told(store: Store, clock: Clock) -> None:
    outcome = bring(store, BEADS, RECORDED, clock())
    assert counts(outcome) == (3, 0, 0)
    kept = ("design", "acceptance_criteria", "issue_type", "owner", "created_by", "status")
    assert outcome.lost == {
        "tombstone: an issue that was deleted there is left alone here": 1,
        "memory: a line that is not an issue": 1,
        "dependencies: discovered-from is kept in the metadata alone": 1,
        "dependencies: parent-child is kept in the metadata alone": 1,
        "dependencies: when and by whom one was added is not kept": 3,
        **{f"{name}: kept in the metadata alone": 1 for name in kept},
    }
    daemon, test, later = task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)
    assert (daemon.status, daemon.priority, daemon.agent, daemon.estimate) == ("in_progress", 1, "claude", 45)
    assert (daemon.tags, daemon.depends_on) == (("infra", "daemon"), (test.uid,))
    assert daemon.due == "2026-02-01T17:00:00.000+00:00"
    assert daemon.metadata["beads"]["id"] == "bd-a1b2"
    assert (test.status, test.priority, test.result) == ("done", 5, "Written in 4f2a")
    assert (later.status, later.metadata["files"]) == ("pending", ["a.go"])
    assert [(entry.agent, entry.message) for entry in task_records.logs(store.db, daemon.uid)] == [
        ("imported:bob", "Seen, too")
    ]
    assert counts(bring(store, BEADS, RECORDED, clock())) == (0, 0, 3)


def test_an_issue_goes_out_under_its_own_id_with_all_that_it_came_with(store: Store, clock: Clock) -> None:
    bring(store, BEADS, RECORDED, clock())
    went = {issue["id"]: issue for issue in map(json.loads, out(store, BEADS)[""].splitlines())}
    came = {issue["id"]: issue for issue in map(json.loads, RECORDED.splitlines()[:3])}
    assert went.keys() == came.keys()
    for id_, issue in came.items():
        for name in issue.keys() - {"dependencies", "comments"}:
            if name.endswith("_at"):
                continue  # another way to write the same instant
            assert went[id_][name] == issue[name], name
        edges = {(each["depends_on_id"], each["type"]) for each in issue.get("dependencies", [])}
        assert {(each["depends_on_id"], each["type"]) for each in went[id_].get("dependencies", [])} == edges


def test_what_was_changed_here_goes_out(store: Store, clock: Clock) -> None:
    bring(store, BEADS, RECORDED, clock())
    later = task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)[2]
    store.commit(EditTask(later.uid, {"status": "done", "priority": 9}), actor="human", now=clock())
    (issue,) = [issue for issue in map(json.loads, out(store, BEADS)[""].splitlines()) if issue["id"] == "bd-zz"]
    assert (issue["status"], issue["priority"]) == ("closed", 4)
    bring(store, BEADS, json.dumps(issue), clock())
    assert (task_queries.task(store.db, later.uid).status, task_queries.task(store.db, later.uid).priority) == (
        "done",
        9,
    )


def test_a_title_that_was_shortened_at_a_space_settles(store: Store, empty: Store, clock: Clock) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="human", now=clock())
    name = "a" * 499 + " and more words"
    (task,) = store.commit(AddTask(name, home.uid), actor="human", now=clock())
    files = out(store, BEADS)
    assert counts(bring(empty, BEADS, files, clock())) == (1, 0, 0)
    back = out(empty, BEADS)
    assert json.loads(back[""])["title"] == json.loads(files[""])["title"]
    assert counts(bring(store, BEADS, back, clock())) == (0, 0, 1)
    assert task_queries.task(store.db, task.uid).name == name
    assert counts(bring(empty, BEADS, out(store, BEADS), clock())) == (0, 0, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"id": "a"}', "line 1: Object missing required field `title`"),
        ('{"id": "a", "title": "b", "created_at": "soon"}', "line 1: Invalid isoformat string"),
        ('{"id": "a", "title": "b", "priority": -1}', "line 1: Expected `int` >= 1"),
    ],
)
def test_what_is_no_issue_is_named(store: Store, clock: Clock, text: str, told: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{told}"):
        bring(store, BEADS, text, clock())
