"""Our entries in the files of a program: our server among its MCP servers, in JSON or in Codex's TOML; and our hooks
among its hooks, one for each event. They are created, updated and removed.

`setup_plan` decides where hooks go beside existing settings.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tui_tasks.cli.admin import jsonc, program_files
from tui_tasks.cli.admin.program_files import SERVER, File, NotSetUp, Program
from tui_tasks.hooks.hook_forms import ALWAYS_SUCCEEDS, shell_command

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


def put_server(file: File, program: Program, starter: Sequence[str], given: Options, otherwise: Options) -> bool:
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
    existing = find_server(file, program)
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


def find_server(file: File, program: Program) -> dict[str, Any] | None:
    """Return the entry of our server in a file; None if there is none.

    Raises:
        NotSetUp: the file is not as expected.
    """
    text = file.after
    try:
        settings: Any = load_toml(text) if _is_toml(file) else jsonc.load(text or "")
    except ValueError as error:
        form = "TOML" if _is_toml(file) else "JSON"
        raise NotSetUp(f"{file.path} is not {form} ({error}); correct the file, and try again") from error
    if not isinstance(settings, dict):
        if settings is None and jsonc.is_empty(text or ""):
            return None
        raise NotSetUp(f"{file.path} is not a JSON object; correct the file, and try again")
    servers = settings.get(program.servers, {})
    if not isinstance(servers, dict):
        raise NotSetUp(f'{file.path}: "{program.servers}" is not an object; correct the file, and try again')
    entry = servers.get(SERVER)
    if entry is not None and not isinstance(entry, dict):
        raise NotSetUp(f'{file.path}: "{SERVER}" is not an object; correct the file, and try again')
    return entry


def remove_server(file: File, program: Program) -> bool:
    """Remove our server from a file. Return False if there is none, or it is the user's own.

    Raises:
        NotSetUp: the file is not as expected.
    """
    entry = find_server(file, program)
    if entry is None or not _is_ours(program.words(entry)):
        return False
    assert file.after is not None
    if _is_toml(file):
        try:
            file.after = remove_from_toml(file.after, SERVER)
        except ValueError as error:
            raise NotSetUp(f"{file.path}: {error}; remove the table of {SERVER} yourself") from error
    else:
        file.after = jsonc.remove(file.after, (program.servers, SERVER))
    return True


def _updated_text(file: File, program: Program, new_entry: dict[str, Any], existing: dict[str, Any] | None) -> str:
    try:
        if _is_toml(file):
            return put_in_toml(file.after, SERVER, new_entry)
        if existing is None:
            return jsonc.put(file.after, (program.servers, SERVER), new_entry)
        text = file.after or ""
        for key, value in new_entry.items():
            if existing.get(key) != value:
                text = jsonc.put(text, (program.servers, SERVER, key), value)
        return text
    except ValueError as error:
        raise NotSetUp(f"{file.path}: {error}; correct the file, and try again") from error


def _is_toml(file: File) -> bool:
    return file.path.suffix == ".toml"


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


SERVERS: Final = "mcp_servers"


class NotToml(ValueError):
    """The text is not TOML, or its servers are no table."""


def load_toml(text: str | None) -> dict[str, Any]:
    """Return the values of a text.

    Raises:
        NotToml: the text is not TOML.
    """
    return dict(_parse(text).unwrap())


def put_in_toml(text: str | None, name: str, entry: dict[str, Any]) -> str:
    """Return the text with the entry of a server added, or with its values updated.

    Raises:
        NotToml: the text is not TOML, or cannot be edited without moving its tables.
    """
    document = _parse(text)
    servers = document.get(SERVERS)
    if servers is not None and not isinstance(servers, dict):
        raise NotToml(f"{SERVERS}is not a table")
    mark = "\ufeff" if text is not None and text.startswith("\ufeff") else ""
    if servers is not None and name in servers:
        there: Any = servers[name]
        if all(there.get(key) == value for key, value in entry.items()):
            return text or ""
        _check_round_trip(document, text)
        for key, value in entry.items():
            if there.get(key) != value:
                there[key] = value
        return mark + tomlkit.dumps(document)
    made = mark + program_files.append_block(
        text.removeprefix(mark) if text is not None else None, _table_text(name, entry)
    )
    expected = document.unwrap()
    expected.setdefault(SERVERS, {})[name] = entry
    try:
        if load_toml(made) == expected:
            return made
    except NotToml:
        pass  # the servers are an inline table, to which no header can add
    if servers is None:
        raise NotToml("no table can be added at its end")
    _check_round_trip(document, text)
    inline = tomlkit.inline_table()
    inline.update(entry)
    servers[name] = inline
    return mark + tomlkit.dumps(document)


def remove_from_toml(text: str, name: str) -> str | None:
    """Return the text without a server; None if the file was created for it and has nothing else.

    Raises:
        NotToml: the text is not TOML, or cannot be edited without moving its tables.
        KeyError: there is no such server.
    """
    document = _parse(text)
    expected = document.unwrap()
    entry = expected.get(SERVERS, {})[name]
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    block = _table_text(name, entry).rstrip("\n").replace("\n", program_files.newline_of(text))
    start = body.find(block)
    if start >= 0:
        left = program_files.remove_block(body, start, start + len(block))
        del expected[SERVERS][name]
        if not expected[SERVERS]:
            del expected[SERVERS]
        try:
            if left is None or {SERVERS: {}} | load_toml(left) == {SERVERS: {}} | expected:
                return None if left is None else mark + left
        except NotToml:
            pass  # the text that equals the block is part of something else
    _check_round_trip(document, text)
    servers: Any = document[SERVERS]
    del servers[name]
    return mark + tomlkit.dumps(document)


def _parse(text: str | None) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse((text or "").removeprefix("\ufeff"))
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise NotToml(str(error)) from error


def _check_round_trip(document: tomlkit.TOMLDocument, text: str | None) -> None:
    """Refuse a text that the library does not reproduce exactly, such as one with tables out of order.

    Raises:
        NotToml: it does not.
    """
    if tomlkit.dumps(document) != (text or "").removeprefix("\ufeff"):
        raise NotToml("its tables would have to be moved for this edit")


def _table_text(name: str, entry: dict[str, Any]) -> str:
    table = tomlkit.table()
    table.update(entry)
    return tomlkit.dumps({SERVERS: tomlkit.table(is_super_table=True).append(name, table)})


def hook_argv(line: str) -> list[str]:
    """Return the argv in a line that `setup` has written, of any version; of another line its words."""
    words = _words(line)
    if words[:2] == ["sh", "-c"] and len(words) > 2:
        return _words(words[2].removesuffix(ALWAYS_SUCCEEDS))
    return words


def always_succeeds(line: str) -> bool:
    """Return whether a line ends with success whatever happens to its command."""
    return line == shell_command(hook_argv(line))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote is not closed
        return line.split()


HOOKS: Final = "hooks"
_OURS: Final = re.compile(r"tui[-_]tasks['\"]*\s(?:.*\s)?hook\s+\w+")


def put_hooks(file: File, settings: dict[str, Any]) -> None:
    """Add hooks to a file: each event of `settings` beside existing hooks; ours are updated.

    Raises:
        NotSetUp: the file is not as expected.
    """
    _hook_settings(file)
    try:
        for event, (group,) in settings[HOOKS].items():
            (wanted,) = group[HOOKS]
            existing = [place for place in hook_positions(file) if place[0] == event]
            if not existing:
                file.after = jsonc.append(file.after, (HOOKS, event), group)
            for _, number, each in existing:
                path = (HOOKS, event, number, HOOKS, each)
                existing = jsonc.value_at(jsonc.load(file.after or ""), path)
                for key, value in wanted.items():
                    if existing.get(key) != value:
                        file.after = jsonc.put(file.after, (*path, key), value)
    except ValueError as error:
        raise NotSetUp(f"{file.path}: {error}; correct the file, and try again") from error


def remove_hooks(file: File) -> bool:
    """Remove our hooks from a file; return whether there were any.

    Raises:
        NotSetUp: the file is not as expected.
    """
    settings = _hook_settings(file)
    places = list(hook_positions(file))
    for event, number, each in reversed(places):
        if file.after is None:
            break
        # A group without other hooks is removed with its hook.
        is_alone = len(jsonc.value_at(settings, (HOOKS, event, number, HOOKS))) == 1
        path = (HOOKS, event, number) if is_alone else (HOOKS, event, number, HOOKS, each)
        file.after = jsonc.remove(file.after, path)
        settings = jsonc.load(file.after or "") or {}
    return bool(places)


def our_hooks(file: File) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the event and the entry of each of our hooks in a file.

    Raises:
        NotSetUp: the file is not as expected.
    """
    settings = _hook_settings(file)
    for event, number, each in hook_positions(file):
        yield event, jsonc.value_at(settings, (HOOKS, event, number, HOOKS, each))


