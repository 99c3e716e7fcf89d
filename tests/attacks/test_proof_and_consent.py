"""Tricks at checks, held tasks and answers: each a line, none may open a gate, start held work or answer a question."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Talk
from tests.talking import add, task
from tui_tasks.core.errors import Conflict
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.jobs import BeginCheck, ClaimCheck, EndCheck
from tui_tasks.core.operations.tasks import AcceptTask, EnsureList, ImportTask, SetListReview
from tui_tasks.core.read import check_queries as read_checks
from tui_tasks.core.store import Store
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.runner.checks.check_keeper import CheckKeeper
from tui_tasks.runner.checks.input_watch import RunInputs
from tui_tasks.settings.live_settings import check_profiles

pytestmark = pytest.mark.linux

PATTERNS = ("src/**", "one.txt")
CONFIG = """
[check.tests]
command = ["true"]
cwd = "CWD"
inputs = ["src/**", "one.txt"]
lists = ["tasklist"]
gate = true
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    for name in ("src/a.py", "src/deep/b.py", "src/empty", "one.txt", "beside.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("" if name == "src/empty" else f"the content of {name}\n")
    (folder / "src/link.py").symlink_to("../beside.txt")
    (folder / "src/none").symlink_to("/dev/null")
    return folder


@pytest.fixture
def keeper(tree: Path, tmp_path: Path) -> CheckKeeper:
    config = tmp_path / "config.toml"
    config.write_text(CONFIG.replace("CWD", str(tree)))
    config.chmod(0o600)
    return CheckKeeper(check_profiles(lambda: config))


@pytest.fixture
def talk(store: Store, clock: Callable[[], int], keeper: CheckKeeper) -> Talk:
    made = Talk(store, clock)
    made.session.checks = keeper
    return made


def passes(talk: Talk, tree: Path, clock: Callable[[], int]) -> None:
    """Let the check that waits pass, with the inputs as they are, as its supervisor does."""
    (run,) = read_checks.runs_in(talk.store.db, "waiting")
    beats = [Heartbeat(run.uid, supervised, "boot", "ns", 1, "born", clock()) for supervised in (False, True)]
    inputs = RunInputs(str(tree), PATTERNS)
    begun = inputs.begin()
    for operation in (
        ClaimCheck(run.uid, beats[0], 1),
        BeginCheck(run.uid, beats[1], begun),
        EndCheck(run.uid, "passed", inputs.end(), 0),
    ):
        talk.store.commit(operation, actor="system", now=clock())


@pytest.fixture
def passed(talk: Talk, tree: Path, clock: Callable[[], int]) -> str:
    """A task whose gate has passed."""
    uid = add(talk)
    talk.ok("control:request_check", uid=uid)
    passes(talk, tree, clock)
    assert task(talk, uid)["verified"] == "passed"
    return uid


# Files: what changes an input, with or without a trace


def rewritten(file: Path, text: str) -> None:
    """Write another content of the same length, and set the times back."""
    was = file.stat()
    with file.open("r+") as opened:
        opened.write(text[: was.st_size])
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))


def mapped(file: Path, at: int = 0) -> None:
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as memory:
        memory[at : at + 1] = b"X"


def replaced(file: Path, content: bytes) -> None:
    other = file.with_name("new~")
    other.write_bytes(content)
    shutil.copystat(file, other)
    other.replace(file)


def exchanged(one: Path, other: Path) -> None:
    """Exchange two paths in one step (renameat2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2):
        spare = one.with_name("spare")
        one.rename(spare)
        other.rename(one)
        spare.rename(other)


def linked(path: Path, target: str) -> None:
    if path.exists() or path.is_symlink():
        path.unlink()
    path.symlink_to(target)


def elsewhere(tree: Path) -> str:
    """Return a folder on another file system than the tree's."""
    return next(place for place in ("/dev/shm", "/dev") if Path(place).stat().st_dev != tree.stat().st_dev)


def by_another_link(file: Path) -> None:
    os.link(file, file.parents[1] / "alias")
    (file.parents[1] / "alias").write_text("another")


