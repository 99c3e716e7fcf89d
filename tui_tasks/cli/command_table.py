"""The commands of the program: help, options, module and examples of each; what a person alone may run or must confirm.

A command's module is imported only to declare its arguments and to run it. It has `declare(name, parser)`, and
`run(name, options)`, which returns the exit status. The classes here are plain: making a `NamedTuple` takes longer than
the rest of this module, and every command imports it.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final


class Command:
    """A command.

    Attributes:
        name: the word in the shell; empty for the screen.
        help: its line in `--help`.
        module: its module below `tui_tasks.cli`.
        options: names of `options.SHARED`, separated by spaces.
        is_short: whether its process is short-lived, so that garbage collection is switched off.
        is_screen: whether it paints on the terminal; standard output then belongs to an agent on the pipe.
    """

    def __init__(
        self,
        name: str,
        help: str,
        module: str,
        options: str = "",
        *,
        is_short: bool = False,
        is_screen: bool = False,
    ) -> None:
        self.name = name
        self.help = help
        self.module = module
        self.options = options
        self.is_short = is_short
        self.is_screen = is_screen

    def load(self) -> ModuleType:
        """Import the module of the command."""
        return import_module(f"tui_tasks.cli.{self.module}")


class Rights:
    """Who may run a command. Actions are separated by spaces; `*`: the whole command.

    Attributes:
        person: the actions that only a person at a terminal may take.
        asks: of those, what accepts, allows or deletes for good: where a screen is open, it is asked first.
    """

    def __init__(self, person: str = "", asks: str = "") -> None:
        self.person = person
        self.asks = asks

    def is_for_person(self, action: str) -> bool:
        """Return whether only a person may take an action; "" is the command without one."""
        return self.person == "*" or action in self.person.split()

    def asks_screen(self, action: str) -> bool:
        """Return whether an action asks the open screen first."""
        return self.asks == "*" or action in self.asks.split()


ANYONE: Final = Rights()
PERSON_ONLY: Final = Rights("*", "*")
"""The whole command is for a person alone. A command that is not in the table has these rights, too."""
RIGHTS: Final[dict[str, Rights]] = {
    **dict.fromkeys(("add", "ls", "show", "next", "start", "log", "status", "done", "fail", "skip"), ANYONE),
    **dict.fromkeys(("edit", "mv", "link", "rm", "undo", "redo", "digest", "watch", "demo", "setup", "prime"), ANYONE),
    **dict.fromkeys(("call", "serve", "mcp", "hook", "schema", "init", "export", "sync-file", "scheduler"), ANYONE),
    **dict.fromkeys(("doctor", "backup", "completion", "help"), ANYONE),
    "config": Rights("use", "use"),
    # Held where `add` would be: the rules of the state say so.
    "import": ANYONE,
    "check": Rights("give take default", "take default"),
    "lists": Rights("new rename archive unarchive rm one-in-progress review auto", "review auto"),
    "asks": Rights("answer", "answer"),
    "rules": Rights("remove"),
    "accept": PERSON_ONLY,
    "decline": Rights("*"),
    "join": Rights("*"),
    "release": Rights("*"),
    "jobs": Rights("stop"),
    "agents": Rights("message stop pause resume undo", "resume"),
    "work": Rights("start attach comment merge pr discard restore clean", "start merge pr discard"),
    "token": Rights("add revoke", "add"),
    "admin": ANYONE,  # it prints what an administrator of the server may run
    "restore": PERSON_ONLY,
    "move": Rights("*"),
    "compact": PERSON_ONLY,
    # The screen that writes: a person's, but its terminal need not be standard input.
    "": Rights("write"),
    "web": Rights("write"),
}

# The options that limit an agent, for the commands through which agents speak.
_BOUNDS: Final = "agent-only list-only"
_CHANNEL: Final = f"db agent list project read-only no-scheduler {_BOUNDS}"
_SCREEN: Final = "db agent list project read-only no-scheduler ascii"
_WRITES: Final = "db agent list project read-only"
_READS: Final = "db list project read-only"

SCREEN: Final = Command("", "the screen", "supervise.screen_commands", f"{_SCREEN} {_BOUNDS}", is_screen=True)


def _verb(name: str, help_: str, options: str = _WRITES) -> Command:
    return Command(name, help_, "tasks.task_commands", options, is_short=True)


COMMANDS: Final[dict[str, Command]] = {
    command.name: command
    for command in (
        _verb("add", "add a task"),
        _verb("ls", "list open tasks; with --all or in a pipe, all", f"{_READS} ascii"),
        _verb("show", "show a task and its log", _READS),
        _verb("next", "show the next task to start"),
        _verb("start", "set a task in progress"),
        _verb("log", "add to a task's log"),
        _verb("status", "set a task's status, also pending or cancelled"),
        _verb("done", "set a task done"),
        _verb("fail", "set a task failed"),
        _verb("skip", "set a task skipped"),
        _verb("edit", "change a task's title, tags, priority, agent, dependencies or description"),
        _verb("mv", "move a task within its list, or to another"),
        _verb("link", "link a task to a branch, commits, a pull request or files"),
        _verb("rm", "delete a task"),
        Command(
            "check",
            "list checks, run a task's checks, or change them",
            "tasks.check_command",
            "db list project read-only no-scheduler ascii agent",
        ),
        _verb("undo", "undo the newest change made from a shell", "db agent project read-only"),
        _verb("redo", "redo what was undone", "db agent project read-only"),
        Command(
            "lists",
            "list the lists; make, rename, archive, delete one",
            "supervise.lists_command",
            "db project read-only",
        ),
        Command("asks", "list the agents' questions, and answer them", "supervise.decision_commands", "db read-only"),
        Command(
            "rules", "list, try and remove your standing answers to permissions", "supervise.decision_commands", "db"
        ),
        Command(
            "accept",
            "accept a held task: one that an agent filed in a list under review",
            "supervise.decision_commands",
            _READS,
        ),
        Command("decline", "decline a held task, with a reason for its agents", "supervise.decision_commands", _READS),
        Command("join", "join a held task to a duplicate", "supervise.decision_commands", _READS),
        Command("release", "return a task to the list: pending, without agent", "supervise.decision_commands", _READS),
        Command(
            "jobs",
            "list the jobs; make, run, stop, switch or change one",
            "supervise.jobs_command",
            "db project read-only",
        ),
        Command(
            "agents",
            "list the agents; write to one, pause or stop it, undo what it did",
            "supervise.agents_command",
            "db read-only",
        ),
        Command(
            "work",
            "start agents on tasks, each in a git worktree; list, watch and clean up their work",
            "supervise.work_command",
            _READS,
        ),
        Command("digest", "show what happened while you were away", "supervise.history_text", "db read-only"),
        Command("watch", "the screen, read only", "supervise.screen_commands", _SCREEN, is_screen=True),
        Command(
            "web",
            "the screen in a browser on this machine, read only",
            "supervise.screen_commands",
            "db list project no-scheduler ascii",
        ),
        Command(
            "demo",
            "the screen with a scripted agent at work, to try it",
            "supervise.screen_commands",
            "ascii",
            is_screen=True,
        ),
        Command(
            "setup",
            "connect an agent program: claude, codex, cursor, gemini, opencode, vscode",
            "admin.setup_command",
            f"{_CHANNEL} tools",
        ),
        Command(
            "prime",
            "print the instructions for an agent's first prompt",
            "call_and_prime",
            _WRITES,
            is_short=True,
        ),
        Command("call", "call one tool from a shell", "call_and_prime", _CHANNEL, is_short=True),
        Command(
            "serve",
            "answer an agent's JSON lines on standard input, without a screen",
            "server_commands",
            f"{_CHANNEL} tools",
        ),
        Command(
            "mcp",
            "serve the same tools over MCP, by standard input or HTTP",
            "server_commands",
            f"{_CHANNEL} tools",
        ),
        Command("token", "make or revoke a token, for an agent on another machine", "server_commands", "db read-only"),
        Command("hook", "report an event of an agent program (its hooks run this)", "call_and_prime", "db project"),
        Command("schema", "print the JSON Schemas of the channel and of --json", "help"),
        Command("init", "make this folder a project with its own lists", "admin.setup_command", "project"),
        Command("export", "write tasks in the format of another program", "admin.import_export", _READS),
        Command("import", "read tasks of another program, or their changes", "admin.import_export", _WRITES),
        Command("sync-file", "keep a file of all tasks up to date, for a team's git", "admin.sync_file", _READS),
        Command("scheduler", "run the scheduler alone, as a service", "server_commands", "db"),
        Command("doctor", "check the database, its file, the clock and the settings", "admin.doctor", "db"),
        Command("backup", "copy the database while it is in use", "admin.admin_commands", "db"),
        Command("restore", "restore a backup, even while the database is in use", "admin.admin_commands", "db"),
        Command("compact", "drop the oldest entries of the journal", "admin.admin_commands", "db"),
        Command("move", "copy the database to a team's server, or back to a file", "admin.admin_commands"),
        Command("admin", "print the SQL that makes roles on a team's server", "admin.admin_commands"),
        Command("config", "print the settings: file, values, defaults and meanings", "admin.admin_commands", "db"),
        Command("completion", "print the completion script for bash, zsh or fish", "completion"),
        Command("help", "print a page of the documentation", "help"),
    )
}


HEADINGS: Final = {
    "add": "tasks and lists",
    "asks": "what needs you",
    "jobs": "jobs and agents",
    "watch": "the screen",
    "setup": "for agents",
    "init": "projects and files",
    "scheduler": "the database and its settings",
    "completion": "the command line",
}
"""The titles of the groups of commands, by the first command of each."""

DAILY: Final = ("add", "ls", "show", "done", "undo", "asks", "agents", "digest", "setup", "init")
"""The commands that `tui-tasks --help` lists. `tui-tasks help commands` lists all."""

EXAMPLES: Final = {
    "add": """\
