"""Work is started, merged by each method, discarded, restored and cleaned up, and its process is killed at any instant.

Afterwards `git fsck` finds nothing, no commit is lost, there is no worktree, branch or row without its other half, and
the temporary folder is empty. All is done with a file, then on a server, whose journal another machine reads alike.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest import mock

from tests.postgres.machines import digest
from tests.soak import native
from tests.soak.budget import Budget
from tests.work.repositories import commit, git, write
from tui_tasks import clock
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Refusal
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.operations.work import ReportWork, RunWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.store import Store
from tui_tasks.postgres.replica_files import replica_of
from tui_tasks.runner import git_trees
from tui_tasks.work import recovery, starting
from tui_tasks.work.accepting import Acceptance
from tui_tasks.work.starting import Starter, StartRequest

ROUNDS = 200
KILLED = 0.8  # of the rounds
LATEST = 1.1  # of the time that the last whole round took: when a round is killed at the latest
SETTINGS = '[work]\nterminal = "none"\nmax_agents = 1000\n[work.program.robot]\ncommand = ["true", "{prompt}"]\n'
LOCKS = ("index.lock", "HEAD.lock", "ORIG_HEAD.lock", "*/*.lock", "refs/**/*.lock", "packed-refs.lock", "config.lock")


class Round:
    """One round, in a process that may be killed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.seed = seed
        self.root = folder / "repo"
        self.ledger = folder / "commits"
        self.store = _opened(folder)
        self.acceptance = Acceptance(self.store, clock.now)

    def run(self) -> None:
        (home,) = self.store.commit(EnsureList("work", "task"), actor="human", now=clock.now())
        (task,) = self.store.commit(AddTask(f"Task {self.seed}", home.uid), actor="human", now=clock.now())
        work = self.start(task.uid)
        if self.dice.random() < 0.2:
            self.start(task.uid, race=True)
        if self.dice.random() < 0.3:
            self.keep(commit(self.root, "Of the human", **{f"human{self.seed}_txt": "x\n"}))
        self.end(work)
        ended = [one for one in work_queries.everything(self.store.db) if one.state in ("merged", "discarded")]
        if ended and self.dice.random() < 0.3:
            self.acceptance.take_back(self.dice.choice(ended), is_revert=self.dice.random() < 0.5)
        if self.dice.random() < 0.2:
            recovery.clean_ended(self.store, (), clock.now())

    def start(self, task: str, *, race: bool = False) -> Work:
        work = Starter(self.store, self.root, clock.now).start(task, StartRequest(program="robot", race=race)).work
        self.store.commit(RunWork(work.uid), actor="system", now=clock.now())
        tree = Path(work.worktree)
        for at in range(self.dice.randint(1, 3)):
            name = self.dice.choice((f"own{self.seed}_{at}x_txt", "shared_txt"))
            self.keep(commit(tree, f"Commit {at}", **{name: f"{self.seed} {at} {race}\n"}))
        if self.dice.random() < 0.4:
            write(tree, draft_txt=f"{self.seed}\n", ignored_log=f"{self.seed}\n")
        self.store.commit(ReportWork(task), actor=work.agent, now=clock.now())
        return work

    def end(self, work: Work) -> None:
        what = self.dice.choice(("squash", "merge", "rebase", "ff", "squash", "merge", "go on", "comment", "discard"))
        if what == "discard":
            self.acceptance.discard(work)
        elif what == "comment":
            self.acceptance.comment(work, "Again, please.")
        else:
            review = self.acceptance.review(work)
            method = "squash" if what == "go on" else what
            self.acceptance.accept(
                work, review, method=method, commit_message="The rest" * review.is_dirty, go_on=what == "go on"
            )

    def keep(self, made: str) -> None:
        """Write down a commit that must not be lost."""
        with self.ledger.open("a") as file:
            file.write(f"{made}\n")


def _opened(folder: Path) -> Store:
    """Open the database, which is a replica if the folder names a server."""
    server = folder / "server"
    store = Store(replica_of(server.read_text()) if server.exists() else str(folder / "tasks.db"))
    if store.db.machine:
        store.db.catch_up()
    return store


def _play(folder: Path, seed: int) -> None:
    Round(folder, seed).run()


def _in_a_process(act: Callable[[], None], seconds: float | None, since: Path | None = None) -> bool:
    """Act in a process group of its own, which is killed after so many seconds; return whether it was.

    `since`: a file, from whose making the seconds count.
    """
    child = os.fork()
    if not child:
        os.setsid()
        status = 1
        try:
            with contextlib.suppress(Refusal, subprocess.CalledProcessError):
                act()
            status = 0
        finally:
            os._exit(status)
    end = time.monotonic() + (seconds if seconds is not None and since is None else 300)
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.002)
        if since is not None and seconds is not None and since.exists():
            end, since = time.monotonic() + seconds, None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert seconds is not None, "a round has hung"
    return True


