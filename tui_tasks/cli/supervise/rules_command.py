"""`rules`: lists the standing answers of the settings file, tries one on a command, and removes one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import msgspec

from tui_tasks import clock
from tui_tasks.cli.command_parser import CommandAction, declare_actions
from tui_tasks.cli.options import open_store
from tui_tasks.cli.streams import print_json
from tui_tasks.core.errors import Conflict, DatabaseRefused
from tui_tasks.core.rules.agents import standing_answers
from tui_tasks.core.rules.agents.standing_answers import AnswerRule
from tui_tasks.core.rules.recorded_settings import recorded
from tui_tasks.settings import config, paths
from tui_tasks.text.safe import safe_line


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    declare_actions(name, command, _ACTIONS)
    command.epilog = "Without an action: the rules by their numbers. They are [[rule]] tables of the settings file."


def run(name: str, options: argparse.Namespace) -> int:
    """List the rules, or carry out an action. Exit status 0; of `test`, 1 if it would be asked."""
    path = paths.configuration()
    settings, problems = config.load(path)
    for problem in problems:
        if problem.message.startswith("rule"):
            raise Conflict(f"{problem}: no rule of the file applies until it is right")
    if options.action == "test":
        return _test(options, settings.rule)
    if options.action == "remove":
        return _remove(options, path, settings.rule)
    if options.json:
        print_json({"rules": [{"number": at, **msgspec.to_builtins(rule)} for at, rule in _numbered(settings.rule)]})
        return 0
    for at, rule in _numbered(settings.rule):
        print(f"{at:>3}  {safe_line(str(rule))}")
    if not settings.rule:
        print(f"no rules: add [[rule]] tables to {safe_line(str(path))} (tui-tasks help configuration)")
    elif (hint := _not_in_force(options, settings.rule)) is not None:
        print(hint)
    return 0


def _numbered(rules: tuple[AnswerRule, ...]) -> list[tuple[int, AnswerRule]]:
    return list(enumerate(rules, 1))


def _not_in_force(options: argparse.Namespace, rules: tuple[AnswerRule, ...]) -> str | None:
    """Return why the rules of the file are not those of the database; None if they are."""
    try:
        with open_store(options) as store:
            settings = recorded(store.db)
    except DatabaseRefused:
        return None
    if settings is not None and settings.rules == rules:
        return None
    return "These rules take effect when a screen opens the database (tui-tasks), or by tui-tasks config --use."


def _declare_test(command: argparse.ArgumentParser) -> None:
    command.add_argument("command_line", metavar="COMMAND", help="the command that an agent wants to run, in quotes")
    command.add_argument("--tool", default="Bash", help="the tool that runs it (default: Bash)")
    command.add_argument("--program", default="claude", help="the agent program (default: claude)")
    command.add_argument("--in-project", metavar="NAME", help="the project of the session")


def _test(options: argparse.Namespace, rules: tuple[AnswerRule, ...]) -> int:
    """Print which rule would answer a command, and what."""
    given = {"command": options.command_line}
    rule = standing_answers.find(
        rules,
        options.tool,
        given,
        program=options.program,
        project=options.in_project,
        now=clock.now(),
        is_whole=True,
    )
    plain = standing_answers.command_words(given) is not None
    if options.json:
        answer = "ask" if rule is None else rule.answer
        print_json({"answer": answer, "rule": None if rule is None else str(rule), "plain": plain})
    elif rule is not None:
        print(f"{rule.answer}: {safe_line(str(rule))}")
    elif plain:
        print("ask: no rule answers it")
    else:
        print("ask: it is more than plain words and quotes, so no pattern matches it")
    return 0 if rule is not None else 1


def _declare_remove(command: argparse.ArgumentParser) -> None:
    command.add_argument("number", metavar="N", type=int, help="the rule's number, as `rules` lists it")


def _remove(options: argparse.Namespace, path: Path, rules: tuple[AnswerRule, ...]) -> int:
    removed = config.remove(path, options.number, rules)
    if options.json:
        print_json({"removed": msgspec.to_builtins(removed)})
    else:
        print(f"removed rule {options.number}: {safe_line(str(removed))}")
    return 0


_ACTIONS: Final = {
    "test": CommandAction("show which rule would answer a command", _declare_test, lambda options: None),
    "remove": CommandAction("remove a rule from the settings file", _declare_remove, lambda options: None),
}
