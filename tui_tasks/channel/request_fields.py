"""The fields of every request: checks a JSON value, and turns it into a `Request` (docs: protocol, section 2)."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.errors import InvalidRequest, ParseError, Refusal, ReservedName
from tui_tasks.dialects.requests import strict_json

if TYPE_CHECKING:
    from tui_tasks.core.commit.state_cache import StateCache

TOOL_KEYS: Final = ("tool_name", "tool", "name")
ARGUMENT_KEYS: Final = ("tool_args", "arguments", "args")
REASONING_KEYS: Final = ("topic", "observations", "thoughts", "reflection")
# Wrong keys that models write for ARGUMENT_KEYS. Ignoring them would run the tool without arguments.
_MISNAMED_ARGUMENTS: Final = frozenset({"input", "inputs", "params", "parameters", "kwargs", "tool_input"})
# The types of ids; a bool is not valid.
_IDS: Final = frozenset({str, int, type(None)})
# Keys that most requests do not have.
_EXTRA_KEYS: Final = frozenset({"agent", "list", "if_version", "idempotency_key", *REASONING_KEYS})
_ENVELOPE: Final = _EXTRA_KEYS | {"id", *TOOL_KEYS, *ARGUMENT_KEYS}
_FENCED: Final = r"(?s)\s*(?:```|~~~)\w*\s(.*?)(?:```|~~~)?\s*"
_MAX_SHOWN: Final = 300
MAX_BATCH: Final = 1_000
_EXAMPLE: Final = '{"tool": "tasklist:add_task", "arguments": {"name": "..."}}'


class Request(msgspec.Struct, frozen=True, gc=False):
    """A request, with everything checked that does not depend on the tool.

    Attributes:
        tool: the name of the tool, as given.
        arguments: the arguments, unchecked.
        agent: the agent that makes the request; None: the channel's.
        list: the list to work on; None: the channel's or dialect's.
        if_version: the version that the task must have.
        idempotency_key: the key under which the reply is stored.
        why: the reasoning, for the journal.
    """

    tool: str
    arguments: dict[str, Any]
    agent: str | None = None
    list: str | None = None
    if_version: int | None = None
    idempotency_key: str | None = None
    why: dict[str, Any] = {}


class RefusedValue(msgspec.Struct, frozen=True):
    """A JSON value that is refused unread.

    Attributes:
        value: a request or a batch; each request is refused under its own id.
        refusal: why.
    """

    value: Any
    refusal: Refusal


def request_id(value: Any) -> str | int | None:
    """Return the id to echo from any JSON value; None if it has no valid one."""
    id_ = value.get("id") if isinstance(value, dict) else None
    return id_ if type(id_) in _IDS else _integer(id_)


def _integer(value: Any) -> int | None:
    """Return an integer, also one written as `10.0` if it fits into 64 bits; None for anything else."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def tool_name(value: Any) -> str:
    """Return the name of the requested tool from any JSON value; "" if there is none."""
    tool = _first_value(value, TOOL_KEYS) if isinstance(value, dict) else None
    return tool if isinstance(tool, str) else ""


def misplaced_arguments(value: dict[str, Any]) -> Any:
    """Return the arguments of a request, also from where models put them wrongly; None if there are none."""
    return _first_value(value, (*ARGUMENT_KEYS, *(key for key in value if key in _MISNAMED_ARGUMENTS)))


def read(value: Any, echoed: str | int | None) -> Request:
    """Read a request from a JSON value; `echoed` is its `request_id`.

    Raises:
        InvalidRequest: the value is no valid request.
        ReservedName: the request's agent has a reserved name.
    """
    if not isinstance(value, dict):
        raise InvalidRequest(f"a request is a JSON object with the name of a tool, or an array of them: {_EXAMPLE}")
    if echoed is None and value.get("id") is not None:
        raise InvalidRequest("id is a string or an integer; leave it out if you need none")
    tool = tool_name(value)
    if not tool:
        raise InvalidRequest(_no_tool_message(value))
    if not _MISNAMED_ARGUMENTS.isdisjoint(value):
        key = next(key for key in value if key in _MISNAMED_ARGUMENTS)
        raise InvalidRequest(f"{key} would be ignored: the arguments of {tool[:100]} go under arguments", key=key)
    arguments = _arguments(value, tool)
    if _EXTRA_KEYS.isdisjoint(value):
        return Request(tool, arguments)
    return Request(
        tool=tool,
        arguments=arguments,
        agent=agent_name(name("agent", value.get("agent")), tool),
        list=name("list", value.get("list")),
        if_version=_checked_version(value.get("if_version")),
        idempotency_key=name("idempotency_key", value.get("idempotency_key")),
        why={key: value[key] for key in REASONING_KEYS if value.get(key) is not None},
    )


