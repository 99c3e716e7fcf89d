"""Choosing a project, and showing only its agents, questions and log entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from tui_tasks.text.safe import safe_line
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class ProjectActions(Controller):
    """The actions of the scope `app` on projects."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @override
    def why_not(self, action: Action) -> str | None:
        """A project must have been chosen."""
        if action.id == "only_project" and not self._context.state.projects.title:
            return f"no project is chosen; {self._context.keymap.key_of('projects')} chooses one"
        return None

    def do_projects(self) -> None:
        """Open the picker of projects."""
        from tui_tasks.tui.screens.project_picker import ProjectPicker

        self._context.push(ProjectPicker(self._context, self._choose))

    def _choose(self, name: str | None) -> None:
        context = self._context
        context.state.projects.chosen = name
        context.state.projects.is_alone &= name is not None
        if not context.navigation.show_project():
            title, new = safe_line(name or "", 40), context.keymap.key_of("new")
            context.say(f"{title} has no list yet; {new} adds a task to it.")

    def do_only_project(self) -> None:
        """Show only the chosen project in agents, inbox and log, or all projects again."""
        context, projects = self._context, self._context.state.projects
        projects.is_alone = not projects.is_alone
        context.navigation.refresh_all()
        name = safe_line(projects.chosen or "no project", 40)
        context.say(f"Agents, inbox and log show only {name}." if projects.is_alone else "They show all projects.")
