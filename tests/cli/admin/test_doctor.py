"""`doctor` and `backup`."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

from tests.conftest import SECOND, START, Clock, Talk
from tests.entries import all_entries
from tests.started import DEADLINE, Started
from tui_tasks import clock
from tui_tasks.cli import main
from tui_tasks.cli.admin import doctor
from tui_tasks.core import schema
from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import connect, sqlite3
from tui_tasks.core.engine.orm import Model
from tui_tasks.core.errors import Conflict, StorageFailed
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.backup import backup
from tui_tasks.core.maintenance.compaction_steps import compact
from tui_tasks.core.operations.jobs import RecordSettings
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema import agent_tables, job_tables, record_tables, tables
from tui_tasks.core.schema.tables import JsonField, columns
from tui_tasks.core.store import Store


@pytest.fixture
def filled(store: Store) -> Store:
    home = task_queries.find_list(store.db, "tasklist")
    assert home is not None
    for number in range(20):
        (task,) = store.commit(AddTask(f"Task {number}", home.uid), actor="agent", now=START + number)
        store.commit(LogTask(task.uid, "begun"), EditTask(task.uid, {"status": "done"}), actor="agent", now=START)
    return store


def found(path: Path, settings: Path, now: int = START + SECOND) -> list[str]:
    with Store(str(path), read_only=True) as opened:
        return list(doctor.findings(opened, settings, now))


def test_a_sound_database_has_no_findings(filled: Store, path: Path, tmp_path: Path) -> None:
    assert found(path, tmp_path / "config.toml") == []


@pytest.mark.linux
def test_a_stopped_supervisor_is_found_with_its_job_and_process(filled: Store, path: Path, tmp_path: Path) -> None:
    from tests.core.job_steps import Jobs
    from tui_tasks.core.job_snapshots import Heartbeat
    from tui_tasks.core.operations.jobs import ClaimRun, RunJob
    from tui_tasks.core.unjournaled import heartbeats
    from tui_tasks.runner import processes

    jobs = Jobs(filled, lambda: START)
    run = jobs.commit(RunJob(jobs.make("nightly", "adhoc", dedicated_context=True).uid), "agent")
    with Started(["sleep", "1000"]) as sleeper:
        heartbeat = Heartbeat(run.uid, True, *processes.identity(sleeper.pid), at=START)
        jobs.commit(ClaimRun(run.uid, heartbeat, 1), "system")
        assert heartbeats.heartbeats(filled.db) == [heartbeat]
        assert found(path, tmp_path / "config.toml") == []
        sleeper.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
        (finding,) = found(path, tmp_path / "config.toml")
        sleeper.kill()
    assert "a run of job 'nightly' is stopped" in finding
    assert f"kill -CONT {sleeper.pid}" in finding


def test_a_program_of_a_runner_that_is_not_there_is_found(filled: Store, path: Path, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    tables = ['[runner]\ncommand = ["true"]\n', '[runner.review]\nkind = "claude"\nenvironment = ["PATH=/nowhere"]\n']
    settings.write_text("".join([*tables, '[runner.own]\ncommand = ["bin/run"]\n']))
    settings.chmod(0o600)
    expected = f"{settings}: the program of [runner.review], claude, is not found: its jobs would end at once"
    assert [said for said in found(path, settings) if "program" in said] == [expected]


def test_any_change_of_the_journal_is_found(filled: Store, path: Path, tmp_path: Path) -> None:
    filled.close()
    chance = random.Random(7)
    columns = ["at", "actor", "kind", "entity", "uid", "task", "change", "old", "new", "image", "hash"]
    for _ in range(40):
        seq, column = chance.randrange(1, 40), chance.choice(columns)
        raw = connect(path)
        (was,) = raw.execute(f"SELECT {column} FROM journal WHERE seq = ?", (seq,)).fetchone()
        changed: object = 5 if was is None else was + 1 if isinstance(was, int) else was[:-1] + was[:1] + was[-1:]
        raw.execute(f"UPDATE journal SET {column} = ? WHERE seq = ?", (changed, seq))
        assert any("journal was altered" in said for said in found(path, tmp_path / "none")), (seq, column)
        raw.execute(f"UPDATE journal SET {column} = ? WHERE seq = ?", (was, seq))
        raw.close()
    assert found(path, tmp_path / "none") == []


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("UPDATE task SET name = x'ff' WHERE id = 2", "the field name of task #2 is not text"),
        ("UPDATE task SET priority = 'high' WHERE id = 2", "the field priority of task #2 is not a whole number"),
        ("UPDATE task SET tags = 'a,b' WHERE id = 2", "the field tags of task #2 is not JSON"),
        ("UPDATE task SET tags = '5' WHERE id = 2", "the field tags of task #2 is not a list in JSON"),
        ("UPDATE task SET tags = '[1,{}]' WHERE id = 2", "the field tags of task #2 has a part of another type"),
        ("UPDATE task SET links = '[{\"kind\": 1}]' WHERE id = 2", "the field links of task #2 has a part of another"),
        ("UPDATE task SET depends_on = '[null]' WHERE id = 2", "the field depends_on of task #2 has a part of another"),
        ("UPDATE task SET checks = '5' WHERE id = 2", "the field checks of task #2 is not a list in JSON"),
        (r"""UPDATE task SET tags = '["\ud800"]' WHERE id = 2""", "the field tags of task #2 has JSON that this"),
        (r"""UPDATE task SET metadata = '["\ud800"]' WHERE id = 2""", "the field metadata of task #2 has JSON that"),
        ("""UPDATE task SET metadata = '{"a":9e999}' WHERE id = 2""", "the field metadata of task #2 has JSON that"),
        ("""UPDATE task SET result = '{"a":9e999}' WHERE id = 2""", "the field result of task #2 has JSON that this"),
        ("UPDATE task SET due = 'soon', finished_at = NULL WHERE id = 2", "the field due of task #2 is not a date"),
    ],
)
def test_a_row_that_was_changed_by_hand_is_named_instead_of_a_traceback(
    filled: Store, path: Path, tmp_path: Path, change: str, finding: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled.close()
    with contextlib.closing(connect(path)) as raw:
        raw.execute(change)
    assert any(said.startswith(finding) for said in found(path, tmp_path / "none"))
    assert main.run(["ls", "--all", "--list", "tasklist", "--db", str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"tui-tasks: {path} is damaged: {finding}")
    assert said.count("\n") == 1
    assert "`tui-tasks doctor` lists all damage" in said
    with Store(str(path)) as opened:
        reply = Talk(opened, Clock(), list="tasklist").ask("task", action="list", query="2")
    assert reply["ok"] or (reply["error"]["code"], "tui-tasks doctor" in reply["error"]["message"]) == (
        "storage_error",
        True,
    )


@pytest.mark.parametrize(("kind", "name"), [("table", "unfinished_change"), ("table", "task"), ("index", "task_due")])
def test_a_table_or_an_index_that_is_missing_is_named(
    filled: Store, path: Path, tmp_path: Path, kind: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled.close()
    with contextlib.closing(connect(path)) as raw:
        raw.execute(f"DROP {kind} {name}")
    assert found(path, tmp_path / "none")[0] == f"the {kind} {name} is missing. Restore a backup"
    if name == "unfinished_change":
        assert main.run(["ls", "--json", "--db", str(path)]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"tui-tasks: {path} is damaged: the {kind} {name} is missing.") and said.count("\n") == 1


def test_history_names_an_entry_that_was_changed_by_hand(filled: Store, path: Path) -> None:
    filled.close()
    with contextlib.closing(connect(path)) as raw:
        (seq,) = raw.execute("SELECT max(seq) FROM journal WHERE entity = 'log'").fetchone()
        raw.execute("""UPDATE journal SET new = '{"a":[1]}' WHERE seq = ?""", (seq,))
    with Store(str(path)) as opened:
        error = Talk(opened, Clock()).ask("control:history")["error"]
    assert error["code"] == "storage_error"
    assert f"is damaged: the journal was altered at or before entry {seq}. " in error["message"]


def test_lists_of_recorded_settings_that_were_changed_by_hand_are_found(
    store: Store, path: Path, tmp_path: Path
) -> None:
    store.commit(RecordSettings("file", (), 25, False, (), 50, 1_000), actor="human", now=START)
    store.close()
    with contextlib.closing(connect(path)) as raw:
        raw.execute("UPDATE settings SET rules = '[1]'")
    said = "the row of settings is not what this program writes. Restore a backup"
    assert said in found(path, tmp_path / "none")


def test_every_table_with_json_says_what_its_json_may_be() -> None:
    models = [model for module in (tables, record_tables, agent_tables, job_tables) for model in vars(module).values()]
    names = {
        model._meta.table_name
        for model in models
        if isinstance(model, type) and issubclass(model, Model) and model is not Model
        if any(isinstance(field, JsonField) for field in columns(model).values())
    }
    # A memory has any JSON; the settings are read as a whole.
    assert names - {"memory", "settings"} == set(database_findings._SNAPSHOTS)


def test_a_value_that_a_column_must_have_is_missed(filled: Store, path: Path, tmp_path: Path) -> None:
    filled.close()
    with contextlib.closing(connect(path)) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'name TEXT NOT NULL', 'name TEXT') WHERE name = 'task'"
        )
    with contextlib.closing(connect(path)) as raw:
        raw.execute("UPDATE task SET name = NULL WHERE id = 2")
    assert found(path, tmp_path / "none") == ["the field name of task #2 is missing. Restore a backup"]


def test_pages_that_cannot_be_read_are_findings_and_no_failure(filled: Store, path: Path, tmp_path: Path) -> None:
    (root,) = filled.db.sql("SELECT rootpage FROM sqlite_master WHERE name = 'journal'").fetchone()
    filled.close()
    held = bytearray(path.read_bytes())
    held[(root - 1) * 4096 : root * 4096] = bytes(4096)
    path.write_bytes(held)
    assert any("Restore a backup" in said for said in found(path, tmp_path / "none"))
    with Store(str(path), read_only=True) as opened:
        assert "cannot be read" in doctor.summary(opened)


@pytest.fixture
def copied_replays(empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each replay go into a copy of an empty database, which takes a tenth of the time of making one."""

    def opened(path: str) -> Database:
        shutil.copy(empty_database, path)
        return schema.opened(path)

    monkeypatch.setattr(database_findings, "schema", SimpleNamespace(opened=opened, statements=schema.statements))