def hook_commands(file: File) -> dict[str, list[str]]:
    """Return the argv of each of our hooks in a file, by event.

    Raises:
        NotSetUp: the file is not as expected.
    """
    return {event: hook_argv(hook["command"]) for event, hook in our_hooks(file)}


def _hook_settings(file: File) -> dict[str, Any]:
    try:
        settings = jsonc.load(file.after or "")
    except jsonc.NotJson as error:
        raise NotSetUp(f"{file.path} is not JSON ({error}); correct the file, and try again") from error
    if settings is None:
        return {}
    if not isinstance(settings, dict) or not isinstance(settings.get(HOOKS, {}), dict):
        raise NotSetUp(f'{file.path}: it, or its "{HOOKS}", is not an object; correct the file, and try again')
    return settings


def hook_positions(file: File) -> Iterator[tuple[str, int, int]]:
    """Yield the positions of our hooks: the event, the index of the group in it, and the index of the hook in the
    group.

    Raises:
        NotSetUp: the file is not as expected.
    """
    for event, groups in _hook_settings(file).get(HOOKS, {}).items():
        for number, group in enumerate(groups if isinstance(groups, list) else []):
            hooks = group.get(HOOKS) if isinstance(group, dict) else None
            for each, hook in enumerate(hooks if isinstance(hooks, list) else []):
                command = hook.get("command") if isinstance(hook, dict) else None
                if isinstance(command, str) and _OURS.search(command):
                    yield event, number, each
