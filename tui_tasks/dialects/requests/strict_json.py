"""JSON as the channel accepts it (docs: protocol, section 3): stricter than Python's own reader."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NoReturn

import msgspec

from tui_tasks.core.errors import ParseError

MAX_NESTING: Final = 64
NO_JSON: Final = "not one JSON text"
NOT_UTF_8: Final = "not UTF-8"
_SURROGATE: Final = r"[\ud800-\udfff]"
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1


def _integer(text: str) -> int:
    number = int(text) if len(text) < 25 else _MAX_INTEGER + 1
    if not _MIN_INTEGER <= number <= _MAX_INTEGER:
        raise ParseError("an integer beyond 64 bits: send it as a string")
    return number


def _real(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ParseError("a number too large")
    return number


def _constant(text: str) -> NoReturn:
    raise ParseError(f"{text} is no JSON: send a number, or null")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ParseError(f"the key {twice[:100]!a} comes twice in one object: send it once")
    return made


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant, strict=True
)


def _nesting(value: Any) -> int:
    """Return how deep lists and objects are nested."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return depth


def loads(text: str) -> Any:
    """Return the value of one JSON text.

    Raises:
        ParseError: it is not one, or has NaN or Infinity, a key twice in one object, a lone surrogate, nesting over 64,
            or an integer beyond 64 bits.
    """
    value = _decoded(_DECODER.decode, text)
    _refuse_odd(value, text)
    return value


def load_beginning(text: str, begin: int) -> tuple[Any, int]:
    """Return the value that begins there, and where it ends: any text may follow.

    Raises:
        ParseError: as `loads`.
    """
    value, end = _decoded(_DECODER.raw_decode, text, begin)
    _refuse_odd(value, text[begin:end])
    return value, end


def _decoded(decode: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return decode(*arguments)
    except RecursionError:
        raise ParseError(f"nested deeper than {MAX_NESTING}") from None
    except ValueError as error:
        raise ParseError(f"{NO_JSON}: {error}") from None


def _refuse_odd(value: Any, text: str) -> None:
    if text.count("[") + text.count("{") > MAX_NESTING and _nesting(value) > MAX_NESTING:
        raise ParseError(f"nested deeper than {MAX_NESTING}")
    if "\\u" in text and re.search(_SURROGATE, json.dumps(value, ensure_ascii=False)):
        raise ParseError("a lone surrogate: send both halves of the character, or the character itself")


# A string in quotes of either kind, or a constant of Python's. A string without an end extends to the end of the text:
# a new attempt at each quote within it would take quadratic time.
_EITHER: Final = r"""(?s)("[^"\\]*(?:\\.[^"\\]*)*"?)|'([^'\\]*(?:\\.[^'\\]*)*)('?)|\b(True|False|None)\b"""
# Python writes a no-break space as `\xa0`.
_INSIDE: Final = r'(?s)\\x([0-9a-f]{2})|\\.|"'
_OTHERWISE: Final = {"True": "true", "False": "false", "None": "null", "\\'": "'", '"': '\\"'}


def loads_either(text: str) -> Any:
    """Return the value of one JSON text; strings may be in single quotes, as seed 000 writes `['done','failed']`.

    Raises:
        ParseError: as `loads`.
    """
    return loads(re.sub(_EITHER, _in_double_quotes, text))


def _in_double_quotes(match: re.Match[str]) -> str:
    double, inside, end, word = match.groups()
    if word is not None:
        return _OTHERWISE[word]
    if double is not None or not end:
        return match[0]
    return '"' + re.sub(_INSIDE, _escape, inside) + '"'


def _escape(part: re.Match[str]) -> str:
    return f"\\u00{part[1]}" if part[1] else _OTHERWISE.get(part[0], part[0])


def load_line(line: bytes) -> Any:
    """Return the value of one line of the channel.

    Raises:
        ParseError: as `loads`, or it is not UTF-8.
    """
    try:
        return _load_plain(line)
    except (ValueError, OverflowError, RecursionError):
        return _load_any(line)


def _load_any(line: bytes) -> Any:
    try:
        return loads(line.decode())
    except UnicodeDecodeError as error:
        raise ParseError(f"{NOT_UTF_8}: {error.reason} at byte {error.start}") from None


def _load_plain(line: bytes) -> Any:
    """Return the value of a line, eight times as fast as `loads`; raise ValueError for the few that need `loads`.

    msgspec is as strict, with three exceptions. Nesting is counted here. A key that occurs twice, with its colon, is
    missing when the value is encoded again (a Unicode escape, the only other way to write a colon, is excluded). And
    MessagePack has no integer beyond 64 bits.
    """
    if line.count(b"[") + line.count(b"{") > MAX_NESTING or b"\\u" in line:
        raise ValueError
    value = _decode(line)
    _pack(value)
    if _encode(value).count(b":") != line.count(b":"):
        raise ValueError
    return value


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_pack = msgspec.msgpack.Encoder().encode
