"""Our hooks among the hooks of a program: the entry for each event, and where a file has them.

`setup_plan` decides where they go beside existing settings.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any, Final

from tui_tasks.cli.admin import jsonc
from tui_tasks.cli.admin.program_files import File, NotSetUp
from tui_tasks.hooks.hook_settings import ALWAYS_SUCCEEDS, shell_command


def argv(line: str) -> list[str]:
    """Return the argv in a line that `setup` has written, of any version; of another line its words."""
    words = _words(line)
    if words[:2] == ["sh", "-c"] and len(words) > 2:
        return _words(words[2].removesuffix(ALWAYS_SUCCEEDS))
    return words


def always_succeeds(line: str) -> bool:
    """Return whether a line ends with success whatever happens to its command."""
    return line == shell_command(argv(line))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote is not closed
        return line.split()


HOOKS: Final = "hooks"
_OURS: Final = re.compile(r"tui[-_]tasks['\"]*\s(?:.*\s)?hook\s+\w+")


def put(file: File, settings: dict[str, Any]) -> None:
    """Add hooks to a file: each event of `settings` beside existing hooks; ours are updated.

    Raises:
        NotSetUp: the file is not as expected.
    """
    _settings(file)
    try:
        for event, (group,) in settings[HOOKS].items():
            (wanted,) = group[HOOKS]
            existing = [place for place in positions(file) if place[0] == event]
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


def remove(file: File) -> bool:
    """Remove our hooks from a file; return whether there were any.

    Raises:
        NotSetUp: the file is not as expected.
    """
    settings = _settings(file)
    places = list(positions(file))
    for event, number, each in reversed(places):
        if file.after is None:
            break
        # A group without other hooks is removed with its hook.
        is_alone = len(jsonc.value_at(settings, (HOOKS, event, number, HOOKS))) == 1
        path = (HOOKS, event, number) if is_alone else (HOOKS, event, number, HOOKS, each)
        file.after = jsonc.remove(file.after, path)
        settings = jsonc.load(file.after or "") or {}
    return bool(places)


def hooks(file: File) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the event and the entry of each of our hooks in a file.

    Raises:
        NotSetUp: the file is not as expected.
    """
    settings = _settings(file)
    for event, number, each in positions(file):
        yield event, jsonc.value_at(settings, (HOOKS, event, number, HOOKS, each))


def commands(file: File) -> dict[str, list[str]]:
    """Return the argv of each of our hooks in a file, by event.

    Raises:
        NotSetUp: the file is not as expected.
    """
    return {event: argv(hook["command"]) for event, hook in hooks(file)}


def _settings(file: File) -> dict[str, Any]:
    try:
        settings = jsonc.load(file.after or "")
    except jsonc.NotJson as error:
        raise NotSetUp(f"{file.path} is not JSON ({error}); correct the file, and try again") from error
    if settings is None:
        return {}
    if not isinstance(settings, dict) or not isinstance(settings.get(HOOKS, {}), dict):
        raise NotSetUp(f'{file.path}: it, or its "{HOOKS}", is not an object; correct the file, and try again')
    return settings


def positions(file: File) -> Iterator[tuple[str, int, int]]:
    """Yield the positions of our hooks: the event, the index of the group in it, and the index of the hook in the
    group.

    Raises:
        NotSetUp: the file is not as expected.
    """
    for event, groups in _settings(file).get(HOOKS, {}).items():
        for number, group in enumerate(groups if isinstance(groups, list) else []):
            hooks = group.get(HOOKS) if isinstance(group, dict) else None
            for each, hook in enumerate(hooks if isinstance(hooks, list) else []):
                command = hook.get("command") if isinstance(hook, dict) else None
                if isinstance(command, str) and _OURS.search(command):
                    yield event, number, each
