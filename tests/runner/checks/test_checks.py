"""Checks with real supervisors and real files (docs: protocol, section 11)."""

from __future__ import annotations

import contextlib
import importlib.util
import mmap
import os
import py_compile
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Talk
from tests.runner.hosting import hosted, runners
from tests.started import until
from tests.talking import add, task
from tui_tasks import clock
from tui_tasks.core.read import check_queries as read_checks
from tui_tasks.core.store import Store
from tui_tasks.runner import git_trees
from tui_tasks.runner.checks.check_keeper import CheckKeeper
from tui_tasks.settings.live_settings import check_profiles


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
        return CheckKeeper(check_profiles(lambda: self.config))

    @contextlib.contextmanager
    def hosted(self, **how: bool) -> Iterator[None]:
        with hosted(str(self.path), runners(), checks=self.keeper(), lease=1.0, **how):
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
    until(lambda: task(talk, uid)["verified"] == verified, f"{verified}, it is {task(talk, uid)}")
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


def test_a_supervisor_that_starts_slower_than_a_lease_still_proves_what_it_was_started_for(
    talk, tree, tmp_path, monkeypatch
):
    """As on a machine under load: until it has begun, nothing but its process tells that it will."""
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\nsleep 2\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        (run_uid,) = [check["run_id"] for check in task(talk, uid)["checks"]]
        until(lambda: read_checks.run(talk.session.store.db, run_uid).state == "running", "its claim")
        add(talk)  # so that the scheduler looks at the run again
        becomes(talk, uid, "passed")


def test_a_supervisor_that_dies_before_it_begins_is_noticed_though_nobody_commits(
    talk, tree, store, tmp_path, monkeypatch
):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with tree.hosted(is_forking=False):
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        (run_uid,) = [check["run_id"] for check in task(talk, uid)["checks"]]
        until(lambda: read_checks.run(store.db, run_uid).state == "interrupted", "its end")
        monkeypatch.undo()
        talk.ok("control:request_check", uid=uid)
        becomes(talk, uid, "passed")


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
        ('["sh", "-c", "kill -9 $$"]', "", 137),
    ],
)
def test_a_check_that_fails_says_what_it_said_and_why(talk, tree, command, told, code, monkeypatch):
    # Without folders that cannot be searched, which would be what is said of a program that is not there.
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    tree.configure(f'[check.right]\ncommand = {command}\ncwd = "CWD"\nlists = ["tasklist"]\n')
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "failed")
    assert (sorted(check["output"].split("\n")), check["exit_code"]) == (sorted(told.split("\n")), code)


def test_a_check_that_takes_too_long_says_what_it_said_until_its_timeout(talk, tree):
    text = '["sh", "-c", "echo before; exec sleep 1000"]'
    # On a busy machine it may not have begun within a second.
    for timeout in (1, 10, 100):
        tree.configure(f'[check.right]\ncommand = {text}\ncwd = "CWD"\ntimeout = {timeout}\nlists = ["tasklist"]\n')
        with tree.hosted():
            uid = add(talk)
            talk.ok("tasklist:set_task_done", uid=uid)
            check = becomes(talk, uid, "failed")
        if check["output"].startswith("before"):
            break
    assert (check["output"], check["exit_code"]) == (f"before\n[timed out after {timeout} s]", 143)


def test_of_a_long_output_the_last_4000_characters_are_told_and_all_of_it_is_kept(talk, tree, store):
    script = "import sys; sys.stdout.write('é' * 9000 + 'end')"
    tree.configure(f'[check.right]\ncommand = ["{sys.executable}", "-c", "{script}"]\nlists = ["tasklist"]\n')
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "passed")
    assert check["output"] == "é" * 3997 + "end"
    from tui_tasks.core.unjournaled.run_output import read_output

    assert read_output(store.db, check["run_id"]).text == "é" * 9000 + "end"


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


@pytest.mark.parametrize(("more", "says"), [("", "check"), ('environment = ["PYTHONNOUSERSITE="]', "forged")])
def test_what_an_agent_puts_into_the_users_site_packages_decides_no_check(
    talk, tree, tmp_path, monkeypatch, more, says
):
    major, minor = sys.version_info[:2]
    site = tmp_path / f"home/.local/lib/python{major}.{minor}/site-packages"
    site.mkdir(parents=True)
    (site / "usercustomize.py").write_text("import os; print('forged', flush=True); os._exit(0)")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    python = os.path.realpath(sys.executable)
    command = f'[check.right]\ncommand = ["{python}", "-c", "print(\'check\')"]\nlists = ["tasklist"]\n'
    tree.configure(command + more)
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        assert becomes(talk, uid, "passed")["output"].strip() == says


