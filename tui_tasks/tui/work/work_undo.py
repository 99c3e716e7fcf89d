"""Undo and redo of what the human decided about work: a merge, a discard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import redo as redo_rules
from tui_tasks.core.rules import undo
from tui_tasks.core.snapshots import Entry
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inputs.dialogs import confirm
from tui_tasks.tui.work.review_actions import decide

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.work.accepting import WayBack

_ENDED: Final = ("work.merged", "work.discarded")
_RESTORED: Final = "work.restored"
# So many of the human's newest changes are looked at; one may have any number of entries, which are read by pages.
_LOOKED_AT: Final = 200
_PAGE: Final = 1_000
_NEWEST: Final = """
SELECT seq, kind, uid, change, undoes FROM journal WHERE actor = ? AND seq < ? ORDER BY seq DESC LIMIT ?
"""


def newest_ended(db: Database) -> tuple[Work, Entry] | None:
    """Return the work that the human merged or discarded last, with the newest entry of that; None if they changed
    something since. An end that was redone has the place of the first one.
    """
    newest: dict[str, int] = {}
    redone_ends = redo_rules.RedoneEnds(db)
    for seq, kind, uid, change, undoes in _newest_entries(db):
        if kind in _ENDED:
            newest.setdefault(uid, seq)
            work = work_queries.find(db, uid)
            if work_queries.stands(work, kind) and not redone_ends.has(change):
                return work, journal.entry(db, newest[uid])
        elif kind in vocab.UNDOABLE and _is_newer(db, change, undoes):
            return None
    return None


def _is_newer(db: Database, change: int, undoes: int | None) -> bool:
    """Return whether the human has made a change for itself, or has reverted another's, which stands."""
    if undoes is None:
        return _stands_alone(db, change)
    return undo.is_revert(db, change) and journal.stands(db, change)


def _newest_entries(db: Database) -> Iterator[Any]:
    """Yield seq, kind, uid, change and what it undoes of the human's newest entries, the newest first."""
    below, changes = journal.newest(db) + 1, set[int]()
    while page := db.sql(_NEWEST, (vocab.HUMAN, below, _PAGE)).fetchall():
        for entry in page:
            below = entry[0]
            changes.add(entry[3])
            if len(changes) > _LOOKED_AT:
                return
            yield entry


def _stands_alone(db: Database, change: int) -> bool:
    """Return whether a change stands, and follows for a task from neither the end nor the return of a work."""
    kinds = (part.kind for parts in journal.of_change(db, change) for part in parts)
    return not any(kind in (*_ENDED, _RESTORED) for kind in kinds) and journal.stands(db, change)


async def undo_end(context: Context, work: Work, entry: Entry) -> None:
    """Bring merged or discarded work back for review; ask before, where the base branch changes by it. A discard is
    brought back without a question, as nothing is lost, unless it is old, or was not made where the human is.

    Raises:
        Refusal: why it cannot be.
    """
    now, is_merge = context.clock.now(), entry.kind == "work.merged"
    is_here = context.navigation.may_be_done_here(entry.change)
    if not is_merge and is_here and not change_summaries.is_old(entry.at, now):
        await take_back(context, work)
        return
    way = await decide(context, lambda acceptance: acceptance.way_back(work)) if is_merge else "none"
    base = safe_line(work.base or "", 40)
    did = f"merged into {base}" if is_merge else "discarded"
    question = f"Undo “{_named(context, work)} {did}”, {ago(entry.at, now)}?"
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
    was, again = (f"Taken out of {base} again", "merges") if is_merged else ("Brought back", "discards")
    if is_merged and work.merge_commit is None:
        was, again = f"{base} keeps its commits", "accepts"
    waiting = [one for one in work_queries.of_task(context.db, work.task_uid) if one.state in ("ready", "conflict")]
    others = len(waiting) - (restored.state == "ready") if is_merged else 0
    now = "continues" if restored.state == "working" else "waits for review"
    now += f", and {count(others, 'other work')}" if others else ""
    # What was reverted is another commit now: it is reviewed before it is merged again.
    can_redo = work.state != "failed" and not is_revert
    key = f" {context.keymap.key_of('redo')} {again} it again." if can_redo else ""
    context.say(f"{was}: the work of {agent_text.who(work.agent, 30)} {now}.{key}")


async def redo(context: Context, work: Work) -> None:
    """Merge or discard work again whose merge or discard was taken back; ask before, where the undo does.

    Raises:
        Refusal: why it cannot be.
    """
    before = await decide(context, lambda acceptance: acceptance.to_redo(work))
    base = safe_line(work.base or "", 40)
    if before.end == "merged":
        gets = f"{base} gets the same merge again" if before.merge is not None else f"{base} keeps its commits"
        then = "the agent continues" if before.goes_on else "the task is done"
        question = f"Redo “{_named(context, work)} merged into {base}”? {gets}; {then}."
        if not await confirm(context, question, "merge it again" if before.merge is not None else "accept it again"):
            return
    outcome = await decide(context, lambda acceptance: acceptance.redo(work))
    did = "Discarded" if outcome.state == "discarded" else f"Merged into {base}"
    did = did if outcome.state == "discarded" or outcome.merge is not None else "Accepted"
    named, key = agent_text.who(work.agent, 30), context.keymap.key_of("undo")
    context.say(f"{did} again: the work of {named}. {key} undoes it.")
