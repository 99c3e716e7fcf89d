"""An agent is started on a task in a worktree of its own, or nothing is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.work.conftest import git
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.tasks import AddTask, LogTask
from tui_tasks.core.operations.work import RunWork, StartWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.work import progress
from tui_tasks.work.starting import Request, Starter, last_lines

ROBOT = Request(program="robot")
COMMITS = "echo two > b.txt; git add b.txt; git -c user.name=r -c user.email=r@x commit -qm 'Add b'"


def worktree(store: Store) -> Path:
    return Path(store.path).parent / "worktrees" / "api" / "1-rotate-api-keys"


def nothing_is_left(store: Store, repo: Path, task: str) -> None:
    assert not worktree(store).exists()
    assert git(repo, "branch", "--list", "--format=%(refname:short)").split() in (["main"], [])
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    found = task_queries.task(store.db, task)
    assert (found.status, found.claimed_by) == ("pending", None)
    assert [one.state for one in session_queries.everyone(store.db)] == [session_queries.GONE] * len(
        work_queries.everything(store.db)
    )


def test_an_agent_works_in_a_worktree_of_its_own_and_its_commits_are_ready_for_review(
    store, clock, repo, configure, starter, task
):
    configure(
        f'pwd; cat .env; printf %s "$1" > ../prompt; {COMMITS}', 'copy = [".env"]\nsetup = ["sh", "-c", "echo set up"]'
    )
    (repo / ".env").write_text("KEY=1\n")
    (repo / ".git" / "info" / "exclude").write_text(".env\n")
    store.commit(LogTask(task, "half done"), actor="bob", now=clock())
    shown: list[str] = []
    starter._show = shown.append
    started = starter.start(task, Request(program="robot", words="Mind the tests."))
    assert shown == ["set up"]
    assert started.notes == ()
    assert (started.work.state, started.work.branch, started.work.base) == ("ready", "task/1-rotate-api-keys", "main")
    assert last_lines(store.path, started.work, 9)[:2] == [str(worktree(store)), "KEY=1"]
    prompt = (worktree(store).parent / "prompt").read_text()
    for text in ("Rotate API keys!", "All of them.", "bob: half done", "Mind the tests.", "as robot-1", f"uid={task}"):
        assert text in prompt
    counts = work_queries.counts(store.db, started.work.uid)
    assert (counts.ahead, counts.behind, counts.files, counts.insertions, counts.dirty) == (1, 0, 1, 1, False)
    assert git(repo, "status", "--porcelain") == ""
    assert not list((Path(store.path).parent / "work").glob("*.launch"))


def test_an_agent_that_ends_without_a_change_has_failed_and_gives_the_task_back(store, starter, task):
    work = starter.start(task, ROBOT).work
    assert (work.state, work.message) == ("failed", "robot-1 has ended without a change")
    assert task_queries.task(store.db, task).status == "pending"


def test_what_an_agent_leaves_running_is_ended_with_it(store, configure, starter, task):
    configure(f"{COMMITS}; (trap '' HUP TERM; exec sleep 1000) & echo $! > pid")
    starter.start(task, ROBOT)
    assert not Path("/proc", (worktree(store) / "pid").read_text().strip()).exists()


def test_a_setup_command_that_fails_starts_nothing_and_leaves_nothing(store, repo, configure, starter, task):
    configure(f"touch {repo}/ran", 'setup = ["sh", "-c", "touch made; echo no such mirror; exit 3"]')
    with pytest.raises(Refusal, match="setup: sh ended with status 3: no such mirror"):
        starter.start(task, ROBOT)
    nothing_is_left(store, repo, task)
    assert not (repo / "ran").exists()


def detached(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")


def bare(repo: Path) -> None:
    git(repo, "config", "core.bare", "true")


def empty(repo: Path) -> None:
    git(repo, "checkout", "-q", "--orphan", "new")


BAD = {
    "no git repository": (lambda repo: shutil.rmtree(repo / ".git"), {}, "git init"),
    "no commit": (empty, {}, "has no commit yet: make a first commit"),
    "bare": (bare, {}, "is a bare repository: start from a checkout"),
    "detached": (detached, {}, "is on no branch: name the branch to begin on with --base"),
    "base is gone": (lambda repo: None, {"base": "gone"}, "no branch gone: `git branch` lists them"),
    "branch exists": (lambda repo: git(repo, "branch", "task/1-rotate-api-keys"), {}, "exists already: delete it"),
    "bad branch": (lambda repo: None, {"branch": "--upload-pack=x"}, "git takes no branch called"),
    "no such program": (lambda repo: None, {"program": "hal"}, "no program hal; use one of claude"),
    "not installed": (lambda repo: None, {"program": "absent"}, "absent cannot be started: no program /absent"),
}


@pytest.mark.parametrize("how", BAD)
def test_what_cannot_be_started_says_why_in_one_line_and_leaves_nothing(how, store, repo, configure, starter, task):
    configure(lines="", script="true")
    spoil, more, told = BAD[how]
    with Path(starter._environ["TUI_TASKS_CONFIG"]).open("a") as file:
        file.write('[work.program.absent]\ncommand = ["/absent", "{prompt}"]\n')
    spoil(repo)
    with pytest.raises(Refusal) as refused:
        starter.start(task, Request(**{"program": "robot", **more}))
    assert told in refused.value.message
    assert "\n" not in refused.value.message
    assert not worktree(store).exists()
    assert task_queries.task(store.db, task).status == "pending"


def test_a_path_that_is_taken_and_a_second_agent_and_one_too_many_are_refused(
    store, clock, repo, starter, configure, task
):
    worktree(store).mkdir(parents=True)
    with pytest.raises(Refusal, match="exists already: remove it"):
        starter.start(task, ROBOT)
    worktree(store).rmdir()
    configure(lines="max_agents = 1")
    running = StartWork(task, "robot", str(repo), "/elsewhere")
    (work,) = store.commit(running, actor="human", now=clock())
    with pytest.raises(Refusal, match="1 agents are at work, and \\[work\\] max_agents is 1"):
        starter.start(task, ROBOT)
    configure()
    with pytest.raises(Refusal, match="robot-1 is at work on task #1"):
        starter.start(task, ROBOT)
    assert not worktree(store).exists()
    store.commit(RunWork(work.uid), actor="human", now=clock())
    assert starter.start(task, Request(program="robot", race=True)).work.branch == "task/1-rotate-api-keys-2"


def test_nothing_that_the_repository_names_runs_when_a_worktree_is_made(store, repo, configure, starter, task):
    evil = f"touch {repo.parent}/ran; cat"
    git(repo, "config", "filter.evil.smudge", evil)
    git(repo, "config", "filter.evil.clean", evil)
    git(repo, "config", "filter.evil.required", "true")
    git(repo, "config", "core.fsmonitor", evil)
    (repo / ".git" / "hooks" / "post-checkout").write_text(f"#!/bin/sh\n{evil}\n")
    (repo / ".git" / "hooks" / "post-checkout").chmod(0o755)
    (repo / ".gitattributes").write_text("* filter=evil\n")
    git(repo, "-c", "filter.evil.clean=cat", "-c", "core.fsmonitor=false", "add", ".gitattributes")
    git(repo, "-c", "filter.evil.clean=cat", "-c", "core.fsmonitor=false", "commit", "-qm", "Evil")
    (repo.parent / "ran").unlink(missing_ok=True)
    configure("cat a.txt")
    assert last_lines(store.path, starter.start(task, ROBOT).work, 9)[0] == "one"
    assert not (repo.parent / "ran").exists()


def test_a_name_of_a_task_leads_nowhere_else(store, clock, starter, task):
    home = task_queries.lists(store.db)[0]
    (evil,) = store.commit(AddTask("../../--x; $(rm)\n\x1b[31m", home.uid), actor="bob", now=clock())
    work = starter.start(evil.uid, ROBOT).work
    assert (work.branch, Path(work.worktree).name) == ("task/2-x-rm-31m", "2-x-rm-31m")


def test_a_dirty_checkout_is_told_and_its_changes_stay_out(store, repo, configure, starter, task):
    configure("cat a.txt")
    (repo / "a.txt").write_text("changed\n")
    started = starter.start(task, ROBOT)
    assert started.notes == (f"{repo} has uncommitted changes; the worktree begins without them",)
    assert last_lines(store.path, started.work, 9)[0] == "one"


def test_in_the_checkout_itself_nothing_is_made(store, repo, configure, starter, task):
    configure("echo three > c.txt")
    work = starter.start(task, Request(program="robot", here=True)).work
    assert (work.worktree, work.branch, work.makes_worktree) == (str(repo), "main", False)
    assert (repo / "c.txt").exists()
    assert work_queries.counts_text(store.db, work.uid) == "nothing committed yet"


def test_work_whose_base_branch_is_gone_is_counted_from_where_it_began(
    store: Store, clock: Clock, repo, configure, starter: Starter, task
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    git(repo, "branch", "-m", "main", "trunk")
    counts = progress.count(work)
    assert (counts["ahead"], counts["files"]) == (1, 1)


def test_a_database_where_others_may_write_is_told_as_gemini_reads_no_settings_there(
    store, repo, configure, starter, task
):
    configure()
    with Path(starter._environ["TUI_TASKS_CONFIG"]).open("a") as file:
        file.write('[work.program.gemini]\ncommand = ["true", "{prompt}"]\n')
    folder = Path(store.path).parent
    folder.chmod(0o770)
    (note,) = starter.start(task, Request(program="gemini")).notes
    assert note == f"Gemini CLI reads no settings below {folder}, as others may write there: it reports nothing"
