"""The envelope: from one JSON value to a request (contract, section 2)."""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final

import msgspec

from tui_tasks import strictjson
from tui_tasks.core import vocab
from tui_tasks.core.errors import InvalidRequest, ParseError, ReservedName

TOOL_KEYS: Final = ("tool_name", "tool", "name")
ARGUMENT_KEYS: Final = ("tool_args", "arguments", "args")
REASONING_KEYS: Final = ("topic", "observations", "thoughts", "reflection")
# What models write for ARGUMENT_KEYS: to pass over them would run the tool bare.
_MISNAMED_ARGUMENTS: Final = ("input", "inputs", "params", "parameters", "kwargs", "tool_input")
# What most requests have none of.
_EXTRA_KEYS: Final = frozenset({"agent", "list", "if_version", "idempotency_key", *REASONING_KEYS})
_ENVELOPE: Final = _EXTRA_KEYS | {"id", *TOOL_KEYS, *ARGUMENT_KEYS}
MAX_BATCH: Final = 1_000
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Mn", "Me"})


class Request(msgspec.Struct, frozen=True, gc=False):
    """One request, checked as far as can be told without the tool."""

    id: str | int | None
    tool: str
    arguments: dict[str, Any]
    agent: str | None = None
    list: str | None = None
    if_version: int | None = None
    idempotency_key: str | None = None
    why: dict[str, Any] = {}


def request_id(value: Any) -> str | int | None:
    """The id to echo, of whatever came; None where it has no usable one."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def tool_name(value: Any) -> str:
    """The name of the tool that is asked for, of whatever came; empty where there is none."""
    found = _first(value, TOOL_KEYS) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def read(value: Any) -> Request:
    """Read a request from a JSON value.

    Raises:
        InvalidRequest: it is none.
    """
    if not isinstance(value, dict):
        raise InvalidRequest("a request is a JSON object with the name of a tool, or an array of them")
    if value.get("id") is not None and request_id(value) is None:
        raise InvalidRequest("id is a string or an integer")
    tool = tool_name(value)
    if not tool:
        raise InvalidRequest(f"no tool: name it with {', '.join(TOOL_KEYS[:-1])} or {TOOL_KEYS[-1]}")
    for key in _MISNAMED_ARGUMENTS:
        if key in value:
            raise InvalidRequest(f"{key} is passed over: the arguments of {tool[:100]} go under arguments", key=key)
    arguments = _first(value, ARGUMENT_KEYS)
    if arguments is None:
        arguments = {}
    if isinstance(arguments, str):
        # As models write function calls.
        with contextlib.suppress(ParseError):
            arguments = strictjson.loads(arguments)
    if not isinstance(arguments, dict):
        raise InvalidRequest(f"the arguments of {tool[:100]} are to be a JSON object")
    if _EXTRA_KEYS.isdisjoint(value):
        return Request(value.get("id"), tool, arguments)
    return Request(
        id=value.get("id"),
        tool=tool,
        arguments=arguments,
        agent=agent_name(name("agent", value.get("agent")), tool),
        list=name("list", value.get("list")),
        if_version=_version(value.get("if_version")),
        idempotency_key=name("idempotency_key", value.get("idempotency_key")),
        why={key: value[key] for key in REASONING_KEYS if value.get(key) is not None},
    )


def refuse_flat(value: dict[str, Any], tool: str, names: Collection[str]) -> None:
    """Refuse a request without arguments where one of them, by those names, stands beside the tool's name.

    Raises:
        InvalidRequest: one does.
    """
    if _first(value, ARGUMENT_KEYS) is not None:
        return
    for key in value:
        if key in names and key not in _ENVELOPE:
            raise InvalidRequest(
                f'{key} is an argument of {tool[:100]} and goes under arguments: "arguments": {{"{key}": ...}}', key=key
            )


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    for key in keys:
        if (found := value.get(key)) is not None:
            return found
    return None


def name(key: str, given: Any) -> str | None:
    """A name of an agent or a list, or a key, where one is given.

    Raises:
        InvalidRequest: it is no string, blank or too long.
    """
    if given is None:
        return None
    if not isinstance(given, str) or not given.strip() or len(given) > vocab.MAX_NAME:
        raise InvalidRequest(f"{key} is a string of 1 to {vocab.MAX_NAME} characters, not blank")
    return given


def _version(version: Any) -> int | None:
    if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
        raise InvalidRequest("if_version is an integer")
    return version


# The screen calls the human "you", and who starts jobs "scheduler".
_RESERVED: Final = {name: name for name in vocab.RESERVED_AGENTS} | {"you": vocab.HUMAN, "scheduler": vocab.SYSTEM}
# Letters of other scripts (Cyrillic, Greek, Armenian) that look like those of the reserved names.
_ALIKE: Final = str.maketrans(
    "аеосуѕһіԁнмтАЕОСУЅНМТυοαΥΟΑΕΗΜΝТսօհ",
    "aeocyshidhmtaeocyshmtuoayoaehmntuoh",
)


def agent_name(given: str | None, tool: str = "") -> str | None:
    """An agent's name, which must not be the human's or the program's own; `tool` is what is asked for under it.

    Raises:
        ReservedName: it is one of these, or reads like it.
    """
    if given is not None and (reserved := _RESERVED.get(_seen(given))):
        raise ReservedName(
            f"the name {given} is reserved: no agent speaks as the {reserved}", tool=tool[: vocab.MAX_NAME]
        )
    return given


@lru_cache(1024)
def _seen(name: str) -> str:
    """A name as a person reads it: what has no width, and the script of a letter, make no other name of it."""
    plain = unicodedata.normalize("NFKC", name)
    seen = "".join(char for char in plain if unicodedata.category(char) not in _UNSEEN).strip()
    return seen.translate(_ALIKE).casefold()
