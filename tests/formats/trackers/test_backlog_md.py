"""Backlog.md: its own files come in, and the real program takes what we write and gives it back."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import NOW, bring, counts, filled, out, read
from tui_tasks.cli.admin import import_export
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.tasks import AddTask, EditTask, LogTask, MoveTask
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.formats import exporting
from tui_tasks.formats.format_table import FORMATS

BACKLOG = FORMATS["backlog.md"]
# Made by backlog 1.52.0 of npm.
RECORDED = import_export.read_folder(Path(__file__).parents[1] / "recorded" / "backlog", BACKLOG.folders)


def tasks(store: Store) -> list[Task]:
    return task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)


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
    assert [(entry.agent, entry.message) for entry in task_records.logs(store.db, yes.uid)] == [
        ("imported:claude", "two\nlines"),
        ("imported:backlog.md", "more"),
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
    home = task_queries.lists(store.db)[0]
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
        ("---\nid: a\n---\n", "tasks/a.md: Object missing required field `title`"),
        ("---\n[\n---\n", "tasks/a.md: while parsing"),
        ("---\nid: a\ntitle: !!python/object:os.system b\n---\n", "tasks/a.md: a value with a YAML tag"),
        ("---\nid: a\ntitle: b\ntitle: c\n---\n", "tasks/a.md: while constructing a mapping .* duplicate key"),
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


def test_all_files_that_are_invalid_are_named_in_one_run(store: Store, clock: Clock) -> None:
    bad = {"tasks/a.md": "---\nid: a\n---\n", "tasks/b.md": FILE, "tasks/c.md": "---\nid: [\n---\n"}
    with pytest.raises(InvalidArgument, match=r"^2 problems: \(1\) tasks/a.md: .* \(2\) tasks/c.md: ") as refused:
        bring(store, BACKLOG, bad, clock())
    assert [problem["argument"] for problem in refused.value.data["problems"]] == ["tasks/a.md", "tasks/c.md"]
    with pytest.raises(InvalidArgument, match="2 problems"):
        out(store, BACKLOG, bad)


def test_what_is_no_task_is_passed_over_and_named(store: Store, clock: Clock) -> None:
    files = {
        "completed/old.md": FILE,
        "tasks/a.md": FILE,
        "tasks/doc.md": "---\nname: x\n---\n",
        "tasks/readme.md": "# Tasks\n",
    }
    found = read(BACKLOG, files)
    assert [record.where for record in found.records] == ["tasks/a.md"]
    assert found.passed_over == [
        "completed/old.md: tasks/a.md has the same id, BACK-1",
        "tasks/doc.md: its front matter has no id",
        "tasks/readme.md: it begins with no front matter (---)",
    ]
    bring(store, BACKLOG, files, clock())
    assert out(store, BACKLOG, files) == {"tasks/a.md": FILE}


FILE = """---
# kept
id: BACK-1
title: "One"  # the title
status: Review
assignee: @MrLesk
reporter: [@a, 'b']
created_date: 03-06-25
labels: [ "x",y ]
dependencies:
- BACK-2   # first
- BACK-404
priority: medium

custom:   {a:  1}
---

## Description

Old words.

## Outcome

- kept

## Acceptance Criteria (Optional)

- [x] #1 a
## Implementation Notes

<!-- SECTION:NOTES:BEGIN -->
notes
<!-- SECTION:NOTES:END -->
Trailing text.
"""
# The two wait for each other.
OTHER = (
    "---\nid: back-2\ntitle: 007\nstatus: Done\nassignee:\n    - '@a'\nordinal: 1000.5\ndependencies: [BACK-1]\n---\n"
)


def changes(before: str, after: str) -> list[str]:
    """The lines that differ."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in list(lines)[2:] if not line.startswith("@@")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_task_that_did_not_change_leaves_its_file_as_it_is(store: Store, clock: Clock, end: str) -> None:
    files = {"tasks/a.md": FILE.replace("\n", end), "tasks/b.md": OTHER.replace("\n", end)}
    bring(store, BACKLOG, files, clock())
    assert out(store, BACKLOG, files) == files
    second, first = tasks(store)
    assert (first.name, first.agent, second.name) == ("One", "MrLesk", "007")
    assert first.description == "Old words.\n\n## Outcome\n\n- kept\n\nTrailing text."
    assert first.metadata["backlog.md"]["sections"] == {"AC": "- [x] #1 a", "SECTION:NOTES": "notes"}


