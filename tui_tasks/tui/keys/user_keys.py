"""The human's own keys: those of the configuration, in Textual's names, and the mistakes in them; and the message about
a key that does nothing, which names what people who press that key usually want.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from textual.keys import _character_to_key

from tui_tasks import regular_files
from tui_tasks.settings.config import SettingsProblem, line_of
from tui_tasks.settings.paths import MAX_SETTINGS_BYTES
from tui_tasks.tui.keys.action_table import ACTIONS, Action

# Scopes whose keys are active together, by focus. The keys of screens over the panes come before the App's.
TOGETHER: Final = (
    frozenset({"app", "rows", "tasks"}),
    frozenset({"app", "rows", "log"}),
    frozenset({"app", "rows", "jobs"}),
    frozenset({"rows", "jobs"}),
    frozenset({"rows", "inbox", "agents"}),
    frozenset({"rows", "work"}),
)

RENAMED: Final = {
    "card_down": "move_down",
    "card_up": "move_up",
    "hide": "dismiss",
}
"""The actions that went, each with the one that does the same."""


def as_textual(keys: str) -> str:
    """Return keys in Textual's names: `?, ^p` is `question_mark,ctrl+p`."""
    return ",".join(_one(key.strip()) for key in keys.replace(",,", ",comma").split(",") if key.strip())


def _one(key: str) -> str:
    if len(key) > 1 and key.startswith("^"):
        return f"ctrl+{key[1:].lower()}"
    return _character_to_key(key) if len(key) == 1 else key.lower() if key.isupper() else key


_SHOWN: Final = {
    **{_character_to_key(character): character for character in string.punctuation},
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "space": "Space",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "backspace": "Backspace",
    "delete": "Delete",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pagedown": "PgDn",
    "pageup": "PgUp",
}
_MODIFIERS: Final = {"ctrl": "^", "shift": "Shift+", "alt": "Alt+"}


def show_key(key: str) -> str:
    """Return a key in the form shown to people: `ctrl+p` is `^p`, `number_sign` is `#`, `f5` is `F5`."""
    *modifiers, base = key.split("+")
    shown = _SHOWN.get(base) or (base.upper() if base[1:].isdigit() else base)
    return "".join(_MODIFIERS.get(each, f"{each}+") for each in modifiers) + shown


