"""What keeps a key from harming a task: it changes none that the human has not read, as the cursor or others have moved
just now; and a deletion that others wait for, or that takes away an agent's work, is asked about first.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import overview, work_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task
from tui_tasks.core.vocab import HUMAN, LIVE_WORK, RESERVED_AGENTS, blocks_dependents
from tui_tasks.text.glyphs import LOOKS
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import MINUTE, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.keys.action_table import Action

if TYPE_CHECKING:
    from tui_tasks.core.read.overview import StateChanges
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.tasks.task_pane import TaskPane

MOVED_BY_ITSELF: Final = "The cursor moved here by itself"
_SET_STATUS: Final = ("status", "card_left", "card_right")
# How many of the tasks that wait are named.
_NAMED: Final = 3
# Microseconds within which a title that an agent has written may not have been read.
_JUST_NOW: Final = 500_000
# The states of works that wait for the human.
_TO_REVIEW: Final = ("ready", "conflict")


class Landing:
    """The row on which the cursor came to be when another went, until the human moves it: a key that was meant for the
    row before must not change this one unread. And the status that others have set in the rows that keys act on: a key
    that was meant for the state before must not change that unread.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._key: str | None = None
        self._at = 0.0
        self._is_own = self._is_after_deletion = False
        # By the key of the row: who has set which status last, and when.
        self._set: dict[str, tuple[str, str, float]] = {}

    def note(self, before: str | None, now: str | None, changes: StateChanges) -> None:
        """Note the keys of the rows under the cursor before and after changes. The row counts as read where the human
        made or changed it, but not where they deleted the one before it.
        """
        is_after_deletion = any(one.kind == "task.deleted" and one.task == before for one in changes.entries)
        is_worked_on = not is_after_deletion and any(
            one.actor == HUMAN and now in (one.uid, one.task) for one in changes.entries
        )
        if is_worked_on or (changes.is_own and before is None):
            self._key = None
        elif now != before:
            self._key, self._at, self._is_own = now, monotonic(), changes.is_own
            self._is_after_deletion = is_after_deletion

    def forget(self) -> None:
        """Note that the human has moved the cursor, or was asked."""
        self._key = None

    def is_at(self, key: str | None) -> bool:
        """Return whether the cursor came to a row by itself, however long ago."""
        return key is not None and key == self._key

    def is_surprise(self, key: str | None) -> bool:
        """Return whether the cursor came to a row by what others did or by a deletion, however long ago, or by what the
        human did too late for the row to be read when the key was pressed.
        """
        return self.is_at(key) and (not self._is_own or self._is_after_deletion or self._is_too_late(self._at))

    def is_unread(self, key: str | None) -> bool:
        """Return whether it came there by what others did, too late for the row to be read when the key was pressed."""
        return self.is_at(key) and not self._is_own and self._is_too_late(self._at)

    def note_set(self, key: str, who: str, status: str) -> None:
        """Note the status that somebody else has set in a row that keys act on."""
        self._set = {key: one for key, one in self._set.items() if self._is_too_late(one[2])}
        self._set[key] = who, status, monotonic()

    def set_unread(self, key: str) -> tuple[str, str] | None:
        """Return who has set which status of a row too late for that to be read when the key was pressed, if any."""
        who, status, at = self._set.get(key, ("", "", float("-inf")))
        return (who, status) if self._is_too_late(at) else None

    def _is_too_late(self, at: float) -> bool:
        from tui_tasks.tui.asks.answer_keys import Reading  # the first paint does not wait for it

        return not Reading(self._context).is_long_since(at)


