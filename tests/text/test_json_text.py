"""JSON as it is printed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.text import safe

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab\x1b\n\0é", max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_encoded_json_is_indented_as_its_value_is(value: Any) -> None:
    assert "".join(safe.indented(msgspec.json.encode(value))) == safe.dumps(value, indent=2)


def test_long_json_comes_in_pieces_that_end_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe, "_PIECE", 30)
    value = [{"name": "数" * 20, "n": n} for n in range(20)]
    pieces = list(safe.indented(msgspec.json.encode(value)))
    assert len(pieces) > 20
    assert all(piece.endswith("\n") for piece in pieces[:-1])
    assert "".join(pieces) == safe.dumps(value, indent=2)
