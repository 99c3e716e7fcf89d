"""How much needs the human, has failed, is stuck, late or changed: the line of counts above every pane and screen.

On a small screen it is the only line, and shows what agents do as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.text.glyphs import Look, look, sign
from tui_tasks.text.safe import safe_ends, safe_words
from tui_tasks.text.times import DAY, age, age_lasts, due
from tui_tasks.tui.state.app_state import MAX_DUE, MAX_NEXT_JOBS
from tui_tasks.tui.widgets.agent_line import TROUBLE, AgentEntries, AgentEntry, agent_groups, go_to, one_line
from tui_tasks.tui.widgets.frame import NARROW, Act, Group, GroupLine, as_of_words, is_compact

if TYPE_CHECKING:
    from tui_tasks.core.read.job_lines import NextJob
    from tui_tasks.tui.painting.line_painter import LinePainter
    from tui_tasks.tui.painting.styles import Part
    from tui_tasks.tui.state.context import Context

# In cells: the name of an agent in trouble on a small screen.
_SHORT_WHO: Final = 8


# In cells: the longest name of what is late or next on a small screen.
_SHORT_NAME: Final = 16


class _ShortStep(NamedTuple):
    """What a small screen shows: so many cells of the name of what is late or next, since when it is late, the name of
    the agent at work, and since when that was heard.
    """

    name: int
    has_since: bool = True
    has_who: bool = True
    has_age: bool = False


_SHORT_STEPS: Final = (
    _ShortStep(_SHORT_NAME, has_age=True),
    *(_ShortStep(name) for name in range(_SHORT_NAME, 4, -1)),
    _ShortStep(0, has_age=True),
    _ShortStep(0),
    _ShortStep(0, has_since=False),
    _ShortStep(0, has_who=False, has_age=True),
    _ShortStep(0, has_who=False),
)


class Count(NamedTuple):
    """A number of things: the mark of what they are, the number with words, the longest first, and without words.

    `briefs` are the words where there is no room for any of `forms`.
    """

    mark: Part
    forms: Sequence[str]
    short: str
    act: Act | None = None
    briefs: Sequence[str] = ()

    def parts(self, words: str) -> list[Part]:
        """Return its mark and words; only the mark is coloured, and a number that is zero stands back."""
        is_calm = words in (_NOTHING, "0") or words.startswith("0 ")
        return [self.mark, (words, "$muted" if is_calm else "")]


_NOTHING: Final = "nothing needs you"


def counts_line(context: Context, *, id: str) -> GroupLine:
    """Return the line of counts, on a small screen the only line."""
    line = GroupLine(context, lambda width: counts.groups(width, is_alone=is_compact(line.app.size)), id=id)
    counts = Counts(context, line)
    return line


class Counts:
    """What that line shows, always in the same order."""

    def __init__(self, context: Context, line: LinePainter) -> None:
        self._context = context
        self._line = line
        self._agents = AgentEntries(context, line.lasts)

    def groups(self, width: int, *, is_alone: bool) -> list[Group]:
        """`? 2 ask   ✗ 2 failed   ! 0 stuck   ◷ 1 late   • 6 tasks changed`; alone, what agents do as well."""
        entries = self._agents.entries()
        if is_alone and width < NARROW:
            return self._in_short(entries, width)
        groups = _fitting(list(self._counts(entries, is_alone=is_alone)), width)
        if is_alone:
            if self._context.link.as_of is not None:
                groups.insert(0, self._moment())
            used = sum(group.size + len(group.gap) for group in groups)
            groups += agent_groups(self._context, [entry.with_reason for entry in entries], width - used)
        return _first_fitting(groups, width)

    def _counts(self, entries: Sequence[AgentEntry], *, is_alone: bool) -> Iterator[Count]:
        state = self._context.state
        asks = len(state.asks)
        word = ("question" if asks == 1 else "ask") if asks == len({ask.agent for ask in state.asks}) else "questions"
        is_known = self._context.link.as_of is None
        waits = asks or state.unproven or state.held or state.reviewable or any(entry.is_trouble for entry in entries)
        if waits:
            yield self._count(asks, word if asks else "questions", "needs_you", "asks")
        else:
            yield Count(("", ""), (_NOTHING,), _NOTHING, self._act("asks"))
        yield self._count(self._failed(entries), "failed", "failed", "attention" if state.failed else "pane_schedule")
        if is_known and state.members:
            yield self._stuck(entries)
        if late := self._late():
            yield late
        for number, words, kind in (
            (len(state.reviewable), "to review", "reviewable"),
            (state.held, "held", "held"),
        ):
            if number:
                yield self._count(number, words, kind, "asks")
        if number := len(state.unproven):
            checks = f"check{'s' * (number != 1)}"
            count = self._count(number, f"{checks} failed", "needs_you", "asks")
            yield count._replace(briefs=(f"{count.short} {checks}",))
        if is_known:
            yield self._changed(is_alone=is_alone)

    def _failed(self, entries: Sequence[AgentEntry]) -> int:
        """Return how many tasks, jobs and agents have failed (see `vocab`)."""
        state = self._context.state
        return state.failed + len(state.failing) + sum(entry.state == "failed" for entry in entries)

    def _count(self, number: int, words: str, kind: str, action: str) -> Count:
        looks = look(kind)
        mark = self._mark(looks, looks.color if number else "$muted")
        return Count(mark, (f"{number:,} {words}",), f"{number:,}", self._act(action))

    def _stuck(self, entries: Sequence[AgentEntry]) -> Count:
        """Return how many agents are stuck, gone or quiet, in the words of their rows; those that failed are counted as
        such.
        """
        numbers = Counter(_word(one) for one in entries if one.is_trouble and one.state != "failed")
        text = ", ".join(f"{numbers[one]} {one}" for one in TROUBLE if numbers[one]) or "0 stuck"
        looks, is_brief = look("stuck"), numbers.keys() <= {"stuck"}
        mark = self._mark(looks, looks.color if numbers else "$muted")
        return Count(mark, (text,), str(numbers["stuck"]) if is_brief else text, self._act("agents"))

    def _late(self) -> Count | None:
        """Return how many tasks and jobs are late."""
        tasks, jobs = late_tasks(self._context, self._line.lasts), late_jobs(self._context, self._line.lasts)
        if not tasks and not jobs:
            return None
        looks, number = look("overdue"), len(tasks) + len(jobs)
        more = or_more(len(tasks)) or or_more(len(jobs), MAX_NEXT_JOBS)
        act = (lambda: go_to(self._context, tasks[0])) if tasks else self._act("pane_schedule")
        return Count(self._mark(looks, looks.color), (f"{number}{more} late",), f"{number}{more}", act)

    def _changed(self, *, is_alone: bool) -> Count:
        """Return `• since 19:58: #3 failed, #4 #7 ask`, `• 19:58: #3 failed +2`, down to `• 3 changed`.

        It is what agents have done that the human has not seen; on a small screen without which tasks.
        """
        mark = sign("changed", ascii_only=self._context.ascii_only)
        if not self._context.state.has_changes:
            return Count((f"{mark} ", "$muted"), ("0 changed",), "0")
        # Imported here, as nothing may have changed when a screen begins.
        from tui_tasks.tui.widgets.changes_text import changed_words, what_changed

        text, long = (changed_words(self._context, is_long=is_long) for is_long in (False, True))
        # At midnight, "since 19:58" needs its day.
        self._line.lasts(DAY)
        since = f" since {self._context.clock.time_of(self._context.state.looked.at)}"
        forms, briefs = [f"{long}{since}", f"{text}{since}"], [f"{text}{since}", long, text]
        if not is_alone and (ways := what_changed(self._context)):
            at = since.removeprefix(" since ")
            forms = [f"{since.strip()}: {ways[0]}", f"{at}: {ways[0]}"]
            briefs = [*(f"{at}: {way}" for way in ways), text]
        return Count((f"{mark} ", "$changed"), forms, text.partition(" ")[0], briefs=briefs)

    def _mark(self, looks: Look, color: str) -> Part:
        return f"{looks.mark(ascii_only=self._context.ascii_only)} ", color

    def _act(self, action: str) -> Act:
        return lambda: self._context.do(action)

    # With room for marks and numbers

    def _in_short(self, entries: Sequence[AgentEntry], width: int) -> list[Group]:
        """Return ` ◐ claude-1 #5  ? 2  ✗ 2  ◷ S3 25m late`: the first agents, the counts, what is late or next."""
        groups: list[Group] = []
        for step in _SHORT_STEPS:
            groups = [*self._short_agents(entries, step), *self._short_counts(entries), *self._short_job(step)]
            for gap in ("   ", "  "):
                if sum(group.size + len(gap) for group in groups) - len(gap) + 1 <= width:
                    return [group._replace(gap=gap) for group in groups]
        return _first_fitting(groups, width)

    def beside_title(self, room: int) -> list[Part]:
        """Return `? 2  ✗ 2  ◷ S3 25m late`, as many as fit in so many cells: a small screen has no line for them."""
        groups = [*self._short_counts(self._agents.entries()), *self._short_job(_ShortStep(0))]
        shown = _first_fitting([group._replace(gap="  ") for group in groups], room)
        return [part for group in shown for part in (*group.parts, ("  ", ""))]

    def _moment(self) -> Group:
        """Return the moment of the past: the line of the panes, which also shows it, is hidden."""
        assert self._context.link.as_of is not None
        return Group([(as_of_words(self._context, self._context.link.as_of, 0), "$state-overdue")])

    def _short_agents(self, entries: Sequence[AgentEntry], step: _ShortStep) -> Iterator[Group]:
        """Yield the first agent in trouble and the first at work, and how many others there are of each."""
        if self._context.link.as_of is not None:
            yield self._moment()
        trouble, work = [one for one in entries if one.is_trouble], [one for one in entries if one.is_at_work]
        for others in filter(None, (trouble, work)):
            entry, more = others[0], f"+{len(others) - 1}" if len(others) > 1 else ""
            who = safe_ends(entry.who, _SHORT_WHO) if step.has_who or entry.is_trouble or not entry.number else ""
            color = entry.color if entry.is_trouble else ""
            words = (who, _word(entry) if step.has_who else "") if entry.is_trouble else (who, entry.number)
            texts = (*words, self._age(entry) if step.has_age and entry.is_at_work else "", more)
            yield Group([(f"{entry.mark} ", entry.color), (" ".join(filter(None, texts)), color)], entry.act)
        if not work and not trouble:
            yield Group([("idle", "$muted")])

    def _age(self, entry: AgentEntry) -> str:
        """Return since when an agent was last heard."""
        now, seen = self._context.clock.now(), entry.member.last_seen
        self._line.lasts(age_lasts(seen, now))
        return age(seen, now)

    def _short_counts(self, entries: Sequence[AgentEntry]) -> Iterator[Group]:
        state = self._context.state
        for number, kind, action in (
            (state.need_you, "needs_you", "asks"),
            (len(state.reviewable), "reviewable", "asks"),
            (state.held, "held", "asks"),
            (self._failed(entries), "failed", "attention" if state.failed else "pane_schedule"),
        ):
            if number:
                looks = look(kind)
                yield Group([self._mark(looks, looks.color), (f"{number:,}", "")], self._act(action))

    def _short_job(self, step: _ShortStep) -> Iterator[Group]:
        """Yield `◷ S3 Restore test 25m late`, else the next job and when it runs."""
        context, now = self._context, self._context.clock.now()
        tasks, jobs = late_tasks(context, self._line.lasts), late_jobs(context, self._line.lasts)
        looks, act = look("overdue"), self._act("pane_schedule")
        if not tasks and not jobs:
            yield from self._short_next(step.name, act)
            return
        if tasks:
            number, name, since = self._late_task(tasks[0], now)
            act = partial(go_to, context, tasks[0])
        else:
            job = jobs[0]
            self._line.lasts(age_lasts(job.when, now))
            number, name, since = f"S{job.number}", job.name, age(job.when, now)
        others = len(tasks) + len(jobs) - 1
        more = f"+{others}{or_more(len(tasks)) or or_more(len(jobs), MAX_NEXT_JOBS)}" if others else ""
        shown = safe_words(one_line(name), step.name, ascii_only=context.ascii_only)
        words = (number, shown, since if step.has_since else "", "late", more)
        yield Group([self._mark(looks, looks.color), (" ".join(filter(None, words)), "")], act)

    def _short_next(self, cells: int, act: Act) -> Iterator[Group]:
        """Yield the next job, with up to so many cells of its name, and in how long it runs."""
        context, now = self._context, self._context.clock.now()
        for job in context.state.next_jobs[:1]:
            self._line.lasts(age_lasts(job.when, now))
            words = (
                safe_words(one_line(job.name), cells, ascii_only=context.ascii_only),
                due(job.when, now).removeprefix("in "),
            )
            mark = sign("scheduled", ascii_only=context.ascii_only)
            yield Group([(f"{mark} ", "$muted"), (" ".join(filter(None, words)), "")], act)

    def _late_task(self, uid: str, now: int) -> tuple[str, str, str]:
        """Return a late task's number and name, and since when it is late."""
        task, field = list_pages.line(self._context.db, uid), task_fields.FIELDS["due"]
        local = task_fields.local_time(now, self._context.clock.zone)
        since = field.short(dict(self._context.state.due)[uid], local).removeprefix("overdue ")
        return (f"#{task.number}", task.name, since) if task is not None else ("", "", since)


