"""Pages of long lists: the arguments that choose one, and its JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import closing
from itertools import islice
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Raw

from tui_tasks.core.engine.database import Database
from tui_tasks.dialects.json_shapes.long_values import LongValue, json_array
from tui_tasks.dialects.requests.arguments import Arguments, Natural, TaskUid

T = TypeVar("T")

After = Annotated[TaskUid, Meta(description="The last one read.")]
# Whether only ids, titles and statuses are returned.
Brief = bool


class Page(Arguments, kw_only=True):
    """The arguments that choose a page of a list of tasks."""

    limit: Natural | None = None
    after: After | None = None
    brief: Brief = False


def page_array(
    db: Database,
    items: Generator[T, None, None],
    limit: int | None,
    to_json: Callable[[T], dict[str, Any]],
    keys: Collection[str] | None = None,
) -> Raw | LongValue:
    """Return the first `limit` items as an array, each converted by `to_json`; with `keys`, only those members."""
    with closing(items):
        chosen = map(to_json, islice(items, limit))
        return json_array(db, chosen if keys is None else ({key: item[key] for key in keys} for item in chosen))
