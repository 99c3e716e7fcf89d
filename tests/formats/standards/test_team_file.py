"""The file of a team: git merges it by task and field, and everybody has the same file afterwards."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from tests.formats.round_trips import NOW, filled
from tests.started import DEADLINE
from tui_tasks.cli.admin import sync_file
from tui_tasks.core.errors import InvalidArgument, Refusal
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations import Operation, Undo
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList, LogTask, MoveTask
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.formats.format_table import FORMATS
from tui_tasks.formats.importing import Importer
from tui_tasks.formats.standards import team_merge

TICKS = itertools.count(1_770_000_000_000_000, 1_000_003)


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", *identity, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
    )


class Person:
    """A clone, with a database of its own."""

    def __init__(self, folder: Path, clock: Iterator[int] = TICKS) -> None:
        self.name = folder.name
        self.folder = folder
        self.file = folder / "tasks.jsonl"
        self.store = Store(f"{folder}.db")
        self._clock = clock
        self.change(EnsureList("tasklist", "tasklist"))

    def change(self, *operations: Operation) -> list[Any]:
        return self.store.commit(*operations, actor=self.name, now=next(self._clock))

    def add(self, *names: str) -> list[Task]:
        return self.change(*(AddTask(name, self.home) for name in names))

    @property
    def home(self) -> str:
        home = task_queries.find_list(self.store.db, "tasklist")
        assert home is not None
        return home.uid

    @property
    def tasks(self) -> list[Task]:
        return task_queries.tasks(self.store.db, task_queries.list_by_uid(self.store.db, self.home).id)

    def task(self, name: str) -> Task:
        return next(task for task in self.tasks if task.name == name)

    def save(self) -> str:
        """Write the file as `sync-file` does, and commit it."""
        following = sync_file.follow(self.store, self.file, None, None, replaces=True)
        assert isinstance(next(following), bytes)
        following.close()
        git(self.folder, "add", "-A")
        assert git(self.folder, "commit", "-q", "--allow-empty", "-m", "x").returncode == 0
        return self.file.read_text()

    def load(self) -> None:
        found = FORMATS["jsonl"].read(self.file.read_text(), NOW)
        importing = Importer(self.store, "jsonl", found, target=None, fallback="tasklist", project=None)
        importing.run("shell", next(self._clock))

    def pull(self) -> int:
        return git(self.folder, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main").returncode

    def push(self) -> None:
        assert git(self.folder, "push", "-q", "origin", "HEAD:main").returncode == 0


@pytest.fixture
def team(tmp_path: Path) -> Iterator[tuple[Person, Person]]:
    """Two clones with twenty tasks, which merge by task."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    people = []
    for name in ("ann", "ben"):
        git(tmp_path, "clone", "-q", "origin.git", name)
        people.append(Person(tmp_path / name))
    ann, ben = people
    ann.add(*(f"task {number}" for number in range(20)))
    ann.save()
    sync_file.install_merge(ann.file)
    ann.save()
    ann.push()
    assert ben.pull() == 0
    ben.load()
    sync_file.install_merge(ben.file)
    yield ann, ben
    ann.store.close()
    ben.store.close()


def merge_all(ann: Person, ben: Person) -> str:
    """Commit, merge and import on both sides; return the file, which both have."""
    ann.save()
    ben.save()
    ann.push()
    assert ben.pull() == 0
    ben.push()
    assert ann.pull() == 0
    merged = ann.file.read_text()
    for person in (ann, ben):
        person.load()
        assert person.save() == merged
        assert list(database_findings.differences(person.store.db)) == []
    return merged


def messages(person: Person, uid: str) -> list[str]:
    return [entry.message for entry in task_records.logs(person.store.db, uid)]


