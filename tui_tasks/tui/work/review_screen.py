"""The review of an agent's work: its files, the diff of the one under the cursor, its commits, checks and conflicts.

What is accepted is what was on screen. git runs in threads, so that neither 5,000 files nor a slow disk stops a key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.vocab import LIVE_WORK
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks import answer_keys
from tui_tasks.tui.asks.answer_keys import Reading
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.layout import is_wide
from tui_tasks.tui.needs.open_needs import ALL, Kind
from tui_tasks.tui.painting.line_painter import FrameLine, rule, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Divider, TextLines
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.needs_lines import ROWS_AND_DETAIL
from tui_tasks.tui.widgets.screen_bases import Overlay
from tui_tasks.tui.widgets.screen_head import ScreenHead
from tui_tasks.tui.work import review_text
from tui_tasks.tui.work.diff_side import DiffSide, SideMoves
from tui_tasks.tui.work.review_actions import ReviewActions, review_hints
from tui_tasks.tui.work.review_rows import SUMMARY, FileRow, FileRows, ReviewList, file_rows
from tui_tasks.tui.work.reviewed_work import ReviewedWork, works_on
from tui_tasks.work.comments import Comment

if TYPE_CHECKING:
    from tui_tasks.work.git.reviewing import FileChange

LOOK_SECONDS: Final = 1.0
# The lines below the head that are neither of the files nor of the diff, and the least lines of the files.
_AROUND: Final = 4
# In cells: the ends of a rule.
_ENDS: Final = 4
_LEAST_FILES: Final = 3
# What has rows above a review, and how many at most.
_ABOVE: Final = tuple(kind for kind in ALL if kind != Kind.REVIEW)
_MOST_ABOVE: Final = 5


class ReviewScreen(Overlay):
    """The screen. Files and diff side by side, one above the other, or on a small one only one of both."""

    NAME = "review"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "work")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    ReviewScreen #review-body { height: 1fr; layout: vertical; }
    ReviewScreen #files-side { height: auto; width: 1fr; }
    ReviewScreen #work-summary { display: none; }
    ReviewScreen #diff-side { height: 1fr; width: 1fr; }
    ReviewScreen #diff { height: 1fr; }
    ReviewScreen Divider { display: none; }
    ReviewScreen.-wide.-tall #review-body { layout: horizontal; }
    ReviewScreen.-wide.-tall #files-side { height: 1fr; width: 4fr; }
    ReviewScreen.-wide.-tall #work-summary { display: block; }
    ReviewScreen.-wide.-tall #diff-side { width: 8fr; }
    ReviewScreen.-wide.-tall Divider { display: block; }
    ReviewScreen.-narrow #review-facts, ReviewScreen.-short #review-facts { display: none; }
    ReviewScreen.-narrow #files-side, ReviewScreen.-short #files-side { height: 1fr; }
    ReviewScreen.-narrow #work-summary, ReviewScreen.-short #work-summary { display: block; }
    ReviewScreen.-narrow #diff-side, ReviewScreen.-short #diff-side { display: none; }
    ReviewScreen.-narrow.-diff #files-side, ReviewScreen.-short.-diff #files-side { display: none; }
    ReviewScreen.-narrow.-diff #review-rule, ReviewScreen.-short.-diff #review-rule,
    ReviewScreen.-stacked.-tall #review-rule, ReviewScreen.-wide.-tall #review-rule { display: none; }
    ReviewScreen.-stacked.-tall #diff-head { display: none; }
    ReviewScreen.-narrow.-diff #diff-side, ReviewScreen.-short.-diff #diff-side { display: block; }
    """

    def __init__(self, context: Context, task_uid: str, agent: str | None = None) -> None:
        """`agent`: whose work is shown first; None: that which waits for review."""
        super().__init__(context)
        self.reviewed = ReviewedWork(context, task_uid, agent)
        self.files = ReviewList(
            context, FileRows(context, lambda: review_text.whole_word(self.reviewed.facts)), id="files"
        )
        self.side = DiffSide(context, self.files, self.reviewed, lambda: self.is_open, self.show_side)
        self._file_rows: InMemorySource[FileRow] = InMemorySource(lambda row: row.key, lambda row: row.at)
        self._head = ScreenHead(
            context, self._title, id="review", kinds=lambda: _ABOVE, below=ROWS_AND_DETAIL, most=lambda: _MOST_ABOVE
        )
        self._facts_line = FrameLine(context, self._facts_parts, id="review-facts")
        summary = review_text.WorkSummary(
            context, lambda: self.reviewed.facts, lambda: bool(self._facts_line.display), self._shows_whole_beside
        )
        self._summary = TextLines(context, summary, id="work-summary")
        self._diff_head = FrameLine(context, self._path_parts, id="diff-head")
        self.reading = Reading(context)
        self.controllers = (ReviewActions(self), SideMoves(context, self.side, self._file_rows))
        self._has_read = False
        # What a key has begun that needs the work, which is read.
        self._when_read: Callable[[object], Coroutine[None, None, None]] | None = None
        self._files_high = 0

    def compose(self) -> ComposeResult:
        """Compose head, files, what there is to know of the work, and diff."""
        yield from self._head.compose()
        yield self._facts_line
        with Container(id="review-body"):
            with Vertical(id="files-side"):
                yield self.files
                yield rule(self.context, id="under-files")
                yield self._summary
            yield Divider(self.context)
            with Vertical(id="diff-side"):
                yield self._diff_head
                yield self.side.list
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the work."""
        self.files.focus()
        self.set_interval(LOOK_SECONDS, self._look)
        self.read_again()

    # State

    @property
    def unopened(self) -> list[str]:
        """The paths of the files that have not had their diff on screen, as they are now."""
        return [*self.unread(was_opened=False), *self.unread(was_opened=True)]

    def unread(self, *, was_opened: bool) -> list[str]:
        """Return those of `unopened` that never had their diff on screen, or only before they changed."""
        changes = ((row.key, row.change) for row in self._file_rows.rows if row.change is not None)
        opened = self.context.state.files_opened.get(self.reviewed.facts.work.uid, {})
        return [
            change.path
            for key, change in changes
            if opened.get(key) != change.versions and (key in opened) == was_opened
        ]

    @property
    def change(self) -> FileChange | None:
        """The file under the cursor."""
        row = self.files.row
        return row.change if row is not None else None

    @property
    def is_on_diff(self) -> bool:
        """Whether the diff has the focus instead of the files."""
        return self.side.list.has_focus

    # Reading

    def read_again(self) -> None:
        """Read the work again; what is shown stays until it is read."""
        self.run_worker(self._read(), group="review", exclusive=True)

    def show_work(self, work: Work) -> None:
        """Review another work of the task."""
        self.reviewed.show(work)
        self._has_read = False
        self.leave_diff()
        self._draw()
        self.read_again()

    async def _read(self) -> None:
        self._draw()
        before = self.reviewed.version
        if not await self.reviewed.read() or not self.is_open:
            return
        if self.reviewed.version != before:
            self.side.forget()
        self._draw()
        self.reviewed.say_how_checks_ended()

    def _draw(self) -> None:
        """Draw all of it from what was read."""
        review = self.reviewed.facts.review
        rows = [FileRow(SUMMARY, -1)] if review is None else file_rows(review, self.reviewed.comments)
        changed = self._file_rows.replace(rows)
        if self.files.source is None or (review is not None and not self._has_read):
            self._has_read = review is not None
            wants_summary = review is None or review.conflicts or review.notes or review.is_dirty or len(rows) < 2
            self.files.show(self._file_rows, rows[0 if wants_summary else 1].key)
        else:
            self.files.change(changed)
        self._head_again()
        self._fit_files()
        self.files.redraw()
        self.show_side()

    def _fit_files(self) -> None:
        """Give the files the lines that they need, up to a share of the screen."""
        share = 1 if self.small else 2 if is_wide(self.size) else 3
        most = max(_LEAST_FILES, (self.size.height - self._head.height(self.size) - _AROUND) // share)
        high = min(most, max(1, self._file_rows.total()))
        if high != self._files_high:
            self._files_high = high
            self.files.styles.height = high

    def _head_again(self) -> None:
        for part in (self._head, self._facts_line, self._summary):
            part.redraw()

    def agents_changed(self) -> None:
        """Draw the head again after an agent has come, gone or got stuck."""
        self._head_again()

    def changed(self, changes: StateChanges) -> None:
        """Update after something about works or checks has changed."""
        self._head_again()
        if not (changes.all or changes.touches("work", "task", "list", "check_run", "task_check")):
            return
        if self.leave_what_is_over():
            return
        work = work_queries.find(self.context.db, self.reviewed.facts.work.uid)
        if work.state == "merging" and not changes.all and not changes.touches("task", "check_run", "task_check"):
            # Its merge has begun, and git has of it what was reviewed.
            self.reviewed.update(work)
            self._draw()
        elif changes.all or any(entry.uid == work.uid or entry.entity != "work" for entry in changes.entries):
            self.read_again()

    def leave_what_is_over(self) -> bool:
        """Go on to another work of the task where this one is merged or discarded, else back, as when the task is
        deleted; return whether it is over.
        """
        work = work_queries.find(self.context.db, self.reviewed.facts.work.uid)
        if agent_text.live_task(self.context.db, work.task_uid) is None:
            self.dismiss()
            self.context.say(agent_text.deleted_text(self.context, work.task_uid))
            return True
        if work.state in LIVE_WORK:
            return False
        if others := works_on(self.context.db, work.task_uid):
            self.show_work(others[0])
        else:
            self.dismiss()
        return True

    def _look(self) -> None:
        """Read again after git has counted something else."""
        if self.reviewed.was_counted:
            self.read_again()

    # The side

    def show_side(self) -> None:
        """Show the file under the cursor, or the summary."""
        self._diff_head.redraw()
        self._summary.redraw()
        self.side.show()
        self.hints_again()
        self.call_after_refresh(self._note_painted)

    def _shows_whole_beside(self) -> bool:
        return is_wide(self.size) and not self.small and self.change is None

    def _title(self, width: int) -> Sequence[Part]:
        return review_text.title(self.reviewed.facts, width, ascii_only=self.context.ascii_only)

    def _facts_parts(self, width: int) -> Sequence[Part]:
        facts, unsent = self.reviewed.facts, len(self.reviewed.comments)
        line = review_text.facts_line(facts, unsent, width - _ENDS, ascii_only=self.context.ascii_only)
        return rule_parts(self.context, width, line)

    def _path_parts(self, width: int) -> Sequence[Part]:
        row, of = self.files.row, self._file_rows.total() - 1
        place = f"  {self._file_rows.place(row)} of {of}" if self.small and row is not None else ""
        return review_text.path_line(self.change, place, width)

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Show another file."""
        if event.row_list is self.files:
            self.show_side()
        else:
            self.hints_again()

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        """Do as Enter does, on a double click."""
        self.do_work_diff()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self._head_again()
        self._fit_files()
        self.call_after_refresh(self.show_side)

    def _note_painted(self) -> None:
        if self.is_active and self.is_open:
            self.reading.painted(self.reviewed.version, to_end=False)
            if self._when_read is not None and self.reviewed.facts.review is not None:
                act, self._when_read = self._when_read, None
                self.run_worker(act(self.reviewed.version), group="when-read", exclusive=True)
            row = self.files.row
            if row is not None and row.change is not None and self.side.has(row.key) and self.side.list.size:
                opened = self.context.state.files_opened.setdefault(self.reviewed.facts.work.uid, {})
                opened[row.key] = row.change.versions

    def when_read(self, act: Callable[[object], None]) -> None:
        """Act once the work is read and its version has stood for long enough, unless a key is pressed meanwhile."""
        shown = (self.reviewed.facts.work.uid, self.context.pressed.at)

        async def unless_left(version: object) -> None:
            await asyncio.sleep(answer_keys.READ_SECONDS)
            if self.is_active and self.is_open and (self.reviewed.facts.work.uid, self.context.pressed.at) == shown:
                act(version)

        self._when_read = unless_left

    def on_screen_resume(self) -> None:
        """Note what can be read again, and read what was changed at a terminal meanwhile."""
        self.call_after_refresh(self._note_painted)

    # Keys

    def hints_again(self) -> None:
        """Show the keys that work here, in the order of use."""
        self.hint(*review_hints(self))

    def do_work_diff(self) -> None:
        """Go into the diff, or back to the files."""
        if self.is_on_diff:
            self.leave_diff()
        else:
            self.add_class("-diff")
            self.side.list.focus()
            self.call_after_refresh(self._note_painted)
        # What was hidden gets the focus once it is laid out.
        self.call_after_refresh(self.hints_again)

    do_work_part = do_work_diff

    def do_work_right(self) -> None:
        """Go into the diff."""
        if not self.is_on_diff:
            self.do_work_diff()

    def do_work_left(self) -> None:
        """Go back to the files."""
        if self.is_on_diff:
            self.do_work_diff()

    def leave_diff(self) -> None:
        """Give the keys back to the files."""
        self.remove_class("-diff")
        self.files.focus()

    def do_back(self) -> None:
        """From the diff to the files, from there to the pane; comments that are not sent are kept."""
        if self.is_on_diff:
            self.do_work_diff()
        else:
            super().do_back()

    def keep_comments(self, found: Sequence[Comment]) -> None:
        """Hold other comments on the work, now and at the next start."""
        self.reviewed.comments = list(found)
        self.context.run(self.reviewed.keep_comments())
        self._draw()
