"""Arguments: from what an agent sent to a checked, typed value; and the schema that tells an agent what to send.

The types are msgspec structs. What is allowed beyond them (docs: protocol, section 2) is done before they are checked:
null
for what is optional, a list or object held in a string, one string for a list of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from tui_tasks.core import vocab
from tui_tasks.core.errors import InvalidArgument, ParseError
from tui_tasks.dialects.requests import strict_json


class Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The base of every tool's arguments: unknown names are refused."""


class Nothing(Arguments):
    """No arguments."""


class Open(Arguments, forbid_unknown_fields=False, kw_only=True):
    """Arguments of which some are for another tool to check: `rest` holds them all as they came."""

    rest: dict[str, Any] = {}


Name = Annotated[str, Meta(min_length=1, max_length=vocab.MAX_NAME, pattern=r"\S")]
Text = Annotated[str, Meta(max_length=vocab.MAX_TEXT)]
Uid = Annotated[str, Meta(max_length=vocab.MAX_NAME)]
# A task's uid, or what stands for it (`task_references`).
TaskUid = Annotated[Uid, Meta(extra={"names": "task"})]
# As far as SQLite counts.
Natural = Annotated[int, Meta(ge=1, le=2**63 - 1)]

A = TypeVar("A", bound=Arguments)

_AT = re.compile(r" - at `\$\.?(.*?)`$")
_BLANK = r"expected string matching regex '\\S'"
_EMPTY = "expected string of length >= 1"
_FIELD = re.compile(r"^Object (?:contains unknown|missing required) field `(.*?)`")


def decode(kind: type[A], given: dict[str, Any]) -> A:
    """Check arguments against their struct.

    Raises:
        InvalidArgument: an unknown name, a missing one, a wrong type, a word outside its vocabulary, a blank title.
    """
    if not _is_plain(kind) or None in given.values():
        given = _mender(kind)(given | {"rest": given} if issubclass(kind, Open) else given, "")
    try:
        try:
            return msgspec.convert(given, kind)
        except msgspec.ValidationError as error:
            if "got `float`" not in str(error):
                raise
        return msgspec.convert(_with_integers(msgspec.inspect.type_info(kind), given), kind)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), kind) from None


def _with_integers(kind: Any, value: Any) -> Any:
    """A value with its whole numbers as integers where one is asked for: JSON has no word for the difference."""
    info = msgspec.inspect
    kind = _bare(kind)
    if isinstance(kind, info.UnionType):
        for option in kind.types:
            value = _with_integers(option, value)
    elif isinstance(kind, info.IntType) and isinstance(value, float) and value.is_integer():
        return int(value)
    elif isinstance(kind, info.ListType) and isinstance(value, list):
        return [_with_integers(kind.item_type, item) for item in value]
    elif isinstance(kind, info.StructType) and isinstance(value, dict):
        kinds = {field.encode_name: field.type for field in kind.fields}
        return {name: _with_integers(kinds[name], item) if name in kinds else item for name, item in value.items()}
    return value


def _refusal(text: str, kind: type[Arguments]) -> InvalidArgument:
    at, field = _AT.search(text), _FIELD.search(text)
    path = at[1] if at else ""
    message = _in_words_of_json(_AT.sub("", text))
    if field:
        holder, path = path, f"{path}.{field[1]}" if path else field[1]
        is_unknown = "unknown" in text
        message = _unknown(kind, holder, field[1]) if is_unknown else _missing(kind, holder, field[1])
    if message in (_BLANK, _EMPTY):
        message = "must not be blank"
    if message.startswith("Invalid enum value"):
        words = _words(schema(kind), path)
        message += f", it is one of {', '.join(words)}{nearest(_value_in(message), words)}"
    elif message.startswith("expected string") and (words := _words(schema(kind), path)):
        message += f"; it is one of {', '.join(words)}"
    elif message.startswith("expected object") and (names := _names(kind, path)):
        message += f"; it holds {', '.join(names)}"
    return InvalidArgument(path, message if field else f"{path}: {message}")


