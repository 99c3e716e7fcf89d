"""The log: every journal entry of everybody, newest last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget
from typing_extensions import override

from tui_tasks.core.read import job_lines
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import log_pages
from tui_tasks.core.read.pages.log_folds import FOLDED
from tui_tasks.core.read.pages.log_lines import KINDS
from tui_tasks.core.read.pages.task_filter import ALL, Filter, Term
from tui_tasks.dialects.requests.filter_syntax import Language
from tui_tasks.tui import layout
from tui_tasks.tui.keys.action_table import Action, bindings
from tui_tasks.tui.keys.actions import RowMoves
from tui_tasks.tui.log.log_actions import LogActions
from tui_tasks.tui.log.log_entry import EntryDetail
from tui_tasks.tui.log.log_rows import EntriesOfJournal, LogRows, LogRule
from tui_tasks.tui.log.log_text import MARKS
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.filter_bar import FilterBar
from tui_tasks.tui.widgets.screen_bases import Pane

OF_LOG: Final = Language(("who", "kind", "list", "project", "number"), {"kind": tuple(KINDS)})
# The most lists offered for `list:`, newest first.
_MAX_LISTS: Final = 200


class LogPane(Pane):
    """Pane 3. It follows new entries while the cursor is on the newest one."""

    NAME = "log"
    SCOPES = ("rows", "log")
    FOOTER = ("log_open", "log_filter", "log_follow", "log_copy", "asks", "agents", "quit", "help")
    FOOTER_SMALL = ("log_filter", "log_follow", "help")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    LogPane EntryDetail { display: none; }
    LogPane.-open EntryDetail { display: block; }
    Screen.-narrow LogPane.-open #entries, Screen.-short LogPane.-open #entries,
    Screen.-narrow LogPane.-open LogRule, Screen.-short LogPane.-open LogRule { display: none; }
    """

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.only: Filter = ALL
        # Leads to the screen that has shown something here; whether an entry was open then.
        self._way_back: Callable[[], None] | None = None
        self._came_open = False
        self._entries = self._matching()
        self._drawing = LogRows(context, self._why_empty)
        self._drawing.no_match = self._no_match
        self.row_list = VirtualList(context, self._drawing, id="entries")
        self.filter_bar = FilterBar(self.context, self._completions, OF_LOG)
        self.rule = LogRule(context, self.row_list, lambda: self._entries)
        self._entry = EntryDetail(context, self._drawing.label_of)
        self._actions = LogActions(context, lambda: self.only, lambda: self.row_list.row, lambda: self._show(self.only))
        self.controllers = (RowMoves(lambda: self.row_list), self._actions)

    def compose(self) -> ComposeResult:
        """Compose rule, filter, entries, and the opened entry."""
        yield self.rule
        yield self.filter_bar
        yield self.row_list
        yield self._entry

    def on_mount(self) -> None:
        """Show the newest entries."""
        self.rule.count()
        self._number()
        self.row_list.show(self._entries, from_end=True)

    def on_unmount(self) -> None:
        """End an export, so that no partial file stays."""
        self._actions.end_export()

    @property
    def following(self) -> bool:
        """Whether the cursor goes to each new entry."""
        return self.rule.following

    def _matching(self) -> EntriesOfJournal:
        projects, only = self.context.state.projects, self.only
        if projects.is_alone and projects.chosen is not None:
            only = Filter((*only.terms, Term("project", projects.chosen)))
        entries = EntriesOfJournal(self.context.db, self.context.state, only)
        entries.is_bare = bool(self.only)
        return entries

    def _number(self) -> None:
        """Read the numbers of jobs, and set the width for those of tasks."""
        self._drawing.label_width = self._label_width
        self._drawing.job_numbers = job_lines.numbers(self.context.db)

    @property
    def _label_width(self) -> int:
        return self.context.state.number_width + 2

    def _why_empty(self) -> str:
        if self.context.link.read_only:
            return "Nothing has happened yet."
        return f"Nothing has happened yet: {self.context.keymap.key_of('new')} in the list adds a task."

    def _no_match(self) -> str:
        return self.filter_bar.no_match(is_searching=self.row_list.is_searching)

    @override
    def focus_target(self) -> Widget:
        """The entries."""
        return self.row_list

    def target(self) -> str | None:
        """Return the uid of the task that the cursor's entry is about."""
        row = self.row_list.row
        return row.task if row is not None else None

    @property
    @override
    def is_busy(self) -> bool:
        return self.filter_bar.is_open

    @override
    def why_not(self, action: Action) -> str | None:
        """Some actions need an entry."""
        return (
            "No entry is under the cursor."
            if action.needs == "entry" and self.row_list.row is None
            else super().why_not(action)
        )

    @override
    def footer(self, small: bool) -> tuple[str, ...]:
        """An opened entry has its own keys."""
        if not self.is_open:
            keys = super().footer(small)
            return keys if self._way_back is None else ("back", *(each for each in keys if each != "quit"))
        return ("log_open", "log_copy", "back", *(() if small else ("help",)))

    # Changes

    @override
    def changed(self, changes: StateChanges) -> None:
        """Show new entries, or that there are some."""
        rows = self.row_list
        if changes.touches("job"):
            self._number()
        if changes.all:
            rows.reload()
        self._take_new(self._changed_lines(changes))
        if self.is_open:
            self._entry.changed(changes)
        if self._drawing.label_width != self._label_width or changes.touches("ask"):
            # The mark of a question has no colour once it is answered.
            self._drawing.label_width = self._label_width
            rows.redraw()

    @override
    def refreshed(self) -> None:
        self._number()
        entries = self._matching()
        if self._entries.only != entries.only:
            self._entries = entries
            self.row_list.show(entries, from_end=True)
        else:
            self.row_list.reload()
        self._take_new()

    @override
    def hold_rows(self, by: int) -> None:
        self.row_list.hold_rows(by)

    @override
    def tasks_on_screen(self) -> set[str]:
        """The tasks that the lines are about."""
        return {row.task for row in self.row_list.rows_on_screen if row.task is not None}

    def _changed_lines(self, changes: StateChanges) -> list[str]:
        """Return the keys of the lines that new entries change: they are folded into one, or say why a task failed."""
        said = {(entry.actor, entry.task) for entry in changes.entries if entry.kind in FOLDED}
        ran = job_lines.touched(self.context.db, changes.entries) if changes.touches("run") else ()
        rows = self.row_list.rows_held if said or ran else ()
        tasks = {task for _, task in said}
        folded = [row for row in rows if (row.actor, row.task) in said or row.job in ran] if self.following else []
        failed = [row for row in rows if row.word != "log" and row.task in tasks]
        return [str(row.seq) for row in (*folded, *failed)]

    def _take_new(self, changed: Sequence[str] = ()) -> None:
        """Read the new entries; `changed` are the keys of the lines that they change."""
        self.row_list.grow()
        self._show_marks()
        self.row_list.change([*MARKS, *changed])
        if self.following:
            self.row_list.move_last()
        self.rule.count()

    def _show_marks(self) -> None:
        """Show the marks between the entries that match; without an entry, the list says that nothing matches."""
        is_bare = bool(self.only) and all(row.word in MARKS for row in self.row_list.rows_held)
        if is_bare != self._entries.is_bare:
            self._entries.is_bare = is_bare
            self.row_list.change(MARKS)
            if self.following:
                self.row_list.move_last()

    # Following

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Follow while the cursor is on the newest entry."""
        event.stop()
        self._follow(self.row_list.is_on_last and not self.is_open)
        if self.is_open:
            self._entry.show(self.row_list.row)

    def on_virtual_list_scrolled(self, event: VirtualList.Scrolled) -> None:
        """Follow while the newest entry is on screen."""
        event.stop()
        self._follow(self.row_list.at_end and not self.is_open)

    def _follow(self, following: bool) -> None:
        if not following:
            # The line under the cursor stays where it is.
            self._entries.hold_still(self.context.link.seq)
        elif self._entries.fold_again():
            self.row_list.reload()
        self.rule.follow(following)

    def do_log_follow(self) -> None:
        """Go to the newest entry and stay there, or stop following."""
        self._follow(not self.following)
        if self.following:
            self.row_list.move_last()

    # One entry

    def do_log_open(self) -> None:
        """Open the entry; where it is open, go to its task."""
        row = self.row_list.row
        if self.is_open and row is not None and row.task is not None:
            self.context.navigation.go_to(row.task)
            return
        self.add_class("-open")
        # The opened entry stays when new ones arrive.
        self._follow(False)
        self._entry.show(row)
        if layout.is_compact(self.app.size):
            self._entry.focus_text()
        self.context.redraw_frame()

    def on_virtual_list_opened(self, event: RowMessage) -> None:
        """Open the entry, on a double click."""
        event.stop()
        self.do_log_open()

    @override
    def lay_way_back(self, go: Callable[[], None]) -> None:
        self._way_back, self._came_open = go, self.is_open

    @override
    def left(self) -> None:
        self._way_back = None

    @property
    @override
    def is_inside(self) -> bool:
        return self.is_open or self._way_back is not None

    def do_back(self) -> None:
        """Leave one layer: an export, the entry, the filter; from what another screen has shown here, go back to it."""
        if self._actions.is_exporting:
            self._actions.end_export()
            return
        goes_back = self._way_back if not self.is_open or self._came_open else None
        if self.is_open:
            self.remove_class("-open")
            self._follow(self.row_list.is_on_last)
            self.row_list.focus()
            self.context.redraw_frame()
        elif self.filter_bar.is_open:
            self.filter_bar.clear()
        if goes_back is not None:
            self._way_back = None
            goes_back()

    # The filter

    def do_log_filter(self) -> None:
        """Begin to filter, or go on typing."""
        self.filter_bar.open()

    @override
    def filter_by(self, text: str) -> None:
        self.filter_bar.open(text, kept=True)

    def show_entry(self, seq: int) -> None:
        """Show an entry of the journal, among all others."""
        if self.filter_bar.is_open:
            self.filter_bar.clear()
        self._follow(False)
        self._entries = self._matching()
        self.row_list.show(self._entries, str(seq))
        self._follow(self.row_list.is_on_last)

    def _completions(self) -> Mapping[str, Sequence[str]]:
        """Return the values that Tab completes to, by field."""
        state = self.context.state
        lists = [home.name for home in list(state.lists.values())[-_MAX_LISTS:]]
        projects = sorted({home.project for home in state.lists.values() if home.project})
        return {"who": [*sorted(state.spoke), "you"], "list": lists, "project": projects}

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        """Show the matching entries."""
        event.stop()
        self._show(Filter(event.parsed.terms))

    def _show(self, only: Filter) -> None:
        """Show the entries that match a filter; the cursor keeps its entry unless the log follows."""
        cursor = None if self.following else self.row_list.cursor
        self.only = only
        self._entries = self._matching()
        self.row_list.show(self._entries, cursor, from_end=True)
        self._show_search()
        self.rule.redraw()

    def on_virtual_list_resumed(self, event: VirtualList.Resumed) -> None:
        """Show the progress of the search."""
        event.stop()
        self._show_search()

    def _show_search(self) -> None:
        """Show the share of the journal that was searched, while the search lasts."""
        self._show_marks()
        reached = self._entries.reached if self.row_list.is_searching else None
        if reached is None:
            self.filter_bar.show_count("")
            return
        oldest, newest = log_pages.edges(self.context.db)
        searched = (newest - reached) / max(1, newest - oldest)
        self.filter_bar.show_count(f"searched {searched:.0%}")

    def on_filter_bar_submitted(self, event: FilterBar.Submitted) -> None:
        """Return to the entries, with the filter."""
        event.stop()
        self.row_list.focus()

    def on_filter_bar_cleared(self, event: FilterBar.Cleared) -> None:
        """Show all entries."""
        event.stop()
        self._show(ALL)
        self.row_list.focus()