def by_descriptor(file: Path) -> None:
    handle = os.open(file, os.O_RDWR)
    os.pwrite(handle, b"X", 3)
    os.close(handle)


def punched(file: Path) -> None:
    file.write_bytes(b"x" * 8192)
    os.truncate(file, 4096)
    os.truncate(file, 8192)


def copied_in_kernel(file: Path) -> None:
    with (file.parents[1] / "beside.txt").open("rb") as source, file.open("r+b") as target:
        os.copy_file_range(source.fileno(), target.fileno(), 5, 15)


def sent(file: Path) -> None:
    with (file.parents[1] / "beside.txt").open("rb") as source, file.open("r+b") as target:
        os.sendfile(target.fileno(), source.fileno(), 15, 5)


def truncated_and_grown(file: Path) -> None:
    size = file.stat().st_size
    os.truncate(file, 0)
    os.truncate(file, size)


def sparse(file: Path) -> None:
    with file.open("wb") as made:
        made.truncate(15 << 40)


FILES: dict[str, Callable[[Path], object]] = {
    "another content": lambda t: (t / "src/a.py").write_text("x"),
    "one byte more": lambda t: (t / "src/a.py").open("a").write("x"),
    "one byte less": lambda t: os.truncate(t / "src/a.py", 3),
    "nothing left": lambda t: os.truncate(t / "src/a.py", 0),
    "the same length, times set back": lambda t: rewritten(t / "src/a.py", "THE CONTENT OF src/a.py\n"),
    "the last byte alone": lambda t: by_descriptor(t / "one.txt"),
    "zeros of the same length": lambda t: truncated_and_grown(t / "src/a.py"),
    "holes in place of bytes": lambda t: punched(t / "src/a.py"),
    "through a memory map": lambda t: mapped(t / "src/a.py"),
    "through a memory map, at its end": lambda t: mapped(t / "one.txt", 5),
    "through another hard link": lambda t: by_another_link(t / "src/a.py"),
    "copied within the kernel": lambda t: copied_in_kernel(t / "src/a.py"),
    "sent within the kernel": lambda t: sent(t / "src/a.py"),
    "replaced, with the stat of the old one": lambda t: replaced(t / "src/a.py", b"x"),
    "replaced, of the same length": lambda t: replaced(t / "src/a.py", b"X" * (t / "src/a.py").stat().st_size),
    "exchanged with what is beside": lambda t: exchanged(t / "src/a.py", t / "beside.txt"),
    "exchanged with another input": lambda t: exchanged(t / "src/a.py", t / "one.txt"),
    "another name": lambda t: (t / "src/a.py").rename(t / "src/A.py"),
    "a blank behind its name": lambda t: (t / "src/a.py").rename(t / "src/a.py "),
    "a newline in its name": lambda t: (t / "src/a.py").rename(t / "src/a\n.py"),
    "a name that is no UTF-8": lambda t: Path(os.fsdecode(bytes(t / "src") + b"/\xff.py")).write_text("x"),
    "gone": lambda t: (t / "src/a.py").unlink(),
    "the empty one gone": lambda t: (t / "src/empty").unlink(),
    "a new empty one": lambda t: (t / "src/new").touch(),
    "a hidden one": lambda t: (t / "src/.hidden").write_text("x"),
    "one in a new folder": lambda t: ((t / "src/x/y").mkdir(parents=True), (t / "src/x/y/z").write_text("x")),
    "its folder moved": lambda t: (t / "src/deep").rename(t / "src/other"),
    "its folder gone": lambda t: shutil.rmtree(t / "src/deep"),
    "all inputs gone": lambda t: (shutil.rmtree(t / "src"), (t / "one.txt").unlink()),
    "the whole tree moved": lambda t: t.rename(t.with_name("elsewhere")),
    "another tree in its place": lambda t: (t.rename(t.with_name("was")), (t / "src").mkdir(parents=True)),
    "a link to a copy of another content": lambda t: (
        (t / "copy").write_text("x"),
        linked(t / "src/a.py", "../copy"),
    ),
    "a link to a copy of the same content": lambda t: (
        shutil.copy(t / "src/a.py", t / "copy"),
        linked(t / "src/a.py", "../copy"),
    ),
    "its link led elsewhere": lambda t: linked(t / "src/link.py", "../one.txt"),
    "what its link leads to": lambda t: (t / "beside.txt").write_text("x"),
    "its link led nowhere": lambda t: linked(t / "src/link.py", "nowhere"),
    "a link to itself": lambda t: linked(t / "src/a.py", "a.py"),
    "a link to the folder above": lambda t: linked(t / "src/loop", ".."),
    "executable": lambda t: (t / "src/a.py").chmod(0o755),
    "unlike nothing": lambda t: linked(t / "src/none", "/dev/zero"),
    "a FIFO": lambda t: os.mkfifo(t / "src/fifo"),
    "a FIFO in its place": lambda t: ((t / "src/a.py").unlink(), os.mkfifo(t / "src/a.py")),
    "a folder in its place": lambda t: ((t / "src/a.py").unlink(), (t / "src/a.py").mkdir()),
    "a sparse file of 15 TiB": lambda t: sparse(t / "src/huge"),
    "a sparse file in its place": lambda t: sparse(t / "src/a.py"),
    "its own memory": lambda t: linked(t / "src/a.py", "/proc/self/mem"),
    "a file of whoever reads it": lambda t: linked(t / "src/a.py", "/proc/self/comm"),
    "a descriptor of whoever reads it": lambda t: linked(t / "src/a.py", "/proc/self/fd/0"),
    "random bytes": lambda t: linked(t / "src/a.py", "/dev/urandom"),
    "a terminal": lambda t: linked(t / "src/a.py", "/dev/tty"),
    "a folder on another mount": lambda t: linked(t / "src/mount", "/proc/self"),
    "shared memory or devices": lambda t: linked(t / "src/a.py", elsewhere(t)),
}


