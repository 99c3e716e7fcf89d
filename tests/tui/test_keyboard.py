"""Esc and the key behind it are two keys, in the parser and on a terminal."""

from __future__ import annotations

import sys

import pytest
from textual import events

from tests.terminals import Terminal
from tests.tui.plan import Plan
from tui_tasks.tui.keyboard import KeyParser


def keys(*texts):
    parser = KeyParser()
    return [message.key for text in texts for message in parser.feed(text) if isinstance(message, events.Key)]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["\x1b1"], ["escape", "1"]),
        (["\x1b", "1"], ["escape", "1"]),
        (["\x1b?"], ["escape", "question_mark"]),
        (["\x1b\x1b2j"], ["escape", "escape", "2", "j"]),
        (["\x1bG", "\x1b/jwt\r"], ["escape", "G", "escape", "slash", "j", "w", "t", "enter"]),
        (["\x1b[A\x1bOB"], ["up", "down"]),
        (["\x1b", "[A"], ["up"]),
        (["\x1b[27u1"], ["escape", "1"]),
        (["\x1bb\x1bf"], ["ctrl+left", "ctrl+right"]),
    ],
)
def test_esc_and_a_key_are_two_keys_and_sequences_stay(typed, wanted):
    assert keys(*typed) == wanted


def test_what_begins_a_sequence_is_a_key_where_nothing_follows(monkeypatch):
    parser = KeyParser()
    assert list(parser.feed("\x1b[")) == []
    parser._timeout_time = 0.0
    assert [message.key for message in parser.tick()] == ["escape", "left_square_bracket"]


def test_on_a_terminal_esc_and_what_is_typed_at_once_behind_it_are_taken_in_order(tmp_path):
    plan = Plan(tmp_path / "auth.db")
    command = [sys.executable, "-m", "tui_tasks", "--db", plan.path, "--no-scheduler"]
    screen = Terminal(
        command, lines=24, columns=80, piped=False, environment={"TUI_TASKS_CONFIG": str(tmp_path / "config.toml")}
    )
    try:
        screen.wait_for(lambda: screen.shows("Ship auth flow"))
        screen.type("23")
        screen.wait_for(lambda: screen.shows("[3 Log]"))
        screen.type("\x1b21")
        screen.wait_for(lambda: screen.shows("[1 List]"))
        screen.type("a\x1b4")
        screen.wait_for(lambda: screen.shows("[4 Schedule]"))
        screen.type("\x1b?")
        screen.wait_for(lambda: screen.shows("every key"))
        # Neither text nor a key: it ends nothing.
        screen.type_bytes(b"\xff")
        screen.type("\x1bq")
        assert screen.ends() == 0
    finally:
        screen.close()
