"""Undo and redo on the screen: which of the human's acts is the newest, and what it needs to be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tui_tasks.core.commit import journal
from tui_tasks.core.errors import CannotUndo
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.read import ask_queries, message_queries, work_queries
from tui_tasks.core.read.pages import change_summaries, list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import redo, undo
from tui_tasks.core.vocab import HUMAN
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_messages, agent_text
from tui_tasks.tui.app import seen_actions
from tui_tasks.tui.inputs.dialogs import confirm
from tui_tasks.tui.work import work_actions

if TYPE_CHECKING:
    from tui_tasks.core.commit.journal import UndoColumns
    from tui_tasks.core.engine.database import Database
    from tui_tasks.tui.state.context import Context

# The most tasks restored by one change among which the first is looked for.
_MAX_RESTORED: Final = 1_000
_NOT_UNDOABLE: Final = {
    "ask": "an answer to an agent",
    "run": "a run of a job",
    "message": "a message",
    "agent": "a pause",
    "check": "a check",
    "work": "work of an agent",
}
"""What people may want to undo, but cannot, by the kind of its entry."""


class UndoActions:
    """What the keys of undo and redo do on one screen."""

    def __init__(self, context: Context, opened_at: int) -> None:
        """`opened_at`: the newest entry of the journal when the screen opened."""
        self._context = context
        self._opened_at = opened_at
        # The changes that cannot be taken back, which undo passes over, each with the reason.
        self._passed_over: dict[int, str] = {}
        # The answer that a message was begun to correct, and the message of which was said that nothing takes it back.
        self._corrected = self._said_of_message = ""
        # The input that would be the next one after it was said that an answer, or another change, is not undone.
        self._goes_on_at = 0
        # The pause, or the end of one, by its entry, of which was said that it is not undone.
        self._said_of_pause = 0

    async def undo(self) -> None:
        """Take back the human's newest change, or that all was marked as seen since it; pressed twice, begin a message
        that corrects their newest answer.

        Say why a change cannot be taken back; pressed twice, offer to pass over it.
        """
        if await seen_actions.bring_back(self._context):
            return
        if self._refuse_pause():
            return
        if (taken := await agent_messages.took_message_back(self._context, self._said_of_message)) is not None:
            self._said_of_message = taken
            return
        if await self._correct_answer():
            return
        if self._context.state.works.has_any and (ended := work_actions.newest_ended(self._context.db)) is not None:
            work, entry, passed = ended
            why = undo.why_not_by_undo(self._context.db, passed) if passed is not None else None
            above = f"“{self._described(passed)}” cannot be undone: {why}" if passed is not None else ""
            if not above or self._take_second_press(above, "offers the change before it"):
                await work_actions.undo_end(self._context, work, entry, f"{above}. " if above else "")
            return
        if not await self._ask_to_undo():
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
                if not await self._ask_to_pass_over(refused.change, earlier):
                    self._passed_over = known
                    return
        self._show_list_of(change)
        self._select_restored(change)
        did, made = self._described(change, undone=True), journal.entry(self._context.db, change)
        is_earlier = made.seq <= self._opened_at
        of = f" from {self._context.clock.time_of(made.at)}, before this screen opened" if is_earlier else ""
        did += self._in_other_list(change)
        self._context.say(f"Undone{of}: {did}. {self._context.keymap.key_of('redo')} does it again.")

    async def redo(self) -> None:
        """Take back the newest undo; work that it has brought back is merged or discarded again."""
        if self._context.state.works.has_any:
            found = redo.next_redo(self._context.db, HUMAN)
            if found is not None and found.work is not None:
                await work_actions.redo_end(self._context, work_queries.find(self._context.db, found.work))
                return
        (_, change), *_rest = await self._context.link.commit(Redo())
        self._select_restored(change)
        undone = journal.entry(self._context.db, change).undoes or change
        self._context.say(f"Redone: {self._described(undone)}. {self._context.keymap.key_of('undo')} undoes it.")

    def _refuse_pause(self) -> bool:
        """Say, where the human's newest act is a pause or the end of one, and not an old one, that it is not undone,
        and which key does it; by the key again, with no other input between, the change before it is undone.
        """
        entry = message_queries.paused_last(self._context.db)
        if entry is None or entry.seq == self._said_of_pause:
            return False
        if change_summaries.is_old(entry.at, self._context.clock.now()):
            return False
        shown, key = agent_text.who(entry.uid, 30), self._context.keymap.key_of("agent_pause")
        is_pause = entry.kind == "agent.paused"
        what = "A pause" if is_pause else "The end of a pause"
        why = f"{what} is not undone: {key} in Agents {f'resumes {shown}' if is_pause else f'pauses {shown} again'}"
        if not self._take_second_press(why, "undoes the change before it"):
            return True
        self._said_of_pause, self._goes_on_at = entry.seq, 0
        return False

    async def _correct_answer(self) -> bool:
        """Say, where the human's newest act is an answer and not an old one, that it is not undone; by the key again,
        with no other input between, begin a message that corrects it, once for each answer.
        """
        ask = ask_queries.answered_last(self._context.db)
        if ask is None or ask.uid == self._corrected:
            return False
        if change_summaries.is_old(ask.answered_at or 0, self._context.clock.now()):
            return False
        shown = agent_text.who(ask.agent, 30)
        if not self._take_second_press(f"An answer is not undone: {shown} may have read it", f"writes to {shown}"):
            return True
        if await agent_messages.correct_answer(self._context, ask):
            self._corrected = ask.uid
        return True

    def _take_second_press(self, why: str, then: str) -> bool:
        """Return whether this press is the second with no other input between; else say why the key does nothing, and
        what it does then.
        """
        number = self._context.pressed.number
        if number == self._goes_on_at:
            return True
        self._goes_on_at = number + 1
        self._context.say(f"{why}. {self._context.keymap.key_of('undo')} again {then}.")
        return False

    async def _ask_to_undo(self) -> bool:
        """Return whether to take back the next change; say why there is none. Ask first if it is old, and no later one
        was just taken back; if the undo deletes things, as in the shell; or if it was not made where the human is.
        """
        context, db, now = self._context, self._context.db, self._context.clock.now()
        change = undo.next_to_undo(db, HUMAN, Undo(passed_over=tuple(self._passed_over)))
        if change is None:
            self._say_nothing_left()
            return False
        if undo.why_not_by_undo(db, change) is not None:
            return True  # It is refused with the reason.
        goes_on = undo.is_going_back(db, HUMAN, now)
        is_elsewhere = not context.navigation.may_be_done_here(change)
        question = change_summaries.undo_question(
            db, change, now, goes_on=goes_on, on_screen=True, is_elsewhere=is_elsewhere
        )
        if question and (in_list := self._in_other_list(change)):
            question = f"{question[:-1]}{in_list}?"
        return not question or await confirm(context, question, "undo it")

    def _pass_over_work(self, change: int | None) -> int | None:
        """Return a change, or the next one before it that is not about work, which no undo takes back."""
        db = self._context.db
        while change is not None and (why := undo.why_not_by_undo(db, change)) is not None:
            self._passed_over[change] = safe_line(why, 300)
            change = undo.next_to_undo(db, HUMAN, Undo(passed_over=tuple(self._passed_over)))
        return change

    async def _ask_to_pass_over(self, change: int, before: int) -> bool:
        """Say that a change is not undone; pressed again, ask whether to pass over it until the screen closes."""
        if not self._take_second_press(self._not_undone(change), "offers the change before it"):
            return False
        question = f"{self._not_undone(change)}. Undo “{self._described(before)}”?"
        return await confirm(self._context, question, "undo that", "leave everything as it is")

    def _say_nothing_left(self) -> None:
        """Say why nothing can be undone: the newest change that was passed over, or what no undo reverts.

        The next undo tries what was passed over again.
        """
        if self._passed_over:
            newest, *others = sorted(self._passed_over, reverse=True)
            more = f" Nor can {count(len(others), 'older change')}." if others else ""
            self._context.say(f"{self._not_undone(newest)}.{more}")
            self._passed_over.clear()
            return
        kinds = undo.newest_kinds(self._context.db, HUMAN)
        what = next((words for kind in kinds if (words := _NOT_UNDOABLE.get(kind.partition(".")[0]))), "")
        self._context.say(f"You have no change to undo{f'; {what} cannot be undone' if what else ''}.")

    def _not_undone(self, change: int) -> str:
        return f"“{self._described(change)}” cannot be undone: {self._passed_over[change]}"

    def _select_restored(self, change: int) -> None:
        """Put the cursor on a task that was deleted, or moved to another list, by a change that was taken back: on
        which it was then, else on the first; or on such a job. A task that is open stays so, unless it took the place
        of the deleted one.
        """
        db, pane = self._context.db, self._context.navigation.pane
        parts = next(journal.of_change(db, change), [])[:_MAX_RESTORED]
        for part in parts:
            if part.kind == "job.deleted":
                pane.select(part.uid)
        uids = [part.task for part in parts if part.task is not None and _took_away(db, part)]
        tasks = [task for uid in uids if (task := list_pages.line(db, uid)) and not task.deleted]
        here = [task for task in tasks if task.list_id == self._context.state.list_id]
        before = next((task for task in here if task.uid == self._context.state.cursor_deleted), None)
        if here and (not pane.is_inside or (before is not None and self._context.state.was_open_deleted)):
            pane.select((before or min(here, key=lambda task: task.rank)).uid)

    def _described(self, change: int, *, undone: bool = False) -> str:
        """Return a change of the human's in a few words."""
        return change_summaries.description(self._context.db, change, undone=undone, on_screen=True)

    def _in_other_list(self, change: int) -> str:
        """Return ` in the list Plan` for a change of tasks in another list than the one on screen; empty: it is not."""
        state = self._context.state
        uids = [part.task for part in next(journal.of_change(self._context.db, change), []) if part.task is not None]
        task = list_pages.line(self._context.db, uids[0]) if uids and state.list_id else None
        if task is None or task.list_id == state.list_id or task.list_id not in state.lists:
            return ""
        return f" in the list {safe_line(state.lists[task.list_id].name, 40)}"

    def _show_list_of(self, change: int) -> None:
        """Show a list that was deleted by a change and is restored."""
        db = self._context.db
        for part in next(journal.of_change(db, change), []):
            if part.kind == "list.deleted":
                self._context.navigation.show_list(task_queries.any_list(db, part.uid).id)


def _took_away(db: Database, part: UndoColumns) -> bool:
    """Return whether an entry has taken a task out of its list."""
    if part.kind != "task.moved":
        return part.kind == "task.deleted"
    moved = journal.entry(db, part.seq)
    before, after = moved.old or {}, moved.new or {}
    return before.get("list_id") != after.get("list_id")
