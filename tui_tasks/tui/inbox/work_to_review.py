"""Work that waits for the human's review in the inbox: what its agent says of it, and what there is to merge."""

from __future__ import annotations

from collections.abc import Iterator

from tui_tasks.core.read import work_queries
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.snapshots import Work
from tui_tasks.text.times import ago
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inbox.row_source import InboxItem, RowSource
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.work import work_actions


class WorkToReview(RowSource[Work]):
    """Lists works that are ready, or do not merge; Enter reviews one."""

    KIND = "work"
    RANK = 3
    ONE, COUNTED = "work to review", "to review"
    OPEN = "work_review"
    FOOT = ("work_review", "agent_message", "agent_peek")

    def items(self) -> Iterator[InboxItem]:
        """As `RowSource.items`."""
        projects = self.context.state.projects
        for work in work_queries.ready(self.context.db) if self.context.state.reviewable else ():
            task = list_pages.line(self.context.db, work.task_uid)
            if task is None or task.deleted or not projects.shows(projects.of_task(task.uid)):
                continue
            counts = work_queries.counts_text(self.context.db, work.uid)
            title = "   ".join(filter(None, (f"#{task.number} {task.name}", counts)))
            word = "conflict" if work.state == "conflict" else "ready"
            since = work_queries.ready_since(self.context.db, work)
            yield InboxItem(
                f"work:{work.uid}", self.KIND, self.RANK, since, work, "reviewable", title, work.agent, word
            )

    def lines(self, row: Work, room: int) -> list[Drawn]:
        """Return the task, who worked on it and where, the agent's summary, and what stands in the way."""
        task = list_pages.line(self.context.db, row.task_uid)
        if task is None:
            return []
        who = f"{agent_text.who(row.agent, 40)} started {ago(row.started_at, self.context.clock.now())}"
        where = f"{row.branch or row.worktree} into {row.base or 'no branch'}"
        counts = work_queries.counts_text(self.context.db, row.uid)
        lines = block(f"#{task.number} {task.name}", room, "bold") + block(f"{who}: {where}", room, "$muted")
        lines += block(counts, room) if counts else []
        if row.message:
            lines += [[], *block(row.message, room, "$state-failed")]
        if row.summary:
            lines += [[], *block(f'"{row.summary}"', room)]
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
            self.context.say("It is not to be reviewed any more.")
