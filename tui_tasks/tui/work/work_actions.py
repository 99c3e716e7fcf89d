"""The human's actions on work from a pane of tasks: start an agent, peek at what it does, end it; and decisions about
work and their undo, carried out in a thread, as git runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import redo, undo
from tui_tasks.core.snapshots import Entry
from tui_tasks.core.vocab import HUMAN, LIVE_WORK, UNDOABLE, WORK_ENDS, WORK_RESTORED
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import MINUTE, ago, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inputs.dialogs import confirm
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.tasks.task_pane import TaskPane
    from tui_tasks.work.accepting import Acceptance
    from tui_tasks.work.git.base_branch import WayBack

T = TypeVar("T")


def review(context: Context, task_uid: str, agent: str | None = None) -> bool:
    """Open the review of the work on a task, that of an agent first; return whether there is some to review."""
    if task_uid not in context.state.works.reviewable:
        return False
    if agent_text.live_task(context.db, task_uid) is None:
        context.say(agent_text.deleted_text(context, task_uid))
        return True
    works = [work for work in work_queries.of_task(context.db, task_uid) if agent in (None, work.agent)]
    elsewhere = [line for work in works if (line := work_queries.is_elsewhere(context.db, work)) is not None]
    if works and len(elsewhere) == len(works):
        context.say(f"Not here: {elsewhere[-1]}.")
        return True
    from tui_tasks.tui.work.review_screen import ReviewScreen

    if not context.link.read_only and context.state.seen.read(task_uid):
        context.redraw_frame()
    context.push(ReviewScreen(context, task_uid, agent))
    return True


class WorkActions(Controller):
    """Starts agents on the marked tasks of a pane, else on the task under the cursor."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context

    @override
    def why_not(self, action: Action) -> str | None:
        """Peeking needs an agent that was started here."""
        if action.id in ("work_peek", "work_record") and self._work_here() is None:
            mark = self._context.keymap.key_of("mark")
            return f"No agent was started on this task, so there is nothing to show. {mark} marks it."
        if action.id == "work_end" and self._live() is None:
            return f"No agent is at work on this task: {self._context.keymap.key_of('work_start')} starts one."
        if action.id == "work_restore" and self._restorable() is None:
            return "This task has no merged or discarded work."
        return None

    def _works(self) -> list[Work]:
        """Return the works on the task, the newest last."""
        uids = self._pane.selection()[:1]
        return work_queries.of_task(self._context.db, uids[0]) if uids else []

    def _work_here(self) -> str | None:
        works = self._works()
        return works[-1].agent if works else None

    def do_work_peek(self) -> None:
        """Show the last lines of the agent of the task."""
        from tui_tasks.tui.work.peek_screens import Peek

        agent = self._work_here()
        if agent is not None:
            self._context.push(Peek(self._context, agent))

    async def do_work_end(self) -> None:
        """End the newest agent on the task, also one that failed, once confirmed; undo brings its work back."""
        work = self._live()
        done = await discard(self._context, work) if work is not None else None
        if done is not None:
            self._context.say(done)

    def _live(self) -> Work | None:
        works = self._works()
        live = next((work for work in reversed(works) if work.state in LIVE_WORK), None)
        return live or next((work for work in works[-1:] if work.state == "failed"), None)

    async def do_work_restore(self) -> None:
        """Bring back the work on the task that was merged or discarded last."""
        if (work := self._restorable()) is not None:
            await take_back(self._context, work)

    def _restorable(self) -> Work | None:
        return next((work for work in reversed(self._works()) if work.state in ("merged", "discarded", "failed")), None)

    def do_work_record(self) -> None:
        """Show the own record of the agent of the task."""
        from tui_tasks.tui.work.peek_screens import TranscriptScreen

        agent = self._work_here()
        if agent is not None:
            self._context.push(TranscriptScreen(self._context, agent))

    def open_review(self) -> bool:
        """Review the work on the task under the cursor; return whether there is some to review."""
        uid = self._pane.target()
        if uid is None or uid not in self._context.state.works.reviewable:
            return False
        self._pane.mark_opened()
        return review(self._context, uid)

    async def do_work_start(self) -> None:
        """Ask for program, place and words, then start an agent on each task."""
        from tui_tasks.tui.work import start_form

        here = self._pane.screen
        if await start_form.start(self._context, self._pane.selection(), lambda: here.is_active):
            self._pane.row_list.clear_marks()


async def decide(context: Context, act: Callable[[Acceptance], T]) -> T:
    """Act in a thread with a connection of its own, then take in what has changed.

    Raises:
        Refusal: why it was not done.
    """
    from tui_tasks.core.store import Store
    from tui_tasks.runner.git import GitFailed
    from tui_tasks.work.accepting import Acceptance

    def run() -> T:
        with Store(context.link.path, makes=False) as store:
            return act(Acceptance(store, context.link.clock))

    try:
        return await asyncio.to_thread(run)
    except (GitFailed, OSError) as error:
        raise Conflict(f"git: {error}") from error
    finally:
        context.link.catch_up()


async def discard(context: Context, work: Work, unsent: int = 0) -> str | None:
    """End the agent and set the task pending, once confirmed; undo brings it back, but not the `unsent` comments.

    Return what was done.
    """
    task = task_queries.any_task(context.db, work.task_uid)
    number = f" on #{task.number}" if task is not None else ""
    named = f"the work of {agent_text.who(work.agent, 30)}{number}"
    base = safe_line(work.base or "", 40)
    kept = f"{base} keeps its commits" if work.is_on_base else "Branch and files are kept"
    lost = f" Your {count(unsent, 'unsent comment')} {'is' if unsent == 1 else 'are'} deleted." if unsent else ""
    if not await confirm(context, f"Discard {named}? {kept}.{lost}", "discard it", "keep it"):
        context.say(f"Not discarded: {named} stays as it is.")
        return None
    await decide(context, lambda acceptance: acceptance.discard(work))
    kept = kept if work.is_on_base else "Its files are kept"
    return f"Discarded {named}. {kept}: {context.keymap.key_of('undo')} brings it back at once."


# So many of the human's newest changes are looked at; one may have any number of entries, which are read by pages.
_LOOKED_AT: Final = 200
_PAGE: Final = 1_000
_NEWEST: Final = """
SELECT seq, kind, uid, change, undoes FROM journal WHERE actor = ? AND seq < ? ORDER BY seq DESC LIMIT ?
"""


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


async def undo_end(context: Context, work: Work, entry: Entry, above: str) -> None:
    """Bring merged or discarded work back for review; ask before, where the base branch changes by it. A discard is
    brought back without a question, as nothing is lost, unless it is old, or was not made where the human is.
    `above`: what was passed over, as a sentence.

    Raises:
        Refusal: why it cannot be.
    """
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


async def redo_end(context: Context, work: Work) -> None:
    """Merge or discard work again whose merge or discard was taken back; ask before, where the undo does.

    Raises:
        Refusal: why it cannot be.
    """
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
