"""Which options each command has: those that mean something to it, and those that the contract names."""

from __future__ import annotations

import argparse
import json
import re
import shlex

import pytest

from tui_tasks.cli.command_parser import parser
from tui_tasks.cli.command_table import COMMANDS, DAILY, HEADINGS
from tui_tasks.cli.main import command_of, main, words_alone
from tui_tasks.cli.options import SHARED, parse
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.read.tasks import ready_tasks, task_json_sql, task_queries
from tui_tasks.core.store import Store

OF_THE_CONTRACT = ("db", "agent", "list", "read-only", "no-scheduler")


def of_command(name: str) -> argparse.ArgumentParser:
    (commands,) = (action for action in parser(name)._actions if isinstance(action, argparse._SubParsersAction))
    return commands.choices[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_lists_the_shared_options_that_its_row_names_and_no_other(name: str) -> None:
    listed = {option for option in SHARED if f"--{option} " in of_command(name).format_help().replace("\n", " ")}
    # The `--agent` of `admin roles` is its own: a role, and the agent as which it writes.
    own = {"agent"} if name == "admin" else set()
    assert listed == set(COMMANDS[name].options.split()) | own


@pytest.mark.parametrize("name", ["serve", "watch", "call", "mcp"])
@pytest.mark.parametrize("option", OF_THE_CONTRACT)
def test_what_the_contract_starts_takes_the_options_of_the_contract(name: str, option: str) -> None:
    assert option in COMMANDS[name].options.split()


@pytest.mark.parametrize(
    "line",
    ["ls --no-scheduler", "add x --ascii", "prime --ascii", "show 1 --agent bob", "config --list x", "demo --db x"],
)
def test_an_option_that_means_nothing_to_a_command_is_wrong_usage_after_it(line: str, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    said = capsys.readouterr().err
    assert said.startswith(f"tui-tasks {line.split()[0]}: unrecognized arguments: --")
    assert f"`tui-tasks {line.split()[0]} --help`" in said


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("serve --as ada", "--agent"),
        ("serve --agnt ada", "--agent"),
        ("jobs new daily prompt --cron x", "--when"),
        ("add x --lst=foo", "--list"),
        ("edit 3 --due fri", "due:fri"),
        ("ls --sort due", "sort:due"),
        ("ls -home", "-#home"),
        ("ls -jwt", "-#jwt"),
        ("export todo.txt out.txt", "> out.txt"),
        ("serve --cheese", ""),
        ("show 1 --agent bob", ""),
    ],
)
def test_an_unknown_option_names_the_one_that_it_may_have_meant(line: str, meant: str, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    said = capsys.readouterr().err
    assert f"did you mean {meant}?" in said if meant else "did you mean" not in said


def test_every_shared_option_may_stand_before_any_command(tmp_path, capsys) -> None:
    db = str(tmp_path / "x.db")
    before = ["--db", db, "--no-scheduler", "--ascii", "--project", ""]
    assert main([*before, "--agent", "bob", "--list", "work", "add", "one", "--new"]) == 0
    assert main([*before, "--agent", "bob", "--list", "work", "ls"]) == 0
    assert "#1 p  one  [work, by bob, now" in capsys.readouterr().out


def test_a_later_option_wins_over_an_earlier_one(tmp_path, capsys) -> None:
    db = str(tmp_path / "x.db")
    assert (
        main(["--db", str(tmp_path / "no.db"), "--list", "early", "add", "one", "--db", db, "--list", "late", "--new"])
        == 0
    )
    assert main(["ls", "--db", db, "--list", "late"]) == 0
    assert "one  [late, by shell, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("", None),
        ("--db x", None),
        ("ls --db x", "ls"),
        ("--db ls add x", "add"),
        ("--db=ls --read-only ls --status done", "ls"),
        ("--no-scheduler --list", None),
        ("--bogus ls", None),
    ],
)
def test_the_command_is_found_behind_the_options_before_it(line: str, command: str | None) -> None:
    assert command_of(line.split()) == command


