"""The left side of a review: its files, with their counts of lines and of comments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from tui_tasks.text.safe import cell_len, fit, fit_ends, one_to_one
from tui_tasks.text.times import count
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import GUTTER, RowDrawing, RowLook, gutter
from tui_tasks.tui.state.context import Context

if TYPE_CHECKING:
    from tui_tasks.work.comments import Comment
    from tui_tasks.work.git.reviewing import FileChange, Review

SUMMARY: Final = "summary"
"""The key of the first row: what there is to know of the work as a whole."""
_STYLES: Final = {"A": "$state-done", "D": "$state-failed", "?": "$state-overdue"}


class FileRow(msgspec.Struct, frozen=True):
    """A row at the left: a file, or with `change` None the summary. `at` is its place."""

    key: str
    at: int
    change: FileChange | None = None
    comments: int = 0

    @property
    def mark(self) -> str:
        """`M`, `A`, `D`, `R` or `C` as git has it; `?` of a new file that is in no commit."""
        if self.change is None:
            return " "
        return "?" if self.change.status == "A" and not self.change.is_in_head else self.change.status


def file_rows(review: Review, comments: Sequence[Comment]) -> list[FileRow]:
    """Return the rows of a review: the summary, then its files."""
    counts: dict[str, int] = {}
    for comment in comments:
        counts[comment.path] = counts.get(comment.path, 0) + 1
    rows = [FileRow(SUMMARY, -1, None, counts.get("", 0))]
    return rows + [FileRow(f"file:{one.path}", at, one, counts.get(one.name, 0)) for at, one in enumerate(review.files)]


R = TypeVar("R")


class ReviewList(VirtualList[R]):
    """The rows of one side. Only the side with the keys has a cursor; the other keeps its row on a fainter ground."""

    @override
    def look_of(self, row: R, number: int) -> RowLook:
        row_look = super().look_of(row, number)
        is_faint = row_look.cursor and not row_look.focused
        return replace(row_look, cursor=row_look.focused, faint=is_faint)


class FileRows(RowDrawing[FileRow]):
    """Draws the files with their counts of lines."""

    def __init__(self, context: Context, word: Callable[[], str]) -> None:
        """`word` returns what the row above the files says."""
        super().__init__(context)
        self._word = word

    def draw(self, row: FileRow, row_look: RowLook, line: int) -> Sequence[Part]:
        """`>  M src/keys.py  1 comment +31 −7`."""
        width, change, ascii_only = row_look.width, row.change, self.context.ascii_only
        talk = f"  {count(row.comments, 'comment')}" if row.comments else ""
        if change is None:
            room = max(1, width - GUTTER + 1 - cell_len(talk))
            return [
                row_look.cursor_sign(after=" " * (GUTTER - 2)),
                (fit(self._word(), room), "$muted"),
                (talk, "$changed"),
            ]
        counts = _counts(change)
        rest = "" if change.is_committed else " *"
        right = f"{rest}{talk} {counts} "
        room = max(4, width - GUTTER - cell_len(right))
        name = one_to_one(change.path)
        if change.old_path is not None and change.status in "RC":
            name = f"{name} ← {one_to_one(change.old_path)}"
        return [
            *gutter(row_look, (row.mark, _STYLES.get(row.mark, "")), is_new=False, ascii_only=ascii_only),
            (fit_ends(name, room, ascii_only=ascii_only), "bold" if row_look.faint else ""),
            (rest, "$state-overdue"),
            (talk, "$changed"),
            (f" {counts} ", "$muted"),
        ]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw nothing."""
        return ()


def file_summary(change: FileChange) -> str:
    """`M src/keys.py +31 -7`."""
    return f"{FileRow('', 0, change).mark} {one_to_one(change.path)} {_counts(change)}".rstrip()


def _counts(change: FileChange) -> str:
    """`+31 -7`; `binary` where lines cannot be counted."""
    if change.is_binary:
        return "binary"
    return " ".join(
        (
            *([f"+{change.insertions:,}"] if change.insertions else []),
            *([f"-{change.deletions:,}"] if change.deletions else []),
        )
    )
