"""The arguments of tools: converts them to checked, typed values, and makes the schema that agents see.

The types are msgspec structs. What is accepted in addition (docs: protocol, section 2) is converted before the check:
null for an optional argument, a list or object within a string, one string for a list of one.
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
    """Arguments some of which another tool checks: `rest` holds all arguments as they came."""

    rest: dict[str, Any] = {}


Name = Annotated[str, Meta(min_length=1, max_length=vocab.MAX_NAME, pattern=r"\S")]
Text = Annotated[str, Meta(max_length=vocab.MAX_TEXT)]
Uid = Annotated[str, Meta(max_length=vocab.MAX_NAME)]
# A task's uid, or a reference to the task (`task_references`).
TaskUid = Annotated[Uid, Meta(extra={"names": "task"})]
# Up to the largest integer of SQLite.
Natural = Annotated[int, Meta(ge=1, le=2**63 - 1)]

A = TypeVar("A", bound=Arguments)

# The expressions are compiled on first use: every command imports this.
_AT: Final = r" - at `\$\.?(.*?)`$"
_BLANK = r"expected string matching regex '\\S'"
_EMPTY = "expected string of length >= 1"
_FIELD: Final = r"^Object (?:contains unknown|missing required) field `(.*?)`"


def decode(kind: type[A], given: dict[str, Any]) -> A:
    """Return the arguments, checked against their struct.

    Raises:
        InvalidArgument: an unknown name, a missing one, a wrong type, a word outside its vocabulary, a blank title.
    """
    if not _is_plain(kind) or None in given.values():
        given = _converter(kind)(given | {"rest": given} if issubclass(kind, Open) else given, "")
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
    """Return a value with whole numbers as integers where the type is int: JSON does not distinguish 1 and 1.0."""
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
    at, field = re.search(_AT, text), re.search(_FIELD, text)
    path = at[1] if at else ""
    message = _in_words_of_json(re.sub(_AT, "", text))
    if field:
        holder, path = path, f"{path}.{field[1]}" if path else field[1]
        is_unknown = "unknown" in text
        message = _unknown_message(kind, holder, field[1]) if is_unknown else _missing_message(kind, holder, field[1])
    if message in (_BLANK, _EMPTY):
        message = "must not be blank"
    if message.startswith("Invalid enum value"):
        words = _words(_kept_schema(kind), path)
        message += f", it is one of {', '.join(words)}{nearest(_value_in(message), words)}"
    elif message.startswith("expected string") and (words := _words(_kept_schema(kind), path)):
        message += f"; it is one of {', '.join(words)}"
    elif message.startswith("expected object") and (names := _names(kind, path)):
        message += f"; it holds {', '.join(names)}"
    return InvalidArgument(path, message if field else f"{path}: {message}")


# JSON Schema's names of the types that msgspec names as Python does.
_SCHEMA_WORDS: Final = {"int": "integer", "str": "string", "float": "number", "bool": "boolean"}
_TYPES: Final = r"`([a-z |]+)`"


def _in_words_of_json(text: str) -> str:
    """Return a message with its types named as in the tool's schema, not as in Python."""

    def words(found: re.Match[str]) -> str:
        return " or ".join(_SCHEMA_WORDS.get(word, word) for word in found[1].split(" | "))

    return re.sub(_TYPES, words, text).replace("Expected ", "expected ", 1)


def _unknown_message(kind: type[Arguments], holder: str, name: str) -> str:
    path = f"{holder}.{name}" if holder else name
    return f"unknown argument {path}; {_names_text(kind, holder)}{nearest(name, _names(kind, holder))}"


def _missing_message(kind: type[Arguments], holder: str, name: str) -> str:
    if holder:
        return f"missing argument {holder}.{name}; {_names_text(kind, holder)}"
    return f'missing argument {name}; arguments go under "arguments", as {{"{name}": ...}}: {_names_text(kind, holder)}'


