"""Checks with real supervisors and real files (docs: protocol, section 11)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Talk
from tests.runner.hosting import PATIENCE, hosted, runners, until
from tests.talking import add, task
from tui_tasks import clock
from tui_tasks.core.read import checks as read_checks
from tui_tasks.core.store import Store
from tui_tasks.runner.checks import git_state
from tui_tasks.runner.checks.check_keeper import CheckKeeper
from tui_tasks.settings.current import CheckSettings


class Tree:
    """A folder with sources, a configuration file that names checks of it, and what is hosted by that."""

    def __init__(self, folder: Path, path: Path) -> None:
        self.folder, self.path = folder, path
        (folder / "src").mkdir(parents=True)
        self.source = folder / "src" / "code.txt"
        self.source.write_text("right")
        self.config = folder / "config.toml"

    def configure(self, text: str) -> None:
        """Write the configuration; `CWD` in it is the folder."""
        other = self.config.with_suffix(".new")
        other.write_text(text.replace("CWD", str(self.folder)))
        other.chmod(0o600)
        other.replace(self.config)

    def keeper(self) -> CheckKeeper:
        return CheckKeeper(CheckSettings(lambda: self.config))

    @contextlib.contextmanager
    def hosted(self) -> Iterator[None]:
        with hosted(str(self.path), runners(), checks=self.keeper(), lease=1.0):
            yield


GREP = """
[check.right]
command = ["sh", "-c", "cat src/code.txt; grep -q right src/code.txt"]
cwd = "CWD"
inputs = ["src/**"]
lists = ["tasklist"]
"""


@pytest.fixture
def tree(tmp_path: Path, path: Path) -> Tree:
    made = Tree(tmp_path / "tree", path)
    made.configure(GREP)
    return made


@pytest.fixture
def talk(store: Store, tree: Tree) -> Talk:
    made = Talk(store, clock.now)
    made.session.checks = tree.keeper()
    return made


def becomes(talk: Talk, uid: str, verified: str) -> dict:
    until(lambda: task(talk, uid)["verified"] == verified, f"{verified}, it is {task(talk, uid)}", PATIENCE)
    return task(talk, uid)["checks"][0]


def test_what_is_reported_done_is_checked_and_an_edit_after_the_pass_is_seen_by_the_next_request(talk, tree):
    with tree.hosted():
        uid = add(talk)
        assert task(talk, uid)["verified"] == "unproven"
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "passed")
        assert (check["exit_code"], check["output"], check["commit"]) == (0, "right", None)
        tree.source.write_text("right, but another")
        assert task(talk, uid)["verified"] == "stale"
        tree.source.write_text("wrong")
        talk.ok("control:request_check", uid=uid)
        check = becomes(talk, uid, "failed")
        assert (check["exit_code"], check["output"]) == (1, "wrong")
        tree.source.write_text("right")
        talk.ok("control:request_check", uid=uid)
        becomes(talk, uid, "passed")


def test_an_edit_is_noticed_by_the_scheduler_though_nobody_asks(talk, tree, other):
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        becomes(talk, uid, "passed")
        for change in (lambda: tree.source.write_text("x"), lambda: (tree.folder / "src" / "new").mkdir()):
            if task(other, uid)["verified"] == "passed":
                change()
        # It has no eyes of its own.
        until(lambda: task(other, uid)["verified"] == "stale", "stale")


def test_checks_that_wait_are_run_when_a_scheduler_starts(talk, tree):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    assert task(talk, uid)["verified"] == "unproven"
    with tree.hosted():
        becomes(talk, uid, "passed")


def test_what_the_check_itself_changes_of_its_inputs_makes_it_stale(talk, tree):
    tree.configure(GREP.replace("cat src/code.txt;", "echo >> src/made.txt;"))
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        becomes(talk, uid, "stale")


def test_inputs_that_are_right_only_while_the_check_runs_prove_nothing(talk, tree):
    tree.source.write_text("wrong")
    swap = "cp src/code.txt was; echo right > src/code.txt; grep right src/code.txt; code=$?; cp was src/code.txt"
    tree.configure(GREP.replace("cat src/code.txt; grep -q right src/code.txt", f"{swap}; exit $code"))
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "stale")
    assert tree.source.read_text() == "wrong"
    assert (check["exit_code"], check["output"]) == (0, "right\n[changed while it ran: src/code.txt]")


def test_of_two_checks_with_the_same_command_an_edit_makes_both_stale(talk, tree):
    tree.configure(GREP + GREP.replace("check.right", "check.again"))
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        becomes(talk, uid, "passed")
        tree.source.write_text("right, but another")
        assert [check["state"] for check in task(talk, uid)["checks"]] == ["stale", "stale"]


@pytest.mark.parametrize(
    ("command", "told", "code"),
    [
        ('["no-such-program"]', "[cannot start no-such-program: No such file or directory]", None),
        ('["sh", "-c", "echo out; echo err >&2; exit 3"]', "out\nerr\n", 3),
        ('["sh", "-c", "echo before; exec sleep 1000"]', "before\n[timed out after 1 s]", 143),
        ('["sh", "-c", "kill -9 $$"]', "", 137),
    ],
)
def test_a_check_that_fails_says_what_it_said_and_why(talk, tree, command, told, code):
    tree.configure(f'[check.right]\ncommand = {command}\ncwd = "CWD"\ntimeout = 1\nlists = ["tasklist"]\n')
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "failed")
    assert (sorted(check["output"].split("\n")), check["exit_code"]) == (sorted(told.split("\n")), code)


def test_of_a_long_output_the_last_4000_characters_are_told_and_all_of_it_is_kept(talk, tree, store):
    script = "import sys; sys.stdout.write('é' * 9000 + 'end')"
    tree.configure(f'[check.right]\ncommand = ["{sys.executable}", "-c", "{script}"]\nlists = ["tasklist"]\n')
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "passed")
    assert check["output"] == "é" * 3997 + "end"
    from tui_tasks.core.schedule import run_logs

    assert run_logs.read(store.db, check["run_id"]).text == "é" * 9000 + "end"


def test_a_check_sees_no_more_of_the_environment_than_a_run_does_and_starts_no_jobs(talk, tree, monkeypatch):
    monkeypatch.setenv("SECRET", "s")
    tree.configure('[check.right]\ncommand = ["env"]\nlists = ["tasklist"]\n')
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "passed")
    told = dict(line.split("=", 1) for line in check["output"].splitlines())
    assert "SECRET" not in told
    assert told["TUI_TASKS_RUN_ID"] == check["run_id"]
    assert "TUI_TASKS_RUN_TOKEN" in told
    assert "TUI_TASKS_DB" not in told


def test_the_commit_and_a_hash_of_what_was_changed_since_are_told(talk, tree):
    git = ["git", "-C", str(tree.folder), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "src"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    clean = git_state.look(tree.folder, os.environ)
    assert clean.commit == head
    with tree.hosted():
        uid = add(talk)
        tree.source.write_text("right again")
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "passed")
    assert check["commit"] == head
    assert len(check["diff"]) == 64
    assert check["diff"] != clean.diff


def test_a_work_trees_own_configuration_runs_nothing_when_git_is_asked(tree, tmp_path):
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o700)
    git = ["git", "-C", str(tree.folder), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "src"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    for key in ("core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command", "filter.x.clean"):
        subprocess.run([*git, "config", key, str(script)], check=True)
    subprocess.run([*git, "config", "filter.x=y.process", str(script)], check=True)
    (tree.folder / ".gitattributes").write_text("* diff=x\n* filter=x\nsrc/* filter=x=y\n")
    tree.source.write_text("changed")
    assert git_state.look(tree.folder, os.environ).diff
    assert not ran.exists()


def test_an_edit_of_the_configuration_holds_at_once(talk, tree):
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        becomes(talk, uid, "passed")
        tree.configure(GREP.replace("cat", "head"))
        assert task(talk, uid)["verified"] == "stale"
        tree.configure("[check")
        assert task(talk, uid)["verified"] == "stale"
        tree.configure('[check.right]\ncommand = "wrong"\n')
        assert task(talk, uid)["verified"] == "stale"
        tree.configure("")
        assert task(talk, uid)["verified"] is None


def test_a_supervisor_that_is_killed_proves_nothing_and_the_next_try_does(talk, tree, store):
    tree.configure(GREP.replace("cat src/code.txt;", "test -e slow && exec sleep 1000;"))
    (tree.folder / "slow").touch()
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        run_uid = task(talk, uid)["checks"][0]["run_id"]

        def begun():
            from tui_tasks.core.schedule import heartbeats

            heartbeat = heartbeats.find(store.db, run_uid)
            return heartbeat if heartbeat is not None and heartbeat.supervised else None

        os.kill(until(begun, "its supervisor").pid, 9)
        until(lambda: read_checks.run(store.db, run_uid).state == "interrupted", "its end")
        assert task(talk, uid)["verified"] == "unproven"
        (tree.folder / "slow").unlink()
        talk.ok("control:request_check", uid=uid)
        becomes(talk, uid, "passed")
