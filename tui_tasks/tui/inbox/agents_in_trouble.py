"""Agents in trouble in the inbox: tasks in progress whose agent is gone, and agents that are stuck or suspended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tui_tasks.core.read.agents.fleet import Member
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import ask_status
from tui_tasks.tui.inbox.row_source import InboxItem, RowSource
from tui_tasks.tui.painting.text_lines import Drawn, block

_STUCK: Final = ("stuck", "stopped")
"""The states of an agent that is there and does not go on."""


class LeftTasks(RowSource[TaskLine]):
    """Lists the tasks in progress whose agent is gone; sets their status, so that others can go on."""

    KIND = "left"
    RANK = 1
    ONE, COUNTED = "task of an agent that is gone", "gone"
    OPEN = "left_open"
    FOOT = ("left_give_back", "agent_message", "left_open")

    def items(self) -> Iterator[InboxItem]:
        """As `RowSource.items`."""
        for uid in self.context.state.left:
            row = list_pages.line(self.context.db, uid)
            if row is not None:
                title = f"#{row.number} {row.name}: {agent_text.who(row.who)} is gone"
                yield InboxItem(
                    f"left:{uid}", self.KIND, self.RANK, row.updated_at, row, "stuck", title, row.who, "gone"
                )

    def lines(self, row: TaskLine, room: int) -> list[Drawn]:
        """Return its name, its agent, what that said last, and the description."""
        task = task_queries.task(self.context.db, row.uid)
        who = f"{agent_text.who(row.who, 40)} is gone, changed {ago(row.updated_at, self.context.clock.now())}"
        lines = block(f"#{row.number} {row.name}", room, "bold") + block(who, room, "$state-overdue")
        if said := task_records.last_said(self.context.db, row.uid, row.who):
            lines += block(f'"{said}"', room)
        return lines + ([[], *block(task.description, room)] if task.description else [])

    async def do_left_give_back(self) -> None:
        """Ask for the status of the task that the agent left."""
        row = self.row
        if row is not None:
            await ask_status(self.context, row.uid, f"#{row.number} “{safe_line(row.name, 40)}”")

    def do_left_open(self) -> None:
        """Show the task among the others of its list."""
        row = self.row
        if row is not None:
            self.context.navigation.close_overlays()
            self.context.navigation.go_to(row.uid)


class StuckAgents(RowSource[Member]):
    """Lists the agents that are stuck or suspended, and leave no question and no task."""

    KIND = "stuck"
    RANK = 1
    ONE, COUNTED = "stuck agent", "stuck"
    OPEN = "stuck_open"
    FOOT = ("agent_message", "agent_pause", "stuck_open")

    def items(self) -> Iterator[InboxItem]:
        """As `RowSource.items`."""
        state = self.context.state
        for row in state.members:
            if row.state not in _STUCK or row.ask is not None or row.name in state.left.values():
                continue
            if state.projects.shows_member(row):
                why, _ = agent_text.matter(row, self.context, row.state)
                since = row.since if row.since is not None else row.last_seen
                yield InboxItem(
                    f"stuck:{row.name}", self.KIND, self.RANK, since, row, row.state, why, row.name, row.state
                )

    def lines(self, row: Member, room: int) -> list[Drawn]:
        """Return its name, why it does not go on, its task, and its last words."""
        why, color = agent_text.matter(row, self.context, row.state)
        lines = block(agent_text.who(row.name, 40), room, "bold") + block(why, room, color)
        if row.task is not None:
            lines += block(f"#{row.task.number} {row.task.name}", room)
        said = agent_text.latest_words(row.word)
        return lines + ([[], *block(f'"{said}"', room, "$muted")] if said else [])

    def do_stuck_open(self) -> None:
        """Show the agents."""
        self.context.do("agents")
