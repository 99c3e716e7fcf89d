"""Long lists: what a tool that reads one takes, and the part of the list as it is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import closing
from itertools import islice
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Raw

from tui_tasks.core.engine.database import Database
from tui_tasks.dialects.json_shapes.long_values import LongValue, array
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


def listed(
    db: Database,
    items: Generator[T, None, None],
    limit: int | None,
    shown: Callable[[T], dict[str, Any]],
    keys: Collection[str] | None = None,
) -> Raw | LongValue:
    """The first `limit` of the items as an array, each as it is shown, with these keys alone where they are given."""
    with closing(items):
        chosen = map(shown, islice(items, limit))
        return array(db, chosen if keys is None else ({key: item[key] for key in keys} for item in chosen))
