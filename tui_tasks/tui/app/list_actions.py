"""Actions on the lists: going from one to the next, making, renaming, archiving and deleting them, and their rules."""

from __future__ import annotations

from pathlib import Path

from tui_tasks.core.operations.tasks import ArchiveList, CreatePlan, DeleteList, RenameList, SetListReview, SetListRule
from tui_tasks.core.operations.work import SetAuto, StopAuto
from tui_tasks.core.snapshots import TaskList
from tui_tasks.core.vocab import DIALECT_LISTS
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.state.context import Context


class ListActions(Controller):
    """The actions of the scope `app` on the list that is shown, and on the lists of the project."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def do_previous_list(self) -> None:
        """The list before this one."""
        self._turn(-1)

    def do_next_list(self) -> None:
        """The list after this one."""
        self._turn(1)

    def _turn(self, by: int) -> None:
        """Go round the lists that have tasks, including the current one."""
        context = self._context
        state = context.state
        wanted = {found.id for found in state.of_project if found.total} | {state.list_id}
        ids = [number for number in state.lists if number in wanted]
        if len(ids) < 2:
            context.say("There is no other list with tasks.")
            return
        at = ids.index(context.state.list_id) if context.state.list_id in ids else 0
        context.navigation.show_list(ids[(at + by) % len(ids)])
        found = context.state.current_list
        if found is not None:
            context.say(f"{safe_line(found.name, 60)}   {count(found.total, 'task')}")

    async def do_new_list(self) -> None:
        """Make a list and go there."""
        from tui_tasks.tui.inputs.dialogs import LineDialog

        name = await self._context.ask(LineDialog(self._context, "Name of the new list", done="Make"))
        if name is not None and name.strip():
            project = self._context.state.projects.chosen or None
            (made,) = await self._context.link.commit(CreatePlan(name.strip(), project=project))
            self._context.navigation.show_list(made.id)

    async def do_this_list(self) -> None:
        """Rename the list, archive it, or delete it with its tasks."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        context, found = self._context, self._context.state.current_list
        if found is None:
            return
        why_not = "agents' tools know it by this name" if is_dialects_own(found) else ""
        choices = [
            Choice("r", "rename", why_not=why_not),
            Choice(
                "a", "take out of the archive" if found.archived else "archive: out of the way, until a task is added"
            ),
            Choice("d", f"delete, with its {count(found.total, 'task')}", "$state-failed", why_not),
        ]
        key = await context.ask(Menu(self._context, f"The list {safe_line(found.name, 60)}", choices))
        if key == "r":
            await self._rename(found)
        elif key == "a":
            await self._archive(found)
        elif key == "d":
            await self._delete(found)

    async def _archive(self, found: TaskList) -> None:
        context, name = self._context, safe_line(found.name, 40)
        await context.link.commit(ArchiveList(found.uid, not found.archived))
        if found.archived:
            context.say(f"{name} is back among the lists.")
            return
        other = next((each.id for each in context.state.shelf if each.total), None)
        context.navigation.show_list(other or next((each.id for each in context.state.shelf), found.id))
        palette, undo = map(context.keymap.key_of, ("palette", "undo"))
        context.say(f"{name} is archived; the palette ({palette}) shows it. {undo} undoes it.")

    async def _rename(self, found: TaskList) -> None:
        from tui_tasks.tui.inputs.dialogs import LineDialog

        shown = safe_line(found.name, None)
        name = await self._context.ask(LineDialog(self._context, "New name of the list", shown, done="Rename"))
        if name is not None and name.strip() not in ("", shown):
            (renamed,) = await self._context.link.commit(RenameList(found.uid, name))
            self._context.say(f"The list is called {safe_line(renamed.name, 60)} now.")

    async def _delete(self, found: TaskList) -> None:
        from tui_tasks.tui.inputs.dialogs import confirm

        name = safe_line(found.name, 40)
        if found.total and not await confirm(
            self._context, f"Delete {name} with its {count(found.total, 'task')}?", "yes"
        ):
            return
        await self._context.link.commit(DeleteList(found.uid))
        self._context.say(f"{name} is deleted. {self._context.keymap.key_of('undo')} brings it back with its tasks.")

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; some actions need a list, which must be on screen."""
        if action.needs != "list":
            return None
        if self._context.state.current_list is None:
            return "there is no list"
        return None if self._context.navigation.shows_list else "no list is on screen here"

    async def do_one_at_a_time(self) -> None:
        """Hold the list to one task in progress for each agent, or no longer (docs: protocol, section 5)."""
        found = self._context.state.current_list
        if found is None:
            return
        await self._context.link.commit(SetListRule(found.uid, not found.one_in_progress))
        now = "any number of tasks" if found.one_in_progress else "one task for each agent"
        self._context.say(f"{safe_line(found.name, 40)} takes {now} in progress at a time.")

    async def do_review_list(self) -> None:
        """Hold what agents file in the list, or do so no longer (docs: protocol, section 11)."""
        found = self._context.state.current_list
        if found is None:
            return
        await self._context.link.commit(SetListReview(found.uid, not found.review))
        now = "is taken up at once" if found.review else "waits for you"
        self._context.say(f"What agents file in {safe_line(found.name, 40)} {now}.")

    async def do_auto_list(self) -> None:
        """Ask how many agents of which program work the list off, or stop that (docs: work)."""
        from tui_tasks.tui.inputs.dialogs import LineDialog
        from tui_tasks.work import auto, starting

        context, found = self._context, self._context.state.current_list
        if found is None:
            return
        known = context.state.autos.get(found.uid)
        program, at_once = (known.program, known.at_once) if known is not None else ("", 1)
        value = "off" if known is not None and known.is_on else f"{at_once} {program}".strip()
        hint = "agents at once, a program, stay: `2 claude stay`; or off"
        title = f"Start the ready tasks of {safe_line(found.name, 40)} by themselves"
        answer = await context.ask(LineDialog(context, title, value, done="Set", hint=hint))
        if answer is None or not answer.strip():
            return
        if answer.strip() == "off":
            if known is not None and known.is_on:
                await context.link.commit(StopAuto(found.uid))
            context.say(f"Tasks of {safe_line(found.name, 40)} are started by hand alone.")
            return
        wanted = auto.parse(answer, starting.settings().names())
        if isinstance(wanted, str):
            context.say(wanted)
            return
        await context.link.commit(SetAuto(found.uid, str(Path.cwd()), host=auto.host(), **wanted))
        context.say(f"Ready tasks of {safe_line(found.name, 40)} are started, {wanted['at_once']} at once.")


def is_dialects_own(found: TaskList) -> bool:
    """Return whether a list belongs to a dialect, which finds it by its name alone (docs: protocol, section 5)."""
    return found.kind == "list" and found.name in DIALECT_LISTS
