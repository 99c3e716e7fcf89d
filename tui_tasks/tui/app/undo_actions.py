"""Undo and redo on the screen: of the human's changes, of what they decided about work, of what they have seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import CannotUndo, Conflict
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.read import ask_queries, message_queries, work_queries
from tui_tasks.core.read.pages import change_summaries, list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import redo, undo
from tui_tasks.core.snapshots import Entry
from tui_tasks.core.vocab import HUMAN, UNDOABLE, WORK_ENDS, WORK_RESTORED
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import MINUTE, ago, count
from tui_tasks.tui.agents import agent_messages, agent_text
from tui_tasks.tui.app import seen_actions
from tui_tasks.tui.inputs.dialogs import confirm

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.work.git.base_branch import WayBack

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
# So many of the human's newest changes are looked at; one may have any number of entries, which are read by pages.
_LOOKED_AT: Final = 200
_PAGE: Final = 1_000
_NEWEST: Final = """
SELECT seq, kind, uid, change, undoes FROM journal WHERE actor = ? AND seq < ? ORDER BY seq DESC LIMIT ?
"""


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
        if self._context.state.works.has_any and (ended := newest_ended(self._context.db)) is not None:
            work, entry, passed = ended
            above = ""
            if passed is not None:
                above = (
                    f"“{self._described(passed)}” cannot be undone: {undo.why_not_by_undo(self._context.db, passed)}"
                )
                if not self._take_second_press(above, "offers the change before it"):
                    return
                above += ". "
            await _undo_end(self._context, work, entry, above)
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
                await _redo_work(self._context, work_queries.find(self._context.db, found.work))
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
        """Ask before an old change is taken back, unless a later one just was; before one that deletes things is, as in
        the shell; and before one that was not made where the human is. Say why where there is none, or none is taken
        back yet.
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
        """Put the cursor on a task that was deleted by a change that was taken back: on which it was then, else on the
        first; or on such a job. A task that is open stays so, unless it took the place of the deleted one.
        """
        db, pane = self._context.db, self._context.navigation.pane
        parts = next(journal.of_change(db, change), [])[:_MAX_RESTORED]
        for part in parts:
            if part.kind == "job.deleted":
                pane.select(part.uid)
        uids = [part.task for part in parts if part.kind == "task.deleted" and part.task is not None]
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


def newest_ended(db: Database) -> tuple[Work, Entry, int | None] | None:
    """Return the work that the human merged or discarded last, with the newest entry of that, and their newest change
    about work since, which no undo takes back; None if they changed something else since. An end that was redone has
    the place of the first one.
    """
    passed: int | None = None
    newest: dict[str, int] = {}
    redone_ends = redo.RedoneEnds(db)
    for seq, kind, uid, change, undoes in _newest_entries(db):
        if kind in WORK_ENDS:
            newest.setdefault(uid, seq)
            work = work_queries.find(db, uid)
            if work_queries.stands(work, kind) and not redone_ends.has(change):
                return work, journal.entry(db, newest[uid]), passed
        elif kind in UNDOABLE and _is_newer(db, change, undoes):
            if undo.why_not_by_undo(db, change) is None:
                return None
            passed = passed if passed is not None else change
    return None


def _is_newer(db: Database, change: int, undoes: int | None) -> bool:
    """Return whether the human has made a change for itself, or has reverted another's, which stands."""
    if undoes is None:
        return _stands_alone(db, change)
    return redo.is_revert(db, change) and journal.stands(db, change)


def _newest_entries(db: Database) -> Iterator[Any]:
    """Yield seq, kind, uid, change and what it undoes of the human's newest entries, the newest first."""
    below, changes = journal.newest(db) + 1, set[int]()
    while page := db.sql(_NEWEST, (HUMAN, below, _PAGE)).fetchall():
        for entry in page:
            below = entry[0]
            changes.add(entry[3])
            if len(changes) > _LOOKED_AT:
                return
            yield entry


def _stands_alone(db: Database, change: int) -> bool:
    """Return whether a change stands, and follows for a task from neither the end nor the return of a work."""
    kinds = (part.kind for part in journal.each_of_change(db, change))
    return not any(kind in (*WORK_ENDS, WORK_RESTORED) for kind in kinds) and journal.stands(db, change)


