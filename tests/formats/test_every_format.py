"""What holds of every format that goes out and in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Clock
from tests.formats.round_trips import NOW, bring, counts, filled, lost, names, out, read
from tui_tasks.core.agent_names import display_name
from tui_tasks.core.commit import journal
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import AddTask, EnsureList, LogTask, SetListReview
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.store import Store
from tui_tasks.formats import exporting
from tui_tasks.formats.exporting import losses
from tui_tasks.formats.file_records import ExportData, uid_of
from tui_tasks.formats.format_table import FORMATS, Format
from tui_tasks.formats.importing import Importer

CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u202a-\u202e\u2066-\u2069]")
ESCAPED = re.compile(r"\\u(?:00[0189]|202)|\\x1b")
BOTH_WAYS = [format_ for format_ in FORMATS.values() if format_.is_read and format_.is_written]
every_format = pytest.mark.parametrize("format_", BOTH_WAYS, ids=lambda format_: format_.name)


@pytest.fixture
def empty(tmp_path: Path):
    with Store(str(tmp_path / "empty.db")) as store:
        yield store


@every_format
def test_what_goes_out_comes_back_but_for_what_is_told_and_a_second_import_changes_nothing(
    store: Store, empty: Store, clock: Clock, format_: Format
) -> None:
    filled(store, clock())
    files = out(store, format_)
    told = lost(store, format_, files)
    first = bring(empty, format_, files, clock() + 10**9)
    assert (counts(first), dict(first.lost)) == ((4, 0, 0), {})
    # What is lost is exactly what was told: what came back is as what was read.
    assert losses(exporting.rows(store.db, None, None), read(format_, out(empty, format_)), format_.name) == told
    newest = journal.newest(empty.db)
    again = bring(empty, format_, files, clock() + 2 * 10**9)
    assert (counts(again), dict(again.lost)) == ((0, 0, 4), {})
    assert journal.newest(empty.db) == newest
    assert list(database_findings.differences(empty.db)) == []


@every_format
def test_an_import_of_ones_own_export_changes_nothing(store: Store, clock: Clock, format_: Format) -> None:
    filled(store, clock())
    newest, before = journal.newest(store.db), task_queries.lists(store.db)
    assert counts(bring(store, format_, out(store, format_), clock() + 10**9)) == (0, 0, 4)
    assert journal.newest(store.db) == newest
    assert task_queries.lists(store.db) == before


@every_format
def test_one_undo_takes_an_import_back(store: Store, empty: Store, clock: Clock, format_: Format) -> None:
    filled(store, clock())
    bring(empty, format_, out(store, format_), clock())
    empty.commit(Undo(), actor="shell", now=clock())
    assert names(empty) == []


@every_format
def test_what_is_written_does_nothing_to_a_terminal(store: Store, clock: Clock, format_: Format) -> None:
    filled(store, clock())
    text = "".join(out(store, format_).values())
    assert not CONTROL.search(text)
    # Nor does it by way of the program that reads it; what comes back whole goes to us alone.
    assert format_.is_whole or not ESCAPED.search(text)


JOINED = {
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Hindi": "\u0915\u094d\u200d\u0937",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "flag": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "heart": "\u2764\ufe0f",
    "skin": "\U0001f44d\U0001f3fd",
    "five marks": "e\u0301\u0302\u0303\u0304\u0306",
    "right to left mark": "\u05d0\u200f!",
}


def unescaped(content: str) -> str:
    """A file with the escapes of JSON resolved."""
    return re.sub(
        r"(?:\\u[0-9a-fA-F]{4})+",
        lambda found: bytes.fromhex(found[0].replace("\\u", "")).decode("utf-16-be"),
        content,
    )


@every_format
@pytest.mark.parametrize("text", JOINED.values(), ids=JOINED)
def test_joiners_variants_and_flags_go_out_as_they_are(store: Store, clock: Clock, format_: Format, text: str) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=clock())
    added = AddTask(f"a {text}", home.uid, f"b {text} c", tags=(text,))
    (task,) = store.commit(added, actor="claude", now=clock())
    files = out(store, format_)
    assert any(text in unescaped(content) for content in files.values())
    assert counts(bring(store, format_, files, clock())) == (0, 0, 1)
    found = task_queries.task(store.db, task.uid)
    assert (found.name, found.description, found.tags) == (f"a {text}", f"b {text} c", (text,))


HOSTILE: list[Any] = [
    7,
    [],
    {"id": 7, "uuid": 7},
    {"id": "bd-1", "uuid": "x", "dependencies": 5, "status": [], "type": "\x1b[2J"},
    {"id": "bd-1", "dependencies": [{"type": 5}]},
    {"front_matter": [], "sections": {"AC": 5}},
    {"front_matter": {"type": "\x1b]0;x\x07", "assignee": 5, "references": 6, "\u202e": "\u202e"}},
    {"sections": {"AC:END -->\x1b": "\x1b[2J", "AC": "\x1b[31m <!-- AC:END -->\n---\n"}},
]


@every_format
def test_metadata_of_an_agent_that_looks_like_an_imports_does_nothing_to_an_export(
    store: Store, clock: Clock, format_: Format
) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=clock())
    tasks = [AddTask(f"task {at}", home.uid, metadata={format_.name: each}) for at, each in enumerate(HOSTILE)]
    uids = [task.uid for task in store.commit(*tasks, actor="claude", now=clock())]
    files = out(store, format_)
    assert not any(map(CONTROL.search, files.values()))
    assert format_.is_whole or not any(map(ESCAPED.search, files.values()))
    found = {uid_of(format_.name, record.id) for record in read(format_, files).records}
    assert found == set(uids)
    assert counts(bring(store, format_, files, clock()))[0] == 0


NASTY = st.text(
    st.sampled_from(" \t\n\r-*+#<>!@:[]()x`\\|\"'&;{},.1_~^/Aaé\x1b\u202e\u2028\u200d"), max_size=12
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WORDS = st.sampled_from(
    [
        *("x done", "- [ ] y", "# head", "---", "<!-- a -->", "2026-01-01 z", "(A) b", "@c +d", "due:2026-01-01"),
        *("1. two", "    code", "===", "```"),
    ]
)


@every_format
@settings(max_examples=60, deadline=None)
@given(name=NASTY | WORDS, description=NASTY | WORDS, tags=st.lists(NASTY, max_size=2), done=st.booleans())
def test_whatever_stands_in_a_text_stays_that_text(
    format_: Format, name: str, description: str, tags: list[str], done: bool
) -> None:
    name = name if name.strip() else f"{name}a"
    tags = [tag for tag in tags if tag.strip()]
    status = "done" if done else "pending"
    one = task("00000000-0000-4000-8000-000000000001", name, description, status, tags)
    two = task("00000000-0000-4000-8000-000000000002", "two", "", "pending", [])
    home = TaskList(
        1, "00000000-0000-4000-8000-00000000000a", "list", "web", "", None, "tasklist", False, 0, False, *[0] * 6
    )
    rows = ExportData([(home, [one, two])])
    files = dict(format_.write_folder(rows, {}, NOW)) if format_.is_folder else {"": "".join(format_.write(rows, NOW))}
    found = read(format_, files)
    assert len(found.records) == 2
    reducers = found.reducers
    for field in ("name", "description", "tags", "status"):
        told = found.records[0].fields.get(field, getattr(one, field))
        tell = reducers.get(field, lambda value: value)
        assert tell(told) == tell(getattr(one, field)), field
    assert found.records[1].fields["name"] == "two"


@every_format
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize(
    "due", ["9999-12-31", "9999-12-31T23:59:59.999+00:00", "0001-01-01", "0001-01-01T00:00:00.000+00:00"]
)
def test_the_ends_of_time_go_out_and_come_back(
    store: Store, clock: Clock, format_: Format, zone: str, due: str
) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=clock())
    store.commit(AddTask("x", home.uid, fields={"due": due}), actor="claude", now=clock())
    rows, now = exporting.rows(store.db, None, None), NOW.astimezone(ZoneInfo(zone))
    if format_.is_folder:
        found = format_.read_folder(dict(format_.write_folder(rows, {}, now)), now)
    else:
        found = format_.read("".join(format_.write(rows, now)), now)
    importing = Importer(store, format_.name, found, target=None, fallback="tasklist", project=None)
    assert counts(importing.run("shell", clock())) == (0, 0, 1)


def task(uid: str, name: str, description: str, status: str, tags: list[str]) -> Task:
    at = 1_700_000_000_000_000
    ended = at + 5_000_000 if status == "done" else None
    return Task(
        *(1, uid, 1, "80", name, status, 3, 1, at, "a", at, "a", None, description, tuple(tags)),
        started_at=ended,
        finished_at=ended,
    )


def test_tasks_of_another_program_that_wait_for_each_other_come_in_without_what_closes_the_circle(
    store: Store, clock: Clock
) -> None:
    uids = [f"00000000-0000-4000-8000-00000000000{at}" for at in range(4)]
    after = {0: [1], 1: [2], 2: [0, 3], 3: [3]}
    tasks = [{"uuid": uids[at], "description": str(at), "depends": [uids[on] for on in after[at]]} for at in range(4)]
    for round_ in range(2):
        outcome = bring(store, "taskwarrior", json.dumps(tasks), clock())
        assert counts(outcome) == ((4, 0, 0), (0, 0, 4))[round_]
        assert outcome.lost["depends_on: left out, as the tasks would wait for each other"] == 2
    waits = [task_queries.task(store.db, uid).depends_on for uid in uids]
    assert waits == [(uids[1],), (uids[2],), (uids[3],), ()]


READ = [format_ for format_ in FORMATS.values() if format_.is_read]
ISSUES = Path(__file__).parent / "recorded" / "github-issues.json"


def _files_of_pending_tasks(format_: Format, store: Store, now: int) -> dict[str, str]:
    if not format_.is_written:
        issues = json.loads(ISSUES.read_text("utf-8"))
        return {"": json.dumps([issue | {"state": "OPEN", "closedAt": None, "labels": []} for issue in issues])}
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="eve", now=now)
    store.commit(AddTask("one", home.uid), AddTask("two", home.uid), actor="eve", now=now)
    return out(store, format_)


@pytest.mark.parametrize("format_", READ, ids=lambda format_: format_.name)
def test_an_agents_import_is_held_where_what_it_adds_is(
    store: Store, empty: Store, clock: Clock, format_: Format
) -> None:
    files = _files_of_pending_tasks(format_, store, clock())
    (home,) = empty.commit(EnsureList("tasklist", "tasklist"), actor="human", now=clock())
    empty.commit(SetListReview(home.uid, True), actor="human", now=clock())
    added = empty.commit(AddTask("added", home.uid), actor="claude", now=clock())[0]
    found = read(format_, files)
    importer = Importer(empty, format_.name, found, target="tasklist", fallback="tasklist", project=None)
    importer.run("claude", clock())
    tasks = [task for task in task_queries.tasks(empty.db, home.id) if task.uid != added.uid]
    assert added.held
    assert len(tasks) == len(found.records) > 0
    assert all(task.held and task.blocked and task.created_by == "claude" for task in tasks)


AUTHORS = ("human", "you", "hum\u200ban", "system\u2060", "claude")


@every_format
def test_authors_of_imported_logs_are_shown_as_imported_and_go_out_as_they_were(
    store: Store, empty: Store, clock: Clock, format_: Format
) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="eve", now=clock())
    for author in AUTHORS:
        (task,) = store.commit(AddTask(f"of {author!a}", home.uid), actor="eve", now=clock())
        store.commit(LogTask(task.uid, f"by {author!a}"), actor=author, now=clock())
    files = out(store, format_)
    bring(empty, format_, files, clock())
    logs = [
        entry
        for home in task_queries.lists(empty.db)
        for task in task_queries.tasks(empty.db, home.id)
        for entry in task_records.logs(empty.db, task.uid)
    ]
    if format_.name in ("markdown", "todo.txt"):
        assert logs == []
        return
    found = {entry.agent for entry in logs}
    expected = {"taskwarrior"} if format_.name == "taskwarrior" else set(AUTHORS)
    assert found == {f"imported:{author}" for author in expected}
    assert all(display_name(author).startswith("imported:") for author in found)
    if format_.name != "taskwarrior":
        again = exporting.rows(empty.db, None, None).logs.values()
        assert sorted(entry.agent for log in again for entry in log) == sorted(AUTHORS)
    assert out(empty, format_) == files
