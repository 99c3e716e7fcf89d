"""An agent is started on a task in a worktree of its own, or nothing is; a list works itself off."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import tui_tasks
from tests.conftest import Clock
from tests.started import Started
from tests.work.conftest import git
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.errors import Conflict, Forbidden, Refusal
from tui_tasks.core.operations.asks import DeliverMessages, SendMessage
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList, LogTask
from tui_tasks.core.operations.work import DiscardWork, MergeWork, RunWork, SetAuto, StartWork, StopAuto
from tui_tasks.core.read import message_queries, work_queries, work_text
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.runner import processes
from tui_tasks.runner.git import GitFailed
from tui_tasks.settings import live_settings
from tui_tasks.work import (
    agent_terminals,
    agent_worktrees,
    auto_lists,
    comments,
    launcher,
    program_commands,
    recovery,
    starting,
    work_outcomes,
)
from tui_tasks.work.agent_terminals import last_lines
from tui_tasks.work.auto_lists import parse_auto
from tui_tasks.work.git import reviewing, worktrees
from tui_tasks.work.launcher import LaunchFile
from tui_tasks.work.starting import Starter, StartRequest

ROBOT = StartRequest(program="robot")
COMMITS = "echo two > b.txt; git add b.txt; git -c user.name=r -c user.email=r@x commit -qm 'Add b'"


def worktree(store: Store) -> Path:
    return Path(store.path).parent / "worktrees" / "api" / "1-rotate-api-keys"


def nothing_is_left(store: Store, repo: Path, task: str) -> None:
    assert not worktree(store).exists()
    assert git(repo, "branch", "--list", "--format=%(refname:short)").split() in (["main"], [])
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    found = task_queries.task(store.db, task)
    assert (found.status, found.claimed_by, found.links) == ("pending", None, ())
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
    started = starter.start(task, StartRequest(program="robot", words="Mind the tests."))
    assert shown == ["set up"]
    assert started.notes == ()
    assert (started.work.state, started.work.branch, started.work.base) == ("ready", "task/1-rotate-api-keys", "main")
    assert last_lines(store.path, started.work, 9)[:2] == [str(worktree(store)), "KEY=1"]
    prompt = (worktree(store).parent / "prompt").read_text()
    for text in ("Rotate API keys!", "All of them.", "bob: half done", "Mind the tests.", "as robot-1", f"uid={task}"):
        assert text in prompt
    counts = work_text.counts(store.db, started.work.uid)
    assert (counts.ahead, counts.behind, counts.files, counts.insertions, counts.dirty) == (1, 0, 1, 1, False)
    assert git(repo, "status", "--porcelain") == ""
    assert not list((Path(store.path).parent / "work").glob("*.launch"))


def test_an_agent_starts_and_goes_on_in_the_folder_of_the_human_below_its_worktree(
    store, clock, repo, configure, starter, task
):
    (repo / "libs" / "pkg").mkdir(parents=True)
    starter = Starter(store, repo / "libs" / "pkg", clock)
    configure(f'pwd; echo "$1" | grep "You are in"; {COMMITS}')
    first = starter.start(task, ROBOT)
    assert first.notes == (f"It starts in {worktree(store)}: libs/pkg has no committed file",)
    assert last_lines(store.path, first.work, 9)[0] == str(worktree(store))
    (repo / "libs" / "pkg" / "a.txt").write_text("one\n")
    git(repo, "add", "libs")
    git(repo, "commit", "-qm", "A package")
    work, notes = starter.start(task, StartRequest(program="robot", race=True))
    folder = f"{work.worktree}/libs/pkg"
    for _ in range(2):
        lines = last_lines(store.path, work, 9)
        assert lines[0] == folder and f"You are in {folder}, on branch" in lines[1] and notes == ()
        (Path(store.path).parent / "work" / f"{work.uid}.log").unlink()
        Starter(store, repo, clock).go_on(work_queries.find(store.db, work.uid))


def test_a_plain_call_below_the_program_of_a_started_agent_speaks_as_that_agent_and_any_other_as_agent(
    store, clock, repo, configure, starter, task
):
    variables = {**os.environ, "PYTHONPATH": str(Path(tui_tasks.__file__).parent.parent)}
    call = f"{sys.executable} -m tui_tasks call --db {store.path} ask wait=0 question="
    configure(f"export PYTHONPATH={variables['PYTHONPATH']}; sh -c '{call}below; true'; {COMMITS}")
    starter.start(task, ROBOT)
    started = StartWork(task, "robot", str(repo), str(repo), is_race=True, is_shared=True)
    (other,) = store.commit(started, actor="human", now=clock())
    with Started(["sleep", "600"]) as sleeper:
        store.commit(RunWork(other.uid, Process(*processes.identity(sleeper.pid))), actor="system", now=clock())
        subprocess.run(["sh", "-c", f"{call}outside"], cwd=repo, env=variables, check=True, capture_output=True)
        sleeper.kill()
    asked = store.db.sql("SELECT question, agent FROM ask ORDER BY id").fetchall()
    assert asked == [("below", "robot-1"), ("outside", "agent")]


def test_an_agent_that_ends_without_a_change_has_failed_and_gives_the_task_back(store, starter, task):
    work = starter.start(task, ROBOT).work
    assert (work.state, work.message) == ("failed", "robot-1 has ended without a change")
    assert task_queries.task(store.db, task).status == "pending"


def test_after_an_agent_that_has_left_nothing_the_next_takes_its_worktree_and_branch(
    store, clock, repo, configure, starter, task
):
    (repo / ".env").write_text("KEY=1\n")
    (repo / ".git" / "info" / "exclude").write_text(".env\n*.log\n")
    configure("true", 'copy = [".env"]')
    first = starter.start(task, ROBOT).work
    second = starter.start(task, ROBOT).work
    assert (second.worktree, second.branch) == (first.worktree, first.branch)
    configure("echo x > out.log", 'copy = [".env"]')
    assert starter.start(task, ROBOT).work.worktree == first.worktree
    configure(COMMITS)
    last = starter.start(task, ROBOT).work
    assert (last.branch, last.state) == ("task/1-rotate-api-keys-4", "ready")
    assert (Path(first.worktree) / "out.log").exists()
    recovery.clean_ended(store, (), clock())
    assert not Path(first.worktree).exists() and Path(last.worktree).exists()
    assert git(repo, "branch", "--format=%(refname:short)").splitlines() == ["main", last.branch]


def test_an_agent_beside_another_that_has_ended_is_ready_only_with_a_commit_of_its_own(store, configure, starter, task):
    configure(COMMITS)
    first = starter.start(task, ROBOT).work
    configure("echo looks good")
    reviewer = starter.start(task, StartRequest(program="robot", beside=True)).work
    assert (reviewer.worktree, reviewer.state) == (first.worktree, "discarded")
    assert reviewer.message == "it has ended, with no commit beside robot-1's"
    assert work_queries.find(store.db, first.uid).state == "ready"
    assert task_queries.task(store.db, task).status == "in_progress"
    configure(COMMITS.replace("two", "three"))
    assert starter.start(task, StartRequest(program="robot", beside=True)).work.state == "ready"


def test_an_agent_that_deletes_its_worktree_has_failed_and_its_commits_are_brought_back(
    store, configure, starter, task, acceptance
):
    configure(f'{COMMITS}; rm -rf "$PWD"')
    work = starter.start(task, ROBOT).work
    assert (work.state, "`tui-tasks work restore`" in work.message) == ("failed", True)
    assert acceptance.take_back(work).state == "ready"
    assert (worktree(store) / "b.txt").read_text() == "two\n"


def test_an_agent_that_ends_with_an_error_has_that_as_the_reason(store, configure, starter, task):
    configure("echo 'AuthError: no key'; echo; echo 0 files changed; exit 1")
    work = starter.start(task, ROBOT).work
    assert work.message == "robot-1 ended with exit 1: AuthError: no key"


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("echo 'Traceback: boom'; echo; exit 3", "ended with exit 3: Traceback: boom"),
        ("exit 3", "ended with exit 3 without a change"),
        ("kill -9 $$", "was killed by SIGKILL without a change"),
    ],
)
def test_an_agent_that_crashes_or_is_killed_has_failed_with_how_it_ended(script, how, store, configure, starter, task):
    configure(script)
    work = starter.start(task, ROBOT).work
    assert (work.state, work.message) == ("failed", f"robot-1 {how}")


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("echo 'Traceback: boom'; exit 3", "its agent ended with exit 3: Traceback: boom"),
        ("kill -9 $$", "its agent was killed by SIGKILL"),
        ("exit 0", "1 file +1 -0"),
    ],
)
def test_work_whose_agent_crashed_or_was_killed_with_changes_says_so_where_it_waits_for_review(
    end, how, store, clock, configure, starter, task
):
    configure(f"{COMMITS}; {end}")
    work = starter.start(task, ROBOT).work
    assert work.state == "ready" and work_text.review_texts(store.db, [work]) == [how]


def test_the_settings_name_the_program_to_propose_else_the_last_that_has_not_failed_does(
    store, configure, starter, task
):
    good = '[work.program.good]\ncommand = ["true", "{prompt}"]'
    configure(COMMITS, good)
    work = starter.start(task, ROBOT).work
    store.commit(DiscardWork(work.uid), actor="human", now=work.started_at)
    assert starter.start(task, StartRequest(program="good")).work.state == "failed"
    settings = live_settings.work()
    assert program_commands.proposed(store, settings) == "robot"
    assert [*program_commands.newest_works(store.db, settings)] == ["robot", "good"]
    configure("exit 3", good)
    assert starter.start(task, ROBOT).work.state == "failed"
    assert program_commands.proposed(store, live_settings.work()) == "robot"
    configure(COMMITS, f'{good}\n[work.program]\ndefault = "good"')
    assert program_commands.proposed(store, live_settings.work()) == "good"
    assert not live_settings.work_problem()


def test_a_start_by_default_that_fails_because_settings_are_not_used_says_why(configure, starter, task, monkeypatch):
    configure("true", '[work.program.bad]\ncommand = ["true"]')
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Conflict, match=r"no program claude .*\. Your \[work\] is not used\. .*no \{prompt\}$"):
        starter.start(task, StartRequest())


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ('[work.program.bad]\ncommand = ["true"]', "work: program.bad: the command has no {prompt}"),
        ("max_agents = 5000", "work.max_agents: takes a whole number from 1 up to 1,000, not 5000"),
    ],
)
def test_settings_that_are_not_used_say_why(configure, lines, why):
    configure("true", lines)
    problem = live_settings.work_problem()
    assert problem.startswith("Your [work] is not used. ")
    assert problem.endswith(f": {why}")


def test_a_start_says_how_to_tell_git_who_you_are_before_there_is_work_to_merge(starter, task, human_home):
    (human_home / ".gitconfig").unlink()
    (note,) = starter.start(task, ROBOT).notes
    assert note.startswith("To merge it later: git does not know who you are: `git config --global user.name")


def test_what_an_agent_leaves_running_is_ended_with_it(store, configure, starter, task):
    configure(f"{COMMITS}; (trap '' HUP TERM; exec sleep 1000) & echo $! > pid")
    starter.start(task, ROBOT)
    assert not Path("/proc", (worktree(store) / "pid").read_text().strip()).exists()


def status_of_launch(
    folder: Path, monkeypatch: pytest.MonkeyPatch, commit: Callable[[LaunchFile, object], bool]
) -> int:
    """Run the launcher in this process, on a program that does nothing; `commit` stands for its writes."""
    monkeypatch.setattr(launcher, "_commit", commit)
    monkeypatch.setattr(launcher.processes, "adopt_orphans", lambda: None)
    monkeypatch.setattr(launcher.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(launcher, "_wait", lambda pid: os.waitpid(pid, 0)[1])
    monkeypatch.setattr(launcher, "_end_rest", lambda pid: None)
    file = folder.parent / f"{folder.name}.launch"
    LaunchFile("", "", ("/bin/true",), str(folder), {}).write(file)
    return launcher.main(file)


def test_a_launcher_names_the_folder_that_has_vanished_and_not_the_program(tmp_path, monkeypatch, capsys) -> None:
    assert status_of_launch(tmp_path / "gone", monkeypatch, lambda launch, write: True) == 127
    assert capsys.readouterr().out == f"its folder {tmp_path / 'gone'}: No such file or directory\n"


def test_a_program_runs_only_once_its_process_is_recorded_so_that_its_first_hook_is_its_agents(tmp_path, monkeypatch):
    pids: list[int] = []
    programs: list[Path] = []

    def commit(launch: LaunchFile, write: object) -> bool:
        if not programs:
            programs.append(Path(f"/proc/{pids[0]}/exe").readlink())
        return True

    monkeypatch.setattr(launcher.processes, "identity", pids.append)
    assert status_of_launch(tmp_path, monkeypatch, commit) == 0
    assert programs == [Path("/proc/self/exe").readlink()]


def test_a_program_does_not_run_whose_work_was_discarded_before_its_process_was_recorded(
    store, clock, repo, configure, starter, task, monkeypatch
):
    configure(f"touch {repo}/ran")
    monkeypatch.setattr(starting, "_start_headless", lambda *launch: None)
    work = starter.start(task, StartRequest(program="robot", here=True)).work
    store.commit(DiscardWork(work.uid, work.base_commit), actor="human", now=clock())
    (file,) = (Path(store.path).parent / "work").glob("*.launch")
    argv = [sys.executable, "-P", "-m", "tui_tasks.work.launcher", str(file)]
    assert subprocess.run(argv, capture_output=True, check=False).returncode == 127
    assert not (repo / "ran").exists()


def test_a_program_that_is_killed_while_it_waits_has_ended_by_that_signal(tmp_path, monkeypatch, capsys):
    pids: list[int] = []

    def commit(launch: LaunchFile, write: object) -> bool:
        if len(pids) == 1:
            os.kill(pids[0], signal.SIGKILL)
            os.waitid(os.P_PID, pids[0], os.WEXITED | os.WNOWAIT)
            pids.append(0)
        return True

    monkeypatch.setattr(launcher.processes, "identity", pids.append)
    assert status_of_launch(tmp_path, monkeypatch, commit) == signal.SIGKILL


def test_an_agent_starts_with_variables_and_from_a_folder_of_the_human_that_are_not_utf_8(
    store, clock, repo, configure, starter, task
):
    configure(f'printf %s "$ODD" > {repo}/odd')
    odd = os.fsdecode(b"x\xffy")
    (repo / odd).mkdir()
    Starter(store, repo / odd, clock, environ={**os.environ, "ODD": odd}).start(task, ROBOT)
    assert (repo / "odd").read_bytes() == b"x\xffy"


@pytest.mark.parametrize("content", ["#!/nowhere/sh\n", "no program"])
def test_a_program_that_the_system_does_not_run_has_failed_with_its_words(content, store, configure, starter, task):
    configure("true")
    robot = Path(live_settings.work().programs["robot"].command[0])
    robot.write_text(content)
    work = starter.start(task, ROBOT).work
    assert (work.state, work.message.startswith(f"{robot}: ")) == ("failed", True)
    assert task_queries.task(store.db, task).status == "pending"
    assert [one.state for one in session_queries.everyone(store.db)] == [session_queries.GONE]


def test_a_comment_waits_where_the_program_of_ready_work_can_no_longer_be_executed(
    store, clock, configure, starter, task
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    robot = Path(live_settings.work().programs["robot"].command[0])
    robot.write_text("#!/nowhere/sh\n")
    sent = comments.send(store, work, "Mind the tests.", clock)
    assert (sent.work.state, sent.work.message) == ("ready", f"not started again: {robot}: No such file or directory")
    assert [one.text for one in message_queries.waiting(store.db, work.agent)] == ["Mind the tests."]
    assert session_queries.find(store.db, work.agent).state == session_queries.GONE


@pytest.mark.parametrize("end", ["refused", "hangup"])
def test_a_launcher_that_ends_before_its_program_is_recorded_gives_the_comments_back(
    store, clock, configure, starter, task, tmp_path, monkeypatch, end
):
    def run(*_):
        if end == "refused":
            raise Conflict("it is over")
        signal.raise_signal(signal.SIGHUP)

    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    store.commit(SendMessage(work.agent, "Mind the tests."), actor="human", now=clock())
    (sent,) = store.commit(DeliverMessages(work.agent), actor=work.agent, now=clock())[0]
    launch = launcher.LaunchFile(store.path, work.uid, ("true",), str(tmp_path), {}, "", (sent.delivered_seq,))
    launch.write(tmp_path / "launch")
    monkeypatch.setattr(launcher, "_run", run)
    monkeypatch.setattr(launcher, "_WaitingProgram", lambda _: SimpleNamespace(pid=os.getpid()))
    monkeypatch.setattr(launcher.processes, "adopt_orphans", lambda: None)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with contextlib.suppress(SystemExit):
            launcher.main(tmp_path / "launch")
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert [one.text for one in message_queries.waiting(store.db, work.agent)] == ["Mind the tests."]


def test_a_setup_command_that_fails_starts_nothing_and_leaves_nothing(store, repo, configure, starter, task):
    configure(f"touch {repo}/ran", 'setup = ["sh", "-c", "touch made; echo no such mirror; exit 3"]')
    with pytest.raises(Refusal, match="setup: sh ended with status 3: no such mirror") as refused:
        starter.start(task, ROBOT)
    assert str(refused.value).endswith(f" (`sh -c 'touch made; echo no such mirror; exit 3'` in {worktree(store)})")
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
    "detached": (detached, {}, "is on no branch: switch to one, or name a base (--base, or base:BRANCH)"),
    "base is gone": (lambda repo: None, {"base": "gone"}, "no branch gone: `git branch` lists them"),
    "branch exists": (
        lambda repo: git(repo, "branch", "mine"),
        {"branch": "mine"},
        "exists already: name another one (--branch), or rename it",
    ),
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
        starter.start(task, StartRequest(**{"program": "robot", **more}))
    assert told in refused.value.message
    assert "\n" not in refused.value.message
    assert not worktree(store).exists()
    assert task_queries.task(store.db, task).status == "pending"


@pytest.mark.parametrize("program", ["mine", "hal"])
def test_a_program_of_settings_with_a_mistake_is_refused_with_the_mistake(program, store, starter, configure, task):
    configure(lines="", script="true")
    with Path(starter._environ["TUI_TASKS_CONFIG"]).open("a") as file:
        file.write('[work.program.mine]\ncommand = ["/absent"]\n')
    with pytest.raises(Refusal) as refused:
        starter.start(task, StartRequest(program=program))
    message = refused.value.message
    assert message.startswith(f"no program {program}. Your [work] is not used. ")
    assert message.endswith(": work: program.mine: the command has no {prompt}")


def test_a_branch_of_the_human_with_the_name_of_a_new_one_is_passed_over(store, repo, configure, starter, task):
    configure(COMMITS)
    git(repo, "branch", "task/1-rotate-api-keys")
    work = starter.start(task, ROBOT).work
    assert (work.branch, Path(work.worktree).name) == ("task/1-rotate-api-keys-2", "1-rotate-api-keys-2")


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
    with pytest.raises(Refusal, match="1 agent at work, and \\[work\\] max_agents is 1"):
        starter.start(task, ROBOT)
    configure()
    with pytest.raises(Refusal, match="robot-1 is at work on task #1"):
        starter.start(task, ROBOT)
    assert not worktree(store).exists()
    store.commit(RunWork(work.uid), actor="human", now=clock())
    assert starter.start(task, StartRequest(program="robot", race=True)).work.branch == "task/1-rotate-api-keys-2"


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
    assert started.notes == (f"The uncommitted changes of {repo} are not in the worktree",)
    assert last_lines(store.path, started.work, 9)[0] == "one"


def test_caches_of_tools_in_a_checkout_are_no_changes_of_it(repo):
    for name in ("__pycache__", ".mypy_cache"):
        (repo / name).mkdir()
        (repo / name / "a").write_text("x")
    assert not agent_worktrees.find_repository(repo).has_changes
    (repo / "b.py").write_text("")
    assert agent_worktrees.find_repository(repo).has_changes


def test_in_the_checkout_itself_nothing_is_made(store, repo, configure, starter, task):
    configure("echo three > c.txt")
    work = starter.start(task, StartRequest(program="robot", here=True)).work
    assert (work.worktree, work.branch, work.makes_worktree) == (str(repo), "main", False)
    assert (repo / "c.txt").exists()
    assert work_text.counts_text(store.db, work.uid) == "nothing committed yet"


def test_work_whose_base_branch_is_gone_is_counted_from_where_it_began(
    store: Store, clock: Clock, repo, configure, starter: Starter, task
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    git(repo, "branch", "-m", "main", "trunk")
    counts = work_outcomes.count(work)
    assert (counts["ahead"], counts["files"]) == (1, 1)


def test_lines_are_counted_as_in_a_review_whatever_the_attributes_of_the_work_say(repo, configure, starter, task):
    configure(f"echo '*.txt binary' > .gitattributes; git add .gitattributes; git mv a.txt moved.txt; {COMMITS}")
    work = starter.start(task, ROBOT).work
    counts = work_outcomes.count(work)
    found = reviewing.changes(Path(work.worktree), "main", "HEAD")
    assert (counts["files"], counts["insertions"], counts["deletions"]) == (len(found), 2, 0) == (3, 2, 0)
    assert sum(one.insertions for one in found) == 2


def test_a_database_where_others_may_write_is_told_as_gemini_reads_no_settings_there(
    store, repo, configure, starter, task
):
    configure()
    with Path(starter._environ["TUI_TASKS_CONFIG"]).open("a") as file:
        file.write('[work.program.gemini]\ncommand = ["true", "{prompt}"]\n')
    folder = Path(store.path).parent
    folder.chmod(0o770)
    (note,) = starter.start(task, StartRequest(program="gemini")).notes
    assert note == f"Gemini CLI reads no settings below {folder}, as others may write there: it reports nothing"


def test_a_disk_that_is_full_is_told_in_one_line_and_leaves_nothing(store, repo, configure, starter, task, monkeypatch):
    configure()

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(starting.LaunchFile, "write", refuse)
    with pytest.raises(Refusal, match="No space left on device"):
        starter.start(task, ROBOT)
    nothing_is_left(store, repo, task)


def test_a_disk_that_is_full_under_the_worktrees_is_told_and_the_next_start_has_the_same_name(
    store, repo, configure, starter, task, monkeypatch
):
    configure()
    with monkeypatch.context() as full:
        full.setattr(
            worktrees, "add", lambda *_, **__: (_ for _ in ()).throw(GitFailed("error: unable to write file a"))
        )
        full.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
        with pytest.raises(Refusal, match=r"the disk of .*/worktrees/api is full: make room, or set"):
            starter.start(task, ROBOT)
    nothing_is_left(store, repo, task)
    assert not worktree(store).parent.exists()
    assert starter.start(task, ROBOT).work.branch == "task/1-rotate-api-keys"


def test_empty_submodules_and_pointers_of_large_files_are_told(store, repo, configure, starter, task):
    configure()
    (repo / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ../inner\n')
    (repo / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Modules and large files")
    assert starter.start(task, ROBOT).notes == (
        "Submodules are empty: a `setup` command can fetch them",
        'LFS files are pointers: `filters = ["lfs"]` in [work] fetches them',
    )


def test_without_a_tmux_that_is_new_enough_agents_run_without_a_terminal(store, configure, starter, task, monkeypatch):
    configure(COMMITS, 'terminal = "tmux"')
    config = Path(starter._environ["TUI_TASKS_CONFIG"])
    config.write_text(config.read_text().replace('terminal = "none"\n', ""))
    monkeypatch.setattr(agent_terminals, "version", lambda: (2, 9))
    work, notes = starter.start(task, ROBOT)
    assert (work.terminal, work.state) == (None, "ready")
    assert notes == ("Without a terminal: tmux 2.9 is too old: install 3.0 or newer",)


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
        fields = {"program": "robot", "host": auto_lists.this_host(), **more}
        store.commit(SetAuto(home, str(repo), **fields), actor="human", now=clock())

    return switch


def look(store: Store, clock, times: int = 1) -> list[str]:
    """Look so often; return the names of the tasks that were started, in their order."""
    for _ in range(times):
        auto_lists.start_ready_tasks(store, clock)
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
    store.commit(SetAuto(home, str(tmp_path), "robot", host=auto_lists.this_host()), actor="human", now=clock())
    assert look(store, clock) == []
    found, why = is_on(store, home)
    assert (found, "git init" in (why or "")) == (False, True)


@pytest.mark.parametrize(
    ("host", "minutes", "stays", "on"),
    [(GONE, 1, False, False), (GONE, 1, True, True), ("", 59, False, True), ("", 61, False, False)],
)
def test_it_is_off_when_the_database_is_opened_anew_unless_it_is_to_stay_or_has_just_been_turned_on(
    store, clock, home, switch_on, host, minutes, stays, on
):
    switch_on(host=host, stays=stays)
    auto_lists.switch_off_old(store, clock.forward(60 * minutes))
    assert is_on(store, home)[0] is on


def test_a_second_screen_leaves_it_to_the_first_and_takes_over_when_that_is_gone(
    store, clock, home, configure, add, switch_on, monkeypatch
):
    configure(COMMITS)
    add("One")
    switch_on()
    with monkeypatch.context() as second:
        second.setattr(auto_lists, "this_host", lambda: GONE)
        auto_lists.switch_off_old(store, clock())
        assert look(store, clock) == []
    switch_on(host=GONE)
    assert look(store, clock) == ["One"]
    assert work_queries.find_auto(store.db, home).host == auto_lists.this_host()


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
        ("0", "0: write a number of agents, a program (claude), or stay."),
        ("hal", "hal: write a number of agents, a program (claude), or stay."),
    ],
)
def test_a_line_names_the_number_the_program_and_whether_it_stays(text, fields):
    assert parse_auto(text, ("claude",)) == fields


def test_the_main_checkout_is_not_touched(store, clock, configure, repo, add, switch_on):
    configure(COMMITS)
    add("One")
    switch_on()
    look(store, clock)
    assert git(repo, "status", "--porcelain") == ""
