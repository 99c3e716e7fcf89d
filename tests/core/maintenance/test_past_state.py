"""The state as it was after each entry of the journal, against the tables as they were then.

`pytest --hypothesis-profile=long tests/core/maintenance/test_past_state.py` goes through 500 random histories.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SECOND, START, Clock
from tests.core.engine.databases import add, put_in_place
from tests.core.job_steps import HOUR, Jobs, tables
from tests.core.read.test_digest import STEP, History
from tests.entries import all_entries
from tests.started import Started
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.driver import connect
from tui_tasks.core.errors import Conflict, InvalidArgument, Refusal, StorageFailed
from tui_tasks.core.maintenance import backup, moments
from tui_tasks.core.maintenance.compaction_steps import compact
from tui_tasks.core.maintenance.past_state import PREFIX, PastReader, PastState
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read import overview
from tui_tasks.core.read.agents import last_words
from tui_tasks.core.read.digest import digest
from tui_tasks.core.read.pages import log_pages
from tui_tasks.core.store import Store


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the private folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


class Seen:
    """The tables of a database, as they were after each of its changes, by the seq of the last entry."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tables: dict[int, object] = {}
        self.note()

    def note(self) -> None:
        self.tables[journal.head(self.store.db)[0]] = tables(self.store.db)


MOVES = st.lists(st.integers(0, 60), min_size=3, max_size=8)


