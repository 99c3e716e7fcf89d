"""The methods of the clients, made from the tool table: `python -m tests.docs.tools_page` writes them anew."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from typing import Any, Final

from tests.contract.client import ROOT
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.tool_table import TABLE, Tool

TOOLS_FILE: Final = ROOT / "tui_tasks" / "client" / "tools.py"
STUB_FILE: Final = ROOT / "tui_tasks" / "client" / "tools.pyi"
_MADE: Final = "Made from the tool table by `python -m tests.docs.tools_page`; a test holds that it is current."
_NAMES: Final = re.compile(r"_READ: Final = .*?\n\)\n_WRITE: Final = .*?\n\)\n", re.DOTALL)
_STUB_HEAD: Final = f'''"""The types of the tools as methods.

{_MADE}
"""

from collections.abc import Awaitable
from typing import Any, Generic, Literal, TypeVar

_Result = TypeVar("_Result", covariant=True)

class _Methods(Generic[_Result]):
    def _call(self, tool: str, arguments: dict[str, Any]) -> _Result: ...
'''
_STUB_END: Final = '''
class Tools(_Methods[Any]):
    """Each tool as a method that returns its result."""

class AsyncTools(_Methods[Awaitable[Any]]):
    """Each tool as a method whose result is awaited."""

WRITES: frozenset[str]
METHODS: dict[str, str]
'''
# What a client does itself.
_OWN: Final = ("control:subscribe", "control:unsubscribe", "control:cancel")
_TYPES: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_DOC_WIDTH: Final = 106


def sources() -> dict[Any, str]:
    """Each file with its text, as ruff formats it."""
    return {file: _formatted(text, str(file)) for file, text in unformatted().items()}


def _formatted(text: str, file: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", file, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def unformatted() -> dict[Any, str]:
    """The same code; to tell whether a file is current takes no ruff."""
    tools = [tool for tool in TABLE.tools.values() if not tool.human and tool.name not in _OWN]
    return {TOOLS_FILE: _with_names(tools), STUB_FILE: _STUB_HEAD + "".join(map(_method, tools)) + _STUB_END}


def _with_names(tools: list[Tool]) -> str:
    """`tools.py` with the names of the tools that there are."""
    made = ""
    for name, writes in (("_READ", False), ("_WRITE", True)):
        names = sorted(tool.name for tool in tools if tool.ever_writes == writes)
        made += f"{name}: Final = (\n" + "".join(f'    "{found}",\n' for found in names) + ")\n"
    return _NAMES.sub(made, TOOLS_FILE.read_text())


def _method(tool: Tool) -> str:
    taken = schema(tool.arguments)
    required = taken.get("required", [])
    names = sorted(taken["properties"], key=lambda name: name not in required)
    told = [
        f"{name}: {_type(taken['properties'][name])}" + ("" if name in required else " | None = ...") for name in names
    ]
    about = first_sentence(tool.description).replace("\\", "\\\\")
    if len(about) > _DOC_WIDTH:
        about = "\n        ".join(textwrap.wrap(about, _DOC_WIDTH, break_long_words=False)) + "\n        "
    taking = f", *, {', '.join(told)}" if told else ""
    return f'    def {tool.name.replace(":", "_")}(self{taking}) -> _Result:\n        """{about}"""\n'


def first_sentence(text: str) -> str:
    """The first sentence of a tool's description, whole."""
    line = text.split("\n")[0]
    at = line.find(". ")
    return line if at < 0 else line[: at + 1]


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
