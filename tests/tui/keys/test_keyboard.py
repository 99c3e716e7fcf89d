"""Esc and the key behind it are two keys, and a paste is text, in the parser and on a terminal."""

from __future__ import annotations

import itertools
import os
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from tests.payloads import PAYLOADS, text
from tests.terminals import Terminal
from tests.tui.plan import Plan
from tui_tasks.tui.keys import keyboard
from tui_tasks.tui.keys.keyboard import Keyboard, KeyParser

BEGIN, END = "\x1b[200~", "\x1b[201~"


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
        (["\x1b\r", "\x1b\n", "\x1b[13;3u", "\x1b[27;3;13~"], ["alt+enter"] * 4),
        (["\x1b[13;2u", "\x1b[27;2;13~"], ["shift+enter"] * 2),
    ],
)
def test_esc_and_a_key_are_two_keys_and_sequences_stay(typed, wanted):
    assert keys(*typed) == wanted


def test_what_begins_a_sequence_is_a_key_where_nothing_follows(monkeypatch):
    parser = KeyParser()
    assert list(parser.feed("\x1b[")) == []
    parser._timeout_time = 0.0
    assert [message.key for message in parser.tick()] == ["escape", "left_square_bracket"]


def parsed_keys(*texts, quiet=True):
    """What is made of texts that come one right behind another: keys by name, pastes as `Paste:` and text."""
    parser = KeyParser()
    found = [message for text in texts for message in (*parser.feed(text), *parser.tick())]
    if quiet:
        parser._fed_at = float("-inf")
        found += parser.tick()
    return [
        f"Paste:{message.text}" if isinstance(message, events.Paste) else message.key
        for message in found
        if isinstance(message, (events.Paste, events.Key))
    ]


@pytest.mark.parametrize("number", range(len(PAYLOADS)), ids=PAYLOADS)
@pytest.mark.parametrize(
    "behind", ["dddd", "\x1b]0;t\x07dddd", "\x1bPq", "\x1b", "\x1b[38;5;1;2;3;4;5;6;7;8;9;10;11;12;13;14"]
)
def test_a_paste_is_text_whatever_stands_in_it(number, behind):
    pasted = text(number, "x", 2_000) + behind
    assert parsed_keys(f"a{BEGIN}{pasted}{END}b") == ["a", "Paste:" + pasted.replace("\0", ""), "b"]


@given(pasted=st.text(st.sampled_from("\x1b[]201~Pd\x07\0a;")), size=st.integers(1, 9))
def test_a_paste_that_comes_in_parts_is_one_text(pasted, size):
    whole = f"a{BEGIN}{pasted}{END}b"
    parts = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert parsed_keys(*parts) == ["a", "Paste:" + pasted.replace("\0", ""), "b"]


@pytest.mark.parametrize(
    "pasted", [f"x{END}dddd", f"x{END}{END}dd", f"x{END}dd{BEGIN}y", END, f"{END}\x1b]0;t\x07dd{END}y\rq"]
)
def test_a_paste_that_holds_the_end_of_pastes_is_text_all_the_same(pasted):
    assert parsed_keys(f"{BEGIN}{pasted}{END}", "j") == [f"Paste:{pasted}", "j"]
    assert parsed_keys(*f"{BEGIN}{pasted}{END}", "j") == [f"Paste:{pasted}", "j"]


def test_what_is_typed_behind_a_paste_waits_for_a_moment_and_no_longer(monkeypatch):
    assert parsed_keys(f"{BEGIN}x{END}", "j", quiet=False) == []
    monkeypatch.setattr(keyboard, "_HELD", 0.0)
    assert parsed_keys(f"{BEGIN}x{END}j", quiet=False) == ["Paste:x", "j"]


def test_keys_behind_a_paste_are_keys_as_before():
    parser = KeyParser()
    for _ in range(2):
        assert not list(parser.feed(f"{BEGIN}x{END}"))
        parser._fed_at = float("-inf")
        (paste,) = parser.tick()
        assert paste.text == "x"
        assert [message.key for message in parser.feed("\x1b1\x1b[A")] == ["escape", "1", "up"]


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
        screen.wait_for(lambda: screen.shows("Run  ↑↓ Choose"))
        # Neither text nor a key: it ends nothing.
        screen.type_bytes(b"\xff")
        screen.type("\x1bq")
        assert screen.ends() == 0
    finally:
        screen.close()


def test_a_paste_is_one_text_however_late_the_rest_of_it_is_read(monkeypatch):
    """The thread that reads may stand still between two reads, and the terminal may have sent all of it long before."""
    first = f"{BEGIN}{'x' * (4096 - len(BEGIN) - len(END))}{END}"
    typed, typing = os.pipe()
    os.write(typing, f"{first}q{END}".encode())
    os.close(typing)
    late = itertools.count(step=0.1)
    monkeypatch.setattr(keyboard.time, "monotonic", lambda: next(late))
    said = []
    driver = SimpleNamespace(
        fileno=typed, exit_event=keyboard.Leaving(), _debug=False, _read=lambda: os.read(typed, 4096),
        process_message=said.append,
    )  # fmt: skip
    Keyboard.run_input_thread(driver)
    driver.exit_event.close()
    os.close(typed)
    assert [message for message in said if isinstance(message, events.Key)] == []
