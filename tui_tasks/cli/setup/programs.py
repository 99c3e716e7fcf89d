"""The agent programs that can be set up: where each keeps its servers, hooks and guidance, and in what form."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SERVER: Final = "tui-tasks"
# What is served where nothing else is asked for: one dialect, for a program puts each tool before its model.
TOOLS: Final = "tasklist,ask,claim"


@dataclass(frozen=True, slots=True)
class Places:
    """Where a program keeps things, below a folder; empty where it keeps none of the kind there.

    Attributes:
        server: the file of its MCP servers.
        hooks: the file of its hooks, or its plugin.
        guide: the file that its agents read first.
        skill: the file of our skill.
    """

    server: str
    hooks: str = ""
    guide: str = ""
    skill: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """An agent program.

    Attributes:
        servers: the name under which the file of its servers holds them.
        project: where it keeps things in the folder of a project.
        user: where it keeps them for a person, below `home`.
        home: the folder of its settings, by the environment and the person's home.
        next: what the person does so that the server is used.
        next_hooks: what the person does so that the hooks are run; None where it has none.
        joined: whether a server's command and arguments stand in one array.
        extra: what an entry has beside those.
    """

    servers: str
    project: Places
    user: Places
    home: Callable[[Mapping[str, str], Path], Path]
    next: str
    next_hooks: str | None = None
    joined: bool = False
    extra: tuple[tuple[str, Any], ...] = ()

    def entry(self, words: list[str]) -> dict[str, Any]:
        """The entry of a server that is started by a command."""
        command = {"command": words} if self.joined else {"command": words[0], "args": words[1:]}
        return {**dict(self.extra), **command}

    def words(self, entry: dict[str, Any]) -> list[str]:
        """The command in an entry; empty where it has none."""
        command, arguments = entry.get("command"), entry.get("args", [])
        words = command if self.joined else [command, *arguments] if isinstance(arguments, list) else []
        return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else []


def _below(variable: str, otherwise: str, below: str = "") -> Callable[[Mapping[str, str], Path], Path]:
    def find(environment: Mapping[str, str], home: Path) -> Path:
        named = environment.get(variable)
        return (Path(named) if named and Path(named).is_absolute() else home / otherwise) / below

    return find


def _vscode(environment: Mapping[str, str], home: Path) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Code" / "User"
    return _below("XDG_CONFIG_HOME", ".config", "Code/User")(environment, home)


def _skill(folder: str) -> str:
    return f"{folder}/{SERVER}/SKILL.md"


PROGRAMS: Final = {
    "claude": Program(
        servers="mcpServers",
        project=Places(".mcp.json", ".claude/settings.json", "CLAUDE.md", _skill(".claude/skills")),
        user=Places(".claude.json", "settings.json", "CLAUDE.md", _skill("skills")),
        home=_below("CLAUDE_CONFIG_DIR", ".claude"),
        next="Start claude. Where it asks about the server of .mcp.json, choose to use it: the dialog proposes not to.",
        next_hooks="The hooks are run from the next session on; /hooks lists them.",
    ),
    "codex": Program(
        servers="mcp_servers",
        project=Places(".codex/config.toml", ".codex/hooks.json", "AGENTS.md", _skill(".agents/skills")),
        user=Places("config.toml", "hooks.json", "AGENTS.md", _skill("skills")),
        home=_below("CODEX_HOME", ".codex"),
        next="Start codex. It reads a project's files only where the folder is trusted: it asks at the first start.",
        next_hooks="Start codex, and trust the hooks where it asks, or by /hooks: until then it runs none of them.",
    ),
    "cursor": Program(
        servers="mcpServers",
        project=Places(".cursor/mcp.json", guide="AGENTS.md"),
        user=Places("mcp.json"),
        home=_below("", ".cursor"),
        next="Open the folder in Cursor, and switch the server on under Settings, MCP.",
    ),
    "gemini": Program(
        servers="mcpServers",
        project=Places(".gemini/settings.json", ".gemini/settings.json", "GEMINI.md", _skill(".agents/skills")),
        user=Places("settings.json", "settings.json", "GEMINI.md", _skill("skills")),
        home=_below("", ".gemini"),
        next="Start gemini; /mcp lists the server. It reads a project's files only where the folder is trusted.",
        next_hooks="The hooks are run from the next session on, unless hooksConfig.enabled is false in your settings.",
    ),
    "opencode": Program(
        servers="mcp",
        project=Places("opencode.json", ".opencode/plugins/tui-tasks.js", "AGENTS.md", _skill(".agents/skills")),
        user=Places("opencode.json", "plugins/tui-tasks.js", "AGENTS.md", _skill("skills")),
        home=_below("XDG_CONFIG_HOME", ".config", "opencode"),
        next="Start opencode; `opencode mcp list` shows the server.",
        next_hooks="The plugin is loaded when opencode starts next.",
        joined=True,
        extra=(("type", "local"),),
    ),
    "vscode": Program(
        servers="servers",
        project=Places(".vscode/mcp.json", guide="AGENTS.md"),
        user=Places("mcp.json"),
        home=_vscode,
        next="Open the folder in VS Code, and start the server by MCP: List Servers.",
        extra=(("type", "stdio"),),
    ),
}


@dataclass(frozen=True, slots=True)
class Target:
    """The folder in which a program is set up.

    Attributes:
        folder: below which its files are.
        root: the folder that links must not lead out of.
        places: the files.
        is_user: whether they are a person's, and no project's.
    """

    folder: Path
    root: Path
    places: Places
    is_user: bool

    def path(self, name: str) -> Path:
        """The path of a file of `places`."""
        if self.is_user and name == ".claude.json" and not os.environ.get("CLAUDE_CONFIG_DIR"):
            return self.folder.parent / name
        path = self.folder / name
        if name == "opencode.json" and not path.exists() and path.with_suffix(".jsonc").exists():
            return path.with_suffix(".jsonc")
        return path


def target(program: Program, folder: Path, *, for_user: bool) -> Target:
    """Where a program is set up: in the folder of a project, or for a person in all of theirs."""
    if not for_user:
        return Target(folder, folder, program.project, is_user=False)
    home = Path.home()
    settings = program.home(os.environ, home)
    return Target(settings, home if settings.is_relative_to(home) else settings, program.user, is_user=True)
