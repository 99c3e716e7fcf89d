"""`work`: starts agents on tasks, each in a git worktree, and follows their work (docs: work)."""

from __future__ import annotations

import argparse
from typing import Final

from tui_tasks.cli.options import require_database
from tui_tasks.cli.supervise import work_decisions, work_following, work_start
from tui_tasks.cli.supervise.command_actions import declare_actions
from tui_tasks.core.vocab import SHELL

_EPILOG: Final = (
    "Without an action: as `ls`. All but `ls`, `show` and `review` need a person at a terminal. "
    "See also `tui-tasks help work`."
)


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    declare_actions(name, command, _ACTIONS)
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """Act, or list the work. Exit status 0."""
    require_database(options, on_server=False)
    _ACTIONS[options.action or "ls"].run(options)
    return 0


_ACTIONS: Final = work_start.ACTIONS | work_following.ACTIONS | work_decisions.ACTIONS
