"""The keys of a review: those at the foot, in the order of use, and those that move in its two lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.text.times import count
from tui_tasks.tui.rows.row_list import RowMoves
from tui_tasks.tui.state.context import Hint

if TYPE_CHECKING:
    from tui_tasks.tui.work.review_screen import ReviewScreen


def review_hints(screen: ReviewScreen) -> list[Hint]:
    """Return the hints for the work that is reviewed."""
    hint_of, review, comments = screen.hint_of, screen.review, len(screen.comments)
    has_conflicts = review is not None and bool(review.conflicts)
    send = f"Send {count(comments, 'comment')}" if comments else "Hand back" if has_conflicts else "Send back"
    base = review.base if review is not None else ""
    accept = [hint_of("work_accept", f"Accept into {base}" if base and not screen.small else "Accept")]
    # In the order of use: what does not merge is handed back, what has comments is sent.
    first = [hint_of("work_comment"), hint_of("work_send", send)]
    if has_conflicts:
        first = first[::-1]
    elif comments:
        first = [*first[::-1], *accept]
    else:
        first = [*accept, *first]
    hints = [*first, *map(hint_of, ("work_discard", "work_pull_request", "work_terminal"))]
    hints += [hint_of("work_next", "Other work")] if screen.facts.places > 1 else []
    there = hint_of("work_diff", "Files" if screen.is_on_diff else "Diff")
    return [there, *hints, hint_of("back")] if screen.small else [*hints, there, hint_of("back"), hint_of("help")]


class SideMoves(RowMoves):
    """Moves in the files or the diff, whichever has the focus; pages are always those of the diff."""

    def __init__(self, screen: ReviewScreen) -> None:
        super().__init__(lambda: screen.diff if screen.is_on_diff else screen.files)
        self._screen = screen

    def do_page_down(self) -> None:
        """A page of the diff, wherever the cursor is."""
        self._screen.diff.move_page(1)

    def do_page_up(self) -> None:
        """A page back."""
        self._screen.diff.move_page(-1)