def _recover(folder: Path) -> None:
    """Do what the next start does, as if the locks of killed gits were old."""
    _age_locks(folder)
    with _opened(folder) as store:
        recovery.recover(store, clock.now(), grace=0)


def _age_locks(folder: Path) -> None:
    for pattern in LOCKS:
        for lock in (folder / "repo" / ".git").glob(pattern):
            with contextlib.suppress(FileNotFoundError):
                os.utime(lock, (0, 0))


def soak(folder: Path, budget: Budget) -> str:
    """Return how many rounds there were, how many were killed, and what came of the work."""
    return f"{_rounds(folder / 'file', budget)}; on a server, {_on_server(folder / 'team', budget)}"


def _on_server(folder: Path, budget: Budget) -> str:
    try:
        with native.server() as cluster, cluster.database() as name:
            return _rounds(folder, budget, cluster.conninfo(name))
    except native.NotHere as reason:
        return f"not done here: {reason}"


@contextlib.contextmanager
def prepared(folder: Path, server: str = "") -> Iterator[None]:
    """Have a repository in a folder, settings, and a database there, or on a server."""
    root = folder / "repo"
    root.mkdir(parents=True)
    if server:
        (folder / "server").write_text(server)
    git(root, "init", "-q", "-b", "main")
    commit(root, "First", shared_txt="first\n", _gitignore="*.log\n")
    (folder / "config.toml").write_text(SETTINGS)
    (folder / "config.toml").chmod(0o600)
    (folder / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    temporary = folder / "tmp"
    temporary.mkdir()
    environment = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "TUI_TASKS_CONFIG": str(folder / "config.toml")}
    environment |= {"XDG_STATE_HOME": str(folder / "state")}
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(starting, "_start_headless", lambda *_: None),
        mock.patch.object(tempfile, "tempdir", str(temporary)),
    ):
        _opened(folder).close()
        yield
        _in_a_process(lambda: git_trees.tree_of(root) and None, None)
        left = [path.name for path in temporary.iterdir()]
        assert not left, left


def _rounds(folder: Path, budget: Budget, server: str = "") -> str:
    killed = rounds = 0
    whole = 2.0
    with prepared(folder, server):
        dice = random.Random(1)
        for seed in budget.times(ROUNDS, 2):
            seconds = dice.uniform(0, LATEST) * whole if dice.random() < KILLED else None
            began = time.monotonic()
            if _in_a_process(partial(_play, folder, seed), seconds):
                killed += 1
            else:
                whole = time.monotonic() - began
            rounds += 1
            _recover(folder)
        told = _check(folder)
        if server:
            told = f"{told}, {_elsewhere(folder)}"
        return f"{rounds} rounds, {killed} killed: {told}"


def _elsewhere(folder: Path) -> str:
    """Build the replica of another machine, which must be equal."""
    with _opened(folder) as store, mock.patch.dict(os.environ, {"XDG_STATE_HOME": str(folder / "other")}):
        with _opened(folder) as other:
            assert digest(other.path) == digest(store.path), "the machines differ"
        assert list(database_findings.differences(store.db)) == []
        assert list(database_findings.findings(store.db)) == []
        return f"{journal.newest(store.db):,} entries, equal on another machine"


def _check(folder: Path) -> str:
    root = folder / "repo"
    with _opened(folder) as store:
        # What git was too slow for is done at the next look.
        for _ in range(30):
            _age_locks(folder)
            recovery.clean_ended(store, (), clock.now())
            if not work_queries.begun(store.db):
                break
        works = work_queries.everything(store.db)
        begun = work_queries.begun(store.db)
        assert not begun, (begun, recovery.recover(store, clock.now(), grace=0))
        found = list(recovery.orphans(store))
        assert not found, found
    live = {work.worktree for work in works if work.state in ("working", "ready", "conflict")}
    assert all(work.state not in ("starting", "merging") for work in works)
    listed = git(root, "worktree", "list", "--porcelain").splitlines()
    known = {line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")} - {str(root)}
    assert known == live, known ^ live
    branches = set(git(root, "branch", "--list", "--format=%(refname:short)", "task/*").split())
    strange = branches - {work.branch for work in works if work.state != "merged"}
    assert not strange, strange
    git(root, "fsck", "--no-dangling", "--strict")
    assert git(root, "status", "--porcelain") == "", git(root, "status", "--porcelain")
    reachable = set(git(root, "rev-list", "--all").split())
    commits = set((folder / "commits").read_text().split()) if (folder / "commits").exists() else set()
    assert commits <= reachable, f"{len(commits - reachable)} commits are lost"
    states = [work.state for work in works]
    told = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    return f"{len(works)} works ({told}), {len(commits)} commits, none lost, no orphan"
