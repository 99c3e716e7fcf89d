"""The commands about a team's server: admin."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_tasks.postgres.roles import AgentRole


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare the arguments of a command."""
    command.description = (
        "Print the SQL that makes roles on a team's server. A monitor reads and holds up nobody; an agent writes as "
        "itself alone, and nothing that is the human's; a human writes everything. Without a role, one of each is "
        "printed. Pass the output to psql, as the owner of the database."
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
        raise InvalidArgument("agent", "an agent's role is for some names: NAME, or NAME-*")
    return AgentRole(role, agent)