@pytest.mark.parametrize("trick", FILES)
def test_no_change_of_an_input_after_the_pass_opens_the_gate(talk: Talk, tree: Path, passed: str, trick: str) -> None:
    FILES[trick](tree)
    refused = talk.refused("tasklist:set_task_done", uid=passed)
    assert (refused["code"], task(talk, passed)["status"]) == ("conflict", "pending")


@pytest.mark.parametrize("trick", FILES)
def test_no_change_of_an_input_during_a_run_passes(tree: Path, trick: str) -> None:
    inputs = RunInputs(str(tree), PATTERNS)
    inputs.begin()
    FILES[trick](tree)
    assert inputs.end() is None


# Words: what an agent sends to have a gated task done, a held one started, or its own question answered

Trick = Callable[[Talk, str], object]


def sends(tool: str, **arguments: object) -> Trick:
    """Send one request; `UID` in its arguments is the task's."""
    assert tool in TABLE.tools, f"{tool} is no tool: its refusal proves nothing"
    return lambda talk, uid: talk.ask(
        tool, None, **{name: uid if value == "UID" else value for name, value in arguments.items()}
    )


def waiting(talk: Talk) -> str:
    """The run of a check that waits, if one does."""
    return next((run.uid for run in read_checks.runs_in(talk.store.db, "waiting")), "none")


