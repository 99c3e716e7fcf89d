"""The texts of `--help` beside those of the arguments: the groups of commands, and examples."""

from __future__ import annotations

from typing import Final

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
tui-tasks add 'Write tests' 'Login, refresh and expiry.' --list sprint""",
    "ls": """\
tui-tasks ls '#infra @claude status:open due:<3d'
tui-tasks ls --status pending --status in_progress
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
tui-tasks edit 3 '#infra after #5' --untag ops --not-after 2
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
    "accept": "tui-tasks accept 3",
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
    "config": "tui-tasks config",
    "help": """\
tui-tasks help shell
tui-tasks help --man""",
}
"""The examples of each command, one a line, as they are typed."""
