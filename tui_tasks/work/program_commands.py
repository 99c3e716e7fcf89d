"""How each agent program is started on a task: its command, its prompt, its environment, and the files that connect it
with us.

Nothing is written into the repository. Codex runs hooks only where its user has trusted them: `tui-tasks setup codex
--user --hooks` writes those.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tui_tasks import installation
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.read import check_queries, work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import AgentSession
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN
from tui_tasks.hooks import hook_forms
from tui_tasks.runner import git
from tui_tasks.runner.git import GitFailed
from tui_tasks.settings import live_settings
from tui_tasks.settings.work_settings import PROGRAM_NAMES, PROMPT, WorkSettings
from tui_tasks.text.output_lines import error_line
from tui_tasks.text.safe import safe_text
from tui_tasks.work.git import merging

SERVER: Final = "tui-tasks"
# Words of the screens with which the programs ask for a login, and of the lines that say why they cannot work.
_LOGIN: Final = re.compile(r"(?i)\b(?:log(?:ged)?[ -]?in|sign(?:ed)?[ -]?in|auth method|authenticat\w+|api key)\b")
_TRUST: Final = re.compile(r"(?i)\btrust\b")
_REFUSAL: Final = re.compile(
    r"(?i)\b(?:not logged in|please (?:run|set|log|sign)\b|failed to|could not|cannot|unable to|denied|refused)"
)
# A program describes each tool to its model: those with which an agent works on one task.
TOOLS: Final = "tasklist,ask,control:task,control:update_task,control:work_ready"
# Variables of the human's shell that would tell the agent that it runs somewhere else.
_DROPPED: Final = frozenset({"TMUX", "TMUX_PANE", "STY", "COLUMNS", "LINES", "TUI_TASKS_RUN_ID", "TUI_TASKS_RUN_TOKEN"})
# By which Claude Code knows its own children.
_DROPPED_BEGINNINGS: Final = ("CLAUDE_CODE_SESSION", "CLAUDECODE", "CLAUDE_PID", "CODEX_SANDBOX", "OPENCODE_SESSION")


class StartCommand(NamedTuple):
    """What starts an agent.

    Attributes:
        argv: the words.
        environment: all variables.
        has_hooks: whether the program tells of its own session.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    has_hooks: bool


def check(settings: WorkSettings, program: str) -> None:
    """Refuse a program that cannot be started; where the settings of work are not used, say why.

    Raises:
        NotFound: there is no program of that name.
        Conflict: it is not installed.
    """
    problem = live_settings.work_problem()
    if program not in settings.names():
        if problem:
            raise NotFound("program", program, f". {problem}")
        names = ", ".join(settings.names())
        raise NotFound("program", f"{program}; use one of {names}, or set [work.program.{program}]")
    word = _words(settings, program)[0]
    if shutil.which(word) is None:
        why = f". {problem}" if problem else ""
        where = f"correct [work.program.{program}] in the settings" if program in settings.programs else "install it"
        raise Conflict(
            f"{program} cannot be started: no program {word} ({where}, or choose another){why}", program=program
        )


def proposed(store: Store, settings: WorkSettings) -> str:
    """Return the program to propose: the settings' one, else the last that has not failed, else the last, or claude."""
    if settings.program:
        return settings.program
    newest = newest_works(store.db, settings)
    good = [name for name, work in newest.items() if work.state != "failed"]
    return good[-1] if good else next(reversed(newest), "claude")


def newest_works(db: Database, settings: WorkSettings) -> dict[str, Work]:
    """Return the newest work of each program, the program that was used last at the end."""
    newest: dict[str, Work] = {}
    for work in work_queries.everything(db):
        if work.program in settings.names():
            newest.pop(work.program, None)
            newest[work.program] = work
    return newest


def is_installed(settings: WorkSettings, program: str) -> bool:
    """Return whether the command of a program is there."""
    return shutil.which(_words(settings, program)[0]) is not None


def written(settings: WorkSettings, program: str) -> str:
    """Return the command of a program as it can be typed, with `{prompt}`; empty if the settings name none."""
    return shlex.join(_words(settings, program)) if program in settings.names() else ""


def first_question(lines: Sequence[str]) -> str | None:
    """Return what a program asks before it begins, by the last lines of its terminal; None: nothing that is known."""
    text = "\n".join(lines)
    if _TRUST.search(text):
        return "asks to trust the folder: answer in its terminal"
    if _LOGIN.search(text):
        return "not logged in: log in in its terminal"
    return None