DONE: dict[str, Trick] = {
    "done": sends("tasklist:set_task_done", uid="UID"),
    "done, by its beginning": lambda talk, uid: talk.ask("tasklist:set_task_done", uid=uid[:8]),
    "done, by its number": lambda talk, uid: talk.ask("tasklist:set_task_done", uid="#1"),
    "done by an update": sends("tasklist:update_task", uid="UID", status="done"),
    "done by control": sends("control:update_task", uid="UID", status="done"),
    "done in capitals": sends("control:update_task", uid="UID", status="DONE"),
    "completed": sends("task", action="update", task_id="UID", status="completed"),
    "completed with a result": sends("task", action="update", task_id="UID", status="completed", result="x"),
    "completed by the absorbed tool": sends("agent", action="update_task", task_id="UID", status="completed"),
    "completed in a plan": sends("tasks", action="update", id="UID", status="done"),
    "completed by the absorbed name": sends("update_task", id="UID", status="completed"),
    "with its checks as a field": sends("control:update_task", uid="UID", status="done", checks=[]),
    "with verified as a field": sends("control:update_task", uid="UID", status="done", verified="passed"),
    "with metadata that says so": sends(
        "task", action="update", task_id="UID", status="done", metadata={"verified": 1}
    ),
    "moved to a free list and back": lambda talk, uid: [
        talk.ask("control:update_task", uid=uid, list="tasks-of-mine"),
        talk.ask("control:update_task", uid=uid, status="done", list="tasklist"),
    ],
    "in a batch": lambda talk, uid: talk.one([{"tool": "tasklist:set_task_done", "arguments": {"uid": uid}}]),
    "in a batch behind a request of its check": lambda talk, uid: talk.one(
        [
            {"tool": "control:request_check", "arguments": {"uid": uid}},
            {"tool": "tasklist:set_task_done", "arguments": {"uid": uid}},
        ]
    ),
    "twice in a batch": lambda talk, uid: talk.one([{"tool": "tasklist:set_task_done", "arguments": {"uid": uid}}] * 2),
    "again and again": lambda talk, uid: [talk.ask("tasklist:set_task_done", uid=uid) for _ in range(9)],
    "by its idempotency key": lambda talk, uid: [
        talk.ask("tasklist:set_task_done", {"idempotency_key": "k"}, uid=uid) for _ in range(2)
    ],
    "as another agent": lambda talk, uid: talk.ask("tasklist:set_task_done", {"agent": "system2"}, uid=uid),
    "as the human": lambda talk, uid: talk.ask("tasklist:set_task_done", {"agent": "human"}, uid=uid),
    "as the system": lambda talk, uid: talk.ask("tasklist:set_task_done", {"agent": "system"}, uid=uid),
    "as the shell": lambda talk, uid: talk.ask("tasklist:set_task_done", {"agent": "shell"}, uid=uid),
    "by settings without checks": sends("control:config", check={}),
    "by another command of its check": sends("control:config", check={"tests": {"command": ["true"]}}),
    "by settings in the human's name": lambda talk, uid: talk.ask("control:config", {"agent": "human"}, check={}),
    "by saying how a run of its check ended": lambda talk, uid: [
        talk.ask("control:request_check", uid=uid),
        talk.ask("scheduler:finish_run", run_id=waiting(talk), outcome="success"),
    ],
    "by its check's run as a task": lambda talk, uid: [
        talk.ask("control:request_check", uid=uid),
        talk.ask("control:update_task", uid=waiting(talk), status="done"),
    ],
    "by a job of its own": sends("scheduler:create_adhoc_task", name="j", system_prompt="", prompt="done UID"),
    "by a note that it is verified": sends("tasklist:log_task_progress", uid="UID", message="verified: passed"),
    "by a link to a commit": sends("control:link", uid="UID", kind="commit", target="0" * 40),
    "by a copy, put in its place": lambda talk, uid: [
        talk.ask("tasklist:swap_tasks", uid1=uid, uid2=add(talk, "copy")),
        talk.ask("tasklist:set_task_done", uid=uid),
    ],
    "by way of failed": lambda talk, uid: [
        talk.ask("tasklist:set_task_failed", uid=uid),
        talk.ask("tasklist:set_task_done", uid=uid),
    ],
    "by way of skipped": lambda talk, uid: [
        talk.ask("tasklist:set_task_skipped", uid=uid),
        talk.ask("tasklist:set_task_done", uid=uid),
    ],
    "by way of in progress": lambda talk, uid: [
        talk.ask("tasklist:set_task_in_progress", uid=uid),
        talk.ask("tasklist:set_task_done", uid=uid),
    ],
    "deleted, and made anew as done": lambda talk, uid: [
        talk.ask("tasklist:delete_task", uid=uid),
        talk.ask("control:undo"),
        talk.ask("tasklist:set_task_done", uid=uid),
    ],
    "by a check of its own": sends("control:request_check", uid="UID", command=["true"]),
    "by claiming it first": lambda talk, uid: [
        talk.ask("control:claim", uid=uid),
        talk.ask("tasklist:set_task_done", uid=uid),
    ],
    "by an undo of not being done": lambda talk, uid: [talk.ask("control:undo"), talk.ask("control:undo")],
}


