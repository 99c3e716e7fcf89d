"""The filter of `ls`, with the same words as the screen's."""

from __future__ import annotations

from typing import Final, NamedTuple

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.read.pages.filter import Filter
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.core.snapshots import TaskList


class Wanted(NamedTuple):
    """Which tasks are to be listed: what a task must match, and the names of lists that it must be in, or not."""

    only: Filter = Filter()
    lists: tuple[str, ...] = ()
    other_lists: tuple[str, ...] = ()

    def has(self, home: TaskList) -> bool:
        """Whether tasks of a list are wanted."""
        name = home.name.casefold()
        return name not in self.other_lists and (not self.lists or name in self.lists)


EVERYTHING: Final = Wanted()


def filter_of(text: str, now: int) -> Wanted:
    """Parse a filter as the screen does.

    Raises:
        InvalidArgument: a word of it means nothing.
    """
    if not text:
        return EVERYTHING
    from tui_tasks.tui.inputs import filter_syntax

    parsed = filter_syntax.parse(text)
    if parsed.problem or parsed.sort:
        raise InvalidArgument("filter", parsed.problem or "a list is sorted on the screen alone")
    named = ([term.value.casefold() for term in parsed.lists if term.negated is negated] for negated in (False, True))
    return Wanted(Filter(parsed.of_tasks, now=local_time(now)), *map(tuple, named))