def test_what_both_change_in_one_task_is_merged_by_field(team: tuple[Person, Person]) -> None:
    ann, ben = team
    task = ann.task("task 3")
    ann.change(EditTask(task.uid, {"name": "of ann", "tags": ["a"]}), LogTask(task.uid, "seen by ann"))
    ben.change(EditTask(task.uid, {"description": "of ben", "tags": ["b"]}), LogTask(task.uid, "seen by ben"))
    merge_all(ann, ben)
    for person in team:
        found = task_queries.task(person.store.db, task.uid)
        assert (found.name, found.description, sorted(found.tags)) == ("of ann", "of ben", ["a", "b"])
        assert sorted(messages(person, task.uid)) == ["seen by ann", "seen by ben"]


def test_where_both_change_one_field_the_later_wins_and_the_log_has_the_other(team: tuple[Person, Person]) -> None:
    ann, ben = team
    task = ann.task("task 3")
    ben.change(EditTask(task.uid, {"name": "earlier", "status": "done"}))
    ann.change(EditTask(task.uid, {"name": "later", "status": "failed"}))
    merge_all(ann, ben)
    for person in team:
        found = task_queries.task(person.store.db, task.uid)
        assert (found.name, found.status) == ("later", "failed")
        assert sorted(messages(person, task.uid)) == [
            "merge: name was also set to: earlier",
            "merge: status was also set to: done",
        ]


def test_both_append_and_order_and_delete(team: tuple[Person, Person]) -> None:
    ann, ben = team
    first, second, third = ann.tasks[:3]
    ann.add("new of ann")
    ben.add("new of ben")
    ann.change(MoveTask(first.uid, after=third.uid))
    ben.change(DeleteTask(second.uid))
    merge_all(ann, ben)
    names = [task.name for task in ann.tasks]
    assert names[:3] == ["task 2", "task 0", "task 3"]
    assert sorted(names[-2:]) == ["new of ann", "new of ben"]
    assert names == [task.name for task in ben.tasks]


def test_a_task_that_one_deletes_and_the_other_changes_stays(team: tuple[Person, Person]) -> None:
    ann, ben = team
    task = ann.task("task 3")
    ann.change(DeleteTask(task.uid))
    ben.change(EditTask(task.uid, {"name": "changed"}))
    merge_all(ann, ben)
    assert ann.task("changed").uid == ben.task("changed").uid == task.uid


def test_a_task_that_both_delete_has_one_line_for_both(team: tuple[Person, Person]) -> None:
    ann, ben = team
    task = ann.task("task 3")
    ann.change(DeleteTask(task.uid))
    ben.change(EditTask(task.uid, {"name": "changed before"}))
    ben.change(DeleteTask(task.uid))
    merged = merge_all(ann, ben)
    assert team_merge.parse(merged)[task.uid]["record"] == team_merge.DELETED
    assert merge_all(ann, ben) == merged


def test_what_two_tasks_cannot_have_together_is_settled_by_the_merge(team: tuple[Person, Person]) -> None:
    ann, ben = team
    one, other = ann.tasks[:2]
    ann.change(EditTask(one.uid, {"depends_on": [other.uid], "agent": "codex"}))
    ben.change(EditTask(other.uid, {"depends_on": [one.uid], "agent": "codex"}))
    ann.change(EditTask(ann.task("task 5").uid, {"status": "in_progress", "agent": "codex"}))
    ben.change(EditTask(ben.task("task 6").uid, {"status": "in_progress", "agent": "codex"}))
    merge_all(ann, ben)
    assert sorted(len(ann.task(name).depends_on) for name in ("task 0", "task 1")) == [0, 1]
    assert {ann.task("task 5").status, ann.task("task 6").status} == {"in_progress", "pending"}


