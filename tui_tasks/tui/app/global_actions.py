"""What can be done from anywhere: going to panes and lists, undo, what needs attention."""

from __future__ import annotations

from tui_tasks.core.journal import journal
from tui_tasks.core.operations import ArchiveList, CreatePlan, DeleteList, Redo, RenameList, SetListRule, Undo
from tui_tasks.core.read import views
from tui_tasks.core.read.tasks import board_pages, pages, queries
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.core.snapshots import Entry, TaskList
from tui_tasks.core.vocab import DIALECT_LISTS
from tui_tasks.text.glyphs import bar, look
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.app.actions import Action, Actor
from tui_tasks.tui.app.database_link import Writing
from tui_tasks.tui.app.panes import screen

# So many failed tasks are gone through by `!`.
MOST_FAILED = 200
# Of so many tasks that are brought back together, the first is looked for.
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


class AppActions(Actor):
    """The actions of the scope `app`."""

    def tell_of_writing(self, writing: Writing | None) -> None:
        """Show how far a long write has come; None: it is over, and what comes of it is told by whoever began it."""
        if writing is None:
            self.host.say("")
        elif not writing.has_begun:
            self.host.say("Waiting for another process to let the database go…")
        elif writing.total == 1:
            self.host.say(f"Writing…  {count(writing.entries, 'change')}")
        else:
            told = bar(writing.done / writing.total, 20, ascii_only=self.host.ascii_only)
            self.host.say(f"Writing  {told}  {writing.done:,} of {writing.total:,}")

    def do_pane_list(self) -> None:
        """Pane 1."""
        self.host.show_pane("list")

    def do_pane_board(self) -> None:
        """Pane 2."""
        self.host.show_pane("board")

    def do_pane_log(self) -> None:
        """Pane 3."""
        self.host.show_pane("log")

    def do_pane_schedule(self) -> None:
        """Pane 4."""
        self.host.show_pane("schedule")

    def do_asks(self) -> None:
        """The inbox."""
        self._open("asks")

    def do_agents(self) -> None:
        """The agents."""
        self._open("agents")

    def do_stats(self) -> None:
        """The stats."""
        self._open("stats")

    def _open(self, name: str) -> None:
        self.host.bridge.check()
        self.host.close_overlays()
        self.host.push_screen(screen(name))

    def do_help(self) -> None:
        """Every key."""
        from tui_tasks.tui.screens.palette import help_screen

        self.host.push_screen(help_screen(self.host))

    def do_palette(self) -> None:
        """Every command."""
        from tui_tasks.tui.screens.palette import palette

        self.host.load_themes()
        self.host.push_screen(palette(self.host))

    def do_search_all(self) -> None:
        """Search in all lists."""
        from tui_tasks.tui.screens.search_all import SearchAll

        self.host.bridge.check()
        self.host.push_screen(SearchAll())

    def do_quit(self) -> None:
        """Leave."""
        self.host.exit()

    async def do_undo(self) -> None:
        """Take back the human's newest change."""
        (_, change), *_rest = await self.host.bridge.commit(Undo())
        self._show_list_of(change)
        self._select_restored(change)
        self.host.say(f"Undone: {self._told(change)}. {self.host.key_of('redo')} does it again.")

    async def do_redo(self) -> None:
        """Take back the newest undo."""
        (_, change), *_rest = await self.host.bridge.commit(Redo())
        self._select_restored(change)
        self.host.say("Done again.")

    def _select_restored(self, change: int) -> None:
        """Put the cursor on the first of the tasks that a change, which was taken back, had deleted."""
        db = self.host.bridge.db
        parts = next(journal.of_change(db, change), [])[:MOST_RESTORED]
        uids = [part.task for part in parts if part.kind == "task.deleted" and part.task is not None]
        tasks = [task for uid in uids if (task := pages.line(db, uid)) and not task.deleted]
        here = [task for task in tasks if task.list_id == self.host.list_id]
        if here:
            self.host.pane.select(min(here, key=lambda task: task.rank).uid)

    def _told(self, change: int) -> str:
        """A change of the human's in a few words."""
        db = self.host.bridge.db
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
        """Go to the list that was deleted by a change and is back."""
        db = self.host.bridge.db
        for part in next(journal.of_change(db, change), []):
            if part.kind == "list.deleted":
                self.host.show_list(queries.any_list(db, part.uid).id)

    async def do_seen(self) -> None:
        """Nothing is new any more."""
        host = self.host
        looked = host.situation.all_seen(host.now())
        host.pane.refreshed()
        host.frame_again()
        await host.bridge.remember(views.LOOKED, {"seq": looked.seq, "at": looked.at})

    def do_previous_list(self) -> None:
        """The list before this one."""
        self._turn(-1)

    def do_next_list(self) -> None:
        """The list after this one."""
        self._turn(1)

    def _turn(self, by: int) -> None:
        """Go round the lists that have tasks, and this one."""
        host = self.host
        lists = host.situation.lists.values()
        ids = [found.id for found in lists if (found.total and not found.archived) or found.id == host.list_id]
        if len(ids) < 2:
            host.say("There is no other list with tasks.")
            return
        at = ids.index(host.list_id) if host.list_id in ids else 0
        host.show_list(ids[(at + by) % len(ids)])
        found = host.current_list
        if found is not None:
            host.say(f"{safe_line(found.name, 60)}   {count(found.total, 'task')}")

    async def do_new_list(self) -> None:
        """Make a list and go there."""
        from tui_tasks.tui.inputs.dialogs import Prompt

        name = await self.host.push_screen_wait(Prompt("Name of the new list", done="Make"))
        if name is not None and name.strip():
            (made,) = await self.host.bridge.commit(CreatePlan(name.strip()))
            self.host.show_list(made.id)

    async def do_this_list(self) -> None:
        """Rename the list, archive it, or delete it with its tasks."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        host, found = self.host, self.host.current_list
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
        key = await host.push_screen_wait(Menu(f"The list {safe_line(found.name, 60)}", choices))
        if key == "r":
            await self._rename(found)
        elif key == "a":
            await self._archive(found)
        elif key == "d":
            await self._delete(found)

    async def _archive(self, found: TaskList) -> None:
        host, name = self.host, safe_line(found.name, 40)
        await host.bridge.commit(ArchiveList(found.uid, not found.archived))
        if found.archived:
            host.say(f"{name} is back among the lists.")
            return
        other = next((each.id for each in host.situation.shelf if each.total), None)
        host.show_list(other or next((each.id for each in host.situation.shelf), found.id))
        host.say(
            f"{name} is archived; the palette ({host.key_of('palette')}) shows it. {host.key_of('undo')} undoes it."
        )

    async def _rename(self, found: TaskList) -> None:
        from tui_tasks.tui.inputs.dialogs import Prompt

        shown = safe_line(found.name, None)
        name = await self.host.push_screen_wait(Prompt("New name of the list", shown, done="Rename"))
        if name is not None and name.strip() not in ("", shown):
            (renamed,) = await self.host.bridge.commit(RenameList(found.uid, name))
            self.host.say(f"The list is called {safe_line(renamed.name, 60)} now.")

    async def _delete(self, found: TaskList) -> None:
        from tui_tasks.tui.inputs.dialogs import confirm

        name = safe_line(found.name, 40)
        if found.total and not await confirm(self.host, f"Delete {name} with its {count(found.total, 'task')}?", "yes"):
            return
        await self.host.bridge.commit(DeleteList(found.uid))
        self.host.say(f"{name} is deleted. {self.host.key_of('undo')} brings it back with its tasks.")

    def why_not(self, action: Action) -> str | None:
        """As `Actor.why_not`; what is about the list needs one."""
        if action.needs == "list" and self.host.current_list is None:
            return "there is no list"
        return super().why_not(action)

    async def do_one_at_a_time(self) -> None:
        """Give the list the rule of one task in progress, or take it away (docs: protocol, section 5)."""
        found = self.host.current_list
        if found is None:
            return
        await self.host.bridge.commit(SetListRule(found.uid, not found.one_in_progress))
        now = "any number of tasks" if found.one_in_progress else "one task"
        self.host.say(f"{safe_line(found.name, 40)} takes {now} in progress at a time.")

    def do_attention(self) -> None:
        """Go to the next task that needs attention: questions first, then what failed."""
        host = self.host
        wanting = self._wanting()
        if not wanting:
            host.say("Nothing needs attention.")
            return
        here = host.pane.target()
        uids = [task.uid for task in wanting]
        task = wanting[(uids.index(here) + 1) % len(uids)] if here in uids else wanting[0]
        host.go_to(task.uid)
        shown = look(host.situation.status_of(task))
        host.say(
            f"{uids.index(task.uid) + 1} of {len(uids)}: {shown.word}, #{host.place(task)} {safe_line(task.name, 60)}"
        )

    def _wanting(self) -> list[TaskLine]:
        host = self.host
        db, found = host.bridge.db, {}
        asked = (ask.task_uid for ask in host.situation.asks)
        new = (uid for uid in host.situation.new)
        for uid in (*asked, *new):
            task = pages.line(db, uid) if uid is not None else None
            if task is not None and not task.deleted and (uid in host.situation.asking or task.status == "failed"):
                found[task.uid] = task
        # The list that is shown comes first, then all that the Now line has counted.
        for home in sorted(host.situation.shelf, key=lambda home: home.id != host.list_id):
            if home.failed and len(found) < MOST_FAILED:
                for task in board_pages.page(db, home.id, "failed", pages.FIRST, MOST_FAILED):
                    found.setdefault(task.uid, task)
        return list(found.values())


def is_dialects_own(found: TaskList) -> bool:
    """Whether it is the list of one of the dialects, which knows it by its name alone (docs: protocol, section 5)."""
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
