"""CSV and iCalendar: they go out alone, for spreadsheets and calendars."""

from __future__ import annotations

import csv
import io

import pytest
from icalendar import Calendar

from tests.conftest import Clock
from tests.formats.round_trips import NOW, filled
from tui_tasks.core.operations.jobs import CreateJob
from tui_tasks.core.operations.tasks import AddTask, EnsureList
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
