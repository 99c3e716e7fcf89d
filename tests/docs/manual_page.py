"""The manual page of the program, made from its parsers: `python -m tests.docs.tools_page` writes it anew."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from argparse_manpage.manpage import Manpage

from tests.contract.client import ROOT
from tui_tasks import __version__
from tui_tasks.cli.command_parser import parser
from tui_tasks.cli.options import SHARED

FILE: Final = ROOT / "tui_tasks" / "docs" / "tui-tasks.1"
# The usage is one line; the program that shows the page wraps it.
_WIDTH: Final = 100_000
# The sections after those of the options and commands.
_SECTIONS: Final = {
    "exit status": """\
.TP
.B 0
It is done.
.TP
.B 1
Refused; standard error says why, and nothing was written.
.TP
.B 2
Wrong usage.
.TP
.B 130
Interrupted.
.TP
.B 128 + N
The screen was ended by signal N.""",
    "environment": """\
.TP
.B TUI_TASKS_DB
The database, where no \\-\\-db names one.
.TP
.B TUI_TASKS_CONFIG
The configuration file.
.TP
.B TUI_TASKS_PROJECT
The project, where no \\-\\-project names one.""",
    "see also": "The pages that \\fBtui\\-tasks help\\fR lists and prints.",
}


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text


def text() -> str:
    """The manual page as roff, for `man -l`. It has no date, as it is of a version."""
    made = parser(whole=True)
    for each, depth in _parsers(made):
        each.formatter_class = _Formatter
        if depth:
            _shorten(each)
    page = Manpage(made, format="single-commands-section")
    page.description = made.description
    page.date, page.source, page.manual = "", f"tui-tasks {__version__}", "tui-tasks"
    for heading, content in _SECTIONS.items():
        page.add_section(heading, "=", content)
    return str(page)


def _parsers(made: argparse.ArgumentParser, depth: int = 0) -> Iterator[tuple[argparse.ArgumentParser, int]]:
    yield made, depth
    for action in made._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                choice.help = None  # the description has the same text
            for child in action.choices.values():
                yield from _parsers(child, depth + 1)


def _shorten(command: argparse.ArgumentParser) -> None:
    """Shorten the help of a command: its shared options are named only, as the page describes them at its top."""
    shared = [
        action for action in command._actions if action.dest.replace("_", "-") in SHARED and action.option_strings
    ]
    for action in shared:
        action.help = argparse.SUPPRESS
    taken = ", ".join(action.option_strings[0] for action in shared)
    # An empty line begins a paragraph; a line that begins with a space is not joined to the one before.
    lines = (command.epilog or "").splitlines()
    examples = "\n".join(f" {line}" for line in lines) if len(lines) > 1 else command.epilog
    parts = [command.description, taken and f"Of the options above it has {taken}.", examples]
    command.description = "\n\n".join(part for part in parts if part)
