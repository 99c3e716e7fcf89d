"""Entries and companions that no program writes, as a role's own client can append them: they stop nobody."""

import json

import pytest

from tests.conftest import START
from tests.postgres import machines
from tests.postgres.journal_writer import append, entries
from tests.postgres.machines import names
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.maintenance import database_findings, replay
from tui_tasks.core.maintenance.past_state import PastState
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read import digest, overview, statistics
from tui_tasks.core.read.agents import stuck_signs
from tui_tasks.core.read.pages import log_pages
from tui_tasks.core.read.pages.task_filter import Filter, Term
from tui_tasks.core.read.tasks import task_search
from tui_tasks.core.store import Store
from tui_tasks.postgres import moving, no_report

TASK = {"entity": "task", "kind": "task.updated", "old": "{}"}
UNSOUND = {
    "an unknown column": {**TASK, "new": '{"nope": 1}'},
    "no values": {**TASK, "new": "{}"},
    "values that are no object": {**TASK, "new": "[]"},
    "values that are no JSON": {**TASK, "new": "zz{"},
    "old values that are no JSON": {**TASK, "old": "zz{", "new": '{"priority": 2}'},
    "a run that is not there": {"entity": "run", "kind": "run.finished", "old": "{}", "new": '{"outcome": "done"}'},
    "a status that is none": {**TASK, "new": '{"status": "name"}'},
    "a column of another type": {**TASK, "new": '{"tags": 7}'},
    "a number that is too large": {**TASK, "new": f'{{"priority": {1 << 70}}}'},
    "a due date that is none": {**TASK, "new": '{"due": "x"}'},
    "a due date of ten characters": {**TASK, "new": '{"due": "2026-99-99"}'},
    "an instant without an offset": {**TASK, "new": '{"due": "2026-12-01T10:00"}'},
    "a list that is not there": {**TASK, "kind": "task.moved", "new": f'{{"list_id": {1 << 62}}}'},
    "an id that clears the screen": {
        "entity": "log",
        "kind": "task.logged",
        "uid": "zz\x1b[2J",
        "new": '{"uid": "zz\\u001b[2J", "task_uid": "x", "at": 1, "agent": "a", "message": "Half", "deleted": false}',
    },
    "another row's uid": {**TASK, "new": '{"uid": "another"}'},
    "half a task": {**TASK, "kind": "task.created", "old": None, "new": '{"name": "x"}'},
    "an image that is no JSON": {"entity": "log", "kind": "task.logged", "old": "{}", "new": "{}", "image": "zz{"},
    "an image that is no JSON after a new row": {
        "entity": "log",
        "kind": "task.logged",
        "uid": "l",
        "image": "zz{",
        "new": '{"uid": "l", "task_uid": "x", "at": 1, "agent": "codex", "message": "Half", "deleted": false}',
    },
    "an image of nothing": {**TASK, "new": '{"priority": 2}', "image": "zz{"},
    "a reason that is no JSON": {**TASK, "new": '{"priority": 2}', "why": "zz{"},
}
NAMES = ["Build", *UNSOUND]


@pytest.fixture
def written(cluster, database):
    """Append an entry and companions as the owner, who may write anything."""
    owner = cluster.connect(database)

    def write(given=None, companions=()):
        head = owner.execute("SELECT seq, hash FROM tui_tasks.head").fetchone()
        found = owner.execute("SELECT uid FROM tui_tasks.journal WHERE entity = 'task' LIMIT 1").fetchone()
        uid = found[0] if found else "x"
        usual = {"actor": "codex", "uid": uid, "task": uid}
        append(owner, head, entries(head, {**usual, **given}) if given else [], companions)

    yield write
    owner.close()


@pytest.fixture
def unsound(opened_on, written):
    """A machine on which each of the entries was followed by a task with its name, after a first one."""
    here = opened_on("a")
    here.call("tasklist:add_task", {"name": NAMES[0]})
    for name, given in UNSOUND.items():
        written(given)
        here.call("tasklist:add_task", {"name": name})
    return here


def test_entries_that_cannot_be_applied_are_passed_over_on_every_machine(
    opened_on, unsound, tmp_path, cluster, database
):
    machines_ = [unsound, *map(opened_on, "bc")]
    assert [names(state) for state in machines_] == [NAMES] * 3
    stores = [state._session.store for state in machines_]
    assert len({machines.digest(store.path) for store in stores}) == 1
    assert list(database_findings.differences(stores[0].db)) == []
    stores[0].db.cut(0)
    assert names(opened_on("d")) == NAMES
    with cluster.connect(database) as owner:
        moving.to_file(owner, tmp_path / "to.db", no_report)
    with Store(str(tmp_path / "to.db")) as file:
        assert list(database_findings.differences(file.db)) == []


