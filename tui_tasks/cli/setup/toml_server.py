"""Edits the table of a server in Codex's `config.toml`: what is not edited stays as it is."""

from __future__ import annotations

from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tui_tasks.cli.setup import files

SERVERS: Final = "mcp_servers"


class NotToml(ValueError):
    """The text is not TOML, or its servers are no table."""


def load(text: str | None) -> dict[str, Any]:
    """Return the values of a text.

    Raises:
        NotToml: the text is not TOML.
    """
    return dict(_parse(text).unwrap())


def put(text: str | None, name: str, entry: dict[str, Any]) -> str:
    """Return the text with the entry of a server added, or with its values updated.

    Raises:
        NotToml: the text is not TOML, or cannot be edited without moving its tables.
    """
    document = _parse(text)
    servers = document.get(SERVERS)
    if servers is not None and not isinstance(servers, dict):
        raise NotToml(f"{SERVERS} is no table")
    mark = "\ufeff" if text is not None and text.startswith("\ufeff") else ""
    if servers is not None and name in servers:
        there: Any = servers[name]
        if all(there.get(key) == value for key, value in entry.items()):
            return text or ""
        _check_round_trip(document, text)
        for key, value in entry.items():
            if there.get(key) != value:
                there[key] = value
        return mark + tomlkit.dumps(document)
    made = mark + files.append(text.removeprefix(mark) if text is not None else None, _table_text(name, entry))
    expected = document.unwrap()
    expected.setdefault(SERVERS, {})[name] = entry
    try:
        if load(made) == expected:
            return made
    except NotToml:
        pass  # the servers are an inline table, to which no header can add
    if servers is None:
        raise NotToml("no table can be added at its end")
    _check_round_trip(document, text)
    inline = tomlkit.inline_table()
    inline.update(entry)
    servers[name] = inline
    return mark + tomlkit.dumps(document)


def remove(text: str, name: str) -> str | None:
    """Return the text without a server; None if the file was created for it and has nothing else.

    Raises:
        NotToml: the text is not TOML, or cannot be edited without moving its tables.
        KeyError: there is no such server.
    """
    document = _parse(text)
    expected = document.unwrap()
    entry = expected.get(SERVERS, {})[name]
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    block = _table_text(name, entry).rstrip("\n").replace("\n", files.newline_of(text))
    start = body.find(block)
    if start >= 0:
        left = files.remove(body, start, start + len(block))
        del expected[SERVERS][name]
        if not expected[SERVERS]:
            del expected[SERVERS]
        try:
            if left is None or {SERVERS: {}} | load(left) == {SERVERS: {}} | expected:
                return None if left is None else mark + left
        except NotToml:
            pass  # the text that equals the block is part of something else
    _check_round_trip(document, text)
    servers: Any = document[SERVERS]
    del servers[name]
    return mark + tomlkit.dumps(document)


def _parse(text: str | None) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse((text or "").removeprefix("\ufeff"))
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise NotToml(str(error)) from error


def _check_round_trip(document: tomlkit.TOMLDocument, text: str | None) -> None:
    """Refuse a text that the library does not reproduce exactly, such as one with tables out of order.

    Raises:
        NotToml: it does not.
    """
    if tomlkit.dumps(document) != (text or "").removeprefix("\ufeff"):
        raise NotToml("its tables stand in an order in which it cannot be edited without moving them")


def _table_text(name: str, entry: dict[str, Any]) -> str:
    table = tomlkit.table()
    table.update(entry)
    return tomlkit.dumps({SERVERS: tomlkit.table(is_super_table=True).append(name, table)})