@pytest.mark.parametrize("trick", DONE)
def test_no_word_of_an_agent_sets_a_gated_task_done_before_its_check_has_passed(talk: Talk, trick: str) -> None:
    uid = add(talk)
    DONE[trick](talk, uid)
    assert talk.ok("control:find", status="done")["tasks"] == []


@pytest.fixture
def held(talk: Talk, store: Store, clock: Callable[[], int]) -> str:
    (home,) = store.commit(EnsureList("filed", "task"), actor="human", now=clock())
    store.commit(SetListReview(home.uid, True), actor="human", now=clock())
    uid: str = talk.ok("task", {"list": "filed"}, action="create", title="drop the tables")["structuredContent"][
        "task"
    ]["task_id"]
    assert task(talk, uid)["held"] is True
    return uid


HELD: dict[str, Trick] = {
    # Its maker may take back that it was made.
    **{f"{name}, held": trick for name, trick in DONE.items() if "undo" not in name},
    "started": sends("tasklist:set_task_in_progress", uid="UID"),
    "skipped": sends("tasklist:set_task_skipped", uid="UID"),
    "failed": sends("tasklist:set_task_failed", uid="UID"),
    "claimed": sends("control:claim", uid="UID"),
    "claimed as the next": sends("control:claim"),
    "assigned": sends("control:update_task", uid="UID", agent="agent"),
    "assigned in a plan": sends("tasks", action="update", id="UID", agent_id="agent"),
    "moved to a free list": sends("control:update_task", uid="UID", list="tasklist"),
    "moved and started": lambda talk, uid: talk.ask(
        "control:update_task", uid=uid, list="tasklist", status="in_progress"
    ),
    "accepted": sends("control:accept", uid="UID"),
    "accepted as the human": lambda talk, uid: talk.ask("control:accept", {"agent": "human"}, uid=uid),
    "accepted as the shell": lambda talk, uid: talk.ask("control:accept", {"agent": "shell"}, uid=uid),
    "accepted in a batch": lambda talk, uid: talk.one([{"tool": "control:accept", "arguments": {"uid": uid}}] * 2),
    "accepted by its number": sends("control:accept", uid="#1"),
    "declined": sends("control:decline", uid="UID", reason="x"),
    "reserved for work": sends("control:work_ready", uid="UID", summary="done"),
    "kept by heartbeats": lambda talk, uid: [
        talk.ask("control:heartbeat", claim=uid),
        talk.ask("control:claim", uid=uid),
    ],
    "released": sends("control:release", uid="UID"),
    "made pending": sends("tasklist:set_task_pending", uid="UID"),
    "exchanged with a free one": lambda talk, uid: [
        talk.ask("tasklist:swap_tasks", uid1=uid, uid2=add(talk, "free")),
        talk.ask("tasklist:set_task_in_progress", uid=uid),
    ],
    "run as a job": sends("scheduler:run_task", uuid="UID", force=True),
    "enabled as a job": sends("scheduler:enable_task", uuid="UID"),
    "taken as the next by an agent": sends("agent", action="suggest_next"),
    "linked, and started by its link": lambda talk, uid: [
        talk.ask("control:link", uid=uid, kind="branch", target="main"),
        talk.ask("tasklist:set_task_in_progress", uid=uid),
    ],
    "the review taken from its list by settings": sends("control:config", review={"lists": []}),
    "edited, and started by its new version": lambda talk, uid: [
        talk.ask("control:update_task", uid=uid, name="harmless"),
        talk.ask("control:update_task", uid=uid, status="in_progress"),
        talk.ask("control:update_task", uid=uid, name="drop the tables"),
    ],
    "no longer held, as a field": sends("control:update_task", uid="UID", held=False),
    "its list no longer reviewed": sends("control:review", list="filed", review=False),
    "deleted, and brought back": lambda talk, uid: [
        talk.ask("tasklist:delete_task", uid=uid),
        talk.ask("control:undo"),
        talk.ask("tasklist:set_task_in_progress", uid=uid),
    ],
    "made again as one that is done": lambda talk, uid: talk.ask(
        "task", {"list": "filed"}, action="create", title="x", status="completed"
    ),
}


