"""Restoring a backup: whole or not at all, with the database in use; what people do by other means destroys nothing."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import fork_server
from tests.conftest import START
from tests.contract.client import terminal_input
from tests.core.engine.databases import NOW, UNFIT, add, contents, foreign, made_database
from tests.soak.speaking import Speaker, program, serve
from tui_tasks.core.engine import write_queue
from tui_tasks.core.engine.driver import connect
from tui_tasks.core.errors import Busy, DatabaseRefused, StorageFailed
from tui_tasks.core.maintenance.backup import backup, restore
from tui_tasks.core.maintenance.database_findings import findings
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


def names(path: Path) -> list[str]:
    """The tasks in a database, which is sound."""
    with Store(str(path), read_only=True) as store:
        assert list(findings(store.db)) == []
        return [task.name for found in task_queries.lists(store.db) for task in task_queries.tasks(store.db, found.id)]


def replies_to_adds(speaker: Speaker, *texts: str) -> list[str]:
    """Which of these tasks are acknowledged, and what the others are told."""
    replies = [(text, speaker.ask("tasklist:add_task", name=text)) for text in texts]
    return [text if reply["ok"] else reply["error"]["message"] for text, reply in replies]


@pytest.fixture
def used(path: Path, tmp_path: Path):
    """Two processes that have a database open, and a backup from before they wrote the last."""
    with serve(path) as one, serve(path) as other:
        replies_to_adds(one, *(f"early {number} " + "x" * 300 for number in range(40)))
        fork_server.run(program("backup", "--db", path, tmp_path / "copy.db"), check=True, capture_output=True)
        for speaker in (one, other):
            replies_to_adds(speaker, *(f"late {number} " + "x" * 300 for number in range(60)))
        yield one, other


def run_restore(path: Path, file: Path) -> str:
    command = program("restore", "--db", path, file)
    with terminal_input() as terminal:
        done = fork_server.run(command, stdin=terminal, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_puts_a_backup_in_place_while_others_write_and_keeps_the_old_aside(path, tmp_path, used):
    one, other = used
    said = run_restore(path, tmp_path / "copy.db")
    assert "up to entry 40" in said
    assert replies_to_adds(one, "one") + replies_to_adds(other, "other") == ["one", "other"]
    there = names(path)
    assert len(there) == 42
    assert there[-2:] == ["one", "other"]
    assert (tmp_path / "copy.db").exists()
    aside = Path(said.rpartition("replaced database is ")[2].strip())
    assert len(names(aside)) == 160
    run_restore(path, aside)
    assert replies_to_adds(one, "again") == ["again"]
    assert len(names(path)) == 161


@pytest.mark.parametrize("how", ["mv", "cp"])
def test_a_backup_that_is_put_over_it_by_hand_gets_no_write_of_the_old_and_nothing_is_acknowledged(
    path, tmp_path, used, how
):
    subprocess.run([how, tmp_path / "copy.db", path], check=True)
    before = path.read_bytes()
    for speaker in used:
        (said,) = replies_to_adds(speaker, "nowhere")
        assert "tui-tasks restore" in said
        speaker.end()
    assert path.read_bytes() == before, "the last to close it has written the old log into it"
    for read_only in (False, True):
        with pytest.raises(DatabaseRefused, match="tui-tasks restore"):
            Store(str(path), read_only=read_only)
    run_restore(path, path if how == "mv" else tmp_path / "copy.db")
    assert len(names(path)) == 40


def test_the_log_that_killed_processes_have_left_is_not_written_into_a_backup(path, tmp_path, used):
    for speaker in used:
        speaker.kill()
    (tmp_path / "copy.db").rename(path)
    with pytest.raises(DatabaseRefused, match="whose log is still beside it"):
        Store(str(path))
    run_restore(path, path)
    assert len(names(path)) == 40


def test_what_is_acknowledged_after_the_log_of_the_old_was_removed_is_there(path, tmp_path, used):
    (tmp_path / "copy.db").rename(path)
    assert "tui-tasks restore" in replies_to_adds(used[0], "too early")[0]
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink()
    assert replies_to_adds(used[0], "one") + replies_to_adds(used[1], "other") == ["one", "other"]
    assert names(path)[-2:] == ["one", "other"]


def test_a_log_that_is_removed_while_it_is_in_use_is_noticed_and_its_end_writes_what_it_held(path, used):
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink()
    for speaker in used:
        assert "has lost its log" in replies_to_adds(speaker, "nowhere")[0]
    for speaker in used:
        speaker.end()
    assert len(names(path)) == 160


@pytest.mark.parametrize("share", [0, 0.5])
def test_a_log_that_is_cut_while_it_is_in_use_is_noticed_before_anything_is_acknowledged(path, tmp_path, used, share):
    log = Path(f"{path}-wal")
    os.truncate(log, int(log.stat().st_size * share))
    before = path.read_bytes()
    for speaker in used:
        assert "has lost its log" in replies_to_adds(speaker, "nowhere")[0]
    with pytest.raises(DatabaseRefused, match="has lost its log"):
        Store(str(path))
    for speaker in used:
        speaker.end()
    assert path.read_bytes() == before, "the last to close it has written a part of the log into it"
    run_restore(path, tmp_path / "copy.db")
    assert len(names(path)) == 40


def test_a_log_that_is_cut_while_a_change_is_written_is_noticed_before_that_is_acknowledged(path, tmp_path):
    made_database(path, 3)
    log = Path(f"{path}-wal")
    with Store(str(path)) as store, Store(str(path)) as other:
        add(store, "logged")
        assert other.db.scalar("SELECT count(*) FROM task") == 4
        before = path.read_bytes()
        with pytest.raises(StorageFailed, match="has lost its log"), store.transaction(NOW):
            os.truncate(log, 0)
            store.db.sql("UPDATE task SET name = 'nowhere'")
        with pytest.raises(StorageFailed, match="has lost its log"):
            add(store, "nowhere")
        with pytest.raises(StorageFailed):  # it reads the hole
            add(other, "nowhere")
    assert path.read_bytes() == before, "the end of one has written holes into it"
    shutil.copy(path, tmp_path / "alone.db")
    assert len(names(tmp_path / "alone.db")) == 3


def test_a_log_that_cannot_be_read_right_after_a_commit_takes_nothing_back(path, monkeypatch):
    made_database(path, 3)

    def failing(*_):
        raise OSError(errno.EIO, "Input/output error")

    with Store(str(path)) as store:
        add(store, "before")
        monkeypatch.setattr(os, "pread", failing)
        add(store, "kept")
        monkeypatch.undo()
    assert names(path)[-1] == "kept"


def test_a_log_that_a_checkpoint_empties_while_it_is_in_use_is_no_loss(path, used):
    raw = connect(path)
    assert raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    assert Path(f"{path}-wal").stat().st_size == 0
    assert len(names(path)) == 160
    assert replies_to_adds(used[0], "one") == ["one"]
    assert raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    assert replies_to_adds(used[1], "other") + replies_to_adds(used[0], "third") == ["other", "third"]
    raw.close()
    assert names(path)[-3:] == ["one", "other", "third"]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_database_with_a_second_name_is_refused_by_both(path, tmp_path, read_only):
    made_database(path, 3)
    os.link(path, tmp_path / "link.db")
    for name in (path, tmp_path / "link.db"):
        with pytest.raises(DatabaseRefused, match="has 2 names"):
            Store(str(name), read_only=read_only)
    (tmp_path / "link.db").unlink()
    assert len(names(path)) == 3


def _taken(store: Store, tmp_path: Path) -> Path:
    copy = tmp_path / "copy.db"
    backup(store.db, copy)
    return copy


def test_a_writer_that_waited_while_it_was_replaced_writes_to_what_is_there_now(path, tmp_path):
    with Store(str(path)) as store:
        add(store, "first")
        copy, begin = _taken(store, tmp_path), store.db._queue.begin_write

        def waiting(*arguments):
            begin(*arguments)
            store.db._roll_back()
            store.db._queue.begin_write = begin
            restore(str(path), copy, START)
            begin(*arguments)
            return True

        add(store, "lost with the old")
        store.db._queue.begin_write = waiting
        add(store, "second")
        assert store.db.scalar("PRAGMA journal_mode") == "wal"
    assert names(path) == ["first", "second"]


def test_a_commit_into_a_file_that_was_replaced_meanwhile_is_not_acknowledged(path, tmp_path, monkeypatch):
    with Store(str(path)) as store:
        add(store, "first")
        copy, commit = _taken(store, tmp_path), store.db._commit

        def replaced():
            commit()
            monkeypatch.undo()
            restore(str(path), copy, START)

        monkeypatch.setattr(store.db, "_commit", replaced)
        with pytest.raises(StorageFailed, match="what was written is not there") as refused:
            store.commit(EnsureList("new", "task"), actor="agent", now=NOW)
        assert refused.value.data["retryable"]
        add(store, "second")
    assert names(path) == ["first", "second"]


def test_it_waits_for_a_writer_and_gives_up_on_one_that_stands_still(path, tmp_path, monkeypatch):
    monkeypatch.setattr("tui_tasks.core.maintenance.backup.BUSY_SECONDS", 0.05)
    with Store(str(path)) as store:
        add(store, "there")
        copy = _taken(store, tmp_path)
        holder = connect(path)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy):
            restore(str(path), copy, START)
        holder.close()
        add(store, "there too")
    assert names(path) == ["there", "there too"]
    assert all(file.name.removeprefix(path.name) in ("", "-wal", "-shm", "-lock") for file in path.parent.iterdir())


def test_nobody_opens_it_while_it_is_put_in_place(path, monkeypatch):
    made_database(path, 1)
    monkeypatch.setattr(write_queue, "BUSY_SECONDS", 0.05)
    with write_queue.replacing(str(path)):
        with pytest.raises(DatabaseRefused, match="is being restored"):
            Store(str(path))
        with pytest.raises(Busy), write_queue.replacing(str(path)):
            pass
    assert len(names(path)) == 1


@pytest.mark.parametrize("what", UNFIT)
def test_a_file_that_is_not_fit_is_not_restored(path, tmp_path, what):
    made_database(path, 2)
    UNFIT[what](tmp_path / "unfit.db")
    before = contents(path.parent)
    with pytest.raises((DatabaseRefused, StorageFailed)) as refused:
        restore(str(path), tmp_path / "unfit.db", START)
    assert "unfit.db" in str(refused.value)
    after = contents(path.parent)
    assert {name: held for name, held in after.items() if not name.endswith("-lock")} == {
        name: held for name, held in before.items() if not name.endswith("-lock")
    }


def test_a_backup_whose_journal_was_altered_and_one_that_is_not_there_are_not_restored(path, tmp_path):
    with Store(str(path)) as store:
        add(store, "there")
        copy = _taken(store, tmp_path)
    db = connect(copy)
    db.execute("UPDATE journal SET actor = 'other'")
    db.close()
    with pytest.raises(DatabaseRefused, match="nothing was restored: the journal was altered"):
        restore(str(path), copy, START)
    with pytest.raises(DatabaseRefused, match="there is no file"):
        restore(str(path), tmp_path / "none.db", START)
    assert names(path) == ["there"]


def test_another_programs_database_is_not_replaced(path, tmp_path):
    with Store(str(path)) as store:
        copy = _taken(store, tmp_path)
    other = foreign(tmp_path / "other.db")
    before = other.read_bytes()
    with pytest.raises(DatabaseRefused, match="of another program"):
        restore(str(other), copy, START)
    assert other.read_bytes() == before


@pytest.mark.parametrize("state", ["gone", "gone, its log left", "damaged"])
def test_what_is_gone_or_damaged_can_be_restored(path, tmp_path, state):
    with Store(str(path)) as store:
        add(store, "there")
        copy = _taken(store, tmp_path)
        if state == "gone, its log left":
            shutil.copy(f"{path}-wal", tmp_path / "log")
    if state == "damaged":
        path.write_bytes(b"garbage!" * 1_000)
    else:
        path.unlink()
    if state == "gone, its log left":
        shutil.move(tmp_path / "log", f"{path}-wal")
    done = restore(str(path), copy, START)
    assert done.newest == 1
    assert (done.aside is not None) == (state == "damaged")
    assert names(path) == ["there"]


@pytest.mark.parametrize("at", ["rename", "unlink"])
def test_one_that_is_ended_in_the_midst_is_refused_or_as_before_and_done_by_the_same_command(
    path, tmp_path, monkeypatch, at
):
    with Store(str(path)) as store:
        add(store, "first")
        copy = _taken(store, tmp_path)
        reader = connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM task").fetchone()
        add(store, "second")
        whole = Path.rename if at == "rename" else Path.unlink

        def ended(self, *arguments, **how):
            # The first file that is removed is the log.
            if at == "rename" or self.name.endswith("-wal"):
                monkeypatch.undo()
                raise KeyboardInterrupt
            return whole(self, *arguments, **how)

        monkeypatch.setattr(Path, at, ended)
        with pytest.raises(KeyboardInterrupt):
            restore(str(path), copy, START)
        with pytest.raises(DatabaseRefused, match="hard links" if at == "rename" else "tui-tasks restore"):
            Store(str(path))
        reader.close()
    done = restore(str(path), copy, START)
    assert names(path) == ["first"]
    if at == "rename":
        assert names(done.aside) == ["first", "second"]