def _word(entry: AgentEntry) -> str:
    return "stuck" if entry.state == "stopped" else entry.state


def late_tasks(context: Context, lasts: Callable[[int], None]) -> list[str]:
    """Return the uids of the open tasks whose due date is over, the first due first."""
    if not context.state.due:
        return []
    now = task_fields.local_time(context.clock.now(), context.clock.zone)
    lasts(min(task_fields.FIELDS["due"].lasts(due, now) for _, due in context.state.due))
    return [uid for uid, due in context.state.due if due_dates.is_overdue(due, now)]


def late_jobs(context: Context, lasts: Callable[[int], None]) -> list[NextJob]:
    """Return the jobs that nothing has started in time."""
    now = context.clock.now()
    late = [job for job in context.state.next_jobs if job.when < now]
    for job in context.state.next_jobs[len(late) : len(late) + 1]:
        lasts(job.when - now + 1)
    return late


def or_more(late: int, most: int = MAX_DUE) -> str:
    """Return the sign after a number of late tasks, or of other late things, of which at most `most` are known."""
    return "+" if late >= most else ""


def _fitting(counts: Sequence[Count], width: int) -> list[Group]:
    """Return the counts with as many of their words as there is room for; the last ones lose theirs first."""
    groups: list[Group] = []
    for gap, texts in _ways(counts):
        groups = [Group(count.parts(text), count.act, gap) for count, text in zip(counts, texts, strict=True)]
        if sum(group.size + len(gap) for group in groups) - len(gap) + 2 <= width:
            break
    return groups


def _ways(counts: Sequence[Count]) -> Iterator[tuple[str, list[str]]]:
    """Yield the gap and the words of each way to show the counts, the longest first."""
    briefs = [count.briefs or count.forms[-1:] for count in counts]
    for texts in (*_in_step([count.forms for count in counts]), *_in_step(briefs)):
        yield from ((gap, texts) for gap in ("   ", "  "))
    for words in range(len(counts) - 1, -1, -1):
        yield "  ", [*(brief[-1] for brief in briefs[:words]), *(count.short for count in counts[words:])]


def _in_step(forms: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the first form of each, the second, and so on; of one that has no more, its last."""
    for at in range(max(map(len, forms))):
        yield [each[min(at, len(each) - 1)] for each in forms]


def _first_fitting(groups: Sequence[Group], width: int) -> list[Group]:
    """Return the groups that fit; those that do not are left out."""
    found: list[Group] = []
    used = 1
    for group in groups:
        need = group.size + (len(group.gap) if found else 0)
        if used + need <= width:
            used += need
            found.append(group)
    return found
