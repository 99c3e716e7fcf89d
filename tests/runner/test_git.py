"""git in a repository that somebody else has prepared: whatever its settings name, nothing is run."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import tui_tasks
from tests.started import DEADLINE
from tests.work.repositories import Place, accepted, copy, make, reviewed, round_of
from tests.work.repositories import commit as commit_files
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import Conflict
from tui_tasks.core.schema.task_links import Link
from tui_tasks.runner import git, git_isolation, git_trees
from tui_tasks.runner.git_isolation import WorkTree
from tui_tasks.tui.tasks import links
from tui_tasks.work import agent_worktrees, work_outcomes
from tui_tasks.work.git import base_branch, merging, pull_requests, removed_worktrees, reviewing

PROGRAM = "{program}"
# Settings that name a program, and one that makes git use it where that takes a second one.
SETTINGS: dict[str, dict[str, str]] = {
    "fsmonitor": {"core.fsmonitor": PROGRAM},
    "hooks": {"core.hooksPath": "{hooks}"},
    "external diff": {"diff.external": PROGRAM},
    "diff driver": {"diff.x.command": PROGRAM},
    "text conversion": {"diff.x.textconv": PROGRAM, "diff.x.cachetextconv": "false"},
    "clean filter": {"filter.x.clean": PROGRAM, "filter.x.required": "true"},
    "smudge filter": {"filter.x.smudge": PROGRAM},
    "process filter": {"filter.x.process": PROGRAM},
    "filter with a dot": {"filter.x.y.clean": PROGRAM},
    "pager": {"core.pager": PROGRAM, "pager.log": PROGRAM, "pager.show": PROGRAM, "pager.diff": PROGRAM},
    "paginate": {"pager.rev-parse": PROGRAM, "pager.config": PROGRAM},
    "signatures": {"gpg.program": PROGRAM, "log.showSignature": "true"},
    "signature in a format": {"gpg.program": PROGRAM, "format.pretty": "%GG %G?"},
    "signature in a named format": {"gpg.program": PROGRAM, "pretty.medium": "%GG", "format.pretty": "medium"},
    "openpgp": {"gpg.format": "openpgp", "gpg.openpgp.program": PROGRAM, "format.pretty": "%GG"},
    "x509": {"gpg.format": "x509", "gpg.x509.program": PROGRAM, "format.pretty": "%GG"},
    "ssh signatures": {"gpg.format": "ssh", "gpg.ssh.program": PROGRAM, "format.pretty": "%GG"},
    "default key": {"gpg.format": "ssh", "gpg.ssh.defaultKeyCommand": PROGRAM, "format.pretty": "%GK"},
    "ssh": {"core.sshCommand": PROGRAM},
    "proxy": {"core.gitProxy": PROGRAM},
    "credentials": {"credential.helper": f"!{PROGRAM}"},
    "askpass": {"core.askPass": PROGRAM},
    "editor": {"core.editor": PROGRAM, "sequence.editor": PROGRAM},
    "alternates": {"core.alternateRefsCommand": PROGRAM},
    "aliases": {"alias.log": f"!{PROGRAM}", "alias.diff": f"!{PROGRAM}", "alias.rev-parse": f"!{PROGRAM}"},
    "merge driver": {"merge.x.driver": PROGRAM},
    "trailers": {"trailer.x.command": PROGRAM, "trailer.x.cmd": PROGRAM},
    "submodules": {"diff.submodule": "log", "submodule.recurse": "true", "status.submoduleSummary": "true"},
    "attributes elsewhere": {"core.attributesFile": "{attributes}", "filter.far.clean": PROGRAM},
    "settings elsewhere": {"include.path": "{included}"},
    "upload pack": {"remote.origin.uploadpack": PROGRAM, "protocol.file.allow": "always"},
    "a transport of its own": {"remote.origin.url": f"ext::{PROGRAM}", "protocol.ext.allow": "always"},
    "a transport helper": {"remote.origin.vcs": "ext", "remote.origin.url": PROGRAM, "protocol.ext.allow": "always"},
    "another promisor": {
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": ".",
        "remote.evil.uploadpack": PROGRAM,
        "protocol.file.allow": "always",
    },
    "receive pack": {"remote.origin.receivepack": PROGRAM},
    "pack objects": {"uploadpack.packObjectsHook": PROGRAM, "protocol.file.allow": "always"},
    "bundles": {"fetch.bundleURI": f"ext::{PROGRAM}", "protocol.ext.allow": "always"},
    "credentials of an address": {"credential.https://example.org.helper": PROGRAM},
    "ssh variant": {"ssh.variant": "simple", "core.sshCommand": PROGRAM, "remote.origin.url": "ssh://localhost/x"},
    "filter in capitals": {"filter.X.clean": PROGRAM, "filter.x.clean": PROGRAM, "filter.x.smudge": PROGRAM},
    "all filters at once": {f"filter.x.{way}": PROGRAM for way in ("clean", "smudge", "process")},
    "cached text conversion": {"diff.x.textconv": PROGRAM, "diff.x.cachetextconv": "true", "diff.x.binary": "true"},
    "function names": {"diff.x.command": PROGRAM, "diff.x.xfuncname": "^(.*)$", "diff.x.wordRegex": "."},
    "diff tool": {"diff.tool": "x", "difftool.x.cmd": PROGRAM, "diff.guitool": "x", "difftool.prompt": "false"},
    "merge tool": {"merge.tool": "x", "mergetool.x.cmd": PROGRAM, "merge.guitool": "x", "guitool.x.cmd": PROGRAM},
    "monitor of the second version": {
        "core.fsmonitor": PROGRAM,
        "core.fsmonitorHookVersion": "2",
        "core.untrackedCache": "true",
    },
    "interactive filter": {"interactive.diffFilter": PROGRAM, "color.ui": "always"},
    "browser": {"help.browser": "x", "browser.x.cmd": PROGRAM, "web.browser": "x", "man.x.cmd": PROGRAM},
    "mail": {"sendemail.smtpServer": PROGRAM, "imap.tunnel": PROGRAM, "sendemail.toCmd": PROGRAM},
    "settings of a worktree": {"extensions.worktreeConfig": "true", "core.repositoryFormatVersion": "1"},
    "settings by branch": {"includeIf.onbranch:**.path": "{included}"},
    "submodule commands": {
        "submodule.x.update": f"!{PROGRAM}",
        "submodule.x.url": f"ext::{PROGRAM}",
        "submodule.x.active": "true",
        "fetch.recurseSubmodules": "true",
    },
    "commits to sign": {"commit.gpgSign": "true", "tag.gpgSign": "true", "gpg.program": PROGRAM},
    "verified merges": {"merge.verifySignatures": "true", "gpg.program": PROGRAM},
    "housekeeping": {"gc.auto": "1", "gc.recentObjectsHook": PROGRAM, "maintenance.auto": "true"},
    "rebase": {"sequence.editor": PROGRAM, "rebase.instructionFormat": "%GG", "gpg.program": PROGRAM},
}


def run(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def first_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a signed-looking commit, a branch, changed files and an object that only a remote has."""
    folder = tmp_path_factory.mktemp("first")
    made = folder / "made"
    made.mkdir()
    run(made, "init", "-q", "-b", "main")
    run(made, "config", "uploadpack.allowFilter", "true")
    (made / "a").write_text("one\n")
    (made / "gone").write_text("only the remote has it\n")
    run(made, "add", "a", "gone")
    run(made, "commit", "-qm", "First")
    run(made, "switch", "-qc", "work")
    (made / "a").write_text("two\n")
    (made / "gone").write_text("that too\n")
    run(made, "commit", "-qam", "Second")
    text = run(made, "cat-file", "commit", "HEAD")
    head, _, message = text.partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abcd\n -----END PGP SIGNATURE-----"
    signed = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        input=f"{head}\n{signature}\n\n{message}",
        cwd=made,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    run(made, "update-ref", "refs/heads/work", signed)
    clone = folder / "clone"
    run(folder, "clone", "-q", "--no-local", "--filter=blob:none", "--no-checkout", f"file://{made}", str(clone))
    run(clone, "branch", "main", "origin/main")
    run(clone, "reset", "-q", "work")
    (clone / "a").write_text("three\n")
    return clone