@settings(max_examples=500 if settings().max_examples >= 500 else 12)
@given(
    steps=st.lists(STEP, min_size=5, max_size=25),
    compacted=st.none() | st.integers(2, 20),
    moves=MOVES,
    window=st.sampled_from([0, 4, 1_000]),
    snapshot_every=st.sampled_from([3, 40]),
)
def test_the_past_has_the_rows_and_the_hash_that_were(
    steps: list[tuple], compacted: int | None, moves: list[int], window: int, snapshot_every: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/tasks.db") as store:
        history = History(store)
        seen = Seen(store)
        for number, step in enumerate(steps):
            history.step(*step)
            seen.note()
            if number == compacted:
                compact_some(store, START + number * SECOND // 2, history.now)
                seen.note()
        earliest = moments.earliest(store.db)
        known = [seq for seq in sorted(seen.tables) if seq >= earliest]
        with (
            Store(store.path, read_only=True) as source,
            PastState(source.db, window=window, snapshot_every=snapshot_every) as past,
        ):
            reader = PastReader(past.path, store.path)
            past.build(known[moves[0] % len(known)])
            for move in moves:
                seq = known[move % len(known)]
                past.move_to(seq)
                assert past.seq == seq
                assert tables(reader) == seen.tables[seq]
                assert journal.newest(reader) == (seq if seq >= journal.oldest(store.db) else 0)
            reader.close()


def compact_some(store: Store, before: int, now: int) -> None:
    try:
        compact(store, before, now)
    except Refusal:
        return  # nothing is that old


def test_jobs_and_their_runs_are_as_they_were_also_those_that_were_pruned(store: Store, clock: Clock) -> None:
    jobs, seen = Jobs(store, clock), Seen(store)
    job = jobs.make(actor="human", dedicated_context=True, settings={"keep_runs": 1, "overlap": "allow"})
    for _ in range(4):
        clock.forward(60)
        jobs.decide(job.uid)
        seen.note()
        for run in jobs.runs(job.uid):
            if run.state == "waiting":
                jobs.ran(run.uid, "success", result="ok")
                seen.note()
    assert "job.pruned" in [entry.kind for entry in all_entries(store.db)]
    with PastState(store.db) as past:
        for seq in (*sorted(seen.tables), *sorted(seen.tables, reverse=True)):
            past.move_to(seq)
            assert tables(past._db) == seen.tables[seq]


def fill(store: Store, tasks: int) -> list[str]:
    """A task an hour, each set in progress half an hour later."""
    (home,) = store.commit(EnsureList("task", "task"), actor="a", now=START)
    uids = []
    for number in range(1, tasks + 1):
        (made,) = store.commit(AddTask(f"task {number}", home.uid), actor="a", now=START + number * HOUR)
        store.commit(EditTask(made.uid, {"status": "done"}), actor="a", now=START + number * HOUR + HOUR // 2)
        uids.append(made.uid)
    return uids


def test_a_row_that_has_changed_often_is_written_once_and_so_are_its_list_and_its_log(store: Store) -> None:
    (home,) = store.commit(EnsureList("task", "task"), actor="a", now=START)
    (made,) = store.commit(AddTask("busy", home.uid), actor="a", now=START)
    for number in range(100):
        status = ("in_progress", "pending")[number % 2]
        store.commit(EditTask(made.uid, {"status": status}), LogTask(made.uid, "word"), actor="a", now=START + number)
    with PastState(store.db, window=0) as past:
        before = past._db._connection.total_changes
        past.build(journal.newest(store.db))
        rows = {"list": 1, "count": 1, "task": 1, "log": 100}
        # And three rows of bookkeeping: where the replay stands.
        assert past._db._connection.total_changes - before <= sum(rows.values()) + 3
        assert tables(past._db) == tables(store.db)


def test_the_indexes_of_the_past_are_those_of_any_database(store: Store) -> None:
    fill(store, 3)
    wanted = indexes(store)
    with Store(store.path, read_only=True) as source, PastState(source.db, window=0, snapshot_every=2) as past:
        for move in (past.build, past.move_to):
            move(6 if move == past.build else 3)
            with Store(past.path, read_only=True) as found:
                assert indexes(found) >= wanted


def indexes(store: Store) -> set[str]:
    return {name for (name,) in store.db.sql("SELECT name FROM sqlite_master WHERE type = 'index'")}


def parse(store: Store, text: str, now: int = START + 100 * HOUR) -> moments.Moment:
    return moments.parse(store.db, text, now, UTC)


def test_an_instant_and_the_number_of_an_entry_each_mean_a_state(store: Store) -> None:
    fill(store, 3)
    entries = list(all_entries(store.db))
    for entry in entries:
        assert parse(store, str(entry.seq)) == moments.Moment(entry.seq, entry.at)
    last = entries[-1]
    assert parse(store, "1h").seq == last.seq
    assert parse(store, "1h").instant == START + 99 * HOUR
    done = next(entry for entry in entries if entry.kind == "task.updated")
    between = f"{(done.at + SECOND) // SECOND}"
    found = moments.at(store.db, int(between) * SECOND)
    assert (found.seq, found.instant) == (done.seq, done.at + SECOND)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("someday", "is not an instant: give an age .*, or the number of an entry"),
        ("2126-01-01", "2126-01-01 is in the future"),
        ("2020-01-01", "earlier than the journal, which begins with entry 1, Fri 2 Jan 12:22"),
        ("999", "there is no entry 999 yet: the newest is 6"),
        ("0", "entry 0 is earlier than the journal"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_what_can(store: Store, text: str, said: str) -> None:
    fill(store, 3)
    assert journal.newest(store.db) == 6
    with pytest.raises(InvalidArgument, match=said):
        parse(store, text)


def test_a_database_in_which_nothing_was_written_has_no_past(store: Store) -> None:
    with pytest.raises(Conflict, match="nothing has been written yet"):
        parse(store, "1h")


def test_what_was_compacted_away_is_refused_with_the_earliest_that_is_left(store: Store) -> None:
    fill(store, 6)
    compact(store, START + 4 * HOUR, START + 100 * HOUR)
    earliest = moments.earliest(store.db)
    assert earliest > 5
    with pytest.raises(InvalidArgument, match=rf"begins with entry {earliest}, .* \(earlier entries were"):
        parse(store, "3")
    with pytest.raises(InvalidArgument, match="compacted away"):
        parse(store, "2026-01-02T12:30")
    assert moments.previous_change(store.db, earliest) is None
    with PastState(store.db) as past:
        assert past.seq == earliest
        past.move_to(journal.newest(store.db))
        with contextlib.closing(PastReader(past.path, store.path)) as reader:
            assert digest(reader, START, START + 100 * HOUR, {}) == digest(store.db, START, START + 100 * HOUR, {})
            assert digest(reader, START, START + 100 * HOUR, {}).is_cut


def test_a_step_goes_over_all_that_one_change_did_and_ends_at_both_ends(store: Store) -> None:
    fill(store, 2)
    (home,) = store.commit(EnsureList("task", "task"), actor="a", now=START)
    store.commit(*(AddTask(f"more {number}", home.uid) for number in range(3)), actor="a", now=START + 9 * HOUR)
    ends = [0]
    while (found := moments.next_change(store.db, ends[-1])) is not None:
        ends.append(found)
    assert ends == [0, 1, 2, 3, 4, 7]
    back = [ends[-1]]
    while (found := moments.previous_change(store.db, back[-1])) is not None:
        back.append(found)
    assert back == ends[::-1]
    assert moments.previous_change(store.db, 6) == 4
    assert moments.next_change(store.db, 5) == 7


def test_the_reader_sees_no_later_entry_whatever_is_written_meanwhile(store: Store) -> None:
    fill(store, 3)
    with Store(store.path, read_only=True) as source, PastState(source.db) as past:
        past.move_to(4)
        reader = PastReader(past.path, store.path)
        add(store, "later")
        assert journal.newest(reader) == 4
        assert [change.seq for change in overview.changes(reader, 0, 100)] == [1, 2, 3, 4]
        assert log_pages.edges(reader) == (1, 4)
        assert last_words.speakers(reader) == [("a", 4, source.db.scalar("SELECT at FROM journal WHERE seq = 4"))]
        past.move_to(journal.newest(store.db))
        reader.open_again()
        assert journal.newest(reader) == journal.newest(store.db) > 6
        reader.close()


def test_the_past_of_a_database_that_was_replaced_meanwhile_is_refused(store: Store, path: Path) -> None:
    fill(store, 3)
    backup.backup(store.db, path.with_name("copy.db"))
    with Store(store.path, read_only=True) as source, PastState(source.db) as past:
        past.move_to(6)
        put_in_place(path.with_name("copy.db"), path)
        with pytest.raises(StorageFailed, match="was replaced: leave, and start time travel again"):
            past.move_to(2)


def test_a_damaged_entry_is_named(store: Store) -> None:
    fill(store, 3)
    db = connect(store.path)
    db.execute("UPDATE journal SET new = '{' WHERE seq = 5")
    db.close()
    with PastState(store.db) as past:
        with pytest.raises(Conflict, match="entry 5 of the journal is damaged: see tui-tasks doctor"):
            past.move_to(6)
        past.move_to(4)


@pytest.mark.parametrize(("begin", "end"), [(2, 6), (6, 2)])
def test_a_move_that_is_broken_off_leaves_the_state_as_it_was(store: Store, begin: int, end: int) -> None:
    fill(store, 3)

    def leave(done: int, total: int) -> None:
        assert tables(reader) == was, "nothing between is seen"
        raise KeyboardInterrupt

    with Store(store.path, read_only=True) as source, PastState(source.db, window=0) as past:
        past.build(begin)
        reader = PastReader(past.path, store.path)
        was = tables(reader)
        with pytest.raises(KeyboardInterrupt):
            past.move_to(end, leave)
        assert (past.seq, tables(reader)) == (begin, was)
        past.move_to(end)
        assert past.seq == end
        past.move_to(6)
        assert tables(reader) == tables(store.db)
        reader.close()


def test_the_private_folder_is_its_users_alone_and_goes_with_its_process(store: Store, scratch: Path) -> None:
    fill(store, 1)
    with PastState(store.db) as past:
        (folder,) = scratch.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {each.stat().st_mode & 0o077 for each in folder.iterdir()} == {0}
        assert Path(past.path).parent == folder
    assert not list(scratch.iterdir())


@pytest.fixture
def killed(store: Store, scratch: Path) -> Iterator[Callable[[], Path]]:
    """The folder of a process that looks at the past, and is killed when it is asked for."""
    fill(store, 1)
    code = (
        "import sys, time\nfrom tui_tasks.core.store import Store\n"
        "from tui_tasks.core.maintenance.past_state import PastState\n"
        "store = Store(sys.argv[1]); past = PastState(store.db); print(past.path, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, store.path]
    process = Started(command, stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(scratch)}, text=True)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip()).parent

    def kill() -> Path:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return folder

    yield kill
    process.kill()
    process.wait()


def test_what_a_killed_process_left_is_removed_by_the_next_and_that_of_one_that_lives_is_not(
    store: Store, scratch: Path, killed: Callable[[], Path]
) -> None:
    (living,) = scratch.glob(f"{PREFIX}*")
    (scratch / f"{PREFIX}no-folder-of-ours").write_text("mine")
    with PastState(store.db):
        assert living.exists()
    folder = killed()
    assert folder == living
    with PastState(store.db):
        assert not folder.exists()
    assert [each.name for each in scratch.iterdir()] == [f"{PREFIX}no-folder-of-ours"]
