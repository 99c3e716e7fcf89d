"""`help` and `schema`: the pages of `tui_tasks/docs`, the manual page of all commands, and the JSON Schemas."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from pathlib import Path
from typing import Final

PAGES: Final = Path(__file__).parents[1] / "docs"
SCHEMA: Final = PAGES / "schema.json"
"""The JSON Schemas of every request, reply and event of the channel, and of what commands print with `--json`."""
_INDENT: Final = "    "


def topics() -> list[str]:
    """Return the names of the pages, sorted."""
    return sorted(page.stem for page in PAGES.glob("*.md"))


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what a command takes."""
    if name == "schema":
        return
    command.add_argument(
        "topic", metavar="TOPIC", nargs="?", choices=topics(), help=f"one of {', '.join(topics())}; without: a list"
    )
    command.add_argument("--man", action="store_true", help="print all commands as a manual page, for `man -l -`")


def run(name: str, options: argparse.Namespace) -> int:
    """Print a page, the manual page, which pages there are, or the schemas. Exit status 0."""
    if name == "schema":
        sys.stdout.write(SCHEMA.read_text(encoding="utf-8"))
        return 0
    if options.man:
        from datetime import date

        from tui_tasks.cli.manual import manual

        print(manual(date.today()), end="")
        return 0
    if options.topic is None:
        print(listing())
        return 0
    text = page(options.topic)
    print(fitted(text, os.get_terminal_size(1).columns) if sys.stdout.isatty() else text, end="")
    return 0


def page(topic: str) -> str:
    """Return a page as Markdown."""
    return (PAGES / f"{topic}.md").read_text(encoding="utf-8")


def listing() -> str:
    """Return the list of topics, each with the subject of its page."""
    lines = [line for topic in topics() for line in _wrapped(f"{topic:19}{_about(page(topic))}", 80, "", " " * 19)]
    return "\n".join([*lines, "", "tui-tasks help TOPIC prints a page."])


def _about(text: str) -> str:
    """Return the first sentence below a page's title."""
    paragraph = text.split("\n\n")[1].replace("\n", " ")
    return paragraph.partition(". ")[0].removesuffix(".")


def fitted(text: str, width: int) -> str:
    """Return a page for a terminal of a width in cells: the cells of wider table rows are put below one another."""
    lines: list[str] = []
    table: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            table.append(line)
            continue
        if table:
            lines += table if max(map(len, table)) <= width else _stacked(table, width)
            table = []
        lines.append(line)
    return "\n".join(lines)


def _stacked(table: list[str], width: int) -> list[str]:
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    lines: list[str] = []
    for first, *others in rows:
        lines += _wrapped(f"- {first}", width, "", "  ")
        for name, cell in zip(head[1:], others, strict=True):
            if cell:
                told = f"{name}: {cell}" if len(head) > 2 else cell
                lines += _wrapped(told, width, _INDENT, _INDENT)
    return lines


def _wrapped(text: str, width: int, first: str, later: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )
