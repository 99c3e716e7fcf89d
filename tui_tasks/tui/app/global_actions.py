"""Actions that are available everywhere: showing panes and lists, undo, going to what needs attention."""

from __future__ import annotations

from collections.abc import Callable

from tui_tasks.core.journal import journal
from tui_tasks.core.operations.changes import Redo, Undo
from tui_tasks.core.operations.lists import ArchiveList, CreatePlan, DeleteList, RenameList, SetListReview, SetListRule
from tui_tasks.core.read import views
from tui_tasks.core.read.pages import board_pages, pages
from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Entry, TaskList
from tui_tasks.core.vocab import DIALECT_LISTS
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.inbox import parts
from tui_tasks.tui.keys.action_lookup import ActionLookup
from tui_tasks.tui.keys.actions import Action, Controller
from tui_tasks.tui.panes import screen
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.themes.theme_manager import ThemeManager

# The most failed tasks that `!` goes through.
MOST_FAILED = 200
# The most tasks restored by one change among which the first is looked for.
MOST_RESTORED = 1_000
_DONE = {
    "task.created": "new task {}",
    "task.deleted": "deleting {}",
    "task.restored": "bringing back {}",
    "task.moved": "moving {}",
    "task.logged": "note on {}",
    "list.created": "new list {}",
    "list.deleted": "deleting list {}",
    "list.updated": "change of list {}",
}


