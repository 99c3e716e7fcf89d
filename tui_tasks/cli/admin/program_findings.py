"""What is set up in agent programs, and whether they will run it; for `doctor`."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tui_tasks import regular_files
from tui_tasks.cli.admin import program_entries, setup_plan
from tui_tasks.cli.admin.program_files import MAX_BYTES, PROGRAMS, File, NotSetUp, Target, read, target
from tui_tasks.hooks import hook_forms
from tui_tasks.hooks.programs.payload_fields import table

# Seconds for which a hook is tried.
TRY_LIMIT: Final = 10


@dataclass(slots=True)
class Installed:
    """A program in which something is set up, for a folder or for the user.

    Attributes:
        name: the name of the program.
        place: where, as text.
        has_hooks: whether our hooks are there.
        parts: what is there, as texts.
        problems: why something does not run, and what to do, as texts.
    """

    name: str
    place: str
    has_hooks: bool = False
    parts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def all_installed(folder: Path) -> Iterator[Installed]:
    """Yield the programs in which something is set up, for a folder and for the user."""
    for name, program in PROGRAMS.items():
        for is_user in (False, True):
            at = target(program, folder, for_user=is_user)
            installed = Installed(name, "for you" if is_user else f"in {folder}")
            try:
                _inspect(installed, at, folder)
            except NotSetUp as error:
                installed.problems.append(str(error))
            if installed.parts or installed.problems:
                yield installed


def _inspect(found: Installed, at: Target, folder: Path) -> None:
    program = PROGRAMS[found.name]
    again = f"run tui-tasks setup {found.name}{' --user' if at.is_user else ''}"
    entry = program_entries.find_server(read(at.path(at.files.server), at.root), program)
    if entry is not None and (words := program.words(entry)):
        found.parts.append("server")
        found.problems += _missing_program(words[0], again)
        if not at.is_user and found.name == "claude":
            found.problems += _claude_trust(folder)
    if found.name == "gemini" and entry is not None:
        found.problems += _gemini_trust(folder)
    if not at.files.hooks:
        return
    file = read(at.path(at.files.hooks), at.root)
    if file.path.suffix == ".js":
        if setup_plan.is_our_plugin(file.before):
            found.parts.append("hooks")
            found.has_hooks = True
            found.problems += _old_plugin(file, f"{again} --hooks")
            found.problems += _unstartable(setup_plan.plugin_command(file.before), at, file, f"{again} --hooks")
        return
    commands = program_entries.hook_commands(file)
    if not commands:
        return
    found.parts.append("hooks")
    found.has_hooks = True
    again += " --hooks"
    missing = [event for event in hook_forms.events(found.name) if event not in commands]
    if missing:
        found.problems.append(f"{file.path} is too old: no hook for {', '.join(missing)}; {again}")
    found.problems += _old_hooks(found.name, file, again)
    for words in {tuple(words): words for words in commands.values()}.values():
        found.problems += _unstartable(words, at, file, again)
    if found.name == "codex":
        found.problems += _codex_trust(file)


def _missing_program(word: str, again: str) -> Iterator[str]:
    if shutil.which(word) is None:
        yield f"{word} is started there, and not found; {again} --remove, or put it on PATH"


def _unstartable(words: list[str], at: Target, file: File, again: str) -> Iterator[str]:
    """Try a hook, without a payload; yield why it does not start. Only what `setup` may have written is run."""
    line = shlex.join(words)
    if not setup_plan.is_hook_command(words, is_user=at.is_user):
        yield f"{file.path} runs {line}, which is not what setup writes, so it was not tried; {again}"
        return
    program = shutil.which(words[0])
    if program is None or not Path(program).is_absolute():
        why = "is not executable" if Path(words[0]).is_absolute() and Path(words[0]).exists() else "is not found"
        yield f"the hooks in {file.path} do not start: {words[0]} {why}; {again}, or put it on PATH"
        return
    try:
        done = subprocess.run(
            [program, *words[1:], "--help"],
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRY_LIMIT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        why = error.strerror or str(error)
    except subprocess.TimeoutExpired:
        why = f"no answer in {TRY_LIMIT} s"
    else:
        if done.returncode == 0 and "hook" in done.stdout:
            return
        said = next((text for text in reversed(done.stderr.splitlines()) if text.strip()), "it is another program")
        why = f"exit status {done.returncode}, {said}"
    yield f"the hooks in {file.path} do not start: {line}: {why}; {again}"


def _old_hooks(program: str, file: File, again: str) -> Iterator[str]:
    """Yield what is otherwise in our hooks than `setup` writes it."""
    settings = hook_forms.hook_settings(program, ["tui-tasks"])["hooks"]
    fails, short = [], []
    for event, hook in program_entries.our_hooks(file):
        if event not in settings:
            continue
        (wanted,) = settings[event][0]["hooks"]
        if not program_entries.always_succeeds(hook["command"]):
            fails.append(event)
        # Without one, each program has a default, which is shorter than the human may take.
        limit = hook.get("timeout", 0 if event in hook_forms.WAITING else wanted["timeout"])
        if isinstance(limit, int | float) and limit < wanted["timeout"]:
            short.append(event)
    if fails:
        yield (
            f"{file.path}: where tui-tasks cannot be started, the hooks for {', '.join(fails)} fail, and may keep "
            f"{program} from its work; {again}"
        )
    if short:
        yield (
            f"{file.path}: {program} ends the hooks for {', '.join(short)} before [sessions] wait may be over; {again}"
        )


def _old_plugin(file: File, again: str) -> Iterator[str]:
    text = file.before or ""
    command = setup_plan.plugin_command(text)
    if not command or text != hook_forms.opencode_plugin(command):
        yield f"{file.path} is too old, or was changed; {again}"


def _claude_trust(folder: Path) -> Iterator[str]:
    """Yield problems of trust: Claude Code asks about the servers of each project's file, and keeps the answer."""
    at = target(PROGRAMS["claude"], folder, for_user=True)
    settings = _json(at.path(at.files.server))
    project = settings.get("projects", {}).get(str(folder), {}) if isinstance(settings.get("projects"), dict) else {}
    refused = project.get("disabledMcpjsonServers", []) if isinstance(project, dict) else []
    if "tui-tasks" in refused:
        yield "Claude Code is set not to use the server of .mcp.json: claude mcp reset-project-choices, and start it"


