"""Long lists in pages: what a tool that reads one takes, and which part of the list that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from msgspec import Meta

from tui_tasks.core.errors import NotFound
from tui_tasks.dialects.requests.arguments import Arguments, Natural, TaskUid

T = TypeVar("T")

After = Annotated[TaskUid, Meta(description="The last one read.")]
# Only ids, titles and statuses.
Brief = bool


class Page(Arguments, kw_only=True):
    """What chooses a part of a list of tasks."""

    limit: Natural | None = None
    after: After | None = None
    brief: Brief = False


def page(items: Sequence[T], given: Any, uid: Callable[[T], str]) -> list[T]:
    """The items after the one that `given.after` names, `given.limit` at the most.

    Raises:
        NotFound: that one is not, or no longer, among them.
    """
    begin = 0
    if given.after is not None:
        begin = next((at for at, item in enumerate(items, 1) if uid(item) == given.after), 0)
        if not begin:
            raise NotFound("task", given.after)
    return list(items[begin : None if given.limit is None else begin + given.limit])