def refusal(lines: Sequence[str]) -> str:
    """Return the last line with which a program says why it has ended; empty if there is none."""
    return error_line("\n".join(lines)) or next((one.strip() for one in reversed(lines) if _REFUSAL.search(one)), "")


def _words(settings: WorkSettings, program: str) -> tuple[str, ...]:
    own = settings.programs.get(program)
    if own is None:
        return (program,)
    return (str(Path(own.command[0]).expanduser()), *own.command[1:])


def _has_prompt(words: tuple[str, ...]) -> bool:
    """Return whether a command has a place for the prompt; else it begins one of the programs that we know."""
    return any(PROMPT in word for word in words)


def command(
    settings: WorkSettings, work: Work, prompt: str, database: str, folder: Path, environ: Mapping[str, str],
    *, is_headless: bool, resumes: str | None = None
) -> StartCommand:  # fmt: skip
    """Return what starts the program of a work with a prompt; its files are written into a private folder.

    `resumes`: the program's session that goes on; empty: the newest of the folder; None: a new one begins.

    Raises:
        OSError: a file cannot be written.
    """
    environment = {
        name: value
        for name, value in environ.items()
        if name not in _DROPPED and not name.startswith(_DROPPED_BEGINNINGS)
    } | {"TUI_TASKS_DB": database}
    program = work.program
    words = _words(settings, program)
    if _has_prompt(words):
        return StartCommand(
            tuple(word.replace(PROMPT, prompt) for word in words), environment, program in PROGRAM_NAMES
        )
    build = {"claude": _claude, "codex": _codex, "gemini": _gemini, "opencode": _opencode}[program]
    more, variables = build(_Connection(work, database, folder, environment), prompt, is_headless, resumes)
    return StartCommand((*words, *more), environment | variables, has_hooks=True)


def resumes(settings: WorkSettings, work: Work, session: AgentSession | None) -> str | None:
    """Return what `command` resumes of a work: the session of its agent, the newest of its worktree, or nothing."""
    if session is None or _has_prompt(_words(settings, work.program)):
        return None
    if not session.session.startswith(session_queries.PLACEHOLDER):
        return session.session
    return "" if work.makes_worktree else None


class _Connection(NamedTuple):
    """What connects a program with us: its hooks' command, and our MCP server."""

    work: Work
    database: str
    folder: Path
    environment: Mapping[str, str]

    @property
    def hook(self) -> list[str]:
        return [*installation.starter(), "hook", self.work.program, "--db", self.database]

    @property
    def server(self) -> list[str]:
        return [
            *installation.starter(), "mcp", "--agent-only", self.work.agent, "--db", self.database, "--tools", TOOLS
        ]  # fmt: skip

    def file(self, name: str, text: str) -> str:
        path = self.folder / f"{self.work.uid}.{name}"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        return str(path)


_Built = tuple[list[str], dict[str, str]]


def _claude(connection: _Connection, prompt: str, is_headless: bool, resumes: str | None) -> _Built:
    hooks: dict[str, Any] = hook_forms.hook_settings("claude", connection.hook)
    hooks |= {"permissions": {"allow": [f"mcp__{SERVER}"]}}  # our own tools, as below for the others
    settings = connection.file("settings.json", _json(hooks))
    command, *arguments = connection.server
    servers = {"mcpServers": {SERVER: {"command": command, "args": arguments}}}
    former = ["--resume", resumes] if resumes else ["--continue"] if resumes == "" else []
    # Options of the human's command and `--mcp-config` take any number of words: the prompt follows one that takes one.
    words = [*(["-p"] if is_headless else []), *former, "--settings", settings, prompt]
    return [*words, "--mcp-config", connection.file("mcp.json", _json(servers))], {}


def _codex(connection: _Connection, prompt: str, is_headless: bool, resumes: str | None) -> _Built:
    command, *arguments = connection.server
    # Its options are TOML, of which JSON's strings and arrays are a part.
    options = [
        f"mcp_servers.{SERVER}.command={_json(command)}",
        f"mcp_servers.{SERVER}.args={_json(arguments)}",
        # Else it asks its person before each report and each question.
        f'mcp_servers.{SERVER}.default_tools_approval_mode="approve"',
    ]
    words = [word for option in options for word in ("-c", option)]
    former = ["resume", resumes or "--last"] if resumes is not None else []
    return [*(["exec"] if is_headless else []), *former[:1], *words, *former[1:], prompt], {}