def _gemini_trust(folder: Path) -> Iterator[str]:
    """Yield problems of trust: in an untrusted folder Gemini CLI uses no servers or hooks, not even the user's."""
    at = target(PROGRAMS["gemini"], folder, for_user=True)
    security = table(_json(at.path(at.files.server)), "security")
    if table(security, "folderTrust").get("enabled") is False:
        return
    trusted = _json(at.folder / "trustedFolders.json")
    for place in (folder, *folder.parents):
        if trusted.get(str(place)) == "TRUST_FOLDER":
            return
    parents = [Path(child).parent for child, trust in trusted.items() if trust == "TRUST_PARENT"]
    if not any(folder.is_relative_to(parent) for parent in parents):
        yield f"Gemini CLI does not trust {folder}, and uses nothing of this there: /permissions in gemini trusts it"


def _codex_trust(file: File) -> Iterator[str]:
    """Yield problems of trust: Codex keeps a hash of each trusted hook, and skips the others."""
    at = target(PROGRAMS["codex"], file.root, for_user=True)
    try:
        settings: Any = tomllib.loads(regular_files.read_text(at.path(at.files.server), MAX_BYTES))
        trusted = settings.get("hooks", {}).get("state", {})
    except (OSError, ValueError, AttributeError):
        trusted = {}
    untrusted, changed = [], []
    for (event, number, each), (_, hook) in zip(
        program_entries.hook_positions(file), program_entries.our_hooks(file), strict=True
    ):
        known = table(trusted, f"{file.real}:{_snake_case(event)}:{number}:{each}").get("trusted_hash")
        if known is None:
            untrusted.append(event)
        elif known != _codex_hash(event, hook):
            changed.append(event)
    trust = "start codex, and trust them when it asks, or by /hooks (t)"
    if untrusted:
        yield f"Codex does not run the hooks for {', '.join(untrusted)}: {trust}"
    if changed:
        named = ", ".join(changed)
        yield f"Codex does not run the hooks for {named}, which have changed since you trusted them: {trust}"


def _codex_hash(event: str, hook: dict[str, Any]) -> str:
    """Return the hash under which Codex trusts a hook that `setup` has written (seen with 0.169.0)."""
    definition = {"async": False, **{name: hook.get(name) for name in ("command", "timeout", "type")}}
    identity = json.dumps(
        {"event_name": _snake_case(event), "hooks": [definition]}, separators=(",", ":"), ensure_ascii=False
    )
    return f"sha256:{hashlib.sha256(identity.encode()).hexdigest()}"


def _snake_case(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _json(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(regular_files.read_text(path, MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}
