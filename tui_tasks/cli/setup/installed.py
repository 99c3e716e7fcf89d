"""What is set up in agent programs, and whether they will run it; for `doctor`."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_tasks.cli.setup import hooks_entry, plan, server_entry
from tui_tasks.cli.setup.files import File, NotSetUp, read
from tui_tasks.cli.setup.programs import PROGRAMS, Target, target
from tui_tasks.hooks import entries


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
            found = Installed(name, "for you" if is_user else f"in {folder}")
            try:
                _inspect(found, at, folder)
            except NotSetUp as error:
                found.problems.append(str(error))
            if found.parts or found.problems:
                yield found


def _inspect(found: Installed, at: Target, folder: Path) -> None:
    program = PROGRAMS[found.name]
    again = f"run tui-tasks setup {found.name}{' --user' if at.is_user else ''}"
    entry = server_entry.find(read(at.path(at.files.server), at.root), program)
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
        if plan.is_our_plugin(file.before):
            found.parts.append("hooks")
            found.has_hooks = True
            found.problems += _old_plugin(file, again)
        return
    commands = hooks_entry.commands(file)
    if not commands:
        return
    found.parts.append("hooks")
    found.has_hooks = True
    missing = [event for event in entries.events(found.name) if event not in commands]
    if missing:
        found.problems.append(f"{file.path} is too old: no hook for {', '.join(missing)}; {again} --hooks")
    for word in dict.fromkeys(words[0] for words in commands.values()):
        found.problems += _missing_program(word, f"{again} --hooks")
    if found.name == "codex":
        found.problems += _codex_trust(file)


def _missing_program(word: str, again: str) -> Iterator[str]:
    if shutil.which(word) is None:
        yield f"{word} is started there, and not found; {again} --remove, or put it on PATH"


def _old_plugin(file: File, again: str) -> Iterator[str]:
    text = file.before or ""
    command = plan.plugin_command(text)
    outbox = re.search(r"^const OUTBOX = (\".*\")$", text, re.MULTILINE)
    if command and outbox and text == entries.opencode_plugin(command, json.loads(outbox[1])):
        return
    yield f"{file.path} is too old, or was changed; {again} --hooks"


def _claude_trust(folder: Path) -> Iterator[str]:
    """Yield problems of trust: Claude Code asks about the servers of each project's file, and keeps the answer."""
    at = target(PROGRAMS["claude"], folder, for_user=True)
    settings = _json(at.path(at.files.server))
    project = settings.get("projects", {}).get(str(folder), {}) if isinstance(settings.get("projects"), dict) else {}
    refused = project.get("disabledMcpjsonServers", []) if isinstance(project, dict) else []
    if "tui-tasks" in refused:
        yield "Claude Code was told not to use the server of .mcp.json: claude mcp reset-project-choices, and start it"


def _gemini_trust(folder: Path) -> Iterator[str]:
    """Yield problems of trust: Gemini CLI uses neither servers nor hooks, not even the user's own, in an untrusted
    folder.
    """
    at = target(PROGRAMS["gemini"], folder, for_user=True)
    security = _table(_json(at.path(at.files.server)), "security")
    if _table(security, "folderTrust").get("enabled") is False:
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
        settings: Any = tomllib.loads(at.path(at.files.server).read_text("utf-8"))
        trusted = settings.get("hooks", {}).get("state", {})
    except (OSError, ValueError, AttributeError):
        trusted = {}
    untrusted = [
        event
        for event, number, each in hooks_entry.positions(file)
        if "trusted_hash" not in _table(trusted, f"{file.real}:{_snake_case(event)}:{number}:{each}")
    ]
    if untrusted:
        events = ", ".join(untrusted)
        yield f"Codex does not run the hooks for {events}: start codex, and trust them where it asks, or by /hooks"


def _table(settings: Any, key: str) -> dict[str, Any]:
    found = settings.get(key) if isinstance(settings, dict) else None
    return found if isinstance(found, dict) else {}


def _snake_case(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _json(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}