tui-tasks add 'Rotate API keys #infra !high @claude after #2 due:fri'
tui-tasks add Write tests --description 'Login, refresh.' --list web""",
    "ls": """\
tui-tasks ls '#infra @claude status:open due:<3d'
tui-tasks ls --all
tui-tasks ls --list sprint --json""",
    "show": "tui-tasks show 3",
    "next": "tui-tasks next --list sprint",
    "start": "tui-tasks start 3",
    "log": "tui-tasks log 3 'Half of the endpoints are done.'",
    "status": "tui-tasks status 3 cancelled 'Not needed any more.'",
    "done": "tui-tasks done 3 5 6",
    "fail": "tui-tasks fail 3 'The API has gone.'",
    "skip": "tui-tasks skip 3 'Somebody else did it.'",
    "edit": """\
tui-tasks edit 3 'Rotate all keys !urgent due:tomorrow'
tui-tasks edit 3 '#infra -#ops after #5' --not-after 2
tui-tasks edit 3 due:none --clear agent""",
    "mv": """\
tui-tasks mv 3 --first
tui-tasks mv 3 --after 5
tui-tasks mv 3 --to later""",
    "link": "tui-tasks link 3 branch:auth file:src/auth.py",
    "rm": "tui-tasks rm 3",
    "check": """\
