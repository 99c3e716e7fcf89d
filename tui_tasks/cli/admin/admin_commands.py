"""The commands for administration of the database: backup, restore, compact, config, and move and admin of a server."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tui_tasks.cli.options import REFUSED, open_store
from tui_tasks.cli.streams import ProgressBar
from tui_tasks.settings import paths
from tui_tasks.text.safe import safe_line, safe_text

if TYPE_CHECKING:
    from tui_tasks.postgres.roles import AgentRole


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare the arguments of a command."""
    if name in _DECLARE:
        _DECLARE[name](command)


def run(name: str, options: argparse.Namespace) -> int:
    """Run a command; return the exit status."""
    return _RUN[name](options)


def _declare_backup(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="the copy, which must not exist yet")


def _backup(options: argparse.Namespace) -> int:
    from tui_tasks.core.errors import DatabaseRefused
    from tui_tasks.core.maintenance.backup import backup
    from tui_tasks.installation import REPLICA, is_replica

    if is_replica(options.file):
        raise DatabaseRefused(f"only replicas of a server are named *{REPLICA}: name the backup otherwise")
    options.read_only = True
    with open_store(options) as store, ProgressBar("copying pages") as progress:
        newest = backup(store.db, Path(options.file), progress.report)
    print(f"{options.file}: whole up to entry {newest:,}")
    return 0


def _declare_restore(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Restore a copy of a backup, also while programs have the database open: they continue with it. The replaced "
        "database stays beside it, and can be restored in turn. Needs a person at a terminal."
    )
    command.add_argument("file", metavar="FILE", help="the backup, which stays as it is")


def _restore(options: argparse.Namespace) -> int:
    from tui_tasks import clock
    from tui_tasks.cli import person_rights
    from tui_tasks.cli.person_rights import quoted
    from tui_tasks.core.errors import DatabaseRefused, Forbidden, StorageFailed
    from tui_tasks.core.maintenance.backup import restore
    from tui_tasks.installation import is_replica

    if options.read_only:
        raise Forbidden("nothing is restored with --read-only")
    database = paths.database(options.db)
    if is_replica(database):
        raise DatabaseRefused(
            "a file is not restored over a server's journal: make an empty database there, and copy the file to it "
            "(tui-tasks move FILE URL)"
        )
    if Path(database).exists():
        # A damaged database asks nobody.
        with contextlib.suppress(DatabaseRefused, StorageFailed), open_store(options) as store:
            what = ["Put", *quoted(str(Path(options.file).absolute())), "in the place of", *quoted(database)]
            person_rights.confirm(options, store, what)
    done = restore(database, Path(options.file), clock.now())
    print(f"{database}: as in {options.file}, up to entry {done.newest:,}")
    if done.aside is not None:
        print(f"the replaced database is {done.aside}")
    with open_store(options) as store:
        person_rights.record(options, store)
    return 0


def _declare_compact(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Drop the journal's oldest entries, to stop the file from growing. Tasks stay. The dropped history cannot be "
        "undone. Only for a person; make a backup first. Others can work meanwhile."
    )
    command.add_argument("--before", metavar="WHEN", required=True, help="an age (90d, 12w), or a date (2026-01-31)")
    command.add_argument("--yes", action="store_true", help="do not ask")


