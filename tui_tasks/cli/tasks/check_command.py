"""`check`: lists the configured checks, runs those of a task, and changes which ones a task has."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.cli import streams
from tui_tasks.cli.options import REFUSED, USAGE, hosts_scheduler, open_store, require_database, session_of
from tui_tasks.cli.printing import print_json
from tui_tasks.core.vocab import SHELL

if TYPE_CHECKING:
    from tui_tasks.channel.session import Session
    from tui_tasks.core.snapshots import Check, CheckDefinition, Task
    from tui_tasks.runner.checks.checks import CheckProfiles

_VERBS: Final = ("give", "take", "default")
_EPILOG: Final = """\
Without words the configured checks are listed, with --list those of that list.
TASK [NAME] runs a task's checks, or the one of that name, and prints how they end; exit status 1 where not all pass.
give and take let a task have a check or not, default gives it those of its list: for a person, at a terminal.
A TASK is its number in its list, its uid, or the beginning of that."""


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    command.add_argument("words", metavar="WORD", nargs="*", help="TASK [NAME], or give, take or default TASK [NAME]")
    command.add_argument("--no-wait", action="store_true", help="ask for the run, and do not wait for its end")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """List, run, give or take checks; return the exit status."""
    words: list[str] = options.words
    verb = words.pop(0) if words and words[0] in _VERBS else "run" if words else "list"
    wanted = {"list": (0, 0), "run": (1, 2), "default": (1, 1)}.get(verb, (2, 2))
    if not wanted[0] <= len(words) <= wanted[1]:
        print("tui-tasks check: say TASK [NAME], give TASK NAME, take TASK NAME or default TASK", file=sys.stderr)
        return USAGE
    require_database(options)
    from tui_tasks.dialects.shell import SHELL as TOOLS

    with open_store(options) as store:
        session = session_of(options, store, TOOLS)
        session.look_at_checks()
        if verb == "list":
            return _print_definitions(session, as_json=options.json)
        if verb == "run":
            return _request_run(session, options, *words)
        options.action = verb  # `person` names it in a refusal
        return _assign(session, options, verb, *words)


# Listing


def _print_definitions(session: Session, *, as_json: bool) -> int:
    from tui_tasks.core.errors import NotFound
    from tui_tasks.core.read import checks
    from tui_tasks.core.read.tasks import queries
    from tui_tasks.settings.current import CheckSettings
    from tui_tasks.text.safe import safe_line

    found = checks.definitions(session.store.db)
    named = session.identity.list
    if named is not None:
        home = queries.find_list(session.store.db, named)
        if home is None:
            raise NotFound("list", named)
        found = tuple(check for check in found if {home.name, home.uid}.intersection(check.lists))
    profiles = CheckSettings()()
    if as_json:
        print_json({"checks": [_to_json(check, profiles) for check in found]}, indent=2)
    elif not found:
        print(f"no check is configured{f' for the list {safe_line(named)}' if named else ''}; see `tui-tasks config`")
    else:
        print("\n".join(safe_line(_line(check, profiles)) for check in found))
    return 0


def _line(check: CheckDefinition, profiles: CheckProfiles) -> str:
    profile = profiles.find(check.name, check.digest) if check.source == profiles.source else None
    what = f"{shlex.join(profile.command)}  in {profile.cwd}" if profile is not None else f"of {check.source}"
    facts = [f"for {', '.join(check.lists)}"] * bool(check.lists) + ["gate"] * check.gate
    return "  ".join([check.name, what, *facts])


def _to_json(check: CheckDefinition, profiles: CheckProfiles) -> dict[str, Any]:
    profile = profiles.find(check.name, check.digest) if check.source == profiles.source else None
    value: dict[str, Any] = {"name": check.name, "lists": check.lists, "gate": check.gate, "source": check.source}
    for name in ("command", "cwd", "timeout", "inputs"):
        value[name] = getattr(profile, name) if profile is not None else None
    return value


# Running


def _request_run(session: Session, options: argparse.Namespace, reference: str, name: str | None = None) -> int:
    from tui_tasks.cli.tasks.changes import request
    from tui_tasks.cli.tasks.task_lookup import find_task
    from tui_tasks.core.read import checks as read_checks
    from tui_tasks.settings.current import CheckSettings
    from tui_tasks.state import hosting

    task = find_task(session, reference)
    named = {} if name is None else {"check": name}
    request(session, "control:request_check", uid=task.uid, **named)
    if options.no_wait:
        return _print_states(session, options, task, name, is_over=False)
    profiles = CheckSettings()()
    digests = {
        each.uid: each.digest for each in read_checks.definitions(session.store.db) if each.source == profiles.source
    }
    found = _checks_of(session, task, name)
    ours = all(profiles.find(check.name, digests.get(check.uid, "")) is not None for check in found)
    if not ours or not hosts_scheduler(options):
        print("waits for a process that hosts the scheduler with its settings", file=sys.stderr)
        return _print_states(session, options, task, name, is_over=False)
    with hosting.hosted(session.store.path, wanted=True):
        _wait_for_runs(session, task, name)
    return _print_states(session, options, task, name, is_over=True)


def _checks_of(session: Session, task: Task, name: str | None) -> list[Check]:
    from tui_tasks.core.read import checks
    from tui_tasks.core.read.tasks import queries

    db = session.store.db
    now = queries.task(db, task.uid)
    found = checks.of_task(db, now, queries.list_by_id(db, now.list_id), checks.definitions(db))
    return [check for check in found if name in (None, check.name)]


def _wait_for_runs(session: Session, task: Task, name: str | None) -> None:
    """Wait until no run of the task's checks is waiting or running."""
    from tui_tasks.core.engine.watch import Watch

    watch = Watch(session.store.db)
    try:
        while any(check.run and check.run.state in ("waiting", "running") for check in _checks_of(session, task, name)):
            while not (watch.changed(time.monotonic()) or watch.is_lost):
                watch.sleep()
    finally:
        watch.close()


