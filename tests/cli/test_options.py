"""Which options each command has: those that mean something to it, and those that the contract names."""

from __future__ import annotations

import argparse

import pytest

from tui_tasks.cli.command_table import COMMANDS
from tui_tasks.cli.main import main
from tui_tasks.cli.options import SHARED
from tui_tasks.cli.parser import command_of, parser

OF_THE_CONTRACT = ("db", "agent", "list", "read-only", "no-scheduler")


def of_command(name: str) -> argparse.ArgumentParser:
    (commands,) = (action for action in parser(name)._actions if isinstance(action, argparse._SubParsersAction))
    return commands.choices[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_lists_the_shared_options_that_its_row_names_and_no_other(name: str) -> None:
    listed = {option for option in SHARED if f"--{option} " in of_command(name).format_help().replace("\n", " ")}
    assert listed == set(COMMANDS[name].options.split())


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


def test_every_shared_option_may_stand_before_any_command(tmp_path, capsys) -> None:
    db = str(tmp_path / "x.db")
    before = ["--db", db, "--no-scheduler", "--ascii", "--project", ""]
    assert main([*before, "--agent", "bob", "--list", "work", "add", "one"]) == 0
    assert main([*before, "--agent", "bob", "--list", "work", "ls"]) == 0
    assert " p    1  one  [work, bob, " in capsys.readouterr().out


def test_a_later_option_wins_over_an_earlier_one(tmp_path, capsys) -> None:
    db = str(tmp_path / "x.db")
    assert (
        main(["--db", str(tmp_path / "other.db"), "--list", "early", "add", "one", "--db", db, "--list", "late"]) == 0
    )
    assert main(["ls", "--db", db, "--list", "late"]) == 0
    assert "one  [late, shell, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("", None),
        ("--db x", None),
        ("ls --db x", "ls"),
        ("--db ls add x", "add"),
        ("--db=ls --read-only ls --status done", "ls"),
        ("--no-scheduler --list", None),
    ],
)
def test_the_command_is_found_behind_the_options_before_it(line: str, command: str | None) -> None:
    assert command_of(line.split()) == command
