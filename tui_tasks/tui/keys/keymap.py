"""The human's own keys: those of the configuration, in Textual's names, and the mistakes in them."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from textual.keys import _character_to_key

from tui_tasks.settings.config import SettingsProblem, line_of
from tui_tasks.tui.keys.action_table import ACTIONS, Action, show_key

# Scopes whose keys are active together, by focus. The keys of screens over the panes come before the App's.
TOGETHER: Final = (
    frozenset({"app", "past", "rows", "tasks", "list"}),
    frozenset({"app", "past", "rows", "tasks", "board"}),
    frozenset({"app", "past", "rows", "log"}),
    frozenset({"app", "past", "rows", "jobs"}),
    frozenset({"rows", "overlay", "asks", "agent", "inbox"}),
    frozenset({"rows", "overlay", "review", "agent", "inbox"}),
    frozenset({"rows", "overlay", "failed", "agent", "inbox"}),
    frozenset({"rows", "overlay", "agents", "agent", "answers"}),
    frozenset({"rows", "overlay", "runs"}),
    frozenset({"rows", "overlay", "digest"}),
    frozenset({"rows", "overlay", "link"}),
)


def as_textual(keys: str) -> str:
    """Return keys in Textual's names: `?, ^p` is `question_mark,ctrl+p`."""
    return ",".join(_one(key.strip()) for key in keys.replace(",,", ",comma").split(",") if key.strip())


def _one(key: str) -> str:
    if len(key) > 1 and key.startswith("^"):
        return f"ctrl+{key[1:].lower()}"
    return _character_to_key(key) if len(key) == 1 else key.lower() if key.isupper() else key


def remapped(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the usable keys of the configuration, by the ids of actions."""
    return {name: named for name, text in keys.items() if name in ACTIONS and (named := as_textual(text))}


def wrong(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the mistakes in the configuration's keys, for people, by the ids as written there."""
    problems: dict[str, str] = {}
    mine = remapped(keys)
    for name, text in keys.items():
        if name not in ACTIONS:
            near = get_close_matches(name, ACTIONS, 1, 0.8)
            meant = f"did you mean {near[0]!r}? " if near else ""
            problems[name] = f"no action {name!r}; {meant}`?` in the screen shows the id of each beside it"
        elif name not in mine:
            problems[name] = f"{text!r} names no key"
        elif (clash := _clash(ACTIONS[name], mine)) is not None:
            problems[name] = f"{clash[0]} is the key of {clash[1].id!r} too"
    return problems


def problems(file: Path, keys: Mapping[str, str]) -> list[SettingsProblem]:
    """Return the mistakes, each with its line in the settings file."""
    text = file.read_text(encoding="utf-8") if keys else ""
    return [SettingsProblem(file, line_of(text, name, "keys"), message) for name, message in wrong(keys).items()]


class Keymap:
    """The keys of each action: the human's own, else the default."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        """`keys`: the keys of the configuration, by the ids of actions."""
        self.own = remapped(keys)

    def key_of(self, id: str) -> str:
        """Return the first key of an action in the form shown to people."""
        return show_key(self._keys(id)[0])

    def keys_of(self, id: str) -> str:
        """Return all keys of an action, with a space between."""
        return " ".join(map(show_key, self._keys(id)))

    def _keys(self, id: str) -> list[str]:
        return self.own.get(id, ACTIONS[id].keys).split(",")


def _clash(action: Action, mine: Mapping[str, str]) -> tuple[str, Action] | None:
    """Return a shared key and another action that is active together with this one; None where they share none, or only
    by default.
    """
    keys = set(mine[action.id].split(","))
    usual = set(action.keys.split(","))
    for other in ACTIONS.values():
        if other is action or not any(group & action.scopes and group & other.scopes for group in TOGETHER):
            continue
        theirs = set(mine.get(other.id, other.keys).split(","))
        shared = keys & theirs
        if shared and not shared <= usual & set(other.keys.split(",")):
            return show_key(min(shared)), other
    return None