async def _undo_end(context: Context, work: Work, entry: Entry, above: str) -> None:
    """Bring merged or discarded work back for review; ask before, where the base branch changes by it. A discard is
    brought back without a question, as nothing is lost, unless it is old, or was not made where the human is.
    `above`: what was passed over, as a sentence.

    Raises:
        Refusal: why it cannot be.
    """
    from tui_tasks.tui.work.work_actions import decide  # undo of other changes goes without

    now, is_merge = context.clock.now(), entry.kind == "work.merged"
    is_here = context.navigation.may_be_done_here(entry.change)
    if not is_merge and is_here and not above and not change_summaries.is_old(entry.at, now):
        await take_back(context, work)
        return
    way = await decide(context, lambda acceptance: acceptance.way_back(work)) if is_merge else "none"
    base = safe_line(work.base or "", 40)
    did = "discarded" if not is_merge else f"merged into {base}" if work.merge_commit else "accepted"
    when = ago(entry.at, now) if now - entry.at >= MINUTE else "just now"
    question = f"{above}Undo “{_named(context, work)} {did}”, {when}?"
    if is_merge:
        question += f" {_EFFECTS[way].format(base=base)}; the work waits for review."
    if await confirm(context, question, "revert it" if way == "revert" else "undo it"):
        await take_back(context, work, is_revert=way == "revert")


_EFFECTS: Final[dict[WayBack, str]] = {
    "move": "{base} loses the merge",
    "revert": "{base} has moved on since: a new commit reverts the merge",
    "none": "{base} keeps its commits",
}


def _named(context: Context, work: Work) -> str:
    """Return `#3 Fix it: work of claude-1`."""
    task = task_queries.any_task(context.db, work.task_uid)
    named = f"#{task.number} {safe_line(task.name, 60)}: " if task is not None else ""
    return f"{named}work of {agent_text.who(work.agent, 30)}"


async def take_back(context: Context, work: Work, *, is_revert: bool = False) -> None:
    """Bring merged or discarded work back for review; where others have built on it, offer a revert.

    Raises:
        Refusal: why it cannot be.
    """
    from tui_tasks.tui.work.work_actions import decide  # undo of other changes goes without

    base, is_merged = safe_line(work.base or "", 40), work_queries.stands(work, "work.merged")
    try:
        restored = await decide(context, lambda acceptance: acceptance.take_back(work, is_revert=is_revert))
    except Conflict as refused:
        if not is_merged or "base" not in refused.data or is_revert:
            raise
        question = f"{base} has moved on since the merge. Revert the merge by a commit?"
        if not await confirm(context, question, "revert it", "leave it"):
            return
        is_revert = True
        restored = await decide(context, lambda acceptance: acceptance.take_back(work, is_revert=True))
    navigation = context.navigation
    if navigation.shows_list and not navigation.screen_name and not navigation.pane.is_inside:
        navigation.pane.select(work.task_uid)  # The next keys are for the task that was undone.
    was, again = (f"Taken out of {base} again", "merges") if is_merged else ("Brought back", "discards")
    if is_merged and work.merge_commit is None:
        was, again = f"{base} keeps its commits", "accepts"
    waiting = [one for one in work_queries.of_task(context.db, work.task_uid) if one.state in ("ready", "conflict")]
    others = len(waiting) - (restored.state == "ready") if is_merged else 0
    now = _BACK_TEXTS.get(restored.state, "waits for review")
    now += f", and {count(others, 'other work')}" if others else ""
    # What was reverted is another commit now: it is reviewed before it is merged again.
    can_redo = work.state != "failed" and not is_revert
    key = f" {context.keymap.key_of('redo')} {again} it again." if can_redo else ""
    context.say(f"{was}: the work of {agent_text.who(work.agent, 30)} {now}.{key}")


_BACK_TEXTS: Final = {"working": "continues", "failed": "changed nothing, so there is nothing to review"}


async def _redo_work(context: Context, work: Work) -> None:
    """Merge or discard work again whose merge or discard was taken back; ask before, where the undo does.

    Raises:
        Refusal: why it cannot be.
    """
    from tui_tasks.tui.work.work_actions import decide  # undo of other changes goes without

    before = await decide(context, lambda acceptance: acceptance.to_redo(work))
    base = safe_line(work.base or "", 40)
    if before.end == "merged":
        gets = f"{base} gets the same merge again" if before.merge is not None else f"{base} keeps its commits"
        then = "the agent continues" if before.goes_on else "the task is done"
        did = f"merged into {base}" if before.merge is not None else "accepted"
        question = f"Redo “{_named(context, work)} {did}”? {gets}; {then}."
        if not await confirm(context, question, "merge it again" if before.merge is not None else "accept it again"):
            return
    outcome = await decide(context, lambda acceptance: acceptance.redo(work))
    did = "Discarded" if outcome.state == "discarded" else f"Merged into {base}"
    did = did if outcome.state == "discarded" or outcome.merge is not None else "Accepted"
    named, key = agent_text.who(work.agent, 30), context.keymap.key_of("undo")
    context.say(f"{did} again: the work of {named}. {key} undoes it.")
