"""The lines of the inbox: matching questions and rows of each source, in order."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import ask_queries
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.inbox.ask_groups import AskGroups
from tui_tasks.tui.inbox.inbox_items import FoldedAsks, InboxItem, InboxLine, RowSource, number_waiting, says, totals
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.state.context import Context


class InboxLines:
    """Reads the lines. `listed` has them, the most urgent kind first, each kind from the oldest."""

    def __init__(self, context: Context, sources: Mapping[str, RowSource[Any]]) -> None:
        self._context = context
        self._sources = sources
        self._groups = AskGroups()
        self.filter = ""
        """The words that hide other lines."""
        self.listed: InMemorySource[InboxLine] = InMemorySource(lambda line: line.uid, self._order)

    def read(self, under: Ask | None = None) -> set[str]:
        """Read all lines; return the keys of those that have changed. `under`, a question, stays when it is closed."""
        words = self.filter.casefold().split()
        lines: list[InboxLine] = [*self._groups.lines(self.asks())]
        lines += [item for source in self._sources.values() for item in source.items()]
        rows = [line for line in lines if all(word in says(line) for word in words)]
        if under is not None and all(line.uid != under.uid for line in rows):
            # It may be missing when the database was replaced or the past is shown.
            with contextlib.suppress(NotFound):
                rows.append(ask_queries.ask(self._context.db, under.uid))
        return self.listed.replace(rows)

    def title(self, marked: int) -> list[Part]:
        """Return ` Inbox   5 waiting   2 questions  3 failed`; `marked`: how many rows are marked."""
        waiting = number_waiting(self.listed.rows)
        words = f"{waiting} waiting" if waiting else "nothing waits"
        words += f', with "{safe_line(self.filter, 20)}"' if self.filter else ""
        words += f", {marked} marked" if marked else ""
        kinds = totals(self.listed.rows, self._sources)
        parts: list[Part] = [(" Inbox", "bold"), (f"   {words}", "$state-needs-you" if waiting else "$muted")]
        return [*parts, (f"   {kinds}", "$muted")] if kinds else parts

    def asks(self) -> list[Ask]:
        """Return the open questions of the chosen project."""
        projects = self._context.state.projects
        return [ask for ask in self._context.state.asks if projects.shows(projects.of_ask(ask))]

    def unfold(self, folded: FoldedAsks) -> None:
        """List each of the folded questions from now on."""
        self._groups.unfold(folded.agent)

    def unfold_of(self, uid: str | None) -> None:
        """List each question of the agent that asks the one with a uid."""
        named = next((ask for ask in self.asks() if ask.uid == uid), None)
        if named is not None:
            self._groups.unfold(named.agent)

    def next_after(self, key: str | None, later: set[str]) -> str | None:
        """Return the key of the next line after one, then from the top, that waits and was not put off."""
        rows = self.listed.rows
        at = next((at for at, line in enumerate(rows) if line.uid == key), -1)
        around = rows[at + 1 :] + rows[: max(at, 0)]
        return next((line.uid for line in around if _waits(line, later)), None)

    def _order(self, line: InboxLine) -> tuple[Any, ...]:
        """Return what lines are sorted by: their urgency, then their age."""
        if isinstance(line, InboxItem):
            return line.rank, line.at, line.uid
        return 0, *self._groups.order(line)


def _waits(line: InboxLine, later: set[str]) -> bool:
    return not isinstance(line, Ask) or (line.state == "open" and line.uid not in later)