STRANGE = ("x'ff'", "CAST(x'ff' AS TEXT)", "99999999999999", "0.5", "''", "'[1'", "NULL")


@pytest.mark.usefixtures("copied_replays")
@pytest.mark.parametrize("value", STRANGE)
def test_no_value_in_any_column_ends_it_in_another_way_than_a_finding(
    filled: Store, path: Path, tmp_path: Path, value: str
) -> None:
    """Each column gets two or three of the values, and all of them with `--hypothesis-profile=long`."""
    step = 1 if settings.get_current_profile_name() == "long" else 3
    compact(filled, START + 5, START + SECOND)
    base = compaction.base(filled.db)
    assert base is not None
    tables = ("task", "list", "log", "journal", "base", f"{base.copy}_task", f"{base.copy}_list")
    columns = {table: [row[1] for row in filled.db.sql(f"PRAGMA table_info({table})")] for table in tables}
    filled.close()
    whole = path.read_bytes()
    changed, told = 0, set()
    places = [(table, column) for table, names in columns.items() for column in names]
    for table, column in places[STRANGE.index(value) % step :: step]:
        path.write_bytes(whole)
        raw = connect(path)
        with contextlib.suppress(sqlite3.IntegrityError):
            newest = f"rowid = (SELECT max(rowid) FROM {table})"
            update = f"UPDATE {table} SET {column} = {value} WHERE {newest} AND {column} IS NOT {value}"
            changed += raw.execute(update).rowcount
        raw.close()
        for said in found(path, tmp_path / "none"):
            assert "replayed.db" not in said, (table, column)
            assert said.endswith((".", "backup")), (table, column, said)
            told.add((table, column))
    assert len(told) >= 0.9 * changed, "a few columns may have had that value"