@pytest.mark.parametrize(
    ("edit", "lines"),
    [
        ({"name": "2026-01-01"}, ['-title: "One"  # the title', "+title: '2026-01-01' # the title"]),
        ({"name": "a: @b"}, ['-title: "One"  # the title', '+title: "a: @b" # the title']),
        ({"status": "done"}, ["-status: Review", "+status: Done"]),
        ({"agent": "codex"}, ["-assignee: @MrLesk", "+assignee:", "+- '@codex'"]),
        ({"tags": ["y", "z"]}, ['-labels: [ "x",y ]', "+labels: [y, z]"]),
        ({"priority": 1}, ["-priority: medium", "+priority: high"]),
        ({"due": "2026-12-01"}, ["+due_date: '2026-12-01'"]),
        ({"depends_on": []}, ["-- BACK-2   # first"]),
        (
            {"description": "New words.\n\nTrailing text."},
            [
                *("-Old words.", "-", "-## Outcome", "-", "-- kept"),
                *("+<!-- SECTION:DESCRIPTION:BEGIN -->", "+New words.", "+<!-- SECTION:DESCRIPTION:END -->"),
            ],
        ),
        (
            {"result": "fine", "status": "done"},
            [
                *("-status: Review", "+status: Done", "+", "+## Final Summary", "+"),
                *("+<!-- SECTION:FINAL_SUMMARY:BEGIN -->", "+fine", "+<!-- SECTION:FINAL_SUMMARY:END -->"),
            ],
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_task_that_changed_changes_its_lines_alone(
    store: Store, clock: Clock, edit: dict[str, Any], lines: list[str], end: str
) -> None:
    files = {"tasks/a.md": FILE.replace("\n", end), "tasks/b.md": OTHER.replace("dependencies: [BACK-1]\n", "")}
    bring(store, BACKLOG, files, clock())
    (one,) = (task for task in tasks(store) if task.name == "One")
    store.commit(EditTask(one.uid, edit), actor="human", now=clock())
    after = out(store, BACKLOG, files)
    assert after["tasks/b.md"] == files["tasks/b.md"]
    assert changes(files["tasks/a.md"], after["tasks/a.md"]) == lines
    assert after["tasks/a.md"].count("\r\n") == (after["tasks/a.md"].count("\n") if end == "\r\n" else 0)
    bring(store, BACKLOG, after, clock())
    assert out(store, BACKLOG, after) == after


def test_a_comment_is_added_after_those_that_a_file_has(store: Store, clock: Clock) -> None:
    bring(store, BACKLOG, RECORDED, clock())
    *_, yes = tasks(store)
    store.commit(LogTask(yes.uid, "third"), actor="claude", now=clock())
    after = out(store, BACKLOG, RECORDED)
    path = "tasks/task-2 - in-prog.md"
    assert {name for name in after if after[name] != RECORDED[name]} == {path}
    added = changes(RECORDED[path], after[path])
    assert [line[:1] for line in added] == ["+"] * 6 and added[-2:] == ["+third", "+---"]


def test_a_move_changes_the_ordinal_of_the_moved_task_alone(store: Store, clock: Clock) -> None:
    front = "---\nid: T-{0}\ntitle: t{0}\nstatus: To Do\nordinal: {0}000\n---\n"
    files = {f"tasks/{number}.md": front.format(number) for number in range(1, 6)}
    bring(store, BACKLOG, files, clock())
    first, *_, fourth, _ = tasks(store)
    store.commit(MoveTask(first.uid, after=fourth.uid), actor="human", now=clock())
    after = out(store, BACKLOG, files)
    assert changes(files["tasks/1.md"], after["tasks/1.md"]) == ["-ordinal: 1000", "+ordinal: 4500"]
    assert [name for name in files if files[name] != after[name]] == ["tasks/1.md"]
    assert [record.fields["name"] for record in read(BACKLOG, after).records] == ["t2", "t3", "t4", "t1", "t5"]


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
        return import_export.read_folder(tmp_path / "backlog", BACKLOG.folders)

    backlog("init", "x", "--defaults", "--no-git", "--integration-mode", "none")
    files = dict(BACKLOG.write_folder(exporting.rows(store.db, None, None), present(), NOW))
    for path, text in files.items():
        (tmp_path / "backlog" / path).write_text(text)
    listed = backlog("task", "list", "--plain")
    assert "[HIGH] TASK-1 - second" in listed and "TASK-3 - fourth" in listed
    backlog("task", "edit", "1", "-s", "Done", "-l", "new", "--comment", "seen")
    assert counts(bring(store, BACKLOG, present(), clock())) == (0, 1, 3)
    task = task_queries.task(store.db, two)
    assert (task.status, task.tags, task.due) == ("done", ("new",), "2026-02-01")
    assert [entry.message for entry in task_records.logs(store.db, two)] == ["seen"]
