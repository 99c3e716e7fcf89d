"""The links of a task on the screen: shown, told of by git, and opened once the human has seen what."""

from __future__ import annotations

import gc
import shlex
import subprocess
import threading
import webbrowser
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import Clock
from tests.tui.driving import named, opened, press, said, shown, until
from tests.tui.plan import NOW
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.operations.work import BeginMerge, CountWork, MergeWork, RunWork, SetWork, StartWork, WorkReady
from tui_tasks.core.schema.task_links import checked
from tui_tasks.core.store import Store
from tui_tasks.runner.git import GitFailed, read
from tui_tasks.tui.tasks import links
from tui_tasks.tui.tasks.links import LinkLines, LinkLog, merged_into

BRANCH = checked("branch", "phone")
PULL_REQUEST = checked("pull_request", "https://example.org/pull/7")


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work tree on a branch with one commit more than `main`."""
    folder = tmp_path_factory.mktemp("web")
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("1\n2\n")
    git(folder, "add", "a.py")
    git(folder, "commit", "-qm", "First")
    git(folder, "switch", "-qc", "phone")
    (folder / "a.py").write_text("1\n3\n4\n")
    git(folder, "commit", "-qam", "Ring \x1b]52;c;aGk=\x07 twice")
    return folder


def test_git_tells_the_size_of_a_branch_and_of_a_commit(repository: Path) -> None:
    assert links.facts(repository, BRANCH) == "1 commit since main, +2 -1 in 1 file"
    assert links.facts(repository, checked("branch", "main")).startswith("at ")
    commit = checked("commit", git(repository, "rev-parse", "--short", "phone"))
    assert links.facts(repository, commit).startswith("+2 -1 in 1 file  Ring")
    assert "+4" in links.link_text(repository, commit)
    for missing in (checked("branch", "other"), checked("commit", "123456789")):
        with pytest.raises(GitFailed, match="no "):
            links.facts(repository, missing)
    with pytest.raises(GitFailed):
        links.facts(Path("/"), BRANCH)


def test_a_look_up_that_never_begins_leaves_no_coroutine_behind(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    (home,) = store.commit(EnsureList("work", "task"), actor="human", now=clock())
    (task,) = store.commit(AddTask("Ring", home.uid, fields={"links": (BRANCH,)}), actor="human", now=clock())
    monkeypatch.setattr(links, "repository_of", lambda context, task: Path("/repo"))
    begun: list[object] = []
    widget = SimpleNamespace(run_worker=lambda work, **options: begun.append(callable(work)))
    context = SimpleNamespace(db=store.db, state=SimpleNamespace(works=SimpleNamespace(has_any=False)))
    LinkLines(context, widget, lambda: None).read(task)  # type: ignore[arg-type]
    gc.collect()
    assert begun == [True] and not [one for one in recwarn if "never awaited" in str(one.message)]


def test_a_branch_of_merged_work_was_merged_and_no_other_was(store: Store, clock: Clock) -> None:
    (home,) = store.commit(EnsureList("work", "task"), actor="human", now=clock())
    (task,) = store.commit(AddTask("Ring twice", home.uid), actor="human", now=clock())
    start = StartWork(task.uid, "robot", "/repo", "/trees/1", branch="phone", base="main")
    (work,) = store.commit(start, actor="human", now=clock())
    store.commit(RunWork(work.uid), WorkReady(work.uid), actor="system", now=clock())
    assert merged_into(store.db, task.uid, BRANCH) == ""
    store.commit(BeginMerge(work.uid, {}), actor="human", now=clock())
    store.commit(MergeWork(work.uid, "1ef7c66261aa"), actor="human", now=clock())
    assert merged_into(store.db, task.uid, BRANCH) == "merged into main"
    assert merged_into(store.db, task.uid, checked("branch", "other")) == ""


def test_git_runs_nothing_that_a_repository_names(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 >> {shlex.quote(str(ran))}\ncat\n")
    program.chmod(0o755)
    (tmp_path / ".gitattributes").write_text("* diff=x filter=x\n")
    (tmp_path / "a").write_text("1\n")
    git(tmp_path, "add", "a", ".gitattributes")
    git(tmp_path, "commit", "-qm", "First")
    git(tmp_path, "switch", "-qc", "phone")
    (tmp_path / "a").write_text("2\n")
    git(tmp_path, "commit", "-qam", "Second")
    settings = ("core.fsmonitor", "core.pager", "diff.external", "diff.x.command", "diff.x.textconv", "filter.x.clean")
    for setting in (*settings, "filter.x.smudge", "gpg.program", "pager.log", "pager.show", "core.sshCommand"):
        git(tmp_path, "config", setting, str(program))
    git(tmp_path, "config", "log.showSignature", "true")
    commit = checked("commit", git(tmp_path, "rev-parse", "phone"))
    assert not ran.exists()
    for link in (BRANCH, commit):
        assert links.facts(tmp_path, link)
        assert links.link_text(tmp_path, link)
    assert not ran.exists()


def test_what_git_prints_without_end_is_cut(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_tasks.runner.git.MAX_BYTES", 40)
    assert len(read(repository, "log", "phone")) == 40


def test_no_thread_is_left_of_what_git_was_asked(repository: Path) -> None:
    before = threading.enumerate()
    for _ in range(5):
        read(repository, "log", "-1")
        assert threading.enumerate() == before


async def test_the_detail_shows_links_with_what_git_knows(app, agent, plan, repository, monkeypatch):
    monkeypatch.chdir(repository)
    agent(EditTask(plan[1], {"links": (BRANCH, checked("branch", "other"), PULL_REQUEST)}))
    async with opened(app) as pilot:
        await press(app, pilot, "enter")
        await until(pilot, lambda: "pull request https://example.org/pull/7" in shown(app))
        await until(pilot, lambda: "branch phone  1 commit since main" in shown(app))
        await until(pilot, lambda: "branch other  not in web" in shown(app))


async def test_the_branch_of_a_work_is_read_again_with_its_counts_and_says_where_it_was_merged(
    app, plan, repository, tmp_path
):
    start = StartWork(plan[1], "robot", str(repository), str(tmp_path / "gone"), branch="one", base="main")
    git(repository, "branch", "-f", "one", "main")
    with Store(plan.path) as store:
        store.commit(EditTask(plan[1], {"status": "pending"}), actor="human", now=NOW)
        (work,) = store.commit(start, actor="human", now=NOW)
    async with opened(app) as pilot:
        await press(app, pilot, "enter")
        await until(pilot, lambda: "branch one  at " in shown(app))
        git(repository, "branch", "-f", "one", "phone")
        with Store(plan.path) as store:
            store.commit(RunWork(work.uid), CountWork(work.uid, {"ahead": 1}), actor="system", now=NOW)
        await until(pilot, lambda: "branch one  1 commit since main" in shown(app))
        with Store(plan.path) as store:
            merge = MergeWork(work.uid, "1ef7c66261aa", None, {"step": "clean"})
            store.commit(BeginMerge(work.uid, {}), merge, actor="human", now=NOW)
        await until(pilot, lambda: "branch one  merged into main" in shown(app))
        git(repository, "branch", "-D", "one")
        with Store(plan.path) as store:
            store.commit(SetWork(work.uid, {"intent": None}), actor="system", now=NOW)
        await until(pilot, lambda: "branch one  merged into main and removed" in shown(app))


async def test_a_branch_is_opened_as_its_log_and_y_copies_the_switch(app, agent, plan, repository, monkeypatch):
    monkeypatch.chdir(repository)
    agent(EditTask(plan[1], {"links": (BRANCH,)}))
    async with opened(app) as pilot:
        await press(app, pilot, *named("links"))
        await until(pilot, lambda: "Ring" in shown(app) and f"branch phone   {repository}" in shown(app))
        assert "\x1b" not in shown(app)
        await press(app, pilot, "Y")
        assert app.clipboard == "git switch phone"
        await press(app, pilot, "escape")
        assert app.focused is app.pane.row_list


async def test_lines_of_a_diff_that_begin_as_its_headers_do_are_drawn_as_lines(app, tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.txt").write_text("-- old\nsame\n")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-qm", "First")
    (tmp_path / "a.txt").write_text("++ new\nsame\n")
    (tmp_path / "b.txt").write_text("diff --git a/x b/x\n")
    git(tmp_path, "add", "a.txt", "b.txt")
    git(tmp_path, "commit", "-qm", "Second")
    text = links.link_text(tmp_path, checked("commit", git(tmp_path, "rev-parse", "main")))
    async with opened(app):
        rows = LinkLog(app.context, text).lines(60, 40)
    marks = {"".join(part for part, _ in row[2:]).strip(): row[1] for row in rows if len(row) > 2}
    assert marks["++ new"] == ("+ ", "$state-done @state-done")
    assert marks["-- old"] == ("- ", "$state-failed @state-failed")
    assert marks["diff --git a/x b/x"] == ("+ ", "$state-done @state-done")
    assert [row[0][0] for row in rows if row[0][0].startswith(" diff")] == [
        " diff --git a/a.txt b/a.txt",
        " diff --git a/b.txt b/b.txt",
    ]


@pytest.mark.parametrize("has_window", [True, False])
async def test_an_address_is_opened_only_after_it_was_shown(app, agent, plan, monkeypatch, has_window):
    visited: list[str] = []

    class Browser(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
            visited.append(url)
            return True

    monkeypatch.setattr(webbrowser, "get", lambda: Browser("x") if has_window else webbrowser.GenericBrowser("lynx"))
    agent(EditTask(plan[1], {"links": (PULL_REQUEST, BRANCH)}))
    async with opened(app) as pilot:
        await press(app, pilot, *named("links"))
        await pilot.press("enter")
        await until(pilot, lambda: "open in the browser" in shown(app))
        assert visited == []
        *_, asked, _ = shown(app).partition("open in the browser")[0].splitlines()
        assert asked.strip() == "https://example.org/pull/7"
        await press(app, pilot, "o")
        assert visited == (["https://example.org/pull/7"] if has_window else [])
        assert has_window or app.clipboard == "https://example.org/pull/7"


@pytest.mark.parametrize(
    ("target", "why"), [("../a.py", "It is not in"), ("b.py", "There is no such file"), ("/etc/passwd", "It is not in")]
)
async def test_a_file_elsewhere_is_not_opened(app, agent, plan, repository, monkeypatch, target, why):
    monkeypatch.chdir(repository)
    agent(EditTask(plan[1], {"links": (checked("file", target),)}))
    async with opened(app) as pilot:
        await pilot.press(*named("links"))
        await until(pilot, lambda: "copy the path" in shown(app))
        await pilot.press("e")
        assert why in said(app)
        await pilot.press("escape")


async def test_a_file_is_opened_in_the_editor(app, agent, plan, repository, monkeypatch):
    monkeypatch.chdir(repository)
    asked: list[list[str]] = []
    monkeypatch.setattr("tui_tasks.tui.inputs.editor._run", lambda _context, argv: asked.append(argv))
    agent(EditTask(plan[1], {"links": (checked("file", "a.py"),)}))
    async with opened(app) as pilot:
        await pilot.press(*named("links"))
        await until(pilot, lambda: "open in $EDITOR" in shown(app))
        await press(app, pilot, "e")
        assert asked[0][-1] == str(repository / "a.py")


async def test_without_links_the_key_says_so(app):
    async with opened(app) as pilot:
        await press(app, pilot, *named("links"))
        assert "This task has no links." in said(app)
