"""The agent programs that can be set up, and their files: where each keeps servers, hooks and guidance, in which form.

Anybody may have made links in the folder of a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tui_tasks import regular_files
from tui_tasks.core.engine import file_writes

SERVER: Final = "tui-tasks"
# The tools of a new entry: one dialect only, as a program describes each tool to its model.
TOOLS: Final = "tasklist,ask,claim"
MAX_BYTES: Final = 64 * 1024 * 1024
"""The size above which a file of an agent program is not read."""


@dataclass(frozen=True, slots=True)
class ProgramFiles:
    """The files of a program, as paths below a folder; empty if it has no such file there.

    Attributes:
        server: the file with its MCP servers.
        hooks: the file with its hooks, or its plugin.
        guide: the guidance file that its agents read first.
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
        servers: the key of the MCP servers in `ProgramFiles.server`.
        project: its files in a project's folder.
        user: its files for the user, below `home`.
        home: returns the folder of its settings, from the environment and the user's home folder.
        next: what the user has to do to use the server.
        next_hooks: what the user has to do to run the hooks; None if it has no hooks.
        joined: whether an entry has the server's command and arguments in one array.
        extra: the other members of a server's entry.
    """

    servers: str
    project: ProgramFiles
    user: ProgramFiles
    home: Callable[[Mapping[str, str], Path], Path]
    next: str
    next_hooks: str | None = None
    joined: bool = False
    extra: tuple[tuple[str, Any], ...] = ()

    def entry(self, words: list[str]) -> dict[str, Any]:
        """Return the entry of a server that an argv starts."""
        command = {"command": words} if self.joined else {"command": words[0], "args": words[1:]}
        return {**dict(self.extra), **command}

    def words(self, entry: dict[str, Any]) -> list[str]:
        """Return the argv of an entry; empty if it has none."""
        command, arguments = entry.get("command"), entry.get("args", [])
        words = command if self.joined else [command, *arguments] if isinstance(arguments, list) else []
        return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else []


def _home_folder(variable: str, otherwise: str, below: str = "") -> Callable[[Mapping[str, str], Path], Path]:
    def find(environment: Mapping[str, str], home: Path) -> Path:
        named = environment.get(variable)
        return (Path(named) if named and Path(named).is_absolute() else home / otherwise) / below

    return find


def _vscode_folder(environment: Mapping[str, str], home: Path) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Code" / "User"
    return _home_folder("XDG_CONFIG_HOME", ".config", "Code/User")(environment, home)


def _skill_path(folder: str) -> str:
    return f"{folder}/{SERVER}/SKILL.md"


PROGRAMS: Final = {
    "claude": Program(
        servers="mcpServers",
        project=ProgramFiles(".mcp.json", ".claude/settings.json", "CLAUDE.md", _skill_path(".claude/skills")),
        user=ProgramFiles(".claude.json", "settings.json", "CLAUDE.md", _skill_path("skills")),
        home=_home_folder("CLAUDE_CONFIG_DIR", ".claude"),
        next="Start claude. When it asks about the server of .mcp.json, choose to use it: the default is not to.",
        next_hooks="The hooks run from the next session; /hooks lists them.",
    ),
    "codex": Program(
        servers="mcp_servers",
        project=ProgramFiles(".codex/config.toml", ".codex/hooks.json", "AGENTS.md", _skill_path(".agents/skills")),
        user=ProgramFiles("config.toml", "hooks.json", "AGENTS.md", _skill_path("skills")),
        home=_home_folder("CODEX_HOME", ".codex"),
        next="Start codex. It reads a project's files only where the folder is trusted: it asks at the first start.",
        next_hooks="Start codex, and trust the hooks when it asks, or by /hooks. Until then it runs none.",
    ),
    "cursor": Program(
        servers="mcpServers",
        project=ProgramFiles(".cursor/mcp.json", guide="AGENTS.md"),
        user=ProgramFiles("mcp.json"),
        home=_home_folder("", ".cursor"),
        next="Open the folder in Cursor, and switch the server on under Settings, MCP.",
    ),
    "gemini": Program(
        servers="mcpServers",
        project=ProgramFiles(
            ".gemini/settings.json", ".gemini/settings.json", "GEMINI.md", _skill_path(".agents/skills")
        ),
        user=ProgramFiles("settings.json", "settings.json", "GEMINI.md", _skill_path("skills")),
        home=_home_folder("", ".gemini"),
        next="Start gemini; /mcp lists the server. It reads a project's files only where the folder is trusted.",
        next_hooks="The hooks are run from the next session on, unless hooksConfig.enabled is false in your settings.",
    ),
    "opencode": Program(
        servers="mcp",
        project=ProgramFiles(
            "opencode.json", ".opencode/plugins/tui-tasks.js", "AGENTS.md", _skill_path(".agents/skills")
        ),
        user=ProgramFiles("opencode.json", "plugins/tui-tasks.js", "AGENTS.md", _skill_path("skills")),
        home=_home_folder("XDG_CONFIG_HOME", ".config", "opencode"),
        next="Start opencode; `opencode mcp list` shows the server.",
        next_hooks="The plugin is loaded when opencode starts next.",
        joined=True,
        extra=(("type", "local"),),
    ),
    "vscode": Program(
        servers="servers",
        project=ProgramFiles(".vscode/mcp.json", guide="AGENTS.md"),
        user=ProgramFiles("mcp.json"),
        home=_vscode_folder,
        next="Open the folder in VS Code, and start the server by MCP: List Servers.",
        extra=(("type", "stdio"),),
    ),
}


@dataclass(frozen=True, slots=True)
class Target:
    """Where a program is set up.

    Attributes:
        folder: the folder that the paths of `files` are below.
        root: the folder that symbolic links must not lead out of.
        files: the files.
        is_user: whether they are the user's, not a project's.
    """

    folder: Path
    root: Path
    files: ProgramFiles
    is_user: bool

    def path(self, name: str) -> Path:
        """Return the path of a file named in `files`."""
        if self.is_user and name == ".claude.json" and not os.environ.get("CLAUDE_CONFIG_DIR"):
            return self.folder.parent / name
        path = self.folder / name
        if name == "opencode.json" and not path.exists() and path.with_suffix(".jsonc").exists():
            return path.with_suffix(".jsonc")
        return path


def target(program: Program, folder: Path, *, for_user: bool) -> Target:
    """Return where a program is set up: in a project's folder, or for the user in all folders."""
    if not for_user:
        return Target(folder, folder, program.project, is_user=False)
    home = Path.home()
    settings = program.home(os.environ, home)
    return Target(settings, home if settings.is_relative_to(home) else settings, program.user, is_user=True)


