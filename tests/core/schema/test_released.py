"""A database of every released schema opens in today's program with everything in it, and goes on from there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

from tests.conftest import SECOND, START, Clock, Talk
from tests.core.schema import new_database, released
from tui_tasks.core import schema
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.driver import connect
from tui_tasks.core.engine.open_checks import SCHEMA
from tui_tasks.core.engine.orm import Model
from tui_tasks.core.errors import DatabaseRefused, StorageFailed
from tui_tasks.core.maintenance import backup, database_findings
from tui_tasks.core.maintenance.compaction_steps import compacting
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import AddTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.tables import STATE, TaskRow, columns
from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.store import Store

FILES = sorted(Path(released.__file__).parent.glob("version-*.db"))
LATER = START + 10_000 * SECOND

# The models of all tables.
ALL = {
    model
    for module in iter_modules(schema.__path__, f"{schema.__name__}.")
    if module.name.endswith("tables")
    for model in vars(import_module(module.name)).values()
    if isinstance(model, type) and issubclass(model, Model) and model is not Model
}


OLDER = [file for file in FILES if int(file.stem.split("-")[1]) < SCHEMA]


def copied(file: Path, path: Path) -> Path:
    path.parent.mkdir(mode=0o700)
    shutil.copy(file, path)
    path.chmod(0o600)
    return path


@pytest.fixture(params=FILES, ids=[file.stem for file in FILES])
def old(request: pytest.FixtureRequest, path: Path) -> Path:
    """A copy of a released file, where a database is."""
    return copied(request.param, path)


@pytest.fixture(params=OLDER, ids=[file.stem for file in OLDER])
def older(request: pytest.FixtureRequest, path: Path) -> Path:
    """A copy of one that a schema step is missing from."""
    return copied(request.param, path)


@pytest.fixture
def opened(old: Path) -> Iterator[Store]:
    with Store(str(old)) as store:
        yield store


def _by_columns(cursor: Any) -> Iterator[dict[str, Any]]:
    columns = [column[0] for column in cursor.description]
    return (dict(zip(columns, row, strict=True)) for row in cursor)


def rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that models have, by columns, read without this program."""
    with closing(connect(path)) as db:
        return {
            table: list(_by_columns(db.execute(f"SELECT * FROM {table} ORDER BY 1, 2")))
            for table in (model._meta.table_name for model in ALL)
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        }


