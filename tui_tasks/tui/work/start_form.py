"""Starting agents on tasks: the form, which asks for program, place and extra words, and the start itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static
from typing_extensions import override

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import DatabaseRefused, Refusal
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import ready_tasks, task_queries
from tui_tasks.core.read.tasks.task_names import waits_for
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import LIVE_WORK, RESERVED_AGENTS
from tui_tasks.settings import live_settings, project
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import safe_ends, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks.answer_keys import Reading
from tui_tasks.tui.inputs.form_screen import ChoiceLine, FootForm, Option
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import plain
from tui_tasks.work import program_commands
from tui_tasks.work.starting import Starter, StartRequest

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


_BASES: Final = re.compile(r"(?<!\S)base:(\S+)[^\S\n]*")


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """What the human has chosen.

    Attributes:
        program: the program.
        place: `new` (a new worktree), `here` (the checkout itself), `race` (a new worktree while another agent is at
            work on the task) or `beside` (in the worktree of the agent that is).
        typed: extra words for the agent, also `base:` with a branch.
    """

    program: str
    place: str
    typed: str

    @property
    def base(self) -> str:
        """The branch to begin on; empty: as set."""
        bases: list[str] = _BASES.findall(self.typed)
        return bases[-1] if bases else ""

    @property
    def words(self) -> str:
        """The extra words without that."""
        return _BASES.sub("", self.typed).strip()


def places(others: Sequence[str]) -> list[tuple[str, str]]:
    """Return the places to choose from, with their texts; `others` are the agents that are at work on the task."""
    if not others:
        return [("new", "a new worktree"), ("here", "this checkout")]
    race = ", ".join(others)
    return [("race", f"a new worktree, in a race with {race}"), ("beside", f"the worktree of {others[-1]}")]


class StartForm(FootForm[StartAnswer]):
    """The form, at the foot. Result: the choice, or None.

    Who types a title where no input is open may not see that its `W` opens this form: what is typed on at once starts
    no agent without a second Enter.
    """

    LABEL_CELLS = 14

    def __init__(
        self,
        context: Context,
        title: str,
        programs: Mapping[str, bool],
        first: str,
        others: Sequence[str] = (),
        before: StartAnswer | None = None,
        *,
        draft: str,
        failed: Mapping[str, str],
    ) -> None:
        """`programs`: whether each is installed; `failed`: why the newest agents of some have failed; `others` are the
        agents that are at work on the task already; `before` is the choice that could not be done.
        """
        hint = "more for the agent, base:BRANCH, or nothing"
        super().__init__(context, draft=draft, words="", hint=hint, done="Start")
        self._title = title
        self._installed = programs
        mark = look("agent_failed").mark(ascii_only=context.ascii_only)
        notes = {name: f"{mark} last time: {safe_line(why, 80)}" for name, why in failed.items()}
        notes |= {name: "not installed" for name, is_installed in programs.items() if not is_installed}
        self._programs = [Option(name, note=notes.get(name, "")) for name in programs]
        self._first = first
        self._places = [Option(*place) for place in places(others)]
        self._place = before.place if before is not None else ""
        self._opened_at = monotonic()
        self._is_first_key, self._is_typed_on = before is None, False

    def compose(self) -> ComposeResult:
        """Compose the choices and the line for words."""
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(self._title, "bold"))
            yield self.line("Program", ChoiceLine(self._programs, self._first, id="program", keys=self.keys))
            yield self.line("Place", ChoiceLine(self._places, self._place, id="place", keys=self.keys))
            yield self.line("Instructions", self.words)
            yield Static(id="base")
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show what stands in the words at first."""
        super().on_mount()
        self.on_text_area_changed()

    def take_key(self, event: events.Key) -> bool:
        """Note whether a letter comes too early for the form to be read; it is handled elsewhere."""
        is_early = self._is_first_key and not Reading(self.context).is_long_since(self._opened_at)
        self._is_typed_on = self._is_typed_on or (is_early and event.is_printable)
        self._is_first_key = False
        return False

    def on_text_area_changed(self) -> None:
        """Show the branch that the words choose: words that were pasted may name one."""
        base, shown = self._answer.base, self.query_one("#base", Static)
        shown.display = bool(base)
        shown.update(
            plain(f"   {'Branch':<{self.LABEL_CELLS}} {safe_line(base, 60)}, as the instructions say base:", "$changed")
        )

    @property
    def _answer(self) -> StartAnswer:
        program, place = (self.query_one(f"#{name}", ChoiceLine).value for name in ("program", "place"))
        return StartAnswer(program, place, self.words.value)

    @override
    def submit(self) -> None:
        """End with what was chosen, of what was typed on after a second Enter; a program must be installed."""
        program = self._answer.program
        if self._installed[program] and self._is_typed_on:
            self._is_typed_on = False
            self.context.say(f"You typed on while this form opened. Enter again starts {safe_line(program, 30)}.")
        elif self._installed[program]:
            self.end(self._answer, "work_start")
        else:
            self._say_not_installed(program)

    def _say_not_installed(self, program: str) -> None:
        others = " ←→ in Program chooses another." if any(self._installed.values()) else ""
        self.context.say(f"{safe_line(program, 30)} is not installed here, so it cannot start.{others}")


