"""The page `tools`, made from the tool table: `python -m tests.docs.tools_page` writes it anew."""

from __future__ import annotations

import sys
import textwrap
from typing import Any, Final

import msgspec

from tests.contract.client import ROOT
from tui_tasks.dialects.base import TABLE, Tool
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.mcp_server import tools as costs

PAGE: Final = ROOT / "tui_tasks" / "docs" / "tools.md"
BILL: Final = ROOT / "tui_tasks" / "docs" / "mcp.md"
WIDTH: Final = 80
_HEAD: Final = """\
# Tools

Every tool with its arguments and result.
`python -m tests.docs.tools_page` makes this page from the tool table.

A tool marked `reads` writes nothing; one marked `waits` may reply late. Arguments in
bold are required. They are strings, or have the type or default in parentheses;
`tags[]` is an array. An argument is described at its first use in a family.
[MCP](mcp.md) has the cost of the tools in tokens.
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
_OF_THE_CALLER: Final = {"get_my_tasks": ", only the caller's"}


def page() -> str:
    """The whole page."""
    families: dict[str, list[Tool]] = {}
    for tool in TABLE.tools.values():
        if not tool.human:
            families.setdefault(_FAMILIES.get(tool.name.partition(":")[0], "tasks"), []).append(tool)
    parts = [_HEAD]
    for name, found in families.items():
        seen: set[str] = set()
        parts += [f"\n## {name}\n", *(_tool(tool, seen) for tool in found if tool.same_as is None)]
        if older := [tool for tool in found if tool.same_as]:
            parts += ["\n### Older names\n\n| tool | as the action |\n| --- | --- |\n", *map(_older_name, older)]
    return "".join(parts)


def _older_name(tool: Tool) -> str:
    assert tool.same_as is not None
    return f"| `{tool.name}` | `{tool.same_as[1]}`{_OF_THE_CALLER.get(tool.name, '')} |\n"


def _tool(tool: Tool, seen: set[str]) -> str:
    traits = ", ".join(word for word, holds in (("reads", not tool.ever_writes), ("waits", tool.waits)) if holds)
    described = "\n\n".join(_wrapped(paragraph) for paragraph in tool.description.splitlines())
    lines = [f"\n### {tool.name}{f' ({traits})' if traits else ''}\n\n{described}\n"]
    arguments = schema(tool.arguments)
    properties = arguments["properties"]
    if properties:
        lines.append("\n")
    required = arguments.get("required", ())
    plain = ""  # the arguments before the next one that has more than a name
    for name, taken in properties.items():
        argument = _argument(name, taken, name in required)
        text = _told(taken)
        if text and f"{name}: {text}" not in seen:
            seen.add(f"{name}: {text}")
            lines += [_item(plain), _item(f"{argument}: {text}")]
            plain = ""
        else:
            plain = f"{plain}, {argument}" if plain else argument
    return "".join([*lines, _item(plain)])


def _argument(name: str, taken: dict[str, Any], required: bool) -> str:
    """Return an argument with its type and default: `tags[]`, `limit` (100)."""
    array = taken.get("type") == "array"
    shown = f"`{name}[]`" if array else f"`{name}`"
    kind, default = _kind(taken["items"] if array else taken).removeprefix("string"), _default(taken)
    if default:  # tells the type, except for one of some words
        kind = f"{kind}, default {default}" if "enum" in taken else default
    return f"{f'**{shown}**' if required else shown}{f' ({kind})' if kind else ''}"


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
        return f"`{'|'.join(taken['enum'])}`"
    if taken.get("type") == "object" and taken.get("properties"):
        return ", ".join(f"`{name}`" for name in taken["properties"])
    return str(taken.get("type", "any value"))


def _default(taken: dict[str, Any]) -> str:
    default = taken.get("default")
    return "" if default in (None, "", [], {}) else msgspec.json.encode(default).decode()


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
