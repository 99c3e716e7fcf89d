"""Which tasks a pane shows, and in which order.

The filter is parsed and completed, what matches is counted, and a filter is saved as a view. The order is the list's
own, or by urgency, due date, age or agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from textual.timer import Timer
from typing_extensions import override

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import MAX_SORTED
from tui_tasks.core.read.pages.task_filter import ALL, DATED, Filter, Term
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.core.unjournaled import local_values
from tui_tasks.dialects.requests.filter_syntax import Parsed
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.textual_overrides import LEAST_TIMER

if TYPE_CHECKING:
    from tui_tasks.tui.tasks.shown_words import ShownWords
    from tui_tasks.tui.tasks.task_pane import TaskPane

ID_CHARS: Final = 8
"""The first characters of a plan's id, by which plans of one name are told apart."""
# The most lists with tasks that are offered for `list:`, the newest; of several of one name, how many are named.
_MAX_LISTS: Final = 200
_MAX_NAMED: Final = 3
# Seconds after a change at which the tasks that match are counted again; in a list that is so long that it is counted
# in several stretches.
_COUNT_AFTER: Final = 0.15
_COUNT_LONG_AFTER: Final = 2.0
_OPEN: Final = "status:open"
"""The word of a filter that hides what is done."""
OWN: Final = ""
"""The list's own order."""
_CHOICES: Final = (
    ("o", OWN, "own order, as it was arranged"),
    ("u", "urgency", "urgency: open first, by priority"),
    ("d", "due", "due date, the soonest first"),
    ("a", "age", "age: the last change first"),
    ("g", "agent", "agent, by name"),
)


def sorted_by(by: str) -> str:
    """Return what to say of an order: `sorted by urgency`; nothing of a list's own."""
    return f"sorted by {by}" if by else ""


class SortActions(Controller):
    """Sorts the tasks of the list and the board. Both show one order, for all lists that are not too long for it."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context

    @override
    def why_not(self, action: Action) -> str | None:
        """A very long list keeps its own order."""
        if by := self._pane.filter_bar.sort:
            return f"The filter sorts by {by}: change its words."
        return None if self._fits() else f"Over {MAX_SORTED:,} tasks: only the filter sort:due sorts them."

    async def do_sort(self) -> None:
        """Ask for the order."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        now, again = self._context.state.sort, self._context.keymap.key_of("sort")
        choices = [Choice(key, word, "$primary" if by == now else "") for key, by, word in _CHOICES]
        choices.append(Choice(again, "the next of these"))
        lit = next((key for key, by, _ in _CHOICES if by == now), "")
        key = await self._context.ask(Menu(self._context, "Sort by", choices, lit=lit))
        if key is None:
            return
        orders = {letter: by for letter, by, _ in _CHOICES}
        following = [*orders.values(), OWN]
        self._context.state.sort = following[following.index(now) + 1] if key == again else orders[key]
        self._context.navigation.outdate_panes()
        here = self._pane.target()
        self._pane.show_matching(self.applied(self._pane.only))
        if here is not None:
            self._pane.select(here)
        if not self.say_order():
            self._context.say("The list is in its own order.")

    def say_order(self) -> bool:
        """Say by what the list is sorted, and how it gets its own order back; return False where it has that."""
        by = self._pane.only.sort
        if by:
            self._context.say(f"Sorted by {by}. {self._own_order()}.")
        return bool(by)

    def _own_order(self) -> str:
        return f"{self._context.keymap.key_of('sort')} then o restores its own order"

    def applied(self, only: Filter = ALL) -> Filter:
        """Return a filter with the chosen order, unless it sorts by itself."""
        by = self._pane.filter_bar.sort
        if self._fits():
            return msgspec.structs.replace(only, sort=by or self._context.state.sort)
        if by == "due":
            self._context.say(f"over {MAX_SORTED:,} tasks: sort:due shows only those with a due date")
            return msgspec.structs.replace(only, sort=by, terms=tuple(dict.fromkeys((*only.terms, DATED))))
        if by:
            self._context.say(f"over {MAX_SORTED:,} tasks: only sort:due sorts them")
        return msgspec.structs.replace(only, sort=OWN)

    def why_not_move(self) -> str | None:
        """Return the reason for which tasks cannot be moved by hand now; None when they can."""
        by = self._pane.only.sort
        if not by:
            return None
        if self._pane.filter_bar.sort:
            return f"The filter sorts by {by}. {self._context.keymap.key_of('back')} clears it, to move tasks."
        return f"The list is sorted by {by}. {self._own_order()}, to move tasks."

    def _fits(self) -> bool:
        home = self._context.state.current_list
        return home is None or home.total <= MAX_SORTED


