"""A long change is made in steps: others write meanwhile, one undo undoes it, and one that fails leaves nothing."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SECOND, START
from tests.core.job_steps import replayed, tables
from tests.started import until
from tests.talking import ADD, add, names
from tui_tasks import clock
from tui_tasks.core.commit import transaction as transactions
from tui_tasks.core.commit import unfinished_changes
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import NotFound, StorageFailed
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import undo
from tui_tasks.core.store import Store
from tui_tasks.hooks.follower import following

MANY = 20


@pytest.fixture
def between(monkeypatch):
    """Every operation is a step of its own; what is put into the list is called between two, each once."""
    waiting: list = []
    lets = Database.let_others_write

    def let_others_write(self, seconds):
        lets(self, 0)
        if waiting:
            # Outside of the transaction, as another process would.
            self._commit()
            try:
                waiting.pop(0)()
            finally:
                self._begin(write=True)

    monkeypatch.setattr(transactions, "STEP_SECONDS", 0)
    monkeypatch.setattr(Database, "let_others_write", let_others_write)
    return waiting


def filled(talk):
    return [add(talk, f"task {number}") for number in range(MANY)]


def sound(talk):
    """The journal is whole, and replaying it gives the same tables."""
    assert database_findings.broken_link(talk.store.db) is None
    assert tables(talk.store.db) == replayed(talk.store)


def test_others_write_while_a_list_is_cleared_and_one_undo_brings_all_back(talk, other, between):
    uids = filled(talk)
    talk.ok("control:subscribe")
    between += [lambda: None] * (MANY + 5) + [lambda: add(other, "new"), lambda: add(other, "newer")]
    assert talk.ok("tasklist:clear") == {"deleted": MANY}
    assert between == []
    assert names(talk) == ["new", "newer"]
    told = talk.events()
    assert [event["task"]["uid"] for event in told if event["event"] == "task.deleted"] == uids
    seqs = [event["seq"] for event in told]
    assert seqs == list(range(seqs[0], seqs[0] + MANY + 2))
    (change,) = {row[0] for row in talk.store.db.sql("SELECT change FROM journal WHERE kind = 'task.deleted'")}
    sound(talk)
    between += [lambda: None] * 9 + [lambda: add(other, "newest")]
    assert talk.ok("control:undo")["undone"] == seqs[-1]
    assert between == []
    assert names(talk) == [*(f"task {number}" for number in range(MANY)), "new", "newer", "newest"]
    assert {row[0] for row in talk.store.db.sql("SELECT undoes FROM journal WHERE kind = 'task.restored'")} == {change}
    sound(talk)


def test_a_task_that_is_claimed_meanwhile_stops_the_clearing_and_brings_back_what_was_cleared(talk, other, between):
    uids = filled(talk)
    between += [lambda: None] * (MANY + 5) + [lambda: other.ok("tasklist:swap_tasks", uid1=uids[-1], uid2=uids[-2])]
    between += [lambda: other.ok("control:claim", list="tasklist")]
    refused = talk.refused("tasklist:clear")
    assert between == []
    assert refused["code"] == "conflict"
    assert refused["data"]["claimed_by"] == "other"
    assert len(names(talk)) == MANY
    sound(talk)


def test_what_is_claimed_is_refused_before_anything_is_cleared(talk, other, between):
    filled(talk)
    other.ok("control:claim", list="tasklist")
    before = talk.seq()
    assert talk.refused("tasklist:clear")["code"] == "conflict"
    assert talk.seq() == before


def test_what_others_do_to_a_task_that_has_come_back_already_is_theirs(talk, other, between):
    uids = filled(talk)
    talk.ok("tasklist:clear")
    between += [lambda: None] * 8 + [lambda: other.ok("tasklist:delete_task", uid=uids[0])]
    talk.ok("control:undo")
    assert between == []
    assert names(talk) == [f"task {number}" for number in range(1, MANY)]
    sound(talk)


def test_a_list_that_comes_to_hold_the_same_key_stops_an_undo_and_what_it_did_is_done_again(talk, other, between):
    def todos(*ids):
        return [{"id": each, "content": each, "status": "pending"} for each in ids]

    bound = {"list": "tasklist"}
    talk.ok("todo", bound, merge=False, todos=todos(*map(str, range(MANY))))
    talk.ok("tasklist:clear")
    between += [lambda: None] * 8 + [lambda: other.ok("todo", bound, merge=True, todos=todos(f"{MANY - 1}", "a"))]
    assert talk.refused("control:undo")["code"] == "conflict"
    assert between == []
    assert names(talk) == [f"{MANY - 1}", "a"]
    sound(talk)
    assert talk.refused("control:undo")["code"] == "conflict"


def test_others_write_while_a_batch_clears_a_list_and_it_is_done_whole_or_not_at_all(talk, other, between):
    filled(talk)
    uid = talk.ok("tasklist:display")[0]["uid"]
    between += [lambda: None] * (MANY + 5) + [lambda: add(other, "new")]
    clear, late = {"tool": "tasklist:clear"}, {"tool": "tasklist:delete_task", "args": {"uid": uid}}
    cleared, gone = talk.one([clear, late])
    assert between == []
    assert (cleared["error"]["code"], gone["error"]["code"]) == ("conflict", "not_found")
    assert names(talk) == [*(f"task {number}" for number in range(MANY)), "new"]
    sound(talk)
    between += [lambda: None] * (MANY + 5) + [lambda: add(other, "newer")]
    cleared, added = talk.one([clear, {"tool": ADD, "args": {"name": "last"}}])
    assert (cleared["result"], added["ok"]) == ({"deleted": MANY + 1}, True)
    assert names(talk) == ["newer", "last"]
    assert talk.ok("control:undo")["undone"] == added["seq"]
    assert len(names(talk)) == MANY + 2
    sound(talk)


def test_others_write_while_a_long_list_is_replaced(talk, other, between):
    bound = {"list": "tasklist"}
    filled(talk)
    between += [lambda: None] * (MANY + 5) + [lambda: add(other, "new")]
    todos = [{"id": str(number), "content": f"todo {number}", "status": "pending"} for number in range(5)]
    talk.ok("todo", bound, merge=False, todos=todos)
    assert between == []
    assert sorted(names(talk)) == ["new", *(f"todo {number}" for number in range(5))]
    talk.ok("control:undo")
    assert sorted(names(talk)) == sorted([*(f"task {number}" for number in range(MANY)), "new"])
    sound(talk)


KILLED = """
import os, signal, sys
from tui_tasks.core.commit import transaction as transactions
from tui_tasks.core.commit import unfinished_changes
from tui_tasks.core.store import Store
from tui_tasks.core.engine.database import Database
from tui_tasks.core.operations.tasks import ClearList
from tui_tasks.core.operations import Undo
from tui_tasks.core.read.tasks import task_queries as queries

