"""The entry of our server among a program's MCP servers: created or updated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from types import ModuleType
from typing import Any, Final

from tui_tasks.cli.setup import jsonc
from tui_tasks.cli.setup.files import File, NotSetUp
from tui_tasks.cli.setup.programs import SERVER, Program

# The options of `mcp` that are written, in their order, and whether they have a value.
_OPTIONS: Final = {
    "--agent-only": True,
    "--agent": True,
    "--db": True,
    "--project": True,
    "--list": True,
    "--list-only": True,
    "--tools": True,
    "--read-only": False,
    "--no-scheduler": False,
}
# Of each pair one takes the place of the other.
_INSTEAD: Final = {
    "--agent": "--agent-only",
    "--agent-only": "--agent",
    "--list": "--list-only",
    "--list-only": "--list",
}
Options = dict[str, str | None]


def put(file: File, program: Program, starter: Sequence[str], given: Options, otherwise: Options) -> bool:
    """Enter the server in a file; False where an entry of that name is the person's own, and is left alone.

    What an entry of ours has beside its command stays, and so do those of its options that are not given anew.

    Args:
        file: where; what it is to be is changed.
        program: whose file it is.
        starter: the words before `mcp`.
        given: the options that were asked for.
        otherwise: those of a new entry, where they are not asked for.

    Raises:
        NotSetUp: the file is not as it should be.
    """
    there = find(file, program)
    words: list[str] = []
    if there is not None:
        words = program.words(there)
        if not _is_ours(words):
            return False
        mcp = words.index("mcp")
        kept, others = _options(words[mcp + 1 :])
        options = _merged(kept, given)
    else:
        options, others = _merged(otherwise, given), []
    wanted = program.entry([*starter, "mcp", *_argv(options), *others])
    if there is not None:
        # What else an entry needs may be said by the person in other words.
        wanted = {key: value for key, value in wanted.items() if key in ("command", "args")}
    if there is None or any(there.get(key) != value for key, value in wanted.items()):
        file.after = _written(file, program, wanted, there)
    return True


def find(file: File, program: Program) -> dict[str, Any] | None:
    """Return the entry of a name in a file; None when there is none.

    Raises:
        NotSetUp: the file is not as it should be.
    """
    text = file.after
    try:
        held: Any = _toml().load(text) if _is_toml(file) else jsonc.load(text or "")
    except ValueError as error:
        form = "TOML" if _is_toml(file) else "JSON"
        raise NotSetUp(f"{file.path} is not {form} ({error}); mend the file, and try again") from error
    if not isinstance(held, dict):
        if held is None and jsonc.is_empty(text or ""):
            return None
        raise NotSetUp(f"{file.path} holds no JSON object; mend the file, and try again")
    servers = held.get(program.servers, {})
    if not isinstance(servers, dict):
        raise NotSetUp(f'{file.path}: "{program.servers}" is no object; mend the file, and try again')
    entry = servers.get(SERVER)
    if entry is not None and not isinstance(entry, dict):
        raise NotSetUp(f'{file.path}: "{SERVER}" is no object; mend the file, and try again')
    return entry


def remove(file: File, program: Program) -> bool:
    """Remove our server from a file; return False when there is none, or it is the person's own.

    Raises:
        NotSetUp: the file is not as it should be.
    """
    entry = find(file, program)
    if entry is None or not _is_ours(program.words(entry)):
        return False
    assert file.after is not None
    if _is_toml(file):
        try:
            file.after = _toml().remove(file.after, SERVER)
        except ValueError as error:
            raise NotSetUp(f"{file.path}: {error}; take the table of {SERVER} out yourself") from error
    else:
        file.after = jsonc.remove(file.after, (program.servers, SERVER))
    return True


def _written(file: File, program: Program, wanted: dict[str, Any], there: dict[str, Any] | None) -> str:
    try:
        if _is_toml(file):
            made: str = _toml().put(file.after, SERVER, wanted)
            return made
        if there is None:
            return jsonc.put(file.after, (program.servers, SERVER), wanted)
        text = file.after or ""
        for key, value in wanted.items():
            if there.get(key) != value:
                text = jsonc.put(text, (program.servers, SERVER, key), value)
        return text
    except ValueError as error:
        raise NotSetUp(f"{file.path}: {error}; mend the file, and try again") from error


def _is_toml(file: File) -> bool:
    return file.path.suffix == ".toml"


def _toml() -> ModuleType:
    """What edits TOML, imported only for Codex's file."""
    from tui_tasks.cli.setup import toml_server

    return toml_server


def _is_ours(words: list[str]) -> bool:
    """Whether a command starts our server here, and nothing before it that the person has put there."""
    if "mcp" not in words:
        return False
    starter = words[: words.index("mcp")]
    return (len(starter) == 1 and PurePath(starter[0]).name == "tui-tasks") or starter[1:] == ["-m", "tui_tasks"]


def _options(words: Sequence[str]) -> tuple[Options, list[str]]:
    """The options in some words, and the words that are none of those that are known."""
    options: Options = {}
    others: list[str] = []
    left = list(words)
    while left:
        name, equals, value = (word := left.pop(0)).partition("=")
        if name not in _OPTIONS:
            others.append(word)
        elif not _OPTIONS[name]:
            options[name] = None
        elif equals or left:
            options[name] = value if equals else left.pop(0)
    return options, others


def _merged(options: Options, given: Options) -> Options:
    kept = {name: value for name, value in options.items() if _INSTEAD.get(name) not in given}
    return kept | given


def _argv(options: Options) -> list[str]:
    return [word for name in _OPTIONS if name in options for word in (name, options[name]) if word is not None]
