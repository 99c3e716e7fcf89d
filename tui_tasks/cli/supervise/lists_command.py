"""`lists`: lists the lists, or changes one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, Final

from tui_tasks.cli import person_rights
from tui_tasks.cli.command_parser import CommandAction, declare_actions, words
from tui_tasks.cli.options import lacks_default_database, open_store, print_no_tasks_yet, project_of, require_database
from tui_tasks.cli.person_rights import quoted
from tui_tasks.cli.streams import print_json
from tui_tasks.cli.tasks import lookup
from tui_tasks.core import vocab
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import ArchiveList, DeleteList, EnsureList, RenameList, SetListReview, SetListRule
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import TaskList
from tui_tasks.text.safe import name_text, safe_line

_LIST: Final = "its name, or a plan's id"
_EPILOG: Final = "Without an action: the lists that are not archived. All actions need a person at a terminal."


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("--all", action="store_true", help="also archived lists")
    declare_actions(name, command, _ACTIONS)
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """List the lists, or act on one. Exit status 0."""
    if options.action is not None:
        _ACTIONS[options.action].run(options)
        return 0
    if lacks_default_database(options):
        print_no_tasks_yet()
        if options.json:
            print_json({"lists": []}, indent=2)
        return 0
    require_database(options)
    with open_store(options) as store:
        lookup.check_project(options, store.db)
        lists = [home for home in task_queries.lists(store.db, project_of(options)) if options.all or not home.archived]
        autos = {auto.uid: work_queries.auto_text(auto) for auto in work_queries.all_autos(store.db)}
    if options.json:
        print_json({"lists": [to_json(home) for home in lists]}, indent=2)
        return 0
    for home in lists:
        print(_line(home, autos.get(home.uid, "")))
    if not lists:
        print("no lists", file=sys.stderr)
    return 0


def to_json(home: TaskList) -> dict[str, Any]:
    """Return a list as JSON. `handle` is what `--list` takes."""
    fields = {name: getattr(home, name) for name in ("handle", "uid", "kind", "name", "description", "project")}
    fields |= {name: getattr(home, name) for name in ("archived", "one_in_progress", "review")}
    return {**fields, "counts": {status: getattr(home, status) for status in vocab.STATUSES}}


def _line(home: TaskList, auto: str = "") -> str:
    facts = [f"{home.pending + home.in_progress:,} open of {home.total:,}"]
    facts += ["archived"] * home.archived + ["one at a time"] * home.one_in_progress + ["under review"] * home.review
    facts += [f"project {home.project}"] if home.project is not None else []
    facts += [auto] if auto else []
    plan = f"  {home.uid}" if home.kind == "plan" else ""
    return f"{name_text(home.name, 60)}{plan}  [{safe_line(', '.join(facts))}]"


def _new(options: argparse.Namespace) -> None:
    if not options.name.strip():
        raise InvalidArgument("name", "a list needs a name")
    with open_store(options) as store:
        is_there = task_queries.find_list(store.db, options.name) is not None
        (made,) = person_rights.commit(options, store, EnsureList(options.name, "task", project_of(options)))
    _print_result(options, "there already" if is_there else "made", made)


def _commit_change(word: str, operation: Callable[[TaskList, argparse.Namespace], Operation]) -> Callable[[Any], None]:
    def run(options: argparse.Namespace) -> None:
        require_database(options)
        with open_store(options) as store:
            home = lookup.find_list(store.db, options.target)
            # Asked on the open screen for `review` alone.
            what = [f"Review {options.switch}, for the list", *quoted(home.name)] if options.action == "review" else []
            (changed,) = person_rights.commit(options, store, operation(home, options), what=what)
        _print_result(options, word, changed)
        if isinstance(changed, TaskList) and options.action == "rm" and not options.json:
            print("u on the screen brings it back with its tasks", file=sys.stderr)

    return run


def _auto(options: argparse.Namespace) -> None:
    from pathlib import Path

    from tui_tasks.core.operations.work import SetAuto, StopAuto
    from tui_tasks.core.unhidden_text import unhidden_line
    from tui_tasks.settings import live_settings
    from tui_tasks.work import program_commands

    require_database(options)
    with open_store(options) as store:
        home = lookup.find_list(store.db, options.target)
        operation: Operation = StopAuto(home.uid)
        what = [f"Auto {options.switch}, for the list", *quoted(home.name)]
        if options.switch == "on":
            if options.program:
                program_commands.check(live_settings.work(), options.program)
            fields = {name: getattr(options, name) for name in ("program", "at_once", "failures", "stays")}
            operation = SetAuto(home.uid, str(Path.cwd()), **fields)
            program = unhidden_line(options.program or "the default program")
            at_once = f"{options.at_once} at once{', also after a restart' * options.stays}"
            what += [f"Its ready tasks are started with {program}, {at_once}, in", *quoted(operation.folder)]
        (changed,) = person_rights.commit(options, store, operation, what=what)
    if options.json:
        print_json(work_queries.auto_json(changed))
        return
    print(f"{safe_line(home.name, 60)}: {safe_line(work_queries.auto_text(changed) or 'auto is off')}")
    if changed.is_on:
        print("An open screen or scheduler starts its ready tasks.", file=sys.stderr)


def _declare_auto(command: argparse.ArgumentParser) -> None:
    _declare_switch(command)
    command.add_argument("--program", default="", help="claude, codex, gemini, opencode, or one of the settings")
    command.add_argument("--at-once", type=int, default=1, metavar="N", help="how many agents at once (default: 1)")
    command.add_argument("--failures", type=int, default=3, metavar="N", help="stop after N failures in a row (3)")
    command.add_argument("--stay", dest="stays", action="store_true", help="continue after the screen restarts")


def _print_result(options: argparse.Namespace, word: str, home: TaskList) -> None:
    if options.json:
        print_json(to_json(home))
    else:
        print(f"{word}: {_line(home)}")


def _declare_target(**more: str) -> Callable[[argparse.ArgumentParser], None]:
    def declare(command: argparse.ArgumentParser) -> None:
        command.add_argument("target", metavar="LIST", help=_LIST)
        words(**more)(command)

    return declare


def _declare_switch(command: argparse.ArgumentParser) -> None:
    _declare_target()(command)
    command.add_argument("switch", metavar="on|off", choices=("on", "off"))


_ACTIONS: Final = {
    "new": CommandAction("make a list", words(name="its name"), _new),
    "rename": CommandAction(
        "give a list another name",
        _declare_target(name="the new name"),
        _commit_change("renamed", lambda home, options: RenameList(home.uid, options.name)),
    ),
    "archive": CommandAction(
        "archive a list, until a task is added to it",
        _declare_target(),
        _commit_change("archived", lambda home, _: ArchiveList(home.uid, True)),
    ),
    "unarchive": CommandAction(
        "bring an archived list back",
        _declare_target(),
        _commit_change("brought back from the archive", lambda home, _: ArchiveList(home.uid, False)),
    ),
    "rm": CommandAction(
        "delete a list with its tasks; undo on the screen restores them",
        _declare_target(),
        _commit_change("deleted", lambda home, _: DeleteList(home.uid)),
    ),
    "one-in-progress": CommandAction(
        "allow one task in progress for each agent, or any number",
        _declare_switch,
        _commit_change("changed", lambda home, options: SetListRule(home.uid, options.switch == "on")),
    ),
    "auto": CommandAction("start agents on the ready tasks of a list, or stop that", _declare_auto, _auto),
    "review": CommandAction(
        "hold new tasks of agents in a list until you accept them, or stop that",
        _declare_switch,
        _commit_change("changed", lambda home, options: SetListReview(home.uid, options.switch == "on")),
    ),
}
