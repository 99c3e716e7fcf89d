"""The rows of a review: its files at the left, and the lines of the one under the cursor at the right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len, fit, fit_ends, one_to_one
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.work import diff_lines
from tui_tasks.tui.work.comments import Comment
from tui_tasks.tui.work.diff_lines import Colours, DiffLine

if TYPE_CHECKING:
    from tui_tasks.work.git_review import FileChange, Review

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
        """`M`, `A`, `D`, `R` or `C` as git has it; `?` of a new file that is not committed."""
        if self.change is None:
            return " "
        return "?" if self.change.status == "A" and not self.change.is_committed else self.change.status


def file_rows(review: Review, comments: Sequence[Comment]) -> list[FileRow]:
    """Return the rows of a review: the summary, then its files."""
    counts: dict[str, int] = {}
    for comment in comments:
        counts[comment.path] = counts.get(comment.path, 0) + 1
    rows = [FileRow(SUMMARY, -1)]
    return rows + [FileRow(f"file:{one.path}", at, one, counts.get(one.name, 0)) for at, one in enumerate(review.files)]


def shown_path(path: str) -> str:
    """Return a path as one line in which nothing is hidden."""
    return one_to_one(path)


class FileRows(RowDrawing[FileRow]):
    """Draws the files with their counts of lines."""

    def __init__(self, context: Context, word: Callable[[], str]) -> None:
        """`word` returns what the row of the summary says."""
        super().__init__(context)
        self._word = word

    def draw(self, row: FileRow, look_: RowLook, line: int) -> Sequence[Part]:
        """` >M src/keys.py   +31 −7`."""
        cursor = sign("cursor") if look_.cursor else " "
        head: list[Part] = [(f" {cursor}", "$primary bold" if look_.focused else "$muted")]
        width, change = look_.width, row.change
        if change is None:
            return [*head, (fit(self._word(), max(1, width - 2)), "$muted")]
        counts = _counts(change)
        rest = "" if change.is_committed else " *"
        talk = f" {row.comments}c" if row.comments else ""
        right = f"{rest}{talk} {counts} "
        room = max(4, width - 4 - cell_len(right))
        name = shown_path(change.path)
        if change.old_path is not None and change.status in "RC":
            name = f"{name} ← {shown_path(change.old_path)}"
        return [
            *head,
            (f"{row.mark} ", _STYLES.get(row.mark, "")),
            (fit_ends(name, room, ascii_only=self.context.ascii_only), ""),
            (rest, "$state-overdue"),
            (talk, "$changed"),
            (f" {counts} ", "$muted"),
        ]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw nothing."""
        return ()


def _counts(change: FileChange) -> str:
    """`+31 -7`; `binary` where lines cannot be counted."""
    if change.is_binary:
        return "binary"
    return " ".join(
        (
            *([f"+{change.insertions}"] if change.insertions else []),
            *([f"-{change.deletions}"] if change.deletions else []),
        )
    )


class SideRow(msgspec.Struct, frozen=True):
    """A row at the right.

    Attributes:
        key: its key; `at`: its place.
        parts: what it shows.
        line: the line of the diff that it belongs to; -1: none.
        comment: the index of the comment that it shows; -1: none.
    """

    key: str
    at: int
    parts: tuple[Part, ...]
    line: int = -1
    comment: int = -1


class SideRows(RowDrawing[SideRow]):
    """Draws the rows at the right, which are made for the width already."""

    def draw(self, row: SideRow, look_: RowLook, line: int) -> Sequence[Part]:
        """Return the parts; the cursor is marked while the keys go there."""
        if not look_.focused or not row.parts or not row.parts[0][0].startswith(" "):
            return row.parts
        (text, style), *rest = row.parts
        return [(sign("cursor"), "$primary bold"), (text[1:], style), *rest]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw nothing."""
        return ()


def text_rows(lines: Sequence[Drawn]) -> list[SideRow]:
    """Return lines of text as rows."""
    return [SideRow(f"text:{at}", at, tuple(parts)) for at, parts in enumerate(lines)]


def diff_rows(
    lines: Sequence[DiffLine], colours: Colours, comments: Mapping[int, Comment], path: str, width: int
) -> list[SideRow]:
    """Return the rows of a diff, `width` cells wide, with each comment below its line; `comments`: by their indexes."""
    digits = diff_lines.digits_of(lines, width)
    own = [(number, comment) for number, comment in comments.items() if comment.path == path]
    rows: list[SideRow] = []

    def add(parts: Sequence[Part], key: str, line: int, comment: int = -1) -> None:
        rows.append(SideRow(key, len(rows), tuple(parts), line, comment))

    for number, comment in own:
        if not comment.line:
            for part, drawn in enumerate(_comment(comment, width)):
                add(drawn, f"comment:{number}.{part}", -1, number)
    for at, line in enumerate(lines):
        for part, parts in enumerate(diff_lines.drawn(line, colours.get(at, ()), width, digits)):
            add(parts, f"{at}.{part}", at)
        for number, comment in own:
            if comment.is_about(line):
                for part, drawn in enumerate(_comment(comment, width)):
                    add(drawn, f"comment:{number}.{part}", at, number)
    return rows


def _comment(comment: Comment, width: int) -> list[Drawn]:
    return block(f'c: "{comment.text}"', max(8, width - 8), "$state-needs-you", indent=4)
