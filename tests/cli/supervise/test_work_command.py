"""Work is reviewed, merged, sent back and taken back from a shell, by a person alone."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.conftest import START
from tests.work.repositories import ME, Place, commit, copy, git, make, reviewed, write
from tui_tasks import clock
from tui_tasks.cli.main import main
from tui_tasks.cli.supervise.screen_program import quitting_lines
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.sessions import InputRequested, RecordReport, SessionReport
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList
from tui_tasks.core.operations.work import BeginMerge, DiscardWork, FailWork, ReportWork, RunWork, StartWork
from tui_tasks.core.read import ask_queries, work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.hooks import screen_presence
from tui_tasks.installation import DEMO_FOLDER
from tui_tasks.state import callers
from tui_tasks.text.times import HOUR
from tui_tasks.work.git import base_branch, merging
from tui_tasks.work.merge_steps import Intent

Run = Callable[[str], tuple[int, str, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make(tmp_path_factory.mktemp("made"))


@pytest.fixture
def place(made: Place, tmp_path: Path) -> Place:
    return copy(made, tmp_path / "made")


@pytest.fixture
def database(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with a task whose work is ready in the worktree."""
    path = tmp_path / "tasks.db"
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("jobs", "task"), actor="human", now=START)
        (task,) = store.commit(AddTask("Rotate keys", home.uid), actor="human", now=START)
        start(store, task.uid, place.root, place.tree, "task/1")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TUI_TASKS_DB", str(path))
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(tmp_path / "no-config"))
    monkeypatch.setattr(callers, "has_terminal", lambda: True)
    return path


def start(store: Store, task: str, root: Path, tree: Path, branch: str) -> None:
    started = StartWork(
        task,
        "claude",
        str(root),
        str(tree),
        branch=branch,
        base="main",
        base_commit=git(root, "rev-parse", "main"),
        is_race=True,
    )
    (work,) = store.commit(started, actor="human", now=START)
    store.commit(RunWork(work.uid), actor="system", now=START)
    store.commit(ReportWork(task, "All rotated."), actor=work.agent, now=START)


