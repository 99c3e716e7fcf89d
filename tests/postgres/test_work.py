"""Work of a server: its own machine starts, reviews, merges and cleans it; all others see it."""

from __future__ import annotations

import signal
from pathlib import Path

import msgspec
import pytest

from tests.postgres.machines import digest
from tests.started import Started
from tests.work.conftest import git, run_to_end
from tui_tasks import clock
from tui_tasks.cli.main import main
from tui_tasks.core.agent_snapshots import Process, Work
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.sessions import EndSession
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.operations.work import BeginMerge, RunWork, SetAuto, SetWork, StartWork
from tui_tasks.core.read import work_queries, work_text
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.runner import processes
from tui_tasks.state import hosting
from tui_tasks.work import agent_terminals, auto_lists, recovery, starting, work_outcomes
from tui_tasks.work.accepting import Acceptance
from tui_tasks.work.merge_steps import Intent
from tui_tasks.work.starting import Starter, StartRequest

COMMITS = """echo two > b.txt; git add .
git -c user.name=r -c user.email=r@example.org commit -qm Second; echo "$TUI_TASKS_DB"
"""


@pytest.fixture
def machines(store_on, configure, repo, monkeypatch):
    """Two machines, on which agents run to their end before a start returns."""
    here, there = store_on("a"), store_on("b")
    configure(COMMITS)
    # Not that of who runs the tests, who may have none.
    git(repo, "config", "user.name", "me")
    git(repo, "config", "user.email", "me@example.org")

    monkeypatch.setattr(starting, "_start_headless", run_to_end)
    return here, there


def add(store: Store, name: str = "Rotate keys") -> str:
    (home,) = store.commit(EnsureList("work", "task"), actor="human", now=clock.now())
    return store.commit(AddTask(name, home.uid), actor="human", now=clock.now())[0].uid


def start(store: Store, folder: Path, uid: str, **more) -> Work:
    return Starter(store, folder, clock.now).start(uid, StartRequest(program="robot", **more)).work


def seen(store: Store, work: Work) -> Work:
    store.db.catch_up()
    return work_queries.find(store.db, work.uid)


def running(store: Store, uid: str, folder: Path) -> Work:
    """Work of which the agent runs, as its machine has written it."""
    operation = StartWork(uid, "robot", str(folder), str(folder), branch="topic", base="main")
    return store.commit(operation, actor="human", now=clock.now())[0]


def test_work_is_started_reviewed_and_merged_on_its_own_machine(machines, repo, server_url):
    here, there = machines
    work = seen(here, start(here, repo, add(here)))
    assert (work.state, work.machine) == ("ready", here.db.machine)
    assert agent_terminals.last_lines(here.path, work, 5)[0] == server_url
    assert Path(work.worktree).is_relative_to(Path(here.path).with_suffix(""))
    acceptance = Acceptance(here, clock.now)
    outcome = acceptance.accept(work, acceptance.review(work))
    assert outcome.state == "merged"
    assert git(repo, "show", "main:b.txt") == "two"
    assert not Path(work.worktree).exists()
    assert seen(there, work).state == "merged"
    assert task_queries.task(there.db, work.task_uid).status == "done"
    assert digest(here.path) == digest(there.path)


def test_another_machine_sees_state_and_counts_and_names_the_machine_instead(machines, repo):
    here, there = machines
    work = start(here, repo, add(here))
    work_outcomes.look(here, clock.now())
    work = seen(there, work)
    assert work.state == "ready"
    assert work_text.counts_text(there.db, work.uid) == work_text.counts_text(here.db, work.uid) != ""
    acceptance = Acceptance(there, clock.now)
    host = heartbeats.machine_name(there.db, here.db.machine)
    named = f"the work of {work.agent} is on {host}: .*fetch its branch {work.branch}"
    review = Acceptance(here, clock.now).review(work)
    for act in (
        lambda: acceptance.review(work),
        lambda: acceptance.accept(work, review),
        lambda: acceptance.comment(work, "Again."),
        lambda: acceptance.planned_push(work, review),
        lambda: acceptance.take_back(work),
        lambda: there.commit(BeginMerge(work.uid, {}), actor="human", now=clock.now()),
        lambda: start(there, repo, work.task_uid, beside=True),
    ):
        with pytest.raises(Conflict, match=named):
            act()
    assert seen(here, work).state == "ready"


def test_commands_of_another_machine_mark_the_work_and_name_its_machine(machines, repo, server_url, machine, capsys):
    here, there = machines
    work = start(here, repo, add(here))
    host = heartbeats.machine_name(there.db, here.db.machine)
    machine("b")
    assert main(["work", "ls", "--db", server_url]) == 0
    assert f"{work.agent} on {host}" in capsys.readouterr().out
    assert main(["work", "show", "1", "--db", server_url]) == 0
    assert f"is on {host}" in capsys.readouterr().out
    assert main(["work", "review", "--db", server_url, "1"]) != 0
    assert capsys.readouterr().err.count(f"is on {host}") == 1
    machine("a")
    assert main(["work", "ls", "--db", server_url]) == 0
    assert f" on {host}" not in capsys.readouterr().out
    assert Path(work.worktree).is_dir()


