"""A shell makes no list and no project from a typo."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tui_tasks.cli.main import main
from tui_tasks.cli.tasks import lookup
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import TaskList
from tui_tasks.core.store import Store
from tui_tasks.terminal import Claimed


@pytest.fixture
def db(tmp_path: Path) -> str:
    path = str(tmp_path / "x.db")
    assert main(["add", "one", "--db", path, "--project", "site", "--new"]) == 0
    return path


def lists(path: str) -> list[str]:
    with Store(path, read_only=True) as store:
        return [home.handle for home in task_queries.lists(store.db)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("add x --list site/tasklst", "no list site/tasklst (did you mean site/tasklist?); --new makes it"),
        ("add x --project sit", "no project sit (did you mean site?); --new makes it"),
        ("import jsonl FILE --list work", "no list work; --new makes it"),
        ("mv 1 --to work", "no list work; --new makes it"),
        ("mv 1 --to site/tasklst", "no list site/tasklst (did you mean site/tasklist?); --new makes it"),
    ],
)
def test_a_list_or_a_project_that_is_not_there_is_made_on_demand_alone(db, tmp_path, capsys, words, said) -> None:
    (tmp_path / "tasks.jsonl").write_text("")
    words = words.replace("FILE", str(tmp_path / "tasks.jsonl"))
    before = lists(db)
    assert main([*words.split(), "--db", db]) == 1
    assert said in capsys.readouterr().err
    assert lists(db) == before


READING = ["ls", "ls --json", "next", "lists", "done 1", "prime", "export jsonl", "export markdown"]


@pytest.mark.parametrize("words", READING)
def test_a_project_that_is_not_there_has_no_tasks_to_read_and_is_told_so(db, capsys, words) -> None:
    assert main([*words.split(), "--project", "sitte", "--db", db]) == 1
    assert "no project sitte (did you mean site?)" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["ls", "next", "done 1", "edit 1 x", "log 1 x"])
def test_a_list_that_is_not_there_is_told_so_by_every_command(db, capsys, words) -> None:
    assert main([*words.split(), "--list", "site/tasklst", "--db", db]) == 1
    assert "no list site/tasklst (did you mean site/tasklist?)" in capsys.readouterr().err


def test_a_list_of_a_project_is_found_by_the_name_that_the_log_writes(db, capsys) -> None:
    with Store(db) as store:
        store.commit(EnsureList("Errands", "task", "site"), actor="human", now=1)
    before = lists(db)
    for words in ("add Milk", "ls", "next"):
        capsys.readouterr()
        assert main([*words.split(), "--list", "site/Errands", "--db", db]) == 0
        assert "Milk" in capsys.readouterr().out
    assert lists(db) == before


def test_a_name_of_a_project_and_a_list_that_two_lists_have_is_refused(db, capsys) -> None:
    with Store(db) as store:
        for agent in ("one", "two"):
            store.commit(CreatePlan("Ship", "", project="site", agent=agent), actor=agent, now=1)
    assert main(["ls", "--list", "site/Ship", "--db", db]) == 1
    assert "2 plans have the title site/Ship: name one by its id" in capsys.readouterr().err


def test_with_new_it_is_made(db) -> None:
    assert main(["add", "x", "--list", "work", "--new", "--db", db]) == 0
    assert main(["add", "y", "--list", "work", "--db", db]) == 0
    assert "work" in lists(db)


def test_mv_with_new_makes_a_list_of_the_folders_project(db, capsys) -> None:
    assert main(["mv", "1", "--to", "work", "--new", "--db", db, "--project", "site"]) == 0
    with Store(db, read_only=True) as store:
        home = task_queries.find_list(store.db, "work")
        assert home is not None
        assert (home.project, home.pending) == ("site", 1)


def test_a_list_that_add_makes_in_a_project_is_shown_there(db, capsys) -> None:
    in_project = ["--project", "site", "--db", db]
    assert main(["add", "in sprint", "--list", "sprint", "--new", *in_project]) == 0
    assert capsys.readouterr().out == "added #2  in sprint\n"
    for words, shown in ((["ls"], "in sprint"), (["lists"], "sprint")):
        assert main([*words, *in_project]) == 0
        assert shown in capsys.readouterr().out
    assert main(["ls", "--project", "", "--db", db]) == 0
    assert "in sprint" not in capsys.readouterr().out


def test_add_names_a_list_that_is_not_of_the_folders_project(db, capsys) -> None:
    assert main(["add", "one", "--list", "sprint", "--new", "--db", db, "--project", ""]) == 0
    capsys.readouterr()
    assert main(["add", "two", "--list", "sprint", "--db", db, "--project", "site"]) == 0
    assert capsys.readouterr().out == "added #3  two  in sprint (of no project)\n"
    assert main(["add", "three", "--list", "site/tasklist", "--db", db, "--project", ""]) == 0
    assert capsys.readouterr().out == "added #4  three  in site/tasklist (of project site)\n"


@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("n", 1), ("", 1)])
def test_a_person_at_a_terminal_is_asked(db, monkeypatch, capsys, answer, status) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "w") as keyboard, os.fdopen(theirs) as terminal:
        keyboard.write(f"{answer}\n")
        keyboard.flush()
        monkeypatch.setattr("sys.stdin", terminal)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
        assert main(["add", "x", "--list", "work", "--db", db]) == status
    assert "There is no list work. Make it? [y/N]" in capsys.readouterr().err
    assert ("work" in lists(db)) == (status == 0)


def test_a_person_at_a_terminal_is_asked_before_mv_makes_a_list(db, monkeypatch, capsys) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "w") as keyboard, os.fdopen(theirs) as terminal:
        keyboard.write("y\n")
        keyboard.flush()
        monkeypatch.setattr("sys.stdin", terminal)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
        assert main(["mv", "1", "--to", "work", "--db", db]) == 0
    assert "There is no list work. Make it? [y/N]" in capsys.readouterr().err
    assert "work" in lists(db)


# A plan, which agents name by its id


@pytest.fixture
def plan(db: str) -> TaskList:
    """Return the only plan of its title, with one task."""
    with Store(db) as store:
        (home,) = store.commit(CreatePlan("Q4 review", project="site"), actor="claude-1", now=1)
        store.commit(AddTask("Count", home.uid), actor="claude-1", now=2)
    return home


def test_a_plan_is_found_by_its_title_as_by_its_id(db, plan, tmp_path, capsys) -> None:
    for words in (["ls"], ["ls", "--json"], ["next"], ["export", "markdown"], ["sync-file", f"{tmp_path}/t", "--once"]):
        seen = []
        for name in ("Q4 review", plan.uid):
            assert main([*words, "--list", name, "--db", db]) == 0
            seen.append(capsys.readouterr())
        assert seen[0] == seen[1]
        assert "Count" in seen[0].out or words[0] == "sync-file"
    with Store(db, read_only=True) as store:
        assert lookup.find_list(store.db, "Q4 review").uid == plan.uid


def test_a_task_is_added_or_moved_to_a_plan_by_its_title(db, plan, capsys) -> None:
    before = lists(db)
    assert main(["add", "Check", "--list", "Q4 review", "--db", db]) == 0
    assert main(["mv", "1", "--to", "Q4 review", "--db", db]) == 0
    assert lists(db) == before
    with Store(db, read_only=True) as store:
        assert task_queries.list_by_uid(store.db, plan.uid).pending == 3


def test_two_plans_of_one_title_are_listed_with_their_ids(db, plan, capsys) -> None:
    with Store(db) as store:
        (other,) = store.commit(CreatePlan("Q4 review"), actor="human", now=3)
    words = f"{plan.uid} (1 task, of project site) or {other.uid} (0 tasks)"
    for command in (["ls"], ["ls", "--json"], ["add", "x"], ["add", "x", "--new"]):
        assert main([*command, "--list", "Q4 review", "--db", db]) == 1
        assert f"2 plans have the title Q4 review: name one by its id, {words}" in capsys.readouterr().err
    with Store(db, read_only=True) as store, pytest.raises(Conflict):
        lookup.find_list(store.db, "Q4 review")


@pytest.mark.parametrize(
    ("name", "has_channel", "says"),
    [
        ("Q4 review", False, "2 plans have the title Q4 review: name one by its id, "),
        ("Q4 review", True, "2 plans have the title Q4 review: name one by its id, "),
        ("Q5", False, "no list Q5"),
        ("Q5", True, None),  # its first task makes the list
    ],
)
def test_a_screen_says_that_it_is_not_clear_which_list_is_named(
    db, plan, capsys, monkeypatch, name, has_channel, says
) -> None:
    with Store(db) as store:
        store.commit(CreatePlan("Q4 review"), actor="human", now=3)
    made = {}
    monkeypatch.setattr("os.isatty", lambda fd: fd != 0 or not has_channel)
    monkeypatch.setattr("tui_tasks.terminal.claim", lambda: Claimed(None, None, None))
    monkeypatch.setattr("tui_tasks.cli.supervise.screen_program._make_app", lambda *_, **options: made.update(options))
    monkeypatch.setattr("tui_tasks.terminal.run", lambda app: 0)
    assert main(["watch", "--list", name, "--db", db]) == 0
    assert made["list_name"] is None
    assert [str(one)[: len(says or "")] for one in made["problems"]] == ([says] if says else [])


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=n@example.org", *words],
        check=True,
        capture_output=True,
    )


def test_a_linked_work_tree_without_the_projects_file_belongs_to_the_project_of_its_repository(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("TUI_TASKS_DB", str(tmp_path / "x.db"))
    main_tree, linked = tmp_path / "site", tmp_path / "linked"
    main_tree.mkdir()
    git(main_tree, "init", "-q")
    git(main_tree, "commit", "-q", "--allow-empty", "-m", "first")
    git(main_tree, "worktree", "add", "-q", str(linked))
    monkeypatch.chdir(main_tree)
    assert main(["init"]) == 0
    assert main(["add", "of the site"]) == 0
    (linked / "deep").mkdir()
    monkeypatch.chdir(linked / "deep")
    capsys.readouterr()
    assert main(["ls"]) == 0
    assert "of the site" in capsys.readouterr().out


def test_a_second_folder_with_the_name_of_a_project_is_told_that_it_shares_it(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TUI_TASKS_DB", str(tmp_path / "x.db"))
    for parent in ("a", "b"):
        folder = tmp_path / parent / "site"
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        assert main(["init"]) == 0
        said = capsys.readouterr().err
        assert said == "" if parent == "a" else "has a project site already, with 1 task: this folder shares it" in said
        assert main(["add", "one"]) == 0


@pytest.mark.parametrize("command", ["ls", "next"])
def test_a_repository_without_a_project_is_told_that_it_shares_its_lists(
    tmp_path, monkeypatch, capsys, command
) -> None:
    monkeypatch.setenv("TUI_TASKS_DB", str(tmp_path / "x.db"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["add", "from elsewhere"]) == 0
    git(tmp_path, "init", "-q", "site")
    monkeypatch.chdir(tmp_path / "site")
    note = "Folders without a project share these lists; `tui-tasks init` makes one.\n"

    def said(*words: str) -> str:
        capsys.readouterr()
        main([command, *words])
        return capsys.readouterr().err

    assert said() == note
    assert said("--json") == said("--list", "tasklist") == said("--project", "") == ""
    with monkeypatch.context() as shared:
        shared.setenv("TUI_TASKS_PROJECT", "")
        assert said() == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert said() == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert main(["init"]) == 0
    assert note not in said()


def test_prime_tells_an_agent_that_the_tasks_may_be_of_other_folders(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TUI_TASKS_DB", str(tmp_path / "x.db"))
    monkeypatch.chdir(tmp_path)
    assert main(["add", "from elsewhere"]) == 0
    note = "This folder has no project: tasks of other folders may be among these.\n"
    assert main(["prime"]) == 0
    assert note not in capsys.readouterr().out
    git(tmp_path, "init", "-q", ".")
    assert main(["prime"]) == 0
    assert capsys.readouterr().out.endswith(note)
