"""`setup`: let an agent use this database, by an entry in the file where it keeps its MCP servers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tui_tasks.core.errors import as_utf8
from tui_tasks.settings import atomic_file

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
    entry = {**dict(client.extra), "command": server[0], "args": list(server[1:])}
    before = _read(path, folder)
    after = _with_server(path, before, client.key, entry)
    if after == before:
        return f"{path} has it already."
    try:
        path.parent.mkdir(exist_ok=True)
        atomic_file.replace(path, after.encode(), new_mode=0o644)
    except OSError as error:
        raise NotSetUp(f"cannot write {path}: {error.strerror}") from error
    return (
        f"{path} names the server {SERVER}: {shlex.join(server)}\nStart {name} in {folder}, and let it use the server."
    )


def _read(path: Path, folder: Path) -> str:
    """The file's text; empty where there is none. Whoever made the project's folder may have put links into it."""
    for place in (path, *path.parents):
        if place == folder:
            break
        if place.is_symlink():
            raise NotSetUp(
                f"{place} is a link to {place.readlink()}, and may lead out of the project: "
                "put a file of its own there, and try again"
            )
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise NotSetUp(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise NotSetUp(f"{path} is not JSON ({error}); mend the file, and try again") from error


def _with_server(path: Path, text: str, key: str, entry: dict[str, Any]) -> str:
    """The file's text with the server entered, and nothing else of it changed."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    if not text:
        return json.dumps({key: {SERVER: entry}}, indent=2, ensure_ascii=False) + "\n"
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotSetUp(f"{path} is not JSON ({error}); mend the file, and try again") from error
    if not isinstance(document, dict):
        raise NotSetUp(f"{path} holds no JSON object; mend the file, and try again")
    servers = document.get(key, {})
    if not isinstance(servers, dict):
        raise NotSetUp(f'{path}: "{key}" is no object; mend the file, and try again')
    if servers.get(SERVER) == entry:
        return mark + text
    top = _Object(text, 0)
    if key not in top.values:
        return mark + top.put(key, {SERVER: entry}, depth=1)
    return mark + _Object(text, top.values[key][0]).put(SERVER, entry, depth=2)


class _Object:
    """A JSON object as it stands in a text.

    Attributes:
        values: where the value of each key begins and ends.
    """

    def __init__(self, text: str, at: int) -> None:
        """Read the object that begins at `at`, or behind white space there. The text is one JSON text."""
        self._text = text
        self._begin = text.index("{", at) + 1
        self.values: dict[str, tuple[int, int]] = {}
        read = json.JSONDecoder().raw_decode
        self._end = self._begin
        at = self._skip(self._begin)
        while text[at] != "}":
            name, at = read(text, at)
            begin = self._skip(self._skip(at) + 1)
            _, self._end = read(text, begin)
            self.values[name] = begin, self._end
            at = self._skip(self._end)
            at = self._skip(at + 1) if text[at] == "," else at

    def _skip(self, at: int) -> int:
        """Where the white space that begins at `at` ends."""
        while self._text[at] in " \t\n\r":
            at += 1
        return at

    def put(self, name: str, value: dict[str, Any], *, depth: int) -> str:
        """The text with that value under a name; `depth` is how far what is new is set in."""
        made = json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + "  " * depth)
        if name in self.values:
            begin, end = self.values[name]
            return self._text[:begin] + made + self._text[end:]
        member = f"\n{'  ' * depth}{json.dumps(name)}: {made}"
        if self.values:
            return f"{self._text[: self._end]},{member}{self._text[self._end :]}"
        return f"{self._text[: self._begin]}{member}\n{'  ' * (depth - 1)}{self._text[self._skip(self._begin) :]}"
