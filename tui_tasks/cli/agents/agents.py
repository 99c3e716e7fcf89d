"""`agents`: who works (docs: protocol, section 10)."""

from __future__ import annotations

import argparse
from typing import Any, Final

from tui_tasks import clock
from tui_tasks.cli.options import existing, open_store
from tui_tasks.dialects.json_shapes import agent_shapes
from tui_tasks.text import json_text
from tui_tasks.text.safe import safe_line

_WORDS: Final = 60


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument("--all", action="store_true", help="those that ended over a day ago as well")


def run(name: str, options: argparse.Namespace) -> int:
    """Print a line, or a JSON object, for each agent; return the exit status."""
    existing(options)
    with open_store(options) as store:
        if not options.read_only:
            from tui_tasks.hooks.presence import departures

            departures.end_departed(store, clock.now())
        found = agent_shapes.agents(store.db, clock.now(), everyone=options.all)
    if options.json:
        print(json_text.shown(found, indent=2))
        return 0
    for agent in found:
        print(_line(agent))
    if not found:
        print("No agents.")
    return 0


def _line(agent: dict[str, Any]) -> str:
    state = f"waiting ({agent['waiting_for']})" if agent["waiting_for"] else agent["state"]
    at = agent["tool"] or agent["last_message"] or agent["last_prompt"] or ""
    words = [agent["agent"], state, agent["project"] or agent["cwd"] or "", at]
    return "  ".join(safe_line(word, _WORDS) for word in words if word)