@pytest.mark.parametrize("trick", HELD)
def test_no_word_of_an_agent_takes_up_a_held_task(talk: Talk, held: str, trick: str) -> None:
    HELD[trick](talk, held)
    found = task(talk, held)
    assert (found["held"], found["status"], found["agent"]) == (True, "pending", None)
    assert talk.ok("control:find", list="filed", status="done")["tasks"] == []


@pytest.fixture
def accepted(talk: Talk, store: Store, clock: Callable[[], int]) -> str:
    """A task that its maker has edited while it was held, and that was then accepted."""
    add(talk, "beside it, outside review")
    (home,) = store.commit(EnsureList("filed", "task"), actor="human", now=clock())
    store.commit(SetListReview(home.uid, True), actor="human", now=clock())
    uid: str = add(talk, "made", list="filed")
    talk.ok("control:update_task", {"idempotency_key": "before"}, uid=uid, name="worse")
    talk.ok("control:update_task", uid=uid, name="rotate the keys")
    store.commit(AcceptTask(uid, task(talk, uid)["version"]), actor="human", now=clock())
    assert task(talk, uid)["held"] is False
    return uid


def imported(talk: Talk, uid: str) -> None:
    home = talk.store.db.scalar("SELECT uid FROM list WHERE name = 'tasklist'")
    with contextlib.suppress(Conflict):
        talk.store.commit(ImportTask(uid, home, {"name": "evil"}), actor="shell", now=talk.clock())


EVIL: dict[str, object] = {"name": "evil"}
AFTER: dict[str, Trick] = {
    "edited": sends("control:update_task", uid="UID", **EVIL),
    "edited by its tasklist": sends("tasklist:update_task", uid="UID", **EVIL),
    "edited on its board": sends("task", action="update", task_id="UID", title="evil"),
    "edited by the absorbed name": sends("update_task", id="UID", title="evil"),
    "edited by a character that shows nothing": sends("control:update_task", uid="UID", name="rotate the\u200b keys"),
    "edited and started in one": sends("control:update_task", uid="UID", status="in_progress", **EVIL),
    "edited and handed over in one": sends("control:update_task", uid="UID", agent="mallory", **EVIL),
    "edited again by the key of an edit before": lambda talk, uid: talk.ask(
        "control:update_task", {"idempotency_key": "before"}, uid=uid, name="worse"
    ),
    "what was before, by undo after undo": lambda talk, uid: [talk.ask("control:undo") for _ in range(6)],
    "edited, deleted and brought back": lambda talk, uid: [
        talk.ask("control:update_task", uid=uid, name="evil"),
        talk.ask("tasklist:delete_task", uid=uid),
        talk.ask("control:undo"),
    ],
    "moved out of review, then edited": lambda talk, uid: [
        talk.ask("control:update_task", uid=uid, list="tasklist"),
        talk.ask("control:update_task", uid=uid, name="evil"),
    ],
    "moved out of review and edited in one": sends("control:update_task", uid="UID", list="tasklist", **EVIL),
    "imported into a list without review": imported,
    "claimed, edited and moved out of review": lambda talk, uid: [
        talk.ask("control:claim", uid=uid),
        talk.ask("control:update_task", uid=uid, name="evil"),
        talk.ask("control:update_task", uid=uid, list="tasklist"),
        talk.ask("tasklist:set_task_pending", uid=uid),
    ],
    "done, moved out of review, edited and reopened": lambda talk, uid: [
        talk.ask("tasklist:set_task_failed", uid=uid),
        talk.ask("control:update_task", uid=uid, list="tasklist"),
        talk.ask("control:update_task", uid=uid, name="evil"),
        talk.ask("tasklist:set_task_pending", uid=uid),
    ],
    "replaced by a short list": lambda talk, uid: talk.ask(
        "todo",
        {"list": "filed"},
        merge=True,
        todos=[{"id": of, "content": "evil", "status": "pending"} for of in (uid, "b")],
    ),
}


