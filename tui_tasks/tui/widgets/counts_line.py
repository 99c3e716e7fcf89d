"""How much needs the human, has failed, is stuck, late or changed: the line of counts above every pane and screen.

On a small screen it is the only line, and shows what agents do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.unseen_changes import MAX_NEW
from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.text.glyphs import Look, look, sign
from tui_tasks.text.safe import safe_ends
from tui_tasks.text.times import DAY, age, age_lasts, due
from tui_tasks.tui.state.app_state import MAX_DUE, MAX_NEXT_JOBS
from tui_tasks.tui.widgets.agent_line import TROUBLE, AgentEntries, AgentEntry, agent_groups, go_to, one_line
from tui_tasks.tui.widgets.frame import NARROW, Act, Group, GroupLine, as_of_words, is_compact

if TYPE_CHECKING:
    from tui_tasks.tui.painting.line_painter import LinePainter
    from tui_tasks.tui.painting.styles import Part
    from tui_tasks.tui.state.context import Context

# The most changed tasks that are named by their numbers.
_MAX_NAMED: Final = 12
# In cells: the name of an agent in trouble on a small screen.
_SHORT_WHO: Final = 8


# In cells: the longest name of what is late or next on a small screen.
_SHORT_NAME: Final = 16


class _ShortStep(NamedTuple):
    """What a small screen shows: the name of the agent at work, since when it was heard, and so many cells of the name
    of what is late or next.
    """

    name: int
    has_who: bool = True
    has_age: bool = False


_SHORT_STEPS: Final = (
    _ShortStep(_SHORT_NAME, has_age=True),
    *(_ShortStep(name) for name in range(_SHORT_NAME, 4, -1)),
    _ShortStep(0, has_age=True),
    _ShortStep(0),
    _ShortStep(0, has_who=False, has_age=True),
    _ShortStep(0, has_who=False),
)


class Count(NamedTuple):
    """A number of things: with its words, without them, with what they are, since when they are counted, which, and in
    brief words.
    """

    text: str
    short: str
    color: str
    act: Act | None = None
    long: str = ""
    since: str = ""
    which: str = ""
    brief: str = ""

    def words(self, step: _Step) -> str:
        """Return its words."""
        words = (self.long if step.is_long else self.brief if step.is_brief else "") or self.text
        return f"{words}{self.since if step.has_since else ''}{self.which if step.has_which else ''}"


class _Step(NamedTuple):
    """How much of their words the counts have, and the gap between them. `bare`: how many of the last have none."""

    gap: str
    is_long: bool = False
    has_since: bool = False
    has_which: bool = False
    is_brief: bool = False
    bare: int = 0


_STEPS: Final = (
    _Step("   ", is_long=True, has_since=True, has_which=True),
    _Step("  ", is_long=True, has_since=True, has_which=True),
    _Step("  ", has_since=True, has_which=True),
    _Step("   ", is_long=True, has_since=True),
    _Step("  ", is_long=True, has_since=True),
    _Step("  ", has_since=True),
    _Step("  ", has_since=True, is_brief=True),
    _Step("  ", has_which=True),
    _Step("   ", is_long=True),
    _Step("  ", is_long=True),
    _Step("  "),
)


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
        """`? 2 ask   ✗ 2 failed   ! 0 stuck   • 6 tasks changed since 19:58: #3–#8`; alone, what agents do as well."""
        entries = self._agents.entries()
        if is_alone and width < NARROW:
            return self._in_short(entries, width)
        counts = list(self._counts(entries))
        groups = _fitting([count._replace(which="") for count in counts] if is_alone else counts, width)
        if is_alone:
            if self._context.link.as_of is not None:
                groups.insert(0, self._moment())
            used = sum(group.size + len(group.gap) for group in groups)
            groups += agent_groups(self._context, [entry.with_reason for entry in entries], width - used)
        return _first_fitting(groups, width)

    def _counts(self, entries: Sequence[AgentEntry]) -> Iterator[Count]:
        state = self._context.state
        asks, failed_agents = len(state.asks), sum(entry.state == "failed" for entry in entries)
        word = ("question" if asks == 1 else "ask") if asks == len({ask.agent for ask in state.asks}) else "questions"
        is_known = self._context.link.as_of is None
        waits = asks or state.unproven or state.held or state.reviewable or any(entry.is_trouble for entry in entries)
        if waits:
            yield self._count(asks, "ask" if not asks else word, "needs_you", "asks")
        else:
            yield Count("nothing needs you", "nothing needs you", "$muted", self._act("asks"))
        failed = state.failed + len(state.failing) + failed_agents
        yield self._count(failed, "failed", "failed", "attention" if state.failed else "pane_schedule")
        if is_known and state.members:
            yield self._stuck([entry.state for entry in entries])
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
            yield count._replace(brief=f"{count.short} {checks}")
        if is_known:
            yield self._changed()

    def _count(self, number: int, words: str, kind: str, action: str) -> Count:
        looks = look(kind)
        color = looks.color if number else "$muted"
        short = f"{self._mark(looks)} {number:,}"
        return Count(f"{short} {words}", short, color, self._act(action))

    def _stuck(self, states: Sequence[str]) -> Count:
        """Return how many agents are stuck, and how many have other trouble; agents that failed are counted as such."""
        others = [f"{states.count(one)} {one}" for one in TROUBLE if one in states and one not in ("stuck", "failed")]
        looks, number = look("stuck"), states.count("stuck")
        short = f"{self._mark(looks)} {number}"
        text = ", ".join((f"{short} stuck", *others))
        color = looks.color if number or others else "$muted"
        return Count(text, text if others else short, color, self._act("agents"))

    def _late(self) -> Count | None:
        """Return how many tasks and jobs are late."""
        tasks, jobs = late_tasks(self._context, self._line.lasts), late_jobs(self._context, self._line.lasts)
        if not tasks and not jobs:
            return None
        looks, number = look("overdue"), len(tasks) + len(jobs)
        more = or_more(len(tasks)) or or_more(len(jobs), MAX_NEXT_JOBS)
        short = f"{self._mark(looks)} {number}{more}"
        act = (lambda: go_to(self._context, tasks[0])) if tasks else self._act("pane_schedule")
        return Count(f"{short} late", short, looks.color, act)

    def _changed(self) -> Count:
        """Return `• 4 tasks changed, 1 deleted since 19:58`: what agents have done that the human has not seen."""
        parts, long = (changed_words(self._context, is_long=is_long) for is_long in (False, True))
        mark = sign("changed", ascii_only=self._context.ascii_only)
        if not parts:
            return Count(f"{mark} 0 changed", f"{mark} 0", "$muted")
        # At midnight, "since 19:58" needs its day.
        self._line.lasts(DAY)
        since = f" since {self._context.clock.time_of(self._context.state.looked.at)}"
        short, which = f"{mark} {parts.partition(' ')[0]}", self._which_changed()
        return Count(f"{mark} {parts}", short, "", long=f"{mark} {long}", since=since, which=which)

    def _which_changed(self) -> str:
        """Return `: #3–#5 #7`; empty where too many tasks have changed to name them."""
        uids = self._context.state.changed_tasks()
        if not 0 < len(uids) <= _MAX_NAMED:
            return ""
        tasks = (list_pages.line(self._context.db, uid) for uid in uids)
        dash = "-" if self._context.ascii_only else "–"
        return f": {' '.join(_ranges(sorted(task.number for task in tasks if task is not None), dash))}"

    def _mark(self, looks: Look) -> str:
        return looks.mark(ascii_only=self._context.ascii_only)

    def _act(self, action: str) -> Act:
        return lambda: self._context.do(action)

    # With room for marks and numbers

    def _in_short(self, entries: Sequence[AgentEntry], width: int) -> list[Group]:
        """Return ` ◐ claude-1 #5  ? 2  ✗ 2  ! Backup … 25m`: the first agents, the counts, and what is late or next."""
        groups: list[Group] = []
        for step in _SHORT_STEPS:
            groups = [*self._short_agents(entries, step), *self._short_counts(entries), *self._short_job(step.name)]
            for gap in ("   ", "  "):
                if sum(group.size + len(gap) for group in groups) - len(gap) + 1 <= width:
                    return [group._replace(gap=gap) for group in groups]
        return _first_fitting(groups, width)

    def beside_title(self, room: int) -> list[Part]:
        """Return `? 2  ✗ 2  ! 25m`, as many as fit in so many cells: a small screen with a title has no other line."""
        groups = [*self._short_counts(self._agents.entries()), *self._short_job(0)]
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
            words = (who, entry.state if step.has_who else "") if entry.is_trouble else (who, entry.number)
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
        failed = state.failed + len(state.failing) + sum(entry.state == "failed" for entry in entries)
        for number, kind, action in (
            (state.need_you, "needs_you", "asks"),
            (len(state.reviewable), "reviewable", "asks"),
            (state.held, "held", "asks"),
            (failed, "failed", "attention" if state.failed else "pane_schedule"),
        ):
            if number:
                looks = look(kind)
                yield Group([(f"{self._mark(looks)} {number:,}", looks.color)], self._act(action))

    def _short_job(self, cells: int) -> Iterator[Group]:
        """Yield what is late, else the next job, with up to so many cells of its name, and since or until when."""
        context, now = self._context, self._context.clock.now()
        tasks, jobs = late_tasks(context, self._line.lasts), late_jobs(context, self._line.lasts)
        mark, color, act = self._mark(look("overdue")), "$state-overdue", self._act("pane_schedule")
        if tasks:
            name, since = self._late_task(tasks[0], now)
            act = partial(go_to, context, tasks[0])
        elif context.state.next_jobs:
            name, when = context.state.next_jobs[0]
            self._line.lasts(age_lasts(when, now))
            since = due(when, now).removeprefix("in ").removeprefix("overdue ")
            if not jobs:
                mark, color = sign("scheduled", ascii_only=context.ascii_only), ""
        else:
            return
        others = len(tasks) + len(jobs) - 1
        more = f" +{others}{or_more(len(tasks)) or or_more(len(jobs), MAX_NEXT_JOBS)}" if others > 0 else ""
        shown = f"{one_line(name, cells, ascii_only=context.ascii_only)} " if cells else ""
        yield Group([(f"{mark} {shown}{since}{more}", color)], act)

    def _late_task(self, uid: str, now: int) -> tuple[str, str]:
        """Return a late task's number and name, and since when it is late."""
        task, field = list_pages.line(self._context.db, uid), task_fields.FIELDS["due"]
        local = task_fields.local_time(now, self._context.clock.zone)
        since = field.short(dict(self._context.state.due)[uid], local).removeprefix("overdue ")
        return f"#{task.number} {task.name}" if task is not None else "", since