def tables(store: Store) -> dict[str, list[Any]]:
    return {name: store.db.sql(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in STATE}


def replay_of(store: Store) -> dict[str, list[Any]]:
    with Store(":memory:") as target:
        replay(store.db, target.db)
        return tables(target)


def sound(store: Store) -> None:
    assert list(database_findings.findings(store.db)) == []
    assert list(database_findings.differences(store.db)) == []
    assert replay_of(store) == tables(store)


def test_there_is_a_file_of_every_schema_before_the_newest() -> None:
    found = {file.stem for file in FILES}
    assert {f"version-{number}-{kind}" for number in range(1, SCHEMA) for kind in ("plain", "compacted")} <= found


def test_every_row_is_there_as_it_was_and_new_columns_have_their_defaults(old: Path) -> None:
    before = rows(old)
    assert all(before[table] for table in ("task", "log", "memory", "claim", "ask", "job", "run", "journal", "state"))
    with Store(str(old)) as store:
        assert store.db.scalar("PRAGMA user_version") == SCHEMA
    after = rows(old)
    for table, was in before.items():
        assert [{name: row[name] for name in was[0]} for row in after[table]] == was if was else after[table] == []
    nothing = {name: field.none if field.none is None else "[]" for name, field in FIELDS.items()}
    added = [name for name in FIELDS if name not in before["task"][0]]
    assert all(row[name] == nothing[name] for row in after["task"] for name in added)
    assert all(row["archived"] == 0 for row in after["list"])


def test_it_replays_to_the_same_tables_before_and_after_more_is_written(opened: Store) -> None:
    sound(opened)
    home = task_queries.find_list(opened.db, "task")
    assert home is not None
    opened.commit(AddTask("Due", home.uid, fields={"due": "2026-01-31", "estimate": 90}), actor="a", now=LATER)
    sound(opened)


def test_every_dialect_reads_and_writes_what_is_there(opened: Store, clock: Clock) -> None:
    clock.now = LATER
    talk = Talk(opened, clock, agent="agent-1")
    shown = talk.ok("tasklist:display")
    assert "Write all tests" in {task["name"] for task in shown}
    first = next(task for task in shown if task["name"] == "Ship auth flow")
    assert talk.ok("control:task", uid=first["uid"])["due"] is None
    changed = talk.ok("control:update_task", uid=first["uid"], due="2026-02-01", estimate=30)
    assert (changed["due"], changed["estimate"]) == ("2026-02-01", 30)
    assert talk.ok("task", action="list")["structuredContent"]["total"] >= 0
    assert talk.ok("memory", action="list")["total"] == 1
    assert len(talk.ok("tasks", action="list_plans")["plans"]) == 1
    assert {job["name"] for job in talk.ok("scheduler:list_tasks")} == {"Audit", "By hand"}
    sound(opened)


def test_events_of_old_entries_have_every_field_of_today(opened: Store, clock: Clock) -> None:
    talk = Talk(opened, clock)
    oldest = journal.oldest(opened.db)
    entries = talk.ok("control:history", since=oldest - 1, limit=1_000)["entries"]
    told = [entry["task"] for entry in entries if entry.get("task")]
    assert told
    written = "".join(new or "" for (new,) in opened.db.sql("SELECT new FROM journal").fetchall())
    unknown_then = [name for name in FIELDS if f'"{name}"' not in written]
    assert all(task[name] in (None, []) for task in told for name in unknown_then)
    assert all(task.keys() == talk.ok("control:task", uid=told[0]["uid"]).keys() for task in told)


def test_every_task_has_its_number_in_the_order_of_making_in_events_too_and_keeps_it(
    old: Path, clock: Clock, tmp_path: Path
) -> None:
    before = rows(old)
    numbers = {row["uid"]: row["id"] for row in sorted(before["task"], key=lambda row: row["created_at"])}
    assert list(numbers.values()) == list(range(1, len(numbers) + 1))
    assert any(row["deleted"] for row in before["task"])
    clock.now = LATER
    with Store(str(old)) as store:
        talk = Talk(store, clock)
        shown = [
            task
            for handle in ("tasklist", "task", "todo")
            for task in task_queries.tasks(store.db, home(store, handle))
        ]
        assert all(talk.ok("control:task", uid=f"#{numbers[task.uid]}")["uid"] == task.uid for task in shown)
        entries = talk.ok("control:history", since=journal.oldest(store.db) - 1, limit=1_000)["entries"]
        told = {(entry["task"]["uid"], entry["task"]["number"]) for entry in entries if entry.get("task")}
        assert told <= numbers.items()
        made = talk.ok("tasklist:add_task", name="New")["uid"]
        assert talk.ok("control:task", uid=made)["number"] == len(numbers) + 1
        for _ in compacting(store, LATER, LATER + SECOND, most=3):
            pass
        sound(store)
        backup.backup(store.db, tmp_path / "copy.db")
    with Store(str(tmp_path / "copy.db")) as restored:
        again = {
            task.uid: task.number
            for task in map(task_queries.read_task, restored.db.query(TaskRow.select(*task_queries.TASK)))
        }
        assert again == {**numbers, made: len(numbers) + 1}
        talk = Talk(restored, clock)
        assert (
            talk.ok("control:task", uid=talk.ok("tasklist:add_task", name="Newer")["uid"])["number"] == len(again) + 1
        )


def home(store: Store, handle: str) -> int:
    found = task_queries.find_list(store.db, handle)
    assert found is not None
    return found.id


def test_what_was_done_then_can_be_taken_back_now(opened: Store) -> None:
    last, first = opened.commit(Undo(), actor="agent-1", now=LATER)[0]
    assert first <= last
    sound(opened)


def test_the_idempotency_keys_of_then_still_hold(old: Path) -> None:
    # A compaction forgets the keys that are older than a day, and none of these is.
    with Store(str(old)) as store:
        talk = Talk(store, Clock(START + 4_000 * SECOND), agent="agent-1")
        again = talk.ok("tasklist:add_task", {"idempotency_key": "k1"}, name="Once")
        assert [task["uid"] for task in talk.ok("tasklist:display") if task["name"] == "Once"] == [again["uid"]]


def test_it_is_compacted_backed_up_and_opened_from_the_backup(opened: Store, tmp_path: Path) -> None:
    for _ in compacting(opened, LATER, LATER + SECOND, most=3):
        pass
    sound(opened)
    copy = tmp_path / "copy.db"
    backup.backup(opened.db, copy)
    with Store(str(copy)) as restored:
        assert tables(restored) == tables(opened)
        sound(restored)


def test_a_backup_of_then_opens_read_only_once_it_was_opened_to_write(older: Path) -> None:
    with pytest.raises(DatabaseRefused, match="open it once without --read-only, as `tui-tasks ls` does"):
        Store(str(older), read_only=True)
    Store(str(older)).close()
    with Store(str(older), read_only=True) as store:
        assert task_queries.find_list(store.db, "tasklist")


def test_the_steps_make_the_columns_that_the_models_name(store: Store) -> None:
    assert len(ALL) > len(STATE)
    for model in ALL:
        table = model._meta.table_name
        made = {name for _, name, *_ in store.db.sql(f"PRAGMA table_info({table})")}
        assert made == set(columns(model)), table


def test_a_new_database_is_to_the_letter_what_all_steps_make(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with closing(new_database.by_steps(tmp_path / "steps.db")) as db:
        made = new_database.text(db)
    again = "`python -m tests.core.schema.new_database` writes it"
    assert new_database.FILE.read_text(encoding="ascii") == made, again
    with Store(str(path)) as store:
        assert new_database.text(store.db) == made


def test_a_step_that_fails_leaves_the_database_as_it_was(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows(older)
    steps = schema.statements
    monkeypatch.setattr(schema, "statements", lambda version: [*steps(version), "SELECT no_such_column"])
    with pytest.raises(StorageFailed, match="nothing was written"):
        Store(str(older))
    monkeypatch.undo()
    assert rows(older) == before
    with Store(str(older)) as store:
        sound(store)


def test_a_program_that_has_a_database_open_while_a_newer_one_upgrades_it_answers_no_more_and_says_why(talk, other):
    talk.ok("tasklist:add_task", name="before")
    other.ok("tasklist:add_task", name="of the newer one")
    with closing(connect(talk.store.path)) as step:
        step.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    other.ok("tasklist:add_task", name="of the newer one, after its step")
    path, entries = talk.store.path, journal.newest(talk.store.db)
    newer = (
        f"{path} was upgraded by a newer tui-tasks (schema {SCHEMA + 1}; this one knows {SCHEMA}): restart with that"
    )
    for tool in ("tasklist:display", "control:undo", "tasklist:clear"):
        refused = talk.refused(tool)
        assert (refused["code"], refused["message"], refused["data"]["retryable"]) == ("storage_error", newer, False)
    assert journal.newest(talk.store.db) == entries