def test_words_may_stand_on_both_sides_of_the_options(tmp_path, capsys) -> None:
    db = ["--db", str(tmp_path / "x.db")]
    for name in ("one #a", "two #a", "three"):
        assert main(["add", name, *db]) == 0
    assert main(["done", "1", *db, "3"]) == 0
    assert main(["edit", "2", "Two", "--untag", "a", *db, "anew"]) == 0
    capsys.readouterr()
    assert main(["ls", "status:open", *db, "anew"]) == 0
    assert "#2 ○  Two anew  " in capsys.readouterr().out
    assert main(["status", "2", "failed", "no", *db, "time"]) == 0
    assert main(["log", "2", "one", "more", *db, "1"]) == 0
    assert main(["show", "2", *db, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [entry["message"] for entry in shown["log"]] == ["no time", "one more 1"]
    with pytest.raises(SystemExit, match="2"):
        main(["show", "1", *db, "2"])
    (tmp_path / "one.md").write_text("- [ ] four\n")
    assert main(["import", "markdown", "--dry-run", str(tmp_path / "one.md"), *db]) == 0
    assert "1 would be added" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("lst", "no command lst. Did you mean ls or list"),
        ("search", "no command search. `tui-tasks ls WORD` searches tasks. `tui-tasks --help`"),
        ("stats", "no command stats. `S` on the screen shows statistics. `tui-tasks --help`"),
        ("\x1b[2J", "no command ␛[2J. `tui-tasks --help` lists them"),
        ("--read-only sho", "Did you mean show"),
        ("12 done", "no command 12. The command comes first: `tui-tasks done 12`."),
    ],
)
def test_what_is_no_command_is_told_with_those_that_are_near(line: str, told: str, capsys) -> None:
    assert main(line.split()) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_in_the_help_of_a_command_can_be_typed(name: str) -> None:
    examples = of_command(name).format_help().partition("\nexample")[2].splitlines()[1:]
    if name == "completion":
        return
    assert examples
    for line in examples:
        program, *words = shlex.split(line)
        assert (program, words[0]) == ("tui-tasks", name)
        parse(parser(name), words)


def test_the_help_has_the_ten_commands_of_a_day_and_names_the_page_with_all(capsys) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    listed = capsys.readouterr().out.partition("COMMAND\n")[2]
    named = [line.split()[0] for line in listed.splitlines() if re.match(r"    [a-z]", line)]
    assert named == [name for name in COMMANDS if name in DAILY]
    assert len(named) == 10
    assert "tui-tasks help commands" in listed


def test_the_page_of_commands_has_every_command_in_groups(capsys) -> None:
    assert main(["help", "commands"]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines() if re.match(r"  [a-z]", line)] == list(COMMANDS)
    assert set(HEADINGS) <= set(COMMANDS)
    for heading in HEADINGS.values():
        assert f"\n\n{heading}:\n" in f"\n\n{listed}"


_LINES_OF_WORDS = (
    "add one",
    "add one description",
    "ls",
    "ls #tag open",
    "show 1",
    "next",
    "start 1 2",
    "log 1 two words",
    "status 1 done why it is",
    "done 1",
    "fail 1 it broke",
    "fail 1",
    "edit 1 new title",
    "link 1 branch:x file:y",
    "rm 1 2",
    "undo",
    "redo",
    "prime",
    "call",
    "call tasklist:display",
    "call tasklist:add_task name=x description=y",
)


@pytest.mark.parametrize("line", _LINES_OF_WORDS)
def test_a_line_of_words_is_read_without_argparse_as_argparse_reads_it(line: str) -> None:
    words = line.split()
    read, parsed = vars(words_alone(words)), vars(parse(parser(words[0]), words))
    # `call` has its help here, which is printed by the parser alone.
    assert {**read, "usage": None} == {**parsed, "usage": None}
    assert words[0] in {name for name, command in COMMANDS.items() if command.is_short}


@pytest.mark.parametrize(
    "line",
    [
        "add",
        "add one --json",
        "add -- -one",
        "status 1 wrong",
        "log 1",
        "mv 1",
        "next 1",
        "done",
        "call -h",
        "--db x ls",
        "lists",
        "bogus",
        "",
        "add \udcff",
    ],
)
def test_options_and_wrong_usage_are_left_to_argparse(line: str) -> None:
    assert words_alone(line.split()) is None


