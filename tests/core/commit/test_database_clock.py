"""What has passed for a database is told by no clock that can be set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SECOND, START
from tui_tasks.clock import Uptime
from tui_tasks.core.commit.database_clock import (
    DatabaseClock,
    Mark,
    drop_end,
    end_of,
    lapsed,
    lapses_at,
    mark,
    next_lapse,
    put_end,
    put_mark,
)
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, ClaimTask, EnsureList
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values

DAY = 24 * 3600 * SECOND


class Machine:
    """A machine that is up, and may be started again."""

    def __init__(self) -> None:
        self.started, self.up = 0, 5 * SECOND

    def __call__(self) -> Uptime:
        return Uptime(f"start {self.started}", self.up)

    def start_again(self) -> None:
        self.started, self.up = self.started + 1, 0


def _kept(store: Store, database_clock: DatabaseClock, now: int) -> int:
    with store.db.transaction(write=True):
        return database_clock.record(store.db, now)


def test_it_moves_on_with_the_machine_and_not_with_the_clock(store: Store) -> None:
    machine = Machine()
    database_clock = DatabaseClock(machine)
    first = _kept(store, database_clock, START)
    for now in (START + 8 * DAY, START - 30 * DAY, START):
        machine.up += 10 * SECOND
        first += 10 * SECOND
        assert _kept(store, database_clock, now) == database_clock.now(store.db, now) == first


def test_a_process_that_looked_before_the_first_record_goes_by_the_record(store: Store) -> None:
    machine = Machine()
    early, other = DatabaseClock(machine), DatabaseClock(machine)
    assert early.look(store.db, START + SECOND // 2) == START + SECOND // 2
    first = _kept(store, other, START)
    assert early.look(store.db, START + SECOND // 2) == _kept(store, early, START + SECOND) == first
    machine.up += SECOND
    assert early.now(store.db, START) == other.now(store.db, START) == first + SECOND


def test_one_process_after_the_other_goes_on_with_it(store: Store) -> None:
    machine = Machine()
    first = _kept(store, DatabaseClock(machine), START)
    machine.up += 60 * SECOND
    assert DatabaseClock(machine).look(store.db, START + 8 * DAY) == first + 60 * SECOND


def test_while_the_machine_is_off_it_stands_still(store: Store) -> None:
    machine = Machine()
    first = _kept(store, DatabaseClock(machine), START)
    machine.start_again()
    later = DatabaseClock(machine)
    assert later.look(store.db, START + DAY) == first
    machine.up += SECOND
    assert later.now(store.db, START + DAY) == first + SECOND
    assert _kept(store, later, START + DAY) == first + SECOND
    machine.up += SECOND
    assert DatabaseClock(machine).look(store.db, START + DAY) == first + 2 * SECOND


def test_how_long_the_machine_was_up_before_another_start_counts_for_nothing(store: Store) -> None:
    machine = Machine()
    first = _kept(store, DatabaseClock(machine), START)
    machine.start_again()
    machine.up += 3600 * SECOND
    later = DatabaseClock(machine)
    assert later.look(store.db, START) == first
    assert _kept(store, later, START) == first
    machine.up += SECOND
    assert DatabaseClock(machine).look(store.db, START) == first + SECOND


def test_it_is_written_down_once_a_second_at_most(store: Store) -> None:
    machine = Machine()
    database_clock = DatabaseClock(machine)
    _kept(store, database_clock, START)
    written = mark(store.db)
    machine.up += SECOND
    _kept(store, database_clock, START)
    assert mark(store.db) == written
    machine.up += 1
    _kept(store, database_clock, START)
    assert mark(store.db) != written


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["wait", "keep", "look", "new", "restart"]),
            st.integers(0, 2),
            st.integers(0, 3 * DAY),
            st.integers(-40 * DAY, 40 * DAY),
        ),
        max_size=40,
    )
)
def test_whatever_the_clocks_of_three_processes_say_it_is_never_ahead_of_what_has_passed(steps) -> None:
    machine, processes, real = Machine(), {}, 0
    with Store(":memory:") as store:
        begun = _kept(store, DatabaseClock(machine), START)
        last = begun
        for step, who, long, wrong in steps:
            now = START + real + wrong
            if step == "wait":
                machine.up += long
                real += long
            elif step == "restart":
                machine.start_again()
                processes.clear()
                real += long
                # What was not yet written down is lost, of a second at most.
                last = mark(store.db).database_now
            elif step == "new" or who not in processes:
                processes[who] = DatabaseClock(machine)
            elif step == "keep":
                instant = _kept(store, processes[who], now)
                assert last <= instant <= begun + real
                last = instant
            else:
                assert processes[who].look(store.db, now) <= begun + real


def test_the_uptime_of_another_machine_ends_nothing_early(store: Store) -> None:
    first = _kept(store, DatabaseClock(Machine()), START)
    elsewhere = Machine()
    elsewhere.started, elsewhere.up = 1, 100 * DAY
    assert DatabaseClock(elsewhere).look(store.db, START) == first
    assert _kept(store, DatabaseClock(elsewhere), START) == first


def claim(store: Store, machine: Machine, lease: int):
    """Have agent `a` claim a new task, as a process does that runs on the machine."""
    store.database_clock = DatabaseClock(machine)
    (home,) = store.commit(EnsureList("x", "task"), actor="a", now=START)
    (task,) = store.commit(AddTask("task", home.uid), actor="a", now=START)
    ((_, claimed),) = store.commit(ClaimTask(agent="a", lease=lease, uid=task.uid), actor="a", now=START)
    return claimed


def test_a_process_that_has_not_looked_yet_goes_on_from_what_is_written_down(store: Store) -> None:
    machine = Machine()
    first = _kept(store, DatabaseClock(machine), START)
    machine.up += 60 * SECOND
    later = DatabaseClock(machine)
    assert later.now(store.db, START + 8 * DAY) == first + 60 * SECOND
    # From then on nothing is read.
    with store.db.transaction(write=True):
        put_mark(store.db, Mark("start 0", machine.up, first + DAY, START))
    assert later.now(store.db, START) == first + 60 * SECOND


def test_an_uptime_below_the_one_written_down_is_another_start_where_the_kernel_names_none(store: Store) -> None:
    machine = Machine()
    first = _kept(store, DatabaseClock(machine), START)
    machine.up = SECOND
    assert _kept(store, DatabaseClock(machine), START) == first
    assert mark(store.db).up == SECOND
    written = mark(store.db)
    assert _kept(store, DatabaseClock(machine), START + 1) == first
    assert mark(store.db) == written


def test_replies_and_leases_from_before_the_first_record_count_from_it(store: Store) -> None:
    claimed = claim(store, Machine(), 60 * SECOND)
    with store.db.transaction(write=True):
        local_values.put_reply(store.db, "a", "key", "fingerprint", "reply", 1)
        store.db.sql("DELETE FROM view")
    machine = Machine()
    first = _kept(store, DatabaseClock(machine), START + DAY)
    assert store.db.scalar("SELECT at FROM kept_reply") == first
    assert end_of(store.db, claimed.uid) == first + 60 * SECOND


def test_the_first_record_leaves_a_lease_alone_whose_end_is_written_down(store: Store) -> None:
    claimed = claim(store, Machine(), 60 * SECOND)
    with store.db.transaction(write=True):
        store.db.sql("DELETE FROM view WHERE key = 'database_clock'")
    end = end_of(store.db, claimed.uid)
    _kept(store, DatabaseClock(Machine()), START + 30 * SECOND)
    assert end_of(store.db, claimed.uid) == end == START + 60 * SECOND


def test_the_end_of_something_is_forgotten_a_day_after_it(store: Store) -> None:
    with store.db.transaction(write=True):
        put_end(store.db, "one", START, START)
        put_end(store.db, "other", START + DAY, START + DAY)
        assert (end_of(store.db, "one"), end_of(store.db, "other")) == (START, START + DAY)
        put_end(store.db, "other", START, START + DAY + 1)
        assert (end_of(store.db, "one"), end_of(store.db, "other")) == (None, START)
        drop_end(store.db, "other")
        assert end_of(store.db, "other") is None


def test_a_lease_lapses_at_its_end_and_not_while_its_holder_asks(store: Store) -> None:
    claimed = claim(store, Machine(), 60 * SECOND)
    end = START + 60 * SECOND
    assert (next_lapse(store.db), lapses_at(store.db, claimed.uid)) == (end, end)
    assert (lapsed(store.db, end - 1), lapsed(store.db, end)) == ([], [claimed.uid])
    assert lapses_at(store.db, "no such claim") is None
    store.commit(OpenAsk("why?"), actor="a", now=START)
    assert (next_lapse(store.db), lapses_at(store.db, claimed.uid), lapsed(store.db, end)) == (None, None, [])


def test_the_next_lapse_is_found_in_a_time_that_grows_no_faster_than_the_claims_and_questions(store: Store) -> None:
    (home,) = store.commit(EnsureList("x", "task"), actor="a", now=START)
    costs, known = [], 0
    for agents in (30, 120):
        for agent in (f"agent-{number}" for number in range(known, agents)):
            (task,) = store.commit(AddTask("task", home.uid), actor=agent, now=START)
            store.commit(ClaimTask(agent=agent, lease=60 * SECOND, uid=task.uid), actor=agent, now=START)
            store.commit(OpenAsk("why?"), actor=agent, now=START)
        steps = [0]
        store.db._connection.set_progress_handler(lambda steps=steps: steps.__setitem__(0, steps[0] + 1), 10)
        assert next_lapse(store.db) is None
        store.db._connection.set_progress_handler(None, 0)
        costs.append(steps[0])
        known = agents
    assert costs[1] < 6 * costs[0]
