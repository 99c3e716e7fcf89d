"""What the items and errors of Codex's app server tell: which tool a call is of, and why it failed."""

from __future__ import annotations

import msgspec

from tui_tasks.agent_runs.driver import Message
from tui_tasks.hooks.programs.fields import table, tables, text


def tool_of(item: Message) -> tuple[str, str] | None:
    """The name of the tool that an item is a call of, as its hooks tell it, and with what; None where it is none."""
    kind = text(item, "type")
    if kind == "commandExecution":
        actions = list(tables(item, "commandActions"))
        own = text(actions[0], "command") if len(actions) == 1 else None
        return "Bash", own or text(item, "command") or ""
    if kind == "fileChange":
        return "apply_patch", ", ".join(text(one, "path") or "?" for one in tables(item, "changes"))
    if kind == "mcpToolCall":
        return f"mcp__{text(item, 'server')}__{text(item, 'tool')}", ""
    if kind == "webSearch":
        return "web_search", text(item, "query") or ""
    if kind in ("dynamicToolCall", "collabAgentToolCall"):
        return text(item, "tool") or kind, text(item, "prompt") or ""
    return None


def error_of(item: Message) -> str | None:
    """Why a tool call failed; None where it did not."""
    status = text(item, "status")
    if status == "declined":
        return "it was denied"
    code = item.get("exitCode")
    if status != "failed" and (not isinstance(code, int) or code == 0):
        return None
    output = text(item, "aggregatedOutput") or text(table(item, "error"), "message") or ""
    told = [line.strip() for line in output.splitlines() if line.strip()][-1:]
    return ": ".join([*([f"exit {code}"] if isinstance(code, int) else []), *told])[:200] or "it failed"


def readable(message: str | None) -> str | None:
    """An error's message; of one that is the JSON of the model's service, the message in that."""
    try:
        inner = msgspec.json.decode(message or "")
    except (msgspec.DecodeError, RecursionError):
        return message
    return text(table(inner, "error"), "message") or text(inner, "message") or message
