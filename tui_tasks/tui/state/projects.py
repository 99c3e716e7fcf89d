"""The project of lists, tasks, agents and questions, and the human's choice of one (docs: protocol, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.snapshots import TaskList
from tui_tasks.core.vocab import DIALECT_LISTS
from tui_tasks.text.safe import safe_line


class ProjectChoice(msgspec.Struct, frozen=True):
    """Which lists the list and the board go through.

    Attributes:
        name: those of this project; empty: of none; None: all.
        is_alone: whether agents, inbox and log show this project alone.
        folder_has_none: whether the screen was started in a git repository without a project.
    """

    name: str | None = None
    is_alone: bool = False
    folder_has_none: bool = False


ALL_PROJECTS: Final = ProjectChoice()


class Projects:
    """Looks up projects by name; the empty name stands for no project.

    `chosen` and `is_alone` are as in `ProjectChoice`. `first` is the project with which the screen began.
    """

    def __init__(self, db: Database, lists: Callable[[], Mapping[int, TaskList]], choice: ProjectChoice) -> None:
        self._db = db
        self._lists = lists
        self._of_agents: dict[str, str] = {}
        self._of_asks: dict[str, str] = {}
        self.first = self.chosen = choice.name
        self.is_alone = choice.is_alone
        self.folder_has_none = choice.folder_has_none

    def apply(self, changes: StateChanges) -> None:
        """Drop the cached answers that a batch of changes may have changed."""
        if changes.touches("session"):
            self._of_agents.clear()
        # A task may move to another list, which changes the project of questions about it.
        if changes.touches("session", "list", "task"):
            self._of_asks.clear()

    @property
    def exist(self) -> bool:
        """Whether there is any project, or the folder lacks one; else the screen does not speak of projects."""
        return (
            self.folder_has_none
            or bool(self.first or self.chosen)
            or any(home.project for home in self._lists().values())
        )

    @property
    def title(self) -> str:
        """The chosen project's name, for people; empty where all are shown or there is none."""
        return safe_line(self.chosen or "no project", 20) if self.chosen is not None and self.exist else ""

    def others(self) -> list[str]:
        """Return the projects that are not chosen and have open tasks, by name, for people."""
        there = {
            home.project or ""
            for home in self._lists().values()
            if home.pending + home.in_progress and not home.archived and not self.has(home.project)
        }
        return [safe_line(name or "no project", 20) for name in sorted(there)]

    def has(self, project: str | None) -> bool:
        """Return whether something of this project belongs to the chosen one."""
        return self.chosen is None or (project or "") == self.chosen

    def shows(self, project: str) -> bool:
        """Return whether agents, inbox and log show what belongs to a project."""
        return not self.is_alone or self.has(project)

    def alone_parts(self) -> list[tuple[str, str]]:
        """Return the text and style by which a screen says that it shows one project alone; empty when it shows all."""
        name = safe_line(self.chosen or "no project", 20)
        return [(f"   {name} alone", "$key bold")] if self.is_alone else []

    def of_list(self, list_id: int | None) -> str:
        """Return the project of a list."""
        home = self._lists().get(list_id or 0)
        return (home.project or "") if home is not None else ""

    def of_task(self, uid: str | None) -> str:
        """Return the project of a task's list."""
        task = list_pages.line(self._db, uid) if uid is not None else None
        return self.of_list(task.list_id) if task is not None else ""

    def of_agent(self, agent: str) -> str:
        """Return the project of an agent program's session; empty for an agent on the channel."""
        if agent not in self._of_agents:
            session = session_queries.find(self._db, agent)
            self._of_agents[agent] = (session.project or "") if session is not None else ""
        return self._of_agents[agent]

    def of_ask(self, ask: Ask) -> str:
        """Return the project of a question: its own, else that of its agent, else that of its task."""
        if ask.uid not in self._of_asks:
            self._of_asks[ask.uid] = ask.project or self.of_agent(ask.agent) or self.of_task(ask.task_uid)
        return self._of_asks[ask.uid]

    def of_member(self, member: AgentView) -> tuple[str, ...]:
        """Return the projects of an agent, else that of the task it works on; empty when there is none."""
        of_task = self.of_list(member.task.list_id) if member.task is not None else ""
        return member.projects or ((of_task,) if of_task else ())

    def shows_member(self, member: AgentView) -> bool:
        """Return whether the agents' screen shows an agent."""
        return any(map(self.shows, self.of_member(member) or ("",)))


def is_dialects_own(home: TaskList) -> bool:
    """Return whether a list belongs to a dialect, which finds it by its name alone (docs: protocol, section 5)."""
    return home.kind == "list" and home.name in DIALECT_LISTS
