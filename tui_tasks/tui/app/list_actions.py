"""Actions on projects and lists: choosing, making, renaming, archiving and deleting them, and the rules of a list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from tui_tasks.core.operations.tasks import ArchiveList, DeleteList, EnsureList, RenameList, SetListReview, SetListRule
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import TaskList
from tui_tasks.text.safe import is_blank, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.state.projects import is_dialects_own

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


_NO_NAME: Final = "a list needs a name"
_ENDS: Final = {
    "one_at_a_time": "Allow any number of tasks in progress in this list",
    "review_list": "Take new tasks of agents in this list without your acceptance",
    "auto_list": "Stop starting agents on the ready tasks of this list, or change how many",
}
"""What the actions do in a list that has their rule."""
# The question before a list is archived reads so many tasks for the names of the agents at work.
_MOST_NAMED: Final = 4


class ProjectActions(Controller):
    """The actions of the scope `app` on projects."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @override
    def why_not(self, action: Action) -> str | None:
        """A project must have been chosen."""
        if action.id == "only_project" and not self._context.state.projects.title:
            return f"No project is chosen. {self._context.keymap.key_of('projects')} chooses one."
        return None

    @override
    def title(self, action: Action) -> str:
        """Show all projects again in place of one alone."""
        is_alone = action.id == "only_project" and self._context.state.projects.is_alone
        return "Show agents, inbox and log of all projects" if is_alone else action.title

    def do_projects(self) -> None:
        """Open the picker of projects."""
        from tui_tasks.tui.screens.place_pickers import ProjectPicker

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