class FilterActions(Controller):
    """Opens the filter bar of a pane, and turns its text into a filter."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context
        self._shown: ShownWords | None = None
        self._reading: Timer | None = None
        self.cursor_before: str | None = None
        """The task that the cursor was on before the filter was opened."""
        # The list that was left for one that the filter names, and that one.
        self._turned: tuple[int, int] | None = None

    def do_filter(self) -> None:
        """Begin to filter, or go on typing."""
        self.open()

    def do_hide_done(self) -> None:
        """Show open tasks alone, by a word of the filter."""
        text, shows = self._pane.filter_bar.text, self._context.keymap.key_of("show_done")
        if _OPEN in text.split():
            self._context.say(f"Done tasks are hidden already: {shows} shows them.")
            return
        self.open(f"{text} {_OPEN}".strip(), kept=True)
        self._context.say(f"Only open tasks are shown, by the filter {_OPEN}. {shows} shows all again.")

    def do_show_done(self) -> None:
        """Show tasks of every status again."""
        words, bar = self._pane.filter_bar.text.split(), self._pane.filter_bar
        if _OPEN not in words:
            hides = self._context.keymap.key_of("hide_done")
            self._context.say(f"Done tasks are not hidden: {hides} hides them.")
            return
        if left := " ".join(word for word in words if word != _OPEN):
            self.open(left, kept=True)
        else:
            bar.clear()
        self._context.say("Tasks of every status are shown again.")

    def open(self, text: str | None = None, *, kept: bool = False) -> None:
        """Open the filter bar, with a text if given; `kept`: as if it had been typed to its end."""
        self._pane.uncover()
        bar = self._pane.filter_bar
        if not bar.is_open:
            self.cursor_before = self._pane.row_list.cursor
        bar.open(text, kept=kept)

    def follow(self, other: FilterActions) -> None:
        """Lead Esc back to where it leads in another pane, whose filter is shown here now."""
        self.cursor_before, self._turned = other.cursor_before, other._turned

    def completions(self) -> Mapping[str, Sequence[str]]:
        """Return the values that Tab completes to, by field."""
        state, rows = self._context.state, list(self._pane.nearby())
        tags = dict.fromkeys(tag for row in rows for tag in row.tags)
        domains = dict.fromkeys(row.domain for row in rows if row.domain)
        lists = [home.name for home in state.lists.values() if home.total][-_MAX_LISTS:]
        return {"who": [*sorted(state.spoke), "you"], "list": lists, "tag": list(tags), "domain": list(domains)}

    def filter_of(self, parsed: Parsed) -> Filter:
        """Return the typed filter; go to a list that it names."""
        state, clock = self._context.state, self._context.clock
        terms = parsed.of_tasks
        for term in parsed.lists:
            number = self._list_named(term)
            if number is not None and not term.negated and number != state.list_id:
                self._turned = (self._turned[0] if self._turned is not None else state.list_id, number)
                self._context.navigation.show_list(number)
            elif (number == state.list_id) == term.negated:
                # No task of this list matches.
                terms = (*terms, Term("status", "none"))
        if self._shown is None:
            from tui_tasks.tui.tasks.shown_words import ShownWords  # the first screen has no filter

            self._shown = ShownWords(self._context, self._read_notes_soon)
        now = local_time(clock.now(), clock.zone)
        return Filter(terms, state.seen.changed_tasks, now, parsed.sort, self._shown.on_screen, state.tasks_needing_you)

    def _read_notes_soon(self) -> None:
        if self._reading is None:
            self._reading = self._pane.set_timer(LEAST_TIMER, self._read_notes)

    def _read_notes(self) -> None:
        """Read the notes of some more tasks; after the last ones, show what they match."""
        self._reading = None
        if self._shown is not None and self._shown.read_on(self._context.state.list_id):
            self._read_notes_soon()
        elif self._pane.only:
            self._pane.refreshed()

    def turn_back(self) -> bool:
        """Go back to the list that the filter has left; return False where it has left none."""
        turned, self._turned = self._turned, None
        state = self._context.state
        if turned is None or state.list_id != turned[1] or turned[0] not in state.lists:
            return False
        self._pane.only = ALL
        self._context.navigation.show_list(turned[0])
        return True

    def _list_named(self, term: Term) -> int | None:
        """Return the list of a name or id, of several of the name the one that is shown; else the only list whose name
        begins with it.
        """
        name, state = term.value.casefold(), self._context.state
        by_id = [home.id for home in state.lists.values() if len(name) >= ID_CHARS and home.uid.startswith(name)]
        if len(by_id) == 1:
            return by_id[0]
        lists = [home for home in state.lists.values() if home.name.casefold().startswith(name)]
        same = {home.id: home.uid for home in lists if home.name.casefold() == name}
        if len(same) > 1 and state.list_id not in same:
            ids = " or ".join(f"list:{uid[:ID_CHARS]}" for uid in list(same.values())[:_MAX_NAMED])
            self._context.say(f"{len(same)} lists are called “{safe_line(term.value, 30)}”: {ids}")
            return None
        if same:
            return state.list_id if state.list_id in same else next(iter(same))
        return lists[0].id if len(lists) == 1 else None

    def save(self, text: str) -> None:
        """Ask for a name, and save a filter under it."""
        self._context.run(self._save(text))

    async def _save(self, text: str) -> None:
        from tui_tasks.tui.inputs.dialogs import LineDialog

        context = self._context
        if context.link.read_only:
            context.say("Saving a view: read only")
            return
        asked = LineDialog(context, "Name of the view", draft="view", done="Save", hint="the palette shows it")
        name = await context.ask(asked)
        if name is not None and name.strip():
            await context.link.remember(local_values.filter_key(name.strip()), text)
            context.say(f"Saved. {context.keymap.key_of('palette')} {safe_line(name.strip(), 30)} shows it again.")


async def rename_view(context: Context, name: str) -> None:
    """Ask for another name of a saved view, which no other one has."""
    from tui_tasks.tui.inputs.dialogs import LineDialog

    shown = safe_line(name, 60)
    asked = LineDialog(context, f"New name of the view {shown}", name, draft=f"rename view {name}", done="Rename")
    new = (await context.ask(asked) or "").strip()
    saved = local_values.filters(context.db)
    if not new or new == name or name not in saved:
        return
    if new in saved:
        context.say(f"There is a view {safe_line(new, 60)} already.")
        return
    await context.link.remember(local_values.filter_key(new), saved[name])
    await context.link.remember(local_values.filter_key(name), None)
    context.say(f"The view {shown} is called {safe_line(new, 60)} now.")


async def delete_view(context: Context, name: str) -> None:
    """Delete a saved view, and say its filter: no undo brings it back."""
    text = local_values.filters(context.db).get(name, "")
    await context.link.remember(local_values.filter_key(name), None)
    context.say(f"Deleted the view {safe_line(name, 60)}: {safe_line(text, 60)}")


class MatchCounter:
    """Shows in the filter bar of a pane how many tasks of the list match."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._next: Timer | None = None
        # The list and the filter that are counted, and whether tasks have changed since that began.
        self._counted: tuple[int, Filter] | None = None
        self._is_outdated = False

    def count(self, only: Filter) -> None:
        """Count the tasks that match a filter."""
        self.stop()
        home = self._pane.context.state.current_list
        if not only or home is None:
            self._pane.filter_bar.show_count(f"{count(home.total, 'task')}" if home is not None else "")
            return
        self._counted = home.id, only
        self._read_on(list_pages.FIRST, 0, is_shown=True)

    def count_again(self) -> None:
        """Count again soon, as tasks have changed; a count that has begun ends first."""
        if self._next is not None:
            self._is_outdated = True
        elif self._counted is not None:
            self._wait(_COUNT_AFTER)
        elif self._pane.filter_bar.is_open:
            # A filter that only names a list shows all of it.
            self.count(self._pane.only)

    def _wait(self, seconds: float) -> None:
        self._is_outdated = False
        self._read_later(seconds, list_pages.FIRST, 0, is_shown=False)

    def _read_later(self, seconds: float, rank: str, so_far: int, *, is_shown: bool) -> None:
        """Count from a rank on in some seconds, unless the count has ended: a timer that is due runs though stopped."""
        counted = self._counted

        def read_on() -> None:
            if self._counted is counted:
                self._read_on(rank, so_far, is_shown=is_shown)

        self._next = self._pane.set_timer(seconds, read_on)

    def _read_on(self, rank: str, so_far: int, *, is_shown: bool) -> None:
        """Count from a rank on; `so_far` match before it. `is_shown`: shown as it grows."""
        assert self._counted is not None
        self._next = None
        context, bar, (list_id, only) = self._pane.context, self._pane.filter_bar, self._counted
        home = context.state.lists.get(list_id)
        more, end = list_pages.count_on(context.db, list_id, rank, only)
        so_far += more
        if is_shown or end is None:
            bar.show_count(f"{so_far:,}{'+' if end else ''} of {home.total if home is not None else 0:,}")
        if end is not None:
            self._read_later(LEAST_TIMER, end, so_far, is_shown=is_shown)
        elif self._is_outdated:
            self._wait(_COUNT_AFTER if rank == list_pages.FIRST else _COUNT_LONG_AFTER)

    def stop(self) -> None:
        """Stop counting."""
        if self._next is not None:
            self._next.stop()
        self._next, self._counted, self._is_outdated = None, None, False
