"""Taskwarrior: its own export comes in, and the real program takes what we write and gives it back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import NOW, bring, counts, filled, lost, out, read
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store
from tui_tasks.formats import exporting
from tui_tasks.formats.exporting import losses
from tui_tasks.formats.format_table import FORMATS

RECORDED = (Path(__file__).parents[1] / "recorded" / "taskwarrior-2.6.2.json").read_text()
TASKWARRIOR = FORMATS["taskwarrior"]
MILK, SECOND = "7179453d-4083-4bae-94a5-e9705e1c7b8c", "b4f0af8e-29d0-485e-bf2f-b64fad47527b"


def test_its_export_comes_in_once_and_what_no_task_has_is_kept_and_told(store: Store, clock: Clock) -> None:
    outcome = bring(store, "taskwarrior", RECORDED, clock())
    assert counts(outcome) == (4, 0, 0)
    assert outcome.lost == {
        "recurring: the tasks of the template are imported, not the template": 1,
        **{f"{name}: kept in the metadata alone": 1 for name in ("recur", "rtype", "imask", "parent", "until")},
        **{f"{name}: kept in the metadata alone": 1 for name in ("wait", "scheduled")},
    }
    milk, second = task_queries.task(store.db, MILK), task_queries.task(store.db, SECOND)
    assert (milk.name, milk.status, milk.priority, milk.tags) == ("Buy milk", "done", 2, ("a", "b"))
    assert (milk.domain, milk.due) == ("home.shop", "2026-12-01T10:00:00.000+00:00")
    assert milk.metadata == {"taskwarrior": {"uuid": MILK}}
    assert (second.status, second.depends_on) == ("in_progress", (MILK,))
    assert [(entry.message, entry.agent) for entry in task_records.logs(store.db, SECOND)] == [
        ("a note", "imported:taskwarrior")
    ]
    four = next(task for task in task_queries.tasks(store.db, second.list_id) if task.name == "four")
    assert four.metadata["taskwarrior"]["scheduled"] == "20261205T000000Z"
    assert counts(bring(store, "taskwarrior", RECORDED, clock())) == (0, 0, 4)


def test_a_line_a_task_and_dependencies_in_one_text_are_read_too(store: Store, clock: Clock) -> None:
    one, two = (f"00000000-0000-4000-8000-00000000000{at}" for at in (1, 2))
    tasks = [{"uuid": one, "description": "one"}, {"uuid": two, "description": "two"}]
    tasks.append({"uuid": one[:-1] + "3", "description": "three", "depends": f"{one},{two}"})
    bring(store, "taskwarrior", ",\n".join(map(json.dumps, tasks)), clock())
    assert task_queries.task(store.db, one[:-1] + "3").depends_on == (one, two)


def test_what_was_changed_there_is_changed_here_and_the_rest_stays(store: Store, clock: Clock) -> None:
    _, two, _, four = filled(store, clock())
    tasks = {each["uuid"]: each for each in json.loads(out(store, TASKWARRIOR)[""])}
    del tasks[two]["due"]
    tasks[four] |= {"status": "completed", "priority": "H"}
    del tasks[four]["outcome"]
    store.commit(EditTask(four, {"description": "newer here"}), actor="human", now=clock())
    del tasks[four]["notes"]
    assert counts(bring(store, "taskwarrior", json.dumps(list(tasks.values())), clock())) == (0, 2, 2)
    task = task_queries.task(store.db, four)
    # `completed` is what a failed task is told as, so it says nothing new.
    assert (task.status, task.priority, task.description) == ("failed", 2, "newer here")
    assert task_queries.task(store.db, two).due is None


def test_a_day_is_its_first_instant_there_by_the_clock_of_its_own_season(store: Store, clock: Clock) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=clock())
    store.commit(AddTask("x", home.uid, fields={"due": "2026-07-31"}), actor="claude", now=clock())
    winter = NOW.astimezone(ZoneInfo("Europe/Berlin"))
    text = "".join(TASKWARRIOR.write(exporting.rows(store.db, None, None), winter))
    assert json.loads(text)[0]["due"] == "20260730T220000Z"
    assert TASKWARRIOR.read(text, winter).records[0].fields["due"] == "2026-07-31"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "item 1: not one JSON text"),
        ('[{"uuid": 7}]', "item 1: Expected `str`, got `int`"),
        ('[{"description": "x"}]', "item 1: Object missing required field `uuid`"),
        ('[{"uuid": "a", "description": " "}]', "item 1: "),
        ('{"uuid": "a", "description": "x", "status": "new"}', "line 1: Invalid enum value 'new'"),
        ('{"uuid": "a", "description": "x", "due": "tomorrow"}', "line 1: time data"),
        ("7", "line 1: Expected `object`, got `int`"),
    ],
)
def test_what_is_no_task_is_named(store: Store, clock: Clock, text: str, told: str) -> None:
    with pytest.raises(InvalidArgument, match="^" + told.replace("[", r"\[")):
        bring(store, "taskwarrior", text, clock())


@pytest.mark.skipif(shutil.which("task") is None, reason="Taskwarrior (`task`) is not installed")
def test_the_real_program_takes_what_is_written_and_gives_it_back(store: Store, clock: Clock, tmp_path: Path) -> None:
    filled(store, clock())
    text = out(store, TASKWARRIOR)[""]
    (tmp_path / "rc").write_text(f"data.location={tmp_path}/data\nconfirmation=no\n")

    def task(*words: str, stdin: str = "") -> str:
        environ = {**os.environ, "TASKRC": str(tmp_path / "rc"), "TASKDATA": str(tmp_path), "TZ": "UTC"}
        done = subprocess.run(
            ["task", "rc.verbose=nothing", *words], input=stdin, env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    task("import", "-", stdin=text)
    back = task("export")
    rows = exporting.rows(store.db, None, None)
    told = losses(rows, read(TASKWARRIOR, {"": back}), "taskwarrior")
    # It orders tasks by its own numbers; everything else is as it was written.
    assert {what: often for what, often in told.items() if not what.startswith("rank")} == {
        what: often for what, often in lost(store, TASKWARRIOR, {"": text}).items() if not what.startswith("rank")
    }
    assert counts(bring(store, TASKWARRIOR, back, clock())) == (0, 0, 4)
    task(store_uuid := task_queries.tasks(store.db, 1)[0].uid, "done")
    assert counts(bring(store, TASKWARRIOR, task("export"), clock())) == (0, 1, 3)
    assert task_queries.task(store.db, store_uuid).status == "done"


def test_the_middle_priority_that_a_task_came_with_stays(store: Store, clock: Clock) -> None:
    both = [
        {"uuid": "11111111-1111-4111-8111-111111111111", "description": "a", "status": "pending", "priority": "M"},
        {"uuid": "22222222-2222-4222-8222-222222222222", "description": "b", "status": "pending"},
    ]
    given = json.dumps([{**task, "entry": "20260101T000000Z"} for task in both])
    bring(store, FORMATS["taskwarrior"], given, clock())
    written = json.loads("".join(out(store, FORMATS["taskwarrior"]).values()))
    assert [task.get("priority") for task in written] == ["M", None]
