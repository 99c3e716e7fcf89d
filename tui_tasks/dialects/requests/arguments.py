"""The arguments of tools: converts them to checked, typed values, and makes the schema that agents see.

The types are msgspec structs. What is accepted in addition (docs: protocol, section 2) is converted before the check:
null or a blank for an optional argument, a list or object within a string, one string for a list of one. What is wrong
is put into words by `argument_errors`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from tui_tasks.core import vocab
from tui_tasks.core.errors import InvalidArgument, ParseError, Problem
from tui_tasks.dialects.requests import strict_json


class Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The base of every tool's arguments: unknown names are refused."""

    @classmethod
    def further_problems(cls, given: dict[str, Any], now: int) -> Iterable[Problem]:
        """Yield what is wrong with arguments that their types do not say, however wrong these are; `now` is in
        microseconds.
        """
        return ()

    @classmethod
    def hint(cls, path: str, value: Any) -> str:
        """Return what to send in place of a value that its type refuses; empty: nothing more is known."""
        return ""

    @classmethod
    def needed(cls, given: dict[str, Any]) -> frozenset[str]:
        """Return the optional arguments that these arguments need all the same: a blank is refused there."""
        return frozenset()


class Nothing(Arguments):
    """No arguments."""


class Open(Arguments, forbid_unknown_fields=False, kw_only=True):
    """Arguments some of which another tool checks: `rest` holds all arguments as they came."""

    rest: dict[str, Any] = {}


class Clearing(Arguments, kw_only=True):
    """Arguments of which null clears a field: `cleared` holds the names of those."""

    cleared: list[str] = []


Name = Annotated[str, Meta(min_length=1, max_length=vocab.MAX_NAME, pattern=r"\S")]
Text = Annotated[str, Meta(max_length=vocab.MAX_TEXT)]
Uid = Annotated[str, Meta(max_length=vocab.MAX_NAME, pattern=r"\S")]
# Words; one string is split at its commas.
Tags = Annotated[list[Name], Meta(extra={"split": ","})]
# Answers to choose from; one string that seems to hold several is refused.
Choices = Annotated[list[Name], Meta(extra={"choices": True})]
# A task's uid, or a reference to the task (`task_references`).
TaskUid = Annotated[Uid, Meta(extra={"names": "task"})]
# Up to the largest integer of SQLite.
Natural = Annotated[int, Meta(ge=1, le=2**63 - 1)]

A = TypeVar("A", bound=Arguments)


def decode(kind: type[A], given: dict[str, Any], now: int = 0) -> A:
    """Return the arguments, checked against their struct; `now` is in microseconds.

    Raises:
        InvalidArgument: an unknown name, a missing one, a wrong type, a word outside its vocabulary, a blank title. It
            has all that is wrong.
    """
    problems: list[Problem] = []
    if issubclass(kind, Clearing):
        if "cleared" in given:
            problems.append(("cleared", "unknown argument cleared"))
        given = given | {"cleared": [name for name, value in given.items() if value is None]}
    if not _is_plain(kind) or None in given.values():
        given = _converter(kind)(given | {"rest": given} if issubclass(kind, Open) else given)
    try:
        try:
            made = msgspec.convert(given, kind)
        except msgspec.ValidationError:
            given = _without_blanks(kind, _with_integers(_type_info(kind), given), kind.needed(given))
            made = msgspec.convert(given, kind)
    except msgspec.ValidationError:
        from tui_tasks.dialects.requests import argument_errors  # for what is refused alone

        problems += argument_errors.problems(kind, given)
    for path, message in kind.further_problems(given, now):
        # What is wrong with a value's type says more than what is wrong with what it means.
        if not any(path == known or path.startswith((f"{known}.", f"{known}[")) for known, _ in problems):
            problems.append((path, message))
    if problems:
        raise InvalidArgument.of(problems)
    return made


def _without_blanks(kind: Any, value: Any, needed: frozenset[str] = frozenset()) -> Any:
    """Return arguments without the blanks ("", [] and {}) of optional ones that take none.

    Clients with strict schemas fill every argument.
    """
    plain = annotation_for(kind, value)
    if isinstance(value, list) and get_origin(plain) is list:
        return [_without_blanks(get_args(plain)[0], item) for item in value]
    if not isinstance(value, dict) or not is_struct(plain):
        return value
    known = fields(plain)
    return {
        name: _without_blanks(known[name].type, item) if name in known else item
        for name, item in value.items()
        if name not in known or known[name].required or name in needed or not _is_refused_blank(known[name].type, item)
    }


def is_blank(value: Any) -> bool:
    """Return whether a value is an empty list or object, or a text without a word."""
    return value in ([], {}) or (isinstance(value, str) and not value.strip())


def _is_refused_blank(kind: Any, value: Any) -> bool:
    if not is_blank(value):
        return False
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return True
    return False


