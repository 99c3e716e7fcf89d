"""`check`: lists the configured checks, runs those of a task, and changes which ones a task has."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.cli import streams
from tui_tasks.cli.command_table import RIGHTS
from tui_tasks.cli.options import (
    REFUSED,
    USAGE,
    hosts_scheduler,
    lacks_default_database,
    open_store,
    require_database,
    session_of,
)
from tui_tasks.cli.streams import print_json
from tui_tasks.core.vocab import SHELL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_tasks.channel.session import Session
    from tui_tasks.core.agent_snapshots import Check, CheckDefinition
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.snapshots import Task
    from tui_tasks.runner.runner_settings import CheckProfiles

_EPILOG: Final = """\
Without words: list the configured checks; with --list those of that list.
TASK [NAME] runs the task's checks, or that one, and prints the results; exit status 1 if any has not passed.
give adds a check to a task, take removes one, default restores those of its list. They need a person at a terminal.
A TASK is its number, or the beginning of its uid."""


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    command.add_argument(
        "words",
        metavar="WORD",
        nargs="*",
        default=[],
        help="TASK [NAME], give TASK NAME, take TASK NAME, or default TASK",
    )
    command.add_argument("--no-wait", action="store_true", help="start the run without waiting for its end")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """List, run, give or take checks; return the exit status."""
    words = list(options.words)
    verb = words.pop(0) if words and words[0] in RIGHTS["check"].person.split() else "run" if words else "list"
    wanted = {"list": (0, 0), "run": (1, 2), "default": (1, 1)}.get(verb, (2, 2))
    if not wanted[0] <= len(words) <= wanted[1]:
        print("tui-tasks check: say TASK [NAME], give TASK NAME, take TASK NAME or default TASK", file=sys.stderr)
        return USAGE
    # The list is that of the settings, so it needs no database.
    is_empty = verb == "list" and lacks_default_database(options)
    if not is_empty:
        require_database(options)
    from tui_tasks.core.store import Store
    from tui_tasks.dialects.command_tools import SHELL as TOOLS

    with Store(":memory:") if is_empty else open_store(options) as store:
        session = session_of(options, store, TOOLS)
        session.look_at_checks()
        if verb == "list":
            return _print_definitions(session, as_json=options.json)
        if verb == "run":
            return _request_run(session, options, *words)
        return _assign(session, options, verb, *words)


# Listing


def _print_definitions(session: Session, *, as_json: bool) -> int:
    from tui_tasks.cli.tasks.lookup import find_list
    from tui_tasks.core.read import check_queries
    from tui_tasks.settings.live_settings import check_profiles
    from tui_tasks.text.safe import safe_line

    checks = check_queries.definitions(session.store.db)
    named = session.identity.list
    if named is not None:
        home = find_list(session.store.db, named)
        checks = tuple(check for check in checks if {home.name, home.uid}.intersection(check.lists))
    profiles, db = check_profiles()(), session.store.db
    if as_json:
        print_json({"checks": [_to_json(check, profiles, db.machine) for check in checks]}, indent=2)
    elif not checks:
        print(f"no check is configured{f' for the list {safe_line(named)}' if named else ''}; see `tui-tasks config`")
    else:
        print("\n".join(safe_line(_line(db, check, profiles)) for check in checks))
    return 0


def _line(db: Database, check: CheckDefinition, profiles: CheckProfiles) -> str:
    profile = profiles.find(check, db.machine)
    what = f"{shlex.join(profile.command)}  in {profile.cwd}" if profile is not None else _elsewhere(db, check)
    facts = [f"for {', '.join(check.lists)}"] * bool(check.lists) + ["gate"] * check.gate
    return "  ".join([check.name, what, *facts])


def _elsewhere(db: Database, check: CheckDefinition) -> str:
    """Return where a check comes from that the settings of this process do not run."""
    if not db.machine or check.place(db.machine) is not None:
        return f"of {check.source}"
    return f"no command on this machine: runs on {_hosts(db, check)}"


def _hosts(db: Database, check: CheckDefinition) -> str:
    """Return the machines of a server that have a command for a check, for people."""
    from tui_tasks.core.unjournaled import heartbeats

    return ", ".join(sorted(heartbeats.machine_name(db, machine) for machine in check.machines)) or "none"


def _to_json(check: CheckDefinition, profiles: CheckProfiles, machine: str) -> dict[str, Any]:
    profile = profiles.find(check, machine)
    value: dict[str, Any] = {"name": check.name, "lists": check.lists, "gate": check.gate, "source": check.source}
    for name in ("command", "cwd", "timeout", "inputs"):
        value[name] = getattr(profile, name) if profile is not None else None
    return value


# Running


def _request_run(session: Session, options: argparse.Namespace, reference: str, name: str | None = None) -> int:
    from tui_tasks.cli.tasks.lookup import find_task
    from tui_tasks.cli.tasks.task_changes import request
    from tui_tasks.core.read import check_queries as read_checks
    from tui_tasks.settings.live_settings import check_profiles
    from tui_tasks.state import hosting

    task = find_task(session, reference)
    named = {} if name is None else {"check": name}
    request(session, "control:request_check", uid=task.uid, **named)
    if options.no_wait:
        return _print_states(session, options, task, name, is_over=False)
    profiles, db = check_profiles()(), session.store.db
    runs_here = {each.uid for each in read_checks.definitions(db) if profiles.find(each, db.machine) is not None}
    checks = _checks_of(session, task, name)
    ours = all(check.uid in runs_here for check in checks)
    if not ours or not hosts_scheduler(options):
        print(_waits_for(db, read_checks.definitions(db), checks), file=sys.stderr)
        return _print_states(session, options, task, name, is_over=False)
    with hosting.hosted(session.store.path, wanted=True):
        _wait_for_runs(session, task, name)
    return _print_states(session, options, task, name, is_over=True)


def _waits_for(db: Database, known: Sequence[CheckDefinition], checks: Sequence[Check]) -> str:
    """Return what runs of checks wait for that this process does not start."""
    from tui_tasks.text.safe import safe_line

    wanted = {check.uid for check in checks}
    lacking = [each for each in known if each.uid in wanted and each.place(db.machine) is None]
    if not lacking:
        return "waits for a process that hosts the scheduler with its settings"
    where = "; ".join(f"{safe_line(each.name)} runs on {_hosts(db, each)}" for each in lacking)
    return f"this machine has no command for them: {where}"


def _checks_of(session: Session, task: Task, name: str | None) -> list[Check]:
    from tui_tasks.core.read import check_queries
    from tui_tasks.core.read.tasks import task_queries

    db = session.store.db
    now = task_queries.task(db, task.uid)
    checks = check_queries.of_task(db, now, task_queries.list_by_id(db, now.list_id), check_queries.definitions(db))
    return [check for check in checks if name in (None, check.name)]


def _wait_for_runs(session: Session, task: Task, name: str | None) -> None:
    """Wait until no run of the task's checks is waiting or running."""
    from tui_tasks.core.engine.commit_watch import Watch

    watch = Watch(session.store.db)
    try:
        while any(check.run and check.run.state in ("waiting", "running") for check in _checks_of(session, task, name)):
            while not (watch.changed(time.monotonic()) or watch.is_lost):
                watch.sleep()
    finally:
        watch.close()


