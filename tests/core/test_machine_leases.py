"""Leases of machines: whoever is heard of keeps what it holds, and whoever is not loses it."""

from __future__ import annotations

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import START
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.core.unjournaled.heartbeats import LEASE, LEASE_RENEWED

MACHINES = ("a", "b", "c")
STEP = LEASE_RENEWED // 3
SPANS = st.lists(st.tuples(st.sets(st.sampled_from(MACHINES)), st.integers(1, 15)), max_size=20)


class Office:
    """Machines, each with a session. Of each step is known who reached the server."""

    def __init__(self, store: Store) -> None:
        self.db, self.database_now = store.db, START
        self.heard = dict.fromkeys(MACHINES, 0)
        self.steps: list[bool] = []
        with self.db.transaction(write=True):
            for machine in MACHINES:
                self.db.sql("INSERT INTO beat VALUES (?, 1, 'boot', ?, 1, '1', 0)", (machine, f"1@{machine}"))
                heartbeats.begin_lease(self.db, machine, START)

    def step(self, there: set[str]) -> dict[str, int]:
        """Let time pass and some machines reach the server, each of which looks first.

        Return the lost machines, each with how long it was silent.
        """
        self.database_now += STEP
        self.steps.append(bool(there))
        lost: dict[str, int] = {}
        for machine in sorted(there):
            self.db.machine = machine
            with self.db.transaction(write=True):
                lost |= {one: self.silent_for(one) for one in heartbeats.lost_machines(self.db, self.database_now)}
                if heartbeats.is_lease_due(self.db, self.database_now):
                    heartbeats.renew_lease(self.db, self.database_now)
            self.heard[machine] = len(self.steps)
        return lost

    def silent_for(self, machine: str) -> int:
        """How long a machine was not heard of, without the long times in which nobody was."""
        counted = ["".join(part) for _, part in itertools.groupby(self._heard_since(machine))]
        return STEP * sum(len(part) for part in counted if part[0] == "x" or len(part) * STEP <= 2 * LEASE_RENEWED)

    def _heard_since(self, machine: str) -> str:
        return "".join("x" if heard else "." for heard in self.steps[self.heard[machine] :])


@given(SPANS)
@example([({"a", "b"}, 2), ({"a"}, 1), (set(), 10), ({"a"}, 1)])
def test_only_a_machine_that_was_silent_for_most_of_a_lease_is_lost(spans: list[tuple[set[str], int]]) -> None:
    with Store(":memory:") as store:
        office = Office(store)
        for there, count in spans:
            for _ in range(count):
                assert min(office.step(there).values(), default=LEASE) >= LEASE - LEASE_RENEWED


@given(SPANS, st.sampled_from(MACHINES))
def test_every_machine_that_stays_away_is_lost_in_the_end(spans: list[tuple[set[str], int]], there: str) -> None:
    with Store(":memory:") as store:
        office = Office(store)
        for some, count in spans:
            for _ in range(count):
                office.step(some)
        lost: set[str] = set()
        for _ in range((LEASE + 2 * LEASE_RENEWED) // STEP + 1):
            lost |= office.step({there}).keys()
        assert lost == {*MACHINES} - {there}