async def start(context: Context, uids: Sequence[str], is_shown: Callable[[], bool]) -> bool:
    """Ask for program, place and words, then start an agent on each task; return whether that was done.

    What was refused is asked again while `is_shown`: the human is still where they asked for it.
    """
    marked = task_queries.live_tasks(context.db, uids)
    others = _others(context, marked)
    reasons = {task.uid: why for task in marked if (why := _why_not_start(context, task, others))}
    tasks = [task for task in marked if task.uid not in reasons]
    if refused := _why_not_here() if tasks else next(iter(reasons.values()), ""):
        context.words.expect_words(refused)
        context.say(refused)
        return False
    with Store(context.link.path, read_only=True) as store:
        settings = live_settings.work()
        first = program_commands.proposed(store, settings)
        newest = program_commands.newest_works(store.db, settings)
    failed = {name: work.message or "failed" for name, work in newest.items() if work.state == "failed"}
    installed = {name: program_commands.is_installed(settings, name) for name in settings.names()}
    offered = dict(sorted(installed.items(), key=lambda one: not one[1]))
    if not installed.get(first) and any(installed.values()):
        first = next(iter(offered))
    answer: StartAnswer | None = None
    left_out = f"{count(len(reasons), 'task')} left out: {'; '.join(reasons.values())}" if reasons else ""
    problem = " ".join(filter(None, (live_settings.work_problem(), left_out)))
    while tasks:
        named = f"“{safe_line(tasks[0].name, 40)}”" if len(tasks) == 1 else count(len(tasks), "task")
        title, draft = f"Start an agent on {named}{_held_by(context, tasks)}", _draft_of(tasks)
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


def _held_by(context: Context, tasks: Sequence[Task]) -> str:
    """Return `: bob has it in progress`, which agents that the human has not started have to do with the tasks; empty:
    none has.
    """
    asking = {context.state.asked_about.get(ask.uid): ask.agent for ask in context.state.asks}
    held = []
    for task in tasks:
        is_begun = task.status == "in_progress" and task.who not in RESERVED_AGENTS
        if not _live_works(context, task) and (who := task.who if is_begun else asking.get(task.uid, "")):
            what = "it" if len(tasks) == 1 else f"#{task.number}"
            name = agent_text.who(who, 30)
            held.append(f"{name} has {what} in progress" if is_begun else f"{name} asks about {what}")
    return ": " + "; ".join(held) if held else ""


def _why_not_here() -> str:
    """Return why no agent can be started in this folder; empty where one may be."""
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


def _start(context: Context, tasks: Sequence[Task], request: StartRequest) -> _Done:
    """Start agents, in a thread, until one cannot be started."""
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


def _request(answer: StartAnswer) -> StartRequest:
    return StartRequest(
        program=answer.program,
        here=answer.place == "here",
        words=answer.words,
        base=answer.base,
        race=answer.place == "race",
        beside=answer.place == "beside",
    )