def _compact(options: argparse.Namespace) -> int:
    from tui_tasks import clock
    from tui_tasks.cli import person_rights
    from tui_tasks.cli.person_rights import quoted
    from tui_tasks.core.commit import compaction, journal
    from tui_tasks.core.errors import Forbidden
    from tui_tasks.core.maintenance import compaction_steps
    from tui_tasks.installation import is_replica

    if options.read_only:
        raise Forbidden("nothing is dropped with --read-only")
    now = clock.now()
    before = compaction.instant(options.before, now)
    with open_store(options) as store:
        count = compaction.older_than(store.db, before, now)
        if count > 0 and not options.yes and not _agreed(count):
            print("nothing was dropped")
            return REFUSED
        if count > 0:
            what = [f"Drop {count:,} entries of the journal for good, those from before", *quoted(options.before)]
            person_rights.confirm(options, store, what)
            person_rights.record(options, store)
        if is_replica(store.path):
            from tui_tasks.postgres.replica import Replica

            assert isinstance(store.db, Replica)
            with ProgressBar() as progress:
                count = store.db.cut(compaction.last_old(store.db, before, now), progress.show)
            print(f"dropped {count:,} entries on the server; replicas keep them")
            return 0
        count = compaction_steps.compact(store, before, now)
        print(f"dropped {count:,} entries; the journal begins at {journal.oldest(store.db):,}")
    return 0


def _agreed(count: int) -> bool:
    """Ask whether to drop so many entries.

    Raises:
        InvalidArgument: standard input is no terminal.
    """
    from tui_tasks.core.errors import InvalidArgument

    if not sys.stdin.isatty():
        raise InvalidArgument("yes", "no terminal to ask at: add --yes")
    question = f"{count:,} entries will be dropped and can no longer be undone. Drop them? [y/N] "
    return input(question).strip().lower() in ("y", "yes")


def _declare_config(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--use",
        action="store_true",
        help="use this file for the checks and reviewed lists of the database; only for a person at a terminal",
    )


def _use_settings(options: argparse.Namespace) -> int:
    """Record the settings file of this process with the database."""
    import shlex

    import msgspec

    from tui_tasks import clock
    from tui_tasks.cli import person_rights
    from tui_tasks.cli.options import require_database
    from tui_tasks.cli.person_rights import quoted
    from tui_tasks.core.errors import Conflict
    from tui_tasks.core.operations.jobs import PlaceChecks
    from tui_tasks.core.read import check_queries
    from tui_tasks.core.rules.recorded_settings import recording
    from tui_tasks.core.vocab import HUMAN, SYSTEM
    from tui_tasks.settings.live_settings import answer_rules, ask_limits, check_profiles, review_settings

    require_database(options)
    checks, review, rules = check_profiles()(), review_settings()(), answer_rules()()
    asks = ask_limits()()
    if not checks.is_known:
        raise Conflict(f"{checks.source} cannot be read: `tui-tasks config` says what is wrong with it")
    with open_store(options) as store:
        machine = store.db.machine
        operation = recording(check_queries.source_on(machine, checks.source), review, rules, asks)
        what = ["Checks, reviewed lists and standing answers come from", *quoted(checks.source), "Its checks:"]
        for check in checks.profiles.values():
            gate = ", gate" * check.gate
            what += quoted(f"{check.name}: {shlex.join(check.command)} in {check.cwd}{gate}", is_prose=False)
        what += ["Reviewed lists:", *quoted(", ".join(review.lists) or "none", is_prose=False), "Standing answers:"]
        what += quoted("\n".join(msgspec.json.encode(rule).decode() for rule in rules) or "none", is_prose=False)
        what.append(f"Questions that may wait: {asks.limit} of one agent, {asks.total} of all.")
        person_rights.commit(options, store, operation, what=what)
        store.commit(checks.definition(machine, alone=True), actor=SYSTEM, now=clock.now())
        if machine:
            places = checks.places(check_queries.definitions(store.db))
            store.commit(PlaceChecks(checks.source, places), actor=HUMAN, now=clock.now())
    print(f"checks and reviewed lists come from {safe_line(checks.source)}")
    return 0


def _config(options: argparse.Namespace) -> int:
    from tui_tasks.settings import config

    if options.use:
        return _use_settings(options)
    path = paths.configuration()
    settings, problems = config.load(path)
    described = config.describe(path, settings)
    print(safe_text(described, len(described)))
    problems_found: list[object] = [*problems]
    if settings.keys or (path.parent / "themes").is_dir():
        # Actions and themes are defined by the screen.
        from tui_tasks.tui.keys import user_keys
        from tui_tasks.tui.painting import theme_file

        problems_found += [*user_keys.problems(path, settings.keys), *theme_file.load(path.parent / "themes")[1]]
    for problem in problems_found:
        print(f"tui-tasks: {problem}", file=sys.stderr)
    return REFUSED if problems_found else 0


def _declare_admin(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print the SQL that makes roles on a team's server. A monitor only reads. An agent writes only as itself, "
        "and nothing that only a human may write. Without a role, one of each is printed. Pass the output to psql, as "
        "the owner of the database."
    )
    command.add_argument("action", metavar="ACTION", choices=["roles"], help="what to print: roles")
    for kind, what in (("monitor", "a role that reads"), ("human", "a role that writes everything")):
        command.add_argument(f"--{kind}", metavar="ROLE", action="append", default=[], help=f"{what}; may be repeated")
    command.add_argument(
        "--agent",
        metavar="ROLE=NAME",
        dest="agent_roles",
        action="append",
        default=[],
        help="a role that writes as an agent; claude-* is any name after claude-; may be repeated",
    )


def _admin(options: argparse.Namespace) -> int:
    from tui_tasks.postgres.roles import AgentRole, script

    monitors, humans = options.monitor, options.human
    agents = [_agent(given) for given in options.agent_roles]
    if not (monitors or humans or agents):
        monitors, humans, agents = ["tasks_monitor"], ["tasks_human"], [AgentRole("tasks_agent", "claude-*")]
    print(script(monitors, agents, humans), end="")
    return 0


def _agent(given: str) -> AgentRole:
    """Read `ROLE=NAME`; the role alone is for the agent of that name."""
    from tui_tasks.core.errors import InvalidArgument
    from tui_tasks.postgres.roles import AgentRole

    role, _, agent = given.partition("=")
    agent = agent or role
    if agent == "*":
        raise InvalidArgument("agent", "an agent's role needs names of agents: NAME, or NAME-*")
    return AgentRole(role, agent)


def _declare_move(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Copy a database to a team's server, or from a server to a new file, with its whole journal. FROM stays as it "
        "is. A server must be empty, or have what an earlier move copied: run the same command again to continue. Only "
        "for a person."
    )
    command.add_argument("source", metavar="FROM", help="a file, or postgresql://USER@HOST/NAME")
    command.add_argument("target", metavar="TO", help="the other: a file, or a server")


def _move(options: argparse.Namespace) -> int:
    from tui_tasks.core.errors import InvalidArgument

    is_to_server = _is_server(options.target)
    if is_to_server == _is_server(options.source):
        raise InvalidArgument("to", "one of FROM and TO is a file, the other postgresql://USER@HOST/NAME")
    try:
        from tui_tasks.postgres import moving
        from tui_tasks.postgres.team_server import connect
    except ImportError:
        from tui_tasks.installation import install_command

        raise InvalidArgument("to", f"a team's server needs psycopg: {install_command('postgres')}") from None
    url, file = (options.target, options.source) if is_to_server else (options.source, options.target)
    with connect(url) as server, ProgressBar() as progress:
        if is_to_server:
            newest = moving.to_server(Path(file), server, progress.show)
        else:
            newest = moving.to_file(server, Path(file), progress.show)
    print(f"{options.target}: {newest:,} entries, as in {options.source}")
    return 0


def _is_server(given: str) -> bool:
    return given.startswith(("postgresql://", "postgres://"))


_DECLARE: Final[dict[str, Callable[[argparse.ArgumentParser], None]]] = {
    "backup": _declare_backup,
    "restore": _declare_restore,
    "compact": _declare_compact,
    "config": _declare_config,
    "move": _declare_move,
    "admin": _declare_admin,
}
_RUN: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "backup": _backup,
    "restore": _restore,
    "compact": _compact,
    "config": _config,
    "move": _move,
    "admin": _admin,
}
