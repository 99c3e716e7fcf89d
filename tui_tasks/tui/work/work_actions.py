"""The human's actions on work from a pane of tasks: start an agent, peek at what it does, end it; and decisions about
work, carried out in a thread, as git runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import Conflict
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.vocab import LIVE_WORK
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.tasks.task_pane import TaskPane
    from tui_tasks.work.accepting import Acceptance

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

    def _work_here(self) -> str | None:
        uids = self._pane.selection()[:1]
        works = work_queries.of_task(self._context.db, uids[0]) if uids else []
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
        uids = self._pane.selection()[:1]
        works = work_queries.of_task(self._context.db, uids[0]) if uids else []
        live = next((work for work in reversed(works) if work.state in LIVE_WORK), None)
        return live or next((work for work in works[-1:] if work.state == "failed"), None)

    async def do_work_restore(self) -> None:
        """Bring back the work on the task that was merged or discarded last."""
        from tui_tasks.tui.app import undo_actions

        work = self._restorable()
        if work is not None:
            await undo_actions.take_back(self._context, work)

    def _restorable(self) -> Work | None:
        uids = self._pane.selection()[:1]
        works = work_queries.of_task(self._context.db, uids[0]) if uids else []
        return next((work for work in reversed(works) if work.state in ("merged", "discarded", "failed")), None)

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
    from tui_tasks.tui.inputs.dialogs import confirm  # not needed for the first paint

    if not await confirm(context, f"Discard {named}? {kept}.{lost}", "discard it", "keep it"):
        context.say(f"Not discarded: {named} stays as it is.")
        return None
    await decide(context, lambda acceptance: acceptance.discard(work))
    kept = kept if work.is_on_base else "Its files are kept"
    return f"Discarded {named}. {kept}: {context.keymap.key_of('undo')} brings it back at once."