@pytest.fixture
def run(database: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(line: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(shlex.split(line))
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def seen(place: Place) -> str:
    """The option by which a script says what it has reviewed."""
    return f"--reviewed {git(place.tree, 'rev-parse', 'HEAD')}"


def state(database: Path) -> str:
    with Store(str(database), read_only=True) as store:
        return work_queries.everything(store.db)[-1].state


def test_work_is_merged_as_it_was_reviewed_and_taken_back(run: Run, database: Path, place: Place) -> None:
    status, told, _ = run("work review 1")
    head = git(place.tree, "rev-parse", "HEAD")
    assert status == 0 and told.endswith(f"`tui-tasks work merge 1 --reviewed {head}` merges exactly this\n")
    status, told, _ = run(f"work merge 1 --reviewed {head} --method merge")
    merged = f"merged into main as {git(place.root, 'rev-parse', 'HEAD')[:10]}"
    assert (status, told) == (0, f"{merged}; `tui-tasks work restore 1` undoes it\n")
    assert "\ncommand claude\n" in run("work show 1")[1]
    for line in ("show 1", "work show 1"):
        assert f"\nwork of claude-1 {merged} by you, " in run(line)[1]
    assert git(place.root, "log", "-1", "--format=%an %s%n%b").splitlines() == ["Ada Rotate keys", "All rotated."]
    assert not place.tree.exists()
    assert run("work restore 1")[:2] == (0, "taken out of main again; back for review\n")
    assert "merged" not in run("show 1")[1]
    assert git(place.root, "log", "-1", "--format=%s") == "First"
    assert git(place.tree, "rev-parse", "HEAD") == head


def test_work_on_a_deleted_task_is_listed_shown_and_discarded(run: Run, database: Path) -> None:
    with Store(str(database)) as store:
        store.commit(DeleteTask(work_queries.live(store.db)[0].task_uid), actor="human", now=START)
    assert run("work ls")[1].endswith("  its task is deleted: `tui-tasks work discard 1 --by claude-1` ends it\n")
    assert run("work show 1")[1].startswith("#1  Rotate keys\nready  claude-1  ")
    assert run("work review 1")[0] == 1
    assert run("work discard 1")[:2] == (0, "discarded; its branch and files stay\n")
    assert state(database) == "discarded"


def test_two_files_whose_names_differ_look_different_in_a_review(run: Run, place: Place) -> None:
    for name in ("a b.py", "a\nb.py", "a\u200b b.py"):
        (place.tree / name).write_text("x\n")
    _, told, _ = run("work review 1")
    files = [line for line in told.splitlines() if "b.py" in line]
    assert files == ["?A  a<U+000A>b.py  +1 -0", "?A  a b.py  +1 -0", "?A  a<U+200B> b.py  +1 -0"]


def test_a_files_name_that_looks_like_the_line_around_it_stands_in_quotes(run: Run, place: Place) -> None:
    (place.tree / "a.py  +0 -0").write_text("x\n")
    (place.tree / "✓ tests passed").write_text("x\n")
    _, told, _ = run("work review 1")
    assert '\n?A  "a.py  +0 -0"  +1 -0\n' in told
    assert '\n?A  "✓ tests passed"  +1 -0\n' in told


def test_a_merge_prints_the_work_as_json(run: Run, place: Place) -> None:
    status, told, _ = run(f"work merge 1 --message 'Rotate all' --json {seen(place)}")
    assert status == 0 and json.loads(told)["state"] == "merged"
    assert git(place.root, "log", "-1", "--format=%s") == "Rotate all"


def test_work_that_has_moved_since_it_was_looked_at_is_not_merged(run: Run, database: Path, place: Place) -> None:
    head = git(place.tree, "rev-parse", "HEAD")
    commit(place.tree, "More", c_txt="more\n")
    status, _, told = run(f"work merge 1 --reviewed {head}")
    assert status == 1 and "look again" in told and told.count("\n") == 1
    assert state(database) == "ready"


def test_without_a_terminal_that_shows_it_work_is_merged_only_as_the_version_that_is_named(
    run: Run, database: Path, place: Place
) -> None:
    head = git(place.tree, "rev-parse", "HEAD")
    status, _, told = run("work merge 1")
    assert status == 1 and told.endswith(f"shows it, then add --reviewed {head}\n") and told.count("\n") == 1
    assert run("work merge 1 --reviewed ''")[0] == 1
    assert run(f"work merge 1 --reviewed {head[:39]}")[0] == 1
    assert state(database) == "ready"


def test_a_review_shows_the_diffs_that_have_room_and_counts_the_others(run: Run, place: Place) -> None:
    commit(place.tree, "More", big_txt="x\n" * 20_000, small_txt="y\n│ z\n")
    lines = run("work review 1 --diff")[1].splitlines()
    assert [line for line in lines if line.endswith(("+y", " z"))] == ["│ +y", "│ +│ z"]
    assert "Not shown here: the content of 1 of 4 files." in lines
    assert "│ +y" not in run("work review 1")[1].splitlines()


def test_what_is_not_committed_is_refused_or_committed_with_a_message(run: Run, place: Place) -> None:
    write(place.tree, x_txt="x\n")
    status, _, told = run(f"work merge 1 {seen(place)}")
    assert status == 1 and "its version is" in told
    version = json.loads(run("work review 1 --json")[1])["review"]["version"]
    assert version.startswith(f"{git(place.tree, 'rev-parse', 'HEAD')}+")
    for line in ("work merge 1", f"work merge 1 --reviewed {version}"):
        status, out, told = run(line)
        assert (status, out) == (1, ""), "it is refused before it is shown"
        assert "1 changed file is not committed: give a message" in told
    assert run(f"work merge 1 --reviewed {version} --commit 'Add x' --method ff")[0] == 0
    assert git(place.root, "log", "-1", "--format=%s") == "Add x"


def test_a_conflict_is_told_in_one_line_and_handed_back_to_the_agent(run: Run, database: Path, place: Place) -> None:
    commit(place.root, "Ours", a_txt="ours\n")
    last = run("work review 1")[1].splitlines()[-1]
    assert last.startswith("`tui-tasks work merge 1 --hand-back` sends the conflict")
    status, _, told = run(f"work merge 1 {seen(place)}")
    assert status == 1 and "conflicts with main in a.txt" in told and told.count("\n") == 1
    assert state(database) == "conflict"
    assert run(f"work merge 1 --hand-back {seen(place)}") == (0, "it conflicts in a.txt; sent to claude-1\n", "")
    assert state(database) == "working"
    assert git(place.root, "log", "-1", "--format=%s") == "Ours"


def test_of_two_that_raced_the_one_that_is_named_is_merged(run: Run, database: Path, place: Place) -> None:
    other = place.tree.with_name("other")
    git(place.root, "worktree", "add", "-q", "-b", "task/2", str(other))
    commit(other, "Another way", b_txt="other\n")
    with Store(str(database)) as store:
        (first,) = work_queries.everything(store.db)
        start(store, first.task_uid, place.root, other, "task/2")
    assert "#1 ⇡  Rotate keys  [jobs, 2 works to review: claude-1, claude-2" in run("ls")[1]
    status, _, told = run(f"work merge 1 --by claude-9 {seen(place)}")
    assert status == 1 and "use one of claude-1, claude-2" in told
    assert "`tui-tasks work review 1 --by claude-2` shows it" in run("work restore 1 --by claude-2")[2]
    status, told, _ = run(f"work merge 1 --by claude-1 {seen(place)}")
    assert status == 0 and "discarded the work of claude-2" in told
    assert "`tui-tasks work restore 1 --by claude-1` undoes it" in told
    assert "`tui-tasks work restore 1 --by claude-1` undoes it" in run("work discard 1 --by claude-1")[2]
    assert "`tui-tasks work restore 1 --by claude-2` brings it back" in run("work discard 1 --by claude-2")[2]
    assert git(place.root, "log", "-1", "--format=%s") == "Rotate keys"
    assert other.is_dir()


def test_work_whose_changes_main_has_already_is_accepted_as_done(run: Run, place: Place) -> None:
    git(place.root, "checkout", git(place.tree, "rev-parse", "HEAD"), "--", ".")
    before = commit(place.root, "The same")
    shown = run("work review 1")[1]
    assert f"\nit has nothing new for main: nothing is merged\n`tui-tasks work merge 1 {seen(place)}` sets" in shown
    accepted = (0, "accepted: it had nothing new for main; `tui-tasks work restore 1` undoes it\n")
    assert run(f"work merge 1 {seen(place)}")[:2] == accepted
    assert "\nwork of claude-1 accepted by you: nothing new for main, " in run("show 1")[1]
    assert run("work restore 1")[:2] == (0, "main keeps its commits; back for review\n")
    assert git(place.root, "rev-parse", "main") == before


def test_a_merge_that_others_have_built_on_is_taken_back_by_a_revert_alone(run: Run, place: Place) -> None:
    run(f"work merge 1 {seen(place)}")
    commit(place.root, "Build on it", c_txt="built\n")
    status, _, told = run("work restore 1")
    assert status == 1 and "--revert" in told and told.count("\n") == 1
    assert run("work restore 1 --revert")[0] == 0
    assert git(place.root, "show", "HEAD:c.txt") == "built"
    assert git(place.root, "ls-tree", "--name-only", "HEAD", "new.txt") == ""


def test_discarded_work_is_cleaned_up_and_comes_back_with_its_draft(run: Run, database: Path, place: Place) -> None:
    write(place.tree, draft_txt="draft\n")
    assert run("work discard 1")[0] == 0
    assert run("work clean")[:2] == (0, f"removed {place.tree}\n")
    assert run("work restore 1")[0] == 0
    assert (place.tree / "draft.txt").read_text() == "draft\n"
    with Store(str(database), read_only=True) as store:
        assert session_queries.find(store.db, "claude-1") is not None


def test_work_that_is_over_is_refused_by_a_merge_with_the_next_step_and_offered_no_merge(
    run: Run, database: Path, place: Place
) -> None:
    assert run("work discard 1")[0] == 0
    back = "the work on #1 is discarded: `tui-tasks work restore 1` brings it back for review\n"
    assert run("work merge 1") == (1, "", f"tui-tasks: {back}")
    assert run("work review 1")[1].endswith(f"\n{back}")
    assert run("work restore 1")[0] == 0
    assert run(f"work merge 1 {seen(place)}")[0] == 0
    for action in ("merge", "review"):
        refused = run(f"work {action} 1")
        assert refused == (1, "", "tui-tasks: #1 is merged already; `tui-tasks work restore 1` undoes it\n")
    git(place.root, "worktree", "add", "-q", "-b", "task/2", str(place.root.parent / "second"), "main")
    with Store(str(database)) as store:
        (home,) = store.commit(EnsureList("jobs", "task"), actor="human", now=START)
        (task,) = store.commit(AddTask("Nothing", home.uid), actor="human", now=START)
        start(store, task.uid, place.root, place.root.parent / "second", "task/2")
    assert run("work discard 2")[0] == 0
    assert run("work restore 2")[1] == "back for review, but nothing is changed there\n"


def test_a_pull_request_without_gh_says_what_to_install(
    run: Run, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    git(place.root, "remote", "add", "origin", "git@github.com:ada/api.git")
    status, _, told = run("work pr 1 --to https://github.com/ada/api.git")
    assert status == 1 and told.count("\n") == 1 and "gh is not installed: install it from" in told


def test_a_pull_request_is_pushed_only_to_the_address_that_was_shown(
    run: Run, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    git(place.root, "remote", "add", "origin", "git@github.com:ada/api.git")
    status, _, told = run("work pr 1")
    assert status == 1 and "as task/1 to https://github.com/ada/api.git" in told
    git(place.tree, "config", "remote.origin.url", "git@evil.example:ada/api.git")
    status, _, told = run("work pr 1 --to https://github.com/ada/api.git")
    assert status == 1 and "to https://evil.example/ada/api.git" in told and "gh is not" not in told


def test_without_a_name_the_work_that_goes_on_is_meant_and_then_the_one_that_was_merged(
    run: Run, database: Path, place: Place, tmp_path: Path
) -> None:
    git(place.root, "worktree", "add", "-q", "-b", "task/2", str(tmp_path / "other"))
    with Store(str(database)) as store:
        task = work_queries.everything(store.db)[0].task_uid
        start(store, task, place.root, tmp_path / "other", "task/2")
    assert run("work discard 1 --by claude-2")[0] == 0
    assert json.loads(run("work show 1 --json")[1])["agent"] == "claude-1"
    assert run(f"work merge 1 {seen(place)}")[0] == 0
    assert json.loads(run("work show 1 --json")[1])["agent"] == "claude-1"
    assert run("work restore 1")[:2] == (0, "taken out of main again; back for review\n")


def test_a_quit_says_how_many_agents_run_on_and_how_to_see_and_end_one(run: Run, database: Path) -> None:
    how = "`tui-tasks work ls` lists it, `work discard N` ends it."
    assert quitting_lines(str(database)) == [f"1 agent still runs: {how}"]
    assert run("work discard 1")[0] == 0
    assert quitting_lines(str(database)) == []


def test_a_quit_says_how_many_questions_wait_and_where_a_permission_is_asked_for_now(run: Run, database: Path) -> None:
    assert run("work discard 1")[0] == 0
    permission = InputRequested("permission", "Bash", {"command": "ls"})
    with Store(str(database)) as store:
        store.commit(RecordReport(SessionReport("claude", "s", (permission,))), actor="claude-9", now=START)
        assert quitting_lines(str(database)) == ["1 permission waits: its program asks for it in its own window now."]
        with screen_presence.announced(str(database), {}):
            assert quitting_lines(str(database)) == ["1 permission waits on another screen."]
        store.commit(OpenAsk("Which?"), OpenAsk("Why?"), actor="ann", now=START)
        store.commit(OpenAsk("Accept?"), actor="shell", now=START)
    questions = "3 questions wait: `tui-tasks asks` lists them, `asks answer` answers one."
    alone = "1 is a permission: its program asks for it in its own window now."
    assert quitting_lines(str(database)) == [questions, alone]
    with screen_presence.announced(str(database), {}):
        assert quitting_lines(str(database)) == [questions, "1 is a permission, and waits on another screen."]


def test_a_quit_of_the_demo_names_no_question_of_its_agent_which_has_ended(tmp_path: Path) -> None:
    path = tmp_path / f"{DEMO_FOLDER}x" / "demo.db"
    path.parent.mkdir(mode=0o700)
    with Store(str(path)) as store:
        store.commit(OpenAsk("Which?"), actor="demo-agent", now=START)
        assert quitting_lines(str(path)) == []


def test_what_the_human_has_put_off_is_no_question_that_waits_for_a_quit_the_digest_and_the_listing(
    run: Run, database: Path
) -> None:
    assert run("work discard 1")[0] == 0
    with Store(str(database)) as store:
        for question in ("Which?", "Why?"):
            store.commit(OpenAsk(question), actor="ann", now=clock.now())
        first, _ = ask_queries.open_asks(store.db)
        local_values.put(store.db, local_values.PUT_OFF, {first.uid: clock.now() + HOUR})
    assert quitting_lines(str(database)) == [
        "1 question waits, 1 later: `tui-tasks asks` lists them, `asks answer` answers one."
    ]
    _, told, _ = run("asks")
    assert re.findall(r"asks  \[(later)?|│ (.*)", told) == [("", ""), ("", "Why?"), ("later", ""), ("", "Which?")]
    _, told, _ = run("digest")
    assert re.findall('ann  (.*?)"', told) == ["asks: ", "put off: asks: "]
    with Store(str(database)) as store:
        local_values.put(store.db, local_values.PUT_OFF, {first.uid: clock.now()})
    assert quitting_lines(str(database))[0].startswith("2 questions wait: "), "the hour is over"


def test_the_task_of_an_agent_that_failed_says_in_listings_who_has_skipped_it(run: Run, database: Path) -> None:
    with Store(str(database)) as store:
        (work,) = work_queries.live(store.db)
        store.commit(DiscardWork(work.uid), actor="human", now=START)
        begun = StartWork(work.task_uid, "robot", "/repo", "/trees/1", branch="task/2", base="main")
        (failed,) = store.commit(begun, actor="human", now=START)
        why = "robot-1 ended with exit 3: Traceback (most recent call last): boom"
        store.commit(FailWork(failed.uid, why), actor="system", now=START)
        assert "#1" in run("ls status:needs_you")[1] and "#1" in run("ls status:pending")[1]
        store.commit(EditTask(work.task_uid, {"status": "skipped"}), actor="bob", now=START)
    for line in ("ls", "work ls"):
        assert "skipped by bob" in run(line)[1], line
    assert run("ls status:needs_you")[1] == ""


def test_a_restore_of_work_that_waits_says_the_next_step(run: Run) -> None:
    status, _, told = run("work restore 1")
    assert status and "the work is ready: nothing to undo; `tui-tasks work review 1` shows it" in told


def test_a_merge_that_was_cut_off_is_recorded_before_the_next_merge(run: Run, database: Path, place: Place) -> None:
    with Store(str(database)) as store:
        work = work_queries.everything(store.db)[-1]
        merge = merging.prepare(place.root, reviewed(place.tree, "main", "task/1"), "squash", "Rotate", ME)
        store.commit(BeginMerge(work.uid, msgspec.to_builtins(Intent("merge", merge))), actor="human", now=START)
    base_branch.carry_out(place.root, merge)
    git(place.root, "commit", "--allow-empty", "-qm", "Go on")
    status, _, told = run(f"work merge 1 {seen(place)}")
    assert status and told.startswith("ended the merge of claude-1\n"), told
    assert state(database) == "merged"
    assert git(place.root, "log", "--format=%s") == "Go on\nRotate\nFirst"
