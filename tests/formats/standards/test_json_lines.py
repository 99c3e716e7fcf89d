"""JSON Lines: what goes out comes back, whole, once, and as one change."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import filled, names
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import InvalidArgument, Refusal
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import (
    AddTask,
    ClaimNext,
    DeleteTask,
    EditTask,
    EnsureList,
    LogTask,
    MoveTask,
)
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store
from tui_tasks.formats import exporting
from tui_tasks.formats.format_table import FORMATS
from tui_tasks.formats.importing import Importer, ImportResult
from tui_tasks.formats.standards import json_lines

NOW = datetime(2026, 1, 31, tzinfo=UTC)


def text_of(store: Store) -> str:
    return "".join(json_lines.write(exporting.rows(store.db, None, None), NOW))


def lines_of(store: Store, *without: str) -> list[dict[str, Any]]:
    """The lines of an export, without some of their members."""
    lines = [json.loads(line) for line in text_of(store).splitlines()]
    return [{name: value for name, value in line.items() if name not in without} for line in lines]


def bring(store: Store, text: str, now: int, *, list_name: str | None = None, rehearsal: bool = False) -> ImportResult:
    read = FORMATS["jsonl"].read(text, NOW)
    importing = Importer(store, "jsonl", read, target=list_name, fallback="tasklist", project=None)
    return importing.run("shell", now, rehearsal=rehearsal)


def counts(outcome: ImportResult) -> tuple[int, int, int]:
    return outcome.added, outcome.changed, outcome.unchanged


@pytest.fixture
def empty(tmp_path: Path):
    with Store(str(tmp_path / "empty.db")) as store:
        yield store


def test_what_goes_out_comes_back_to_the_byte_and_the_second_import_changes_nothing(
    store: Store, empty: Store, clock: Clock
) -> None:
    filled(store, clock())
    text = text_of(store)
    assert counts(bring(empty, text, clock() + 10**9)) == (4, 0, 0)
    assert text_of(empty) == text
    newest = journal.newest(empty.db)
    again = bring(empty, text, clock() + 2 * 10**9)
    assert (counts(again), dict(again.lost)) == ((0, 0, 4), {})
    assert journal.newest(empty.db) == newest
    assert list(database_findings.differences(empty.db)) == []


def test_one_undo_takes_an_import_back_and_another_import_brings_it_again(
    store: Store, empty: Store, clock: Clock
) -> None:
    filled(store, clock())
    text = text_of(store)
    bring(empty, text, clock())
    empty.commit(Undo(), actor="shell", now=clock())
    assert [line for line in text_of(empty).splitlines() if '"record": "task"' in line] == []
    assert bring(empty, text, clock()).added == 4
    assert names(empty) == names(store)
    assert list(database_findings.differences(empty.db)) == []


def test_a_changed_task_is_one_changed_line_and_its_import_changes_that_task_alone(
    store: Store, empty: Store, clock: Clock
) -> None:
    one, *_ = filled(store, clock())
    before = text_of(store)
    bring(empty, before, clock())
    store.commit(EditTask(one, {"name": "other words"}), LogTask(one, "more"), actor="human", now=clock())
    after = text_of(store)
    assert sum(a != b for a, b in zip(before.splitlines(), after.splitlines(), strict=True)) == 1
    assert counts(bring(empty, after, clock())) == (0, 1, 3)
    assert task_queries.task(empty.db, one).name == "other words"


def test_a_moved_task_moves_and_a_deleted_one_comes_back(store: Store, empty: Store, clock: Clock) -> None:
    one, two, *_ = filled(store, clock())
    bring(empty, text_of(store), clock())
    store.commit(MoveTask(two, after=one), actor="human", now=clock())
    empty.commit(DeleteTask(one), actor="shell", now=clock())
    assert counts(bring(empty, text_of(store), clock())) == (1, 1, 2)
    # That it came back is a change of its own.
    assert lines_of(empty, "version", "updated_at") == lines_of(store, "version", "updated_at")


def test_a_changed_order_is_imported_though_each_place_was_another_tasks(
    store: Store, empty: Store, clock: Clock
) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=clock())
    added = store.commit(*(AddTask(name, home.uid) for name in "abc"), actor="claude", now=clock())
    bring(empty, text_of(store), clock())
    lines = [json.loads(line) for line in text_of(store).splitlines()]
    ranks = {task.uid: other.rank for task, other in zip(added, reversed(added), strict=True)}
    text = "\n".join(json.dumps(line | ({"rank": ranks[line["uid"]]} if "rank" in line else {})) for line in lines)
    assert counts(bring(empty, text, clock())) == (0, 2, 1)
    same = task_queries.find_list(empty.db, "tasklist")
    assert same is not None
    assert [task.name for task in task_queries.tasks(empty.db, same.id)] == ["c", "b", "a"]


def test_two_who_append_a_task_to_one_file_get_the_same_order(store: Store, empty: Store, clock: Clock) -> None:
    for each, name in ((store, "of a"), (empty, "of b")):
        (home,) = each.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=clock())
        each.commit(AddTask(name, home.uid), actor="claude", now=clock())
    merged = "".join(dict.fromkeys((text_of(store) + text_of(empty)).splitlines(keepends=True)))
    for each in (store, empty):
        bring(each, merged, clock())
    assert lines_of(store, "version", "updated_at") == lines_of(empty, "version", "updated_at")
    ranks = [line["rank"] for line in lines_of(store) if "rank" in line]
    assert len(ranks) == len(set(ranks)) == 2
    for text in (text_of(store), text_of(empty)):
        for each in (store, empty):
            bring(each, text, clock())
    assert text_of(store) == text_of(empty)


def test_a_rehearsal_tells_the_same_and_keeps_nothing(store: Store, empty: Store, clock: Clock) -> None:
    filled(store, clock())
    newest = journal.newest(empty.db)
    assert counts(bring(empty, text_of(store), clock(), rehearsal=True)) == (4, 0, 0)
    assert (journal.newest(empty.db), names(empty)) == (newest, [])
    assert counts(bring(empty, text_of(store), clock())) == (4, 0, 0)


def test_what_an_agent_has_claimed_is_left_alone_and_told(store: Store, empty: Store, clock: Clock) -> None:
    filled(store, clock())
    text = text_of(store)
    bring(empty, text, clock(), list_name="shared")
    home = task_queries.find_list(empty.db, "shared")
    assert home is not None
    uid = next(task.uid for task in task_queries.tasks(empty.db, home.id) if task.status == "in_progress")
    empty.commit(EditTask(uid, {"status": "pending"}), actor="shell", now=clock())
    empty.commit(ClaimNext("claude", 60, home.uid), actor="claude", now=clock())
    outcome = bring(empty, text, clock(), list_name="shared")
    assert outcome.lost["left alone: an agent has claimed the task"] == 1
    assert task_queries.task(empty.db, uid).claimed_by == "claude"


def test_nobody_speaks_for_the_human_by_a_file(empty: Store, clock: Clock) -> None:
    log = [{"uid": "l1", "at": "2026-01-01T00:00:00Z", "agent": "human", "message": "approved"}]
    bring(empty, json.dumps({"uid": "foreign", "name": "x", "log": log}), clock())
    (task,) = task_queries.tasks(empty.db, task_queries.lists(empty.db)[0].id)
    assert [entry.agent for entry in task_records.logs(empty.db, task.uid)] == ["imported:human"]
    assert json.loads(text_of(empty).splitlines()[-1])["log"][0]["agent"] == "human"
    assert task.created_by == "shell"


def test_a_dependency_may_stand_later_in_the_file_and_one_that_is_nowhere_is_told(empty: Store, clock: Clock) -> None:
    lines = [{"uid": "a", "name": "a", "depends_on": ["b", "gone"]}, {"uid": "b", "name": "b"}]
    text = "\n".join(map(json.dumps, lines))
    outcome = bring(empty, text, clock())
    a, b = task_queries.tasks(empty.db, task_queries.lists(empty.db)[0].id)
    assert a.depends_on == (b.uid,)
    assert outcome.lost == {"depends_on: no such task in the file or the database": 1}
    assert counts(bring(empty, text, clock())) == (0, 0, 2)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2: not one JSON text"),
        ("[]", "line 2: a line is an object with a uid"),
        ('{"uid": "x", "name": " "}', "line 2: "),
        ('{"uid": "x", "name": "\\ud800"}', "line 2: a lone surrogate"),
        ('{"uid": "x", "name": "y", "status": "ready"}', "line 2: Invalid enum value 'ready'"),
        ('{"uid": "x", "name": "y", "created_at": "2026-01-01"}', "line 2: an instant needs an offset"),
        (
            '{"uid": "x", "name": "y", "created_at": "9999-12-31T23:00:00-02:00"}',
            "line 2: 9999-12-31T23:00:00-02:00 is",
        ),
        ('{"uid": "x", "name": "y", "log": [7]}', "line 2: Expected `object`"),
        ('{"uid": "x", "name": "y", "metadata": NaN}', "line 2: NaN is no JSON"),
    ],
)
def test_a_line_that_is_no_task_is_named_and_nothing_is_written(
    empty: Store, clock: Clock, line: str, told: str
) -> None:
    with pytest.raises(InvalidArgument, match="^" + told.replace("[", r"\[")):
        bring(empty, '{"uid": "good", "name": "good"}\n' + line, clock())
    assert journal.newest(empty.db) == 0


def test_a_refusal_in_the_middle_takes_the_whole_import_back(empty: Store, clock: Clock) -> None:
    lines = [{"uid": "a", "name": "a", "depends_on": ["b"]}, {"uid": "b", "name": "b", "depends_on": ["a"]}]
    with pytest.raises(Refusal, match="already waits for"):
        bring(empty, "\n".join(map(json.dumps, lines)), clock())
    assert names(empty) == []


def test_a_place_that_is_none_is_the_lists_end(empty: Store, clock: Clock) -> None:
    bad = ["zz", "ff", "8", "\u0660\u0660", "80" * 500]
    text = "\n".join(json.dumps({"uid": f"t{at}", "name": rank[:9], "rank": rank}) for at, rank in enumerate(bad))
    assert bring(empty, text, clock()).added == len(bad)
    home = task_queries.lists(empty.db)[0]
    first = task_queries.tasks(empty.db, home.id)[0]
    empty.commit(AddTask("between", before=first.uid), actor="human", now=clock())


def test_a_key_that_another_task_has_is_told(empty: Store, clock: Clock) -> None:
    bring(empty, json.dumps({"uid": "a", "name": "a", "key": "k"}), clock())
    outcome = bring(empty, json.dumps({"uid": "b", "name": "b", "key": "k"}), clock())
    assert outcome.lost == {"key: another task of the list has it": 1}


def test_a_dependency_may_be_turned_around(empty: Store, clock: Clock) -> None:
    def lines(of_a: list[str], of_b: list[str]) -> str:
        tasks = [{"uid": "b", "name": "b", "depends_on": of_b}, {"uid": "a", "name": "a", "depends_on": of_a}]
        return "\n".join(map(json.dumps, tasks))

    bring(empty, lines(["b"], []), clock())
    assert counts(bring(empty, lines([], ["a"]), clock())) == (0, 2, 0)
    b, a = task_queries.tasks(empty.db, task_queries.lists(empty.db)[0].id)
    assert (b.depends_on, a.depends_on) == ((a.uid,), ())
