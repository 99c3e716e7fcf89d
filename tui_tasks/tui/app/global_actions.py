"""Actions that are available everywhere: panes and screens, undo, lists, going to what needs attention."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from typing_extensions import override

from tui_tasks.core.errors import CannotUndo
from tui_tasks.core.journal import journal
from tui_tasks.core.operations.changes import Redo, Undo
from tui_tasks.core.operations.tasks import ArchiveList, CreatePlan, DeleteList, RenameList, SetListReview, SetListRule
from tui_tasks.core.operations.work import SetAuto, StopAuto
from tui_tasks.core.read import job_queries, views
from tui_tasks.core.read.pages import board_pages, list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Entry, TaskList
from tui_tasks.core.vocab import DIALECT_LISTS
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.app.navigation import ActionLookup
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.painting.theme_file import ThemeManager
from tui_tasks.tui.panes import screen
from tui_tasks.tui.state.context import Context

# The most failed tasks that `!` goes through.
MAX_FAILED = 200
# The most tasks restored by one change among which the first is looked for.
MAX_RESTORED = 1_000
_DONE = {
    "task.created": "new task {}",
    "task.deleted": "deleting {}",
    "task.restored": "bringing back {}",
    "task.moved": "moving {}",
    "task.logged": "note on {}",
    "task.linked": "links of {}",
    "task.accepted": "accepting {}",
    "task.declined": "declining {}",
    "list.created": "new list {}",
    "list.deleted": "deleting list {}",
    "list.updated": "change of list {}",
    "job.created": "new job {}",
    "job.deleted": "deleting job {}",
    "job.updated": "change of job {}",
}


class GlobalActions(Controller):
    """The actions of the scope `app`."""

    def __init__(
        self,
        context: Context,
        themes: ThemeManager,
        lookup: ActionLookup,
        leave: Callable[[], None],
        stop: Callable[[], str],
    ) -> None:
        """`leave` closes the screen over the panes, else ends the App.

        `stop` stops its process as a shell's job, or returns why it cannot.
        """
        self._context = context
        self._themes = themes
        self._lookup = lookup
        self._leave = leave
        self._stop = stop
        # The changes that cannot be taken back, which undo passes over.
        self._passed_over: set[int] = set()

    async def do_ask_rule(self) -> None:
        """Make a rule of an answer that was given several times."""
        from tui_tasks.tui.agents import agent_actions

        await agent_actions.make_rule(self._context)

    def do_pane_list(self) -> None:
        """Pane 1."""
        self._context.navigation.show_pane("list")

    def do_pane_board(self) -> None:
        """Pane 2."""
        self._context.navigation.show_pane("board")

    def do_pane_log(self) -> None:
        """Pane 3."""
        self._context.navigation.show_pane("log")

    def do_pane_schedule(self) -> None:
        """Pane 4."""
        self._context.navigation.show_pane("schedule")

    def do_asks(self) -> None:
        """The inbox."""
        self._open("asks")

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
        self._context.link.check()
        self._context.navigation.close_overlays()
        self._context.push(screen(name, self._context))

    def do_help(self) -> None:
        """Every key."""
        from tui_tasks.tui.screens.palette import help_screen

        self._context.push(help_screen(self._context, self._lookup))

    def do_palette(self) -> None:
        """Every command."""
        from tui_tasks.tui.screens.palette import palette

        self._themes.load()
        self._context.push(palette(self._context, self._lookup, self._themes))

    def do_search_all(self) -> None:
        """Search in all lists."""
        from tui_tasks.tui.screens.search_all import SearchAll

        self._context.link.check()
        self._context.push(SearchAll(self._context))

    def do_quit(self) -> None:
        """Go back from a screen over the panes; on a pane, leave."""
        self._leave()

    def do_suspend(self) -> None:
        """Go back to the shell for some time."""
        if why := self._stop():
            self._context.say(why)

    async def do_undo(self) -> None:
        """Take back the human's newest change; offer to pass over one that cannot be taken back."""
        if self._context.state.has_work:
            from tui_tasks.tui.work import work_decisions

            if (work := work_decisions.newest_ended(self._context.db)) is not None:
                await work_decisions.take_back(self._context, work)
                return
        while True:
            try:
                (_, change), *_rest = await self._context.link.commit(Undo(passed_over=tuple(self._passed_over)))
                break
            except CannotUndo as refused:
                if not await self._passes_over(refused):
                    return
                self._passed_over.add(refused.change)
        self._show_list_of(change)
        self._select_restored(change)
        self._context.say(f"Undone: {self._described(change)}. {self._context.keymap.key_of('redo')} does it again.")

    async def _passes_over(self, refused: CannotUndo) -> bool:
        """Ask whether a change that cannot be taken back is to be passed over, until the screen closes."""
        from tui_tasks.tui.inputs.dialogs import confirm

        question = f"Undo of {self._described(refused.change)}: not possible, as {safe_line(refused.message, 300)}."
        return await confirm(
            self._context, question, "pass over it, and undo the change before it", "leave everything as it is"
        )

    async def do_redo(self) -> None:
        """Take back the newest undo."""
        (_, change), *_rest = await self._context.link.commit(Redo())
        self._select_restored(change)
        self._context.say("Done again.")

    def _select_restored(self, change: int) -> None:
        """Put the cursor on the first of the tasks that were deleted by a change that was taken back."""
        db = self._context.db
        parts = next(journal.of_change(db, change), [])[:MAX_RESTORED]
        uids = [part.task for part in parts if part.kind == "task.deleted" and part.task is not None]
        tasks = [task for uid in uids if (task := list_pages.line(db, uid)) and not task.deleted]
        here = [task for task in tasks if task.list_id == self._context.state.list_id]
        if here:
            self._context.navigation.pane.select(min(here, key=lambda task: task.rank).uid)

    def _described(self, change: int) -> str:
        """Return a change of the human's in a few words."""
        db = self._context.db
        parts = [
            part for page in journal.of_change(db, change) for part in page if part.kind in (*_DONE, "task.updated")
        ]
        if not parts:
            return "your last change"
        # A first task makes its list, which goes without saying.
        of_tasks = [part for part in parts if part.task is not None] or parts
        uids = {part.uid if part.task is None else part.task for part in of_tasks}
        if len(uids) > 1:
            return f"changes to {count(len(uids), 'list' if of_tasks[0].task is None else 'task')}"
        entry = journal.entry(db, of_tasks[0].seq)
        if entry.entity == "list":
            return _phrase(entry, task_queries.any_list(db, entry.uid).name)
        job = job_queries.any_job(db, entry.uid) if entry.entity == "job" else None
        return _phrase(entry, job.name if job is not None else (entry.image or {}).get("name", ""))

    def _show_list_of(self, change: int) -> None:
        """Show a list that was deleted by a change and is restored."""
        db = self._context.db
        for part in next(journal.of_change(db, change), []):
            if part.kind == "list.deleted":
                self._context.navigation.show_list(task_queries.any_list(db, part.uid).id)

    async def do_seen(self) -> None:
        """Nothing is new any more."""
        context = self._context
        looked = context.state.all_seen(context.clock.now())
        context.navigation.pane.refreshed()
        context.redraw_frame()
        await context.link.remember(views.LOOKED, {"seq": looked.seq, "at": looked.at})

    def do_attention(self) -> None:
        """Go to the next task that needs attention: questions, work, failed checks, then what failed.

        Questions that are about no task are in the inbox.
        """
        context = self._context
        wanting = self._wanting()
        elsewhere = sum(ask.uid not in context.state.asked_about for ask in context.state.asks)
        if not wanting and elsewhere:
            self.do_asks()
            return
        if not wanting:
            context.say("Nothing needs attention.")
            return
        here = context.navigation.pane.target()
        uids = [task.uid for task in wanting]
        task = wanting[(uids.index(here) + 1) % len(uids)] if here in uids else wanting[0]
        context.navigation.go_to(task.uid)
        shown = look(context.state.status_of(task))
        number, name = task.number, safe_line(task.name, 60)
        more = f". {context.keymap.key_of('asks')} shows {count(elsewhere, 'question')} more." if elsewhere else ""
        context.say(f"{uids.index(task.uid) + 1} of {len(uids)}: {shown.word}, #{number} {name}{more}")

    def _wanting(self) -> list[TaskLine]:
        context = self._context
        db, found = context.db, {}
        asked = context.state.asked_about.values()
        needing = (*context.state.left, *context.state.reviewable)
        new = (uid for uid in context.state.new)
        wanting = context.state.asking.union(context.state.unproven, needing)
        for uid in (*asked, *needing, *context.state.unproven, *new):
            task = list_pages.line(db, uid) if uid is not None else None
            if task is not None and not task.deleted and (uid in wanting or task.status == "failed"):
                found[task.uid] = task
        # The current list comes first, then the others that the Now line has counted.
        for home in sorted(context.state.shelf, key=lambda home: home.id != context.state.list_id):
            if home.failed and len(found) < MAX_FAILED:
                for task in board_pages.page(db, home.id, "failed", list_pages.FIRST, MAX_FAILED):
                    found.setdefault(task.uid, task)
        return list(found.values())


