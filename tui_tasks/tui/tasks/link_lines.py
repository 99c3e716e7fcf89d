"""The lines of a task's links in its detail, with what git reports on them once that has been read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.widget import Widget

from tui_tasks.core.schema.work_links import OF_GIT, Link
from tui_tasks.core.snapshots import Task
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.tui.painting.text_lines import Drawn

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# Seconds before git is run: nothing is read for tasks that the cursor only passes.
_PAUSE: Final = 0.15
# At most so many links of a task are looked up.
_MAX_ASKED: Final = 10


class LinkLines:
    """Runs git in a thread, for one task at a time. `widget` runs the workers; `again` draws what was read."""

    def __init__(self, context: Context, widget: Widget, again: Callable[[], None]) -> None:
        self._context = context
        self._widget = widget
        self._again = again
        self._task: tuple[str, int] | None = None
        self._facts: dict[str, str] = {}

    def read(self, task: Task | None) -> None:
        """Look the links of a task up, unless that was done for this version of the task."""
        at = (task.uid, task.version) if task is not None else None
        if at == self._task:
            return
        if self._task is None or at is None or at[0] != self._task[0]:
            self._facts = {}
        self._task = at
        links = [link for link in task.links if link["kind"] in OF_GIT][:_MAX_ASKED] if task else []
        if not links or task is None:
            return
        from tui_tasks.tui.tasks.link_facts import folder_of

        folder = folder_of(self._context, task)
        if folder is not None:
            self._widget.run_worker(self._ask(folder, links, at), exclusive=True, group="links", exit_on_error=False)

    async def _ask(self, folder: Path, links: list[Link], at: tuple[str, int] | None) -> None:
        await asyncio.sleep(_PAUSE)
        for link in links:
            fact = await asyncio.to_thread(_asked, folder, link)
            if at != self._task:
                return
            self._facts[_key(link)] = fact
            self._again()

    def lines(self, task: Task, room: int) -> list[Drawn]:
        """Return the lines of a task's links, below a title with the key that opens them."""
        if not task.links:
            return []
        key = self._context.keymap.key_of("open_links")
        drawn: list[Drawn] = [(), [(" Links", "$muted"), (f"  {key} opens", "$muted")]]
        for link in task.links:
            kind = link["kind"].replace("_", " ")
            target = safe_line(link["target"], max(8, room - cell_len(kind) - 1))
            fact = safe_line(self._facts.get(_key(link), ""), max(0, room - cell_len(kind) - cell_len(target) - 3))
            drawn.append([(f" {kind} ", "$muted"), (target, ""), (f"  {fact}" if fact else "", "$muted")])
        return drawn


def _key(link: Link) -> str:
    return f"{link['kind']}:{link['target']}"


def _asked(folder: Path, link: Link) -> str:
    from tui_tasks.runner.git import GitFailed
    from tui_tasks.tui.tasks.link_facts import facts

    try:
        return facts(folder, link)
    except GitFailed:
        return f"not in {folder.name}"
