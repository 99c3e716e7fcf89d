"""Markdown checklists: what others wrote comes in as tasks that wait for those nested in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import bring, counts, filled, lost, out
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.formats import file_records
from tui_tasks.formats.format_table import FORMATS

RECORDED = (Path(__file__).parents[1] / "recorded" / "checklist.md").read_text()
MARKDOWN = FORMATS["markdown"]


def tasks(store: Store) -> list[Task]:
    return task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)


def test_a_checklist_comes_in_once_and_a_task_waits_for_what_is_nested_in_it(store: Store, clock: Clock) -> None:
    outcome = bring(store, MARKDOWN, RECORDED, clock())
    assert counts(outcome) == (10, 0, 0)
    assert outcome.lost == {"text: only items with a box are imported": 5}
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
    assert (task_queries.task(store.db, four).name, task_queries.task(store.db, four).status) == (
        "the fourth",
        "pending",
    )
    assert task_queries.task(store.db, two).status == "done"


def test_a_comment_that_was_edited_is_named(store: Store, clock: Clock) -> None:
    with pytest.raises(InvalidArgument, match=r"^line 2: the comment at its end"):
        bring(store, MARKDOWN, '\n- [ ] one <!-- {"uid": 7} -->', clock())


def test_deep_and_long_files_end(store: Store, clock: Clock) -> None:
    deep = "".join(f"{'  ' * at}- [ ] {at}\n" for at in range(300))
    outcome = bring(store, MARKDOWN, deep, clock())
    assert outcome.added > 20
    assert outcome.lost == {"text: what is nested deeper than 49 items is not imported": 1}
    assert bring(store, MARKDOWN, "> " * 5_000 + "x\n" + "[" * 50_000, clock()).added == 0


OBSIDIAN = """# Home