@pytest.mark.parametrize("trick", AFTER)
def test_no_word_of_an_agent_gives_another_one_an_accepted_task_in_other_words(
    talk: Talk, accepted: str, trick: str
) -> None:
    AFTER[trick](talk, accepted)
    taken = talk.ask("control:claim", {"agent": "mallory"}, uid=accepted)
    assert not (taken["ok"] and taken["result"]) or task(talk, accepted)["name"] == "rotate the keys"
    assert talk.store.db.scalar("SELECT count(*) FROM journal WHERE actor = 'human' AND kind = 'task.accepted'") == 1


ANSWERS: dict[str, Trick] = {
    "answered": sends("control:answer", uid="UID", answer="yes"),
    "answered in a batch": lambda talk, uid: talk.one(
        [{"tool": "control:answer", "arguments": {"uid": uid, "answer": "yes"}}] * 2
    ),
    "answered by its number": sends("control:answer", uid="UID", answer="1"),
    "answered by its request": sends("control:answer", uid="q", answer="yes"),
    "read as answered": sends("control:answer_of", ask="UID", wait=0),
    "answered as the shell": lambda talk, uid: talk.ask("control:answer", {"agent": "shell"}, uid=uid, answer="yes"),
    "answered as a task": sends("task", action="update", task_id="UID", status="completed", result={"answer": "yes"}),
    "answered in a plan": sends("tasks", action="update", id="UID", status="done"),
    "accepted, as a task": sends("control:accept", uid="UID"),
    "answered by settings": sends("control:config", asks={"answer": "yes"}),
    "answered by a rule": sends("control:config", rule=[{"answer": "allow", "tool": "Bash"}]),
    "dropped with the journal": sends("control:compact", before=10_000),
    "resumed as if answered": sends("control:resume", agent="agent"),
    "answered as the human": lambda talk, uid: talk.ask("control:answer", {"agent": "human"}, uid=uid, answer="yes"),
    "answered as the system": lambda talk, uid: talk.ask("control:answer", {"agent": "system"}, uid=uid, answer="yes"),
    "withdrawn by another's name": lambda talk, uid: talk.ask("control:cancel", {"agent": "human"}, request="q"),
    "its run finished": sends("scheduler:finish_run", run_id="UID", outcome="success", result="yes"),
    "as a task of that uid": sends("control:update_task", uid="UID", result="yes"),
    "undone": sends("control:undo"),
    "as a message of the human": sends("control:message", to="agent", text="yes"),
}


def test_every_trick_names_tools_that_there_are() -> None:
    """A refusal of a tool that does not exist proves nothing."""
    asked = re.compile(r"""(?:\.ask|sends)\(\s*"([^"]+)"|\{"tool":\s"([^"]+)\"""")
    named = {one or other for one, other in asked.findall(Path(__file__).read_text())}
    assert {tool for tool in named if tool not in TABLE.tools} == set()
    assert len(FILES) + len(DONE) + len(HELD) + len(ANSWERS) >= 100


@pytest.mark.parametrize("trick", ANSWERS)
def test_no_word_of_an_agent_answers_a_question(talk: Talk, trick: str) -> None:
    from tui_tasks.core.read.ask_queries import open_asks

    talk.lines({"id": "q", "tool": "ask", "arguments": {"question": "Drop the tables?", "options": ["yes", "no"]}})
    (asked,) = open_asks(talk.store.db)
    ANSWERS[trick](talk, asked.uid)
    assert asked.uid in {ask.uid for ask in open_asks(talk.store.db)}
    assert talk.store.db.scalar("SELECT count(*) FROM journal WHERE kind = 'ask.answered'") == 0
