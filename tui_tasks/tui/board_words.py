"""What is typed above the board: the filter, and a new task. And what is opened below it: the detail of a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui_tasks.core import pages, views
from tui_tasks.core.pages import TaskLine
from tui_tasks.core.wanted import ALL, Filter, Term
from tui_tasks.tui.board_moves import BoardMoves
from tui_tasks.tui.detail import Detail
from tui_tasks.tui.dialogs import Prompt
from tui_tasks.tui.filter_bar import FilterBar
from tui_tasks.tui.filters import Parsed
from tui_tasks.tui.format import safe_line
from tui_tasks.tui.quick_add import QuickAdd, Wish
from tui_tasks.tui.window import RowMessage, RowWindow


class BoardWords(BoardMoves):
    """Filtering, adding and opening. The pane says how cards are shown (`show_wanted`, `go_to`)."""

    only: Filter = ALL

    def show_wanted(self, only: Filter) -> None:
        """Show the cards that are wanted."""
        raise NotImplementedError

    def wanted(self) -> Filter:
        """The filter that the cards are read with."""
        return self.only

    @property
    def is_busy(self) -> bool:
        """As `Pane.is_busy`."""
        bar = self.query_one(FilterBar)
        return self.query_one(QuickAdd).is_open or bar.is_open or bool(self.window.marks)

    # The filter

    def do_filter(self) -> None:
        """Begin to filter, or go on."""
        self.query_one(FilterBar).open()

    def filter_by(self, text: str) -> None:
        """As `Pane.filter_by`."""
        self.query_one(FilterBar).open(text)

    def known_words(self) -> Mapping[str, Sequence[str]]:
        """What Tab completes to."""
        seen = self.host.situation
        rows = [row for column in self.columns for row in column.window.nearby]
        tags = dict.fromkeys(tag for row in rows for tag in row.tags)
        domains = dict.fromkeys(row.domain for row in rows if row.domain)
        names = [found.name for found in list(seen.lists.values())[-200:]]
        return {"who": [*sorted(seen.spoke), "you"], "list": names, "tag": list(tags), "domain": list(domains)}

    def on_filter_bar_wanted(self, event: FilterBar.Wanted) -> None:
        """Show what matches."""
        event.stop()
        self.show_wanted(self._meant(event.parsed))

    def _meant(self, parsed: Parsed) -> Filter:
        """The filter that was typed; a list that it names is gone to."""
        terms = parsed.of_tasks
        for term in parsed.lists:
            found = self._list_named(term)
            if found is not None and not term.negated and found != self.host.list_id:
                self.host.show_list(found)
            elif (found == self.host.list_id) == term.negated:
                terms = (*terms, Term("status", "none"))
        return Filter(terms, self.host.situation.looked.at)

    def _list_named(self, term: Term) -> int | None:
        name = term.value.casefold()
        lists = [found for found in self.host.situation.lists.values() if found.name.casefold().startswith(name)]
        same = [found.id for found in lists if found.name.casefold() == name]
        return same[0] if same else lists[0].id if len(lists) == 1 else None

    def on_filter_bar_kept(self, event: FilterBar.Kept) -> None:
        """Back to the cards, with the filter."""
        event.stop()
        self.focus()

    def on_filter_bar_cleared(self, event: FilterBar.Cleared) -> None:
        """All cards again."""
        event.stop()
        self.show_wanted(ALL)
        self.focus()

    def on_filter_bar_save(self, event: FilterBar.Save) -> None:
        """Keep the filter under a name."""
        event.stop()
        self.host.flow(self._save_view(event.text))

    async def _save_view(self, text: str) -> None:
        if self.host.bridge.read_only:
            self.host.say("Saving a view: read only")
            return
        name = await self.host.push_screen_wait(Prompt("Name of the view", done="Save", hint="the palette shows it"))
        if name is not None and name.strip():
            await self.host.bridge.remember(views.filter_key(name.strip()), text)
            self.host.say(f"Saved. {self.host.key_of('palette')} {safe_line(name.strip(), 30)} shows it again.")

    # A new task

    def numbered(self, number: int) -> TaskLine | None:
        """The task of the list that has a number."""
        uid = self.host.uid_at(number)
        return pages.line(self.host.bridge.db, uid) if uid is not None else None

    def do_new(self) -> None:
        """Add below the cursor."""
        self.query_one(QuickAdd).open(self.window.cursor, above=False)

    def do_new_above(self) -> None:
        """Add above the cursor."""
        self.query_one(QuickAdd).open(self.window.cursor, above=True)

    async def add(self, wish: Wish, description: str = "") -> str:
        """As `TaskActions.add`; the new card is in a column of its own."""
        uid = await super().add(wish, description)
        self.go_to(uid)
        return uid

    def on_quick_add_closed(self, event: QuickAdd.Closed) -> None:
        """Back to the cards."""
        event.stop()
        self.focus()

    # The detail

    @property
    def detail(self) -> Detail:
        """The detail below the columns, or on a small screen in their place."""
        return self.query_one(Detail)

    @property
    def is_open(self) -> bool:
        """Whether the detail is shown."""
        return self.has_class("-open")

    def do_open(self) -> None:
        """Show the detail; where it is shown, go into it."""
        if self.is_open or self.host.is_compact:
            self.add_class("-open")
            self.detail.focus_text()
        else:
            self.add_class("-open")
        self.detail.show(self.target())
        self.host.frame_again()

    def do_back(self) -> None:
        """One layer: a drag, the detail's text, the detail, marks, the filter."""
        bar = self.query_one(FilterBar)
        if any(column.window.let_go() for column in self.columns):
            self.end_drag()
        elif self.detail.has_focus_within and not self.host.is_compact:
            self.focus()
        elif self.is_open:
            self.remove_class("-open")
            self.focus()
        elif self.window.marks:
            self.window.clear_marks()
        elif bar.is_open:
            bar.clear()

    def on_row_window_moved(self, event: RowWindow.Moved) -> None:
        """The detail follows the cursor."""
        event.stop()
        self.show_detail()

    def show_detail(self) -> None:
        """Show the card under the cursor in the detail, where that is open."""
        if self.is_open:
            self.detail.show(self.target())

    def on_row_window_opened(self, event: RowMessage) -> None:
        """A double click opens."""
        event.stop()
        self.do_open()

    def footer(self, small: bool) -> tuple[str, ...]:
        """As `Pane.footer`; for the detail there are other things to tell."""
        if self.is_open:
            return ("edit", "status", "note", "back")
        return super().footer(small)
