"""The message about a key that does nothing here: it names what people who press that key usually want."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tui_tasks.tui.keys.action_table import ACTIONS, show_key
from tui_tasks.tui.keys.user_keys import Keymap

_OPEN: Final = ("open", "log_open", "job_runs", "ask_open", "agent_log", "digest_open")
_NEW: Final = ("new", "job_new")
_EDIT: Final = ("edit", "job_edit", "review_edit", "ask_edit")
_DELETE: Final = ("delete", "job_delete", "ask_deny", "review_decline", "agent_stop")
_WANTED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("o", "O", "N", "plus", "insert", "ctrl+n"), _NEW),
    **dict.fromkeys(("i", "I", "p", "r", "R", "t", "f2"), _EDIT),
    **dict.fromkeys(("x", "d", "delete", "minus"), _DELETE),
    **dict.fromkeys(("l", "right", "space", "tab", "shift+tab"), _OPEN),
    **dict.fromkeys(("h", "left", "backspace", "ctrl+g", "ctrl+o"), ("back",)),
    **dict.fromkeys(("Q", "X", "Z", "ctrl+x"), ("quit",)),
    **dict.fromkeys(("f", "f3"), ("filter", "job_filter", "search_all")),
    **dict.fromkeys(("b", "ctrl+b"), ("page_up",)),
    "c": ("status",),
    "n": ("ask_deny", "review_decline"),
    "y": ("asks",),
    "M": ("note", "agent_message"),
    "U": ("undo",),
    "ctrl+y": ("redo",),
}
"""The actions that people want by a key, the most likely first."""
_TIME: Final = frozenset(action.keys for action in ACTIONS.values() if action.verb == "time")


def message(key: str, can_do: Callable[[str], bool], keymap: Keymap) -> str:
    """Return `o does nothing here.  n New  ? Help`; `can_do` returns whether an action can be performed now."""
    if key in _TIME:
        return f"{show_key(key)} moves in time in `tui-tasks watch --at 8h`, which shows the past."
    wanted = next((name for name in _WANTED.get(key, ()) if keymap.has_key(name) and can_do(name)), "help")
    hints = [
        f"{keymap.key_of(name)} {ACTIONS[name].short or ACTIONS[name].title}"
        for name in dict.fromkeys((wanted, "help"))
    ]
    return f"{show_key(key)} does nothing here.  {'  '.join(hints)}"
