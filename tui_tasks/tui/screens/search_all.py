"""The search in all lists: the human types a filter, and each matching task is shown with its list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from textual.timer import Timer

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.pages.task_filter import Filter
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.core.snapshots import TaskList
from tui_tasks.dialects.requests.filter_syntax import Parsed, parse
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.screens.picker import EntriesFound, PaletteEntry, Picker
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks.filter_actions import ShownWords
from tui_tasks.tui.widgets.foot_line import FootLine

# The most tasks shown; more than that call for a narrower filter.
MAX_FOUND: Final = 200
# Lists searched between two pauses, in which keys are handled, and the length of a pause in seconds.
_AT_ONCE: Final = 20
_PAUSE: Final = 0.005


class SearchAll(Picker):
    """Searches the lists one after the other, the current one first, and goes to the chosen task."""

    def __init__(self, context: Context, *, chosen: Callable[[str], None] | None = None) -> None:
        """`chosen` is called with the uid of the chosen task, instead of going there."""
        super().__init__(context, "/", ())
        self._chosen = chosen or self._go_to
        self._found: list[TaskLine] = []
        self._wanted = Filter()
        self._homes: list[TaskList] = []
        self._rank = list_pages.FIRST
        self._going_on: Timer | None = None

    def on_mount(self) -> None:
        """Show what can be typed."""
        self._search("")

    def _search(self, text: str) -> None:
        """Start again with another filter."""
        parsed = parse(text, typing=True)
        if self._going_on is not None:
            self._going_on.stop()
        self.context.say(parsed.problem)
        self._found.clear()
        now, state = local_time(self.context.clock.now(), self.context.clock.zone), self.context.state
        self._wanted = Filter(parsed.of_tasks, state.seen.changed_tasks, now, needing=state.tasks_needing_you)
        self._shown = ShownWords(self.context)
        self._homes = self._lists(parsed) if parsed.terms else []
        self._rank = list_pages.FIRST
        self._go_on()

    def _lists(self, parsed: Parsed) -> list[TaskList]:
        """Return the lists to search: those of `list:` if there is any, else all."""
        context = self.context
        named = [term for term in parsed.lists if not term.negated]
        without = [term.value.casefold() for term in parsed.lists if term.negated]

        def is_meant(home: TaskList) -> bool:
            name = home.name.casefold()
            wanted = not named or any(name.startswith(term.value.casefold()) for term in named)
            return wanted and not any(name.startswith(value) for value in without)

        # An archived list is searched only when it is named.
        lists = context.state.lists.values()
        homes = [home for home in lists if home.total and is_meant(home) and (named or not home.archived)]
        return sorted(homes, key=lambda home: home.id != context.state.list_id)

    def _go_on(self) -> None:
        """Search the next lists, or the next part of a long one."""
        for _ in range(_AT_ONCE):
            if not self._homes or len(self._found) >= MAX_FOUND:
                break
            room = MAX_FOUND - len(self._found)
            home = self._homes[0].id
            wanted = msgspec.structs.replace(self._wanted, shown=partial(self._shown.of_list, home))
            page = list_pages.after(self.context.db, home, self._rank, room, wanted)
            self._found += page
            if page.reached is not None:
                self._rank = page.reached
                break
            self._rank = list_pages.FIRST
            del self._homes[0]
        is_over = not self._homes or len(self._found) >= MAX_FOUND
        self._show(is_over=is_over)
        self._going_on = None if is_over else self.set_timer(_PAUSE, self._go_on)

    def _show(self, *, is_over: bool) -> None:
        cursor = self.window.cursor
        entries = [self._entry(task) for task in self._found]
        if not self._wanted and not self._found:
            self._drawing.empty = "words, #12, #tag, @agent, !priority, status:open, due:<3d, list:NAME"
        else:
            self._drawing.empty = "Nothing matches in any list: try fewer words." if is_over else "Looking further..."
        self.window.show(EntriesFound(entries, ""), cursor)
        count = f"{len(self._found)}{'' if is_over and len(self._found) < MAX_FOUND else '+'}"
        head = [(count, "found", "")] if self._found else []
        go = "Go there" if self._chosen == self._go_to else "This one"
        self.query_one(FootLine).hint(("Enter", go, ""), ("↑↓", "Choose", ""), ("Esc", "Close", ""), *head)

    def _entry(self, task: TaskLine) -> PaletteEntry:
        context = self.context
        state = look(context.state.status_of(task)).mark(ascii_only=context.ascii_only)
        number = f"#{task.number}".ljust(context.state.number_width + 3)
        home = context.state.lists.get(task.list_id)
        where = safe_line(home.name, 24, ascii_only=context.ascii_only) if home is not None else ""
        return PaletteEntry(f"{state} {number}{task.name}", where, run=lambda: self._chosen(task.uid))

    def _go_to(self, uid: str) -> None:
        self.context.navigation.close_overlays()
        self.context.navigation.go_to(uid)
