"""What SQLite writes out is what Python would."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checks import Checks
from tests.conftest import START
from tui_tasks.core.errors import NotFound
from tui_tasks.core.operations.jobs import GiveChecks, NamedCheck
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, EnsureList
from tui_tasks.core.read import check_queries
from tui_tasks.core.read.tasks import task_json_sql, task_queries
from tui_tasks.core.snapshots import full_task
from tui_tasks.core.store import Store

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["\0", "\x01\x1f\x7f", '\\"/', "\u2028\ufeff", "\U0001f600é", "null", "'", "%"]
)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda held: st.lists(held) | st.dictionaries(TEXTS, held),
    max_leaves=8,
)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "description": TEXTS,
        "status": st.sampled_from(["pending", "in_progress", "done", "failed"]),
        "priority": st.integers(1, 2**40),
        "tags": st.lists(TEXTS, max_size=3).map(tuple),
        "domain": TEXTS,
        "result": ANYTHING,
        "metadata": ANYTHING,
        "agent": TEXTS,
        "intent": TEXTS,
    },
)


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXTS, CHANGES, st.integers(0, 10**15)), max_size=4), TEXTS)
def test_a_task_is_written_out_code_point_for_code_point(given_, name) -> None:
    with Store(":memory:") as store:
        (home,) = store.commit(EnsureList("x" + name, "task"), actor="a", now=START)
        uids: list[str] = []
        for text, changes, at in given_:
            after = tuple(uids[-1:])
            (task,) = store.commit(AddTask("x" + text, home.uid, depends_on=after), actor="a", now=START + at)
            store.commit(EditTask(task.uid, changes), actor="a", now=START + at + 1)
            uids.append(task.uid)
        tasks = task_queries.tasks(store.db, home.id)
        plain = [json.dumps(full_task(task, home.handle)) for task in tasks]
        written = _read(task_json_sql.tasks(store.db, home.handle))
        assert written == [json.loads(text) for text in plain]
        assert [list(task) for task in written] == [list(json.loads(text)) for text in plain]
        done = [task.uid for task in tasks if task.status == "done"]
        assert [task["uid"] for task in _read(task_json_sql.tasks(store.db, home.handle, ["done"]))] == done


def test_checks_are_written_out_as_python_tells_them(monkeypatch, clock) -> None:
    monkeypatch.setattr(task_json_sql, "PAGE", 2)
    with Store(":memory:") as store:
        runner = Checks(store, clock, NamedCheck("tests", "1", lists=("list",)), NamedCheck("lint", "1"))
        (home,) = store.commit(EnsureList("list", "task"), actor="a", now=START)
        made = store.commit(*(AddTask(str(at), home.uid) for at in range(5)), actor="a", now=START)
        store.commit(GiveChecks(made[3].uid, ("lint",)), GiveChecks(made[4].uid, ()), actor="human", now=START)
        store.commit(EditTask(made[1].uid, {"status": "done"}), actor="a", now=START)
        runner.run("failed", exit_code=1, output='1 failed\n\x1b"é')
        tasks = task_queries.tasks(store.db, home.id)
        plain = [full_task(task, "list", check_queries.json_of_task(store.db, task, home)) for task in tasks]
        assert _read(task_json_sql.tasks(store.db, "list")) == json.loads(json.dumps(plain))
        assert [task["verified"] for task in plain] == ["unproven", "failed", "unproven", "unproven", None]


def _read(found: Iterable[str]) -> list[dict[str, Any]]:
    texts = list(found)
    assert all(texts)
    return list(json.loads(f"[{', '.join(texts)}]"))


def test_a_list_of_many_pages_is_written_whole_and_in_order(monkeypatch) -> None:
    monkeypatch.setattr(task_json_sql, "PAGE", 3)
    for many in range(8):
        with Store(":memory:") as store:
            (home,) = store.commit(EnsureList("list", "task"), actor="a", now=START)
            store.commit(*(AddTask(str(at), home.uid) for at in range(many)), actor="a", now=START)
            texts = list(task_json_sql.tasks(store.db, "list"))
            assert len(texts) == (many + 2) // 3
            assert [task["name"] for task in _read(texts)] == [str(at) for at in range(many)]


@pytest.mark.parametrize("with_checks", [False, True])
def test_a_large_database_is_written_a_task_at_a_time(monkeypatch, with_checks, clock) -> None:
    with Store(":memory:") as store:
        if with_checks:
            Checks(store, clock, NamedCheck("tests", "1", lists=("other",)))
        (home,) = store.commit(EnsureList("list", "task"), actor="a", now=START)
        store.commit(*(AddTask(str(at), home.uid) for at in range(5)), actor="a", now=START)
        together = list(task_json_sql.tasks(store.db, "list", ["pending"]))
        monkeypatch.setattr(task_json_sql, "SHORT", 0)
        alone = list(task_json_sql.tasks(store.db, "list", ["pending"]))
    assert len(together) == 1
    assert len(alone) == 5
    assert ", ".join(alone) == together[0]


def test_a_list_is_found_as_on_the_channel_and_without_one_all_are_written() -> None:
    with Store(":memory:") as store:
        (plan,) = store.commit(CreatePlan("plan"), actor="a", now=START)
        (other,) = store.commit(CreatePlan("other"), actor="a", now=START)
        store.commit(AddTask("one", plan.uid), AddTask("two", other.uid), actor="a", now=START)

        def names(handle: str | None = None) -> list[str]:
            return [task["name"] for task in _read(task_json_sql.tasks(store.db, handle))]

        assert (names(plan.uid), names(other.uid)) == (["one"], ["two"])
        assert names("todo") == []
        assert names() == ["one", "two"]
        with pytest.raises(NotFound):
            names("plan")