@pytest.mark.parametrize("window", [0, 100])
def test_time_travel_passes_them_over_too(unsound, window):
    db = unsound._session.store.db
    with PastState(db, window=window) as past:
        past.build(db.scalar("SELECT max(seq) FROM journal"))
        with Store(past.path) as shown:
            assert [name for (name,) in shown.db.sql("SELECT name FROM task ORDER BY id")] == NAMES


KINDS = (
    *("task.created", "task.updated", "task.moved", "task.logged", "ask.opened", "ask.answered", "check.finished"),
    *("run.finished", "job.decided", "session.idle", "session.prompted", "tool.failed", "agent.refused"),
    "claim.lapsed",
)
WRONG = (
    *("zz{", "[]", "7", '{"status": [], "outcome": {}, "message": 3, "name": []}'),
    '{"status":"failed","tokens":"x"}',
)


@pytest.mark.parametrize("column", ["old", "new", "image", "why"])
def test_whoever_reads_the_journal_sees_it_by_its_kind(opened_on, written, column):
    here = opened_on("a")
    here.call("tasklist:add_task", {"name": "Build"})
    for wrong in WRONG:
        for kind in KINDS:
            entity = kind.partition(".")[0].replace("claim", "task")
            values = {"old": None if kind == "task.created" else "{}", "new": "{}", column: wrong}
            written({"entity": entity, "kind": kind, **values})
    names(here)
    db = here._session.store.db
    shown = {line.kind for line in log_pages.page(db, log_pages.FIRST, 200)}
    assert shown >= {*KINDS} - {"job.decided", "task.moved"}
    for term in (Term("kind", "fail"), Term("kind", "status"), Term("kind", "edit"), Term("word", "build")):
        log_pages.page(db, log_pages.FIRST, 200, Filter((term,)))
    assert {entry.kind for entry in journal.latest(db, 200)} >= set(KINDS)
    assert len(journal.since(db, 0, 500)) == journal.newest(db)
    for entry in journal.latest(db, 200):
        journal.event_task(db, entry)
    overview.between(db, 0, journal.newest(db))
    overview.changes(db, 0, 500)
    digest.digest(db, 0, START, {})
    statistics.events(db, 1, 0, journal.newest(db))
    while task_search.catch_up_index(db):
        pass
    stuck_signs.of_agents(db, START)


def test_a_disk_that_cannot_be_written_passes_nothing_over(store_on, written, monkeypatch):
    db = store_on("a").db
    (home,) = store_on("a").commit(EnsureList("work", "task"), actor="bob", now=START)
    store_on("a").commit(AddTask("Build", home.uid), actor="bob", now=START)
    written({**TASK, "new": '{"priority": 1}'})

    def fail(*_):
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(replay, "apply", fail)
        with pytest.raises(StorageFailed):
            db.catch_up()
    assert replay.passed_over(db) == frozenset()
    db.catch_up()
    assert db.scalar("SELECT priority FROM task") == 1


MARK = json.dumps({"value": json.dumps({"machine": "m", "up": 1, "passed": 4 * 10**18, "now": 1})})


COMPANIONS = (
    ('["looked"]', '{"value": "[]"}'),
    ('["elapsed"]', '{"value": "7"}'),
    ('["elapsed"]', MARK),
    ('["inbox"]', '{"value": "[]"}'),
    ('["inbox"]', None),
    ('["server:number"]', '{"value": "\\"x\\""}'),
    ('["passed_over:1"]', '{"value": "true"}'),
    ('["filter:x"]', '{"value": "[]"}'),
    ('["until:machine:b"]', '{"value": "{{"}'),
    ('["until:machine:b"]', '{"value": "\\"x\\""}'),
    ('["until:machine:b"]', '{"value": 7}'),
    ('["until:machine:b"]', f'{{"value": "{1 << 70}"}}'),
    ('["\\u0075ntil:"]', '{"value": "[]"}'),
)


def test_what_is_a_screens_own_comes_from_no_other_machine(opened_on, written):
    here = opened_on("a")
    here.call("tasklist:add_task", {"name": "Build"})
    db = here._session.store.db
    db.sql("INSERT OR IGNORE INTO view VALUES ('inbox', '{}')")
    names(here)
    kept = "SELECT key, value FROM view WHERE key IN ('until:machine:b', 'until:', 'looked', 'inbox', 'filter:x')"
    before = db.sql(kept).fetchall()
    for key, value in COMPANIONS:
        written(companions=[("view", key, value)])
        db.catch_up()
        assert db.sql(kept).fetchall() == before, (key, value)
    here.call("tasklist:add_task", {"name": "Ship"})
    assert names(here) == ["Build", "Ship"]