def remapped(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the usable keys of the configuration, by the ids of actions."""
    named = {name: one for name, text in keys.items() if (one := as_textual(text))}
    by_old_ids = {RENAMED[name]: one for name, one in named.items() if name in RENAMED}
    return by_old_ids | {name: one for name, one in named.items() if name in ACTIONS}


def renamed(keys: Mapping[str, str]) -> list[str]:
    """Return what to tell the human about ids in the configuration that are others now; their keys go on working."""
    return [f"[keys] {name} is {RENAMED[name]} now; your key works" for name in keys if name in RENAMED]


def wrong(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the mistakes in the configuration's keys, for people, by the ids as written there."""
    found: dict[str, str] = {}
    mine = remapped(keys)
    for name, text in keys.items():
        if name in RENAMED:
            continue
        if name not in ACTIONS:
            near = get_close_matches(name, ACTIONS, 1, 0.8)
            meant = f"did you mean {near[0]!r}? " if near else ""
            found[name] = f"no action {name!r}; {meant}`?` in the screen shows the id of each beside it"
        elif name not in mine:
            found[name] = f"{text!r} names no key"
        elif (clash := _clash(ACTIONS[name], mine)) is not None:
            found[name] = f"{clash[0]} is the key of {clash[1].id!r} too"
    return found


def problems(file: Path, keys: Mapping[str, str]) -> list[SettingsProblem]:
    """Return the mistakes, each with its line in the settings file."""
    text = regular_files.read_text(file, MAX_SETTINGS_BYTES) if keys else ""
    return [SettingsProblem(file, line_of(text, name, "keys"), message) for name, message in wrong(keys).items()]


class Keymap:
    """The keys of each action: the human's own, else the default."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        """`keys`: the keys of the configuration, by the ids of actions."""
        self.own = remapped(keys)

    def key_of(self, id: str) -> str:
        """Return the first key of an action in the form shown to people; without one, its word for the palette."""
        return show_key(self._keys(id)[0]) if self.has_key(id) else self._in_palette(id)

    def keys_of(self, id: str) -> str:
        """Return all keys of an action, with a space between; without any, its word for the palette."""
        return " ".join(map(show_key, self._keys(id))) if self.has_key(id) else self._in_palette(id)

    def _in_palette(self, id: str) -> str:
        """`: compact`."""
        return f"{show_key(self._keys('palette')[0])} {ACTIONS[id].word}"

    def has_key(self, id: str) -> bool:
        """Return whether an action has a key; if not, the palette has it."""
        return self._keys(id) != [""]

    def means(self, key: str, verb: str) -> bool:
        """Return whether a key means a verb anywhere."""
        return any(action.verb == verb and key in self._keys(action.id) for action in ACTIONS.values())

    def _keys(self, id: str) -> list[str]:
        action = ACTIONS[id]
        return self.own.get(id, action.keys or action.habit).split(",")


def _clash(action: Action, mine: Mapping[str, str]) -> tuple[str, Action] | None:
    """Return a shared key and another action that is active together with this one; None where they share none, or only
    by default.
    """
    keys = set(mine[action.id].split(","))
    usual = set(action.all_keys.split(","))
    for other in ACTIONS.values():
        if other.verb == action.verb or not any(group & action.scopes and group & other.scopes for group in TOGETHER):
            continue
        theirs = set(mine.get(other.id, other.all_keys).split(","))
        shared = (keys & theirs) - {""}
        if shared and not shared <= usual & set(other.all_keys.split(",")):
            return show_key(min(shared)), other
    return None


_OPEN: Final = ("open", "log_open", "job_runs", "ask_open", "agent_log", "digest_open", "work_diff")
_NEW: Final = ("new", "job_new")
_EDIT: Final = ("edit", "job_edit", "review_edit", "ask_edit")
_MARK: Final = ("mark", "review_mark")
_DELETE: Final = ("delete", "job_delete", "ask_deny", "review_decline", "agent_stop", "work_discard")
# What `x` does in a review, which has no key elsewhere.
_WORD: Final = "work_end"
_WANTED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("o", "O"), (*_NEW, *_OPEN)),
    **dict.fromkeys(("N", "plus", "insert", "ctrl+n", "ctrl+t"), _NEW),
    **dict.fromkeys(("i", "I", "t", "f2"), (*_EDIT, "ask_reply")),
    **dict.fromkeys(("r", "R"), ("ask_reply", *_EDIT)),
    **dict.fromkeys(("d", "delete", "minus", "ctrl+k", "f8"), _DELETE),
    "f9": ("agent_stop", "job_stop", "run_stop"),
    "x": (_WORD, *_DELETE),
    **dict.fromkeys(("l", "right", "space", "tab", "shift+tab"), _OPEN),
    **dict.fromkeys(("h", "left", "backspace", "ctrl+g", "ctrl+o", "ctrl+w"), ("back",)),
    **dict.fromkeys(("Q", "X", "Z", "ctrl+x", "f10"), ("quit",)),
    **dict.fromkeys(("f", "f3"), ("filter", "job_filter", "search_all")),
    **dict.fromkeys(("asterisk", "number_sign"), ("search_all",)),
    **dict.fromkeys(("b", "ctrl+b"), ("page_up",)),
    **dict.fromkeys(("shift+up", "shift+down"), _MARK),
    **dict.fromkeys(("ctrl+up", "alt+up"), ("move_up",)),
    **dict.fromkeys(("ctrl+down", "alt+down"), ("move_down",)),
    "H": ("first",),
    "L": ("last",),
    "ctrl+a": ("mark_all", "review_mark_all"),
    "semicolon": ("palette",),
    "C": ("copy", "log_copy", "job_copy", "run_copy"),
    "c": ("status",),
    "p": ("agent_pause", *_EDIT),
    "n": ("review_decline",),
    "m": ("work_send",),
    "y": ("copy", "log_copy", "job_copy", "run_copy", "asks"),
    "z": ("asks",),
    "P": ("agents",),
    "M": ("note", "agent_message"),
    "U": ("undo",),
    "ctrl+y": ("redo",),
}
"""The actions that people want by a key, the most likely first."""
REDRAWS: Final = ("ctrl+l", "f5")
"""Keys that draw a screen anew in other programs, and here too: another program may have written to the terminal."""
_SAID: Final = {
    **dict.fromkeys(REDRAWS, "drawn anew. The screen follows every change by itself."),
    "ctrl+s": "every change is saved at once.",
}
_TIME: Final = frozenset(action.keys for action in ACTIONS.values() if action.verb == "time")


def unbound_message(key: str, can_do: Callable[[str], bool], keymap: Keymap) -> str:
    """Return `o does nothing here.  n New  ? Help`; `can_do` returns whether an action can be performed now."""
    if key in _TIME:
        return f"{show_key(key)} moves in time in `tui-tasks watch --at 8h`, which shows the past."
    if key in _SAID:
        return f"{show_key(key)}: {_SAID[key]}"
    does = "does nothing here" if not keymap.means(key, "filter") else "finds nothing here: there is no filter"
    wanted = next(
        (name for name in _WANTED.get(key, ()) if (keymap.has_key(name) or name == _WORD) and can_do(name)),
        "help",
    )
    hints = [
        f"{keymap.key_of(name)} {ACTIONS[name].short or ACTIONS[name].title}"
        for name in dict.fromkeys((wanted, "help"))
    ]
    return f"{show_key(key)} {does}.  {'  '.join(hints)}"