def edit(person: Person, choose: random.Random) -> None:
    """Make one of the changes of an ordinary day."""
    task, other = choose.sample(person.tasks, 2)
    status = choose.choice(["in_progress", "done", "pending", "failed"])
    changes: list[Operation] = [
        AddTask(f"new {choose.random()}", person.home),
        EditTask(task.uid, {"status": status}),
        EditTask(task.uid, {"name": f"{person.name} {choose.random()}", "priority": choose.randint(1, 5)}),
        EditTask(task.uid, {"description": f"{person.name} {choose.random()}"}),
        EditTask(task.uid, {"tags": choose.sample("abcdef", 2), "agent": choose.choice([None, "claude"])}),
        EditTask(task.uid, {"depends_on": [other.uid]}),
        LogTask(task.uid, f"{person.name} {choose.random()}"),
        MoveTask(task.uid, after=other.uid),
    ]
    if not task_records.logs(person.store.db, task.uid):
        changes.append(DeleteTask(task.uid))
    try:
        person.change(choose.choice(changes))
    except Refusal:
        return


@pytest.mark.parametrize("seed", range(3))
def test_after_any_edits_of_both_and_a_merge_everybody_has_the_same_file_with_all_tasks(
    team: tuple[Person, Person], seed: int
) -> None:
    choose = random.Random(seed)
    for _ in range(2):
        for person in team:
            for _ in range(10):
                edit(person, choose)
        logged = {
            entry.uid
            for person in team
            for task in person.tasks
            for entry in task_records.logs(person.store.db, task.uid)
        }
        merged = team_merge.parse(merge_all(*team))
        live = {uid for uid, line in merged.items() if line["record"] == team_merge.TASK}
        assert {task.uid for task in team[0].tasks} == live
        deleted = {uid for uid, line in merged.items() if line["record"] == team_merge.DELETED}
        gone = {entry.uid for uid in deleted for entry in task_records.logs(team[0].store.db, uid)}
        gone |= {entry.uid for uid in deleted for entry in task_records.logs(team[1].store.db, uid)}
        assert logged - gone <= {entry["uid"] for line in merged.values() for entry in line.get("log", ())}


def line(uid: str, **fields: Any) -> dict[str, Any]:
    at = {"version": 1, "updated_at": "2026-01-01T00:00:00.000000+00:00"}
    return {"record": "task", "uid": uid, "list": "l", "rank": "80", "name": uid, "log": [], **at, **fields}


def test_a_merge_is_the_same_whoever_makes_it() -> None:
    base = team_merge.write([line("a"), line("b", rank="81")])
    ours = team_merge.write([line("a", name="x", version=2), line("b", rank="81"), line("d", rank="82")])
    theirs = team_merge.write([line("a", name="y", version=2), line("c", rank="82"), line("b", rank="81", tags=["t"])])
    merged = team_merge.merge(base, ours, theirs)
    assert merged == team_merge.merge(base, theirs, ours)
    found = team_merge.parse(merged)
    assert found["b"]["tags"] == ["t"]
    assert len({found[uid]["rank"] for uid in "abcd"}) == 4
    assert found["a"]["version"] == 3


def test_neighbours_that_change_are_merged_without_the_driver(team: tuple[Person, Person]) -> None:
    ann, ben = team
    for person in team:
        assert git(person.folder, "config", "--remove-section", "merge.tui-tasks").returncode == 0
    in_file = [uid for uid, each in team_merge.parse(ann.file.read_text()).items() if each["record"] == "task"]
    ann.change(EditTask(in_file[4], {"name": "of ann"}))
    ben.change(EditTask(in_file[5], {"name": "of ben"}))
    merge_all(ann, ben)


def test_the_driver_starts_without_a_database_library_and_leaves_marks_where_a_line_is_no_task(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("base", "ours", "theirs")]
    for path, text in zip(files, ("{\n", "{1\n", "{2\n"), strict=True):
        path.write_text(text)
    words = [sys.executable, "-X", "importtime", "-m", "tui_tasks.formats.standards.team_merge", *map(str, files)]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE)
    assert done.returncode == 1
    assert "not merged by task: line 1: " in done.stderr
    assert files[1].read_text().startswith("<<<<<<< ours\n")
    assert not any(name in done.stderr for name in ("peewee", "msgspec", "sqlite3"))
    with pytest.raises(InvalidArgument, match=r"^line 1: git's conflict mark <<<<<<<: the file is not merged yet"):
        FORMATS["jsonl"].read(files[1].read_text(), NOW)