def _phrase(entry: Entry, name: str) -> str:
    name = f"“{safe_line(name, 40)}”"
    if entry.kind in _DONE:
        return _DONE[entry.kind].format(name)
    changes = entry.changes
    if "status" in changes:
        was, now = (look(str(word)).word for word in changes["status"])
        return f"{name} {was} → {now}"
    return f"{', '.join(changes)} of {name}"


# Actions on the lists: going from one to the next, making, renaming, archiving and deleting them, and their rules.


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
        wanted = {home.id for home in state.of_project if home.total} | {state.list_id}
        ids = [number for number in state.lists if number in wanted]
        if len(ids) < 2:
            context.say("There is no other list with tasks.")
            return
        at = ids.index(context.state.list_id) if context.state.list_id in ids else 0
        context.navigation.show_list(ids[(at + by) % len(ids)])
        home = context.state.current_list
        if home is not None:
            context.say(f"{safe_line(home.name, 60)}   {count(home.total, 'task')}")

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

        context, home = self._context, self._context.state.current_list
        if home is None:
            return
        why_not = "agents' tools know it by this name" if is_dialects_own(home) else ""
        choices = [
            Choice("r", "rename", why_not=why_not),
            Choice(
                "a", "take out of the archive" if home.archived else "archive: out of the way, until a task is added"
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

    @override
    def why_not(self, action: Action) -> str | None:
        """Some actions need a list, which must be on screen."""
        if action.needs != "list":
            return None
        if self._context.state.current_list is None:
            return "there is no list"
        return None if self._context.navigation.shows_list else "no list is on screen here"

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
        now = "is taken up at once" if home.review else "waits for you"
        self._context.say(f"What agents file in {safe_line(home.name, 40)} {now}.")

    async def do_auto_list(self) -> None:
        """Ask how many agents of which program work the list off, or stop that (docs: work)."""
        from tui_tasks.tui.inputs.dialogs import LineDialog
        from tui_tasks.work import starting

        context, home = self._context, self._context.state.current_list
        if home is None:
            return
        known = context.state.autos.get(home.uid)
        program, at_once = (known.program, known.at_once) if known is not None else ("", 1)
        value = "off" if known is not None and known.is_on else f"{at_once} {program}".strip()
        hint = "agents at once, a program, stay: `2 claude stay`; or off"
        title = f"Start the ready tasks of {safe_line(home.name, 40)} by themselves"
        answer = await context.ask(LineDialog(context, title, value, done="Set", hint=hint))
        if answer is None or not answer.strip():
            return
        if answer.strip() == "off":
            if known is not None and known.is_on:
                await context.link.commit(StopAuto(home.uid))
            context.say(f"Tasks of {safe_line(home.name, 40)} are started by hand alone.")
            return
        wanted = starting.parse_auto(answer, starting.settings().names())
        if isinstance(wanted, str):
            context.say(wanted)
            return
        await context.link.commit(SetAuto(home.uid, str(Path.cwd()), host=starting.this_host(), **wanted))
        context.say(f"Ready tasks of {safe_line(home.name, 40)} are started, {wanted['at_once']} at once.")


def is_dialects_own(found: TaskList) -> bool:
    """Return whether a list belongs to a dialect, which finds it by its name alone (docs: protocol, section 5)."""
    return found.kind == "list" and found.name in DIALECT_LISTS