def _gemini(connection: _Connection, prompt: str, is_headless: bool, resumes: str | None) -> _Built:
    command, *arguments = connection.server
    settings: dict[str, Any] = hook_forms.hook_settings("gemini", connection.hook)
    settings |= {"mcpServers": {SERVER: {"command": command, "args": arguments, "trust": True}}}
    path = connection.file("settings.json", _json(settings))
    former = ["--resume", resumes or "latest"] if resumes is not None else []
    variables = {"GEMINI_CLI_SYSTEM_SETTINGS_PATH": path} | _git_identity(connection)
    return [*former, "-p" if is_headless else "-i", prompt], variables


def _git_identity(connection: _Connection) -> dict[str, str]:
    """Return variables by which git knows who commits: Gemini CLI hides the human's own settings from it."""
    try:
        who = merging.identity(git.settings(Path(connection.work.repository)))
    except (Conflict, GitFailed):
        return {}
    given = connection.environment.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(first + 2)}
    for at, (key, value) in enumerate((("user.name", who.name), ("user.email", who.email)), first):
        variables |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return variables


def _opencode(connection: _Connection, prompt: str, is_headless: bool, resumes: str | None) -> _Built:
    plugin = connection.file("plugin.js", hook_forms.opencode_plugin(connection.hook))
    settings = {"plugin": [f"file://{plugin}"], "mcp": {SERVER: {"type": "local", "command": connection.server}}}
    former = ["--session", resumes] if resumes else ["--continue"] if resumes == "" else []
    words = ["run", *former, prompt] if is_headless else [*former, "--prompt", prompt]
    return words, {"OPENCODE_CONFIG_CONTENT": _json(settings)}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


MAX_LOG: Final = 30
MAX_CHARS: Final = 30_000


def prompt(
    db: Database, task: Task, work: Work, words: Sequence[str] = (), *, folder: str = "", command: str = "tui-tasks"
) -> str:
    """Return the task with all that is known of it, the human's extra words, and how to report. What they say there is
    left out of the log: comments are in both. `folder`: where the agent starts, if not in the worktree's own folder.
    """
    home = task_queries.list_by_id(db, task.list_id)
    parts = [f"{session_queries.PROMPT_OF_WORK}{task.number}: {task.name}"]
    if added := "\n\n".join(words).strip():
        parts.append(f"{session_queries.ADDED_BY_HUMAN}{added}")
    if task.description:
        parts.append(task.description)
    entries = task_records.logs(db, task.uid)[-MAX_LOG:]
    if log := [one for one in entries if one.agent != HUMAN or one.message not in words]:
        parts.append("Log:\n" + "\n".join(f"- {entry.agent}: {entry.message}" for entry in log))
    if task.links:
        parts.append("Links:\n" + "\n".join(f"- {link['kind']}: {link['target']}" for link in task.links))
    if answered := _answers(db, task.uid):
        parts.append("Answered questions:\n" + "\n".join(f"- {asked}\n  {answer}" for asked, answer in answered))
    if checks := check_queries.of_task(db, task, home, check_queries.definitions(db)):
        parts.append("Checks that must pass: " + ", ".join(check.name for check in checks))
    if (owner := work_queries.owner(db, work)) is not None:
        parts.append(f"{owner.agent} has this worktree too: change files only if you are asked to.")
    parts.append(_how_to_report(task, work, folder or work.worktree, command))
    text = "\n\n".join(parts)
    return safe_text(text, MAX_CHARS)


def _answers(db: Database, task_uid: str) -> list[tuple[str, str]]:
    rows = db.sql(
        "SELECT question, answer FROM ask WHERE task_uid = ? AND state = 'answered' AND answer IS NOT NULL ORDER BY id",
        (task_uid,),
    )
    return [(question, answer) for question, answer in rows.fetchall()]


def _how_to_report(task: Task, work: Work, folder: str, command: str) -> str:
    where = f"You are in {folder}" + (f", on branch {work.branch}." if work.branch else ".")
    commit = " Commit your work there; a person reviews and merges it." if work.makes_worktree else ""
    if commit and work.program == "codex":
        # Its sandbox keeps git's folder read-only, as hooks and settings there would run outside of the sandbox.
        commit += " If your sandbox refuses the commit, leave it: the person commits your files."
    report = f"{command} call --agent {work.agent}"
    return (
        f"{where}{commit}\n"
        f"This task is yours in tui-tasks, as {work.agent}. Use its MCP tools, or in a shell:\n"
        f"- log what you do: {report} tasklist:log_task_progress uid={task.uid} message=TEXT\n"
        f"- ask what is not yours to decide: {report} ask question=TEXT task={task.uid}\n"
        f"- when all is done: {report} control:work_ready uid={task.uid} summary=TEXT"
    )
