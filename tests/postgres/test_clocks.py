"""Machines whose clocks differ by an hour, and that were started at other times, on one server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.entries import all_entries
from tui_tasks import clock
from tui_tasks.client.requests import ToolError
from tui_tasks.clock import Uptime
from tui_tasks.postgres.replica import Replica

HOUR = 3600 * 1_000_000
WRONG = {"fast": (HOUR, 40 * HOUR), "slow": (-HOUR, 3 * HOUR)}


@pytest.fixture
def at(monkeypatch) -> Callable[[str], contextlib.AbstractContextManager[None]]:
    """Have the clock and the uptime of a machine in a block."""
    now, uptime = clock.now, clock.uptime
    # Its thread would have the clock of whichever machine is at work.
    monkeypatch.setattr(Replica, "follow", lambda self: None)

    @contextlib.contextmanager
    def on(name: str) -> Iterator[None]:
        with monkeypatch.context() as patched:
            patched.setattr(clock, "now", lambda: now() + WRONG[name][0])
            patched.setattr(clock, "uptime", lambda: Uptime(name, uptime().up + WRONG[name][1]))
            yield

    return on


@pytest.mark.parametrize(("first", "second"), [("fast", "slow"), ("slow", "fast")])
def test_entries_have_the_servers_time_whatever_a_machines_clock_says(opened_on, at, first, second):
    before = clock.now()
    for name in (first, second):
        with at(name):
            state = opened_on(name, name)
            state.call("tasklist:add_task", {"name": name})
    times = [entry.at for entry in all_entries(state._session.store.db)]
    assert before <= times[0] <= times[-1] <= clock.now()


@pytest.mark.parametrize(("holder", "other"), [("fast", "slow"), ("slow", "fast")])
def test_a_lease_ends_early_on_no_machine(opened_on, at, holder, other):
    # Both look at the clock before anything is recorded.
    with at(holder):
        here = opened_on(holder, holder)
        here.call("tasklist:display", {})
    with at(other):
        there = opened_on(other, other)
        there.call("tasklist:display", {})
    with at(holder):
        uid = here.call("tasklist:add_task", {"name": "Build"})["uid"]
        here.call("control:claim", {"uid": uid})
    with at(other), pytest.raises(ToolError) as refused:
        there.call("control:claim", {"uid": uid})
    assert refused.value.code == "conflict"


def test_a_lease_that_has_run_out_is_ended_by_another_machine(opened_on, at, monkeypatch):
    with at("fast"):
        here = opened_on("fast", "one")
        uid = here.call("tasklist:add_task", {"name": "Build"})["uid"]
        here.call("control:claim", {"uid": uid, "lease_seconds": 30})
    with at("slow"):
        there = opened_on("slow", "two")
        there.call("tasklist:add_task", {"name": "Ship"})
    off, booted = WRONG["slow"]
    monkeypatch.setitem(WRONG, "slow", (off, booted + 31 * 1_000_000))
    with at("slow"):
        there.call("control:claim", {"uid": uid})