@pytest.fixture
def repository(first_repository: Path, tmp_path: Path) -> Path:
    """A copy of the repository; its remote stays where it is."""
    return Path(shutil.copytree(first_repository, tmp_path / "clone", symlinks=True))


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Exists once a program of the repository has run."""
    return tmp_path / "ran"


def prepare(repository: Path, ran: Path, settings: dict[str, str]) -> None:
    program = ran.with_name("program")
    program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    program.chmod(0o755)
    hooks, attributes, included = (ran.with_name(name) for name in ("hooks", "attributes", "included"))
    hooks.mkdir()
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(program, hooks / hook)
        shutil.copy(program, repository / ".git" / "hooks" / hook)
    attributes.write_text("* filter=far\n")
    included.write_text(f'[diff]\n\texternal = {program}\n[filter "x"]\n\tclean = {program}\n')
    lines = (
        "* diff=x filter=x merge=x\na filter=x.y\na diff=x\n"
        if "filter.x.y.clean" in settings
        else "* diff=x filter=x\n"
    )
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "attributes").write_text(lines)
    (repository / ".gitattributes").write_text(lines)
    places = {"program": program, "hooks": hooks, "attributes": attributes, "included": included}
    for name, value in settings.items():
        run(repository, "config", name, value.format(**places))
    (repository / ".git" / "config.worktree").write_text(included.read_text())
    ran.unlink(missing_ok=True)


def commit(repository: Path) -> Link:
    return {"kind": "commit", "target": run(repository, "rev-parse", "work").strip()}


def counted(folder: Path) -> object:
    names = ("id", "uid", "task_uid", "agent", "program", "repository", "makes_worktree", "branch", "base_commit")
    others = dict.fromkeys((*names, "terminal", "state", "message", "summary", "pull_request", "started_at"))
    return work_outcomes.count(Work(worktree=str(folder), base="main", **cast("dict[str, Any]", others)))


CALLERS: dict[str, Callable[[Path], object]] = {
    "the state of a check's folder": lambda folder: git_trees.look(folder),
    "the repository of a folder": agent_worktrees.find_repository,
    "the counts of a work": counted,
    "the tree of a worktree": git_trees.tree_of,
    "the index": lambda folder: opened(
        folder, lambda there: there.run("update-index", "-q", "--refresh", statuses=(0, 1))
    ),
    "the address of a pull request": pull_requests.forge,
    "the facts of a branch": lambda folder: links.facts(folder, {"kind": "branch", "target": "work"}),
    "the log of a branch": lambda folder: links.link_text(folder, {"kind": "branch", "target": "work"}),
    "the facts of a commit": lambda folder: links.facts(folder, commit(folder)),
    "the diff of a commit": lambda folder: links.link_text(folder, commit(folder)),
    "the files of a tree": lambda folder: git_trees.blobs(folder, git_trees.tree_of(folder)),
    "the programs that are named": lambda folder: opened(folder, WorkTree.programs_named),
    "a review": lambda folder: reviewed(folder, "work"),
    "the diffs of a review": lambda folder: [
        reviewing.file_diff(folder, "HEAD", git_trees.tree_of(folder), change)
        for change in reviewing.changes(folder, "HEAD", git_trees.tree_of(folder))
    ],
    "what may be committed": lambda folder: opened(
        folder, lambda there: base_branch.check_clean(there, "work", "HEAD", "HEAD")
    ),
    "who commits": lambda folder: merging.identity(git.settings(folder)),
    "a merge that was cut off": lambda folder: cut_off(folder, undo=False),
    "an undo that was cut off": lambda folder: cut_off(folder, undo=True),
    "the merge of a synchronized file": lambda folder: merged_lines(folder),
}


def opened(folder: Path, act: Callable[[WorkTree], object]) -> object:
    """Do something in the work tree of a folder."""
    with git_isolation.opened(folder) as work_tree:
        return act(work_tree)


def cut_off(folder: Path, *, undo: bool) -> None:
    """Carry on where a merge of the last commit has written some files."""
    old, new = (run(folder, "rev-parse", at).strip() for at in ("HEAD", "HEAD"))
    merge = merging.Merge("ff", "work", old, new, new, str(folder))
    removed_worktrees.clear_leftovers(folder, merge, undo=undo, lock_seconds=0)


def merged_lines(folder: Path) -> object:
    """Merge a file of the repository, as git's merge driver does: its working directory is the repository."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        return git.merge_lines(folder / "a", folder / "a", folder / "a", "7")
    finally:
        os.chdir(before)


