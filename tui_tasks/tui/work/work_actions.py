"""The human's actions on work from a pane of tasks: start an agent, and peek at what it does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from typing_extensions import override

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import DatabaseRefused, Refusal
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import ready_tasks, task_queries
from tui_tasks.core.read.tasks.task_names import waits_for
from tui_tasks.core.snapshots import Task
from tui_tasks.core.vocab import LIVE_WORK
from tui_tasks.text.safe import safe_ends, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.tasks.task_pane import TaskPane
    from tui_tasks.tui.work.accept_form import StartAnswer
    from tui_tasks.work.starting import Request


def review(context: Context, task_uid: str, agent: str | None = None) -> bool:
    """Open the review of the work on a task, that of an agent first; return whether there is some to review."""
    if task_uid not in context.state.reviewable:
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
        from tui_tasks.tui.work import review_actions

        work = self._live()
        done = await review_actions.discard(self._context, work) if work is not None else None
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
        if uid is None or uid not in self._context.state.reviewable:
            return False
        self._pane.mark_opened()
        return review(self._context, uid)

    async def do_work_start(self) -> None:
        """Ask for program, place and words, then start an agent on each task."""
        here = self._pane.screen
        if await start(self._context, self._pane.selection(), lambda: here.is_active):
            self._pane.row_list.clear_marks()


async def start(context: Context, uids: Sequence[str], is_shown: Callable[[], bool]) -> bool:
    """Ask for program, place and words, then start an agent on each task; return whether that was done.

    What was refused is asked again while `is_shown`: the human is still where they asked for it.
    """
    from tui_tasks.core.store import Store
    from tui_tasks.tui.work.accept_form import StartForm
    from tui_tasks.work import program_commands, starting

    marked = task_queries.live_tasks(context.db, uids)
    others = _others(context, marked)
    reasons = {task.uid: why for task in marked if (why := _why_not_start(context, task, others))}
    tasks = [task for task in marked if task.uid not in reasons]
    if refused := _why_not_here() if tasks else next(iter(reasons.values()), ""):
        context.expect_words(refused)
        context.say(refused)
        return False
    with Store(context.link.path, read_only=True) as store:
        settings = starting.settings()
        first = starting.proposed_program(store, settings)
        newest = starting.newest_works(store.db, settings)
    failed = {name: work.message or "failed" for name, work in newest.items() if work.state == "failed"}
    installed = {name: program_commands.is_installed(settings, name) for name in settings.names()}
    offered = dict(sorted(installed.items(), key=lambda one: not one[1]))
    if not installed.get(first) and any(installed.values()):
        first = next(iter(offered))
    answer: StartAnswer | None = None
    left_out = f"{count(len(reasons), 'task')} left out: {'; '.join(reasons.values())}" if reasons else ""
    problem = " ".join(filter(None, (starting.settings_problem(), left_out)))
    while tasks:
        named = f"“{safe_line(tasks[0].name, 40)}”" if len(tasks) == 1 else count(len(tasks), "task")
        title, draft = f"Start an agent on {named}", _draft_of(tasks)
        form = StartForm(context, title, offered, first, others, answer, draft=draft, failed=failed)
        answer = await context.ask(form.with_problem(problem))
        if answer is None:
            return False
        context.drafts.pop(draft, None)
        context.say(f"Starting {answer.program}.")
        done = await asyncio.to_thread(_start, context, tasks, _request(answer))
        context.link.catch_up()
        tasks, first, problem = tasks[done.started :], answer.program, done.message
        if tasks and answer.typed:
            context.drafts[_draft_of(tasks)] = answer.typed
        if not tasks or not is_shown():
            context.say(done.message)
            break
    return not tasks


def _why_not_start(context: Context, task: Task, others: Sequence[str]) -> str:
    """Return why no agent can be started on a task, as far as that is known before the form; empty where one may be.
    `others` are the agents that are at work on the task, if it is the only one.
    """
    if others:
        return ""
    key = context.keymap.key_of("status")
    if (work := next(iter(_live_works(context, task)), None)) is not None:
        who = agent_text.who(work.agent, 30)
        if work.state in ("starting", "working"):
            return f"{who} is at work on #{task.number}."
        return f"the work of {who} on #{task.number} waits for review."
    if task.claimed_by is not None:
        return f"{agent_text.who(str(task.claimed_by), 30)} has claimed #{task.number}: set it pending first ({key})."
    if work_queries.must_reopen(context.db, task):
        return f"#{task.number} is done: set it pending first ({key})."
    on = ready_tasks.waiting_on(context.db, task)
    return waits_for(task, on) if on else ""


def _why_not_here() -> str:
    """Return why no agent can be started in this folder; empty where one may be."""
    from tui_tasks.settings import project  # for those who start agents alone

    if project.work_tree(folder := Path.cwd()) is None:
        place = safe_ends(str(folder), 50)
        return f"No git repository in {place}: run `git init` there, or open this screen in a checkout."
    return ""


def _draft_of(tasks: Sequence[Task]) -> str:
    return f"start {' '.join(sorted(task.uid for task in tasks))}"


def _others(context: Context, tasks: Sequence[Task]) -> Sequence[str]:
    """Return the agents that are at work on the task already, if it is one task; the newest comes last."""
    works = _live_works(context, tasks[0]) if len(tasks) == 1 else []
    return [agent_text.who(work.agent, 30) for work in works]


def _live_works(context: Context, task: Task) -> list[Work]:
    return [work for work in work_queries.of_task(context.db, task.uid) if work.state in LIVE_WORK]


def _start(context: Context, tasks: Sequence[Task], request: Request) -> _Done:
    """Start agents, in a thread, until one cannot be started."""
    from tui_tasks.core.store import Store
    from tui_tasks.work.starting import Starter

    started: list[str] = []
    notes: list[str] = []
    try:
        with Store(context.link.path, makes=False) as store:
            starter = Starter(store, Path.cwd(), context.link.clock, show=lambda line: None)
            for task in tasks:
                work, more = starter.start(task.uid, request)
                started.append(work.agent)
                notes += [f"{note}." for note in more if f"{note}." not in notes]
    except (Refusal, DatabaseRefused) as refused:
        notes = [f"Not started on #{task.number}: {refused}"] if started else [str(refused)]
    sentences = [f"{', '.join(started)} started."] if started else []
    return _Done(len(started), " ".join([*sentences, *notes]))


class _Done(msgspec.Struct, frozen=True):
    """How many agents were started, and the result in one line."""

    started: int
    message: str


def _request(answer: StartAnswer) -> Request:
    from tui_tasks.work.starting import Request

    return Request(
        program=answer.program,
        here=answer.place == "here",
        words=answer.words,
        base=answer.base,
        race=answer.place == "race",
        beside=answer.place == "beside",
    )
