"""Actions that are available everywhere: panes and screens, undo, lists, going to what needs the human."""

from __future__ import annotations

from collections.abc import Callable

from tui_tasks.core.commit import journal
from tui_tasks.core.errors import CannotUndo
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.read import ask_queries, work_queries
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.vocab import HUMAN
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.app.navigation import ActionLookup
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.layout import screen
from tui_tasks.tui.painting.theme_file import ThemeManager
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.open_needs import Need, Needs, visit

# The most tasks restored by one change among which the first is looked for.
MAX_RESTORED = 1_000
_NOT_UNDOABLE = {
    "ask": "an answer to an agent",
    "run": "a run of a job",
    "message": "a message",
    "agent": "a pause",
    "check": "a check",
    "work": "work of an agent",
}
"""What people may want to undo, but cannot, by the kind of its entry."""


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
        # The newest entry of the journal when the screen opened.
        self._opened_at = context.link.seq
        # The changes that cannot be taken back, which undo passes over, each with the reason.
        self._passed_over: dict[int, str] = {}
        # The answered question of which was said that no undo takes the answer back.
        self._said_of_answer = self._said_of_message = ""
        # What `!` has gone to last.
        self._went_to: Need | None = None

    async def do_ask_rule(self) -> None:
        """Make a rule of an answer that was given several times."""
        from tui_tasks.tui.asks import answer_keys

        await answer_keys.make_rule(self._context)

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
        """The inbox, on the question about the task under the cursor if there is one."""
        from tui_tasks.tui.inbox.inbox_screen import Inbox

        if self._is_here("inbox"):
            return
        context, target = self._context, self._context.navigation.pane.target()
        asked = next((uid for uid, task in context.state.asked_about.items() if task == target), None)
        context.link.check()
        context.navigation.close_overlays()
        context.push(Inbox(context, asked))

    def do_agents(self) -> None:
        """The agents."""
        self._open("agents")

    def do_digest(self) -> None:
        """What happened while the human was away."""
        self._open("digest")

    def do_stats(self) -> None:
        """The stats."""
        self._open("stats")

    def _is_here(self, name: str) -> bool:
        """Return whether a screen is open already, and say so: opened anew, it would lose its cursor."""
        is_here = self._context.navigation.screen_name == name
        if is_here:
            self._context.say(f"{name.capitalize()} is open already. {self._context.keymap.key_of('back')} goes back.")
        return is_here

    def _open(self, name: str) -> None:
        if self._is_here(name):
            return
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
        """Go back from a screen over the panes, or from an opened row; else leave."""
        self._leave()

    def do_suspend(self) -> None:
        """Go back to the shell for some time."""
        if why := self._stop():
            self._context.say(why)

    async def do_undo(self) -> None:
        """Take back the human's newest change, or that all was marked as seen since it.

        Offer to pass over a change that cannot be taken back.
        """
        from tui_tasks.tui.app import seen_actions

        if await seen_actions.bring_back(self._context):
            return
        from tui_tasks.tui.agents import agent_actions

        if (taken := await agent_actions.took_message_back(self._context, self._said_of_message)) is not None:
            self._said_of_message = taken
            return
        if self._context.state.has_work:
            from tui_tasks.tui.work import work_undo

            if (ended := work_undo.newest_ended(self._context.db)) is not None:
                if not self._has_answered():
                    await work_undo.undo_end(self._context, *ended)
                return
        if not await self._agrees_to_undo():
            return
        while True:
            try:
                (_, change), *_rest = await self._context.link.commit(Undo(passed_over=tuple(self._passed_over)))
                break
            except CannotUndo as refused:
                known = dict(self._passed_over)
                self._passed_over[refused.change] = safe_line(refused.message, 300)
                earlier = self._pass_over_work(refused.before)
                if earlier is None:
                    self._say_nothing_left()
                    return
                if not await self._passes_over(refused.change, earlier):
                    self._passed_over = known
                    return
        self._show_list_of(change)
        self._select_restored(change)
        did, made = self._described(change, undone=True), journal.entry(self._context.db, change)
        is_earlier = made.seq <= self._opened_at
        of = f" from {self._context.clock.time_of(made.at)}, before this screen opened" if is_earlier else ""
        self._context.say(f"Undone{of}: {did}. {self._context.keymap.key_of('redo')} does it again.")

    def _has_answered(self) -> bool:
        """Say, once for each answer, that the human's newest act is one, which no undo takes back."""
        ask = ask_queries.answered_last(self._context.db)
        if ask is None or ask.uid == self._said_of_answer:
            return False
        self._said_of_answer = ask.uid
        key, who = self._context.keymap.key_of("undo"), agent_text.who(ask.agent, 30)
        self._context.say(f"{who} has your answer, which nothing takes back. {key} again undoes the change before it.")
        return True

    async def _agrees_to_undo(self) -> bool:
        """Ask before an old change is taken back, unless a later one just was; before one that deletes things is, as in
        the shell; and before one that was not made where the human is. Say why where there is none, or none is taken
        back yet.
        """
        from tui_tasks.core.rules import undo
        from tui_tasks.tui.inputs.dialogs import confirm

        context, db, now = self._context, self._context.db, self._context.clock.now()
        change = undo.next_to_undo(db, HUMAN, Undo(passed_over=tuple(self._passed_over)))
        if change is None:
            self._say_nothing_left()
            return False
        if self._has_answered():
            return False
        if undo.why_not_by_undo(db, change) is not None:
            return True  # It is refused, and the question about the one before follows.
        goes_on = undo.goes_on(db, HUMAN, now)
        is_elsewhere = not context.navigation.may_be_done_here(change)
        from tui_tasks.core.read.pages import change_summaries  # the first paint goes without

        question = change_summaries.undo_question(
            db, change, now, goes_on=goes_on, on_screen=True, is_elsewhere=is_elsewhere
        )
        return not question or await confirm(context, question, "undo it")

    def _pass_over_work(self, change: int | None) -> int | None:
        """Return a change, or the next one before it that is not about work, which no undo takes back."""
        from tui_tasks.core.rules import undo

        db = self._context.db
        while change is not None and (why := undo.why_not_by_undo(db, change)) is not None:
            self._passed_over[change] = safe_line(why, 300)
            change = undo.next_to_undo(db, HUMAN, Undo(passed_over=tuple(self._passed_over)))
        return change

    async def _passes_over(self, change: int, before: int) -> bool:
        """Ask whether a change that cannot be taken back is to be passed over, until the screen closes."""
        from tui_tasks.tui.inputs.dialogs import confirm

        question = f"{self._not_undone(change)}. Undo “{self._described(before)}”?"
        return await confirm(self._context, question, "undo that", "leave everything as it is")

    def _say_nothing_left(self) -> None:
        """Say why nothing can be undone: the newest change that was passed over, or what no undo reverts.

        The next undo tries what was passed over again.
        """
        from tui_tasks.core.rules import undo

        if self._passed_over:
            newest, *others = sorted(self._passed_over, reverse=True)
            more = f" Nor can {count(len(others), 'older change')}." if others else ""
            self._context.say(f"{self._not_undone(newest)}.{more}")
            self._passed_over.clear()
            return
        kinds = undo.kinds_of_late(self._context.db, HUMAN)
        what = next((words for kind in kinds if (words := _NOT_UNDOABLE.get(kind.partition(".")[0]))), "")
        self._context.say(f"You have no change to undo{f'; {what} cannot be undone' if what else ''}.")

    def _not_undone(self, change: int) -> str:
        return f"“{self._described(change)}” cannot be undone: {self._passed_over[change]}"

    async def do_redo(self) -> None:
        """Take back the newest undo; work that it has brought back is merged or discarded again."""
        if self._context.state.has_work:
            from tui_tasks.core.rules.redo import next_redo
            from tui_tasks.tui.work import work_undo

            found = next_redo(self._context.db, HUMAN)
            if found is not None and found.work is not None:
                await work_undo.redo(self._context, work_queries.find(self._context.db, found.work))
                return
        (_, change), *_rest = await self._context.link.commit(Redo())
        self._select_restored(change)
        undone = journal.entry(self._context.db, change).undoes or change
        self._context.say(f"Redone: {self._described(undone)}. {self._context.keymap.key_of('undo')} undoes it.")

    def _select_restored(self, change: int) -> None:
        """Put the cursor on a task that was deleted by a change that was taken back: on which it was then, else on the
        first.
        """
        db = self._context.db
        parts = next(journal.of_change(db, change), [])[:MAX_RESTORED]
        uids = [part.task for part in parts if part.kind == "task.deleted" and part.task is not None]
        tasks = [task for uid in uids if (task := list_pages.line(db, uid)) and not task.deleted]
        here = [task for task in tasks if task.list_id == self._context.state.list_id]
        if here:
            before = next((task for task in here if task.uid == self._context.state.cursor_deleted), None)
            self._context.navigation.pane.select((before or min(here, key=lambda task: task.rank)).uid)

    def _described(self, change: int, *, undone: bool = False) -> str:
        """Return a change of the human's in a few words."""
        from tui_tasks.core.read.pages import change_summaries  # the first paint goes without

        return change_summaries.description(self._context.db, change, undone=undone, on_screen=True)

    def _show_list_of(self, change: int) -> None:
        """Show a list that was deleted by a change and is restored."""
        db = self._context.db
        for part in next(journal.of_change(db, change), []):
            if part.kind == "list.deleted":
                self._context.navigation.show_list(task_queries.any_list(db, part.uid).id)

    async def do_seen(self) -> None:
        """Nothing is new any more; where nothing is, put failures away that were named just now with this key."""
        from tui_tasks.tui.app import seen_actions

        await seen_actions.mark(self._context)

    def do_attention(self) -> None:
        """Go to the next of all that needs the human, in the order in which the inbox lists it."""
        from tui_tasks.tui.widgets.needs_entries import NeedsEntries

        context, found, last = self._context, Needs(self._context).all(), self._went_to
        if not found:
            context.say("Nothing needs you.")
            return
        target = context.navigation.pane.target()
        here = next((one for one in found if one.task is not None and one.task == target), None)
        if last is not None and last.task in (None, target):
            # A task may need the human more than once.
            here = last
        need = next((one for one in found if here is not None and one.order > here.order), found[0])
        self._went_to = need
        visit(context, need)
        if need.task is not None or need.job is not None:
            entry = NeedsEntries(context, lambda span: None).entry(need)
            about = " ".join(filter(None, (entry.number, safe_line(entry.text, 60))))
            word = "" if entry.text.startswith(need.word) else f"{need.word}, "
            number = sum(one.count for one in found)
            context.say(f"{found.index(need) + 1} of {number:,}: {word}{about}")