def _arguments(value: dict[str, Any], tool: str) -> dict[str, Any]:
    arguments = _first_value(value, ARGUMENT_KEYS)
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        # Models may write the arguments as a JSON string.
        with contextlib.suppress(ParseError):
            arguments = strict_json.loads(arguments)
    if not isinstance(arguments, dict):
        _refuse_fenced(arguments, tool)
        raise InvalidRequest(
            f'the arguments of {tool[:100]} are a JSON object of names and values: "arguments": {{"name": ...}}'
        )
    return arguments


def _refuse_fenced(arguments: Any, tool: str) -> None:
    """Refuse arguments that are a string in a Markdown fence, and show them as they are to be sent.

    Raises:
        InvalidRequest: they are.
    """
    match = re.fullmatch(_FENCED, arguments) if isinstance(arguments, str) else None
    if match is None:
        return
    shown = "{...}"
    with contextlib.suppress(ParseError):
        inside = json.dumps(strict_json.loads(match[1].strip()), ensure_ascii=False)
        shown = inside if len(inside) <= _MAX_SHOWN else shown
    raise InvalidRequest(
        f'the arguments of {tool[:100]} are a string in a Markdown fence: send the object itself, "arguments": {shown}'
    )


def _no_tool_message(value: dict[str, Any]) -> str:
    """Return the error message for a request that names no tool."""
    odd = next((key for key in TOOL_KEYS if value.get(key) is not None), None)
    if odd is not None:
        return f"no tool: {odd} must be a string, the name of a tool: {_EXAMPLE}"
    keys = f"; it has {', '.join(key[:40] for key in list(value)[:5])} alone" if value else ""
    return f"no tool: name it with {', '.join(TOOL_KEYS[:-1])} or {TOOL_KEYS[-1]}{keys}: {_EXAMPLE}"


def refuse_flat(value: dict[str, Any], tool: str, names: Collection[str]) -> None:
    """Refuse a request without arguments that has one of the tool's argument `names` beside the tool's name.

    Raises:
        InvalidRequest: the request has such a key.
    """
    if _first_value(value, ARGUMENT_KEYS) is not None:
        return
    for key in value:
        if key in names and key not in _ENVELOPE:
            raise InvalidRequest(
                f'{key} is an argument of {tool[:100]} and goes under arguments: "arguments": {{"{key}": ...}}', key=key
            )


def _first_value(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    for key in keys:
        if (named := value.get(key)) is not None:
            return named
    return None


def name(key: str, given: Any) -> str | None:
    """Return the value of `agent`, `list` or `idempotency_key` if one is given.

    Raises:
        InvalidRequest: the value is no string, or it is blank or too long.
    """
    if given is None:
        return None
    if not isinstance(given, str) or not given.strip() or len(given) > vocab.MAX_NAME:
        raise InvalidRequest(f"{key} is a string of 1 to {vocab.MAX_NAME} characters, not blank")
    return given


def _checked_version(version: Any) -> int | None:
    number = _integer(version)
    if version is not None and number is None:
        raise InvalidRequest("if_version is an integer, without quotes")
    return number


def agent_name(given: str | None, tool: str = "") -> str | None:
    """Return an agent's name if it is allowed; `tool` is the requested tool, for the refusal.

    Raises:
        ReservedName: the name is, or looks like, that of the human, of the program or of an imported author.
        InvalidRequest: the name has an invisible character, a blank at an end, or a word of two alphabets.
    """
    if given is None or given in _allowed_names:
        return given
    from tui_tasks.core import agent_names  # most channels have one agent, and commands have none

    if whose := agent_names.reserved(given):
        others = {agent_names.IMPORT: "an imported author", vocab.SYSTEM: "the program"}
        speaker = others.get(whose, f"the {whose}")
        message = f"the name {given} is reserved: no agent speaks as {speaker}; leave agent out, or give your own name"
        raise ReservedName(message, tool=tool[: vocab.MAX_NAME])
    if given != given.strip():
        raise InvalidRequest(f"the agent's name {given!r} begins or ends with a blank")
    hidden = next(filter(agent_names.is_invisible, given), None)
    if hidden is not None:
        raise InvalidRequest(f"the agent's name {given!a} holds U+{ord(hidden):04X}, which cannot be seen")
    if (mixed := agent_names.mixed_letter(given)) is not None:
        raise InvalidRequest(
            f"the agent's name {given!a} mixes two alphabets in a word, and U+{ord(mixed):04X} in it reads as Latin: "
            "write each word in one alphabet"
        )
    if len(_allowed_names) < _MAX_ALLOWED_NAMES:
        _allowed_names.add(given)
    return given


# Names that were checked and allowed.
_allowed_names: Final[set[str]] = set()
_MAX_ALLOWED_NAMES: Final = 1_000


def refuse_alike(state_cache: StateCache, agent: str) -> None:
    """Refuse a new agent's name that looks like the name of an agent that has spoken.

    Raises:
        InvalidRequest: the name looks like another's.
    """
    if (known := state_cache.agent_like(agent)) is not None:
        raise InvalidRequest(f"the agent's name {agent!a} looks like {known!a}, which is another's", agent=known)
