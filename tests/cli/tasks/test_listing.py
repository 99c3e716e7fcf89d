"""`ls --json` of lists that are too long for memory."""

import errno
import json
import os
import tempfile

import pytest

from tests.conftest import START
from tui_tasks import clock, ntfy
from tui_tasks.cli.main import main
from tui_tasks.cli.supervise import history_text
from tui_tasks.cli.tasks import listing_json
from tui_tasks.core.commit import journal
from tui_tasks.core.commit.database_clock import DatabaseClock
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, ClaimNext, EditTask, EnsureList, ImportLog, LogTask
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.overview import Alert
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_json_sql
from tui_tasks.core.store import Store
from tui_tasks.tui.app import notifier

NAMES = ["one", "two\nlines\r", "three\u2028\x85", "\x1b[2J"]


@pytest.fixture
def database(path, monkeypatch):
    monkeypatch.setattr(task_json_sql, "SHORT", 0)
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("list", "task"), actor="a", now=START)
        store.commit(*(AddTask(name, home.uid) for name in NAMES), actor="a", now=START)
    return str(path)


def test_a_long_list_is_printed_from_a_file_as_a_short_one_is(database, monkeypatch, capsys):
    listing_json.print_tasks(database, "list", (), read_only=True)
    short = capsys.readouterr().out
    monkeypatch.setattr(listing_json, "MEMORY_CHARS", 0)
    listing_json.print_tasks(database, "list", (), read_only=True)
    assert capsys.readouterr().out == short
    assert [task["name"] for task in json.loads(short)] == NAMES


def test_a_list_that_finds_no_room_is_refused_before_anything_is_printed(database, monkeypatch, capsys):
    def no_room(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(listing_json, "MEMORY_CHARS", 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", no_room)
    with pytest.raises(StorageFailed, match="No space left"):
        listing_json.print_tasks(database, "list", (), read_only=True)
    assert capsys.readouterr().out == ""


LOOK_ALIKE = "hum\u200ban"
QUOTED = '"hum<U+200B>an"'


@pytest.fixture
def of_a_look_alike(path):
    """A database in which a name of old that looks like the human's has a task, a question and a log entry."""
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor=LOOK_ALIKE, now=START)
        (task,) = store.commit(AddTask("Approve it", home.uid, agent=LOOK_ALIKE), actor=LOOK_ALIKE, now=START)
        store.commit(LogTask(task.uid, "approved"), actor=LOOK_ALIKE, now=START)
        store.commit(
            ImportLog("l1", task.uid, START, "human", "yes"),
            ImportLog("l2", task.uid, START, "you", "yes"),
            actor="shell",
            now=START,
        )
        store.commit(OpenAsk("May I?", ("yes",), task.uid), actor=LOOK_ALIKE, now=START)
        yield str(path)


@pytest.mark.parametrize(
    "command", [("ls",), ("show", "1"), ("asks",), ("agents", "--all"), ("digest", "--since", "9000d")], ids=" ".join
)
def test_every_command_quotes_a_name_that_looks_like_the_humans(of_a_look_alike, capsys, command):
    assert main([*command, "--db", of_a_look_alike]) == 0
    printed = capsys.readouterr().out
    assert QUOTED in printed
    assert LOOK_ALIKE not in printed
    assert "human" not in printed.replace("imported:human", "")


def test_watch_plain_quotes_it(of_a_look_alike):
    with Store(of_a_look_alike) as store:
        made = [entry for entry in journal.since(store.db, 0, 9) if entry.actor == LOOK_ALIKE]
        assert all(f" {QUOTED} " in history_text.sentence(store.db, entry) for entry in made)
        assert made


def test_show_names_imported_authors_as_imported(of_a_look_alike, capsys):
    assert main(["show", "1", "--db", of_a_look_alike]) == 0
    authors = [
        line.split("  ")[1] for line in capsys.readouterr().out.splitlines() if line.endswith(("yes", "approved"))
    ]
    assert authors == [QUOTED, "imported:human", 'imported:"you"']


def test_the_phone_and_the_terminals_notification_quote_it_too(of_a_look_alike):
    with Store(of_a_look_alike) as store:
        (ask,) = ask_queries.open_asks(store.db)
    assert ntfy.of_ask(ask, "", {}, "https://x/y", titles=True)["title"] == f"{QUOTED} asks"
    assert QUOTED in ntfy.too_late(ask, titles=True)["message"]
    assert notifier.summary([Alert("ask", LOOK_ALIKE, "May I?")]).startswith(f"tui-tasks: {QUOTED} asks: ")


def test_a_task_whose_agent_asks_is_marked_though_the_question_does_not_name_it(path, capsys):
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("list", "task"), actor="a", now=START)
        (task,) = store.commit(AddTask("Ship it", home.uid), actor="a", now=START)
        store.commit(EditTask(task.uid, {"status": "in_progress", "agent": "a"}), actor="a", now=START)
        store.commit(OpenAsk("Which port?"), actor="a", now=START)
    assert main(["ls", "--db", str(path)]) == 0
    assert capsys.readouterr().out.startswith("#1 ▲  Ship it  [list, a ")


def test_a_task_of_the_humans_that_an_agent_has_closed_is_shown_as_closed_by_that_agent(path, capsys):
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("list", "task"), actor="a", now=START)
        (task,) = store.commit(AddTask("Ship it", home.uid), actor="a", now=START)
        store.commit(EditTask(task.uid, {"agent": "human"}), actor="bob", now=START)
        assert list_pages.line(store.db, task.uid).who == "human"
        store.commit(EditTask(task.uid, {"status": "done"}), actor="bob", now=START)
        assert list_pages.line(store.db, task.uid).who == "bob"
    for words in ("who:bob", "who:bob sort:agent"):
        assert main(["ls", *words.split(), "--db", str(path)]) == 0
        assert "[list, by bob, " in capsys.readouterr().out
    assert main(["ls", "who:human", "--db", str(path)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("command", [["ls"], ["ls", "--json"], ["show", "1", "--json"]])
def test_a_listing_shows_no_claim_whose_lease_has_ended(database, monkeypatch, capsys, command):
    monkeypatch.setenv("TUI_TASKS_DB", database)
    monkeypatch.setattr(clock, "uptime", lambda: clock.Uptime("m", 1_000_000))
    with Store(database) as store:
        store.database_clock = DatabaseClock(clock.uptime)
        store.commit(ClaimNext("bob", 60_000_000), actor="bob", now=START)
    monkeypatch.setattr(clock, "uptime", lambda: clock.Uptime("m", 62_000_000))
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "bob" not in printed
    assert "in_progress" not in printed
    assert "◐" not in printed
