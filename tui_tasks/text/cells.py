"""Widths of characters in cells, as terminals have them: Rich counts no cell for a spacing mark, as in Hindi and
Bengali. With these, a row or a question could run over its end, and hide there what a person decides about.

Import it before anything is measured: it corrects the table that Rich and Textual use.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from rich import cells

try:
    from rich._unicode_data import load
except ImportError:  # before Rich 14.3
    from rich._cell_widths import CELL_WIDTHS as _widths  # type: ignore[import-not-found]
else:
    _widths = load().widths

cell_len = cells.cell_len
get_character_cell_size = cells.get_character_cell_size


def _without_spacing_marks(first: int, last: int, width: int) -> Iterator[tuple[int, int, int]]:
    """Yield a range of the table in parts that have no spacing mark; what is in no range is one cell wide."""
    begin = first
    for code in range(first, last + 1):
        if unicodedata.category(chr(code)) == "Mc":
            if begin < code:
                yield begin, code - 1, width
            begin = code + 1
    if begin <= last:
        yield begin, last, width


_widths[:] = [part for entry in _widths for part in ([entry] if entry[2] else _without_spacing_marks(*entry))]
cells.get_character_cell_size.cache_clear()
cells.cached_cell_len.cache_clear()