@pytest.mark.parametrize(
    ("command", "broken"),
    [
        (["ls"], (task_queries, "lists")),
        (["ls", "--json"], (task_json_sql, "_pages")),
        (["show", "abc"], (task_queries, "tasks_beginning")),
        (["next"], (ready_tasks, "next_task")),
        (["watch", "--plain"], (journal, "newest")),
    ],
    ids=str,
)
def test_a_database_that_cannot_be_read_is_told_in_one_line(path, monkeypatch, capsys, command, broken) -> None:
    def fail(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with Store(str(path)):
        pass
    monkeypatch.setattr(*broken, fail)
    assert main([*command, "--db", str(path)]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"tui-tasks: {path} cannot be read: disk I/O error\n")


def test_a_blocked_task_shows_what_it_waits_for_and_done_says_that_it_was_still_waiting(tmp_path, capsys) -> None:
    db = ["--db", str(tmp_path / "x.db"), "--list", "work", "--ascii", "--no-scheduler"]
    assert main([*db, "add", "one", "--new"]) == 0
    assert main([*db, "add", "two after #1"]) == 0
    assert main([*db, "ls"]) == 0
    assert ", after #1]" in capsys.readouterr().out.splitlines()[-1]
    assert main([*db, "done", "2"]) == 0
    assert "#2 was still waiting: after #1" in capsys.readouterr().err


LIMIT = "tui-tasks work start: argument --limit"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["ls", "--db", ""], 1, "tui-tasks: --db is empty: name a file, or leave it out"),
        (["log", "1", " ", "--db", "x.db"], 1, "tui-tasks: an entry of a log needs a text"),
        (["digest", "--since", "", "--db", "x.db"], 2, "tui-tasks digest: --since: '' is not an instant: give an age"),
        (["show", "a" * 500, "--db", "x.db"], 1, f"tui-tasks: no task {'a' * 59}…: `tui-tasks ls "),
        (["add", "a" * 10_001, "--db", "x.db"], 1, "tui-tasks: name: has more than 10,000 characters"),
        (["-V"], 2, "tui-tasks: unrecognized arguments: -V: did you mean --version?"),
        (["web", "--port", "abc"], 2, "tui-tasks web: --port takes a whole number, not abc; `tui-tasks web --help`"),
        (["ls", "-n", "3", "--db", "x.db"], 2, "tui-tasks ls: unrecognized arguments: -n: did you mean | head?"),
        (
            ["work", "merge", "1", "--into", "x"],
            2,
            "tui-tasks work merge: unrecognized arguments: --into x; `tui-tasks w",
        ),
        (["work", "start", "1", "--limit", "hours=1"], 2, f"{LIMIT}: no limit 'hours'; use one of tokens, cost_usd, m"),
        *(
            (
                ["work", "start", "1", "--limit", f"cost_usd={value}"],
                2,
                f"{LIMIT}: 'cost_usd={value}': cost_usd takes a number above",
            )
            for value in ("inf", "nan", "1e400", "-1")
        ),
        (["work", "start", "1", "--limit", "tokens=1e9999"], 2, f"{LIMIT}: 'tokens=1e9999': tokens takes a whole nu"),
        (["work", "start", "1", "--limit", "minutes=-1"], 2, f"{LIMIT}: 'minutes=-1': minutes takes a whole number fr"),
        (["work", "start", "1", "--limit", "turns=x"], 2, f"{LIMIT}: 'turns=x' has no number: write it like `turns=1`"),
        (["work", "start", "1", "--limit", "turns=0"], 2, f"{LIMIT}: 'turns=0': turns takes a whole number from 1; `"),
        (["import", "jsonl", "no.jsonl", "--db", "x.db"], 1, "tui-tasks import: no.jsonl cannot be used: No such file"),
        (["backup", "file/b.db", "--db", "x.db"], 1, "tui-tasks: cannot make file/b.db: Not a directory; name another"),
    ],
)
def test_an_error_says_what_is_wrong_with_what(words, status, said, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # a machine without a default database
    (tmp_path / "file").touch()
    main(["add", "one", "--db", "x.db"])
    try:
        ended = main(words)
    except SystemExit as left:
        ended = left.code
    assert (ended, capsys.readouterr().err[: len(said)]) == (status, said)


@pytest.mark.parametrize("words", [["ls", "--db", "x.db"], ["init", "web"], ["setup", "claude"]])
def test_a_command_in_a_folder_that_was_deleted_says_so(words, tmp_path, monkeypatch, capsys) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(words) == 1
    said = "tui-tasks: the folder in which you are was deleted: cd to another one, and try again\n"
    assert capsys.readouterr().err == said
