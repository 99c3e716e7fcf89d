"""The words of what needs the human, for the rows above the panes and screens."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core.read import job_lines
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.text.glyphs import AGENT_LOOKS, look
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.needs.agent_entries import WHO, one_line
from tui_tasks.tui.needs.open_needs import Kind, Need
from tui_tasks.tui.tasks.task_text import failed_check

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine
    from tui_tasks.tui.state.context import Context

_MAX_WHOLE: Final = 1_000
# In cells: the longest name of the task of a failed check or of work to review, and of one that failed or is late.
_SHORT_NAME: Final = 24
_NAME: Final = 40
# So many tasks that failed for one reason are named.
_NUMBERS: Final = 3
_LOOKS: Final = {
    Kind.ASKS: "needs_you",
    Kind.CHECKS: "failed",
    Kind.HELD: "held",
    Kind.REVIEW: "reviewable",
    Kind.FAILED: "failed",
    Kind.JOBS: "failed",
    Kind.LATE_JOBS: "overdue",
    Kind.LATE: "overdue",
}


class NeedEntry(msgspec.Struct, frozen=True):
    """One thing that needs the human in words: its number, what it is about, and since when."""

    need: Need
    mark: str
    color: str
    number: str
    """The number of its task (`#7`) or its job (`S3`); empty without one."""
    text: str
    aside: str
    """Its agent; empty without one."""
    brief: str = ""
    """The text without the name of its task where `text` has no room; empty: `text`."""
    least: str = ""
    """A shorter text where `brief` has no room either; empty: `brief`."""

    @property
    def ways(self) -> list[str]:
        """Its texts in a row with others, the longest first."""
        return [self.text, *filter(None, (self.brief, self.least))]

    @property
    def cause(self) -> str:
        """The end of its text behind a name: why or since when; empty where it has none."""
        return next((each for each in (self.least, self.brief) if each and self.text.endswith(f": {each}")), "")

    @property
    def is_question(self) -> bool:
        """Whether its text is cut in the middle, as the end says what is asked."""
        return self.need.kind == Kind.ASKS and not self.need.row.is_permission

    @property
    def has_agent(self) -> bool:
        """Whether an agent stands beside its words."""
        return self.need.kind in (Kind.ASKS, Kind.AGENTS)


class NeedsEntries:
    """Words what needs the human. It calls `lasts` with how many microseconds the words stay true."""

    def __init__(self, context: Context, lasts: Callable[[int], None]) -> None:
        self.context = context
        self.lasts = lasts

    def entry(self, need: Need) -> NeedEntry:
        """Return one thing in words."""
        if need.parts:
            return self._proposed(need) if need.kind == Kind.HELD else self._group(need)
        if need.is_rest:
            return self._entry(need, "", f"{need.count:,} more {need.word}", "")
        words = {
            Kind.ASKS: self._ask,
            Kind.CHECKS: self._check,
            Kind.HELD: self._held,
            Kind.REVIEW: self._work,
            Kind.AGENTS: self._agent,
            Kind.FAILED: self._failed,
            Kind.JOBS: self._failed_job,
            Kind.LATE_JOBS: self._late_job,
            Kind.LATE: self._late,
        }
        return words[need.kind](need)

    def _entry(self, need: Need, number: str, text: str, aside: str, brief: str = "", least: str = "") -> NeedEntry:
        looks = AGENT_LOOKS["left" if need.word == "gone" else need.word] if need.kind == Kind.AGENTS else None
        looks = looks or look(_LOOKS[need.kind])
        return NeedEntry(
            need, looks.mark(ascii_only=self.context.ascii_only), looks.color, number, text, aside, brief, least
        )

    def _ask(self, need: Need) -> NeedEntry:
        from tui_tasks.tui.asks import ask_text  # few screens begin with a question

        asked = _whole(ask_text.request_line(need.row, ascii_only=self.context.ascii_only))
        number, who = self._task(need.task)[0], agent_text.who(need.agent, WHO)
        if need.is_later:
            return msgspec.structs.replace(self._entry(need, number, f"later: {asked}", who), color="$muted")
        return self._entry(need, number, asked, who)

    def _check(self, need: Need) -> NeedEntry:
        task = self._line(need.task)
        reason = (failed_check(self.context, task) if task is not None else None) or ""
        number, name = self._task(need.task)
        return self._entry(need, number, f"{name}: {reason}" if reason else name, _who(task), reason)

    def _held(self, need: Need) -> NeedEntry:
        row = need.row
        number = _of_job(row.id) if row.is_job else f"#{row.id}"
        name = one_line(row.name, _NAME)
        return self._entry(need, number, f"new {row.kind}? {name}", agent_text.who(row.maker, WHO), name)

    def _work(self, need: Need) -> NeedEntry:
        number, name = self._task(need.task)
        counts = self.context.state.works.reviews.get(need.agent, "")
        text = "  ".join(filter(None, (f"to review: {name}", one_line(counts))))
        return self._entry(need, number, text, agent_text.who(need.agent, WHO))

    def _agent(self, need: Need) -> NeedEntry:
        who = agent_text.who(need.agent, WHO)
        if need.word != "gone":
            # The mark says what a shorter text leaves out.
            least = need.row.reason.removeprefix("stuck: ").removeprefix("failed: ")
            return self._entry(need, need.row.number, need.row.trouble, who, need.row.reason, least)
        task = self._line(need.task)
        name = one_line(task.name) if task is not None else ""
        text = f"gone: {name}{', its claim lapsed' if need.row.has_lapsed else ''}"
        return self._entry(need, f"#{task.number}" if task is not None else "", text, who)

    def _failed(self, need: Need) -> NeedEntry:
        task = need.row
        reason = self.context.state.failures.why(task)
        whole, cut = (_with_reason(name, reason) for name in (one_line(task.name), one_line(task.name, _NAME)))
        return self._entry(need, f"#{task.number}", whole, _who(task), cut, one_line(reason))

    def _group(self, need: Need) -> NeedEntry:
        """Return `#3 #5 #9 +11  test_dst_gap: expected 02:30`."""
        numbers = [f"#{part.row.number}" for part in need.parts]
        more = [f"+{len(numbers) - _NUMBERS}"] if len(numbers) > _NUMBERS else []
        reason = one_line(self.context.state.failures.why(need.row))
        return self._entry(need, " ".join((*numbers[:_NUMBERS], *more)), reason, "")

    def _proposed(self, need: Need) -> NeedEntry:
        """Return `4 new tasks? #10 Rewrite the session store in Rust, #11 Cache tokens`; with less room the beginnings
        of the other titles, then their numbers.
        """
        parts = [part for part in need.parts if not part.is_rest]
        kinds = {part.row.kind for part in parts}
        what = f"{kinds.pop()}s" if len(kinds) == 1 else "proposals"
        first, *others = [self._held(part) for part in parts[: 1 + _NUMBERS]]
        makers = dict.fromkeys(one.aside for one in (first, *others))
        more = need.count - 1 - len(others)
        asked, end = f"{need.count:,} new {what}? {first.number} {first.brief}", f" +{more:,}" * bool(more)
        whole, cut, numbers = (
            ", ".join((asked, *(f"{one.number} {one_line(one.brief, cells)}".rstrip() for one in others))) + end
            for cells in (_SHORT_NAME, _SHORT_NAME // 2, 0)
        )
        return self._entry(need, "", whole, first.aside if len(makers) == 1 and not more else "", cut, numbers)

    def _failed_job(self, need: Need) -> NeedEntry:
        job = need.row
        reason = job_lines.why_failed(self.context.db, job.uid)
        whole, cut = (_with_reason(name, reason) for name in (one_line(job.name), one_line(job.name, _NAME)))
        return self._entry(need, _of_job(job.number), whole, "", cut, one_line(reason))

    def _late_job(self, need: Need) -> NeedEntry:
        job = need.row
        brief = late_words(self.context, job.when)
        why = brief.partition(", ")[2].partition(";")[0].removesuffix(" yet")
        text, least = f"{one_line(job.name, _NAME)}: {brief}", f"late, {why}" if why else ""
        return self._entry(need, _of_job(job.number), text, "", brief, least)

    def _late(self, need: Need) -> NeedEntry:
        now = task_fields.local_time(self.context.clock.now(), self.context.clock.zone)
        number, name = self._task(need.task)
        brief = f"due {due_dates.when(need.row, now)}"
        return self._entry(need, number, f"{name}: {brief}", _who(self._line(need.task)), brief)

    def _line(self, uid: str | None) -> TaskLine | None:
        return list_pages.line(self.context.db, uid) if uid is not None else None

    def _task(self, uid: str | None) -> tuple[str, str]:
        """Return the number and the name of a task."""
        task = self._line(uid)
        return (f"#{task.number}", one_line(task.name, _SHORT_NAME)) if task is not None else ("", "")


def late_words(context: Context, when: int) -> str:
    """Return `due 19:50, no scheduler runs` for a job whose time has come."""
    words = f"due {context.clock.time_of(when)}"
    if context.link.as_of is not None:
        return f"{words}, not started"
    from tui_tasks.runner import run_holders  # most jobs are on time

    return f"{words}, {run_holders.why_late(context.db)}"


@lru_cache(128)
def _whole(text: str) -> str:
    return one_line(text, _MAX_WHOLE)


def _of_job(number: int) -> str:
    """Return the number of a job as the schedule shows it."""
    return f"S{number}" if number else ""


def _who(task: TaskLine | None) -> str:
    """Return the name of the agent that has a task; empty if none has it."""
    return agent_text.who(task.who, WHO) if task is not None and task.who else ""


def _with_reason(name: str, reason: str) -> str:
    return f"{name}: {one_line(reason)}" if reason else name