# What JSON Schema calls what msgspec calls as Python does.
_SCHEMA_WORDS: Final = {"int": "integer", "str": "string", "float": "number", "bool": "boolean"}
_TYPES: Final = re.compile(r"`([a-z |]+)`")


def _in_words_of_json(text: str) -> str:
    """A message with types as the tool's schema calls them, not as Python does."""

    def words(found: re.Match[str]) -> str:
        return " or ".join(_SCHEMA_WORDS.get(word, word) for word in found[1].split(" | "))

    return _TYPES.sub(words, text).replace("Expected ", "expected ", 1)


def _unknown(kind: type[Arguments], holder: str, name: str) -> str:
    path = f"{holder}.{name}" if holder else name
    return f"unknown argument {path}; {_taken(kind, holder)}{nearest(name, _names(kind, holder))}"


def _missing(kind: type[Arguments], holder: str, name: str) -> str:
    if holder:
        return f"missing argument {holder}.{name}; {_taken(kind, holder)}"
    return f'missing argument {name}; arguments go under "arguments", as {{"{name}": ...}}: {_taken(kind, holder)}'


# What models write for the statuses of some dialect, and the words, one of which each dialect has.
_SYNONYMS: Final = {
    "pending": ("pending", "open"),
    "in_progress": ("in_progress",),
    "done": ("done", "completed"),
    "skipped": ("skipped", "cancelled"),
    "failed": ("failed", "cancelled"),
}
_MEANT: Final = {
    **dict.fromkeys(
        ("todo", "to_do", "open", "pending", "new", "not_started", "queued", "waiting", "blocked", "ready"), "pending"
    ),
    **dict.fromkeys(("wip", "in_progress", "inprogress", "doing", "started", "active", "ongoing"), "in_progress"),
    **dict.fromkeys(("done", "complete", "completed", "finished", "closed", "resolved", "success"), "done"),
    **dict.fromkeys(("skip", "skipped", "cancel", "canceled", "cancelled", "wontfix", "deferred"), "skipped"),
    **dict.fromkeys(("fail", "failed", "failure", "error", "errored", "broken"), "failed"),
}


# What models write for the names of arguments, for actions and priorities.
_ALSO: Final = {
    **dict.fromkeys(("title", "task_name", "subject"), ("name", "title")),
    **dict.fromkeys(("name", "content", "text"), ("title", "name", "message", "question")),
    **dict.fromkeys(("desc", "details", "body"), ("description",)),
    **dict.fromkeys(("id", "task_id", "uid", "uuid", "after", "before"), ("uid", "task_id", "uuid", "id")),
    **dict.fromkeys(("log", "note", "comment"), ("message", "notes")),
    **dict.fromkeys(("prompt", "message"), ("question", "message", "prompt")),
    **dict.fromkeys(("lease", "ttl"), ("lease_seconds",)),
    **dict.fromkeys(("items", "todo_list"), ("todos", "tasks")),
    "state": ("status",),
    **dict.fromkeys(("add", "new", "insert"), ("create", "create_plan")),
    **dict.fromkeys(("list", "get", "search", "show", "read"), ("list", "pending")),
    **dict.fromkeys(("complete", "done", "finish", "edit", "set", "close", "delete", "remove", "cancel"), ("update",)),
    **dict.fromkeys(("critical", "highest", "p0", "blocker"), ("urgent",)),
    **dict.fromkeys(("normal", "default", "p2"), ("medium",)),
    **dict.fromkeys(("lowest", "minor", "p3"), ("low",)),
}


