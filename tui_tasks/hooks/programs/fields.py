"""Fields of payloads: each is what it should be, or absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tui_tasks.core.operations.sessions import Item
from tui_tasks.hooks.replies.forms import MESSAGE_BEGINS

# What comes in the place of a prompt, from programs themselves or from here, begins with one of these.
_OWN_PROMPTS: Final = (
    "<task-notification",
    "<system-reminder",
    "<subagent_notification",
    "<turn_aborted",
    "<environment_context",
    "<local-command-",
    MESSAGE_BEGINS,
)


def text(payload: Any, name: str) -> str | None:
    """The text of that name; None where there is none, or it is blank."""
    value = payload.get(name) if isinstance(payload, dict) else None
    return value if isinstance(value, str) and value.strip() else None


def table(payload: Any, name: str) -> dict[str, Any]:
    """The object of that name; an empty one where there is none."""
    value = payload.get(name) if isinstance(payload, dict) else None
    return value if isinstance(value, dict) else {}


def tables(payload: Any, name: str) -> Iterator[dict[str, Any]]:
    """The objects in the array of that name."""
    value = payload.get(name) if isinstance(payload, dict) else None
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def number(payload: Any, name: str) -> float | None:
    """The number of that name, from 0 on."""
    value = payload.get(name) if isinstance(payload, dict) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53 else None


# The words of programs for the status of an item of their own lists.
_STATUSES: Final = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "done",
    "done": "done",
    "cancelled": "cancelled",
    "deleted": "deleted",
}


def item_status(word: str | None) -> str | None:
    """The status that a program means; None where it says none, or one that nobody knows."""
    return _STATUSES.get(word or "")


def whole_list(payload: Any, name: str, words: str) -> tuple[Item, ...]:
    """The items of a program's own list, where it gives all of it: each has its place for a key."""
    return tuple(
        Item(str(place), text(one, words) or "?", None, item_status(text(one, "status")))
        for place, one in enumerate(tables(payload, name))
    )


def is_own_prompt(prompt: str) -> bool:
    """Whether a prompt is none that a person has typed: the program sends it itself, or it is a message from here."""
    return prompt.lstrip().startswith(_OWN_PROMPTS)
