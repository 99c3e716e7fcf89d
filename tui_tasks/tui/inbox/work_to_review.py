"""Work that waits for review in the inbox: what its agent says of it, its files, and what there is to merge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import DatabaseRefused, Refusal
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.store import Store
from tui_tasks.runner.git import GitFailed
from tui_tasks.text.times import ago
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inbox.inbox_lines import InboxItem, RowSource
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, block, quoted
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.work import work_actions
from tui_tasks.tui.work.review_rows import file_summary

_MAX_FILES: Final = 30
_GAP: Final = "   "


class WorkFiles:
    """The files that works have changed, read by git in a thread, again when there is something else to review."""

    def __init__(self, context: Context, come: Callable[[], None]) -> None:
        """`come` is called when files have been read."""
        self._context = context
        self._come = come
        self._found: dict[str, tuple[object, Sequence[str]]] = {}
        self._turn = asyncio.Lock()

    def of(self, work: Work) -> Sequence[str]:
        """Return the files of a work as `M src/keys.py +31 -7`; none while they are read, or cannot be."""
        version = work.state, work_queries.counts(self._context.db, work.uid)
        known = self._found.get(work.uid)
        if known is None or known[0] != version:
            self._found[work.uid] = version, known[1] if known is not None else ()
            self._context.run(self._read(work, version))
        return self._found[work.uid][1]

    async def _read(self, work: Work, version: object) -> None:
        try:
            async with self._turn:
                files = await asyncio.to_thread(self._ask_git, work)
        except (GitFailed, OSError, Refusal, DatabaseRefused):
            files = []
        if files != self._found[work.uid][1]:
            self._found[work.uid] = version, files
            self._come()

    def _ask_git(self, work: Work) -> Sequence[str]:
        from tui_tasks.work.accepting import Acceptance

        with Store(self._context.link.path, makes=False) as store:
            files = Acceptance(store, self._context.link.clock).review(work).files
        more = [f"and {len(files) - _MAX_FILES} more"] if len(files) > _MAX_FILES else []
        return [*map(file_summary, files[:_MAX_FILES]), *more]


class WorkToReview(RowSource[Work]):
    """Lists works that are ready, or do not merge; Enter reviews one."""

    KIND = "work"
    RANK = 3
    ONE, COUNTED = "work to review", "to review"
    OPEN = "work_review"
    FOOT = ("work_review", "agent_message", "agent_peek")

    def __init__(
        self,
        context: Context,
        item_here: Callable[[], InboxItem | None],
        has_stood: Callable[[InboxItem], bool],
        files_come: Callable[[], None],
    ) -> None:
        """`files_come` is called when the files of a work have been read; the others are those of `RowSource`."""
        super().__init__(context, item_here, has_stood)
        self._files = WorkFiles(context, files_come)

    @override
    def items(self) -> Iterator[InboxItem]:
        projects = self.context.state.projects
        for work in work_queries.ready(self.context.db) if self.context.state.reviewable else ():
            task = list_pages.line(self.context.db, work.task_uid)
            if task is None or task.deleted or not projects.shows(projects.of_task(task.uid)):
                continue
            word = "conflict" if work.state == "conflict" else "ready"
            since = work_queries.ready_since(self.context.db, work)
            title, who = task.name, work.agent
            yield InboxItem(
                f"work:{work.uid}", self.KIND, self.RANK, since, work, "reviewable", title, who, word, task.number
            )

    @override
    def more(self, row: Work) -> list[Part]:
        counts = work_queries.counts_text(self.context.db, row.uid)
        files = _GAP.join(filter(None, (counts, *self._files.of(row))))
        texts = (files, "$muted"), (f'"{row.summary}"' if row.summary else "", "$muted")
        return [part for part in ((row.message or "", "$state-failed"), *texts) if part[0]]

    def lines(self, row: Work, room: int) -> list[Drawn]:
        """Return the task, who worked on it and where, the agent's summary, and what stands in the way."""
        task = list_pages.line(self.context.db, row.task_uid)
        if task is None:
            return []
        who = f"{agent_text.who(row.agent, 40)} started {ago(row.started_at, self.context.clock.now())}"
        host = work_queries.host_of_other(self.context.db, row)
        at = f" on {host}" if host is not None else ""
        where = f"{row.branch or row.worktree}{at} into {row.base or 'no branch'}"
        counts = work_queries.counts_text(self.context.db, row.uid)
        lines = block(f"#{task.number} {task.name}", room, "bold") + block(f"{who}: {where}", room, "$muted")
        lines += block(counts, room) if counts else []
        for file in self._files.of(row):
            lines += block(file, max(8, room - 2), indent=3)
        if row.message:
            lines += [[], *block(row.message, room, "$state-failed")]
        if row.summary:
            lines += [[], *quoted(row.summary, room, ascii_only=self.context.ascii_only)]
        key = self.context.keymap.key_of(self.OPEN)
        return [
            *lines,
            [],
            *block(f"{key} shows files, diff, commits and checks, to accept it or send it back.", room, "$muted"),
        ]

    def do_work_review(self) -> None:
        """Review it."""
        row = self.row
        if row is not None and not work_actions.review(self.context, row.task_uid, row.agent):
            self.context.say("It no longer waits for review.")