def beside_each_other() -> Iterator[dict[str, str]]:
    """All settings, in groups: each starts git some 300 times. Those of a group that are about one thing are equal."""
    rest = list(SETTINGS.values())
    while rest:
        group: dict[str, str] = {}
        subjects: dict[str, dict[str, str]] = {}
        for settings in tuple(rest):
            about: dict[str, dict[str, str]] = {}
            for name, value in settings.items():
                subject = name if name.startswith("core.") else name.rpartition(".")[0]
                about.setdefault(subject, {})[name] = value
            if all(subjects.get(subject, said) == said for subject, said in about.items()):
                subjects |= about
                group |= settings
                rest.remove(settings)
        yield group


@pytest.mark.parametrize("settings", beside_each_other())
def test_nothing_that_a_repository_names_is_run_by_any_caller(
    repository: Path, ran: Path, settings: dict[str, str]
) -> None:
    prepare(repository, ran, settings)
    for name, caller in CALLERS.items():
        with contextlib.suppress(git.GitFailed, Conflict):  # an object that only a remote has is not fetched
            caller(repository)
        assert not ran.exists(), name


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A checkout and an agent's worktree, with every object."""
    place = make(tmp_path_factory.mktemp("made"))
    commit_files(place.tree, "Attributes", _gitattributes="* diff=x filter=x merge=x\n")
    commit_files(place.root, "Elsewhere", b_txt="b2\n")
    return place


