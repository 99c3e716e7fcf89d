"""Who may run which command: one table, checked in one place, tried for every verb that there is."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from tests.conftest import START, Clock
from tests.hooks.playing import Player
from tests.hooks.screens import answering, screen
from tui_tasks.cli import person_rights as asking
from tui_tasks.cli.command_table import COMMANDS, PERSON_ONLY, RIGHTS
from tui_tasks.cli.main import main
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import OpenAsk, PauseAgent
from tui_tasks.core.operations.jobs import CreateJob, NoteRunAgent, RunJob
from tui_tasks.core.operations.tasks import AddTask, EnsureList, SetListReview
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.ask_queries import open_asks
from tui_tasks.core.read.tasks import held_queries
from tui_tasks.core.store import Store
from tui_tasks.runner import processes
from tui_tasks.state import callers

# A command line for each action that is a person's alone, by the command and the word of the action.
LINES = {
    ("", "write"): "",
    ("web", "write"): "web --write --port 0",
    ("accept", "*"): "accept 2",
    ("decline", "*"): "decline 2",
    ("join", "*"): "join 2 1",
    ("release", "*"): "release 1",
    ("asks", "answer"): "asks answer {ask} 1",
    ("jobs", "stop"): "jobs stop nightly",
    ("agents", "message"): "agents message bob x",
    ("agents", "stop"): "agents stop bob x",
    ("agents", "pause"): "agents pause bob",
    ("agents", "resume"): "agents resume eve",
    ("agents", "undo"): "agents undo bob --since 2020-01-01",
    ("lists", "new"): "lists new x",
    ("lists", "rename"): "lists rename work x",
    ("lists", "archive"): "lists archive work",
    ("lists", "unarchive"): "lists unarchive work",
    ("lists", "rm"): "lists rm work",
    ("lists", "one-in-progress"): "lists one-in-progress work on",
    ("lists", "review"): "lists review work off",
    ("lists", "auto"): "lists auto work on",
    ("check", "give"): "check give 1 tests",
    ("check", "take"): "check take 1 tests",
    ("check", "default"): "check default 1",
    ("rules", "remove"): "rules remove 1",
    ("work", "start"): "work start 1",
    ("work", "attach"): "work attach 1",
    ("work", "clean"): "work clean",
    ("work", "comment"): "work comment 1 more",
    ("work", "discard"): "work discard 1",
    ("work", "merge"): "work merge 1",
    ("work", "pr"): "work pr 1",
    ("work", "restore"): "work restore 1",
    ("token", "add"): "token add robin",
    ("token", "revoke"): "token revoke robin",
    ("restore", "*"): "restore copy.db",
    ("move", "*"): "move tasks.db postgresql://nobody@/none",
    ("compact", "*"): "compact --before 0d --yes",
    ("config", "use"): "config --use",
}
SCREENS = ("", "web")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that tests copy."""
    path = tmp_path_factory.mktemp("made") / "tasks.db"
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("work", "task"), actor="bob", now=START)
        store.commit(AddTask("Ship it", home.uid), actor="bob", now=START)
        store.commit(SetListReview(home.uid, True), PauseAgent("eve", "wait"), actor="human", now=START)
        store.commit(AddTask("Held", home.uid), actor="bob", now=START)
        store.commit(OpenAsk("Which one?", ("jose", "pyjwt")), actor="bob", now=START)
        job = CreateJob("nightly", "adhoc", "", "Back up", "UTC", dedicated_context=True)
        (made,) = store.commit(job, actor="bob", now=START)
        store.commit(RunJob(made.uid), actor="bob", now=START)
    return path


