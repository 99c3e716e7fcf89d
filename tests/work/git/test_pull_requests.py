"""A pull request is opened by `gh`, from a repository that has no settings of the human's checkout."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.work.conftest import git
from tests.work.test_starting import COMMITS, ROBOT, worktree
from tui_tasks.core.errors import Conflict
from tui_tasks.core.read import work_queries
from tui_tasks.runner import git as git_process
from tui_tasks.work.git import pull_requests
from tui_tasks.work.git.pull_requests import Forge

ADDRESS = "https://github.com/ada/api/pull/7"


@pytest.fixture
def gh(tmp_path, monkeypatch) -> Path:
    """A program `gh` that writes its words down; what it prints is `ADDRESS`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "gh"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words; cat > {tmp_path}/body; echo {ADDRESS}\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return program


@pytest.fixture
def remote(tmp_path, repo, monkeypatch) -> Path:
    """A repository that stands for the one on the forge."""
    folder = tmp_path / "remote.git"
    folder.mkdir()
    git(folder, "init", "-q", "--bare")
    git(repo, "remote", "add", "origin", "git@github.com:ada/api.git")
    push = git_process.push

    def to_folder(objects, url, commit, branch, *, helper):
        assert url == "https://github.com/ada/api.git"
        push(objects, str(folder), commit, branch, helper=helper, protocols="file")

    monkeypatch.setattr(git_process, "push", to_folder)
    return folder


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://github.com/ada/api", Forge("github.com", "ada", "api")),
        ("https://token@github.com/ada/api.git", Forge("github.com", "ada", "api")),
        ("git@git.example.org:ada/a.b.git", Forge("git.example.org", "ada", "a.b")),
        ("ssh://git@github.com/ada/api.git", Forge("github.com", "ada", "api")),
    ],
)
def test_the_address_of_a_remote_is_read(repo, url, found):
    git(repo, "remote", "add", "origin", url)
    assert pull_requests.forge(repo) == found


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c date",
        "/tmp/x.git",
        "file:///tmp/x",
        "https://h/a/b/c",
        "git@h:a b/c",
        "https://g\u0456thub.com/a/b",
        f"https://h/{'a' * 101}/b",
    ],
)
def test_a_remote_that_is_on_no_forge_is_refused(repo, url):
    git(repo, "config", "remote.origin.url", url)
    with pytest.raises(Conflict, match="push the branch by hand"):
        pull_requests.forge(repo)


@pytest.fixture
def work(configure, starter, task):
    """What an agent has committed on its branch."""
    configure(COMMITS)
    return starter.start(task, ROBOT).work


def open_pull_request(acceptance, work) -> None:
    """Open the pull request of the work as it is now."""
    review = acceptance.review(work)
    acceptance.open_pull_request(work, review, acceptance.planned_push(work, review))


def test_a_pull_request_is_opened_with_the_reviewed_commit(store, tmp_path, work, acceptance, gh, remote):
    review = acceptance.review(work)
    push = acceptance.planned_push(work, review)
    assert acceptance.open_pull_request(work, review, push, body="Please look.").pull_request == ADDRESS
    assert git(remote, "rev-parse", "task/1-rotate-api-keys") == review.head
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:4] == ["pr", "create", "--repo", "github.com/ada/api"]
    assert words[4:10] == ["--head", "task/1-rotate-api-keys", "--base", "main", "--title", "Rotate API keys!"]
    assert (tmp_path / "body").read_text() == "Please look."
    assert work_queries.find(store.db, work.uid).state == "ready"


def test_a_remote_that_an_agent_changes_once_it_was_shown_is_not_pushed_to(
    tmp_path, repo, work, acceptance, gh, remote
):
    review = acceptance.review(work)
    push = acceptance.planned_push(work, review)
    assert push.text == (
        f"Push {review.head[:10]} as task/1-rotate-api-keys to https://github.com/ada/api.git"
        " and open a pull request by gh?"
    )
    git(worktree_of(work), "config", "remote.origin.url", "https://evil.example/ada/api.git")
    acceptance.open_pull_request(work, review, push)
    assert git(remote, "rev-parse", "task/1-rotate-api-keys") == review.head
    assert (tmp_path / "words").read_text().splitlines()[3] == "github.com/ada/api"


def test_the_branch_that_the_worktree_is_on_is_shown_and_pushed(work, acceptance, gh, remote):
    git(worktree_of(work), "checkout", "-q", "-b", "release\u200b")
    assert " as release<U+200B> to https://" in acceptance.planned_push(work, acceptance.review(work)).text


def test_hooks_of_the_repository_do_not_run_when_it_is_pushed(tmp_path, repo, work, acceptance, gh, remote):
    hook = repo / ".git" / "hooks" / "pre-push"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o700)
    git(worktree_of(work), "config", "core.sshCommand", f"touch {tmp_path}/ran")
    open_pull_request(acceptance, work)
    assert not (tmp_path / "ran").exists()


def worktree_of(work) -> Path:
    return Path(work.worktree)


def test_a_refusal_of_gh_after_the_push_says_that_the_branch_is_pushed(repo, work, acceptance, gh, remote):
    gh.write_text('#!/bin/sh\n[ "$1" = auth ] || { echo "error connecting to api.github.com" >&2; exit 1; }\n')
    with pytest.raises(
        Conflict, match=r"^gh: error connecting to api\.github\.com; branch task/1-rotate-api-keys is pushed$"
    ):
        open_pull_request(acceptance, work)


def test_a_push_that_the_forge_refuses_says_what_to_do_before_the_words_of_git(
    store, repo, work, acceptance, gh, remote
):
    shutil.rmtree(remote)
    expected = r"^nothing is pushed: check that you may write to github\.com/ada/api \(fatal: [^\n]*\)$"
    with pytest.raises(Conflict, match=expected):
        open_pull_request(acceptance, work)
    assert work_queries.find(store.db, work.uid).state == "ready" and worktree(store).is_dir()


@pytest.mark.parametrize("missing", ["gh", "login", "remote"])
def test_what_is_missing_is_said_in_one_line(store, tmp_path, repo, work, acceptance, gh, monkeypatch, missing):
    expected = r"^no remote origin: `git remote add origin URL`, or merge the work here$"
    if missing == "gh":
        monkeypatch.setattr(pull_requests, "GH", "gh-that-is-not-installed")
        expected = "gh-that-is-not-installed is not installed: install it from"
        git(repo, "remote", "add", "origin", "git@github.com:ada/api.git")
    elif missing == "login":
        gh.write_text("#!/bin/sh\nexit 1\n")
        git(repo, "remote", "add", "origin", "git@github.com:ada/api.git")
        expected = "gh is not logged in to github.com: `gh auth login --hostname github.com`; nothing is pushed"
    with pytest.raises(Conflict, match=expected) as refused:
        open_pull_request(acceptance, work)
    assert "\n" not in refused.value.message
    assert work_queries.find(store.db, work.uid).pull_request is None and worktree(store).is_dir()
