"""The rows that stood on screen long enough to be read: a key acts on no other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from time import monotonic
from typing import Any

from tui_tasks.core.snapshots import Ask
from tui_tasks.tui.agents.answering import AskView, Reading
from tui_tasks.tui.inbox.ask_detail import AskDetail, RowsAndDetail
from tui_tasks.tui.inbox.ask_rows import InboxItem, InboxLine, RowSource
from tui_tasks.tui.rows.row_list import VirtualList


class RowsRead:
    """Notes what is painted of the rows and of the detail of the row under the cursor."""

    def __init__(
        self, reading: Reading, sources: Mapping[str, RowSource[Any]], rows: VirtualList[InboxLine], both: RowsAndDetail
    ) -> None:
        """`both` shows the detail beside or below `rows`."""
        self._reading = reading
        self._sources = sources
        self._rows = rows
        self._both = both
        # Since when each question is listed, and when a marked row was last taken away by others.
        self._listed_since: dict[str, float] = {}
        self._marks_lost_at = -inf

    def listed(self, asks: Iterable[Ask]) -> None:
        """Note which questions are listed from now on."""
        now = monotonic()
        self._listed_since = {ask.uid: self._listed_since.get(ask.uid, now) for ask in asks}

    def marks_lost(self) -> None:
        """Note that others took away a marked row: without marks a key is about the row under the cursor."""
        self._marks_lost_at = monotonic()

    def painted(self, item: InboxItem | None, view: AskView | None, detail: AskDetail) -> None:
        """Note what is on screen; `item` or `view` is the row under the cursor."""
        version: object = view.version if view is not None and view.ask.state == "open" else None
        to_end = item is None and detail.ends_by(version, self._both.seen_lines)
        if item is not None:
            version = self._version_of(item)
            self._sources[item.kind].seen(item.row, self._both.seen_lines)
        self._reading.painted(version, to_end=to_end)
        rows = [line for line in self._rows.rows_on_screen if isinstance(line, InboxItem)]
        for kind, source in self._sources.items():
            there = [line.row for line in rows if line.kind == kind]
            source.on_screen(there, item.row if item is not None and item.kind == kind else None)

    def has_stood(self, item: InboxItem) -> bool:
        """Return whether a row had stood under the cursor for long enough when the key was pressed."""
        is_marked_set_whole = self._reading.is_long_since(self._marks_lost_at)
        return is_marked_set_whole and self._reading.has_stood(self._version_of(item))

    def was_listed(self, uid: str) -> bool:
        """Return whether a question had been listed for long enough when the key was pressed."""
        since = self._listed_since.get(uid)
        return since is not None and self._reading.is_long_since(since)

    def _version_of(self, item: InboxItem) -> object:
        return item.uid, self._sources[item.kind].version(item.row)
