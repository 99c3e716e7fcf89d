"""A list works itself off: ready tasks are started as places get free."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.work.conftest import git
from tui_tasks.core.errors import Forbidden
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.operations.work import MergeWork, SetAuto, StopAuto
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.work import auto, starting
from tui_tasks.work.auto import parse
from tui_tasks.work.starting import Starter

COMMITS = "echo two > b.txt; git add b.txt; git -c user.name=r -c user.email=r@x commit -qm 'Add b'"
GONE = json.dumps(["another boot", "", 1, ""])


@pytest.fixture
def home(store: Store, clock) -> str:
    return store.commit(EnsureList("web", "task"), actor="human", now=clock())[0].uid


@pytest.fixture
def add(store: Store, clock, home: str):
    def make(name: str, priority: int = 3, after: tuple[str, ...] = ()) -> str:
        operation = AddTask(name, home, priority=priority, depends_on=after)
        return store.commit(operation, actor="human", now=clock())[0].uid

    return make


@pytest.fixture
def switch_on(store: Store, clock, home: str, repo: Path, starter: Starter):
    def switch(**more):
        fields = {"program": "robot", "host": auto.host(), **more}
        store.commit(SetAuto(home, str(repo), **fields), actor="human", now=clock())

    return switch


def look(store: Store, clock, times: int = 1) -> list[str]:
    """Look so often; return the names of the tasks that were started, in their order."""
    for _ in range(times):
        auto.look(store, clock)
    return [task_queries.task(store.db, work.task_uid).name for work in work_queries.everything(store.db)]


def is_on(store: Store, home: str) -> tuple[bool, str | None]:
    found = work_queries.find_auto(store.db, home)
    return found.is_on, found.message


def test_ready_tasks_are_started_most_urgent_first_and_each_once(store, clock, configure, add, switch_on):
    configure(COMMITS)
    add("Later", 4)
    first = add("First", 1)
    add("Behind", 1, (first,))
    switch_on(at_once=9)
    assert look(store, clock, 3) == ["First", "Later"]


def test_a_task_waits_until_the_work_on_what_it_depends_on_is_merged(store, clock, configure, add, switch_on):
    configure(COMMITS)
    first = add("First")
    add("Behind", 3, (first,))
    switch_on()
    assert look(store, clock) == ["First"]
    (work,) = work_queries.live(store.db)
    store.commit(EditTask(first, {"status": "done"}), actor=work.agent, now=clock())
    assert (task_queries.task(store.db, first).status, look(store, clock)) == ("done", ["First"])
    store.commit(MergeWork(work.uid, "c"), actor="human", now=clock())
    assert look(store, clock) == ["First", "Behind"]


def test_no_more_are_started_than_have_a_place(store, clock, configure, add, switch_on, monkeypatch):
    configure("true")
    monkeypatch.setattr(starting, "_start_headless", lambda *_: None)
    for name in ("One", "Two", "Three"):
        add(name)
    switch_on(at_once=2)
    assert look(store, clock, 3) == ["One", "Two"]


def test_the_settings_limit_all_agents_together(store, clock, configure, add, switch_on, monkeypatch):
    configure("true", "max_agents = 1")
    monkeypatch.setattr(starting, "_start_headless", lambda *_: None)
    for name in ("One", "Two"):
        add(name)
    switch_on(at_once=2)
    assert look(store, clock, 2) == ["One"]
    assert work_queries.switched_on_autos(store.db)


def test_after_so_many_failures_in_a_row_it_stops_and_says_so(store, clock, configure, home, add, switch_on):
    configure("false")
    for name in ("One", "Two", "Three"):
        add(name)
    switch_on(failures=2)
    assert look(store, clock, 4) == ["One", "Two"]
    assert is_on(store, home) == (False, "2 agents in a row have failed")
    switch_on(failures=2)
    assert look(store, clock, 1)[2:] == ["One"]


def test_a_place_in_which_nothing_can_start_stops_it_with_the_reason(store, clock, home, add, switch_on, tmp_path):
    add("One")
    switch_on()
    store.commit(SetAuto(home, str(tmp_path), "robot", host=auto.host()), actor="human", now=clock())
    assert look(store, clock) == []
    found, why = is_on(store, home)
    assert (found, "git init" in (why or "")) == (False, True)


@pytest.mark.parametrize(("host", "stays", "on"), [(GONE, False, False), ("", False, False), (GONE, True, True)])
def test_it_is_off_when_the_database_is_opened_anew_unless_it_is_to_stay(
    store, clock, home, switch_on, host, stays, on
):
    switch_on(host=host, stays=stays)
    auto.switch_off_old(store, clock())
    assert is_on(store, home)[0] is on


def test_a_second_screen_leaves_it_to_the_first_and_takes_over_when_that_is_gone(
    store, clock, home, configure, add, switch_on, monkeypatch
):
    configure(COMMITS)
    add("One")
    switch_on()
    with monkeypatch.context() as second:
        second.setattr(auto, "host", lambda: GONE)
        auto.switch_off_old(store, clock())
        assert look(store, clock) == []
    switch_on(host=GONE)
    assert look(store, clock) == ["One"]
    assert work_queries.find_auto(store.db, home).host == auto.host()


def test_agents_cannot_turn_it_on_or_off(store, clock, home, repo, switch_on):
    switch_on()
    for operation in (SetAuto(home, str(repo)), StopAuto(home)):
        with pytest.raises(Forbidden):
            store.commit(operation, actor="bob", now=clock())


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("2 claude stay", {"at_once": 2, "program": "claude", "stays": True}),
        ("claude", {"at_once": 1, "program": "claude"}),
        ("0", "0 is no number of agents, no program (claude), and not stay."),
        ("hal", "hal is no number of agents, no program (claude), and not stay."),
    ],
)
def test_a_line_names_the_number_the_program_and_whether_it_stays(text, fields):
    assert parse(text, ("claude",)) == fields


def test_the_main_checkout_is_not_touched(store, clock, configure, repo, add, switch_on):
    configure(COMMITS)
    add("One")
    switch_on()
    look(store, clock)
    assert git(repo, "status", "--porcelain") == ""
