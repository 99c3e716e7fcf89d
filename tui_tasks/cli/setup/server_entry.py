"""The entry of our server among a program's MCP servers: created or updated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from types import ModuleType
from typing import Any, Final

from tui_tasks.cli.setup import jsonc
from tui_tasks.cli.setup.files import File, NotSetUp
from tui_tasks.cli.setup.programs import SERVER, Program

# The options of `mcp` that `setup` writes, in their order, and whether each has a value.
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
# Options that exclude each other: giving one removes the other.
_EXCLUDES: Final = {
    "--agent": "--agent-only",
    "--agent-only": "--agent",
    "--list": "--list-only",
    "--list-only": "--list",
}
Options = dict[str, str | None]


def put(file: File, program: Program, starter: Sequence[str], given: Options, otherwise: Options) -> bool:
    """Add our server to a file, or update its entry. Return False if an entry of that name is the user's own.

    An entry of ours keeps its other members, and the options that are not given.

    Args:
        file: the file; its `after` is changed.
        program: the program whose file it is.
        starter: the argv before `mcp`.
        given: the options that were given.
        otherwise: the defaults of a new entry, for options that are not given.

    Raises:
        NotSetUp: the file is not as expected.
    """
    existing = find(file, program)
    words: list[str] = []
    if existing is not None:
        words = program.words(existing)
        if not _is_ours(words):
            return False
        mcp = words.index("mcp")
        options, others = _options(words[mcp + 1 :])
        options = _merge_options(options, given)
    else:
        options, others = _merge_options(otherwise, given), []
    new_entry = program.entry([*starter, "mcp", *_argv(options), *others])
    if existing is not None:
        # The user may have written the other members in another way.
        new_entry = {key: value for key, value in new_entry.items() if key in ("command", "args")}
    if existing is None or any(existing.get(key) != value for key, value in new_entry.items()):
        file.after = _updated_text(file, program, new_entry, existing)
    return True


def find(file: File, program: Program) -> dict[str, Any] | None:
    """Return the entry of our server in a file; None if there is none.

    Raises:
        NotSetUp: the file is not as expected.
    """
    text = file.after
    try:
        settings: Any = _toml().load(text) if _is_toml(file) else jsonc.load(text or "")
    except ValueError as error:
        form = "TOML" if _is_toml(file) else "JSON"
        raise NotSetUp(f"{file.path} is not {form} ({error}); mend the file, and try again") from error
    if not isinstance(settings, dict):
        if settings is None and jsonc.is_empty(text or ""):
            return None
        raise NotSetUp(f"{file.path} holds no JSON object; mend the file, and try again")
    servers = settings.get(program.servers, {})
    if not isinstance(servers, dict):
        raise NotSetUp(f'{file.path}: "{program.servers}" is no object; mend the file, and try again')
    entry = servers.get(SERVER)
    if entry is not None and not isinstance(entry, dict):
        raise NotSetUp(f'{file.path}: "{SERVER}" is no object; mend the file, and try again')
    return entry


def remove(file: File, program: Program) -> bool:
    """Remove our server from a file. Return False if there is none, or it is the user's own.

    Raises:
        NotSetUp: the file is not as expected.
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


def _updated_text(file: File, program: Program, new_entry: dict[str, Any], existing: dict[str, Any] | None) -> str:
    try:
        if _is_toml(file):
            text: str = _toml().put(file.after, SERVER, new_entry)
            return text
        if existing is None:
            return jsonc.put(file.after, (program.servers, SERVER), new_entry)
        text = file.after or ""
        for key, value in new_entry.items():
            if existing.get(key) != value:
                text = jsonc.put(text, (program.servers, SERVER, key), value)
        return text
    except ValueError as error:
        raise NotSetUp(f"{file.path}: {error}; mend the file, and try again") from error


def _is_toml(file: File) -> bool:
    return file.path.suffix == ".toml"


def _toml() -> ModuleType:
    """Return the module that edits TOML, which is imported only for Codex's file."""
    from tui_tasks.cli.setup import toml_server

    return toml_server


def _is_ours(words: list[str]) -> bool:
    """Return whether an argv starts our server directly, without a wrapper that the user put before it."""
    if "mcp" not in words:
        return False
    starter = words[: words.index("mcp")]
    return (len(starter) == 1 and PurePath(starter[0]).name == "tui-tasks") or starter[1:] == ["-m", "tui_tasks"]


def _options(words: Sequence[str]) -> tuple[Options, list[str]]:
    """Split an argv into known options and other words."""
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


def _merge_options(options: Options, given: Options) -> Options:
    options = {name: value for name, value in options.items() if _EXCLUDES.get(name) not in given}
    return options | given


def _argv(options: Options) -> list[str]:
    return [word for name in _OPTIONS if name in options for word in (name, options[name]) if word is not None]