class ListActions(Controller):
    """The actions of the scope `app` on the list that is shown, and on the lists of the project."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def do_previous_list(self) -> None:
        """Show the list before this one."""
        self._turn(-1)

    def do_next_list(self) -> None:
        """Show the list after this one."""
        self._turn(1)

    def _turn(self, by: int) -> None:
        """Go round the lists that have tasks, including the current one."""
        context = self._context
        state = context.state
        wanted = {home.id for home in state.project_lists if home.total} | {state.list_id}
        ids = [number for number in state.lists if number in wanted]
        if len(ids) < 2:
            context.say("There is no other list with tasks.")
            return
        at = ids.index(context.state.list_id) if context.state.list_id in ids else 0
        context.navigation.show_list(ids[(at + by) % len(ids)])
        if (tasks := context.navigation.task_pane) is not None:
            tasks.list_turned()
        home = context.state.current_list
        if home is not None:
            context.say(f"{safe_line(home.name, 60)}   {count(home.total, 'task')}")

    async def do_new_list(self) -> None:
        """Make a list and go there; names are unique, so the list of a taken name is shown."""
        from tui_tasks.tui.inputs.dialogs import LineDialog

        context = self._context
        name = await context.ask(LineDialog(context, "Name of the new list", draft="new list", done="Make"))
        if name is None or not name:
            return
        if is_blank(name):
            context.say(_NO_NAME)
            return
        known = set(context.state.lists)
        (home,) = await context.link.commit(EnsureList(name.strip(), "task", context.state.projects.chosen or None))
        context.navigation.show_list(home.id)
        if home.id in known:
            of = f" of project {safe_line(home.project, 40)}" if home.project else ""
            context.say(f"There is a list {safe_line(home.name, 60)}{of} already: this is it.")

    async def do_this_list(self) -> None:
        """Rename the list, archive it, or delete it with its tasks."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        context, home = self._context, self._context.state.current_list
        if home is None:
            return
        why_not = "The tools of agents know this list by its name." if is_dialects_own(home) else ""
        choices = [
            Choice("r", "rename", why_not=why_not),
            Choice(
                "a", "bring it back from the archive" if home.archived else "archive: hide it until a task is added"
            ),
            Choice("d", f"delete, with its {count(home.total, 'task')}", "$state-failed", why_not),
        ]
        key = await context.ask(Menu(self._context, f"The list {safe_line(home.name, 60)}", choices))
        if key == "r":
            await self._rename(home)
        elif key == "a":
            await self._archive(home)
        elif key == "d":
            await self._delete(home)

    async def _archive(self, home: TaskList) -> None:
        from tui_tasks.tui.inputs.dialogs import confirm

        context, name = self._context, safe_line(home.name, 40)
        question = "" if home.archived else self._open_in(home)
        if question and not await confirm(context, f"Archive {name} with {question}?", "yes"):
            stays = f"{name} is not archived."
            context.say(stays)
            context.words.expect_words(stays)
            return
        await context.link.commit(ArchiveList(home.uid, not home.archived))
        if home.archived:
            context.say(f"{name} is no longer archived.")
            return
        other = next((each.id for each in context.state.active_lists if each.total), None)
        context.navigation.show_list(other or next((each.id for each in context.state.active_lists), home.id))
        palette, undo = map(context.keymap.key_of, ("palette", "undo"))
        context.say(f"{name} is archived; the palette ({palette}) shows it. {undo} undoes it.")

    def _open_in(self, home: TaskList) -> str:
        """Return how many tasks of a list are open, and which agents are at work on it; empty: none are open."""
        is_open = home.pending + home.in_progress
        at_work = task_queries.tasks_of_status(self._context.db, home.id, "in_progress", _MOST_NAMED)
        names = list(dict.fromkeys(safe_line(task.agent, 20) for task in at_work if task.agent))
        by = f" ({', '.join(names)} at work)" if names else ""
        return f"{count(is_open, 'open task')}{by}" if is_open else ""

    async def _rename(self, home: TaskList) -> None:
        from tui_tasks.tui.inputs.dialogs import LineDialog

        shown = safe_line(home.name, None)
        dialog = LineDialog(self._context, "New name of the list", shown, draft=f"rename {home.uid}", done="Rename")
        name = await self._context.ask(dialog)
        if name and is_blank(name):
            self._context.say(_NO_NAME)
        elif name and name.strip() != shown:
            (renamed,) = await self._context.link.commit(RenameList(home.uid, name))
            self._context.say(f"The list is called {safe_line(renamed.name, 60)} now.")

    async def _delete(self, home: TaskList) -> None:
        from tui_tasks.tui.inputs.dialogs import confirm

        name = safe_line(home.name, 40)
        if home.total and not await confirm(
            self._context, f"Delete {name} with its {count(home.total, 'task')}?", "yes"
        ):
            return
        await self._context.link.commit(DeleteList(home.uid))
        self._context.say(f"{name} is deleted. {self._context.keymap.key_of('undo')} brings it back with its tasks.")

    @override
    def why_not(self, action: Action) -> str | None:
        """Some actions need a list, which must be on screen."""
        if action.needs != "list":
            return None
        if self._context.state.current_list is None:
            return f"There is no list yet: {self._context.keymap.key_of('new_list')} makes one."
        if self._context.navigation.shows_list:
            return None
        key_of = self._context.keymap.key_of
        if self._context.navigation.screen_name:
            return f"No list is on screen. {key_of('back')} goes back to the panes."
        return f"No list is on screen. {key_of('pane_list')} shows it."

    @override
    def title(self, action: Action) -> str:
        """A rule that the list has is taken off."""
        home = self._context.state.current_list
        if home is None:
            return action.title
        auto = self._context.state.autos.get(home.uid)
        ends = {"one_at_a_time": home.one_in_progress, "review_list": home.review}
        ends["auto_list"] = auto is not None and auto.is_on
        return _ENDS[action.id] if ends.get(action.id) else action.title

    async def do_one_at_a_time(self) -> None:
        """Hold the list to one task in progress for each agent, or no longer (docs: protocol, section 5)."""
        home = self._context.state.current_list
        if home is None:
            return
        await self._context.link.commit(SetListRule(home.uid, not home.one_in_progress))
        now = "any number of tasks" if home.one_in_progress else "one task for each agent"
        self._context.say(f"{safe_line(home.name, 40)} takes {now} in progress at a time.")

    async def do_review_list(self) -> None:
        """Hold what agents file in the list, or do so no longer (docs: protocol, section 11)."""
        home = self._context.state.current_list
        if home is None:
            return
        await self._context.link.commit(SetListReview(home.uid, not home.review))
        now = "need no acceptance" if home.review else "wait for you"
        self._context.say(f"New tasks of agents in {safe_line(home.name, 40)} {now}.")

    async def do_auto_list(self) -> None:
        """Ask how many agents of which program may work on the list, or stop that (docs: work)."""
        from tui_tasks.core.operations.work import SetAuto, StopAuto
        from tui_tasks.settings import live_settings
        from tui_tasks.tui.inputs.dialogs import Choice, LineDialog, Menu
        from tui_tasks.work import auto_lists

        context, home = self._context, self._context.state.current_list
        if home is None:
            return
        known, name = context.state.autos.get(home.uid), safe_line(home.name, 40)
        program, at_once = (known.program, known.at_once) if known is not None else ("", 1)
        if known is not None and known.is_on:
            title = f"An agent starts on each ready task of {name}, {f'{at_once} {program}'.strip()} at once."
            choices = [Choice("s", "stop: tasks start only by hand"), Choice("c", "change the number or the program")]
            key = await context.ask(Menu(context, title, choices))
            if key == "s":
                await context.link.commit(StopAuto(home.uid))
                context.say(f"Tasks of {name} start only by hand.")
            if key != "c":
                return
        title = (
            f"Start an agent on each ready task of {name}. How many at once, by which program? For example: 2 claude."
            " Add stay to go on after a restart."
        )
        asked = LineDialog(context, title, f"{at_once} {program}".strip(), draft=f"auto {home.uid}", done="Start")
        answer = await context.ask(asked)
        if answer is None or not answer.strip():
            return
        wanted = auto_lists.parse_auto(answer, live_settings.work().names())
        if isinstance(wanted, str):
            context.say(wanted)
            return
        await context.link.commit(SetAuto(home.uid, str(Path.cwd()), host=auto_lists.this_host(), **wanted))
        by = safe_line(wanted.get("program", "the program that worked last"), 30)
        context.say(f"Ready tasks of {name} are started, {wanted['at_once']} at once, by {by}.")
