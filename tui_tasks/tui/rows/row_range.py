"""A range of rows, which a mark, a move and the key of all marks mark."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.text.times import count

if TYPE_CHECKING:
    from tui_tasks.tui.rows.row_list import VirtualList
    from tui_tasks.tui.state.context import Context

_PAGE: Final = 1_000
_MOST: Final = 10_000


def mark_one(context: Context, rows: VirtualList[Any], noun: str) -> None:
    """Mark the row under the cursor, or take its mark away; say how many are marked, and how to mark a range."""
    rows.mark_here()
    key_of, marked = context.keymap.key_of, len(rows.marks)
    if not marked:
        context.say(f"No {noun} is marked.")
        return
    ends = len(rows.range_ends)
    then = f" Move, then {key_of('mark_all')} marks up to there." if ends == 1 else ""
    then = f" {key_of('mark_all')} marks all between them." if ends > 1 else then
    context.say(f"{count(marked, noun)} marked.{then} {key_of('back')} unmarks.")


def mark_range(
    context: Context, rows: VirtualList[Any], noun: str, *, takes: Callable[[Any], bool] = lambda row: True
) -> bool:
    """Mark the rows from the one that was marked last by itself to the cursor's, and say so; return False if none was
    but the cursor's. Where that row has gone, nothing is marked. `takes` returns whether a row can be marked.
    """
    source, here = rows.source, rows.row
    begins = next((end for end in rows.range_ends if end != rows.cursor), None)
    if source is None or here is None or begins is None:
        return False
    there = source.find([begins]).get(begins)
    if there is None:
        rows.range_ends = ()
        key = context.keymap.key_of("mark_all")
        context.say(f"The {noun} from which the range began is gone. Nothing was marked; {key} again marks all.")
        return True
    first, end = sorted((here, there), key=source.order)
    found, last = [first], source.order(end)
    while source.order(found[-1]) < last and len(found) < _MOST:
        more = list(takewhile(lambda row: source.order(row) <= last, source.after(found[-1], _PAGE)))
        found += more
        if not more:
            break
    rows.mark([source.key(row) for row in found if takes(row)], on=True)
    context.say(f"{count(len(rows.marks), noun)} marked. {context.keymap.key_of('mark_all')} again marks all.")
    return True
