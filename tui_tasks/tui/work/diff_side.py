"""The right side of a review: the diff of the file under the cursor, read in a thread, with the comments on it, or what
there is to know of the work; and the moves in files and diff.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.runner.git import GitFailed
from tui_tasks.text.safe import safe_ends, safe_line
from tui_tasks.tui.inputs.dialogs import LineDialog
from tui_tasks.tui.keys.actions import RowMoves
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.work import diff_lines, review_text
from tui_tasks.tui.work.diff_lines import Colours, DiffLine
from tui_tasks.tui.work.review_rows import FileRow, ReviewList
from tui_tasks.tui.work.reviewed_work import ReviewedWork
from tui_tasks.work.comments import Comment
from tui_tasks.work.git import reviewing

if TYPE_CHECKING:
    from tui_tasks.work.git.reviewing import FileChange, Review

SETTLE_SECONDS: Final = 0.03
"""A file that the cursor leaves sooner is not read."""


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

    def draw(self, row: SideRow, row_look: RowLook, line: int) -> Sequence[Part]:
        """Return the parts; the cursor is marked while the keys go there."""
        if not row_look.cursor or not row.parts or not row.parts[0][0].startswith(" "):
            return row.parts
        (text, style), *rest = row.parts
        return [row_look.cursor_sign(), (text[1:], style), *rest]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw nothing."""
        return ()


def _text_rows(lines: Sequence[Drawn]) -> list[SideRow]:
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


