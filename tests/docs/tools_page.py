"""The page `tools`, made from the tool table: `python -m tests.docs.tools_page` writes it anew."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import Any, Final

from tests.contract.client import ROOT
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.tool_table import TABLE, Tool
from tui_tasks.mcp_server import tool_listing as costs

PAGE: Final = ROOT / "tui_tasks" / "docs" / "tools.md"
BILL: Final = ROOT / "tui_tasks" / "docs" / "mcp.md"
WIDTH: Final = 80
_HEAD: Final = """\
# Tools

Every tool with its arguments.

Required arguments are bold, arrays have `[]`. `reads` tools write nothing, `waits` tools
may reply late. `control:hello` with `tools`, and `tui-tasks schema`, have types, defaults
and descriptions.
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
_ACTION: Final = re.compile(r"^(?P<action>[a-z_]+)\((?P<taken>[^)]*)\): (?P<text>.*)$", re.MULTILINE)
_OF_THE_CALLER: Final = {"get_my_tasks": ", only yours"}


def page() -> str:
    """The whole page."""
    families: dict[str, list[Tool]] = {}
    for tool in TABLE.tools.values():
        if not tool.human:
            families.setdefault(_FAMILIES.get(tool.name.partition(":")[0], "tasks"), []).append(tool)
    parts = [_HEAD]
    for name, found in families.items():
        parts += [f"\n## {name}\n\n", *(_entry(tool) for tool in found if tool.same_as is None)]
        if older := [tool for tool in found if tool.same_as]:
            parts += ["\n### Older names of actions\n\n", _wrapped(f"{', '.join(map(_older_name, older))}.", "")]
    return "".join(parts)


def _older_name(tool: Tool) -> str:
    assert tool.same_as is not None
    action, only = tool.same_as[1], _OF_THE_CALLER.get(tool.name, "")
    return f"`{tool.name}`" if tool.name == action else f"`{tool.name}` (`{action}`{only})"


def _entry(tool: Tool) -> str:
    """Return a tool with its arguments and its first sentence, and its actions likewise."""
    traits = ", ".join(word for word, holds in (("reads", not tool.ever_writes), ("waits", tool.waits)) if holds)
    arguments = schema(tool.arguments)
    required = arguments.get("required", ())
    actions = list(_ACTION.finditer(tool.description))
    # The line of an action names the arguments that it takes.
    names = ["action"] if actions else list(arguments["properties"])
    shown = ", ".join(_argument(name, arguments["properties"][name], name in required) for name in names)
    marks = f" ({traits})" if traits else ""
    line = f"- `{tool.name}`{f' {shown}' if shown else ''}{marks}: {_first_sentence(tool.description)}"
    return "".join([_wrapped(line, "  "), *map(_action, actions)])


def _argument(name: str, taken: dict[str, Any], required: bool) -> str:
    shown = f"`{name}[]`" if taken.get("type") == "array" else f"`{name}`"
    return f"**{shown}**" if required else shown


def _action(found: re.Match[str]) -> str:
    """Return an action with its arguments, which the description has as `a, [b]`."""
    required, _, optional = found["taken"].partition("[")
    bold = [f"**`{name}`**" for name in re.findall(r"\w+", required)]
    shown = ", ".join([*bold, *(f"`{name}`" for name in re.findall(r"\w+", optional))])
    return _wrapped(f"  - `{found['action']}` {shown}: {_first_sentence(found['text'])}", "    ")


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def _wrapped(text: str, indent: str) -> str:
    filled = textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return filled + "\n"


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
