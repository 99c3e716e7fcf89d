"""The methods of the clients, made from the tool table: `python -m tests.docs.tools_page` writes them anew."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Final

from tests.contract.client import ROOT
from tui_tasks.dialects.base import Tool
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.table import TABLE

FILE: Final = ROOT / "tui_tasks" / "client" / "tools.py"
_HEAD: Final = '''"""The tools as methods, and which of them write.

Made from the tool table by `python -m tests.docs.tools_page`; a test holds that it is current.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Literal

'''
_TYPES: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def source() -> str:
    """The file, as ruff formats it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"]
    done = subprocess.run(command, input=unformatted(), capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def unformatted() -> str:
    """The same code; to tell whether the file is current takes no ruff."""
    tools = [tool for tool in TABLE.tools.values() if not tool.human and "subscribe" not in tool.name]
    writes = "".join(f"    {tool.name!r},\n" for tool in sorted(tools, key=lambda tool: tool.name) if tool.ever_writes)
    made = f"{_HEAD}WRITES = frozenset({{\n{writes}}})\n"
    for name, result, about in (
        ("Tools", "Any", "Each tool as a method that returns its result."),
        ("AsyncTools", "Awaitable[Any]", "Each tool as a method whose result is awaited."),
    ):
        made += f'\n\nclass {name}:\n    """{about}"""\n\n'
        made += f"    def _call(self, tool: str, arguments: dict[str, Any]) -> {result}:\n"
        made += "        raise NotImplementedError\n"
        made += "".join(_method(tool, result) for tool in tools)
    return made


def _method(tool: Tool, result: str) -> str:
    taken = schema(tool.arguments)
    required = taken.get("required", [])
    names = sorted(taken["properties"], key=lambda name: name not in required)
    told = [
        f"{name}: {_type(taken['properties'][name])}" + ("" if name in required else " | None = None") for name in names
    ]
    about = tool.description.split("\n")[0].partition(". ")[0].rstrip(".").replace("\\", "\\\\")
    given = ", ".join(f'"{name}": {name}' for name in names)
    taking = f", *, {', '.join(told)}" if told else ""
    return (
        f"\n    def {tool.name.replace(':', '_')}(self{taking}) -> {result}:\n"
        f'        """{about[:100]}."""\n        return self._call("{tool.name}", {{{given}}})\n'
    )


def _type(part: dict[str, Any]) -> str:
    if "enum" in part:
        return f"Literal[{', '.join(map(repr, sorted(part['enum'])))}]"
    if "anyOf" in part:
        return " | ".join(sorted({_type(option) for option in part["anyOf"] if option.get("type") != "null"}))
    if part.get("type") == "array":
        items = part.get("items") or {}
        return f"list[{_type(items)}]"
    if part.get("type") == "object":
        return "dict[str, Any]"
    return _TYPES.get(part.get("type", ""), "Any")