@pytest.mark.parametrize("settings", beside_each_other())
def test_nothing_that_a_repository_names_is_run_by_work_from_its_review_to_its_end(
    made: Place, tmp_path: Path, ran: Path, settings: dict[str, str]
) -> None:
    place = copy(made, tmp_path)
    prepare(place.root, ran, settings)
    (place.root / ".gitattributes").unlink()
    for played in (round_of, accepted):
        played(place, tmp_path)
        assert not ran.exists(), played.__name__


def test_the_settings_are_enough_to_be_a_table() -> None:
    assert len(SETTINGS) >= 48


def serve(fifo: Path, hostile: str, first: int, end: threading.Event) -> None:
    """Give whoever reads a file nothing at first, and hostile settings from the `first` reader on."""
    for at in itertools.count():
        handle = os.open(fifo, os.O_WRONLY)
        if not end.is_set() and at >= first:
            os.write(handle, hostile.encode())
        os.close(handle)
        if end.is_set():
            break
        with contextlib.suppress(OSError):  # until the reader has seen the end of the file
            while not end.is_set():
                os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("name", ["the state of a check's folder", "the counts of a work", "the tree of a worktree"])
def test_settings_that_change_between_two_looks_run_nothing(repository: Path, ran: Path, name: str, first: int) -> None:
    prepare(repository, ran, {})
    program = ran.with_name("program")
    os.mkfifo(fifo := ran.with_name("fifo"))
    run(repository, "config", "include.path", str(fifo))
    hostile = f'[filter "x"]\n\tclean = {program}\n\tsmudge = {program}\n[merge "x"]\n\tdriver = {program}\n'
    end = threading.Event()
    server = threading.Thread(target=serve, args=(fifo, hostile, first, end))
    server.start()
    try:
        with contextlib.suppress(git.GitFailed):
            CALLERS[name](repository)
    finally:
        end.set()
        both = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        server.join()
        os.close(both)
    assert not ran.exists()


AMID = ("clean filter", "smudge filter", "process filter", "merge driver", "fsmonitor", "hooks", "diff driver")
AMID += ("text conversion", "attributes elsewhere", "settings elsewhere", "settings of a worktree", "external diff")
ON_FILES = (
    *(("status",), ("diff", "HEAD"), ("update-index", "-q", "--refresh"), ("ls-files", "--modified", "--others")),
    *(("reset", "--quiet", "--hard"), ("merge-tree", "--write-tree", "main", "work"), ("merge", "--ff-only", "main")),
)


def test_settings_that_an_agent_writes_amid_an_operation_run_nothing(repository: Path, ran: Path) -> None:
    prepare(repository, ran, {})
    (repository / ".gitattributes").unlink()
    (repository / ".git" / "info" / "attributes").unlink()
    with git_isolation.opened(repository) as work_tree:
        shutil.rmtree(ran.with_name("hooks"))
        prepare(repository, ran, {name: value for way in AMID for name, value in SETTINGS[way].items()})
        for words in ON_FILES:
            with contextlib.suppress(git.GitFailed):
                work_tree.run(*words)
            assert not ran.exists(), words
    with pytest.raises(subprocess.CalledProcessError):
        run(repository, "-c", "core.fsmonitor=false", "reset", "--hard")  # the program fails where it runs
    assert ran.exists()


