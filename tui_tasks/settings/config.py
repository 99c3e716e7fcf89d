"""The human's settings, from one file that no agent writes (docs: protocol, section 1).

Tables that another room uses are declared there: `[runner]`, `[check]`, `[stuck]`, `[review]`, `[[rule]]`; `[work]` in
`work_settings`. The program writes only the standing answers: one is added at the file's end, or taken out.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from tui_tasks import regular_files
from tui_tasks.core.engine import file_writes
from tui_tasks.core.engine.file_writes import make_folder
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.read.agents.stuck_causes import Thresholds
from tui_tasks.core.rules.agents import standing_answers
from tui_tasks.core.rules.agents.standing_answers import AnswerRule
from tui_tasks.core.rules.recorded_settings import AskLimits, ReviewPolicy
from tui_tasks.settings import paths, work_settings
from tui_tasks.settings.paths import MAX_SETTINGS_BYTES
from tui_tasks.settings.work_settings import Program
from tui_tasks.text.safe import safe_line

Seconds = Annotated[int, Meta(ge=1)]
WaitSeconds = Annotated[int, Meta(ge=0, le=3600)]

# The own windows of Claude Code and opencode stay usable while a hook waits; Codex and Gemini CLI are blocked.
DEFAULT_WAITS: Final[dict[Program, int]] = {"claude": 1_800, "codex": 0, "gemini": 0, "opencode": 1_800}
Topic = Annotated[str, Meta(pattern=r"^[-_A-Za-z0-9]{0,64}$")]
TOKENS: Final = ("TUI_TASKS_NTFY_TOKEN", "NTFY_TOKEN")
"""The environment variables for the token; the first one that is set is used."""
# Without TLS, anybody on the way can read messages and token; within this machine nobody is on the way.
_SERVER: Final = r"https://[^/\s@]+(/\S*)?|http://(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?/?"


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[sessions]`.

    Attributes:
        wait: the seconds that a hook waits for the human's answer: one number, or one for each program.
        tasks: whether each prompt becomes a task, with the program's own task list below it.
        keep: what is stored of texts and tool inputs: all, first lines, or nothing.
        redact: regular expressions whose matches are not stored, in addition to those for common keys and tokens.
    """

    wait: WaitSeconds | dict[Program, WaitSeconds] = msgspec.field(default_factory=DEFAULT_WAITS.copy)
    tasks: bool = True
    keep: Literal["all", "titles", "none"] = "all"
    redact: tuple[str, ...] = ()

    def waits(self) -> dict[str, int]:
        """Return for how many seconds a hook of each program waits."""
        if isinstance(self.wait, int):
            return dict.fromkeys(DEFAULT_WAITS, self.wait)
        return {program: self.wait.get(program, default) for program, default in DEFAULT_WAITS.items()}


class NtfySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[ntfy]`.

    Attributes:
        server: the address of the server.
        topic: the topic for messages; empty: none are sent.
        reply_topic: the topic of answers; None: the topic with `-reply` appended; empty: none are accepted.
        titles: whether questions, titles and names of lists are sent, or only who waits.
        delay: the seconds that a question must be open before it is sent, so that somebody at the screen can answer
            first.
        expires: the seconds for which an answer is accepted.
        all_machines: on a team's server, whether questions of machines with a phone of their own are sent, too.
    """

    server: str = "https://ntfy.sh"
    topic: Topic = ""
    reply_topic: Topic | None = None
    titles: bool = True
    delay: Annotated[int, Meta(ge=0, le=86_400)] = 5
    expires: Annotated[int, Meta(ge=10, le=86_400)] = 3_600
    all_machines: bool = False

    def __post_init__(self) -> None:
        """Refuse a server to which others could listen.

        Raises:
            ValueError: the address is invalid, or not https.
        """
        if not re.fullmatch(_SERVER, self.server):
            raise ValueError("server is an address that begins with https:// (http:// on this machine alone)")
        if self.topic and self.replies == self.topic:
            raise ValueError("reply_topic is another than topic")

    @property
    def replies(self) -> str:
        """The topic of the answers; empty: none are read."""
        return f"{self.topic[:58]}-reply" if self.reply_topic is None else self.reply_topic


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every setting, its default, and what it does."""

    theme: Annotated[str, Meta(description="The theme; `:` and `theme` on the screen lists them.")] = "dark"
    ascii: Annotated[bool, Meta(description="Letters instead of glyphs.")] = False
    quiet_after: Annotated[
        Seconds, Meta(description="Seconds of silence after which an agent of the channel is quiet.")
    ] = 600
    bell: Annotated[bool, Meta(description="Ring when something needs you and the terminal has no focus.")] = True
    notify: Annotated[Literal["off", "osc9", "osc777"], Meta(description="The terminal's notification for it.")] = (
        "osc9"
    )
    notify_command: Annotated[
        list[str], Meta(description="A program to run for it, with the text as last argument.")
    ] = []
    notify_read_only: Annotated[bool, Meta(description="Ring and notify from a read-only screen (`watch`) too.")] = (
        False
    )
    keys: Annotated[
        dict[str, str], Meta(description="Your own keys: an action's id = keys; `?` on the screen shows both.")
    ] = {}
    views: Annotated[dict[str, str], Meta(description="Saved filters: a name = filter words.")] = {}
    review: Annotated[ReviewPolicy, Meta(description="Lists whose new tasks wait for you.")] = ReviewPolicy()
    asks: Annotated[AskLimits, Meta(description="Open questions of one agent, and of all.")] = AskLimits()
    stuck: Annotated[Thresholds, Meta(description="When an agent is stuck; `tui-tasks help supervising`.")] = (
        Thresholds()
    )
    sessions: Annotated[
        SessionSettings, Meta(description="Agent programs with hooks; `tui-tasks help configuration`.")
    ] = SessionSettings()
    ntfy: Annotated[NtfySettings, Meta(description="Messages to your phone; `tui-tasks help phone`.")] = NtfySettings()
    rule: Annotated[tuple[AnswerRule, ...], Meta(description="Your standing answers to permissions.")] = ()
    runner: Annotated[dict[str, Any], Meta(description="Commands of jobs.")] = {}
    check: Annotated[dict[str, Any], Meta(description="Commands that prove a task.")] = {}
    work: Annotated[dict[str, Any], Meta(description="Agents that you start on tasks; `tui-tasks help work`.")] = {}


class SettingsProblem(msgspec.Struct, frozen=True):
    """A mistake in the file.

    Attributes:
        path: the file.
        line: counted from 1; None: unknown.
        message: what is wrong, and what to do.
    """

    path: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        at = f"{self.path}:{self.line}" if self.line else str(self.path)
        return safe_line(f"{at}: {self.message}")


# TOML refuses a table below a value.
_PROGRAM_AND_TABLES: Final = r"(?m)^\s*program\s*=(?s:.*)^\s*\[work\.program\."


def load(path: Path) -> tuple[Config, list[SettingsProblem]]:
    """Read the file. Mistakes are reported and skipped; the rest applies.

    A missing file counts as empty. A file that others may write is not used, as it names programs to run.
    """
    try:
        text = regular_files.read_text(path, MAX_SETTINGS_BYTES)
        why = paths.why_not_trusted(path)
    except FileNotFoundError:
        return Config(), []
    except (OSError, UnicodeDecodeError) as error:
        return Config(), [SettingsProblem(path, None, f"cannot be read: {regular_files.reason(error)}")]
    if why:
        return Config(), [SettingsProblem(path, None, why)]
    import tomllib  # imported here, as few have such a file

    try:
        held = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        message = f"not TOML: {error}"
        if re.search(_PROGRAM_AND_TABLES, text):
            message += "; beside [work.program.NAME], write `default = ...` in [work.program], not `program = ...`"
        return Config(), [SettingsProblem(path, int(line[1]) if line else None, message)]
    return _checked(path, text, held)


def _checked(path: Path, text: str, held: dict[str, Any]) -> tuple[Config, list[SettingsProblem]]:
    problems: list[SettingsProblem] = []
    good: dict[str, Any] = {}
    known = {field.name: field for field in msgspec.structs.fields(Config)}
    for name, value in held.items():
        if name not in known:
            problems.append(
                SettingsProblem(path, line_of(text, name), f"no setting {name}; `tui-tasks config` lists them")
            )
            continue
        try:
            kind = known[name].type
            value = given = standing_answers.with_text_times(value) if name == "rule" else value
            if name == "work":
                given, kind = work_settings.with_programs(value), work_settings.WorkSettings
            made = msgspec.convert(given, kind)
            good[name] = value if name == "work" else made  # whoever uses [work] reads it
            if name in ("runner", "check"):
                problems += _table_problems(path, text, name, value)
        except msgspec.ValidationError as error:
            problems.append(_problem(path, text, name, given, kind, error))
    return Config(**good), problems


def _problem(
    file: Path, text: str, name: str, value: Any, kind: Any, error: msgspec.ValidationError
) -> SettingsProblem:
    """Return what is wrong in a setting: its key, what it takes, and the line of the key, else that of its table."""
    from tui_tasks.settings import setting_mistakes  # few files have mistakes

    if name == "rule" and isinstance(value, dict):
        return SettingsProblem(file, line_of(text, name), "rule: write [[rule]], not [rule]")
    path, message = setting_mistakes.mistake(error, value, kind)
    if path[:1] == ("programs",):
        path = ("program", *path[1:])
    elif path == ("program",) and "programs" in value:
        path = ("program", "default")
    names = [name, *(step for step in path if isinstance(step, str))]
    if unknown := re.match(r"no setting (.*?);", message):
        names.append(unknown[1])
    nth = path[0] if path and isinstance(path[0], int) else 0
    table = ".".join(names[:-1])
    key, whole = line_of(text, names[-1], table or None, nth), ".".join(names)
    line = key or line_of(text, whole, nth=nth) or line_of(text, name)
    return SettingsProblem(file, line, f"{setting_mistakes.place((name, *path))}: {message}")


def _table_problems(path: Path, text: str, name: str, table: dict[str, Any]) -> list[SettingsProblem]:
    # Imported only for such a table, as it would delay the start of all that reads the settings.
    from tui_tasks.settings import run_tables

    read = run_tables.read_checks if name == "check" else run_tables.read_runners
    problems = []
    for wrong in read(table, str(path))[1]:
        place, _, key = wrong.key.rpartition(".")
        line = line_of(text, key, place) or line_of(text, wrong.key) or line_of(text, name)
        problems.append(SettingsProblem(path, line, str(wrong)))
    return problems


def line_of(text: str, name: str, table: str | None = None, nth: int = 0) -> int | None:
    """Return the line, counted from 1, of a key or table in a TOML text; None if it is unknown. `nth`: of which of the
    tables with that name, from 0.
    """
    key = rf"""\s*["']?{re.escape(name)}["']?\s*(=|\.)"""
    here: str | None = None
    seen = -1
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            here = header[1]
            is_named = here == name or here.startswith(f"{name}.")
            seen += is_named or here == table
            if is_named and seen == nth:
                return number
        elif here == table and (table is None or seen == nth) and re.match(key, line):
            return number
    return None


def ntfy_token(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the token of the notification server; None if none is set."""
    return next((environment[name] for name in TOKENS if environment.get(name)), None)


def keep_theme(path: Path, name: str) -> None:
    """Write the theme's name to the file, and change nothing else. A new file gets mode 0600, its folder 0700.

    Raises:
        OSError: the file cannot be written; it is as it was.
        ValueError: the file is not TOML, or not of a form in which the theme's line can be found.
    """
    import tomllib

    path = Path(os.path.realpath(path))
    text = regular_files.read_text(path, MAX_SETTINGS_BYTES) if path.exists() else ""
    wanted = tomllib.loads(text) | {"theme": name}
    line, lines = line_of(text, "theme"), text.splitlines(keepends=True)
    if line is None:
        lines.insert(0, f'theme = "{name}"\n')
    else:
        lines[line - 1] = re.sub(r"""=\s*("[^"]*"|'[^']*')""", f'= "{name}"', lines[line - 1], count=1)
    text = "".join(lines)
    if tomllib.loads(text) != wanted:
        raise ValueError(f"line {line} is not of the form theme = …")
    make_folder(str(path.parent))
    file_writes.replace(path, text.encode())


def describe(path: Path, config: Config) -> str:
    """Return the file's path, and every setting with its value, its default and what it does."""
    lines = [f"# {path}" + ("" if path.exists() else "  (not there yet: every setting is at its default)"), ""]
    for field in msgspec.structs.fields(Config):
        default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        value = getattr(config, field.name)
        lines += [f"# {description(field)} Default: {_json(default)}", f"{field.name} = {_json(value)}", ""]
    return "\n".join(lines)


def description(field: Any) -> str:
    """Return what a setting does."""
    return next((meta.description for meta in getattr(field.type, "__metadata__", ()) if meta.description), "")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_TABLE: Final = r"\s*\[\[\s*rule\s*\]\]"
_ANY_TABLE: Final = r"\s*\["


def add(path: Path, rule: AnswerRule) -> None:
    """Add a rule to the settings file, which is made if there is none.

    Raises:
        Conflict: the file cannot be changed so.
        OSError: it cannot be read or written.
    """
    try:
        text = regular_files.read_text(path, paths.MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        text = ""
    fields = msgspec.to_builtins(rule)
    # JSON's strings are strings of TOML.
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())
    added = f"{text}{_gap(text)}[[rule]]\n{lines}"
    wanted = _parsed(path, text)
    wanted["rule"] = [*wanted.get("rule", []), fields]
    if _parsed(path, added) != wanted:
        raise Conflict(f"{path} has its rules in another form: add this one in an editor", path=str(path))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file_writes.replace(path, added.encode())


def _gap(text: str) -> str:
    if not text:
        return ""
    return "\n" if text.endswith("\n") else "\n\n"


def _parsed(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Conflict(f"{path}: {error}: correct it first", path=str(path)) from None


def remove(path: Path, number: int, rules: Sequence[AnswerRule]) -> AnswerRule:
    """Remove the rule with that number, from 1, of those that the file has; return it.

    Raises:
        Conflict: its table cannot be found in the text.
        NotFound: there is no such rule.
    """
    if not 0 < number <= len(rules):
        raise NotFound("rule", f"{number}: `tui-tasks rules` lists them")
    text = regular_files.read_text(path, paths.MAX_SETTINGS_BYTES)
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if re.match(_TABLE, line)]
    wanted = _parsed(path, text)
    del wanted["rule"][number - 1]
    wanted = {name: value for name, value in wanted.items() if value or name != "rule"}
    if len(heads) == len(rules):
        begin = heads[number - 1]
        following = (at for at in range(begin + 1, len(lines)) if re.match(_ANY_TABLE, lines[at]))
        del lines[begin : next(following, len(lines))]
    if len(heads) != len(rules) or _parsed(path, "".join(lines)) != wanted:
        raise Conflict(f"the table of rule {number} is not found in {path}: remove it in an editor")
    file_writes.replace(path, "".join(lines).encode())
    return rules[number - 1]
