"""The rows of a review: its files at the left, the lines of the one under the cursor and comments on them at the right;
and what git has of them, read in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from typing_extensions import override

from tui_tasks.core.agent_snapshots import Check, Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.runner.git import GitFailed
from tui_tasks.text.safe import cell_len, fit, fit_ends, one_to_one
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.work import diff_lines
from tui_tasks.tui.work.diff_lines import Colours, DiffLine
from tui_tasks.work.accepting import Acceptance
from tui_tasks.work.comments import Comment
from tui_tasks.work.git import reviewing

if TYPE_CHECKING:
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
        """`M`, `A`, `D`, `R` or `C` as git has it; `?` of a new file that is not committed."""
        if self.change is None:
            return " "
        return "?" if self.change.status == "A" and not self.change.is_committed else self.change.status


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
        return row_look._replace(cursor=row_look.focused, faint=is_faint)


class FileRows(RowDrawing[FileRow]):
    """Draws the files with their counts of lines."""

    def __init__(self, context: Context, word: Callable[[], str]) -> None:
        """`word` returns what the row above the files says."""
        super().__init__(context)
        self._word = word

    def draw(self, row: FileRow, look_: RowLook, line: int) -> Sequence[Part]:
        """` >M src/keys.py   +31 −7`."""
        head: list[Part] = [look_.cursor_sign(before=" ")]
        width, change = look_.width, row.change
        talk = f" {row.comments}c" if row.comments else ""
        if change is None:
            room = max(1, width - 3 - cell_len(talk))
            return [*head, (fit(self._word(), room), "$muted"), (talk, "$changed")]
        counts = _counts(change)
        rest = "" if change.is_committed else " *"
        right = f"{rest}{talk} {counts} "
        room = max(4, width - 4 - cell_len(right))
        name = one_to_one(change.path)
        if change.old_path is not None and change.status in "RC":
            name = f"{name} ← {one_to_one(change.old_path)}"
        return [
            *head,
            (f"{row.mark} ", _STYLES.get(row.mark, "")),
            (fit_ends(name, room, ascii_only=self.context.ascii_only), "bold" if look_.faint else ""),
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
        if not look_.cursor or not row.parts or not row.parts[0][0].startswith(" "):
            return row.parts
        (text, style), *rest = row.parts
        return [look_.cursor_sign(), (text[1:], style), *rest]

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
            if _is_about(comment, line):
                for part, drawn in enumerate(_comment(comment, width)):
                    add(drawn, f"comment:{number}.{part}", at, number)
    return rows


def side_rows(
    lines: Sequence[DiffLine],
    colours: Colours,
    comments: Sequence[Comment],
    path: str,
    width: int,
    more: Sequence[SideRow],
) -> list[SideRow]:
    """Return the rows of a diff with its comments, and more rows below; without a path, of the work as a whole."""
    about = {number: comment for number, comment in enumerate(comments) if comment.path == path}
    rows = diff_rows(lines, colours, about, path, width)
    start = len(rows)
    return rows + [msgspec.structs.replace(row, at=row.at + start) for row in more]


def _is_about(comment: Comment, line: DiffLine) -> bool:
    """Return whether a comment is on a line of the diff of its file."""
    is_there = comment.line > 0 and line.kind in "+- " and line.number == comment.line
    return is_there and comment.is_old == (line.kind == "-")


def _comment(comment: Comment, width: int) -> list[Drawn]:
    return block(f'c: "{comment.text}"', max(8, width - 8), "$state-needs-you", indent=4)


KEPT: Final = "comments"
"""Under this key `local_values` keeps comments that are not sent yet, by the uid of their work."""


def kept(db: Database, work_uid: str) -> list[Comment]:
    """Return the comments on a work that are not sent yet."""
    stored = (local_values.get(db, KEPT) or {}).get(work_uid, [])
    return [msgspec.convert(one, Comment) for one in stored]


def to_keep(db: Database, work_uid: str, comments: Sequence[Comment], live: Iterable[str]) -> dict[str, Any]:
    """Return what `local_values` is to keep; comments on works that are over are dropped."""
    stored: dict[str, Any] = {uid: one for uid, one in (local_values.get(db, KEPT) or {}).items() if uid in set(live)}
    stored.pop(work_uid, None)
    return stored | ({work_uid: msgspec.to_builtins(list(comments))} if comments else {})


_MAX_CACHED: Final = 50


class FileDiff(msgspec.Struct):
    """The diff of a file: its lines and their colours, or a note instead."""

    lines: list[DiffLine]
    colours: Colours
    note: str = ""


class DiffCache:
    """The diffs that were read last, by the keys of their files."""

    def __init__(self) -> None:
        self._texts: dict[str, FileDiff] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def get(self, key: str) -> FileDiff | None:
        """Return the diff of a file; None if it is not read yet."""
        return self._texts.get(key)

    def put(self, key: str, text: FileDiff) -> None:
        """Hold the diff of a file, and drop the oldest where there are many."""
        while len(self._texts) >= _MAX_CACHED:
            del self._texts[next(iter(self._texts))]
        self._texts[key] = text

    def clear(self) -> None:
        """Drop all, as the work has changed."""
        self._texts.clear()


def read_review(path: str, clock: Callable[[], int], work: Work) -> tuple[Review, tuple[Check, ...]]:
    """Return what git has of a work, and its checks with their states on that tree; called in a thread.

    Raises:
        Refusal: it cannot be read, as the message says.
    """
    with Store(path, makes=False) as store:
        acceptance = Acceptance(store, clock)
        review = acceptance.review(work)
        return review, acceptance.checks(work, review)


def read_diff(review: Review, change: FileChange) -> FileDiff:
    """Return the diff of a file; called in a thread."""
    try:
        diff = reviewing.file_diff(review.folder, review.merge_base, review.tree, change)
    except (GitFailed, OSError) as error:
        return FileDiff([], {}, f"{error}")
    if diff.is_binary:
        return FileDiff([], {}, "A binary file: its bytes are not shown.")
    lines = diff_lines.parse(diff.text)
    note = "The rest of this diff is too long to be shown: look at it in the worktree." if diff.is_cut else ""
    if not lines and not note:
        note = "No line differs."
    return FileDiff(lines, {}, note)