- [ ] Pay rent 🔼 🔁 every month ➕ 2026-01-01 🛫 2026-01-25 ⏳ 2026-01-28 📅 2026-02-01 #home/money
- [ ] Call #work Bob about #12 ⏫
- [x] Post letter ✅ 2026-01-30
- [-] Old plan ❌ 2026-01-29 🏁 delete 🆔 a1 ⛔ b2,c3 ^block-1
- [ ] #errand
"""


def by_name(store: Store) -> dict[str, Task]:
    return {task.name: task for home in task_queries.lists(store.db) for task in task_queries.tasks(store.db, home.id)}


def day(at: int | None) -> str | None:
    return None if at is None else file_records.utc(at).date().isoformat()


def test_the_marks_of_obsidian_are_fields_and_no_part_of_the_name(store: Store, clock: Clock) -> None:
    outcome = bring(store, MARKDOWN, OBSIDIAN, clock())
    found = by_name(store)
    assert list(found) == ["Pay rent", "Call #work Bob about #12", "Post letter", "Old plan", "#errand"]
    rent, call, post, old, errand = found.values()
    assert (rent.due, rent.priority, rent.tags, day(rent.created_at)) == (
        "2026-02-01",
        3,
        ("home/money",),
        "2026-01-01",
    )
    assert (call.priority, call.tags) == (2, ("work",))
    assert (post.status, day(post.finished_at)) == ("done", "2026-01-30")
    assert (old.status, day(old.finished_at)) == ("cancelled", "2026-01-29")
    assert errand.tags == ("errand",)
    kept = ("repeat", "start day", "scheduled day", "id", "dependency", "on end")
    assert outcome.lost == {f"{what}: kept in the metadata alone": 1 for what in kept}


def test_a_task_ticked_in_obsidian_is_no_second_task(store: Store, clock: Clock) -> None:
    bring(store, MARKDOWN, OBSIDIAN, clock())
    ticked = OBSIDIAN.replace("- [ ] Call #work Bob about #12 ⏫", "- [x] Call #work Bob about #12 ⏫ ✅ 2026-02-01")
    assert counts(bring(store, MARKDOWN, ticked, clock())) == (0, 1, 4)
    call = by_name(store)["Call #work Bob about #12"]
    assert (call.status, day(call.finished_at)) == ("done", "2026-02-01")
    assert counts(bring(store, MARKDOWN, ticked, clock())) == (0, 0, 5)


def test_a_repeating_task_that_is_ticked_is_done_once_and_goes_on_as_itself(store: Store, clock: Clock) -> None:
    bring(store, MARKDOWN, "- [ ] Water 🔁 every day 📅 2026-02-01\n", clock())
    (water,) = by_name(store).values()
    first = "- [x] Water 🔁 every day 📅 2026-02-01 ✅ 2026-02-01\n"
    text = f"- [ ] Water 🔁 every day 📅 2026-02-02\n{first}"
    assert counts(bring(store, MARKDOWN, text, clock())) == (1, 1, 0)
    assert task_queries.task(store.db, water.uid).due == "2026-02-02"
    text = f"- [ ] Water 🔁 every day 📅 2026-02-03\n- [x] Water 🔁 every day 📅 2026-02-02 ✅ 2026-02-02\n{first}"
    assert counts(bring(store, MARKDOWN, text, clock())) == (1, 1, 1)


def test_a_repeating_task_that_is_ticked_without_a_next_line_is_the_same_task(store: Store, clock: Clock) -> None:
    bring(store, MARKDOWN, "- [ ] Weekly sync 🔁 every week\n  - [ ] agenda\n", clock())
    sync = by_name(store)["Weekly sync"]
    ticked = "- [x] Weekly sync 🔁 every week ✅ 2026-11-23\n  - [x] agenda\n"
    assert counts(bring(store, MARKDOWN, ticked, clock())) == (0, 2, 0)
    done = task_queries.task(store.db, sync.uid)
    assert (done.status, day(done.finished_at)) == ("done", "2026-11-23")
    assert counts(bring(store, MARKDOWN, ticked, clock())) == (0, 0, 2)
    both = f"- [ ] Weekly sync 🔁 every week\n{ticked}"
    assert counts(bring(store, MARKDOWN, both, clock()))[0] == 1
    statuses = sorted(task.status for task in tasks(store) if task.name == "Weekly sync")
    assert statuses == ["done", "pending"]


def test_an_occasion_that_came_in_beside_its_next_line_stays_a_task_of_its_own(store: Store, clock: Clock) -> None:
    done = "- [x] Water 🔁 every day ✅ 2026-02-01\n"
    bring(store, MARKDOWN, f"- [ ] Water 🔁 every day\n{done}", clock())
    assert counts(bring(store, MARKDOWN, done, clock())) == (0, 0, 1)
    assert sorted(task.status for task in tasks(store)) == ["done", "pending"]
    assert counts(bring(store, MARKDOWN, f"{done}- [x] Water 🔁 every day ✅ 2026-02-02\n", clock())) == (0, 1, 1)
    assert [task.status for task in tasks(store)] == ["done", "done"]


def test_marks_are_written_back_as_they_were_and_settle(store: Store, clock: Clock) -> None:
    bring(store, MARKDOWN, OBSIDIAN, clock())
    text = out(store, MARKDOWN)[""]
    ends = [line.partition(" --> ")[2] for line in text.splitlines() if line.startswith("- [")]
    assert ends == [
        "🔼 🔁 every month ➕ 2026-01-01 🛫 2026-01-25 ⏳ 2026-01-28 📅 2026-02-01 #home/money",
        "⏫",
        "✅ 2026-01-30",
        "❌ 2026-01-29 🏁 delete 🆔 a1 ⛔ b2,c3 ^block-1",
        "",
    ]
    assert counts(bring(store, MARKDOWN, text, clock())) == (0, 0, 5)
    assert lost(store, MARKDOWN, {"": text}).keys() <= {
        "created_at: no place for it",
        "started_at: no place for it",
        "created_at: its time of day",
        "finished_at: its time of day",
    }


def test_a_line_of_ours_that_obsidian_ticked_or_changed_is_the_same_task(store: Store, clock: Clock) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="human", now=clock())
    (task,) = store.commit(AddTask("Ours", home.uid, tags=("a", "b")), actor="human", now=clock())
    line = out(store, MARKDOWN)[""].splitlines()[2]
    ticked = line.replace("- [ ]", "- [x]") + " ✅ 2026-02-01 #c"
    assert counts(bring(store, MARKDOWN, ticked, clock())) == (0, 1, 0)
    ours = task_queries.task(store.db, task.uid)
    assert (ours.name, ours.status, ours.tags, day(ours.finished_at)) == ("Ours", "done", ("a", "b", "c"), "2026-02-01")
    again = out(store, MARKDOWN)[""].splitlines()[2]
    assert again.endswith(" --> ✅ 2026-02-01 #c")
    edited = again.replace("- [x]", "- [ ]").replace("✅ 2026-02-01 #c", "🔽 📅 2026-03-01")
    bring(store, MARKDOWN, edited, clock())
    ours = task_queries.task(store.db, task.uid)
    assert (ours.status, ours.tags, ours.priority, ours.due) == ("pending", ("a", "b"), 4, "2026-03-01")
    text = out(store, MARKDOWN)[""]
    assert counts(bring(store, MARKDOWN, text, clock())) == (0, 0, 1)
    bring(store, MARKDOWN, text.replace("📅 2026-03-01", ""), clock())
    assert task_queries.task(store.db, task.uid).due is None


@pytest.mark.parametrize("marks", [["rm -rf"], "📅", [1], ["📅 x --> <b>"], {"a": 1}])
def test_marks_that_an_agent_wrote_into_metadata_are_not_written(store: Store, clock: Clock, marks: object) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=clock())
    store.commit(AddTask("x", home.uid, metadata={"markdown": {"marks": marks}}), actor="claude", now=clock())
    assert out(store, MARKDOWN)[""].rstrip().endswith(" -->")
