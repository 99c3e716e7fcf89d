"""Agents are stopped at the limits of the settings or of their own, and the fleet shows who is near to one."""

from __future__ import annotations

import pytest

from tui_tasks.core.operations.sessions import Process, PromptSubmitted, RecordReport, SessionReport, UsageReported
from tui_tasks.core.operations.work import RunWork, StartWork
from tui_tasks.core.read import ask_queries, work_queries
from tui_tasks.core.read.agents import fleet, session_queries
from tui_tasks.core.store import Store
from tui_tasks.settings.work_settings import LimitSettings
from tui_tasks.work import progress
from tui_tasks.work.progress import most_used

MINUTE = 60_000_000


@pytest.fixture
def work(store: Store, clock, repo, task):
    def start(**limits: float):
        started = StartWork(task, "claude", str(repo), str(repo), False, "main", "main", "c", limits=limits)
        (found,) = store.commit(started, actor="human", now=clock())
        store.commit(RunWork(found.uid, Process("b", "n", 1, "9"), "Do it"), actor="system", now=clock())
        return work_queries.find(store.db, found.uid)

    return start


def use(store: Store, clock, tokens: int, cost: float | None = None, **record) -> None:
    session = session_queries.find(store.db, "claude-1").session
    report = SessionReport("claude", session, (UsageReported(tokens, cost),), clock(), record=record or None)
    store.commit(RecordReport(report, "", tasks=False), actor="claude-1", now=clock())


def shown(store: Store, clock) -> str | None:
    return next(one.near for one in fleet.everyone(store.db, 0) if one.name == "claude-1")


def test_near_a_limit_the_fleet_shows_it_and_at_the_limit_the_human_is_asked(store, clock, work):
    found = work()
    limits = LimitSettings(tokens=1_000)
    for tokens, near, asked in ((799, None, 0), (800, "800 of 1,000 tokens", 0), (1_000, "1,000 of 1,000 tokens", 1)):
        use(store, clock, tokens)
        progress.look_at(store, work_queries.find(store.db, found.uid), clock.forward(1), limits)
        assert (shown(store, clock), len(ask_queries.open_asks(store.db))) == (near, asked)
    progress.look_at(store, work_queries.find(store.db, found.uid), clock.forward(1), limits)
    assert len(ask_queries.open_asks(store.db)) == 1


def test_limits_of_the_work_take_the_place_of_those_of_the_settings(store, clock, work):
    found = work(tokens=5_000)
    use(store, clock, 2_000)
    session = session_queries.seen(store.db, "claude-1")
    assert most_used(store, found, session, LimitSettings(tokens=1_000), clock()).limit == 5_000


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"cost_usd": 2.0}, "$1.50 of $2.00"),
        ({"minutes": 40}, "30 of 40 minutes"),
        ({"turns": 4}, "2 of 4 turns"),
        ({"context": 0.8}, "75% of its context window, where 80% is the limit"),
    ],
)
def test_each_limit_is_counted_in_its_unit(store, clock, work, limits, text):
    found = work(**limits)
    use(store, clock, 10, 1.5, context=0.75)
    session = session_queries.find(store.db, "claude-1")
    again = SessionReport("claude", session.session, (PromptSubmitted("And now"),), clock())
    store.commit(RecordReport(again, "", tasks=False), actor="claude-1", now=clock())
    session = session_queries.seen(store.db, "claude-1")
    assert str(most_used(store, found, session, LimitSettings(), found.started_at + 30 * MINUTE)) == text


def test_without_limits_nothing_is_counted(store, clock, work):
    found = work()
    assert most_used(store, found, session_queries.seen(store.db, "claude-1"), LimitSettings(), clock()) is None