class UnreadTasks:
    """What has just happened, unread, to the tasks of a pane that keys are about."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context
        self.landing = Landing(pane.context)

    def have_changed(self, tasks: Sequence[Task], what: str) -> bool:
        """Return whether others have changed tasks since the human was asked about them, and say which ones."""
        now = {task.uid: task for task in task_queries.live_tasks(self._context.db, [task.uid for task in tasks])}
        changed = [task for task in tasks if _what_was_read(now.get(task.uid)) != _what_was_read(task)]
        if changed:
            numbers = ", ".join(f"#{task.number}" for task in changed[:3]) + ", …" * (len(changed) > 3)
            self._context.say(f"{what}: {numbers} changed since you were asked. Look, and press the key again.")
        return bool(changed)

    def note(self, cursor: str | None, selection: Sequence[str], changes: StateChanges) -> None:
        """Note the task under the cursor after changes if that was on another before, or if keys were for marked tasks
        that others have taken away; and the status that others have set.
        """
        now = self._pane.target()
        has_lost_marks = selection != [cursor] and self._pane.selection() == [now] and not changes.is_own
        self.landing.note(None if has_lost_marks else cursor, now, changes)
        chosen = set(self._pane.selection())
        for entry in changes.entries:
            if entry.task in chosen and entry.become is not None and entry.actor != HUMAN:
                self.landing.note_set(entry.task, entry.actor, entry.become)

    def why_too_early(self, action: Action) -> str:
        """Return what has just happened, unread, to a task that an action would change; empty: nothing.

        `delete` asks about a task that came under the cursor by itself, however long ago.
        """
        if not action.writes or action.needs != "task" or action.id == "delete":
            return ""
        uids = self._pane.selection()
        if len(uids) == 1 and self.landing.is_unread(uids[0]):
            return MOVED_BY_ITSELF
        return self._just_set(uids) if action.id in _SET_STATUS else ""

    def _just_set(self, uids: Sequence[str]) -> str:
        """Return which status others have set of one of these tasks just now; empty: none."""
        rows = {row.uid: row for row in self._pane.row_list.rows_held}
        for task in task_queries.live_tasks(self._context.db, uids):
            found = self.landing.set_unread(task.uid)
            if found is None and (row := rows.get(task.uid)) is not None and row.status != task.status:
                # It is not painted yet.
                found = (task.updated_by, task.status) if task.updated_by != HUMAN else None
            if found is not None:
                what = "it" if len(uids) == 1 else f"#{task.number}"
                return f"{agent_text.who(found[0], 30)} set {what} {LOOKS[found[1]].word} just now"
        return ""


def _what_was_read(task: Task | None) -> object:
    """Return what a human who is asked about a task decides about: what it is, where, and who is at it; None if it is
    deleted.

    Its log, its tags and the like are no part of it: an agent that goes on writing them keeps nobody from an answer.
    """
    return task and (task.name, task.description, task.list_id, task.status, task.agent)


def why_ask(db: Database, tasks: Sequence[Task], now: int) -> str:
    """Return why the human is asked before tasks are deleted: agents have to do with them, or others wait for them;
    empty: for no reason.
    """
    if len(tasks) > 1:
        return ". ".join(filter(None, (_at_work(db, tasks), _waiting_for(db, tasks))))
    task = tasks[0]
    who = _agent_at_work(db, task)
    ready = [work for work in work_queries.of_task(db, task.uid) if work.state in _TO_REVIEW]
    parts = []
    if task.updated_by != HUMAN and now - task.updated_at < _JUST_NOW:
        parts.append(f"{agent_text.who(task.updated_by, 30)} has changed it just now")
    if who:
        parts.append(f"{agent_text.who(who, 40)} works on it")
    if ready:
        one = f"the work of {agent_text.who(ready[0].agent, 40)} waits"
        parts.append(f"{one if len(ready) == 1 else f'{len(ready)} works wait'} for your review")
    logged = task_records.log_count(db, task.uid) if parts else 0
    parts += [_waiting_for(db, tasks), count(logged, "log entry", "log entries") if logged else ""]
    return ", ".join(filter(None, parts))


def _at_work(db: Database, tasks: Sequence[Task]) -> str:
    """Return which agents work on some of several tasks, `bob works on #3, ann on #5`; empty: none does."""
    live = {work.task_uid for work in work_queries.live(db)}
    may_be = [task for task in tasks if task.status == "in_progress" or task.uid in live]
    found = [(who, task.number) for task in may_be if (who := _agent_at_work(db, task))]
    named = [
        f"{agent_text.who(who, 30)} {'on' if at else 'works on'} #{number}" for at, (who, number) in enumerate(found)
    ]
    return ", ".join(named[:_NAMED]) + f" and {len(named) - _NAMED} more" * (len(named) > _NAMED)


def _agent_at_work(db: Database, task: Task) -> str:
    """Return the agent that works on a task; empty: none does, or its work waits for review."""
    works = [work for work in work_queries.of_task(db, task.uid) if work.state in LIVE_WORK]
    if works:
        return next((work.agent for work in works if work.state not in _TO_REVIEW), "")
    return "" if task.status != "in_progress" or task.who in RESERVED_AGENTS else task.who


def _waiting_for(db: Database, tasks: Sequence[Task]) -> str:
    """Return which other tasks wait for some, in words; empty: none does."""
    held_up = overview.waiting_on(db, [one.uid for one in tasks if blocks_dependents(one.status, deleted=False)])
    found = task_queries.live_tasks(db, sorted(held_up - {task.uid for task in tasks}))
    numbers = sorted(task.number for task in found if task.status == "pending")
    if not numbers:
        return ""
    named = ", ".join(f"#{number}" for number in numbers[:_NAMED]) + ", …" * (len(numbers) > _NAMED)
    return f"{named} {'waits' if len(numbers) == 1 else 'wait'} for {'it' if len(tasks) == 1 else 'them'}"


def goes_on(db: Database, tasks: Sequence[Task]) -> str:
    """Return ` bob goes on: …` of the first deleted task that an agent was started on; empty: of none."""
    for task in tasks:
        for work in work_queries.of_task(db, task.uid):
            if work.state in LIVE_WORK:
                who = agent_text.who(work.agent, 30)
                named = work_queries.reference(db, work, task.number)
                what = f"The work of {who} stays" if work.state in _TO_REVIEW else f"{who} goes on"
                return f" {what}: `tui-tasks work discard {named}` ends it."
    return ""


def deleted_before(db: Database, now: int) -> str:
    """Return what the human's newest change deleted, if it did so within the last minute: undo comes to it next."""
    from tui_tasks.core.commit import journal
    from tui_tasks.core.operations import Undo
    from tui_tasks.core.read.pages import change_summaries
    from tui_tasks.core.rules import undo

    change = undo.next_to_undo(db, HUMAN, Undo())
    if change is None or now - journal.entry(db, change).at > MINUTE:
        return ""
    made = change_summaries.summary(db, [change])
    if made.deleted != made.entries or not made.names:
        return ""
    return f", then {f'“{safe_line(made.names[0], 40)}”' if made.tasks == 1 else count(made.tasks, 'task')}"
