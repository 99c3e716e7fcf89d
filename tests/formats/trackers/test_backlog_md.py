"""Backlog.md: its own files come in, and the real program takes what we write and gives it back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import NOW, bring, counts, filled, out
from tui_tasks.cli.formats import folders
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.read.tasks import queries, records
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.formats import exporting
from tui_tasks.formats.table import FORMATS

BACKLOG = FORMATS["backlog.md"]
# Made by backlog 1.52.0 of npm.
RECORDED = folders.read(Path(__file__).parents[1] / "recorded" / "backlog", BACKLOG.folders)


def tasks(store: Store) -> list[Task]:
    return queries.tasks(store.db, queries.lists(store.db)[0].id)


def test_its_files_come_in_once_and_what_no_task_has_is_kept_and_told(store: Store, clock: Clock) -> None:
    outcome = bring(store, BACKLOG, RECORDED, clock())
    assert counts(outcome) == (3, 0, 0)
    kept = {"references": 2, "assignee": 1, "type": 1, "milestone": 1, "parent_task_id": 1}
    kept |= {"ac": 1, "dod": 1, "notes": 1, "plan": 1}
    assert outcome.lost == {f"{name}: kept in the metadata alone": often for name, often in kept.items()}
    flow, second, yes = tasks(store)
    assert (flow.name, flow.status, flow.priority, flow.agent) == ("Ship auth flow", "done", 2, "claude")
    assert (flow.tags, flow.due, flow.result) == (("a", "b"), "2026-12-01", "All done")
    assert flow.description == "Some text\n\n- bullet"
    assert flow.metadata["backlog.md"]["id"] == "TASK-1"
    assert (second.name, second.depends_on) == ("second: colon '\"quoted", (flow.uid,))
    assert (yes.name, yes.status) == ("yes", "in_progress")
    assert [(entry.agent, entry.message) for entry in records.logs(store.db, yes.uid)] == [
        ("claude", "two\nlines"),
        ("backlog.md", "more"),
    ]
    assert counts(bring(store, BACKLOG, RECORDED, clock())) == (0, 0, 3)


def test_an_export_into_an_empty_folder_has_what_came(store: Store, clock: Clock) -> None:
    bring(store, BACKLOG, RECORDED, clock())
    (flow,) = [text for text in out(store, BACKLOG).values() if "\nid: TASK-1\n" in text]
    for line in ("type: feature", "- '@claude'", "- '@bob'", "- https://x.y", "- [x] #1 first crit", "notes here"):
        assert line in flow
    assert "tui-tasks:" not in flow


def test_an_export_changes_in_a_folder_what_changed_and_keeps_what_it_does_not_know(store: Store, clock: Clock) -> None:
    bring(store, BACKLOG, RECORDED, clock())
    flow, _, yes = tasks(store)
    store.commit(EditTask(yes.uid, {"name": "no", "status": "done"}), actor="human", now=clock())
    home = queries.lists(store.db)[0]
    store.commit(AddTask("../../new: \u202ename", home.uid, depends_on=(flow.uid,)), actor="claude", now=clock())
    since = {path: text.replace("1. do", "1. do more") for path, text in RECORDED.items()}
    files = out(store, BACKLOG, since)
    (path,) = files.keys() - RECORDED.keys()
    assert path == "tasks/task-3 - new-name.md"
    assert "- TASK-1\n" in files[path] and "tui-tasks:" in files[path]
    changed = files["tasks/task-2 - in-prog.md"]
    assert "title: 'no'" in changed and "status: Done" in changed and "1. do more" in changed
    # A second export of the same finds its own number again.
    assert out(store, BACKLOG, {**since, **files}) == files
    assert counts(bring(store, BACKLOG, {**since, **files}, clock()))[0] == 0


def test_a_status_of_its_own_is_pending_and_goes_out_as_it_came(store: Store, clock: Clock) -> None:
    file = {"tasks/a.md": "---\nid: BUG-7\ntitle: 007\nstatus: Review\n---\n## Description\n\nplain text\n"}
    outcome = bring(store, BACKLOG, file, clock())
    assert outcome.lost == {"status: Review is read as pending": 1}
    (task,) = tasks(store)
    assert (task.name, task.status, task.description) == ("007", "pending", "plain text")
    assert "id: BUG-7\n" in (text := out(store, BACKLOG)["tasks/bug-7 - 007.md"]) and "status: Review\n" in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# no front matter", "tasks/a.md: it begins with no front matter"),
        ("---\nid: a\n---\n", "tasks/a.md: Object missing required field `title`"),
        ("---\n[\n---\n", "tasks/a.md: while parsing"),
        ("---\nid: a\ntitle: !!python/object:os.system b\n---\n", "tasks/a.md: could not determine a constructor"),
        ("---\nid: a\ntitle: b\ncreated_date: soon\n---\n", "tasks/a.md: Invalid isoformat string"),
        (
            "---\nid: a\ntitle: b\na: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True))
            + "---\n",
            "tasks/a.md: over 10,000 values",
        ),
    ],
)
def test_what_is_no_file_of_a_task_is_named(store: Store, clock: Clock, text: str, told: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{told}"):
        bring(store, BACKLOG, {"tasks/a.md": text}, clock())


@pytest.mark.skipif(shutil.which("backlog") is None, reason="Backlog.md (`backlog` of npm) is not installed")
def test_the_real_program_takes_what_is_written_and_gives_it_back(store: Store, clock: Clock, tmp_path: Path) -> None:
    _, two, _, _ = filled(store, clock())

    def backlog(*words: str) -> str:
        done = subprocess.run(
            ["backlog", *words], cwd=tmp_path, env=os.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def present() -> dict[str, str]:
        return folders.read(tmp_path / "backlog", BACKLOG.folders)

    backlog("init", "x", "--defaults", "--no-git", "--integration-mode", "none")
    files = dict(BACKLOG.write_folder(exporting.rows(store.db, None, None), present(), NOW))
    for path, text in files.items():
        (tmp_path / "backlog" / path).write_text(text)
    listed = backlog("task", "list", "--plain")
    assert "[HIGH] TASK-1 - second" in listed and "TASK-3 - fourth" in listed
    backlog("task", "edit", "1", "-s", "Done", "-l", "new", "--comment", "seen")
    assert counts(bring(store, BACKLOG, present(), clock())) == (0, 1, 3)
    task = queries.task(store.db, two)
    assert (task.status, task.tags, task.due) == ("done", ("new",), "2026-02-01")
    assert [entry.message for entry in records.logs(store.db, two)] == ["seen"]