def nearest(given: str, words: list[str]) -> str:
    """Which of the words is likely to be meant, as the end of a message; nothing where none is."""
    import difflib

    plain = re.sub(r"[\s-]+", "_", given.strip().lower())
    synonyms = [word for word in _SYNONYMS.get(_MEANT.get(plain, ""), ()) if word in words]
    synonyms += [word for word in _ALSO.get(plain, ()) if word in words and word != given]
    near = synonyms or difflib.get_close_matches(plain[:100], words, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _value_in(message: str) -> str:
    """The value that a message quotes."""
    found = re.search(r"'(.*)'", message, re.DOTALL)
    return found[1] if found else ""


def _names(kind: type[Arguments], path: str) -> list[str]:
    return [name for option in _options(schema(kind), path) for name in option.get("properties", ())]


def _taken(kind: type[Arguments], path: str) -> str:
    """The arguments that may stand in the object at a path, for people."""
    names = _names(kind, path)
    return f"there is {', '.join(names)}" if names else "it takes none"


def _words(part: dict[str, Any], path: str) -> list[str]:
    """The words that a schema allows at a path."""
    return [str(word) for option in _options(part, path) for word in option.get("enum", ())]


def _options(part: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """What a schema allows at a path: one of these."""
    for step in re.findall(r"[A-Za-z_]\w*|\[", path):
        kind = "items" if step == "[" else "properties"
        holder: dict[str, Any] = next((option for option in part.get("anyOf", [part]) if kind in option), {kind: {}})
        part = holder["items"] if step == "[" else holder["properties"].get(step, {})
    options: list[dict[str, Any]] = part.get("anyOf", [part])
    return options


@cache
def task_arguments(kind: type[Arguments]) -> tuple[str, ...]:
    """The arguments that name a task."""
    fields = msgspec.inspect.type_info(kind).fields  # type: ignore[attr-defined]  # it is a struct
    return tuple(field.name for field in fields if any(map(_names_task, getattr(field.type, "types", [field.type]))))


def _names_task(kind: Any) -> bool:
    return isinstance(kind, msgspec.inspect.Metadata) and (kind.extra or {}).get("names") == "task"


# Mends a value that stands at a path.
_Mend = Callable[[Any, str], Any]


@cache
def _is_plain(kind: type[Arguments]) -> bool:
    """Whether only nulls can need mending: there is no list or object in it."""
    fields = msgspec.inspect.type_info(kind).fields  # type: ignore[attr-defined]  # it is a struct
    return not issubclass(kind, Open) and not any(_mender_of(field.type) for field in fields)


@cache
def _mender(kind: type[Arguments]) -> _Mend:
    return _mend_struct(msgspec.inspect.type_info(kind))


def _bare(kind: Any) -> Any:
    """A type without the description that stands around it."""
    return kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind


def _mender_of(kind: Any) -> _Mend | None:
    """What mends values of a type; None where it has no list or object in it."""
    info = msgspec.inspect
    kind = _bare(kind)
    if isinstance(kind, info.UnionType):
        return next(filter(None, map(_mender_of, kind.types)), None)
    if isinstance(kind, info.StructType):
        return _mend_held(kind, _mend_struct(kind))
    if isinstance(kind, info.ListType):
        item = _mender_of(kind.item_type)
        return _mend_held(kind, _mend_items(item) if item else None)
    return _mend_held(kind, None) if isinstance(kind, info.DictType) else None


def _mend_struct(kind: Any) -> _Mend:
    """Leave out nulls of what is optional, and mend the lists and objects within."""
    required = {field.encode_name for field in kind.fields if field.required}
    menders = {field.encode_name: mender for field in kind.fields if (mender := _mender_of(field.type))}
    optional = {field.encode_name for field in kind.fields} - required

    def mend(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            return value
        mended = {name: item for name, item in value.items() if item is not None or name not in optional}
        for name in menders.keys() & mended.keys():
            mended[name] = menders[name](mended[name], f"{path}.{name}" if path else name)
        return mended

    return mend


def _mend_items(item: _Mend) -> _Mend:
    def mend(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return value
        return [item(one, f"{path}[{at}]") for at, one in enumerate(value)]

    return mend


def _mend_held(kind: Any, inner: _Mend | None) -> _Mend:
    def mend(value: Any, path: str) -> Any:
        if isinstance(value, str):
            value = _held_in_string(kind, value, path)
        return inner(value, path) if inner else value

    return mend


def _held_in_string(kind: Any, text: str, path: str) -> Any:
    """A list or object may come as a string that holds it; one string may stand for a list of one."""
    stripped = text.strip()
    info = msgspec.inspect
    may_be_one = isinstance(kind, info.ListType) and isinstance(_bare(kind.item_type), _TAKES_TEXT)
    if (_HOLDS if may_be_one else _BEGINS).match(stripped):
        try:
            return strict_json.loads_either(stripped)
        except ParseError as error:
            raise InvalidArgument(path, f"{path}: {error.message}") from None
    return [text] if may_be_one else text


_TAKES_TEXT: Final = (msgspec.inspect.StrType, msgspec.inspect.LiteralType, msgspec.inspect.AnyType)
_BEGINS: Final = re.compile(r"[\[{]")
# Not `[CI] waiting for the runner`, which is one string.
_HOLDS: Final = re.compile(r"""[\[{](?:.*[\]}]\Z|\s*["'\[{]|[-\d.\s]*(?:,|\Z))""", re.DOTALL)


_REF: Final = "#/$defs/"


# What a schema leaves unsaid: bounds that hardly any text or number reaches; a refusal tells of them.
_UNSAID: Final = frozenset({"exclusiveMinimum", "maxLength", "maximum", "minLength", "pattern"})


def schema(kind: type[Arguments]) -> dict[str, Any]:
    """The arguments as JSON Schema, whole in one object that the strictest clients take.

    An argument that may be left out is not said to be null: strict clients refuse such unions, and a key that is
    missing says the same.
    """
    made = msgspec.json.schema(kind)
    definitions = made.pop("$defs", {})

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(item) for item in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return inline(definitions[part["$ref"].removeprefix(_REF)])
        # A title that is no text is a property of that name.
        return _strict({key: inline(value) for key, value in part.items() if key != "title" or isinstance(value, dict)})

    inlined: dict[str, Any] = inline(made)
    inlined.pop("description", None)
    inlined.setdefault("properties", {})
    if not inlined.get("required"):
        inlined.pop("required", None)
    if issubclass(kind, Open):
        del inlined["properties"]["rest"]
    return inlined


_WORDS: Final = frozenset({"description", "default", "additionalProperties"})


def without_words(part: Any) -> Any:
    """A schema in brief: without its descriptions, its defaults, and that nothing else is taken."""
    if isinstance(part, list):
        return [without_words(item) for item in part]
    if not isinstance(part, dict):
        return part
    # A property of such a name is described by an object.
    return {key: without_words(value) for key, value in part.items() if key not in _WORDS or isinstance(value, dict)}


def _strict(part: dict[str, Any]) -> dict[str, Any]:
    """A part of a schema without unions of null or of numbers and strings, and without what is better left unsaid."""
    options = part.get("anyOf")
    # A property of that name is described by an object.
    if isinstance(options, list):
        options = [option for option in options if option != {"type": "null"}]
        # A number may be given as a string that holds it.
        if options == [{"type": "string"}, {"type": "integer"}]:
            del options[1:]
        if len(options) == 1:
            part = {**options[0], **{key: value for key, value in part.items() if key != "anyOf"}}
    made = {key: value for key, value in part.items() if not _is_unsaid(key, value)}
    if isinstance(made.get("enum"), list):
        made.setdefault("type", "string")
    return made


def _is_unsaid(key: str, value: Any) -> bool:
    if key == "default":
        return value in (None, False, "", [], {})
    if key in ("minimum", "minItems"):
        return value in (0, 1)
    return key in _UNSAID and not isinstance(value, dict)
