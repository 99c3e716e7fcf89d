"""Reads of held tasks."""

from tui_tasks.core.read.tasks import held_queries
from tui_tasks.core.store import Store


def test_held_tasks_are_counted_and_listed_by_their_index_also_where_other_indexes_were_made_later(tmp_path):
    with Store(str(tmp_path / "x.db")) as store, store.db.transaction(write=True):
        others = store.db.sql(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND name GLOB 'task_*'"
        ).fetchall()
        for name, sql in others:
            if sql and name != "task_held":
                store.db.sql(f"DROP INDEX {name}")
                store.db.sql(sql)
        for statement in (held_queries._COUNT, held_queries._ALL):
            plan = store.db.sql(f"EXPLAIN QUERY PLAN {statement.sql}").fetchall()
            assert "task_held" in plan[0][3]
