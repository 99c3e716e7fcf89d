"""todo.txt: lines of other programs come in as tasks, and what is done there is done here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import bring, counts, filled, out
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.formats.format_table import FORMATS

RECORDED = (Path(__file__).parents[1] / "recorded" / "todo.txt").read_bytes().decode()
TODO_TXT = FORMATS["todo.txt"]


def tasks(store: Store) -> list[Task]:
    return task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)


def test_lines_of_others_come_in_once(store: Store, clock: Clock) -> None:
    outcome = bring(store, TODO_TXT, RECORDED, clock())
    assert (counts(outcome), dict(outcome.lost)) == ((9, 0, 0), {})
    assert [(task.name, task.status, task.priority, task.tags, task.domain, task.due) for task in tasks(store)] == [
        ("Call Mom", "pending", 1, ("phone",), "Family", None),
        ("Pick up +laundry on the way home", "pending", 1, ("errands",), "laundry", "2026-02-01"),
        ("Post signs around the neighborhood +GarageSale rec:1w", "pending", 3, (), "GarageSale", None),
        ("Measure space for", "done", 2, ("chapel",), "chapelShelving", None),
        ("No dates at all", "done", 3, (), None, None),
        ("xylophone lesson at 12:30 http://example.com/a:b", "pending", 3, (), None, None),
        ("@GroceryStore pies", "pending", 3, ("GroceryStore",), None, None),
        ("(b) lower case is no priority", "pending", 3, (), None, None),
        ("Windows line", "pending", 3, (), None, None),
    ]
    assert counts(bring(store, TODO_TXT, RECORDED, clock() + 10**12)) == (0, 0, 9)


def test_what_is_done_there_is_done_here_and_what_was_added_here_stays(store: Store, clock: Clock) -> None:
    bring(store, TODO_TXT, "water plants @home\nwater plants @home\n", clock())
    second = tasks(store)[1]
    store.commit(EditTask(second.uid, {"tags": ("office",), "priority": 1}), actor="human", now=clock())
    outcome = bring(store, TODO_TXT, "x 2026-01-05 water plants\nwater plants\n", clock())
    assert counts(outcome) == (0, 1, 1)
    assert [(task.status, task.tags) for task in tasks(store)] == [("done", ("home",)), ("pending", ("office",))]


def test_what_is_taken_from_a_line_of_ours_is_taken_from_the_task(store: Store, clock: Clock) -> None:
    _, two, _, _ = filled(store, clock())
    lines = out(store, TODO_TXT)[""].splitlines()
    (line,) = [line for line in lines if f"uid:{two}" in line]
    assert line.startswith("(A) 20") and " second uid:" in line and " due:2026-02-01 " in line
    changed = line.replace("(A) ", "").replace(" due:2026-02-01", "").replace(" second", " the second") + " @new"
    assert counts(bring(store, TODO_TXT, changed, clock())) == (0, 1, 0)
    task = task_queries.task(store.db, two)
    assert (task.name, task.priority, task.due, task.tags) == ("the second", 3, None, ("new",))


def test_a_line_that_is_no_task_is_named(store: Store, clock: Clock) -> None:
    with pytest.raises(InvalidArgument, match=r"^line 2: time data '2026-13-01'"):
        bring(store, TODO_TXT, "fine\n2026-13-01 no such day\n", clock())


def test_what_has_no_place_in_a_task_is_told(store: Store, clock: Clock) -> None:
    outcome = bring(store, TODO_TXT, "(AA) one +a +b due:2026-13-45", clock())
    assert sorted(what.partition(":")[0] for what in outcome.lost) == ["due", "priority", "project"]


def test_signs_that_stand_alone_are_words_of_the_name(store: Store, clock: Clock) -> None:
    text = "meet Bob @ cafe\nmilk + eggs\n@ +\n"
    assert dict(bring(store, TODO_TXT, text, clock()).lost) == {}
    assert [(task.name, task.tags, task.domain) for task in tasks(store)] == [
        ("meet Bob @ cafe", (), None),
        ("milk + eggs", (), None),
        ("@ +", (), None),
    ]
    assert counts(bring(store, TODO_TXT, text, clock())) == (0, 0, 3)


@pytest.mark.parametrize("line", ["(C) water plants", "x 2026-01-02 2026-01-01 water plants pri:C"])
def test_the_middle_letter_that_a_task_came_with_stays(store: Store, clock: Clock, line: str) -> None:
    bring(store, TODO_TXT, f"{line}\nother\n", clock())
    first, other = "".join(out(store, TODO_TXT).values()).splitlines()
    assert "(C)" in first or "pri:C" in first
    assert "(C)" not in other
    assert counts(bring(store, TODO_TXT, f"{first}\n{other}\n", clock())) == (0, 0, 2)
