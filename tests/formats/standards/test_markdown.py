"""Markdown checklists: what others wrote comes in as tasks that wait for those nested in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import bring, counts, filled, lost, out
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.formats.table import FORMATS

RECORDED = (Path(__file__).parents[1] / "recorded" / "checklist.md").read_text()
MARKDOWN = FORMATS["markdown"]


def tasks(store: Store) -> list[Task]:
    return queries.tasks(store.db, queries.lists(store.db)[0].id)


def test_a_checklist_comes_in_once_and_a_task_waits_for_what_is_nested_in_it(store: Store, clock: Clock) -> None:
    outcome = bring(store, MARKDOWN, RECORDED, clock())
    assert counts(outcome) == (10, 0, 0)
    assert outcome.lost == {"text: what is no item with a box is not imported": 5}
    found = tasks(store)
    assert [(task.name, task.status, task.domain) for task in found] == [
        ("Write the **changelog**", "pending", "Release 2.0"),
        ("Migrate `db`", "done", "Release 2.0"),
        ("dump the old one (it takes an hour)", "done", "Release 2.0"),
        ("load it", "pending", "Release 2.0"),
        ("within a plain one", "pending", "Release 2.0"),
        ("first", "pending", "Later"),
        ("given up", "cancelled", "Later"),
        ("begun", "in_progress", "Later"),
        ("dump the old one", "pending", "Later"),
        ("dump the old one", "pending", "Later"),
    ]
    assert set(found[1].depends_on) == {task.uid for task in found[2:5]}
    assert found[3].description == "```sh\npsql < dump\n```"
    assert counts(bring(store, MARKDOWN, RECORDED, clock() + 10**9)) == (0, 0, 10)
    assert lost(store, MARKDOWN, out(store, MARKDOWN)).keys() <= {
        f"{name}: no place for it" for name in ("created_at", "started_at", "finished_at")
    }


def test_what_is_ticked_is_done_and_what_was_added_here_stays(store: Store, clock: Clock) -> None:
    bring(store, MARKDOWN, "- [ ] one\n- [ ] two\n", clock())
    one, _ = tasks(store)
    store.commit(EditTask(one.uid, {"tags": ("a",), "description": "more"}), actor="human", now=clock())
    assert counts(bring(store, MARKDOWN, "* [x] one\r\n* [ ] two\r\n  - [ ] new", clock())) == (1, 2, 0)
    one, two, new = tasks(store)
    assert (one.status, one.tags, one.description) == ("done", ("a",), "more")
    assert two.depends_on == (new.uid,)


def test_a_box_that_was_ticked_since_says_more_than_the_comment(store: Store, clock: Clock) -> None:
    _, two, _, four = filled(store, clock())
    text = out(store, MARKDOWN)[""]
    assert "# tasklist <!-- {" in text and "- [-] fourth <!-- {" in text
    text = text.replace("- [-] fourth", "- [ ] the fourth").replace("- [ ] second", "- [x] second")
    assert counts(bring(store, MARKDOWN, text, clock())) == (0, 2, 2)
    assert (queries.task(store.db, four).name, queries.task(store.db, four).status) == ("the fourth", "pending")
    assert queries.task(store.db, two).status == "done"


def test_a_comment_that_was_edited_is_named(store: Store, clock: Clock) -> None:
    with pytest.raises(InvalidArgument, match=r"^line 2: the comment at its end"):
        bring(store, MARKDOWN, '\n- [ ] one <!-- {"uid": 7} -->', clock())


def test_deep_and_long_files_end(store: Store, clock: Clock) -> None:
    deep = "".join(f"{'  ' * at}- [ ] {at}\n" for at in range(300))
    outcome = bring(store, MARKDOWN, deep, clock())
    assert outcome.added > 20
    assert outcome.lost == {"text: what is nested deeper than 49 items is not imported": 1}
    assert bring(store, MARKDOWN, "> " * 5_000 + "x\n" + "[" * 50_000, clock()).added == 0