@cache
def fields(kind: Any) -> dict[str, msgspec.structs.FieldInfo]:
    """Return the fields of a struct by name."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def is_struct(kind: Any) -> bool:
    """Return whether an annotation is a struct."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def annotation_for(kind: Any, value: Any) -> Any:
    """Return an annotation without its metadata; of a union, the member for a list or an object."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        options = [annotation_for(option, value) for option in get_args(kind)]
        fits = [option for option in options if (get_origin(option) is list) == isinstance(value, list)]
        return next((option for option in fits if is_struct(option) == isinstance(value, dict)), kind)
    return kind


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


@cache
def _type_info(kind: type[Arguments]) -> msgspec.inspect.StructType:
    known = msgspec.inspect.type_info(kind)
    assert isinstance(known, msgspec.inspect.StructType)
    return known


@cache
def task_arguments(kind: type[Arguments]) -> tuple[str, ...]:
    """Return the names of the arguments that name a task, or hold a list of tasks."""
    return tuple(
        field.name
        for field in _type_info(kind).fields
        if any(map(names_task, getattr(field.type, "types", [field.type])))
    )


def names_task(kind: Any) -> bool:
    """Return whether a type is that of a task's uid, or of a list of such."""
    if isinstance(kind, msgspec.inspect.Metadata) and (kind.extra or {}).get("names") == "task":
        return True
    kind = _bare(kind)
    return isinstance(kind, msgspec.inspect.ListType) and names_task(kind.item_type)


_Converter = Callable[[Any], Any]


class Unparsed:
    """A string that was to hold a list or an object and does not, in place of the value; no type takes it."""

    def __init__(self, message: str) -> None:
        self.message = message


@cache
def _is_plain(kind: type[Arguments]) -> bool:
    """Return whether nulls are all that may need conversion: the struct has no list or object in it."""
    return not issubclass(kind, Open) and not any(_converter_of(field.type) for field in _type_info(kind).fields)


@cache
def _converter(kind: type[Arguments]) -> _Converter:
    return _struct_converter(_type_info(kind))


def _bare(kind: Any) -> Any:
    """Return a type without its metadata."""
    return kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind


def _converter_of(kind: Any) -> _Converter | None:
    """Return the function that converts values of a type; None if it has no list or object in it."""
    info = msgspec.inspect
    extra = (kind.extra or {}) if isinstance(kind, info.Metadata) else {}
    splits, are_choices = "split" in extra, "choices" in extra
    kind = _bare(kind)
    if isinstance(kind, info.UnionType):
        return next(filter(None, map(_converter_of, kind.types)), None)
    if isinstance(kind, info.StructType):
        return _string_converter(kind, _struct_converter(kind))
    if isinstance(kind, info.ListType):
        item = _converter_of(kind.item_type)
        return _string_converter(kind, _items_converter(item) if item else None, splits=splits, are_choices=are_choices)
    return _string_converter(kind, None) if isinstance(kind, info.DictType) else None


def _struct_converter(kind: Any) -> _Converter:
    """Return a function that drops the nulls of optional fields, and converts lists and objects within."""
    required = {field.encode_name for field in kind.fields if field.required}
    menders = {field.encode_name: mender for field in kind.fields if (mender := _converter_of(field.type))}
    optional = {field.encode_name for field in kind.fields} - required

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        mended = {name: item for name, item in value.items() if item is not None or name not in optional}
        for name in menders.keys() & mended.keys():
            mended[name] = menders[name](mended[name])
        return mended

    return convert


def _items_converter(item: _Converter) -> _Converter:
    def convert(value: Any) -> Any:
        return [item(one) for one in value] if isinstance(value, list) else value

    return convert


def _string_converter(
    kind: Any, inner: _Converter | None, *, splits: bool = False, are_choices: bool = False
) -> _Converter:
    def convert(value: Any) -> Any:
        if isinstance(value, str):
            parts = [part.strip() for part in re.split(_BETWEEN_CHOICES, value)] if are_choices else []
            if len(parts := [part for part in parts if part]) > 1 and not re.match(_BEGINS, value.strip()):
                sent = json.dumps(parts, ensure_ascii=False)
                return Unparsed(f"one string is one option: send a list, {sent}")
            value = _parsed_string(kind, value, splits=splits)
        return inner(value) if inner else value

    return convert


def _parsed_string(kind: Any, text: str, *, splits: bool) -> Any:
    """Return a list or object that a string contains, or a list of that one string if the type takes it."""
    stripped = text.strip()
    info = msgspec.inspect
    may_be_one = isinstance(kind, info.ListType) and isinstance(_bare(kind.item_type), _TEXT_TYPES)
    if re.match(_HOLDS if may_be_one else _BEGINS, stripped):
        try:
            return strict_json.loads_either(stripped)
        except ParseError as error:
            return Unparsed(error.message)
    if splits:
        return [part.strip() for part in text.split(",") if part.strip()] or text
    return [text] if may_be_one and stripped else text


_TEXT_TYPES: Final = (msgspec.inspect.StrType, msgspec.inspect.LiteralType, msgspec.inspect.AnyType)
_BEGINS: Final = r"[\[{]"
_BETWEEN_CHOICES: Final = r"[,;/|\n]|\bor\b"
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
    for hidden in ("rest",) if issubclass(kind, Open) else ("cleared",) if issubclass(kind, Clearing) else ():
        del inlined["properties"][hidden]
    return inlined


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
