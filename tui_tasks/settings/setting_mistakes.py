"""Mistakes in settings, in plain words: which key, what it takes, and what it was given.

The words follow from the types that tables are converted to; msgspec tells only the kind of a value, and no key of a
table with free names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import reduce
from typing import Any, Final

import msgspec

_WORDS: Final = {
    "BoolType": "true or false",
    "ListType": "a list",
    "VarTupleType": "a list",
    "DictType": "a table",
    "StructType": "a table",
}
_PATTERNS: Final = {r"^[^\x00]*$": "a text without NUL", r"^[-_A-Za-z0-9]{0,64}$": "up to 64 letters, digits, - and _"}
_MAX_SHOWN: Final = 60
_KEY: Final = "`key`"
"""The step of a path to a key that a table may not have."""

Path = tuple[str | int, ...]
"""The names and positions that lead to a value."""


def mistake(error: msgspec.ValidationError, given: Any, kind: Any) -> tuple[Path, str]:
    """Return the place of a mistake in settings, and in plain words what it takes. `given`: what was converted to a
    `kind`; None: the value is not shown.
    """
    text, _, at = str(error).partition(" - at ")
    steps = re.findall(r"\w+|\.\.\.", at.rpartition("$")[2]) + [_KEY] * at.startswith(_KEY)
    path: Path = ()
    types, value = _alternatives(msgspec.inspect.type_info(kind)), given
    for step in steps:
        types = [each for one in types for inner in _inside(one, step) for each in _alternatives(inner)]
        name = _wrong_key(error, given, path, kind) if step in ("...", _KEY) else int(step) if step.isdigit() else step
        if step == _KEY:
            value = name
        else:
            path, value = (*path, name), value[name] if value is not None else None
    if text.startswith("Object missing required field"):
        return path, f"lacks {text.split('`')[1]}"
    if text.startswith("Object contains unknown field"):
        # The file has no `programs`: it names each as [work.program.NAME].
        names = [field.name for one in types for field in getattr(one, "fields", ()) if field.name != "programs"]
        return path, f"no setting {text.split('`')[1]}; use one of {', '.join(names)}"
    if not text.startswith(("Expected `", "Invalid enum value")):
        return path, text
    allowed = " or ".join(filter(None, map(_allowed, types)))
    return path, f"takes {allowed}" + (f", not {_shown(value)}" if value is not None else "")


def place(path: Path) -> str:
    """Return a path as people read it: `work.copy 2`, `rule 1.tool`."""
    return "".join(f" {step + 1}" if isinstance(step, int) else f".{step}" for step in path).lstrip(". ")


def checked(values: Mapping[str, Any], kind: Any) -> tuple[Any, dict[str, str]]:
    """Return the valid values as a `kind`, and of each other what is wrong, by name."""
    good: dict[str, Any] = {}
    wrong = {}
    for name, value in values.items():
        try:
            msgspec.convert({name: value}, kind)
            good[name] = value
        except msgspec.ValidationError as error:
            wrong[name] = mistake(error, {name: value}, kind)[1]
    return msgspec.convert(good, kind), wrong


def _wrong_key(error: msgspec.ValidationError, given: Any, path: Path, kind: Any) -> str:
    """Return the key, of the table at a path, that an error is about: the table is converted with each key alone."""
    held = reduce(lambda outer, step: outer[step], path, given)
    for key, value in held.items():
        try:
            msgspec.convert(_with(given, path, {key: value}), kind)
        except msgspec.ValidationError as one:
            if str(one) == str(error):
                return str(key)
    return ""


def _with(given: Any, path: Path, table: Any) -> Any:
    """Return what was given with another table at a path."""
    if not path:
        return table
    return {**given, path[0]: _with(given[path[0]], path[1:], table)}


def _alternatives(kind: Any) -> list[Any]:
    kind = kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind
    return list(getattr(kind, "types", (kind,)))


def _inside(kind: Any, step: str) -> list[Any]:
    """Return the types that a type has at one step of a path."""
    if isinstance(kind, msgspec.inspect.StructType):
        return [field.type for field in kind.fields if field.name == step]
    names = ("key_type",) if step == _KEY else ("value_type", "item_type")
    return [getattr(kind, name) for name in names if hasattr(kind, name)]


def _shown(value: Any) -> str:
    # TOML has words for numbers without an end that JSON lacks.
    text = str(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _allowed(kind: Any) -> str:
    """Return in words what a type allows; of no value: an empty text."""
    if isinstance(kind, msgspec.inspect.LiteralType):
        return f"one of {', '.join(json.dumps(word) for word in kind.values)}"
    if isinstance(kind, msgspec.inspect.StrType):
        return _PATTERNS.get(kind.pattern or "", "a text") + " that is not empty" * bool(kind.min_length)
    if isinstance(kind, (msgspec.inspect.IntType, msgspec.inspect.FloatType)):
        number = "a whole number" if isinstance(kind, msgspec.inspect.IntType) else "a number"
        least = f" from {kind.ge:,}" if kind.ge is not None else f" above {kind.gt:,}" if kind.gt is not None else ""
        return f"{number}{least}" + (f"{',' * (kind.gt is not None)} up to {kind.le:,}" if kind.le is not None else "")
    return _WORDS.get(type(kind).__name__, "") + " that is not empty" * bool(getattr(kind, "min_length", None))