@pytest.fixture
def database(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = Path(shutil.copy(made, tmp_path / "tasks.db"))
    monkeypatch.setenv("TUI_TASKS_DB", str(path))
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(tmp_path / "no-config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(callers, "has_terminal", lambda: True)
    return path


def refused(line: str, database: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str, str]:
    """Run a command line that must be refused; return who is in the journal for it, what, and why."""
    with Store(str(database), read_only=True) as store:
        line = line.format(ask=open_asks(store.db)[0].uid)
        before = journal.newest(store.db)
    capsys.readouterr()
    assert main(shlex.split(line)) == 1
    told = capsys.readouterr().err
    with Store(str(database), read_only=True) as store:
        (entry,) = journal.since(store.db, before, 9)
    assert entry.kind == "agent.refused"
    assert entry.new["message"] in told
    return entry.actor, entry.new["tool"], told


def test_every_command_is_in_the_table_and_every_verb_of_a_person_is_tried_here() -> None:
    assert set(RIGHTS) == {*COMMANDS, ""}
    persons = {(name, word) for name, rights in RIGHTS.items() for word in rights.person.split()}
    assert persons == set(LINES)
    for rights in (*RIGHTS.values(), PERSON_ONLY):
        assert rights.person == "*" or set(rights.asks.split()) <= set(rights.person.split())


def test_a_command_that_is_not_in_the_table_is_a_persons(database, capsys, monkeypatch) -> None:
    monkeypatch.delitem(RIGHTS, "doctor")
    monkeypatch.setattr(callers, "has_terminal", lambda: False)
    assert refused("doctor", database, capsys)[:2] == ("shell", "tui-tasks doctor")


@pytest.mark.parametrize(("name", "word"), LINES)
def test_a_run_a_session_a_pipe_and_a_named_agent_are_refused_by_their_names(
    name: str, word: str, database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = LINES[name, word]
    if name not in SCREENS:
        # On the screen, `--agent` names the agent of the pipe, and its terminal is another than the pipe.
        assert refused(f"--agent evil {line}", database, capsys)[0] == "evil"
        with monkeypatch.context() as piped:
            piped.setattr(callers, "has_terminal", lambda: False)
            who, _, told = refused(line, database, capsys)
            assert (who, "standard input is not a terminal" in told) == ("shell", True)
    with monkeypatch.context() as inside, Store(str(database)) as store:
        (run,) = store.db.sql("SELECT uid FROM run").fetchone()
        inside.setenv("TUI_TASKS_RUN_TOKEN", "x")
        assert refused(line, database, capsys)[0] == "shell"
        store.commit(NoteRunAgent(run, "claude-7", "s"), actor="system", now=START)
        inside.setenv("TUI_TASKS_RUN_ID", run)
        who, tool, told = refused(line, database, capsys)
        assert (who, "run of a job" in told) == ("claude-7", True)
        assert tool.startswith(f"tui-tasks {name}".rstrip())
    with Store(str(database)) as store:
        began = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/"}
        Player(store, Clock(), "claude", **processes.identity(os.getppid())._asdict()).play(began)
    # Who blames another by `--agent` is found all the same.
    line = line if name in SCREENS else f"--agent codex-1 {line}"
    who, _, told = refused(line, database, capsys)
    assert (who, "this was started by claude-1" in told) == ("claude-1", True)


def test_the_id_that_a_program_leaves_in_the_environment_names_who_is_refused(database, capsys, monkeypatch) -> None:
    with Store(str(database)) as store:
        began = {"session_id": "s-1", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/"}
        Player(store, Clock(), "claude").play(began)
    assert main(["lists", "new", "x"]) == 0
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s-1")
    assert refused("lists new y", database, capsys)[0] == "claude-1"


def test_without_an_id_in_the_environment_no_session_is_looked_for_by_one(database, monkeypatch) -> None:
    monkeypatch.delattr(session_queries, "by_session")
    with Store(str(database)) as store:
        assert callers.other_caller(store.db, None, {}) is None


def test_what_a_person_does_at_a_terminal_stands_in_the_journal_with_that_terminal_and_its_parents(database) -> None:
    assert main(["accept", "2", "--version", "1"]) == 0
    with Store(str(database), read_only=True) as store:
        used, accepted = journal.latest(store.db, 2)
    assert [(entry.kind, entry.actor) for entry in (used, accepted)] == [
        ("terminal.used", "human"),
        ("task.accepted", "human"),
    ]
    assert used.change == accepted.change
    assert used.new["command"] == "tui-tasks accept"
    assert used.new["parents"][0] == f"{processes.name(os.getppid())} {os.getppid()}"


def test_a_journal_that_a_named_agent_would_drop_stays(database, capsys) -> None:
    assert main(["--agent", "evil", "compact", "--before", "0d", "--yes"]) == 1
    with Store(str(database), read_only=True) as store:
        assert journal.oldest(store.db) == 1
    assert main(["compact", "--before", "0d", "--yes"]) == 0


# The open screen


def test_the_open_screen_is_asked_and_what_it_allows_is_done(database, capsys) -> None:
    with screen(database), answering(database, asking.YES, "Held") as asked:
        assert main(["accept", "2"]) == 0
    assert asked[0].question.startswith("`tui-tasks accept`: #2, version 1, of bob:\n│ Held\n")
    with Store(str(database), read_only=True) as store:
        assert held_queries.everything(store.db) == []
        assert [ask.agent for ask in open_asks(store.db)] == ["bob"]


def test_what_the_open_screen_refuses_is_not_done(database, capsys) -> None:
    for line in ("accept 2", "lists review work off", "agents resume bob", "compact --before 0d --yes", "token add x"):
        with screen(database), answering(database, asking.NO):
            assert main(shlex.split(line)) == 1
        assert "you refused it on the screen" in capsys.readouterr().err
    with Store(str(database), read_only=True) as store:
        assert len(held_queries.everything(store.db)) == 1
        assert journal.oldest(store.db) == 1
        assert not [entry for entry in journal.since(store.db, 0, 999) if entry.kind == "terminal.used"]
    assert not database.with_name("tasks.db.tokens").exists()


def test_what_nobody_answers_is_not_done_and_no_terminal_answers_it(database, capsys, monkeypatch) -> None:
    monkeypatch.setattr(asking, "WAIT_SECONDS", 0.05)
    with screen(database):
        assert main(["accept", "2"]) == 1
    assert "no answer on the screen" in capsys.readouterr().err
    with Store(str(database)) as store:
        assert [ask.agent for ask in open_asks(store.db)] == ["bob"]
        (ask,) = store.commit(OpenAsk("`accept`?", (asking.YES, asking.NO)), actor="shell", now=START)
    assert main(["asks", "answer", ask.uid, "1"]) == 1
    assert "answered on the screen" in capsys.readouterr().err


def test_what_can_be_taken_back_asks_nobody(database) -> None:
    with screen(database):
        for line in ("decline 2 no", "lists new x", "agents pause bob", "agents message bob x"):
            assert main(shlex.split(line)) == 0


def test_a_task_that_a_program_adds_to_a_list_under_review_is_said_to_be_held(database, capsys, monkeypatch) -> None:
    monkeypatch.setattr(callers, "has_terminal", lambda: False)
    assert main(["add", "One more", "--list", "work"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("added #") and said.endswith("  One more, held until you accept it in the inbox\n")
    assert main(["add", "Another", "--list", "tasklist"]) == 0
    assert "held" not in capsys.readouterr().out