def _print_states(session: Session, options: argparse.Namespace, task: Task, name: str | None, *, is_over: bool) -> int:
    """Print the state of each check, and the output of those that failed; return the exit status."""
    from tui_tasks.cli.tasks.single_task import check_lines
    from tui_tasks.core.snapshots import verified

    found = _checks_of(session, task, name)
    state = verified(check.state for check in found)
    if options.json:
        value = {"uid": task.uid, "verified": state, "checks": [check.to_json() for check in found]}
        print_json(value, indent=2)
    else:
        ascii_only = options.ascii or not streams.can_write("○◐✓✗~")
        for line in check_lines(found, ascii_only=ascii_only):
            print(line)
    return 0 if state == "passed" or not is_over else REFUSED


# Assigning


def _assign(session: Session, options: argparse.Namespace, verb: str, reference: str, name: str = "") -> int:
    from tui_tasks.cli import person
    from tui_tasks.cli.tasks.task_lookup import find_task
    from tui_tasks.core.errors import NotFound
    from tui_tasks.core.operations.checks import GiveChecks
    from tui_tasks.core.read import checks
    from tui_tasks.core.read.tasks import queries
    from tui_tasks.text.safe import safe_line

    person.require_person(options, session.store)
    task = find_task(session, reference)
    db = session.store.db
    has = tuple(dict.fromkeys(check.name for check in _checks_of(session, task, None)))
    if verb == "take" and name not in has:
        raise NotFound("check", name, f"; the task has {', '.join(has) or 'none'}")
    names = {"give": (*has, name), "take": tuple(each for each in has if each != name)}.get(verb)
    person.commit(options, session.store, GiveChecks(task.uid, names))
    now = queries.task(db, task.uid)
    value = checks.json_of_task(db, now, queries.list_by_id(db, now.list_id))
    if options.json:
        print_json({"uid": task.uid, "checks": value}, indent=2)
    else:
        each = ", ".join(safe_line(check["name"]) for check in value) or "none"
        print(f"checks of {task.uid[:8]}  {safe_line(task.name)}: {each}")
    return 0