class GlobalActions(Controller):
    """The actions of the scope `app`."""

    def __init__(self, context: Context, themes: ThemeManager, lookup: ActionLookup, leave: Callable[[], None]) -> None:
        """`leave` ends the App."""
        self.context = context
        self._themes = themes
        self._lookup = lookup
        self._leave = leave

    def do_pane_list(self) -> None:
        """Pane 1."""
        self.context.navigation.show_pane("list")

    def do_pane_board(self) -> None:
        """Pane 2."""
        self.context.navigation.show_pane("board")

    def do_pane_log(self) -> None:
        """Pane 3."""
        self.context.navigation.show_pane("log")

    def do_pane_schedule(self) -> None:
        """Pane 4."""
        self.context.navigation.show_pane("schedule")

    def do_asks(self) -> None:
        """The inbox: the questions, else failed checks, else what agents have filed."""
        self._open(parts.first(self.context))

    def do_agents(self) -> None:
        """The agents."""
        self._open("agents")

    def do_digest(self) -> None:
        """What happened while the human was away."""
        self._open("digest")

    def do_stats(self) -> None:
        """The stats."""
        self._open("stats")

    def _open(self, name: str) -> None:
        self.context.link.check()
        self.context.navigation.close_overlays()
        self.context.push(screen(name, self.context))

    def do_help(self) -> None:
        """Every key."""
        from tui_tasks.tui.screens.palette import help_screen

        self.context.push(help_screen(self.context, self._lookup))

    def do_palette(self) -> None:
        """Every command."""
        from tui_tasks.tui.screens.palette import palette

        self._themes.load()
        self.context.push(palette(self.context, self._lookup, self._themes))

    def do_search_all(self) -> None:
        """Search in all lists."""
        from tui_tasks.tui.screens.search_all import SearchAll

        self.context.link.check()
        self.context.push(SearchAll(self.context))

    def do_quit(self) -> None:
        """Leave."""
        self._leave()

    async def do_undo(self) -> None:
        """Take back the human's newest change."""
        (_, change), *_rest = await self.context.link.commit(Undo())
        self._show_list_of(change)
        self._select_restored(change)
        self.context.say(f"Undone: {self._told(change)}. {self.context.keymap.key_of('redo')} does it again.")

    async def do_redo(self) -> None:
        """Take back the newest undo."""
        (_, change), *_rest = await self.context.link.commit(Redo())
        self._select_restored(change)
        self.context.say("Done again.")

    def _select_restored(self, change: int) -> None:
        """Put the cursor on the first of the tasks that were deleted by a change that was taken back."""
        db = self.context.db
        parts = next(journal.of_change(db, change), [])[:MOST_RESTORED]
        uids = [part.task for part in parts if part.kind == "task.deleted" and part.task is not None]
        tasks = [task for uid in uids if (task := pages.line(db, uid)) and not task.deleted]
        here = [task for task in tasks if task.list_id == self.context.state.list_id]
        if here:
            self.context.navigation.pane.select(min(here, key=lambda task: task.rank).uid)

    def _told(self, change: int) -> str:
        """Return a change of the human's in a few words."""
        db = self.context.db
        parts = [
            part for page in journal.of_change(db, change) for part in page if part.kind in (*_DONE, "task.updated")
        ]
        if not parts:
            return "your last change"
        if len({part.task for part in parts}) > 1:
            return f"changes to {count(len({part.task for part in parts}), 'task')}"
        entry = journal.entry(db, parts[0].seq)
        return _phrase(entry, queries.any_list(db, entry.uid) if entry.entity == "list" else None)

    def _show_list_of(self, change: int) -> None:
        """Show a list that was deleted by a change and is restored."""
        db = self.context.db
        for part in next(journal.of_change(db, change), []):
            if part.kind == "list.deleted":
                self.context.navigation.show_list(queries.any_list(db, part.uid).id)

    async def do_seen(self) -> None:
        """Nothing is new any more."""
        context = self.context
        looked = context.state.all_seen(context.clock.now())
        context.navigation.pane.refreshed()
        context.redraw_frame()
        await context.link.remember(views.LOOKED, {"seq": looked.seq, "at": looked.at})

    def do_previous_list(self) -> None:
        """The list before this one."""
        self._turn(-1)

    def do_next_list(self) -> None:
        """The list after this one."""
        self._turn(1)

    def _turn(self, by: int) -> None:
        """Go round the lists that have tasks, including the current one."""
        context = self.context
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

        name = await self.context.ask(LineDialog(self.context, "Name of the new list", done="Make"))
        if name is not None and name.strip():
            project = self.context.state.projects.chosen or None
            (made,) = await self.context.link.commit(CreatePlan(name.strip(), project=project))
            self.context.navigation.show_list(made.id)

    async def do_this_list(self) -> None:
        """Rename the list, archive it, or delete it with its tasks."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        context, found = self.context, self.context.state.current_list
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
        key = await context.ask(Menu(self.context, f"The list {safe_line(found.name, 60)}", choices))
        if key == "r":
            await self._rename(found)
        elif key == "a":
            await self._archive(found)
        elif key == "d":
            await self._delete(found)

    async def _archive(self, found: TaskList) -> None:
        context, name = self.context, safe_line(found.name, 40)
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
        name = await self.context.ask(LineDialog(self.context, "New name of the list", shown, done="Rename"))
        if name is not None and name.strip() not in ("", shown):
            (renamed,) = await self.context.link.commit(RenameList(found.uid, name))
            self.context.say(f"The list is called {safe_line(renamed.name, 60)} now.")

    async def _delete(self, found: TaskList) -> None:
        from tui_tasks.tui.inputs.dialogs import confirm

        name = safe_line(found.name, 40)
        if found.total and not await confirm(
            self.context, f"Delete {name} with its {count(found.total, 'task')}?", "yes"
        ):
            return
        await self.context.link.commit(DeleteList(found.uid))
        self.context.say(f"{name} is deleted. {self.context.keymap.key_of('undo')} brings it back with its tasks.")

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; some actions need a list."""
        if action.needs == "list" and self.context.state.current_list is None:
            return "there is no list"
        return None

    async def do_one_at_a_time(self) -> None:
        """Give the list the rule of one task in progress, or take it away (docs: protocol, section 5)."""
        found = self.context.state.current_list
        if found is None:
            return
        await self.context.link.commit(SetListRule(found.uid, not found.one_in_progress))
        now = "any number of tasks" if found.one_in_progress else "one task"
        self.context.say(f"{safe_line(found.name, 40)} takes {now} in progress at a time.")

    async def do_review_list(self) -> None:
        """Hold what agents file in the list, or do so no longer (docs: protocol, section 11)."""
        found = self.context.state.current_list
        if found is None:
            return
        await self.context.link.commit(SetListReview(found.uid, not found.review))
        now = "is taken up at once" if found.review else "waits for you"
        self.context.say(f"What agents file in {safe_line(found.name, 40)} {now}.")

    def do_attention(self) -> None:
        """Go to the next task that needs attention: questions, what failed a check, then what failed."""
        context = self.context
        wanting = self._wanting()
        if not wanting:
            context.say("Nothing needs attention.")
            return
        here = context.navigation.pane.target()
        uids = [task.uid for task in wanting]
        task = wanting[(uids.index(here) + 1) % len(uids)] if here in uids else wanting[0]
        context.navigation.go_to(task.uid)
        shown = look(context.state.status_of(task))
        number, name = context.numbers.number(task), safe_line(task.name, 60)
        context.say(f"{uids.index(task.uid) + 1} of {len(uids)}: {shown.word}, #{number} {name}")

    def _wanting(self) -> list[TaskLine]:
        context = self.context
        db, found = context.db, {}
        asked = (ask.task_uid for ask in context.state.asks)
        new = (uid for uid in context.state.new)
        wanting = context.state.asking.union(context.state.unproven)
        for uid in (*asked, *context.state.unproven, *new):
            task = pages.line(db, uid) if uid is not None else None
            if task is not None and not task.deleted and (uid in wanting or task.status == "failed"):
                found[task.uid] = task
        # The current list comes first, then the others that the Now line has counted.
        for home in sorted(context.state.shelf, key=lambda home: home.id != context.state.list_id):
            if home.failed and len(found) < MOST_FAILED:
                for task in board_pages.page(db, home.id, "failed", pages.FIRST, MOST_FAILED):
                    found.setdefault(task.uid, task)
        return list(found.values())


def is_dialects_own(found: TaskList) -> bool:
    """Return whether a list belongs to a dialect, which finds it by its name alone (docs: protocol, section 5)."""
    return found.kind == "list" and found.name in DIALECT_LISTS


def _phrase(entry: Entry, home: TaskList | None) -> str:
    name = f"“{safe_line(home.name if home is not None else (entry.image or {}).get('name', ''), 40)}”"
    if entry.kind in _DONE:
        return _DONE[entry.kind].format(name)
    changes = entry.changes
    if "status" in changes:
        was, now = (look(str(word)).word for word in changes["status"])
        return f"{name} {was} → {now}"
    return f"{', '.join(changes)} of {name}"
