"""`setup`: let an agent use this database, by an entry in the file where it keeps its MCP servers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tui_tasks import files
from tui_tasks.core.errors import as_utf8

SERVER: Final = "tui-tasks"


@dataclass(frozen=True, slots=True)
class Client:
    """An agent program that runs MCP servers.

    Attributes:
        file: where it keeps them, below the project's folder; None where only a command of its own puts one there.
        key: the member of that file's object that holds them.
        extra: members of the entry beside `command` and `args`.
        command: that command, before the server's name and command.
    """

    file: str | None = None
    key: str = "mcpServers"
    extra: tuple[tuple[str, str], ...] = ()
    command: str = ""


CLIENTS: Final = {
    "claude": Client(".mcp.json"),
    "codex": Client(command=f"codex mcp add {SERVER} --"),
    "cursor": Client(".cursor/mcp.json"),
    "gemini": Client(".gemini/settings.json"),
    "vscode": Client(".vscode/mcp.json", "servers", (("type", "stdio"),)),
}


class NotSetUp(Exception):
    """The file cannot be taken for what it should be, or not be written; it is as it was."""


def set_up(name: str, server: Sequence[str], folder: Path) -> str:
    """Enter the server, a command, for the agent of that name in CLIENTS, and return for people what was done.

    Raises:
        NotSetUp: its file in that folder is not as it should be, or cannot be written.
    """
    client = CLIENTS[name]
    for word in server:
        if word != as_utf8(word):
            raise NotSetUp(f"{as_utf8(word)} is not UTF-8, which such a file cannot hold")
    if client.file is None:
        return f"Run: {client.command} {shlex.join(server)}"
    path = folder / client.file
    document = _read(path)
    servers = document.setdefault(client.key, {})
    if not isinstance(servers, dict):
        raise NotSetUp(f'{path}: "{client.key}" is no object; mend the file, and try again')
    entry = {**dict(client.extra), "command": server[0], "args": list(server[1:])}
    if servers.get(SERVER) == entry:
        return f"{path} has it already."
    servers[SERVER] = entry
    try:
        path.parent.mkdir(exist_ok=True)
        files.replace(path, json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n", new_mode=0o644)
    except OSError as error:
        raise NotSetUp(f"cannot write {path}: {error.strerror}") from error
    return (
        f"{path} names the server {SERVER}: {shlex.join(server)}\nStart {name} in {folder}, and let it use the server."
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise NotSetUp(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise NotSetUp(f"{path} is not JSON ({error}); mend the file, and try again") from error
    if not isinstance(found, dict):
        raise NotSetUp(f"{path} holds no JSON object; mend the file, and try again")
    return found
