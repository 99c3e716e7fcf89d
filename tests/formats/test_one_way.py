"""CSV and iCalendar go out alone, for spreadsheets and calendars; issues of GitHub come in alone."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from icalendar import Calendar

from tests.conftest import Clock
from tests.formats.round_trips import NOW, bring, counts, filled
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.jobs import CreateJob
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.formats import exporting
from tui_tasks.formats.file_records import ExportData
from tui_tasks.formats.format_table import FORMATS

CSV, ICS = FORMATS["csv"], FORMATS["ics"]


def rows_of(store: Store, handle: str | None = None) -> ExportData:
    return exporting.rows(store.db, handle, None)


def cells(store: Store) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(CSV.write(rows_of(store), NOW)), newline="")))


def test_a_task_is_a_row_with_everything_but_its_log(store: Store, clock: Clock) -> None:
    uids = filled(store, clock())
    found = {row["uid"]: row for row in cells(store)}
    assert set(found) == set(uids)
    first, _, third, fourth = (found[uid] for uid in uids)
    assert (first["name"], first["tags"], first["metadata"]) == (
        "first \ufffd\u241b[31m\nline",
        "a, b",
        '{"x": [1, null, "\\u009b"]}',
    )
    assert (third["key"], third["estimate"], third["result"]) == ("k", "90", '{"ok": true}')
    assert (fourth["status"], fourth["due"], fourth["list"]) == ("failed", "2026-03-01T10:00:00.500+00:00", "tasklist")
    assert CSV.count_losses(rows_of(store), "", NOW) == {"log: no column for it": 1}


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\uff1d1", "|calc"])
def test_no_cell_is_a_formula(store: Store, clock: Clock, name: str) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=clock())
    store.commit(AddTask(name, home.uid, tags=(name,)), actor="claude", now=clock())
    (row,) = cells(store)
    assert row["name"].startswith("'") and row["tags"].startswith("'")


def test_what_is_due_is_a_to_do_and_the_next_runs_of_jobs_are_events(store: Store, clock: Clock) -> None:
    uids = filled(store, clock())
    schedule = {"minute": "30", "hour": "3", "day": "*", "month": "*", "weekday": "1"}
    store.commit(CreateJob("Nightly\nreport", "scheduled", "", "x", "UTC", schedule), actor="human", now=clock())
    text = "".join(ICS.write(rows_of(store), NOW))
    assert text == "".join(ICS.write(rows_of(store), NOW))
    calendar = Calendar.from_ical(text)
    second, fourth = sorted(calendar.walk("VTODO"), key=lambda todo: str(todo["summary"]), reverse=True)
    assert (str(second["uid"]), str(second["summary"]), second["due"].to_ical()) == (uids[1], "second", b"20260201")
    assert (second["priority"], str(second["status"])) == (1, "NEEDS-ACTION")
    assert str(second["related-to"]) == uids[0]
    assert (fourth["due"].to_ical(), str(fourth["status"])) == (b"20260301T100000Z", "CANCELLED")
    assert str(fourth["description"]) == "- [ ] no task\n\n# no heading"
    runs = calendar.walk("VEVENT")
    assert [run["dtstart"].to_ical() for run in runs] == [
        *(b"20260202T033000Z", b"20260209T033000Z", b"20260216T033000Z", b"20260223T033000Z", b"20260302T033000Z")
    ]
    assert {str(run["summary"]) for run in runs} == {"Nightly report"}
    assert ICS.count_losses(rows_of(store), text, NOW) == {
        "the whole task: it has no due date": 2,
        "domain: no place for it": 1,
        "links: no place for it": 1,
    }
    assert "VEVENT" not in "".join(ICS.write(rows_of(store, "tasklist"), NOW))


RECORDED = (Path(__file__).with_name("recorded") / "github-issues.json").read_text()


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
