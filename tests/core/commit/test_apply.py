"""Rows as `row_writes` writes them."""

from typing import Any

from msgspec.structs import asdict

from tui_tasks.core.commit import row_writes
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.schema.tables import TaskRow, columns
from tui_tasks.core.store import Store

NOW = 1_767_352_934_000_000


def stored(store: Store, uid: str, fields: list[str]) -> dict[str, Any]:
    values = store.db.sql(f"SELECT {', '.join(fields)} FROM task WHERE uid = ?", (uid,)).fetchone()
    return dict(zip(fields, values, strict=True))


def test_the_empty_fields_of_a_new_task_are_stored_as_their_defaults_and_are_not_bound(path):
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("new", "task"), actor="agent", now=NOW)
        (empty,) = store.commit(AddTask("one", home.uid), actor="agent", now=NOW)
        defaults = {name: field.default for name, field in columns(TaskRow).items() if field.default in ("", "[]", 0)}
        assert {"description", "tags", "links", "waiting_on", "held"} < defaults.keys()
        assert stored(store, empty.uid, list(defaults)) == defaults
        row = {name: value for name, value in asdict(empty).items() if name in defaults}
        assert row_writes._given("task", row) == ()


def test_the_row_of_a_new_task_is_the_same_from_its_struct_and_from_its_entry(path, tmp_path):
    given = {"tags": ("a",), "result": 0, "metadata": {}, "agent": "", "fields": {"due": "2026-01-02", "checks": ()}}
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("new", "task"), actor="agent", now=NOW)
        plain, full = store.commit(
            AddTask("one", home.uid), AddTask("two", home.uid, "how", **given), actor="agent", now=NOW
        )
        with Store(str(tmp_path / "other.db")) as other:
            with other.db.transaction(write=True):
                for task in (plain, full):
                    row_writes.apply(other.db, "task", task.uid, None, asdict(task))
            rows = "SELECT * FROM task ORDER BY id"
            assert store.db.sql(rows).fetchall() == other.db.sql(rows).fetchall()


def test_a_new_tasks_other_values_are_stored_whichever_of_them_are_empty(path):
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=NOW)
        (first,) = store.commit(AddTask("one", home.uid), actor="agent", now=NOW)
        task = AddTask("two", home.uid, "how", tags=("a",), depends_on=(first.uid,), result=0, metadata={})
        (made,) = store.commit(task, actor="agent", now=NOW)
        fields = ["description", "tags", "depends_on", "waiting_on", "links", "result", "metadata"]
        assert stored(store, made.uid, fields) == {
            "description": "how",
            "tags": '["a"]',
            "depends_on": f'["{first.uid}"]',
            "waiting_on": 1,
            "links": "[]",
            "result": "0",
            "metadata": "{}",
        }
