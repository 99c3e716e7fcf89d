"""The table of a server in Codex's `config.toml`: what is not edited stays as it is."""

from __future__ import annotations

from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tui_tasks.cli.setup import appended

SERVERS: Final = "mcp_servers"


class NotToml(ValueError):
    """The text is not TOML, or servers are no table in it."""


def load(text: str | None) -> dict[str, Any]:
    """Return what the text holds.

    Raises:
        NotToml: it is not TOML.
    """
    return dict(_parse(text).unwrap())


def put(text: str | None, name: str, entry: dict[str, Any]) -> str:
    """Enter a server, or the values of one that is there.

    Raises:
        NotToml: the text is not TOML.
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
        _check_kept(document, text)
        for key, value in entry.items():
            if there.get(key) != value:
                there[key] = value
        return mark + tomlkit.dumps(document)
    made = mark + appended.append(text.removeprefix(mark) if text is not None else None, _block(name, entry))
    wanted = document.unwrap()
    wanted.setdefault(SERVERS, {})[name] = entry
    try:
        if load(made) == wanted:
            return made
    except NotToml:
        pass  # the servers stand in a table that no header can add to
    if servers is None:
        raise NotToml("no table can be added at its end")
    _check_kept(document, text)
    inline = tomlkit.inline_table()
    inline.update(entry)
    servers[name] = inline
    return mark + tomlkit.dumps(document)


def remove(text: str, name: str) -> str | None:
    """Take a server out; None where the file holds nothing else and was made for it.

    Raises:
        NotToml: the text is not TOML.
        KeyError: no such server is there.
    """
    document = _parse(text)
    wanted = document.unwrap()
    entry = wanted.get(SERVERS, {})[name]
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    block = _block(name, entry).rstrip("\n").replace("\n", appended.newline_of(text))
    start = body.find(block)
    if start >= 0:
        left = appended.remove(body, start, start + len(block))
        del wanted[SERVERS][name]
        if not wanted[SERVERS]:
            del wanted[SERVERS]
        try:
            if left is None or {SERVERS: {}} | load(left) == {SERVERS: {}} | wanted:
                return None if left is None else mark + left
        except NotToml:
            pass  # what looked like the block was part of something else
    _check_kept(document, text)
    servers: Any = document[SERVERS]
    del servers[name]
    return mark + tomlkit.dumps(document)


def _parse(text: str | None) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse((text or "").removeprefix("\ufeff"))
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise NotToml(str(error)) from error


def _check_kept(document: tomlkit.TOMLDocument, text: str | None) -> None:
    """Refuse a text that the library would not write as it stands there, such as one with tables out of order."""
    if tomlkit.dumps(document) != (text or "").removeprefix("\ufeff"):
        raise NotToml("its tables stand in an order in which it cannot be edited without moving them")


def _block(name: str, entry: dict[str, Any]) -> str:
    table = tomlkit.table()
    table.update(entry)
    return tomlkit.dumps({SERVERS: tomlkit.table(is_super_table=True).append(name, table)})
