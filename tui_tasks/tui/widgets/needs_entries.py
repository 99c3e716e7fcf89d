"""What needs the human, has failed or is late, each by its words: an entry for each row above the panes and screens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.job_snapshots import ON_TIME
from tui_tasks.core.read import ask_queries, job_lines
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.schema import task_fields
from tui_tasks.text.glyphs import look
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.state.app_state import MAX_FAILED, MAX_NEXT_JOBS
from tui_tasks.tui.tasks.task_text import failed_check
from tui_tasks.tui.widgets.agent_line import WHO, AgentEntries, go_to, one_line
from tui_tasks.tui.widgets.counts_line import late_jobs, late_tasks, or_more

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.widgets.frame import Act

ASKS, AGENTS, CHECKS, HELD, REVIEW, FAILED, JOBS, LATE, LATE_JOBS = range(9)
"""The kinds of entries, most urgent first; `AGENTS` are those in trouble, `JOBS` those that failed."""
ALL: Final = tuple(range(9))
FAILURES: Final = (FAILED, JOBS, LATE, LATE_JOBS)
"""What has failed or is late."""
MORE: Final = "ask"
"""What stands beside the entry of all further questions."""

_MAX_WHOLE: Final = 1_000
# The most questions that have an entry each; 1,000 may be open, and a screen has room for few.
_MOST_ASKS: Final = 40
# In cells: the longest name of the task of a failed check or of work to review, and of a failed job.
_SHORT_NAME: Final = 24
_NAME: Final = 40


class Entry(msgspec.Struct, frozen=True):
    """One thing that needs the human: its number, its words, who or what it is, and since when.

    `act` is performed by a click on it.
    """

    kind: int
    mark: str
    color: str
    number: str
    """The number of its task (`#7`) or its job (`S3`); empty without one."""
    text: str
    aside: str
    """Its agent, or a word for what it is."""
    act: Act
    brief: str = ""
    """The text where `text` takes more than a line; empty: `text`."""
    since: int | None = None
    count: int = 1
    """How many things it stands for."""
    is_question: bool = False
    """Whether its text is cut in the middle, as the end says what is asked."""
    blocks: bool = False
    """Whether its agent cannot go on without the human."""
    word: str = ""
    """What it counts as among those without a row; empty: `aside`."""


class NeedsEntries:
    """Makes the entries from the state. It calls `lasts` with how many microseconds they stay true."""

    def __init__(self, context: Context, lasts: Callable[[int], None]) -> None:
        self.context = context
        self.lasts = lasts
        self._agents = AgentEntries(context, lasts)

    def entries(self) -> Iterator[Entry]:
        """Yield all entries, most urgent first."""
        yield from self._asks()
        for agent in self._agents.entries():
            if agent.is_trouble:
                yield Entry(
                    AGENTS,
                    agent.mark,
                    agent.color,
                    agent.number,
                    agent.reason,
                    agent.who,
                    self._act("agents"),
                    since=agent.since,
                    word=agent.state,
                )
        yield from self._unproven()
        yield from self._held()
        yield from self._to_review()
        yield from self._failed()
        yield from self._failed_jobs()
        yield from self._late()
        yield from self._late_jobs()

    def _entry(
        self,
        kind: int,
        state: str,
        number: str,
        text: str,
        aside: str,
        action: str,
        *,
        count: int,
        brief: str = "",
        since: int | None = None,
    ) -> Entry:
        looks = look(state)
        mark = looks.mark(ascii_only=self.context.ascii_only)
        return Entry(kind, mark, looks.color, number, text, aside, self._act(action), brief, since, count)

    def _act(self, action: str) -> Act:
        return lambda: self.context.do(action)

    def _asks(self) -> Iterator[Entry]:
        """Yield the questions, oldest first; of very many, those whose agents wait for the answer and the oldest."""
        waiting = {
            member.name
            for member in self.context.state.present
            if member.ask is not None and not member.goes_on and (member.is_there or member.calls_alone)
        }
        asks = sorted(self.context.state.asks, key=lambda ask: ask.agent not in waiting)
        for ask in sorted(asks[:_MOST_ASKS], key=ask_queries.by_age):
            yield self._of_ask(ask, blocks=ask.agent in waiting)
        if others := len(asks[_MOST_ASKS:]):
            yield self._entry(ASKS, "needs_you", "", f"{others:,} more", MORE, "asks", count=others)

    def _of_ask(self, ask: Ask, *, blocks: bool) -> Entry:
        looks, asked = look("needs_you"), agent_text.request_line(ask, ascii_only=self.context.ascii_only)
        task = self.context.state.asked_about.get(ask.uid)
        return Entry(
            ASKS,
            looks.mark(ascii_only=self.context.ascii_only),
            looks.color,
            self._task(task)[0] if task is not None else "",
            _whole(asked),
            agent_text.who(ask.agent, WHO),
            lambda: self.context.navigation.show_ask(self.context, ask.uid),
            since=ask.opened_at,
            is_question=not agent_text.is_permission(ask),
            blocks=blocks,
            word="ask",
        )

    def _unproven(self) -> Iterator[Entry]:
        unproven = self.context.state.unproven
        if not unproven:
            return
        task = list_pages.line(self.context.db, unproven[0])
        reason = failed_check(self.context, task) if task is not None else None
        number, name = self._task(unproven[0])
        text = f"{name}{f': {reason}' if reason is not None else ''}{_more(len(unproven))}"
        yield self._entry(CHECKS, "needs_you", number, text, "check failed", "asks", count=len(unproven))

    def _held(self) -> Iterator[Entry]:
        """Yield the first held task or job, and how many others are."""
        held, first = self.context.state.held, self.context.state.first_held
        if first is None:
            return
        number = _of_job(job_lines.place(self.context.db, first.id)) if first.is_job else f"#{first.id}"
        text = f"{one_line(first.name, _SHORT_NAME)}  {agent_text.who(first.maker, WHO)}{_more(held)}"
        yield self._entry(HELD, "held", number, text, "held", "asks", count=held, since=first.at)

    def _to_review(self) -> Iterator[Entry]:
        reviewable = self.context.state.reviewable
        if not reviewable:
            return
        uid, counts = next(iter(reviewable.items()))
        agent, since = self.context.state.first_to_review or ("", None)
        number, name = self._task(uid)
        text = "  ".join(filter(None, (name, agent_text.who(agent, WHO), one_line(counts)))) + _more(len(reviewable))
        yield self._entry(REVIEW, "reviewable", number, text, "to review", "asks", count=len(reviewable), since=since)

    def _has_seen(self, at: int | None) -> bool:
        """Return whether the human has said since an instant that all was seen."""
        return at is not None and at < self.context.state.seen_at

    def _failed(self) -> Iterator[Entry]:
        """Yield why the tasks have failed that failed last, and how many others did."""
        state = self.context.state
        # An edit of the task is no new failure.
        since = state.failed_last[0][0].finished_at if state.failed_last else None
        if not state.failed or self._has_seen(since):
            return
        shown, more = state.failed_last, _more(state.failed - len(state.failed_last) + 1)
        named = (f"#{task.number} {_with_reason(one_line(task.name, _NAME), reason)}" for task, reason in shown)
        number, _, text = "; ".join(named).partition(" ")
        brief = f"{one_line(shown[0][1])}{more}" if len(shown) == 1 and shown[0][1] else ""
        yield self._entry(
            FAILED,
            "failed",
            number,
            f"{text}{more}",
            "failed",
            "attention",
            count=state.failed,
            brief=brief,
            since=since,
        )

    def _failed_jobs(self) -> Iterator[Entry]:
        """Yield which jobs have failed last, why the first of them has, and how many others have."""
        failing = self.context.state.failing
        if not failing or self._has_seen(failing[0].at):
            return
        named = (_with_reason(one_line(job.name, _SHORT_NAME), job.why) for job in failing[:MAX_FAILED])
        text = f"{'; '.join(named)}{_more(len(failing) - MAX_FAILED + 1)}"
        yield self._entry(
            JOBS,
            "failed",
            _of_job(failing[0].number),
            text,
            "failed",
            "pane_schedule",
            count=len(failing),
            since=failing[0].at,
        )

    def _late(self) -> Iterator[Entry]:
        """Yield the first of the tasks that are late, and how many others are."""
        late = late_tasks(self.context, self.lasts)
        if not late:
            return
        due = dict(self.context.state.due)[late[0]]
        now = task_fields.local_time(self.context.clock.now(), self.context.clock.zone)
        since = task_fields.FIELDS["due"].short(due, now)
        others = "  and others" if or_more(len(late)) else _more(len(late))
        number, name = self._task(late[0])
        entry = self._entry(LATE, "overdue", number, f"{name}: {since}{others}", "late", "", count=len(late))
        yield msgspec.structs.replace(entry, act=lambda: go_to(self.context, late[0]))

    def _late_jobs(self) -> Iterator[Entry]:
        """Yield the first of the jobs that are late, and how many others are."""
        late = late_jobs(self.context, self.lasts)
        if not late:
            return
        job, now = late[0], self.context.clock.now()
        why = ", no scheduler has started it" if now - job.when >= ON_TIME else ""
        if not why:
            self.lasts(job.when + ON_TIME - now)
        others = "  and others" if or_more(len(late), MAX_NEXT_JOBS) else _more(len(late))
        text = f"{one_line(job.name, _NAME)}: due {self.context.clock.time_of(job.when)}{why}{others}"
        yield self._entry(
            LATE_JOBS,
            "overdue",
            _of_job(job.number),
            text,
            "late",
            "pane_schedule",
            count=len(late),
            since=job.when,
        )

    def _task(self, uid: str) -> tuple[str, str]:
        """Return the number and the name of a task."""
        task = list_pages.line(self.context.db, uid)
        return (f"#{task.number}", one_line(task.name, _SHORT_NAME)) if task is not None else ("", "")


@lru_cache(128)
def _whole(text: str) -> str:
    return one_line(text, _MAX_WHOLE)


def _of_job(number: int) -> str:
    """Return the number of a job as the schedule shows it."""
    return f"S{number}" if number else ""


def _with_reason(name: str, reason: str) -> str:
    return f"{name}: {one_line(reason)}" if reason else name


def _more(number: int) -> str:
    return f"  +{number - 1} more" if number > 1 else ""
