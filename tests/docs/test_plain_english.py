"""Documents, help and tool descriptions are plain English, as far as a program can tell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.client import ROOT
from tests.docs.plain_english import MAX_WORDS, faults, prose
from tui_tasks.cli.command_parser import parser
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.tui.keys.action_table import ACTIONS
from tui_tasks.tui.screens.palette import legend

PAGES = [ROOT / "README.md", ROOT / ".github" / "CONTRIBUTING.md", *sorted((ROOT / "tui_tasks" / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_in_short_sentences_without_private_phrases(page: Path) -> None:
    assert faults(prose(page.read_text())) == []


def helps(made: argparse.ArgumentParser) -> Iterator[str]:
    """The texts of a parser and of its commands, without examples."""
    yield from (text for text in (made.description, made.epilog) if text and "tui-tasks " not in text)
    for action in made._actions:
        if action.help and action.help != argparse.SUPPRESS:
            yield action.help
        if isinstance(action, argparse._SubParsersAction):
            yield from (choice.help for choice in action._choices_actions if choice.help)
            for child in action.choices.values():
                yield from helps(child)


def test_help_is_in_short_sentences_without_private_phrases() -> None:
    texts = set(helps(parser(whole=True)))
    assert len(texts) > 150
    assert [fault for text in sorted(texts) for fault in faults(text)] == []


def descriptions(part: Any) -> Iterator[str]:
    """The descriptions within a JSON Schema."""
    if isinstance(part, dict):
        if isinstance(part.get("description"), str):
            yield part["description"]
        for value in part.values():
            yield from descriptions(value)
    elif isinstance(part, list):
        for value in part:
            yield from descriptions(value)


def test_tool_descriptions_are_in_short_sentences_without_private_phrases() -> None:
    texts = {tool.description for tool in TABLE.tools.values()}
    texts |= {text for tool in TABLE.tools.values() for text in descriptions(schema(tool.arguments))}
    assert len(texts) > 100
    assert [fault for text in sorted(texts) for fault in faults(text)] == []


def test_what_the_keys_do_is_in_short_sentences_without_private_phrases() -> None:
    texts = [action.title for action in ACTIONS.values()] + [action.short for action in ACTIONS.values()]
    texts += [line.words for line in legend(ascii_only=False)]
    assert [fault for text in texts for fault in faults(text)] == []


def test_a_long_sentence_and_a_private_phrase_are_found() -> None:
    assert faults("It is short. So is this.") == []
    assert faults(prose("A [link](so-that.md) and `what of` it.\n\n    so that\n")) == []
    assert len(faults(prose("    code\n\nIt is told.\n\n```sh\ncode\n```\n\nIt goes on.\n"))) == 2
    assert len(faults("Word " * MAX_WORDS + "word.")) == 1
    assert faults("Done; what of it is told elsewhere.") == ["'what of': what of it is told elsewhere."]
