"""The commands about a team's server: admin and move."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_tasks.postgres.roles import AgentRole


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare the arguments of a command."""
    if name == "move":
        _declare_move(command)
        return
    command.description = (
        "Print the SQL that makes roles on a team's server. A monitor only reads. An agent writes only as itself, "
        "and nothing that only a human may write. Without a role, one of each is printed. Pass the output to psql, as "
        "the owner of the database."
    )
    command.add_argument("action", choices=["roles"], help="what to print")
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


def run(name: str, options: argparse.Namespace) -> int:
    """Run a command; return the exit status."""
    if name == "move":
        return _move(options)
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
    from pathlib import Path

    from tui_tasks.cli.streams import ProgressBar
    from tui_tasks.core.errors import InvalidArgument

    is_to_server = _is_server(options.target)
    if is_to_server == _is_server(options.source):
        raise InvalidArgument("to", "one of FROM and TO is a file, the other postgresql://USER@HOST/NAME")
    try:
        from tui_tasks.postgres import connection, moving
    except ImportError:
        from tui_tasks.extras import install_command

        raise InvalidArgument("to", f"a team's server needs psycopg: {install_command('postgres')}") from None
    url, file = (options.target, options.source) if is_to_server else (options.source, options.target)
    with connection.connect(url) as server, ProgressBar() as progress:
        newest = (
            moving.to_server(Path(file), server, progress.show)
            if is_to_server
            else moving.to_file(server, Path(file), progress.show)
        )
    print(f"{options.target}: {newest:,} entries, as in {options.source}")
    return 0


def _is_server(given: str) -> bool:
    return given.startswith(("postgresql://", "postgres://"))