def test_an_entry_that_was_taken_out_is_found(filled: Store, path: Path, tmp_path: Path) -> None:
    filled.close()
    raw = connect(path)
    raw.execute("DELETE FROM journal WHERE seq = 30")
    raw.close()
    assert "altered at or before entry 31" in found(path, tmp_path / "none")[0]


def test_a_count_that_is_wrong_and_a_row_that_belongs_to_nothing_are_found(
    filled: Store, path: Path, tmp_path: Path
) -> None:
    filled.close()
    raw = connect(path)
    raw.execute("UPDATE list SET done = done + 1 WHERE name = 'tasklist'")
    raw.execute("DELETE FROM task WHERE uid = (SELECT min(uid) FROM task)")
    raw.close()
    said = " ".join(found(path, tmp_path / "none"))
    assert "miscount what is done" in said
    assert "1 rows of log belong to nothing" in said


@pytest.mark.parametrize(
    ("done", "said"),
    [
        ("UPDATE task SET name = 'other' WHERE id = 3", "differs from the journal (name)"),
        ("UPDATE log SET message = 'other' WHERE id = 3", "differs from the journal (message)"),
        ("DELETE FROM log WHERE id = 20", "is in the journal, but not in the tables"),
        ("DELETE FROM log", "more rows differ from the journal"),
        ("INSERT INTO agent VALUES ('it', 1, 'wait')", "agent it is in the tables, but not by the journal"),
        (
            "DELETE FROM journal WHERE seq > 58",
            "differs from the journal (status, version, updated_at, finished_at, status_by)",
        ),
        ("DELETE FROM journal WHERE seq > 57", "is in the tables, but not by the journal"),
    ],
)
def test_tables_that_are_not_as_the_journal_tells_are_found(
    filled: Store, path: Path, tmp_path: Path, done: str, said: str
) -> None:
    assert journal.newest(filled.db) == 60
    filled.close()
    raw = connect(path)
    raw.execute(done)
    raw.close()
    assert any(said in each for each in found(path, tmp_path / "none"))