def test_another_machine_neither_recovers_nor_fails_what_was_cut_off(machines, repo):
    here, there = machines
    operation = StartWork(add(here), "robot", str(repo), str(repo.parent / "gone"), branch="topic", base="main")
    (work,) = here.commit(operation, actor="human", now=clock.now())
    later = clock.now() + (recovery.START_SECONDS + 1) * 1_000_000
    there.db.catch_up()
    assert recovery.recover(there, later) == []
    assert work_outcomes.look(there, later) == 0
    hosting._look_at_work(there, clock.now)
    assert seen(here, work).state == "starting"
    assert recovery.recover(here, later) == [f"undid the start of {work.agent}"]
    assert seen(there, work).state == "failed"


def test_a_session_of_started_work_belongs_to_its_machine_from_the_beginning(machines, repo):
    here, there = machines
    work = running(here, add(here), repo)
    there.db.catch_up()
    session = session_queries.find(there.db, work.agent)
    assert session_queries.process(session).machine == here.db.machine
    assert (work_queries.count_busy(here.db), work_queries.count_busy(there.db)) == (1, 0)


def test_two_machines_may_have_worktrees_of_the_same_path(machines, repo):
    here, there = machines
    first, second = add(here, "One"), add(here, "Two")
    running(here, first, repo)
    there.db.catch_up()
    assert running(there, second, repo).machine == there.db.machine


def test_work_of_a_machine_that_is_gone_can_be_discarded_elsewhere_once_its_agent_has_ended(machines, repo):
    here, there = machines
    work = running(here, add(here), repo)
    there.db.catch_up()
    acceptance = Acceptance(there, clock.now)
    with pytest.raises(Conflict, match="is on "):
        acceptance.discard(work)
    there.commit(EndSession(work.agent, "machine not heard of"), actor="system", now=clock.now())
    assert acceptance.discard(work).state == "discarded"
    assert seen(here, work).state == "discarded"
    assert task_queries.task(here.db, work.task_uid).status == "pending"


def test_what_loses_a_race_to_another_machine_is_ended_by_its_own_when_it_hears_of_the_merge(machines, repo):
    here, there = machines
    uid = add(here)
    loser = seen(here, start(here, repo, uid))
    with Started(["sleep", "1000"], start_new_session=True) as agent:
        process = Process(*processes.identity(agent.pid, here.db.machine))
        here.commit(RunWork(loser.uid, process), actor="system", now=clock.now())
        there.db.catch_up()
        work = seen(there, start(there, repo, uid, race=True))
        acceptance = Acceptance(there, clock.now)
        outcome = acceptance.accept(work, acceptance.review(work))
        assert outcome.state == "merged"
        assert [note for note in outcome.notes if f"the work of {loser.agent} is on" in note]
        assert seen(here, loser).state == "working"
        hosting._look_at_work(here, clock.now)
        assert (ended := seen(there, loser)).state == "discarded"
        assert ended.message == f"the work of {work.agent} was merged instead"
        assert agent.wait() == -signal.SIGTERM
    assert task_queries.task(here.db, uid).status == "done"
    assert Path(loser.worktree).is_dir()


def test_work_that_began_after_a_merge_on_another_machine_goes_on(machines, repo):
    here, there = machines
    uid = add(here)
    there.db.catch_up()
    work = seen(there, start(there, repo, uid))
    acceptance = Acceptance(there, clock.now)
    acceptance.accept(work, acceptance.review(work))
    here.db.catch_up()
    here.commit(EditTask(uid, {"status": "pending"}), actor="human", now=clock.now())
    again = running(here, uid, repo)
    hosting._look_at_work(here, clock.now)
    assert seen(there, again).state == "starting"


def test_a_list_works_itself_off_on_the_machine_that_turned_it_on(machines, repo):
    here, there = machines
    uid = add(here)
    home = task_queries.find_list(here.db, "work")
    here.commit(SetAuto(home.uid, str(repo), "robot", stays=True), actor="human", now=clock.now())
    there.db.catch_up()
    auto_lists.switch_off_old(there, clock.now())
    auto_lists.start_ready_tasks(there, clock.now)
    assert work_queries.of_task(there.db, uid) == []
    auto_lists.start_ready_tasks(here, clock.now)
    assert [work.machine for work in work_queries.of_task(here.db, uid)] == [here.db.machine]


def test_what_a_process_began_and_did_not_end_is_carried_on_by_its_machine_alone(machines, repo):
    here, there = machines
    work = seen(here, start(here, repo, add(here)))
    acceptance = Acceptance(here, clock.now)
    outcome = acceptance.accept(work, acceptance.review(work))
    cut_off = msgspec.to_builtins(Intent("clean", outcome.merge))
    here.commit(SetWork(work.uid, {"intent": cut_off}), actor="system", now=clock.now())
    there.db.catch_up()
    assert work_queries.begun(there.db) == []
    assert recovery.recover(there, clock.now()) == []
    with pytest.raises(Conflict, match="is on "):
        recovery.recover_merge(there, work, clock.now)
    assert seen(here, work).intent is not None
    assert recovery.recover(here, clock.now()) == [f"cleaned up after {work.agent}"]
    assert seen(there, work).intent is None