class NotSetUp(Exception):
    """A file is not as expected, or cannot be written; it is unchanged."""


@dataclass(slots=True)
class File:
    """A file before and after the setup.

    Attributes:
        path: the path by which the program finds it.
        root: the folder that writing must not leave.
        real: the path without symbolic links.
        before: its text; None if it does not exist.
        after: its text after the setup; None if it is then not to exist.
    """

    path: Path
    root: Path
    real: Path
    before: str | None
    after: str | None

    def write(self) -> None:
        """Write the new content atomically, or remove the file.

        Raises:
            NotSetUp: it cannot be written.
        """
        try:
            if self.after is None:
                self.real.unlink()
                self._remove_empty_folders()
                return
            self.real.parent.mkdir(parents=True, exist_ok=True)
            file_writes.write_named(self.real, self.after.encode())
        except OSError as error:
            raise NotSetUp(f"cannot write {self.path}: {error.strerror}") from error

    def _remove_empty_folders(self) -> None:
        root = Path(os.path.realpath(self.root))
        for folder in self.real.parents:
            if folder == root or not folder.is_relative_to(root):
                return
            try:
                folder.rmdir()
            except OSError:
                return


def read(path: Path, root: Path) -> File:
    """Read a file below a folder, following symbolic links that stay inside.

    Raises:
        NotSetUp: a link leads out of the folder, or the file is not regular, unreadable, or not UTF-8.
    """
    real = Path(os.path.realpath(path))
    inside = Path(os.path.realpath(root))
    if not real.is_relative_to(inside) or ".git" in real.relative_to(inside).parts:
        place = _resolve_links(path, root)
        raise NotSetUp(
            f"{place} is a link to {place.readlink()}, and leads out of {root}: put a file of its own there, and try "
            "again"
        )
    if real.exists() and not real.is_file():
        raise NotSetUp(f"{path} is not a file; move it away, and try again")
    try:
        text = regular_files.read_text(real, MAX_BYTES)
    except FileNotFoundError:
        return File(path, root, real, None, None)
    except OSError as error:
        raise NotSetUp(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise NotSetUp(f"{path} is not UTF-8 ({error}); correct the file, and try again") from error
    return File(path, root, real, text, text)


def _resolve_links(path: Path, root: Path) -> Path:
    files = [place for place in (path, *path.parents) if place != root and place.is_symlink()]
    return files[-1] if files else path


def newline_of(text: str | None) -> str:
    """Return the line break that a text uses."""
    return "\r\n" if text and "\r\n" in text else "\n"


def append_block(text: str | None, block: str) -> str:
    """Return the text (None: there is no file) with a block of whole lines appended."""
    newline = newline_of(text)
    block = block.rstrip("\n").replace("\n", newline)
    if text is None:
        return block + newline
    if not text:
        return block
    if text.endswith("\n"):
        return text + newline + block + newline
    return text + newline * 2 + block


def remove_block(text: str, start: int, end: int) -> str | None:
    """Return the text without the block between two offsets, the line break after it not included.

    None: the file has nothing else.
    """
    newline = newline_of(text)
    before, after = text[:start], text[end:]
    if not after:
        return before.removesuffix(newline * 2)
    after = after.removeprefix(newline)
    if not before and not after:
        return None
    return before.removesuffix(newline) + after
