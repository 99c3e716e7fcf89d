"""Actions that are available everywhere: panes and screens, undo, lists, going to what needs the human."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from tui_tasks.core.read.pages import list_pages
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.app.navigation import ActionLookup
from tui_tasks.tui.keys.actions import Controller, LateController
from tui_tasks.tui.layout import screen
from tui_tasks.tui.needs.open_needs import Kind, Need, Needs, visit
from tui_tasks.tui.painting.theme_file import ThemeManager
from tui_tasks.tui.state.context import Context

if TYPE_CHECKING:
    from tui_tasks.tui.app.list_actions import ListActions, ProjectActions
    from tui_tasks.tui.app.undo_actions import UndoActions


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
        # What `!` has gone to last, and when, in microseconds.
        self._went_to: Need | None = None
        self._went_at = 0

    async def do_ask_rule(self) -> None:
        """Make a rule of an answer that was given several times."""
        from tui_tasks.tui.asks import answer_keys

        await answer_keys.make_rule(self._context)

    def do_pane_list(self) -> None:
        """Show pane 1."""
        self._context.navigation.show_pane("list")

    def do_pane_board(self) -> None:
        """Show pane 2."""
        self._context.navigation.show_pane("board")

    def do_pane_log(self) -> None:
        """Show pane 3."""
        self._context.navigation.show_pane("log")

    def do_pane_schedule(self) -> None:
        """Show pane 4."""
        self._context.navigation.show_pane("schedule")

    def do_asks(self) -> None:
        """Open the inbox, on the question about the task under the cursor if there is one."""
        from tui_tasks.tui.inbox.inbox_screen import Inbox

        if self._say_if_open("inbox"):
            return
        context, target = self._context, self._context.navigation.pane.target()
        asked = next((uid for uid, task in context.state.asked_about.items() if task == target), None)
        context.link.check()
        context.navigation.close_overlays()
        context.push(Inbox(context, asked))

    def do_agents(self) -> None:
        """Open Agents."""
        self._open("agents")

    def do_digest(self) -> None:
        """Open the digest of what happened while the human was away."""
        self._open("digest")

    def do_stats(self) -> None:
        """Open the stats."""
        self._open("stats")

    def _say_if_open(self, name: str) -> bool:
        """Say that a screen is open already, and return whether it is: opened anew, it would lose its cursor."""
        is_here = self._context.navigation.screen_name == name
        if is_here:
            self._context.say(f"{name.capitalize()} is open already. {self._context.keymap.key_of('back')} goes back.")
        return is_here

    def _open(self, name: str) -> None:
        if self._say_if_open(name):
            return
        self._context.link.check()
        self._context.navigation.close_overlays()
        self._context.push(screen(name, self._context))

    def do_help(self) -> None:
        """Show every key."""
        from tui_tasks.tui.screens.palette import help_screen

        self._context.push(help_screen(self._context, self._lookup))

    def do_palette(self) -> None:
        """Open the palette of every command."""
        from tui_tasks.tui.screens.palette import palette

        self._themes.load()
        self._context.push(palette(self._context, self._lookup, self._themes))

    def do_settings(self) -> None:
        """Open the settings, and their file."""
        from tui_tasks.tui.screens.settings_list import settings_list

        self._context.push(settings_list(self._context))

    def do_search_all(self) -> None:
        """Search in all lists."""
        from tui_tasks.tui.screens.place_pickers import SearchAll

        self._context.link.check()
        self._context.push(SearchAll(self._context))

    def do_quit(self) -> None:
        """Go back from a screen over the panes, or from an opened row; else leave."""
        self._leave()

    def do_suspend(self) -> None:
        """Go back to the shell for some time."""
        if why := self._stop():
            self._context.say(why)

    @cached_property
    def _undo_actions(self) -> UndoActions:
        from tui_tasks.tui.app.undo_actions import UndoActions  # the first paint does not wait for it

        return UndoActions(self._context, self._opened_at)

    async def do_undo(self) -> None:
        """Take back the human's newest change, or that all was marked as seen since it."""
        await self._undo_actions.undo()

    async def do_redo(self) -> None:
        """Take back the newest undo."""
        await self._undo_actions.redo()

    async def do_seen(self) -> None:
        """Nothing is new any more; where nothing is, dismiss failures that were named just now with this key."""
        from tui_tasks.tui.app import seen_actions

        await seen_actions.mark(self._context)

    def do_attention(self) -> None:
        """Go to the next of all that needs the human, in the order in which the inbox lists it; first to what is more
        urgent, and has come since this key was pressed last. What is put off is left out while anything else needs
        them.
        """
        from tui_tasks.tui.needs.needs_entries import NeedsEntries

        context, found, last = self._context, Needs(self._context).all(), self._went_to
        found = [need for need in found if not need.is_later] or found
        if not found:
            context.say("Nothing needs you.")
            return
        target = context.navigation.pane.target()
        here = next((one for one in found if one.task is not None and one.task == target), None)
        if last is not None and last.task in (None, target):
            # A task may need the human more than once.
            here = last
        need = found[0]
        if here is not None:
            come = (one for one in found if one.order < here.order and (one.at or 0) > self._went_at)
            after = (one for one in found if one.order > here.order)
            need = next(chain(come, after), need)
        self._went_to, self._went_at = need, context.clock.now()
        there = list_pages.line(context.db, need.task) if need.task is not None else None
        home = context.state.lists.get(there.list_id) if there is not None and not there.deleted else None
        is_elsewhere = home is not None and home.id != context.state.list_id
        goes_back = is_elsewhere and home is not None and home.id != context.navigation.list_to_return_to
        visit(context, need)
        if need.task is not None or need.job is not None:
            entry = NeedsEntries(context, lambda span: None).entry(need)
            about = " ".join(filter(None, (entry.number, safe_line(entry.text, 60))))
            word = "" if entry.text.startswith(need.word) else f"{need.word}, "
            number = sum(one.count for one in found)
            key_of = context.keymap.key_of
            keys = [f"{key_of('asks')} answers it"] if need.kind == Kind.ASKS else []
            keys += [f"{key_of('back')} goes back"] if goes_back else []
            place = f", in {safe_line(home.name, 20)}" if home is not None and is_elsewhere else ""
            about = f"{found.index(need) + 1} of {number:,}{place}: {word}{about}"
            context.say("; ".join(filter(None, (about, ", ".join(keys)))))


def late_controllers(context: Context) -> tuple[LateController[Any], ...]:
    """Return the other controllers of the scope `app`, those of lists and projects."""

    def lists() -> ListActions:
        from tui_tasks.tui.app.list_actions import ListActions

        return ListActions(context)

    def projects() -> ProjectActions:
        from tui_tasks.tui.app.list_actions import ProjectActions

        return ProjectActions(context)

    of_lists = ("previous_list", "next_list", "new_list", "this_list", "one_at_a_time", "review_list", "auto_list")
    return LateController(lists, *of_lists), LateController(projects, "projects", "only_project")