tui-tasks check 3
tui-tasks check give 3 tests""",
    "undo": """\
tui-tasks undo
tui-tasks undo --agent robin""",
    "redo": "tui-tasks redo",
    "work": """\
tui-tasks work start 3 5 --program claude
tui-tasks work attach 3
tui-tasks work review 3
tui-tasks work merge 3 --method rebase""",
    "lists": """\
tui-tasks lists --all
tui-tasks lists rename sprint 'sprint 12'
tui-tasks lists review inbox on""",
    "asks": """\
tui-tasks asks
tui-tasks asks answer 3f2a91c0 1
tui-tasks asks answer 3f2a91c0 'Neither: ask again tomorrow.'""",
    "rules": """\
tui-tasks rules
tui-tasks rules test 'git status; rm x'
tui-tasks rules remove 1""",
    "accept": """\
tui-tasks accept 3
tui-tasks accept 3 --version 2""",
    "decline": "tui-tasks decline 3 'There is one like it: #5.'",
    "join": "tui-tasks join 3 5",
    "release": "tui-tasks release 3",
    "jobs": """\
tui-tasks jobs new Audit 'Read the log.' --when '9:00 mon-fri' --process
tui-tasks jobs run Audit
tui-tasks jobs runs Audit""",
    "agents": """\
tui-tasks agents --json
tui-tasks agents message claude-1 'Use pyjwt.'
tui-tasks agents pause claude-1 'Wait for the review.'
tui-tasks agents undo claude-1 --since 2h""",
    "digest": "tui-tasks digest --since 'yesterday 18:00'",
    "watch": """\
tui-tasks watch --pane log
tui-tasks watch --plain""",
    "web": "tui-tasks web --port 8080",
    "demo": "tui-tasks demo",
    "setup": """\
tui-tasks setup claude --hooks
tui-tasks setup codex --tools tasklist,ask,claim --print""",
    "prime": "tui-tasks prime --agent robin",
    "call": """\
tui-tasks call
tui-tasks call tasklist:add_task --help
tui-tasks call tasklist:add_task name=Build 'description=All of it.'""",
    "serve": "tui-tasks serve --agent robin --list sprint",
    "mcp": """\
tui-tasks mcp --tools tasklist,ask,claim
tui-tasks mcp --http --port 8765""",
    "token": """\
tui-tasks token add robin
tui-tasks token list""",
    "hook": "tui-tasks hook claude",
    "schema": "tui-tasks schema",
    "init": "tui-tasks init web",
    "export": """\
tui-tasks export markdown --list sprint -o sprint.md
tui-tasks export jsonl --dry-run""",
    "import": """\
tui-tasks import todo.txt todo.txt --list sprint
tui-tasks import jsonl tasks.jsonl --dry-run""",
    "sync-file": """\
tui-tasks sync-file tasks.jsonl --install-merge
tui-tasks sync-file tasks.jsonl --once""",
    "scheduler": "tui-tasks scheduler",
    "doctor": "tui-tasks doctor --replay",
    "backup": "tui-tasks backup tasks-monday.db",
    "restore": "tui-tasks restore tasks-monday.db",
    "compact": "tui-tasks compact --before 90d",
    "move": """\
tui-tasks move tasks.db postgresql://ana@db.example.org/tasks
tui-tasks move postgresql://ana@db.example.org/tasks tasks.db""",
    "admin": """\
tui-tasks admin roles
tui-tasks admin roles --human ana --agent 'build=claude-*' --monitor board""",
    "config": "tui-tasks config",
    "help": """\
tui-tasks help scripts
tui-tasks help --man""",
}
"""The examples of each command, one a line, as they are typed."""