def _side_rows(
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


_MAX_CACHED: Final = 50


class ShownDiff(msgspec.Struct):
    """The diff of a file: its lines and their colours, or a note instead."""

    lines: list[DiffLine]
    colours: Colours
    note: str = ""


def _read_diff(review: Review, change: FileChange) -> ShownDiff:
    """Return the diff of a file; called in a thread."""
    try:
        diff = reviewing.file_diff(review.folder, review.merge_base, review.tree, change)
    except (GitFailed, OSError) as error:
        return ShownDiff([], {}, f"{error}")
    if diff.is_binary:
        return ShownDiff([], {}, "A binary file: its bytes are not shown.")
    lines = diff_lines.parse(diff.text)
    note = "The rest of this diff is too long to be shown: look at it in the worktree." if diff.is_cut else ""
    if not lines and not note:
        note = "No line differs."
    return ShownDiff(lines, {}, note)


class DiffSide:
    """Shows the diff of the file under the cursor of `files`, and reads it once.

    `reviewed` is the work, and `is_open` returns whether the screen is there. `redraw` shows the side again after
    something was read.
    """

    def __init__(
        self,
        context: Context,
        files: ReviewList[FileRow],
        reviewed: ReviewedWork,
        is_open: Callable[[], bool],
        redraw: Callable[[], None],
    ) -> None:
        self.list = ReviewList(context, SideRows(context), id="diff")
        self._context = context
        self.files = files
        self._reviewed = reviewed
        self._is_open = is_open
        self._redraw = redraw
        self._rows: InMemorySource[SideRow] = InMemorySource(lambda row: row.key, lambda row: row.at)
        # The diffs that were read last, by the keys of their files.
        self._texts: dict[str, ShownDiff] = {}
        # The work and the file that are shown.
        self._shown: tuple[object, ...] = ()

    @property
    def line(self) -> DiffLine | None:
        """The line of the diff under the cursor."""
        row, text = self.list.row, self._texts.get(self.files.cursor or "")
        return text.lines[row.line] if row is not None and text is not None and row.line >= 0 else None

    @property
    def comment(self) -> int | None:
        """The index of the comment under the cursor."""
        row = self.list.row
        return row.comment if row is not None and row.comment >= 0 else None

    def has(self, key: str) -> bool:
        """Return whether the diff of a file is read."""
        return key in self._texts

    def forget(self) -> None:
        """Read each diff anew, as the work has changed."""
        self._texts.clear()

    def texts(self) -> list[tuple[str, str]]:
        """Return the texts of the rows by their keys; a long line is whole at its first row."""
        diff = self._texts.get(self.files.cursor or "")
        texts = []
        for row in self._rows.rows:
            text = "".join(text for text, _ in row.parts)
            if diff is not None and row.line >= 0 and row.comment < 0:
                text = diff.lines[row.line].text if row.key == f"{row.line}.0" else ""
            texts.append((row.key, text))
        return texts

    def show(self) -> None:
        """Show the file under the cursor, or the summary."""
        row, facts = self.files.row, self._reviewed.facts
        key, change = self.files.cursor, row.change if row is not None else None
        if change is None:
            summary = _text_rows(review_text.summary(self._context, facts, self._width - 3))
            self._put(_side_rows([], {}, self._reviewed.comments, "", self._width, summary), key)
        elif (text := self._texts.get(key or "")) is not None:
            notes = _text_rows([[], [(f" {text.note}", "$muted")]]) if text.note else []
            self._put(
                _side_rows(text.lines, text.colours, self._reviewed.comments, change.name, self._width, notes), key
            )
        else:
            self._put(_text_rows([[(" …", "$muted")]]), key)
            self.list.run_worker(self._read(key or "", change), group="diff", exclusive=True)

    @property
    def _width(self) -> int:
        return self.list.size.width or self.list.app.size.width

    def _put(self, rows: Sequence[SideRow], key: str | None) -> None:
        """Show rows; the cursor stays where it is the same file."""
        shown = (self._reviewed.facts.work.uid, key)
        stays, self._shown = shown == self._shown, shown
        cursor = self.list.cursor if stays else None
        changed = self._rows.replace(rows)
        if stays and self.list.source is not None and cursor is not None:
            self.list.change(changed)
        else:
            self.list.show(self._rows)

    async def _read(self, key: str, change: FileChange) -> None:
        review = self._reviewed.facts.review
        if review is None:
            return
        await asyncio.sleep(SETTLE_SECONDS)
        text = await asyncio.to_thread(_read_diff, review, change)
        if not self._is_shown(review):
            return
        self._keep(key, text)
        self._show_read(key)
        await self._colour(key, change, text)

    def _keep(self, key: str, text: ShownDiff) -> None:
        """Keep the diff of a file, and drop the oldest where there are many."""
        while len(self._texts) >= _MAX_CACHED:
            del self._texts[next(iter(self._texts))]
        self._texts[key] = text

    async def _colour(self, key: str, change: FileChange, text: ShownDiff) -> None:
        if text.lines:
            text.colours = await asyncio.to_thread(diff_lines.colours, change.name, text.lines)
            if text.colours and self._is_open():
                self._show_read(key)

    def _is_shown(self, review: Review) -> bool:
        return self._reviewed.facts.review is review and self._is_open()

    def _show_read(self, key: str) -> None:
        if self.files.cursor == key:
            self._redraw()

    async def next_file_with(self, words: str, rows: Sequence[FileRow]) -> tuple[FileChange, str, int] | None:
        """Return the next of the files whose diff has some words in lower case, its key, and the line; None without
        one.
        """
        review = self._reviewed.facts.review
        at = next((at for at, row in enumerate(rows) if row.key == self.files.cursor), -1)
        for row in (*rows[at + 1 :], *rows[: max(at, 0)]):
            if row.change is None or review is None:
                continue
            text = self._texts.get(row.key)
            if text is None:
                text = await asyncio.to_thread(_read_diff, review, row.change)
            if not self._is_shown(review):
                return None
            line = next((at for at, line in enumerate(text.lines) if words in line.text.casefold()), None)
            if line is not None:
                self._keep(row.key, text)
                return row.change, row.key, line
        return None

    def show_line(self, key: str, line: int) -> None:
        """Show a line of the diff of a file that has been read."""
        self.files.move_to(key)
        self._redraw()
        self.list.move_to(f"{line}.0")
        row, text = self.files.row, self._texts.get(key)
        if text is not None and row is not None and row.change is not None and not text.colours:
            self.list.run_worker(self._colour(key, row.change, text), group="diff", exclusive=True)


class SideMoves(RowMoves):
    """Moves in the files or the diff, whichever has the focus; pages are always those of the diff."""

    def __init__(self, context: Context, side: DiffSide, rows: InMemorySource[FileRow]) -> None:
        """`rows` are those of the files."""
        super().__init__(lambda: side.list if side.list.has_focus else side.files)
        self._context = context
        self._side = side
        self._rows = rows
        self._words = ""

    def do_page_down(self) -> None:
        """A page of the diff, wherever the cursor is."""
        self._side.list.move_page(1)

    def do_page_up(self) -> None:
        """A page back."""
        self._side.list.move_page(-1)

    async def do_work_find(self) -> None:
        """Move to the next file, or line of the diffs of all files, that contains some words; then from the top."""
        # While the dialog is open, neither has the focus.
        context, row_list, is_on_diff = self._context, self._row_list(), self._side.list.has_focus
        names = [(row.key, row.change.path if row.change is not None else "") for row in self._rows.rows]
        texts = self._side.texts() if is_on_diff else names
        title = "Find in this diff:" if is_on_diff else "Find a file:"
        hint = f"Enter finds “{safe_line(self._words, 30)}” again" if self._words else ""
        typed = await context.ask(LineDialog(context, title, draft=f"find {is_on_diff:d}", done="Find", hint=hint))
        self._words = (typed or "").strip() or self._words
        if typed is None or not self._words:
            return
        words, cursor = self._words.casefold(), row_list.cursor
        at = next((at for at, (key, _) in enumerate(texts) if key == cursor), -1)
        below, above = (
            next((key for key, text in part if words in text.casefold()), None)
            for part in (texts[at + 1 :], texts[: at + 1])
        )
        if below is None and is_on_diff and await self._go_to_other_file(words):
            return
        if row_list.cursor != cursor:
            return  # moved meanwhile
        if (found := below or above) is not None:
            row_list.move_to(found)
            return
        what = "shown line of the diffs has" if is_on_diff else "name of a file has"
        context.say(f"No {what} “{safe_line(self._words, 40)}”.")

    async def _go_to_other_file(self, words: str) -> bool:
        """Go to the next file whose diff has some words, and return whether there is one."""
        side, file = self._side, self._side.files.cursor
        found = await side.next_file_with(words, self._rows.rows)
        if found is None or side.files.cursor != file:
            return False
        change, key, line = found
        side.show_line(key, line)
        self._context.say(f"Found in {safe_ends(change.path, 60)}.")
        return True
