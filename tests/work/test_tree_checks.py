"""A check of a task at work is about its worktree, and what it proves is bound to the hash of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runner.hosting import FORKING
from tests.work.conftest import git
from tests.work.test_accepting import titles
from tests.work.test_starting import COMMITS, ROBOT, worktree
from tui_tasks import clock as wall
from tui_tasks.core.agent_snapshots import Check
from tui_tasks.core.operations.jobs import RequestChecks
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import check_queries, work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.runner import supervisor_launch
from tui_tasks.runner.checks.check_keeper import CheckKeeper
from tui_tasks.settings import live_settings
from tui_tasks.settings.live_settings import check_profiles
from tui_tasks.work import tree_checks
from tui_tasks.work.accepting import Acceptance

CHECK = """
[check.words]
command = ["sh", "-c", "pwd; ! grep -q bad *.txt && test ! -e both.txt -o ! -e b.txt"]
cwd = "{repo}"
inputs = ["*.txt"]
lists = ["work"]
gate = true
"""


@pytest.fixture
def checked(store, repo, tmp_path, configure, acceptance, monkeypatch):
    """Write settings with a check that gates, record it, and return what accepts work by the real clock."""
    monkeypatch.setattr(supervisor_launch, "subprocess", FORKING)

    def write(script: str = COMMITS, lines: str = "", check: str = CHECK) -> Acceptance:
        configure(script, lines)
        file = tmp_path / "config.toml"
        file.write_text(file.read_text() + check.format(repo=repo))
        CheckKeeper(check_profiles()).look(store, wall.now())
        return Acceptance(store, wall.now)

    return write


def prove(store, work, review) -> tuple[Check, ...]:
    """Run the checks on the reviewed tree."""
    prover = tree_checks.Prover(store, live_settings.work(), wall.now, print, lambda: False)
    return prover.prove(work, review.folder, review.tree)


def states(checks) -> list[tuple[str, str]]:
    return [(one.name, one.state) for one in checks]


def test_a_check_runs_in_the_worktree_and_proves_exactly_its_tree(store, repo, starter, task, checked):
    acceptance = checked()
    work = starter.start(task, ROBOT).work
    review = acceptance.review(work)
    assert states(acceptance.checks(work, review)) == [("words", "unproven")]
    (ran,) = prove(store, work, review)
    assert (ran.state, ran.run.output.strip()) == ("passed", str(worktree(store)))
    assert (ran.run.tree, ran.run.worktree) == (review.tree, str(worktree(store)))
    assert states(acceptance.checks(work, review)) == [("words", "passed")]
    (worktree(store) / "new.md").write_text("untracked\n")
    changed = acceptance.review(work)
    assert states(acceptance.checks(work, changed)) == [("words", "unproven")]
    (worktree(store) / "new.md").unlink()
    assert states(acceptance.checks(work, acceptance.review(work))) == [("words", "passed")]


def test_what_gates_runs_before_a_merge_and_a_failure_moves_nothing(store, repo, starter, task, checked):
    acceptance = checked(COMMITS.replace("echo two", "echo bad"))
    work = starter.start(task, ROBOT).work
    outcome = acceptance.accept(work, acceptance.review(work))
    assert (outcome.state, states(outcome.checks)) == ("unproven", [("words", "failed")])
    assert titles(repo) == ["First"]
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.intent, found.message) == ("ready", None, "not merged: words failed")
    merged = acceptance.accept(work, acceptance.review(work), unproven=True)
    assert merged.state == "merged" and titles(repo)[0] == "Rotate API keys!"


def test_a_work_whose_checks_have_passed_is_merged_and_its_task_stays_proven(store, repo, starter, task, checked):
    acceptance = checked()
    work = starter.start(task, ROBOT).work
    assert acceptance.accept(work, acceptance.review(work)).state == "merged"
    found = task_queries.task(store.db, task)
    home = task_queries.list_by_id(store.db, found.list_id)
    keeper = CheckKeeper(check_profiles())
    keeper.look(store, wall.now())
    assert states(check_queries.of_task(store.db, found, home, check_queries.definitions(store.db))) == [
        ("words", "passed")
    ]
    (repo / "a.txt").write_text("another\n")
    keeper.look(store, wall.now())
    assert states(check_queries.of_task(store.db, found, home, check_queries.definitions(store.db))) == [
        ("words", "stale")
    ]
    keeper.close()


def test_where_the_base_has_moved_the_merged_tree_is_proven_in_a_second_worktree(store, repo, starter, task, checked):
    acceptance = checked()
    work = starter.start(task, ROBOT).work
    (repo / "both.txt").write_text("ours\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Ours")
    review = acceptance.review(work)
    (on_branch,) = prove(store, work, review)
    assert on_branch.state == "passed"
    outcome = acceptance.accept(work, review)
    (failed,) = outcome.checks
    assert (outcome.state, failed.state) == ("unproven", "failed")
    assert failed.run.worktree == str(Path(store.path).parent / "proofs" / work.uid)
    assert titles(repo) == ["Ours", "First"]
    assert not Path(failed.run.worktree).exists()
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 2
    assert states(acceptance.checks(work, acceptance.review(work))) == [("words", "passed")]


def test_the_branch_alone_is_proven_where_the_settings_say_so(store, repo, starter, task, checked):
    acceptance = checked(lines='prove = "branch"')
    work = starter.start(task, ROBOT).work
    (repo / "both.txt").write_text("ours\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Ours")
    assert not acceptance.proves_merged
    assert acceptance.accept(work, acceptance.review(work)).state == "merged"


def test_the_second_worktree_is_set_up_as_the_first(store, repo, starter, task, checked):
    check = CHECK.replace("pwd;", "cat .env made;")
    (repo / ".gitignore").write_text(".env\nmade\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Ignore")
    (repo / ".env").write_text("KEY=1\n")
    acceptance = checked(lines='copy = [".env"]\nsetup = ["sh", "-c", "echo yes > made"]', check=check)
    work = starter.start(task, ROBOT).work
    (repo / "c.txt").write_text("ours\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Ours")
    outcome = acceptance.accept(work, acceptance.review(work))
    assert (outcome.state, outcome.checks[0].run.output.split()) == ("merged", ["KEY=1", "yes"])


def test_a_run_that_changes_files_which_git_does_not_ignore_proves_nothing(store, repo, starter, task, checked):
    acceptance = checked(check=CHECK.replace("pwd;", "date > left.md;"))
    work = starter.start(task, ROBOT).work
    (ran,) = prove(store, work, acceptance.review(work))
    assert ran.state == "stale" and "git does not ignore" in ran.run.output
    review = acceptance.review(work)
    (stale,) = acceptance.checks(work, review)
    assert (stale.state, stale.run) == ("stale", ran.run)
    store.commit(RequestChecks(task), actor="human", now=wall.now())
    assert states(acceptance.checks(work, review)) == [("words", "running")]


def test_an_agent_that_reports_done_is_checked_in_its_own_worktree(store, repo, starter, task, checked):
    checked()
    work = starter.start(task, ROBOT).work
    (repo / "a.txt").write_text("bad, of the human\n")
    store.commit(RequestChecks(task), actor=work.agent, now=wall.now())
    (run,) = check_queries.runs_in(store.db, "waiting")
    assert (run.cwd, run.worktree, run.tree) == (work.worktree, work.worktree, None)


def test_a_proof_from_elsewhere_is_no_proof_of_a_task_at_work(store, repo, starter, task, checked):
    acceptance = checked()
    home = EditTask(task, {"status": "done"})
    store.commit(home, actor="human", now=wall.now())
    (run,) = check_queries.runs_in(store.db, "waiting")
    assert run.worktree is None
    store.commit(EditTask(task, {"status": "pending"}), actor="human", now=wall.now())
    work = starter.start(task, ROBOT).work
    assert states(acceptance.checks(work, acceptance.review(work))) == [("words", "unproven")]
    store.commit(home, actor="human", now=wall.now())
    assert {one.worktree for one in check_queries.runs_in(store.db, "waiting")} == {None, work.worktree}


def test_what_passes_by_a_file_that_git_ignores_proves_no_tree_and_gates_the_merge(store, repo, starter, task, checked):
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "exclude").write_text("*.log\n")
    acceptance = checked(
        check=CHECK.replace("pwd;", "pwd; test -e ok.log &&").replace('["*.txt"]', '["*.txt", "*.log"]')
    )
    work = starter.start(task, ROBOT).work
    (worktree(store) / "ok.log").write_text("ok")
    review = acceptance.review(work)
    prove(store, work, review)
    assert states(acceptance.checks(work, review)) == [("words", "unproven")]
    outcome = acceptance.accept(work, review)
    assert (outcome.state, states(outcome.checks)) == ("unproven", [("words", "failed")])
    assert titles(repo) == ["First"]


def test_a_check_whose_inputs_git_ignores_in_part_is_proven_on_the_tree_alone(store, repo, starter, task, checked):
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "exclude").write_text("*.log\n")
    acceptance = checked(check=CHECK.replace('["*.txt"]', '["*.txt", "*.log"]'))
    work = starter.start(task, ROBOT).work
    (worktree(store) / "left.log").write_text("ok")
    outcome = acceptance.accept(work, acceptance.review(work))
    assert outcome.state == "merged"
    assert "/proofs/" in outcome.checks[0].run.output