# For each status: the words for it in the dialects. Each dialect has one of them.
_SYNONYMS: Final = {
    "pending": ("pending", "open"),
    "in_progress": ("in_progress",),
    "done": ("done", "completed"),
    "skipped": ("skipped", "cancelled"),
    "failed": ("failed", "cancelled"),
}
_STATUS_OF_WORD: Final = {
    **dict.fromkeys(
        ("todo", "to_do", "open", "pending", "new", "not_started", "queued", "waiting", "blocked", "ready"), "pending"
    ),
    **dict.fromkeys(("wip", "in_progress", "inprogress", "doing", "started", "active", "ongoing"), "in_progress"),
    **dict.fromkeys(("done", "complete", "completed", "finished", "closed", "resolved", "success"), "done"),
    **dict.fromkeys(("skip", "skipped", "cancel", "canceled", "cancelled", "wontfix", "deferred"), "skipped"),
    **dict.fromkeys(("fail", "failed", "failure", "error", "errored", "broken"), "failed"),
}


# What models write instead of the names of arguments, actions and priorities.
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
    """Return the end of a message that suggests which of the words was probably meant; "" if none is similar."""
    import difflib

    plain = re.sub(r"[\s-]+", "_", given.strip().lower())
    synonyms = [word for word in _SYNONYMS.get(_STATUS_OF_WORD.get(plain, ""), ()) if word in words]
    synonyms += [word for word in _ALSO.get(plain, ()) if word in words and word != given]
    near = synonyms or difflib.get_close_matches(plain[:100], words, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _value_in(message: str) -> str:
    """Return the value that a message quotes, or ""."""
    found = re.search(r"'(.*)'", message, re.DOTALL)
    return found[1] if found else ""


def _names(kind: type[Arguments], path: str) -> list[str]:
    return [name for option in _options(_kept_schema(kind), path) for name in option.get("properties", ())]


def _names_text(kind: type[Arguments], path: str) -> str:
    """Return a sentence for people with the arguments that the object at a path takes."""
    names = _names(kind, path)
    return f"there is {', '.join(names)}" if names else "it takes none"


def _words(part: dict[str, Any], path: str) -> list[str]:
    """Return the words that a schema allows at a path."""
    return [str(word) for option in _options(part, path) for word in option.get("enum", ())]


def _options(part: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """Return the alternative schemas that a schema has at a path."""
    for step in re.findall(r"[A-Za-z_]\w*|\[", path):
        kind = "items" if step == "[" else "properties"
        holder: dict[str, Any] = next((option for option in part.get("anyOf", [part]) if kind in option), {kind: {}})
        part = holder["items"] if step == "[" else holder["properties"].get(step, {})
    options: list[dict[str, Any]] = part.get("anyOf", [part])
    return options


@cache
def task_arguments(kind: type[Arguments]) -> tuple[str, ...]:
    """Return the names of the arguments that name a task."""
    fields = msgspec.inspect.type_info(kind).fields  # type: ignore[attr-defined]  # it is a struct
    return tuple(field.name for field in fields if any(map(_names_task, getattr(field.type, "types", [field.type]))))


def _names_task(kind: Any) -> bool:
    return isinstance(kind, msgspec.inspect.Metadata) and (kind.extra or {}).get("names") == "task"


# Converts a value; the path is where it is in the arguments.
_Converter = Callable[[Any, str], Any]


@cache
def _is_plain(kind: type[Arguments]) -> bool:
    """Return whether nulls are all that may need conversion: the struct has no list or object in it."""
    fields = msgspec.inspect.type_info(kind).fields  # type: ignore[attr-defined]  # it is a struct
    return not issubclass(kind, Open) and not any(_converter_of(field.type) for field in fields)


@cache
def _converter(kind: type[Arguments]) -> _Converter:
    return _struct_converter(msgspec.inspect.type_info(kind))


def _bare(kind: Any) -> Any:
    """Return a type without its metadata."""
    return kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind


def _converter_of(kind: Any) -> _Converter | None:
    """Return the function that converts values of a type; None if it has no list or object in it."""
    info = msgspec.inspect
    kind = _bare(kind)
    if isinstance(kind, info.UnionType):
        return next(filter(None, map(_converter_of, kind.types)), None)
    if isinstance(kind, info.StructType):
        return _string_converter(kind, _struct_converter(kind))
    if isinstance(kind, info.ListType):
        item = _converter_of(kind.item_type)
        return _string_converter(kind, _items_converter(item) if item else None)
    return _string_converter(kind, None) if isinstance(kind, info.DictType) else None


def _struct_converter(kind: Any) -> _Converter:
    """Return a function that drops the nulls of optional fields, and converts lists and objects within."""
    required = {field.encode_name for field in kind.fields if field.required}
    menders = {field.encode_name: mender for field in kind.fields if (mender := _converter_of(field.type))}
    optional = {field.encode_name for field in kind.fields} - required

    def convert(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            return value
        mended = {name: item for name, item in value.items() if item is not None or name not in optional}
        for name in menders.keys() & mended.keys():
            mended[name] = menders[name](mended[name], f"{path}.{name}" if path else name)
        return mended

    return convert


def _items_converter(item: _Converter) -> _Converter:
    def convert(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return value
        return [item(one, f"{path}[{at}]") for at, one in enumerate(value)]

    return convert


def _string_converter(kind: Any, inner: _Converter | None) -> _Converter:
    def convert(value: Any, path: str) -> Any:
        if isinstance(value, str):
            value = _parsed_string(kind, value, path)
        return inner(value, path) if inner else value

    return convert


def _parsed_string(kind: Any, text: str, path: str) -> Any:
    """Return a list or object that a string contains, or a list of that one string if the type takes it."""
    stripped = text.strip()
    info = msgspec.inspect
    may_be_one = isinstance(kind, info.ListType) and isinstance(_bare(kind.item_type), _TEXT_TYPES)
    if re.match(_HOLDS if may_be_one else _BEGINS, stripped):
        try:
            return strict_json.loads_either(stripped)
        except ParseError as error:
            raise InvalidArgument(path, f"{path}: {error.message}") from None
    return [text] if may_be_one else text


_TEXT_TYPES: Final = (msgspec.inspect.StrType, msgspec.inspect.LiteralType, msgspec.inspect.AnyType)
_BEGINS: Final = r"[\[{]"
# It does not match `[CI] waiting for the runner`, which is one string.
_HOLDS: Final = r"""(?s)[\[{](?:.*[\]}]\Z|\s*["'\[{]|[-\d.\s]*(?:,|\Z))"""


_REF: Final = "#/$defs/"


# Bounds that schemas omit because hardly any value reaches them; a refusal names them.
_OMITTED: Final = frozenset({"exclusiveMinimum", "maxLength", "maximum", "minLength", "pattern"})


def schema(kind: type[Arguments]) -> dict[str, Any]:
    """Return the arguments as a JSON Schema without references, in a form that the strictest clients accept.

    The schema of an optional argument does not mention null: strict clients refuse such unions, and leaving out the key
    means the same.
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
        # A title that is not a text is a property of that name.
        return _strict({key: inline(value) for key, value in part.items() if key != "title" or isinstance(value, dict)})

    inlined: dict[str, Any] = inline(made)
    inlined.pop("description", None)
    inlined.setdefault("properties", {})
    if not inlined.get("required"):
        inlined.pop("required", None)
    if issubclass(kind, Open):
        del inlined["properties"]["rest"]
    return inlined


# A schema takes longer to make than everything else about a refusal. Who changes one makes one of its own.
_kept_schema = cache(schema)

_WORDS: Final = frozenset({"description", "default", "additionalProperties"})


def without_words(part: Any) -> Any:
    """Return a schema in brief: without descriptions, defaults, and `additionalProperties`."""
    if isinstance(part, list):
        return [without_words(item) for item in part]
    if not isinstance(part, dict):
        return part
    # An object is a property of that name.
    return {key: without_words(value) for key, value in part.items() if key not in _WORDS or isinstance(value, dict)}


def _strict(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a schema without unions with null or of numbers and strings, and without omitted bounds."""
    options = part.get("anyOf")
    # An object is a property of that name.
    if isinstance(options, list):
        options = [option for option in options if option != {"type": "null"}]
        # A number may be sent as a string that contains it.
        if options == [{"type": "string"}, {"type": "integer"}]:
            del options[1:]
        if len(options) == 1:
            part = {**options[0], **{key: value for key, value in part.items() if key != "anyOf"}}
    made = {key: value for key, value in part.items() if not _is_omitted(key, value)}
    if isinstance(made.get("enum"), list):
        made.setdefault("type", "string")
    return made


def _is_omitted(key: str, value: Any) -> bool:
    if key == "default":
        return value in (None, False, "", [], {})
    if key in ("minimum", "minItems"):
        return value in (0, 1)
    return key in _OMITTED and not isinstance(value, dict)
