"""Text broken into lines."""

from __future__ import annotations

import pytest
import rich.cells
from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.tui.format import cell_len, safe_text
from tui_tasks.tui.lines import wrapped


@given(st.text(st.sampled_from("ab  数é\u0301👩\t\x1b\n")), st.integers(2, 12))
def test_no_line_is_wider_than_there_is_room_and_nothing_but_spaces_is_lost(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(safe_text(text).split())


@pytest.mark.parametrize("unit", ["数", "数 ", "\x1b[31m数[@click=app.quit]"])
def test_each_character_of_a_line_without_end_is_looked_at_a_few_times_at_most(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def size(char: str, measure: object = rich.cells.get_character_cell_size) -> int:
        nonlocal looks
        looks += 1
        return measure(char)

    monkeypatch.setattr(rich.cells, "get_character_cell_size", size)
    text = unit * (100_000 // len(unit))
    assert len(wrapped(text, 40, 200_000)) > 1_000
    assert looks < 3 * len(text)
