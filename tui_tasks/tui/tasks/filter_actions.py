"""The filter of a pane of tasks: parsing, completion, counting what matches, and saving a filter as a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from textual.timer import Timer

from tui_tasks.core.read import views
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.filter import Filter, Term
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.inputs.filter_syntax import Parsed
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.tasks.mark_actions import PAUSE

if TYPE_CHECKING:
    from tui_tasks.tui.tasks.task_pane import TaskPane


# The most lists offered for `list:`, newest first.
_MAX_LISTS: Final = 200


class FilterActions(Controller):
    """Opens the filter bar of a pane, and turns its text into a filter."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context
        self.cursor_before: str | None = None
        """The task that the cursor was on before the filter was opened."""

    def do_filter(self) -> None:
        """Begin to filter, or go on typing."""
        self.open()

    def open(self, text: str | None = None) -> None:
        """Open the filter bar, with a text if given."""
        bar = self._pane.filter_bar
        if not bar.is_open:
            self.cursor_before = self._pane.row_list.cursor
        bar.open(text)
        self._pane.make_room()

    def completions(self) -> Mapping[str, Sequence[str]]:
        """Return the values that Tab completes to, by field."""
        state, rows = self._context.state, list(self._pane.nearby())
        tags = dict.fromkeys(tag for row in rows for tag in row.tags)
        domains = dict.fromkeys(row.domain for row in rows if row.domain)
        lists = [found.name for found in list(state.lists.values())[-_MAX_LISTS:]]
        return {"who": [*sorted(state.spoke), "you"], "list": lists, "tag": list(tags), "domain": list(domains)}

    def filter_of(self, parsed: Parsed) -> Filter:
        """Return the typed filter; go to a list that it names."""
        state, clock = self._context.state, self._context.clock
        terms = parsed.of_tasks
        for term in parsed.lists:
            found = self._list_named(term)
            if found is not None and not term.negated and found != state.list_id:
                self._context.navigation.show_list(found)
            elif (found == state.list_id) == term.negated:
                # No task of this list matches.
                terms = (*terms, Term("status", "none"))
        return Filter(terms, state.looked.at, local_time(clock.now(), clock.zone), parsed.sort)

    def _list_named(self, term: Term) -> int | None:
        """Return the list of a name, else the only list whose name begins with it."""
        name = term.value.casefold()
        lists = [found for found in self._context.state.lists.values() if found.name.casefold().startswith(name)]
        same = [found.id for found in lists if found.name.casefold() == name]
        return same[0] if same else lists[0].id if len(lists) == 1 else None

    def save(self, text: str) -> None:
        """Ask for a name, and save a filter under it."""
        self._context.run(self._save(text))

    async def _save(self, text: str) -> None:
        from tui_tasks.tui.inputs.dialogs import LineDialog

        context = self._context
        if context.link.read_only:
            context.say("Saving a view: read only")
            return
        name = await context.ask(LineDialog(context, "Name of the view", done="Save", hint="the palette shows it"))
        if name is not None and name.strip():
            await context.link.remember(views.filter_key(name.strip()), text)
            context.say(f"Saved. {context.keymap.key_of('palette')} {safe_line(name.strip(), 30)} shows it again.")


class MatchCounter:
    """Shows in the filter bar of a pane how many tasks of the list match."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._next: Timer | None = None

    def count(self, only: Filter, rank: str = list_pages.FIRST, so_far: int = 0) -> None:
        """Count from a rank on; `so_far` match before it."""
        self.stop()
        context, bar = self._pane.context, self._pane.filter_bar
        found = context.state.current_list
        if not only or found is None:
            bar.say(f"{count(found.total, 'task')}" if found is not None else "")
            return
        more, end = list_pages.count_on(context.db, context.state.list_id, rank, only)
        so_far += more
        bar.say(f"{so_far:,}{'+' if end else ''} of {found.total:,}")
        if end is not None:
            self._next = self._pane.set_timer(PAUSE, lambda: self.count(only, end, so_far))

    def stop(self) -> None:
        """Stop counting."""
        if self._next is not None:
            self._next.stop()
        self._next = None