def _print_states(session: Session, options: argparse.Namespace, task: Task, name: str | None, *, is_over: bool) -> int:
    """Print the state of each check, and the output of those that failed; return the exit status."""
    from tui_tasks.cli.tasks.listing import check_lines
    from tui_tasks.core.snapshots import verified

    checks = _checks_of(session, task, name)
    state = verified(check.state for check in checks)
    if options.json:
        value = {"uid": task.uid, "verified": state, "checks": [check.to_json() for check in checks]}
        print_json(value, indent=2)
    else:
        ascii_only = options.ascii or not streams.can_write("○□◐✓✗~")
        for line in check_lines(checks, ascii_only=ascii_only):
            print(line)
    return 0 if state == "passed" or not is_over else REFUSED


# Assigning


def _assign(session: Session, options: argparse.Namespace, verb: str, reference: str, name: str = "") -> int:
    from tui_tasks.cli import person_rights
    from tui_tasks.cli.person_rights import quoted
    from tui_tasks.cli.tasks.lookup import find_task, titled
    from tui_tasks.core.errors import InvalidArgument, NotFound
    from tui_tasks.core.operations.jobs import GiveChecks
    from tui_tasks.core.read import check_queries
    from tui_tasks.core.read.tasks import task_queries
    from tui_tasks.core.unhidden_text import unhidden_line
    from tui_tasks.settings.live_settings import check_profiles
    from tui_tasks.text.safe import safe_line

    task = find_task(session, reference)
    db = session.store.db
    has = tuple(dict.fromkeys(check.name for check in _checks_of(session, task, None)))
    if verb == "take" and name not in has:
        raise NotFound("check", name, f"; the task has {', '.join(has) or 'none'}")
    known = [check.name for check in check_queries.definitions(db)]
    if verb == "give" and name not in (*known, *has):
        raise InvalidArgument(
            "name", f"no check is called {name!r} in the configuration file; known: {', '.join(known) or 'none'}"
        )
    names = {"give": (*has, name), "take": tuple(each for each in has if each != name)}.get(verb)
    then = "those of its list" if names is None else ", ".join(map(unhidden_line, names)) or "none"
    what = [
        f"Checks of #{task.number}: {', '.join(map(unhidden_line, has)) or 'none'}; from now on: {then}",
        "The task:",
    ]
    what += quoted(task.name)
    profiles = check_profiles()()
    for check in check_queries.definitions(db):
        if check.name in {*has, *(names or ())}:
            what += ["A check:", *quoted(_line(db, check, profiles), is_prose=False)]
    person_rights.commit(options, session.store, GiveChecks(task.uid, names), what=what)
    now = task_queries.task(db, task.uid)
    value = check_queries.json_of_task(db, now, task_queries.list_by_id(db, now.list_id))
    if options.json:
        print_json({"uid": task.uid, "checks": value}, indent=2)
    else:
        each = ", ".join(safe_line(check["name"]) for check in value) or "none"
        print(f"checks of {titled(task.number, task.name)}: {each}")
    return 0
