"""The questions of the inbox: the tasks that they are about, and their groups by agent."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inbox.inbox_items import AskLine, FoldedAsks
from tui_tasks.tui.state.context import Context

_LAST: Final = 2**63
MAX_SHOWN: Final = 3
"""How many questions of one agent are listed before the others are folded."""


class AskedTasks:
    """The tasks that questions are about; each is read once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._found: dict[str, TaskLine] = {}

    def of(self, ask: Ask) -> TaskLine | None:
        """Return the task that a question is about; None when it is about none, or that is deleted."""
        if ask.task_uid is None:
            return None
        if ask.task_uid not in self._found:
            task = agent_text.live_task(self._context.db, ask.task_uid)
            if task is None:
                return None
            self._found[ask.task_uid] = task
        return self._found[ask.task_uid]

    def number(self, ask: Ask) -> str:
        """Return the number of a question's task as `#4`; empty without a task."""
        task = self.of(ask)
        return f"#{task.number}" if task is not None else ""

    def holds_any(self, uids: Collection[str]) -> bool:
        """Return whether one of these tasks has been read."""
        return not self._found.keys().isdisjoint(uids)

    def forget(self) -> None:
        """Have all tasks read again."""
        self._found.clear()


class AskGroups:
    """Lists questions by agent, the agent that asked first before the others, each with its oldest questions."""

    def __init__(self) -> None:
        # The order of the agents, which stays: a refresh moves no line.
        self._ranks: dict[str, int] = {}
        self._unfolded: set[str] = set()

    def lines(self, asks: Sequence[Ask]) -> list[AskLine]:
        """Return the lines of open questions, which are given oldest first."""
        by_agent: dict[str, list[Ask]] = {}
        for ask in asks:
            self._ranks.setdefault(ask.agent, len(self._ranks))
            by_agent.setdefault(ask.agent, []).append(ask)
        lines: list[AskLine] = []
        for agent, own in by_agent.items():
            # One line would save nothing.
            most = MAX_SHOWN if len(own) > MAX_SHOWN + 1 and agent not in self._unfolded else len(own)
            lines += own[:most]
            if own[most:]:
                lines.append(FoldedAsks(f"folded:{agent}", agent, tuple(own[most:])))
        return lines

    def unfold(self, agent: str) -> None:
        """List all questions of an agent from now on."""
        self._unfolded.add(agent)

    def order(self, line: AskLine) -> tuple[int, str, int, int]:
        """Return what lines are sorted by."""
        rank = self._ranks.get(line.agent, len(self._ranks))
        at, id_ = (line.opened_at, line.id) if isinstance(line, Ask) else (_LAST, 0)
        return rank, line.agent, at, id_