def test_a_clone_without_the_setting_is_named_by_sync_file_and_doctor(
    team: tuple[Person, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    git(tmp_path, "clone", "-q", "origin.git", "cem")
    folder = tmp_path / "cem"
    said = (
        "git merges tasks.jsonl line by line in this clone, as the setting merge.tui-tasks.driver is missing: "
        f"run tui-tasks sync-file tasks.jsonl --install-merge in {folder}"
    )
    assert list(sync_file.merge_findings(folder, folder / "tasks.jsonl")) == [said]
    assert list(sync_file.merge_findings(folder)) == [said]
    assert list(sync_file.merge_findings(team[0].folder)) == list(sync_file.merge_findings(tmp_path)) == []
    sync_file.install_merge(folder / "tasks.jsonl")
    assert list(sync_file.merge_findings(folder)) == []
    assert (folder / ".gitattributes").read_text() == "/tasks.jsonl merge=tui-tasks\n"
    assert git(folder, "config", "merge.tui-tasks.driver", "/gone %O").returncode == 0
    assert "is gone: run" in next(sync_file.merge_findings(folder))
    with pytest.raises(InvalidArgument, match="in no git repository"):
        sync_file.install_merge(tmp_path / "x.jsonl")


@pytest.mark.parametrize("name", ["a b.jsonl", "#[x].jsonl", 'q"\\.jsonl'])
def test_a_file_of_any_name_gets_the_attribute(team: tuple[Person, Person], name: str) -> None:
    folder = team[0].folder / "sub dir"
    folder.mkdir()
    sync_file.install_merge(folder / name)
    assert sync_file._is_merged(folder / name)
    assert not sync_file._is_merged(folder / "another.jsonl")


def test_changes_of_others_to_a_task_that_was_changed_here_too_are_not_overwritten(team: tuple[Person, Person]) -> None:
    ann, ben = team
    uid = ann.task("task 1").uid
    ann.change(EditTask(uid, {"description": "by ann"}))
    before = ben.save()
    ben.change(EditTask(uid, {"name": "by ben"}))
    ben.save()
    # As by a pull that finds nothing to merge: what Ann did is in no commit.
    ann.file.write_text(ben.file.read_text())

    def follow(*, replaces: bool = False) -> bytes | str:
        following = sync_file.follow(ann.store, ann.file, None, None, replaces=replaces)
        try:
            return next(following)
        finally:
            following.close()

    said = follow()
    assert "holds other changes of 1 tasks than the database: an import takes those of the file" in str(said)
    assert ann.file.read_text() == ben.file.read_text()
    # A file with changes that were all made here is only old.
    ann.change(EditTask(uid, {"description": "by ann again"}))
    ann.file.write_text(before)
    assert follow() == ann.file.read_bytes()
    ann.file.write_text(ben.file.read_text())
    assert "other changes of 1 tasks" in str(follow())
    ann.load()
    assert ann.task("by ben").uid == uid and follow() == ann.file.read_bytes()
    # What was imported once is known, whatever becomes of it.
    ann.change(EditTask(uid, {"name": "by ann", "description": "by ann"}))
    ann.file.write_text(ben.file.read_text())
    assert follow() == ann.file.read_bytes()
    ben.change(LogTask(uid, "a note of ben"))
    ben.save()
    ann.file.write_text(ben.file.read_text())
    assert "other changes of 1 tasks" in str(follow())
    assert follow(replaces=True) == ann.file.read_bytes()
    assert ann.task("by ann").uid == uid
    # An import goes past versions: another's change with one of these is not known.
    for number in range(3):
        ben.change(EditTask(uid, {"name": f"by ben {number}"}))
    ann.file.write_text(ben.save())
    ann.load()
    of_cem = team_merge.parse(before)
    of_cem[uid] |= {"name": "by cem", "version": of_cem[uid]["version"] + 1, "updated_at": "2026-11-22T10:00:00+00:00"}
    ann.file.write_text(team_merge.write(of_cem.values()))
    assert "other changes of 1 tasks" in str(follow())


def test_an_edit_of_the_file_itself_is_not_overwritten_and_what_was_written_holds_nothing_new(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    uids = filled(store, clock())
    path = tmp_path / "tasks.jsonl"

    def follow() -> bytes | str:
        following = sync_file.follow(store, path, None, None)
        try:
            return next(following)
        finally:
            following.close()

    written = follow()
    assert isinstance(written, bytes) and follow() == written
    (logged,) = store.commit(LogTask(uids[0], "soon undone"), actor="claude", now=clock())
    with_log = follow()
    assert isinstance(with_log, bytes) and logged.uid.encode() in with_log
    store.commit(Undo(), actor="claude", now=clock())
    assert follow() != with_log
    for earlier in (written, with_log):
        path.write_bytes(earlier)
        assert isinstance(follow(), bytes)
    last = path.read_text()
    log = {"uid": "new", "at": "2026-01-31T10:00:00+00:00", "agent": "ben", "message": "a note"}
    for change in ({"name": "by hand"}, {"due": "2027-01-01"}, {"log": [log]}, {"name": "by hand", "version": None}):
        lines = team_merge.parse(last)
        lines[uids[0]] |= change
        path.write_text(team_merge.write(lines.values()))
        assert "other changes of 1 tasks" in str(follow()), change


def test_a_running_sync_file_goes_on_whatever_others_do_to_the_file(store: Store, clock: Clock, tmp_path: Path) -> None:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=clock())
    (task,) = store.commit(AddTask("one", home.uid), actor="claude", now=clock())
    folder = tmp_path / "repository"
    folder.mkdir()
    path = folder / "tasks.jsonl"
    # A connection is not woken by its own writes.
    reader = Store(store.path, read_only=True)
    following = sync_file.follow(reader, path, None, None)

    def after_a_change() -> bytes | str:
        nonlocal task
        task = store.commit(EditTask(task.uid, {"name": f"{task.name}."}), actor="human", now=clock())[0]
        return next(following)

    old = next(following)
    assert isinstance(old, bytes) and path.read_bytes() == old
    path.write_bytes(b"")
    assert after_a_change() == path.read_bytes() != b""
    path.unlink()
    assert after_a_change() == path.read_bytes()
    path.with_name("new").write_bytes(old)
    path.with_name("new").rename(path)
    assert after_a_change() == path.read_bytes() != old
    theirs = json.dumps({"uid": "theirs", "name": "theirs"})
    path.write_bytes(path.read_bytes() + theirs.encode())
    assert "1 tasks that the database lacks or has older" in str(after_a_change())
    assert "1 tasks" in str(next(following)) and path.read_text().endswith(theirs)
    found = FORMATS["jsonl"].read(path.read_text(), NOW)
    Importer(store, "jsonl", found, target=None, fallback="tasklist", project=None).run("shell", clock())
    imported = next(following)
    assert isinstance(imported, bytes) and b'"name": "theirs"' in imported
    path.write_text("<<<<<<< ours\n")
    assert "git's conflict mark" in str(next(following))
    path.write_bytes(old)
    assert next(following) == path.read_bytes() != old
    folder.rename(tmp_path / "away")
    assert "waiting for the folder" in str(after_a_change())
    (tmp_path / "away").rename(folder)
    assert next(following) == path.read_bytes()
    reader.close()


def test_the_merge_stays_where_the_git_settings_of_clones_name_it() -> None:
    assert find_spec("tui_tasks.formats.standards.team_merge") is not None
