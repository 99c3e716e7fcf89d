"""`call`: one request from a shell, with any tool (contract, section 1)."""

from __future__ import annotations

import json
import sys
from typing import Any

from tui_tasks import oneshot, strictjson
from tui_tasks.core.errors import ParseError
from tui_tasks.dialects.arguments import schema
from tui_tasks.dialects.table import TABLE
from tui_tasks.session import Session


def words(given: list[str]) -> dict[str, Any]:
    """The arguments of `call`: one JSON object, or `name=value` words (contract, section 1).

    Raises:
        ValueError: they are neither.
    """
    if len(given) == 1 and given[0].lstrip().startswith("{"):
        try:
            held = strictjson.loads(given[0])
        except ParseError as error:
            raise ValueError(f"the arguments are not one JSON object: {error.message}") from None
        return dict(held)
    arguments: dict[str, Any] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ValueError(f"{word!r} is not name=value")
        if name in arguments:
            raise ValueError(f"{name} is given twice")
        try:
            arguments[name] = strictjson.loads(value)
        except ParseError:
            arguments[name] = value
    return arguments


def call(session: Session, tool: str, arguments: dict[str, Any]) -> int:
    """Make one request; print its result as JSON, or its error on standard error. Exit status 0 or 1."""
    reply = oneshot.ask(session, {"tool": tool, "arguments": arguments})
    if not reply["ok"]:
        print(json.dumps(reply["error"], ensure_ascii=False), file=sys.stderr)
        return 1
    print(json.dumps(reply["result"], ensure_ascii=False, indent=2))
    return 0


def describe(name: str | None) -> int:
    """Print what a tool does and takes; without a name, every tool in a line."""
    if name is None:
        for tool in TABLE.tools.values():
            if not tool.human:
                print(f"{tool.name:28} {tool.description.splitlines()[0].partition('. ')[0].rstrip('.')}")
        return 0
    found = TABLE.tools.get(name)
    if found is None:
        print(f"tui-tasks call: no tool {name}; `tui-tasks call` lists them", file=sys.stderr)
        return 1
    print(f"{found.name}\n\n{found.description}\n")
    print(json.dumps(schema(found.arguments), ensure_ascii=False, indent=2))
    return 0
