"""`help` and `schema`: the pages of `tui_tasks/docs`, the manual page, the client for Bash, and the JSON Schemas."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Final

from tui_tasks.cli.command_table import COMMANDS

PAGES: Final = Path(__file__).parents[1] / "docs"
SCHEMA: Final = PAGES / "schema.json"
"""The JSON Schemas of every request, reply and event of the channel, and of what commands print with `--json`."""
MANUAL: Final = PAGES / "tui-tasks.1"
"""All commands as a manual page."""
BASH: Final = Path(__file__).parents[1] / "client" / "client.sh"
"""A client of the channel for Bash."""
_COMMANDS: Final = "commands"
# The score of a page whose first sentence has the word: more than that of one that mentions it.
_ABOUT_IT: Final = 25
_LINK: Final = re.compile(r"\[([^\]]*)\]\(([a-z-]+)\.md[^)]*\)")
"""A link to a page, or to a heading of it."""
GROUPS: Final = {
    "start here": ("first-day", "index"),
    "guides": (
        "supervising",
        "work",
        "connecting",
        "scheduling",
        "sharing",
        "scale",
        "phone",
        "mcp",
        "scripts",
        "isolation",
    ),
    "reference": (
        "protocol",
        "tools",
        "events-and-errors",
        "configuration",
        "formats",
        "agent-programs",
        "security",
        "performance",
        "platforms",
        "architecture",
        "changelog",
    ),
}
"""The pages by what their readers want."""
OTHER_NAMES: Final = {
    "agents": "connecting",
    "channel": "protocol",
    "clients": "scripts",
    "import-and-export": "formats",
    "python": "scripts",
    "shell": "scripts",
}
"""Names of pages besides their own: of pages that have moved, and of what a page is about."""


def topics() -> list[str]:
    """Return the names of the pages, by group."""
    return [topic for group in GROUPS.values() for topic in group]


def _best_topic(words: list[str]) -> str:
    """Return the topic of a name, of a near one, or of words that a page is about; empty if none stands out."""
    text = " ".join(words).strip().lower()
    name, names = re.sub(r"[\s_]+", "-", text), [_COMMANDS, *topics()]
    name = OTHER_NAMES.get(name, name)
    if name in names:
        return name
    if near := difflib.get_close_matches(name, names, 1, 0.75):
        return near[0]
    scores = sorted(((_score(topic, text), topic) for topic in topics()), reverse=True)
    (best, topic), (second, _) = scores[:2]
    # A command that no page is about, but only mentions, has its own help.
    return topic if best > second and (best >= _ABOUT_IT or text not in COMMANDS) else ""


def _score(topic: str, text: str) -> float:
    """Return how much a page is about a text: most by its name, then headings, first sentence, and mentions."""
    whole = page(topic).lower()
    headings = "\n".join(re.findall(r"^#+ (.*)", whole, re.MULTILINE))
    word = re.compile(rf"\b{re.escape(text.removesuffix('s'))}s?\b")
    mentions = min(len(word.findall(whole)), 20)
    # The reference mentions everything.
    weight = 0.5 if topic in GROUPS["reference"] else 1
    return (
        100 * bool(word.search(topic))
        + 50 * bool(word.search(headings))
        + _ABOUT_IT * bool(word.search(_about(whole)))
        + weight * mentions
    )


def _nearest(words: list[str]) -> list[str]:
    text = "-".join(words).lower()
    return sorted(topics(), key=lambda topic: -difflib.SequenceMatcher(None, text, topic).ratio())[:3]


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what a command takes."""
    if name == "schema":
        return
    command.add_argument(
        "topic",
        metavar="TOPIC",
        nargs="*",
        help="the name of a page, or a word that it is about; without: the list of pages",
    )
    command.add_argument("--man", action="store_true", help="print all commands as a manual page, for `man -l -`")
    command.add_argument("--bash", action="store_true", help="print a client of the channel for Bash, for `source`")


def run(name: str, options: argparse.Namespace) -> int:
    """Print a page, a file of the package, the list of pages, or the schemas. Return exit status 0."""
    file = SCHEMA if name == "schema" else MANUAL if options.man else BASH if options.bash else None
    if file is not None:
        sys.stdout.write(file.read_text(encoding="utf-8"))
        return 0
    if not options.topic:
        print(listing())
        return 0
    topic = _best_topic(options.topic)
    if not topic and options.topic[0] in COMMANDS:
        from tui_tasks.cli.command_parser import parser

        parser(options.topic[0]).parse_args([options.topic[0], "--help"])
    if not topic:
        return _refuse(options.topic)
    if topic == _COMMANDS:
        print(commands())
        return 0
    text = page(topic)
    if sys.stdout.isatty():
        _show(text)
    else:
        sys.stdout.write(text)
    return 0


def _refuse(words: list[str]) -> int:
    from tui_tasks.text.safe import safe_line

    near = ", ".join(_nearest(words))
    print(
        f"tui-tasks: no page {safe_line(' '.join(words), 40)}; near are {near}. `tui-tasks help` lists all",
        file=sys.stderr,
    )
    return 2


def _show(text: str) -> None:
    """Print a page formatted for the terminal, through the pager that the person uses."""
    from rich.console import Console
    from rich.markdown import Markdown

    # As git does: keep colours, and end at once where all fits on the screen.
    os.environ.setdefault("LESS", "FRX")
    console = Console()
    with console.pager(styles=True):
        console.print(Markdown(for_terminal(text), hyperlinks=False))


def for_terminal(text: str) -> str:
    """Replace the links of a page to other pages by their words, with the page's topic unless the words name it."""

    def shown(link: re.Match[str]) -> str:
        words, topic = link.groups()
        return words if words.lower().replace(" ", "-") == topic else f"{words} (`help {topic}`)"

    return _LINK.sub(shown, text)


def commands() -> str:
    """Return the list of all commands, by group."""
    from tui_tasks.cli.command_table import HEADINGS

    lines: list[str] = []
    for command in COMMANDS.values():
        if command.name in HEADINGS:
            lines += ["", f"{HEADINGS[command.name]}:"]
        lines += _wrapped(f"  {command.name:16} {command.help}", 80, "", " " * 19)
    return "\n".join([*lines[1:], "", "tui-tasks COMMAND --help shows one command."])


def page(topic: str) -> str:
    """Return a page as Markdown."""
    return (PAGES / f"{topic}.md").read_text(encoding="utf-8")


def listing() -> str:
    """Return the list of topics, each with the subject of its page."""
    lines = _wrapped(f"  {_COMMANDS:19}All commands of the shell, by group", 80, "", " " * 21)
    for group, names in GROUPS.items():
        lines += ["", f"{group}:"]
        for name in names:
            lines += _wrapped(f"  {name:19}{_about(page(name))}", 80, "", " " * 21)
    return "\n".join([*lines, "", "tui-tasks help TOPIC prints a page."])


def _about(text: str) -> str:
    """Return the first sentence below a page's title; the headings of a page that begins with none."""
    begins = text.split("\n\n")[1]
    if begins.startswith(("#", " ")):
        first, *others = re.findall(r"^## (.*)", text, re.MULTILINE)
        return "; ".join([first, *(f"{other[0].lower()}{other[1:]}" for other in others)])
    paragraph = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", begins.replace("\n", " "))
    return paragraph.partition(". ")[0].removesuffix(".")


def _wrapped(text: str, width: int, first: str, later: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )
