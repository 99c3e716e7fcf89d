"""The filter of `ls`, with the same words as the screen's."""

from __future__ import annotations

from typing import Final, NamedTuple

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.read.pages.filter import Filter
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.core.snapshots import TaskList


class ListFilter(NamedTuple):
    """Which tasks `ls` lists.

    Attributes:
        only: what a task must match.
        lists: case-folded names of lists, of which a task must be in one; empty: in any.
        other_lists: case-folded names of lists that a task must not be in.
        sort: the field of a task by which they are sorted, over all lists; empty: as the lists have them.
    """

    only: Filter = Filter()
    lists: tuple[str, ...] = ()
    other_lists: tuple[str, ...] = ()
    sort: str = ""

    def has(self, home: TaskList) -> bool:
        """Return whether tasks of a list can match."""
        name = home.name.casefold()
        return name not in self.other_lists and (not self.lists or name in self.lists)


EVERYTHING: Final = ListFilter()


def filter_of(text: str, now: int) -> ListFilter:
    """Parse a filter as the screen does.

    Raises:
        InvalidArgument: a word of it has no meaning.
    """
    if not text:
        return EVERYTHING
    from tui_tasks.tui.inputs import filter_syntax

    parsed = filter_syntax.parse(text)
    if parsed.problem:
        raise InvalidArgument("filter", parsed.problem)
    named, others = (
        tuple(term.value.casefold() for term in parsed.lists if term.negated is negated) for negated in (False, True)
    )
    return ListFilter(Filter(parsed.of_tasks, now=local_time(now)), named, others, parsed.sort)
