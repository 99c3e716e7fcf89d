"""Edits JSON with comments (JSONC) in place: what is not edited stays byte for byte as it is.

The parser accepts what that of VS Code accepts: comments, and a comma after the last member. `remove` removes exactly
what `put` and `append` wrote. To recognise it, it looks at the layout that they leave: a member added to an empty
container is on the line of its bracket; in a new container each member is on a line of its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

Path = tuple[str | int, ...]

_BLANKS: Final = " \t\r\n"
_TRIVIA: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_REST_OF_LINE: Final = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_OPEN_COMMENT: Final = re.compile(r"//[^\r\n]*\Z")
_INDENT: Final = re.compile(r"[\[{][ \t]*\r?\n([ \t]+)[\"/]")
# Deeper than any settings file, and well below Python's recursion limit.
_MAX_DEPTH: Final = 200


class NotJson(ValueError):
    """The text is not JSON, not even with comments and trailing commas."""


class NotAContainer(ValueError):
    """An object or an array was expected, and something else was found."""


@dataclass(slots=True)
class _Node:
    """A value in the text, with its offsets in characters.

    Attributes:
        start: the offset of its first character.
        end: the offset after its last character.
        data: the parsed value.
        keys: for an object or an array, the names or indexes of its members, in order.
        starts: the offset of each member; in an object, that of its name.
        members: the values of the members.
    """

    start: int
    end: int
    data: Any
    keys: list[str | int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    members: list[_Node] = field(default_factory=list)


def is_empty(text: str) -> bool:
    """Return whether a text has only white space and comments."""
    return _skip(text, 0) == len(text)


def load(text: str) -> Any:
    """Return the value of a text, or None if it is empty.

    Raises:
        NotJson: the text is not JSON.
    """
    return None if is_empty(text) else _parse(text).data


def value_at(data: Any, path: Path) -> Any:
    """Return the value at a path below a value, or None if there is none."""
    for key in path:
        if isinstance(data, dict) and isinstance(key, str):
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            return None
    return data


def put(text: str | None, path: Path, value: Any) -> str:
    """Return the text with a value at a path: an existing one is replaced, missing objects on the way are created.

    The text is None if the file does not exist.

    Raises:
        NotJson: the text is not JSON.
        NotAContainer: something on the path is no object.
    """
    if text is None:
        return put("", path, value) + "\n"
    if is_empty(text):
        made = _to_json(_wrap_in_objects(path, value), "  ", "\n", "")
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        return mark + made + text.removeprefix(mark) if _OPEN_COMMENT.search(text) else text + made
    node = _parse(text)
    for depth, key in enumerate(path):
        if key not in node.keys:
            if not isinstance(node.data, dict):
                raise NotAContainer(f"{_format_path(path[:depth])}is not an object")
            return _add_member(text, node, depth, str(key), _wrap_in_objects(path[depth + 1 :], value))
        node = _member(node, key)
    made = _to_json(value, _indent_unit(text), _newline(text), _indent_of_line(text, node.start))
    return text[: node.start] + made + text[node.end :]


def append(text: str | None, path: Path, item: Any) -> str:
    """Return the text with an item added to the array at a path, which is created if it is missing.

    Raises:
        NotJson: the text is not JSON.
        NotAContainer: something on the path is no object, or the last no array.
    """
    if text is None or value_at(load(text), path) is None:
        return put(text, path, [item])
    node = _parse(text)
    for key in path:
        node = _member(node, key)
    if not isinstance(node.data, list):
        raise NotAContainer(f"{_format_path(path)}is not an array")
    return _add_member(text, node, len(path), None, item)


def remove(text: str, path: Path) -> str | None:
    """Return the text without the member at a path and the containers that `put` created for it.

    None: nothing is left, so that the file is to be removed.

    Raises:
        NotJson: the text is not JSON.
        KeyError: nothing is at that path.
    """
    nodes = [_parse(text)]
    for key in path:
        if key not in nodes[-1].keys:
            raise KeyError(key)
        nodes.append(_member(nodes[-1], key))
    depth = len(path) - 1
    while depth >= 0 and _is_made_by_put(text, nodes[depth]):
        depth -= 1
    if depth >= 0:
        return _remove_member(text, nodes[depth], _index(nodes[depth], path[depth]))
    before, after = text[: nodes[0].start], text[nodes[0].end :]
    return None if before in ("", "\ufeff") and after in ("\n", "\r\n") else before + after


def _parse(text: str) -> _Node:
    try:
        node = _value(text, _skip(text, 0), 0)
    except (ValueError, IndexError, StopIteration) as error:
        raise NotJson(str(error) or "it ends too soon") from error
    if _skip(text, node.end) != len(text):
        raise NotJson(f"something follows the end of the value, at character {_skip(text, node.end)}")
    return node


def _value(text: str, at: int, depth: int) -> _Node:
    if depth > _MAX_DEPTH:
        raise NotJson("it is nested too deeply")
    bracket = text[at]
    if bracket not in "{[":
        data, end = json.JSONDecoder().raw_decode(text, at)
        return _Node(at, end, data)
    node = _Node(at, at, {} if bracket == "{" else [])
    close = "}" if bracket == "{" else "]"
    at = _skip(text, at + 1)
    while text[at] != close:
        key: str | int = len(node.keys)
        node.starts.append(at)
        if bracket == "{":
            if text[at] != '"':
                raise NotJson(f"no name in quotes at character {at}")
            key, at = json.JSONDecoder().raw_decode(text, at)
            at = _skip(text, at)
            if text[at] != ":":
                raise NotJson(f"no colon at character {at}")
            at = _skip(text, at + 1)
        member = _value(text, at, depth + 1)
        node.keys.append(key)
        node.members.append(member)
        if bracket == "{":
            node.data[key] = member.data
        else:
            node.data.append(member.data)
        at = _skip(text, member.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != close:
            raise NotJson(f"no comma at character {at}")
    node.end = at + 1
    return node


def _skip(text: str, at: int) -> int:
    """Return the offset after the white space and comments at `at`. A byte order mark counts as white space."""
    at += text.startswith("\ufeff") and at == 0
    match = _TRIVIA.match(text, at)
    return match.end() if match is not None else at


def _index(node: _Node, key: str | int) -> int:
    """Return the index of a member. Of equal names the last one counts, as for every JSON parser."""
    return len(node.keys) - 1 - node.keys[::-1].index(key)


def _member(node: _Node, key: str | int) -> _Node:
    return node.members[_index(node, key)]


def _format_path(path: Path) -> str:
    return ".".join(f'"{key}"' for key in path) or "the file"


def _wrap_in_objects(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_unit(text: str) -> str:
    match = _INDENT.search(text)
    return match[1] if match is not None else "  "


def _to_json(value: Any, unit: str, newline: str, indent: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _indent_of_line(text: str, at: int) -> str:
    line = text[max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _starts_line(text: str, at: int) -> bool:
    return text[:at].rstrip(" \t")[-1:] in ("\n", "\r")


def _add_member(text: str, node: _Node, depth: int, name: str | None, value: Any) -> str:
    """Return the text with a member added after the last one of a container."""
    unit, newline = _indent_unit(text), _newline(text)
    indent = unit * (depth + 1)
    if node.starts and _starts_line(text, node.starts[-1]):
        indent = _indent_of_line(text, node.starts[-1])
    made = ("" if name is None else f"{json.dumps(name, ensure_ascii=False)}: ") + _to_json(
        value, unit, newline, indent
    )
    if not node.members:
        return text[: node.start + 1] + made + text[node.start + 1 :]
    end = node.members[-1].end
    comma = _skip(text, end)
    has_comma = text[comma] == ","
    at = comma + 1 if has_comma else end
    if (rest := _REST_OF_LINE.match(text, at)) is not None and text[rest.end() : rest.end() + 1] in ("\n", "\r"):
        at = rest.end()  # a comment there belongs to the member before
    if has_comma:
        return f"{text[:at]}{newline}{indent}{made},{text[at:]}"
    return f"{text[:end]},{text[end:at]}{newline}{indent}{made}{text[at:]}"


def _is_made_by_put(text: str, node: _Node) -> bool:
    """Return whether a container with one member has the layout of one that `put` created."""
    if len(node.members) != 1:
        return False
    before, after = text[node.start + 1 : node.starts[0]], text[node.members[0].end : node.end - 1]
    return all("\n" in blank and not blank.strip(_BLANKS) for blank in (before, after))


def _remove_member(text: str, node: _Node, index: int) -> str:
    """Return the text without a member, its comma, and the line break before it."""
    start, end = node.starts[index], node.members[index].end
    if _starts_line(text, start):
        start = len(text[:start].rstrip(" \t"))
        start -= 2 if text[:start].endswith("\r\n") else 1
    comma = _skip(text, end)
    if text[comma] != "," and index > 0:
        comma = _skip(text, node.members[index - 1].end)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    if text[comma] == ",":
        return text[:start] + text[end:comma] + text[comma + 1 :]
    return text[:start] + text[end:]
