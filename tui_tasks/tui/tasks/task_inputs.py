"""What is typed above tasks, alike in list and board: the filter, and the number of one that another comes after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tui_tasks.core.read import views
from tui_tasks.core.read.tasks import pages
from tui_tasks.core.read.tasks.filter import Filter, Term
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.inputs.filter_bar import FilterBar
from tui_tasks.tui.inputs.filter_syntax import Parsed
from tui_tasks.tui.tasks.quick_add import QuickAdd
from tui_tasks.tui.tasks.task_actions import TaskActions

# So many lists, the newest, are offered as the end of a word.
_MOST_LISTS = 200


class TaskWords(TaskActions):
    """A pane of tasks with a filter bar and a quick add above them. The pane says how tasks are shown."""

    def show_wanted(self, only: Filter) -> None:
        """Show the tasks that are wanted."""
        raise NotImplementedError

    def nearby(self) -> Iterable[TaskLine]:
        """The tasks whose tags and domains are offered as the end of a word."""
        raise NotImplementedError

    @property
    def is_busy(self) -> bool:
        """As `Pane.is_busy`."""
        bar = self.query_one(FilterBar)
        return self.query_one(QuickAdd).is_open or bar.is_open or bool(self.window.marks)

    def known_words(self) -> Mapping[str, Sequence[str]]:
        """What Tab completes to."""
        seen, rows = self.host.situation, list(self.nearby())
        tags = dict.fromkeys(tag for row in rows for tag in row.tags)
        domains = dict.fromkeys(row.domain for row in rows if row.domain)
        names = [found.name for found in list(seen.lists.values())[-_MOST_LISTS:]]
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
        return Filter(terms, self.host.situation.looked.at, local_time(self.host.now(), self.host.zone))

    def _list_named(self, term: Term) -> int | None:
        name = term.value.casefold()
        lists = [found for found in self.host.situation.lists.values() if found.name.casefold().startswith(name)]
        same = [found.id for found in lists if found.name.casefold() == name]
        return same[0] if same else lists[0].id if len(lists) == 1 else None

    def on_filter_bar_save(self, event: FilterBar.Save) -> None:
        """Keep the filter under a name."""
        event.stop()
        self.host.flow(self._save_view(event.text))

    async def _save_view(self, text: str) -> None:
        if self.host.bridge.read_only:
            self.host.say("Saving a view: read only")
            return
        from tui_tasks.tui.inputs.dialogs import Prompt

        name = await self.host.push_screen_wait(
            Prompt(self.context, "Name of the view", done="Save", hint="the palette shows it")
        )
        if name is not None and name.strip():
            await self.host.bridge.remember(views.filter_key(name.strip()), text)
            self.host.say(f"Saved. {self.host.key_of('palette')} {safe_line(name.strip(), 30)} shows it again.")

    def numbered(self, number: int) -> TaskLine | None:
        """The task of the list that has a number."""
        uid = self.host.uid_at(number)
        return pages.line(self.host.bridge.db, uid) if uid is not None else None