def test_git_works_on_files_by_a_copy_of_the_settings_alone(repository: Path) -> None:
    for words in ON_FILES:
        with pytest.raises(ValueError, match=f"git {words[0]} needs a copy of the settings"):
            git.run(repository, *words)


def test_a_branch_called_head_is_not_taken_for_it(repository: Path) -> None:
    run(repository, "update-ref", "refs/heads/HEAD", "main")
    assert opened(repository, lambda there: (there.branch, there.head)) == (
        "work",
        run(repository, "rev-parse", "refs/heads/work").strip(),
    )


def test_a_submodules_filters_are_not_run(repository: Path, ran: Path) -> None:
    prepare(repository, ran, {})
    inner = repository / "inner"
    inner.mkdir()
    run(inner, "init", "-q")
    (inner / "f").write_text("one\n")
    run(inner, "add", "f")
    run(inner, "commit", "-qm", "Inner")
    run(repository, "-c", "advice.addEmbeddedRepo=false", "-c", "core.attributesFile=/dev/null", "add", "inner")
    (inner / ".git" / "info").mkdir(exist_ok=True)
    (inner / ".git" / "info" / "attributes").write_text("* filter=y\n")
    run(inner, "config", "filter.y.clean", str(ran.with_name("program")))
    (inner / "f").write_text("two\n")
    ran.unlink(missing_ok=True)
    for name, caller in CALLERS.items():
        with contextlib.suppress(git.GitFailed, Conflict):
            caller(repository)
        assert not ran.exists(), name


def test_an_allowed_filter_is_the_humans_own(
    tmp_path: Path, repository: Path, ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[filter "x"]\n\tclean = "sed s/three/human/"\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    prepare(repository, ran, {"filter.x.clean": PROGRAM, "filter.x.process": PROGRAM})
    tree = git_trees.tree_of(repository, filters=("x",))
    assert git.run(repository, "cat-file", "blob", f"{tree}:a").text == "human"
    assert not ran.exists()


def test_the_settings_would_run_programs_by_themselves(repository: Path, ran: Path) -> None:
    """The repository is hostile indeed: plain git runs what its settings name."""
    prepare(repository, ran, SETTINGS["clean filter"])
    subprocess.run(["git", "diff", "HEAD"], cwd=repository, capture_output=True, check=False, timeout=DEADLINE)
    assert ran.exists()
    ran.unlink()
    run(repository, "config", "remote.origin.uploadpack", str(ran.with_name("program")))
    subprocess.run(["git", "show", "work"], cwd=repository, capture_output=True, check=False, timeout=DEADLINE)
    assert ran.exists()
    ran.unlink()
    run(repository, "config", "gpg.program", str(ran.with_name("program")))
    subprocess.run(
        ["git", "log", "-1", "--format=%GG", "work"], cwd=repository, capture_output=True, check=False, timeout=DEADLINE
    )
    assert ran.exists()


def test_no_variable_and_no_setting_of_the_user_reaches_git(
    repository: Path, ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(repository, ran, {})
    program = str(ran.with_name("program"))
    home = ran.with_name("home")
    home.mkdir()
    (home / ".gitconfig").write_text(f'[filter "x"]\n\tclean = {program}\n[diff]\n\texternal = {program}\n')
    monkeypatch.setenv("HOME", str(home))
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_ASKPASS", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, program)
    for caller in CALLERS.values():
        with contextlib.suppress(git.GitFailed, Conflict):
            caller(repository)
    assert not ran.exists()


def test_a_failure_names_the_command_and_the_folder(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for words in (("rev-parse", "--verify", "no such"), ("log", "-1")):
        for function in (git.run, git.read):
            with pytest.raises(git.GitFailed) as failed:
                function(tmp_path, *words)
            assert str(failed.value).endswith(f" (`{shlex.join(['git', *words])}` in {tmp_path})")


def test_git_is_started_in_one_place_alone() -> None:
    root = Path(tui_tasks.__file__).parent
    starts = re.compile(r"""(?:\[|\()\s*["']git["'],""")
    found = [str(path.relative_to(root)) for path in root.rglob("*.py") if starts.search(path.read_text())]
    assert found == ["runner/git.py"]