def test_a_journal_of_one_entry_is_counted_as_one_entry(tmp_path: Path) -> None:
    with Store(str(tmp_path / "tasks.db")) as store:
        store.commit(EnsureList("work", "task"), actor="bob", now=START)
        assert ": 1 journal entry, SQLite" in doctor.summary(store)


def test_tables_are_compared_with_a_long_journal_on_demand_alone(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.db.sql("UPDATE task SET name = 'other' WHERE id = 3")
    monkeypatch.setattr(database_findings, "AT_ONCE", 59)
    assert "--replay" in doctor.summary(filled)
    assert list(doctor.findings(filled, tmp_path / "none", START + SECOND)) == []
    assert "--replay" not in doctor.summary(filled, replays=True)
    assert len(list(doctor.findings(filled, tmp_path / "none", START + SECOND, replays=True))) == 1


STOPPED = """
import os, signal, sys
from tui_tasks.core.store import Store
store = Store(sys.argv[1], read_only=True)
print(flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.linux
def test_a_log_that_has_grown_large_is_told_with_who_holds_it(
    filled: Store, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "LARGE", 1000)
    with Started([sys.executable, "-c", STOPPED, str(path)], stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        os.waitid(os.P_PID, reader.pid, os.WSTOPPED)
        (said,) = found(path, tmp_path / "none")
        assert f"kill -CONT {reader.pid} ({sys.executable} " in said
        os.kill(reader.pid, signal.SIGCONT)
    (said,) = doctor.log_findings(path)
    assert "Look for a stopped tui-tasks" in said
    monkeypatch.undo()
    assert list(doctor.log_findings(path)) == []


def test_a_disk_without_space_is_named_as_writes_fail_there(
    filled: Store, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(path.parent)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage._replace(free=3 << 20))
    (said,) = found(path, tmp_path / "none")
    assert said == f"{path.parent} has 3 MiB free: writes fail without space. Free some"


def test_what_a_killed_backup_or_restore_has_left_is_named_and_what_a_running_one_writes_is_not(
    filled: Store, path: Path, tmp_path: Path
) -> None:
    with Started([sys.executable, "-c", ""]) as ended:
        ended.wait()
    left = path.with_name(f".{path.name}.{ended.pid}.12345")
    for name in (left.name, f"{left.name}-wal", f".{path.name}.{os.getpid()}.12345", f".{path.name}.notes.1"):
        path.with_name(name).touch()
    (said,) = found(path, tmp_path / "none")
    assert said == f"{left} is left of a backup, restore or compact that was killed: delete it"


def test_a_file_that_others_can_reach_is_told_with_what_to_do(filled: Store, path: Path, tmp_path: Path) -> None:
    path.chmod(0o644)
    (said,) = found(path, tmp_path / "none")
    assert f"chmod 600 '{path}'" in said


def test_settings_that_others_can_read_are_told_with_what_to_do(filled: Store, path: Path, tmp_path: Path) -> None:
    settings = tmp_path / "tui-tasks" / "config.toml"
    settings.parent.mkdir(mode=0o755)
    settings.parent.chmod(0o755)
    settings.write_text("")
    settings.chmod(0o644)
    assert [said.rpartition(": ")[2] for said in found(path, settings)] == [
        f"chmod 600 '{settings}'",
        f"chmod 700 '{settings.parent}'",
    ]
    settings.chmod(0o600)
    settings.parent.chmod(0o700)
    assert found(path, settings) == []
    elsewhere = tmp_path / "home" / "tasks.toml"
    elsewhere.parent.mkdir()
    elsewhere.parent.chmod(0o755)
    elsewhere.touch(mode=0o600)
    assert found(path, elsewhere) == []


def test_a_clock_behind_the_newest_entry_is_told(filled: Store, path: Path, tmp_path: Path) -> None:
    (said,) = found(path, tmp_path / "none", now=START - 7200 * SECOND)
    assert "2:00:00" in said


def test_a_fault_in_the_settings_is_told_with_its_line(filled: Store, path: Path, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text("\nbogus = 1\n")
    assert f"{settings}:2: " in found(path, settings)[0]


def test_a_backup_is_whole_sound_and_private(filled: Store, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert backup(filled.db, copy) == journal.newest(filled.db)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert [left.name for left in tmp_path.iterdir() if "copy" in left.name] == ["copy.db"]
    with Store(str(copy)) as opened:
        assert list(all_entries(opened.db)) == list(all_entries(filled.db))
        assert found(copy, tmp_path / "none") == []


def test_a_backup_never_overwrites(filled: Store, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("mine")
    with pytest.raises(Conflict):
        backup(filled.db, copy)
    assert copy.read_text() == "mine"


@pytest.mark.linux
def test_a_backup_that_finds_no_room_names_its_own_file_and_leaves_nothing(filled: Store, tmp_path: Path) -> None:
    target = tmp_path / "copies" / "copy.db"
    target.parent.mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, before[1]))
    try:
        with pytest.raises(StorageFailed, match="nothing was written") as failed:
            backup(filled.db, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert failed.value.message.startswith(f"{target}: ")
    assert [*target.parent.iterdir()] == []


def test_a_backup_taken_under_load_is_an_exact_prefix_of_the_journal(path: Path, tmp_path: Path) -> None:
    with Store(str(path)):
        pass
    command = [sys.executable, "-m", "tui_tasks", "serve", "--db", str(path), "--no-scheduler"]
    with Started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        copies = []
        for round_ in range(5):
            for _ in range(200):
                server.stdin.write(b'{"tool": "tasklist:add_task", "args": {"name": "x"}}\n')
            server.stdin.flush()
            server.stdout.readline()
            copies.append(tmp_path / f"copy-{round_}.db")
            with Store(str(path), read_only=True) as opened:
                backup(opened.db, copies[-1])
            for _ in range(199):
                assert json.loads(server.stdout.readline())["ok"]
        server.stdin.close()
        server.wait(DEADLINE)
    with Store(str(path)) as whole:
        entries = list(all_entries(whole.db))
    assert copies
    for copy in copies:
        with Store(str(copy)) as opened:
            held = list(all_entries(opened.db))
        assert held
        assert held == entries[: len(held)]
        assert found(copy, tmp_path / "none", now=clock.now()) == []
