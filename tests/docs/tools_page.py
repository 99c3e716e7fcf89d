"""The page `tools`, made from the tool table: `python -m tests.docs.tools_page` writes it anew."""

from __future__ import annotations

import sys
import textwrap
from typing import Any, Final

import msgspec

from tests.contract.client import ROOT
from tui_tasks.dialects.base import Tool
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.table import TABLE
from tui_tasks.mcp_server import tools as costs

PAGE: Final = ROOT / "tui_tasks" / "docs" / "tools.md"
BILL: Final = ROOT / "tui_tasks" / "docs" / "mcp.md"
WIDTH: Final = 80
_HEAD: Final = """\
# Tools

Every tool with its arguments and result.
`python -m tests.docs.tools_page` makes this page from the tool table.

Arguments in bold are required. They are strings unless a type is given. A tool's
number is its tokens over MCP: its bytes in `tools/list`, divided by four. All {tools}
cost {tokens:,} together; [mcp](mcp.md) has the cost of a selection.

"""
_FAMILIES: Final = {
    "control": "control, ask",
    "ask": "control, ask",
    "tasklist": "tasklist",
    "task": "task, memory",
    "agent": "task, memory",
    "memory": "task, memory",
    "todo": "todo",
    "scheduler": "scheduler",
}


_TOKENS: Final = costs.tokens(TABLE)


def tokens(tool: Tool) -> int:
    """What an agent that is told of a tool over MCP pays for it; none where it is not there."""
    return _TOKENS.get(tool.name, 0)


def page() -> str:
    """The whole page."""
    tools = [tool for tool in TABLE.tools.values() if not tool.human]
    families: dict[str, list[Tool]] = {}
    for tool in tools:
        families.setdefault(_FAMILIES.get(tool.name.partition(":")[0], "tasks"), []).append(tool)
    parts = [_HEAD.format(tools=len(tools), tokens=sum(map(tokens, tools)))]
    parts += ["| family | tools | tokens |\n| --- | --- | --- |\n"]
    parts += [f"| {name} | {len(found)} | {sum(map(tokens, found)):,} |\n" for name, found in families.items()]
    for name, found in families.items():
        parts += [f"\n## {name}\n", *map(_tool, found)]
    return "".join(parts)


def _tool(tool: Tool) -> str:
    does = "writes" if tool.ever_writes else "reads"
    traits = [does, "waits"] if tool.waits else [does]
    told = "\n\n".join(_wrapped(paragraph) for paragraph in tool.description.splitlines())
    lines = [f"\n### {tool.name}\n\n_{', '.join(traits)}; {tokens(tool)}_\n\n{told}\n"]
    arguments = schema(tool.arguments)
    properties = arguments["properties"]
    if properties:
        lines.append("\n")
    required = arguments.get("required", ())
    plain = ""  # the arguments before the next one that has more than a name
    for name, taken in properties.items():
        shown, told = f"**`{name}`**" if name in required else f"`{name}`", _told(taken)
        kind = ", ".join(part for part in (_kind(taken).removeprefix("string"), _default(taken)) if part)
        argument = f"{shown}{f' ({kind})' if kind else ''}"
        if told:
            lines += [_item(plain), _item(f"{argument}: {told}")]
            plain = ""
        else:
            plain = f"{plain}, {argument}" if plain else argument
    return "".join([*lines, _item(plain)])


def _told(taken: dict[str, Any]) -> str:
    described = (one for one in (taken, *taken.get("anyOf", ())) if one.get("description"))
    return str(next(described, {"description": ""})["description"])


def _item(text: str) -> str:
    return _wrapped(f"- {text}", "  ") + "\n" if text else ""


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _kind(taken: dict[str, Any]) -> str:
    if "anyOf" in taken:
        return " or ".join(dict.fromkeys(_kind(one) for one in taken["anyOf"] if one.get("type") != "null"))
    if "enum" in taken:
        return "one of " + ", ".join(f"`{word}`" for word in taken["enum"])
    if taken.get("type") == "array":
        return f"array of {_kind(taken.get('items', {}))}"
    if taken.get("type") == "object" and taken.get("properties"):
        return "object with " + ", ".join(f"`{name}`" for name in taken["properties"])
    return str(taken.get("type", "any value"))


def _default(taken: dict[str, Any]) -> str:
    default = taken.get("default")
    return "" if default in (None, "", [], {}) else f"default {msgspec.json.encode(default).decode()}"


def _after_table(text: str) -> str:
    """What follows the table of costs in its page."""
    rest = text[text.index("| `--tools`") :].split("\n")
    rows = next((at for at, line in enumerate(rest) if not line.startswith("|")), len(rest))
    return "\n" + "\n".join(rest[rows:])


def main() -> int:
    """Write the page, the table of costs in the page of MCP, the schemas, and the methods of the clients."""
    from tests.docs import client_tools, manual_page, schema_page

    PAGE.write_text(page())
    before = BILL.read_text()
    BILL.write_text(before[: before.index("| `--tools`")] + costs.text(None) + _after_table(before))
    schema_page.FILE.write_text(schema_page.text())
    manual_page.FILE.write_text(manual_page.text())
    for file, text in client_tools.sources().items():
        file.write_text(text)
    print(f"{PAGE}: {sum(1 for tool in TABLE.tools.values() if not tool.human)} tools")
    return 0


if __name__ == "__main__":
    sys.exit(main())