@pytest.mark.parametrize("more", ["", "snapshot = true\n"])
def test_python_reads_no_caches_beside_the_checked_files_and_leaves_none(talk, tree, more):
    module = tree.folder / "src" / "mod.py"
    module.write_text("print('forged')")
    forged = Path(importlib.util.cache_from_source(str(module)))
    py_compile.compile(str(module), str(forged), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    module.write_text("import other")
    (tree.folder / "src" / "other.py").write_text("print('as written')")
    python = os.path.realpath(sys.executable)
    program = "import sys; sys.path.insert(0, 'src'); import mod"
    command = f'[check.right]\ncommand = ["{python}", "-c", "{program}"]\nlists = ["tasklist"]\n'
    tree.configure(f'{command}inputs = ["src/**"]\n{more}')
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        assert becomes(talk, uid, "passed")["output"].strip() == "as written"
    assert list(forged.parent.iterdir()) == [forged]


def test_the_environment_of_a_check_is_the_humans_and_another_makes_stale_what_has_passed(talk, tree, monkeypatch):
    monkeypatch.setenv("WANTED", "w")
    config = '[check.right]\ncommand = ["env"]\nlists = ["tasklist"]\nenvironment = ["WANT*", "HOME={home}"]\n'
    tree.configure(config.format(home="/srv/checks"))
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        told = becomes(talk, uid, "passed")["output"].splitlines()
        assert {"WANTED=w", "HOME=/srv/checks", "PYTHONNOUSERSITE=1"} <= set(told)
        tree.configure(config.format(home="/srv/others"))
        assert becomes(talk, uid, "stale")


def test_the_commit_and_a_hash_of_what_was_changed_since_are_told(talk, tree):
    git = ["git", "-C", str(tree.folder), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "src"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    clean = git_trees.look(tree.folder)
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
    assert git_trees.look(tree.folder).diff
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
            from tui_tasks.core.unjournaled import heartbeats

            heartbeat = heartbeats.heartbeat_of(store.db, run_uid)
            return heartbeat if heartbeat is not None and heartbeat.supervised else None

        os.kill(until(begun, "its supervisor").pid, 9)
        until(lambda: read_checks.run(store.db, run_uid).state == "interrupted", "its end")
        assert task(talk, uid)["verified"] == "unproven"
        (tree.folder / "slow").unlink()
        talk.ok("control:request_check", uid=uid)
        becomes(talk, uid, "passed")


@pytest.mark.linux
def test_a_check_that_stops_its_supervisor_fails_at_its_timeout(talk, tree):
    stops = '["sh", "-c", "kill -STOP $PPID; exec sleep 1000"]'
    tree.configure(f'[check.right]\ncommand = {stops}\ncwd = "CWD"\ntimeout = 1\nlists = ["tasklist"]\n')
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        assert becomes(talk, uid, "failed")["output"] == "[timed out after 1 s]"


def test_a_page_that_is_written_through_memory_after_the_pass_does_not_open_a_gate(talk, tree):
    tree.configure(GREP + "gate = true\n")
    with tree.hosted(), tree.source.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        uid = add(talk)
        memory[:1] = memory[:1]  # now the page is dirty, and later writes to it leave no trace in the stats
        talk.ok("control:request_check", uid=uid)
        becomes(talk, uid, "passed")
        memory[:] = b"wrong"
        refused = talk.refused("tasklist:set_task_done", uid=uid)
        assert (refused["code"], task(talk, uid)["status"]) == ("conflict", "pending")
        becomes(talk, uid, "failed")
        memory[:] = b"right"
        talk.refused("tasklist:set_task_done", uid=uid)
        becomes(talk, uid, "passed")
        talk.ok("tasklist:set_task_done", uid=uid)


@pytest.mark.linux
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (os.mkfifo, "input src/new: it is a FIFO or a device, not a regular file"),
        (
            lambda file: (file.touch(), os.truncate(file, 15 << 40)),
            "input src/new: it holds over 1,073,741,824 bytes",
        ),
        (
            lambda file: file.symlink_to("/proc/self/status"),
            "input src/new: it is on another file system than the check's folder",
        ),
    ],
)
def test_a_check_with_an_input_that_cannot_be_one_fails_at_once_and_names_it(talk, tree, make, told):
    make(tree.folder / "src" / "new")
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "failed")
        assert (check["output"], check["exit_code"]) == (f"[{told}]", None)
        (tree.folder / "src" / "new").unlink()
        talk.ok("control:request_check", uid=uid)
        becomes(talk, uid, "passed")
        make(tree.folder / "src" / "new")
        assert task(talk, uid)["verified"] == "stale"


SNAPSHOT = GREP + "snapshot = true\n"


def test_a_snapshot_runs_in_a_private_copy_of_its_inputs_outside_the_repository(talk, tree):
    (tree.folder / "other.txt").write_text("no input")
    tree.configure(SNAPSHOT.replace("cat src/code.txt;", "pwd; ls;"))
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        folder, *names = becomes(talk, uid, "passed")["output"].splitlines()
        assert names == ["src"]
        assert tree.folder not in [Path(folder), *Path(folder).parents]
        until(lambda: not Path(folder).exists(), "the copy to be removed")
        tree.source.write_text("another right")
        assert task(talk, uid)["verified"] == "stale"


def test_what_an_agent_does_to_the_inputs_while_a_snapshot_runs_proves_nothing_else(talk, tree):
    """The command waits until the live file is right, which an agent makes it for as long as it runs."""
    tree.source.write_text("wrong")
    wait = f"touch {tree.folder}/begun; while [ ! -e {tree.folder}/go ]; do sleep 0.02; done; "
    tree.configure(SNAPSHOT.replace("cat src/code.txt;", wait))
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        until((tree.folder / "begun").exists, "its beginning")
        tree.source.write_text("right")
        (tree.folder / "go").touch()
        assert becomes(talk, uid, "failed")["exit_code"] == 1


def test_a_copy_that_is_written_while_the_check_runs_proves_nothing(talk, tree):
    tree.source.write_text("wrong")
    tree.configure(SNAPSHOT.replace("cat src/code.txt;", "echo right > src/code.txt;"))
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        check = becomes(talk, uid, "stale")
    assert check["output"] == "[changed while it ran: src/code.txt]"
    assert tree.source.read_text() == "wrong"


def test_a_snapshot_of_what_cannot_be_an_input_fails_and_names_it(talk, tree):
    tree.configure(SNAPSHOT)
    os.mkfifo(tree.folder / "src" / "new")
    with tree.hosted():
        uid = add(talk)
        talk.ok("tasklist:set_task_done", uid=uid)
        told = "[input src/new: it is a FIFO or a device, not a regular file]"
        assert becomes(talk, uid, "failed")["output"] == told
