"""The log: all that has happened, newest last, whoever did it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from tui_tasks.core.read.jobs import queries_jobs
from tui_tasks.core.read.log import log_pages
from tui_tasks.core.read.log.log_pages import KINDS, LogLine
from tui_tasks.core.read.tasks.filter import ALL, Filter
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len, safe_copy
from tui_tasks.text.times import count, moment
from tui_tasks.tui.app.actions import Action, bindings
from tui_tasks.tui.app.context import Context
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.inputs.filter_bar import FilterBar
from tui_tasks.tui.inputs.filter_syntax import Language
from tui_tasks.tui.log.log_entry import EntryDetail
from tui_tasks.tui.log.log_files import Exports, compact
from tui_tasks.tui.log.log_rows import EntriesOfJournal, LogWindow
from tui_tasks.tui.log.log_text import MARKS, text_of, who_of
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.widgets.frame import FrameLine
from tui_tasks.tui.widgets.pane import Pane, RowActions
from tui_tasks.tui.widgets.styles import Part

OF_LOG: Final = Language(("who", "kind", "list"), {"kind": tuple(KINDS)})


class LogRule(FrameLine):
    """`─ all agents · all kinds ────────── following ↓ newest last ─`."""

    def left(self, width: int) -> Sequence[Part]:
        """What is shown at the left, whether the newest is at the right."""
        pane = self.parent
        assert isinstance(pane, LogPane)
        ascii_only = self.host.ascii_only
        rule = sign("rule", ascii_only=ascii_only)
        what = "" if pane.only or width < 60 else " all agents · all kinds "
        what = what.replace(" · ", " - ") if ascii_only else what
        state, ink = self._state(pane, width)
        dashes = width - cell_len(what) - cell_len(state) - 2
        return [(rule, "$rule"), (what, "$muted"), (rule * max(0, dashes), "$rule"), (state, ink), (rule, "$rule")]

    def _state(self, pane: LogPane, width: int) -> tuple[str, str]:
        down = "v" if self.host.ascii_only else "↓"
        if pane.following:
            return (f" following {down} newest last " if width >= 60 else f" following {down} "), "$muted"
        new = f"{pane.below:,} new below" if pane.below and not pane.only else "new below" if pane.below else ""
        key = f"{self.host.key_of('log_follow')} follows"
        words = ", ".join(part for part in (new, key if width >= 60 or not new else "") if part)
        return f" {words} ", "$changed" if new else "$muted"


class LogPane(RowActions, Pane):
    """Pane 3. It is `following` while the newest entry has the cursor; `below` are the entries that came since."""

    NAME = "log"
    SCOPES = ("rows", "log")
    FOOTER = ("help", "log_filter", "log_follow", "log_open", "log_copy", "log_export")
    FOOTER_SMALL = ("help", "log_follow", "log_filter")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    LogPane EntryDetail { display: none; border-top: solid $rule; }
    LogPane.-open EntryDetail { display: block; }
    Screen.-narrow LogPane.-open LogWindow, Screen.-short LogPane.-open LogWindow { display: none; }
    Screen.-narrow LogPane.-open EntryDetail, Screen.-short LogPane.-open EntryDetail { border-top: none; }
    """

    window: LogWindow

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.only: Filter = ALL
        self.following = True
        self.below = 0
        self._told_until = 0
        self._exports = Exports(self.host)

    def compose(self) -> ComposeResult:
        """Rule, filter, entries, the entry that was opened."""
        yield LogRule()
        yield FilterBar(self._known, OF_LOG)
        self.window = LogWindow(id="entries")
        yield self.window
        yield EntryDetail()

    def on_mount(self) -> None:
        """Show the newest."""
        self._told_until = self.host.bridge.seq
        self._number()
        self.window.show(self._source(), from_end=True)

    def on_unmount(self) -> None:
        """Leave no half of a file."""
        self._exports.end()

    def _source(self) -> EntriesOfJournal:
        return EntriesOfJournal(self.host.bridge.db, self.host.situation, self.only)

    def _number(self) -> None:
        """Numbers are as wide as the longest list's."""
        seen = self.host.situation
        self.window.label = len(str(max((found.total for found in seen.lists.values()), default=0))) + 3
        self.window.number_jobs([job.uid for job in queries_jobs.jobs(self.host.bridge.db)])

    def focus_target(self) -> Widget:
        """The entries."""
        return self.window

    def target(self) -> str | None:
        """The task that the entry under the cursor is about."""
        row = self.window.row
        return row.task if row is not None else None

    @property
    def is_busy(self) -> bool:
        """As `Pane.is_busy`."""
        return self.query_one(FilterBar).is_open

    def why_not(self, action: Action) -> str | None:
        """As `Pane.why_not`."""
        return "no entry here" if action.needs == "entry" and self.window.row is None else super().why_not(action)

    def footer(self, small: bool) -> tuple[str, ...]:
        """As `Pane.footer`; for an entry that is open there are other things to tell."""
        return ("log_open", "log_copy", "back") if self.is_open else super().footer(small)

    # What comes in

    def changed(self, changes: Changes) -> None:
        """Show what is new, or tell that there is something."""
        window = self.window
        if changes.touches("job"):
            self._number()
        if changes.all:
            window.reload()
        window.grow()
        window.change([*MARKS, *(window.folded_by(changes) if self.following else ())])
        if self.following:
            window.move_last()
        self._note_below()
        if self.is_open:
            self.query_one(EntryDetail).changed(changes)
        if changes.touches("task"):
            # Numbers are places in the list, which others may have changed.
            window.again()

    def refreshed(self) -> None:
        """Look anew."""
        self._number()
        self.window.reload()
        self.window.grow()
        self.window.change(MARKS)
        if self.following:
            self.window.move_last()
        self._note_below()

    def _note_below(self) -> None:
        """Count what has come in below the screen."""
        newest = self.host.bridge.seq
        self.below = 0 if self.following else self.below + newest - self._told_until
        self._told_until = newest
        self.query_one(LogRule).again()

    # Following

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Off the newest entry the log stands still; back on it, it follows again."""
        event.stop()
        self._follow(self.window.is_on_last and not self.is_open)
        if self.is_open:
            self.query_one(EntryDetail).show(self.window.row)

    def on_log_window_scrolled(self, event: LogWindow.Scrolled) -> None:
        """As with the cursor."""
        event.stop()
        self._follow(self.window.at_end and not self.is_open)

    def _follow(self, following: bool) -> None:
        if following:
            self.window.fold_again()
        else:
            # What is being looked at stays where it is.
            self.window.hold_still(self.host.bridge.seq)
        self.following = following
        self.below = 0 if following else self.below
        self.query_one(LogRule).again()

    def do_log_follow(self) -> None:
        """Go to the newest entry and stay there, or stand still."""
        self._follow(not self.following)
        if self.following:
            self.window.move_last()

    # One entry

    def do_log_open(self) -> None:
        """Open the entry; where it is open, go to its task."""
        row, detail = self.window.row, self.query_one(EntryDetail)
        if self.is_open and row is not None and row.task is not None:
            self.host.go_to(row.task)
            return
        self.add_class("-open")
        # What is being read stays, whatever comes in.
        self._follow(False)
        detail.show(row)
        if self.host.is_compact:
            detail.focus_text()
        self.host.frame_again()

    def on_virtual_list_opened(self, event: RowMessage) -> None:
        """A double click opens."""
        event.stop()
        self.do_log_open()

    def do_back(self) -> None:
        """One layer: an export, the entry, the filter."""
        if self._exports.is_writing:
            self._exports.end()
        elif self.is_open:
            self.remove_class("-open")
            self._follow(self.window.is_on_last)
            self.window.focus()
            self.host.frame_again()
        elif self.query_one(FilterBar).is_open:
            self.query_one(FilterBar).clear()

    def do_log_copy(self) -> None:
        """Copy the entry as a line of text."""
        row = self.window.row
        if row is not None:
            text = safe_copy(self._as_text(row), one_line=True)
            self.host.copy_to_clipboard(text)
            self.host.say(f"Copied {count(len(text), 'character')}.")

    def _as_text(self, row: LogLine) -> str:
        assert self.host.zone is not None
        name = f"  {row.name}" if row.task is not None and row.name else ""
        return f"{moment(row.at, self.host.zone)}  {row.word}  {who_of(row)}{name}: {text_of(row)}"

    # The filter

    def do_log_filter(self) -> None:
        """Begin to filter, or go on."""
        self.query_one(FilterBar).open()

    def filter_by(self, text: str) -> None:
        """As `Pane.filter_by`."""
        self.query_one(FilterBar).open(text, kept=True)

    def _known(self) -> Mapping[str, Sequence[str]]:
        """What Tab completes to."""
        seen = self.host.situation
        names = [found.name for found in list(seen.lists.values())[-200:]]
        return {"who": [*sorted(seen.spoke), "you"], "list": names}

    def on_filter_bar_wanted(self, event: FilterBar.Wanted) -> None:
        """Show what matches, the newest last."""
        event.stop()
        self._show(Filter(event.parsed.terms))

    def _show(self, only: Filter) -> None:
        cursor = None if self.following else self.window.cursor
        self.only = only
        self.window.show(self._source(), cursor, from_end=True)
        self._searched()
        self.query_one(LogRule).again()

    def on_log_window_searched(self, event: LogWindow.Searched) -> None:
        """Tell how far back was looked."""
        event.stop()
        self._searched()

    def _searched(self) -> None:
        """Tell how much of the journal was gone through, while what is wanted is looked for."""
        reached = self.window.reached
        if reached is None:
            self.query_one(FilterBar).say("")
            return
        oldest, newest = log_pages.edges(self.host.bridge.db)
        gone = (newest - reached) / max(1, newest - oldest)
        self.query_one(FilterBar).say(f"searched {gone:.0%}")

    def on_filter_bar_kept(self, event: FilterBar.Kept) -> None:
        """Back to the entries, with the filter."""
        event.stop()
        self.window.focus()

    def on_filter_bar_cleared(self, event: FilterBar.Cleared) -> None:
        """All entries again."""
        event.stop()
        self._show(ALL)
        self.window.focus()

    # The whole log

    async def do_log_compact(self) -> None:
        """Drop the journal's oldest entries, once the human has seen how many."""
        if await compact(self.host):
            self._show(self.only)

    async def do_log_export(self) -> None:
        """Write what is shown into a file."""
        await self._exports.ask(self.only)