def _ranges(numbers: Sequence[int], dash: str) -> Iterator[str]:
    """Yield `#3–#5` and `#7` for ascending numbers."""
    for _, run in groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        found = [number for _, number in run]
        if len(found) > 2:
            yield f"#{found[0]}{dash}#{found[-1]}"
        else:
            yield from (f"#{number}" for number in found)


def changed_words(context: Context, *, is_long: bool) -> str:
    """Return `4 tasks changed, 1 deleted`, or `4 changed, 1 deleted`: how many tasks agents have changed that the human
    has not seen; empty for none.
    """
    words: list[str] = []
    for number, word in ((len(context.state.changed_tasks()), "changed"), (len(context.state.deleted), "deleted")):
        if number:
            what = f"task{'s' * (number != 1)} " if is_long and not words else ""
            words.append(f"{number:,}{'+' * (number >= MAX_NEW)} {what}{word}")
    return ", ".join(words)


def late_tasks(context: Context, lasts: Callable[[int], None]) -> list[str]:
    """Return the uids of the open tasks whose due date is over, the first due first."""
    if not context.state.due:
        return []
    now = task_fields.local_time(context.clock.now(), context.clock.zone)
    lasts(min(task_fields.FIELDS["due"].lasts(due, now) for _, due in context.state.due))
    return [uid for uid, due in context.state.due if due_dates.is_overdue(due, now)]


def late_jobs(context: Context, lasts: Callable[[int], None]) -> list[tuple[str, int]]:
    """Return the names and the due instants of the jobs that nothing has started in time."""
    now = context.clock.now()
    late = [(name, when) for name, when in context.state.next_jobs if when < now]
    for _, when in context.state.next_jobs[len(late) : len(late) + 1]:
        lasts(when - now + 1)
    return late


def or_more(late: int, most: int = MAX_DUE) -> str:
    """Return the sign after a number of late tasks, or of other late things, of which at most `most` are known."""
    return "+" if late >= most else ""


def _fitting(counts: Sequence[Count], width: int) -> list[Group]:
    """Return the counts with as many of their words as there is room for; the last ones lose theirs first."""
    groups: list[Group] = []
    for step in (*_STEPS, *(_Step("  ", is_brief=True, bare=at) for at in range(len(counts)))):
        words, marks = counts[: len(counts) - step.bare], counts[len(counts) - step.bare :]
        texts = [one.words(step) for one in words] + [one.short for one in marks]
        groups = [Group([(text, one.color)], one.act, step.gap) for text, one in zip(texts, counts, strict=True)]
        if sum(group.size + len(step.gap) for group in groups) - len(step.gap) + 2 <= width:
            break
    return groups


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
