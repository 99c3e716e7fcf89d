"""Requests, which all dialects share: who makes them, a dialect's list and words for statuses, strict JSON, arguments,
task references; and the words that people type for tasks, filters and jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.errors import InvalidRequest

TOOL_KEYS: Final = ("tool_name", "tool", "name")
ARGUMENT_KEYS: Final = ("tool_args", "arguments", "args")
REASONING_KEYS: Final = ("topic", "observations", "thoughts", "reflection")
"""The parts of an agent's reasoning, in the order in which they are shown (docs: protocol, section 2)."""
# Keys that most requests do not have.
EXTRA_KEYS: Final = frozenset({"agent", "list", "if_version", "idempotency_key", *REASONING_KEYS})


# Agents' names that were checked and allowed.
_allowed_names: Final[set[str]] = set()
_MAX_ALLOWED_NAMES: Final = 1_000


class Identity(msgspec.Struct, frozen=True):
    """Who speaks on a channel, and within which limits (docs: protocol, section 1).

    Attributes:
        agent: the name under which changes are made.
        list: the list to which the channel is bound; None: each dialect's own.
        read_only: whether requests that write are refused.
        agent_only: whether requests that name another agent are refused (docs: protocol, section 2).
        list_only: whether requests that name another list are refused.
        project: the project of the dialects' own lists (docs: protocol, section 5); None: no project.
        inside_run: whether the speaker was started by a run of a job (docs: scheduling, rule S1).
    """

    agent: str = "agent"
    list: str | None = None
    read_only: bool = False
    agent_only: bool = False
    list_only: bool = False
    project: str | None = None
    inside_run: bool = False

    @property
    def scope(self) -> str:
        """The project whose lists a command of a shell shows when no list is named; empty: the lists of no project."""
        return self.project or ""


def own_list(dialect: str, project: str | None) -> str:
    """Return the name of a dialect's own list, in a project or outside any (docs: protocol, section 5)."""
    return dialect if project is None else f"{project}/{dialect}"


def checked_name(key: str, given: Any) -> str | None:
    """Return the value of `agent`, `list` or `idempotency_key` if one is given.

    Raises:
        InvalidRequest: the value is no string, or it is blank or too long.
    """
    if given is None:
        return None
    if not isinstance(given, str) or not given.strip() or len(given) > vocab.MAX_NAME:
        raise InvalidRequest(f"{key} is a string of 1 to {vocab.MAX_NAME} characters, not blank")
    return given


def checked_agent_name(given: str | None, tool: str = "") -> str | None:
    """Return an agent's name if it is allowed; `tool` is the requested tool, for the refusal.

    Raises:
        ReservedName, InvalidRequest: as `agent_names.refuse_misleading`.
    """
    if given is None or given in _allowed_names:
        return given
    from tui_tasks.core import agent_names  # most channels have one agent, and commands have none

    agent_names.refuse_misleading(given, tool)
    if len(_allowed_names) < _MAX_ALLOWED_NAMES:
        _allowed_names.add(given)
    return given


class StatusWords:
    """A dialect's words for the six statuses (docs: protocol, section 4)."""

    def __init__(self, words: Mapping[str, str]) -> None:
        assert set(words) == set(vocab.STATUSES)
        self.words = dict(words)
        self._status_of: dict[str, str] = {}
        for status, word in words.items():
            if word == status or word not in self._status_of:
                self._status_of[word] = status

    def word(self, status: str) -> str:
        """Return the word for a status."""
        return self.words[status]

    def status_of(self, word: str, current: str | None = None) -> str:
        """Return the status for a word; if the word already stands for `current`, that."""
        if current is not None and self.words[current] == word:
            return current
        return self._status_of[word]

    def statuses(self, word: str) -> list[str]:
        """Return the statuses that have that word."""
        return [status for status, words in self.words.items() if words == word]
