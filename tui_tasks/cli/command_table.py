"""The commands of the program: the help, the shared options and the module of each.

A command's module is imported only to declare its arguments and to run it. It has `declare(name, parser)`, and
`run(name, options)`, which returns the exit status.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple


class Command(NamedTuple):
    """A command.

    Attributes:
        name: the word in the shell; empty for the screen.
        help: its line in `--help`.
        module: its module below `tui_tasks.cli`.
        options: names of `options.SHARED`, separated by spaces.
        is_short: whether its process is short-lived, so that garbage collection is switched off.
        is_screen: whether it paints on the terminal; standard output then belongs to an agent on the pipe.
    """

    name: str
    help: str
    module: str
    options: str = ""
    is_short: bool = False
    is_screen: bool = False

    def load(self) -> ModuleType:
        """Import the module of the command."""
        return import_module(f"tui_tasks.cli.{self.module}")


# The options that limit an agent, for the commands through which agents speak.
_BOUNDS: Final = "agent-only list-only"
_CHANNEL: Final = f"db agent list project read-only no-scheduler {_BOUNDS}"
_SCREEN: Final = "db agent list project read-only no-scheduler ascii"
_WRITES: Final = "db agent list project read-only"
_READS: Final = "db list project read-only"

SCREEN: Final = Command("", "the screen", "screen.screen_commands", f"{_SCREEN} {_BOUNDS}", is_screen=True)


def _verb(name: str, help_: str, options: str = _WRITES) -> Command:
    return Command(name, help_, "tasks.task_commands", options, is_short=True)


COMMANDS: Final[dict[str, Command]] = {
    command.name: command
    for command in (
        _verb("add", "add a task"),
        _verb("ls", "list tasks", f"{_READS} ascii"),
        _verb("show", "show a task and its log", _READS),
        _verb("next", "show the task to take up next"),
        _verb("start", "set a task in progress"),
        _verb("log", "add to a task's log"),
        _verb("status", "set a task's status: any of the six"),
        _verb("done", "set a task done"),
        _verb("fail", "set a task failed"),
        _verb("skip", "set a task skipped"),
        _verb("edit", "change a task's title, tags, priority, agent, dependencies or description"),
        _verb("mv", "move a task within its list, or to another"),
        _verb("link", "link a task to a branch, commits, a pull request or files"),
        _verb("rm", "delete a task"),
        Command(
            "check",
            "list checks, run those of a task, let a task have one or not",
            "tasks.check_command",
            "db list project read-only no-scheduler ascii agent",
        ),
        _verb("undo", "take back the newest change that was made from a shell", "db agent project read-only"),
        _verb("redo", "do again what undo took back", "db agent project read-only"),
        Command(
            "lists",
            "list the lists; make, rename, archive, delete one",
            "supervise.lists_command",
            "db project read-only",
        ),
        Command("asks", "list what agents ask you, and answer", "supervise.asks_command", "db read-only"),
        Command("accept", "let a held task be taken up", "supervise.held_commands", _READS),
        Command("decline", "cancel a held task, and tell its agents why", "supervise.held_commands", _READS),
        Command("join", "join a held task to one that says the same", "supervise.held_commands", _READS),
        Command(
            "release", "give a task back as pending and nobody's, whoever holds it", "supervise.held_commands", _READS
        ),
        Command(
            "jobs",
            "list the jobs; make, run, stop, switch or change one",
            "supervise.jobs_command",
            "db project read-only",
        ),
        Command(
            "agents",
            "list who works; write to an agent, pause or stop it, take back what it did",
            "supervise.agents_command",
            "db read-only",
        ),
        Command("digest", "what happened while you were away", "screen.digest_command", "db read-only"),
        Command("watch", "the screen, read only", "screen.screen_commands", _SCREEN, is_screen=True),
        Command(
            "web",
            "the screen in a browser on this machine, read only",
            "screen.web_command",
            "db list project no-scheduler ascii",
        ),
        Command(
            "demo",
            "look around: a throw-away database, and a scripted agent at work",
            "screen.screen_commands",
            "ascii",
            is_screen=True,
        ),
        Command(
            "setup",
            "let an agent program use the tools, and tell of itself by hooks",
            "setup.command",
            f"{_CHANNEL} tools",
        ),
        Command("prime", "print what an agent needs to know to start", "agents.prime", _WRITES, is_short=True),
        Command("call", "one tool call from a shell", "agents.call", _CHANNEL, is_short=True),
        Command("serve", "the control channel alone, with no screen", "agents.headless", f"{_CHANNEL} tools"),
        Command(
            "mcp",
            "the same tools over MCP, on standard input and output or over HTTP",
            "agents.mcp_commands",
            f"{_CHANNEL} tools",
        ),
        Command("token", "let an agent on another machine in, over HTTP", "agents.mcp_commands", "db read-only"),
        Command("hook", "take in what a hook of an agent program tells on standard input", "agents.hook", "db project"),
        Command("schema", "print the JSON Schemas of the channel and of --json", "help"),
        Command("init", "make this folder a project's, with lists of its own", "admin.init", "project"),
        Command("export", "write tasks as another program reads them", "formats.formats", _READS),
        Command("import", "take in the tasks of another program; again: what has changed", "formats.formats", _WRITES),
        Command("sync-file", "keep a file of JSON Lines up to date, for a team to commit", "formats.formats", _READS),
        Command("scheduler", "the scheduler alone, as a service", "agents.headless", "db"),
        Command("doctor", "check the database, its file, the clock and the settings", "admin.admin", "db"),
        Command("backup", "copy the database while it is in use", "admin.admin", "db"),
        Command("restore", "put a backup in the place of the database, also while it is in use", "admin.admin", "db"),
        Command("compact", "drop the journal's oldest entries", "admin.admin", "db"),
        Command("config", "print where the settings are, each with its default and meaning", "admin.admin"),
        Command("completion", "let bash, zsh or fish complete the command line", "completion.completion_command"),
        Command("help", "print a page: the channel, its tools, jobs, settings, security and the like", "help"),
    )
}