steps, lets = int(sys.argv[2]), Database.let_others_write

def let_others_write(self, seconds):
    global steps
    lets(self, 0)
    steps -= 1
    if not steps:
        os.kill(os.getpid(), signal.SIGKILL)

transactions.STEP_SECONDS = 0
Database.let_others_write = let_others_write
with Store(sys.argv[1]) as store:
    what = ClearList(queries.find_list(store.db, "tasklist").uid) if sys.argv[3] == "clear" else Undo()
    with store.transaction(int(sys.argv[4]), in_steps=True) as transaction, transaction.change():
        transaction.speak("agent")
        transaction.run(what)
"""


def killed(talk, steps, what):
    ended = subprocess.run([sys.executable, "-c", KILLED, talk.store.path, str(steps), what, str(START + 60 * SECOND)])
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize("steps", [1, MANY + 1, 2 * MANY - 1])
def test_a_change_whose_process_is_killed_between_two_steps_is_taken_back_by_who_writes_next(talk, other, steps):
    """Also where others have written meanwhile, and where the one that undoes it is killed itself."""
    filled(talk)
    killed(talk, steps, "clear")
    add(other, "new")
    assert names(talk) == [*(f"task {number}" for number in range(MANY)), "new"]
    assert talk.store.db.scalar("SELECT count(*) FROM unfinished_change") == 0
    assert not list(Path(talk.store.path).parent.glob("*-step*"))
    sound(talk)


def test_what_a_killed_process_left_is_taken_back_by_a_screen_or_server_that_writes_nothing(talk):
    filled(talk)
    killed(talk, MANY + 9, "clear")
    assert unfinished_changes.recorded(talk.store.db)
    with following(talk.store.path, clock.now, wanted=True):
        until(lambda: not unfinished_changes.recorded(talk.store.db), "the undo")
    assert talk.store.db.scalar("SELECT count(*) FROM task WHERE deleted = 0") == MANY
    sound(talk)


def test_an_undo_whose_process_is_killed_is_taken_back_as_well(talk, other):
    uids = filled(talk)
    talk.ok("tasklist:clear")
    killed(talk, MANY // 2, "undo")
    assert 0 < len(names(talk)) < MANY
    add(other, "new")
    assert names(talk) == ["new"]
    talk.ok("control:undo")
    assert [task["uid"] for task in talk.ok("tasklist:display") if task["name"] != "new"] == uids
    sound(talk)


def test_one_that_is_killed_while_it_takes_a_change_back_leaves_that_to_the_next(talk, other):
    filled(talk)
    killed(talk, MANY + 9, "clear")
    killed(talk, 3, "clear")
    add(other, "new")
    assert names(talk) == [*(f"task {number}" for number in range(MANY)), "new"]
    sound(talk)


def test_a_change_whose_process_is_at_work_is_left_to_it(talk, other, between):
    filled(talk)
    between += [lambda: None] * (MANY + 5) + [other.store.look_again, lambda: add(other, "new")]
    talk.ok("tasklist:clear")
    assert names(talk) == ["new"]


@pytest.mark.parametrize("claims", [False, True])
def test_what_came_together_with_a_long_change_is_done_once_and_in_order(talk, other, between, claims):
    filled(talk)
    between += [lambda: None] * (MANY + 3)
    between += [lambda: other.ok("control:claim", list="tasklist")] if claims else []
    adds = [{"tool": ADD, "args": {"name": name}} for name in ("before", "after")]
    first, clear, second = talk.lines(adds[0], {"tool": "tasklist:clear"}, adds[1])
    assert first["ok"] and second["ok"]
    assert clear["ok"] is not claims
    assert first["seq"] < clear["seq"] < second["seq"]
    assert (names(talk)[-2:] == ["before", "after"]) if claims else (names(talk) == ["after"])


def test_a_disk_that_fails_between_two_steps_leaves_nothing_half_done(talk, between):
    filled(talk)

    def fail():
        raise StorageFailed("the disk is full", retryable=True)

    between += [lambda: None] * (MANY + 7) + [fail]
    refused = talk.refused("tasklist:clear")
    assert (refused["code"], refused["data"]["retryable"]) == ("storage_error", True)
    assert names(talk) == [f"task {number}" for number in range(MANY)]
    sound(talk)


def test_a_disk_that_stays_full_between_two_steps_says_that_a_part_is_written_which_is_undone_later(
    talk, other, between, caplog
):
    filled(talk)

    def fail():
        raise StorageFailed("tasks.db: the disk is full; nothing was written", retryable=True)

    between += [lambda: None] * (MANY + 7) + [fail, fail]
    said = "tasks.db: the disk is full; a part of the change is written, and is undone once the database can be written"
    assert talk.refused("tasklist:clear")["message"] == said
    between += [fail]
    with pytest.raises(StorageFailed):
        other.store.undo_left_changes(START + SECOND)
    assert "interrupted" not in caplog.text
    add(other, "new")
    assert "was interrupted: it is undone now" in caplog.text
    assert names(talk) == [*(f"task {number}" for number in range(MANY)), "new"]
    sound(talk)


def test_an_io_error_within_a_step_has_the_database_opened_anew_for_the_next_request(talk, between, monkeypatch):
    uids = filled(talk)
    db = talk.store.db
    opened, opens = [], Database._open
    monkeypatch.setattr(Database, "_open", lambda self, **how: opened.append(self.path) or opens(self, **how))

    def break_disk():
        def fail(_):
            monkeypatch.setattr(db, "run", run)
            raise sqlite3.OperationalError("disk I/O error")

        run = db.run
        monkeypatch.setattr(db, "run", lambda *_: fail(_))

    between += [lambda: None] * (MANY + 7) + [break_disk]
    assert talk.refused("tasklist:clear")["code"] == "storage_error"
    assert opened == [db.path]
    assert names(talk) == [f"task {number}" for number in range(len(uids))]
    sound(talk)


def test_a_long_change_of_the_humans_is_one_change_in_steps_or_none(path, between):
    with Store(str(path)) as opened, Store(str(path)) as second:

        def add_one():
            second.commit(AddTask("between", home.uid), actor="agent", now=START)

        (home,) = opened.commit(EnsureList("tasklist", "tasklist"), actor="human", now=START)
        between += [lambda: None] * 3 + [add_one]
        adds = [AddTask(f"task {number}", home.uid) for number in range(MANY)]
        tasks = opened.commit_each(adds, "human", START + SECOND, in_steps=True)
        assert between == []
        told = opened.db.sql("SELECT actor, count(*), count(DISTINCT change) FROM journal GROUP BY actor").fetchall()
        assert told == [("agent", 1, 1), ("human", MANY, 1)]
        deletes = [*(DeleteTask(task.uid) for task in tasks), DeleteTask("none")]
        with pytest.raises(NotFound):
            opened.commit_each(deletes, "human", START + 2 * SECOND, in_steps=True)
        assert opened.db.scalar("SELECT count(*) FROM task WHERE NOT deleted") == MANY + 1
        assert tables(opened.db) == replayed(opened)


def test_a_task_that_two_steps_change_has_a_newer_version_after_each(path, between):
    with Store(str(path)) as opened, Store(str(path)) as second:
        (home,) = opened.commit(EnsureList("tasklist", "tasklist"), actor="human", now=START)
        (added,) = opened.commit(AddTask("one", home.uid), actor="human", now=START)
        seen = []
        between += [lambda: seen.append(task_queries.any_task(second.db, added.uid).version)] * 2
        edits = [EditTask(added.uid, {"priority": priority}) for priority in (1, 3)]
        opened.commit_each(edits, "human", START + SECOND, in_steps=True)
        assert seen == [added.version, added.version + 1]
        assert task_queries.any_task(second.db, added.uid).version == added.version + 2


def test_an_undo_that_must_be_refused_at_its_last_task_is_refused_before_its_first_step(
    talk, other, between, monkeypatch
):
    monkeypatch.setattr(undo, "_SOON_DONE", 1)
    talk.one([{"tool": ADD, "arguments": {"name": f"task {number}"}} for number in range(MANY)])
    first = talk.ok("tasklist:display")[0]["uid"]
    other.ok("tasklist:update_task", uid=first, name="theirs")
    before = talk.seq()
    assert talk.refused("control:undo")["code"] == "conflict"
    assert talk.seq() == before


def test_no_lock_file_is_left_by_a_long_change_whether_it_is_done_or_taken_back(talk, other, between):
    uids = filled(talk)
    folder = Path(talk.store.db.path).parent
    between += [lambda: None] * (MANY + 5) + [lambda: other.ok("tasklist:swap_tasks", uid1=uids[-1], uid2=uids[-2])]
    between += [lambda: other.ok("control:claim", list="tasklist")]
    talk.refused("tasklist:clear")
    assert list(folder.glob("*-step*")) == []
    assert unfinished_changes.recorded(talk.store.db) == []
    other.ok("control:undo")
    talk.ok("tasklist:clear")
    assert list(folder.glob("*-step*")) == []
