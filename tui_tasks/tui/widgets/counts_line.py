"""How much needs the human, has failed, is stuck, late or changed: the line of counts above every pane and screen.

On a small screen it is the only line, and shows what agents do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.text.glyphs import Look, look, sign
from tui_tasks.text.safe import safe_ends
from tui_tasks.text.times import DAY, age, age_lasts, due
from tui_tasks.tui.state.app_state import MAX_DUE, MAX_NEW, MAX_NEXT_JOBS
from tui_tasks.tui.widgets.agent_line import TROUBLE, AgentEntries, AgentEntry, agent_groups, go_to
from tui_tasks.tui.widgets.frame import NARROW, Act, Group, GroupLine, as_of_words, is_compact

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# In cells: the name of an agent in trouble on a small screen.
_SHORT_WHO: Final = 8


class Count(NamedTuple):
    """A number of things: with its words, without them, and since when they are counted."""

    text: str
    short: str
    color: str
    act: Act | None = None
    since: str = ""


def counts_line(context: Context, *, id: str) -> GroupLine:
    """Return the line of counts, on a small screen the only line."""
    line = GroupLine(context, lambda width: counts.groups(width, is_alone=is_compact(line.app.size)), id=id)
    counts = Counts(context, line)
    return line


class Counts:
    """What that line shows, always in the same order."""

    def __init__(self, context: Context, line: GroupLine) -> None:
        self._context = context
        self._line = line
        self._agents = AgentEntries(context, line.lasts)

    def groups(self, width: int, *, is_alone: bool) -> list[Group]:
        """`? 2 ask   ✗ 2 failed   ! 0 stuck   • 6 changed since 19:58`; alone, what agents do as well."""
        entries = self._agents.entries()
        if is_alone and width < NARROW:
            return _first_fitting(self._in_short(entries), width)
        groups = _fitting(list(self._counts(entries)), width)
        if is_alone:
            if self._context.link.as_of is not None:
                groups.insert(0, self._moment())
            used = sum(group.size + len(group.gap) for group in groups)
            groups += agent_groups(self._context, entries, width - used)
        return _first_fitting(groups, width)

    def _counts(self, entries: Sequence[AgentEntry]) -> Iterator[Count]:
        state = self._context.state
        asks, failed_agents = len(state.asks), sum(entry.state == "failed" for entry in entries)
        word = ("asks" if asks == 1 else "ask") if asks == len({ask.agent for ask in state.asks}) else "questions"
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
            (state.held, "filed", "held"),
            (len(state.unproven), f"check{'s' * (len(state.unproven) != 1)} failed", "needs_you"),
        ):
            if number:
                yield self._count(number, words, kind, "asks")
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
        """Return `• 4 changed, 1 deleted since 19:58`: what agents have done that the human has not seen."""
        parts = changed_words(self._context)
        mark = sign("changed", ascii_only=self._context.ascii_only)
        if not parts:
            return Count(f"{mark} 0 changed", f"{mark} 0", "$muted")
        # At midnight, "since 19:58" needs its day.
        self._line.lasts(DAY)
        since = f" since {self._context.clock.time_of(self._context.state.looked.at)}"
        return Count(f"{mark} {parts}", f"{mark} {parts.partition(' ')[0]}", "", since=since)

    def _mark(self, looks: Look) -> str:
        return looks.mark(ascii_only=self._context.ascii_only)

    def _act(self, action: str) -> Act:
        return lambda: self._context.do(action)

    # With room for marks and numbers

    def _in_short(self, entries: Sequence[AgentEntry]) -> list[Group]:
        """`◐ #5 40s   ? 2   ✗ 1   ◷ 12h`."""
        groups = [] if self._context.link.as_of is None else [self._moment()]
        trouble = [entry for entry in entries if entry.is_trouble]
        work = [entry for entry in entries if entry.is_at_work]
        if trouble:
            more = f" +{len(trouble) - 1}" if len(trouble) > 1 else ""
            name = safe_ends(trouble[0].who, _SHORT_WHO)
            groups.append(Group([(f"{trouble[0].mark} {name}{more}", trouble[0].color)], trouble[0].act))
        if work:
            groups.append(self._short_work(work))
        if not work and not trouble:
            groups.append(Group([("idle", "$muted")]))
        return [*groups, *self._short_counts(), *self._short_job()]

    def _moment(self) -> Group:
        """Return the moment of the past: the line of the panes, which also shows it, is hidden."""
        assert self._context.link.as_of is not None
        return Group([(as_of_words(self._context, self._context.link.as_of, 0), "$state-overdue")])

    def _short_work(self, work: Sequence[AgentEntry]) -> Group:
        """Return `◐ #5 40s +1`: the first agent at work, and how many others there are."""
        entry, now = work[0], self._context.clock.now()
        seen = entry.member.last_seen
        self._line.lasts(age_lasts(seen, now))
        what = entry.number or safe_ends(entry.who, _SHORT_WHO)
        more = f" +{len(work) - 1}" if len(work) > 1 else ""
        return Group([(f"{entry.mark} ", entry.color), (f"{what} {age(seen, now)}{more}", "")], entry.act)

    def _short_counts(self) -> Iterator[Group]:
        state = self._context.state
        for number, kind, action in (
            (state.need_you, "needs_you", "asks"),
            (len(state.reviewable), "reviewable", "asks"),
            (state.held, "held", "asks"),
            (state.failed + len(state.failing), "failed", "attention" if state.failed else "pane_schedule"),
        ):
            if number:
                looks = look(kind)
                yield Group([(f"{self._mark(looks)} {number:,}", looks.color)], self._act(action))

    def _short_job(self) -> Iterator[Group]:
        jobs, now = self._context.state.next_jobs, self._context.clock.now()
        if not jobs:
            return
        when = jobs[0][1]
        self._line.lasts(age_lasts(when, now))
        mark, color = sign("scheduled", ascii_only=self._context.ascii_only), ""
        if when < now:
            mark, color = self._mark(look("overdue")), "$state-overdue"
        words = due(when, now).removeprefix("in ").removeprefix("overdue ")
        yield Group([(f"{mark} {words}", color)], self._act("pane_schedule"))


def changed_words(context: Context) -> str:
    """Return `4 changed, 1 deleted`: how many tasks agents have changed that the human has not seen; empty for none."""
    state = context.state
    counted = (len(state.new), "changed"), (len(state.deleted), "deleted")
    return ", ".join(f"{number:,}{'+' * (number >= MAX_NEW)} {word}" for number, word in counted if number)


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
    for gap, has_since, bare in (
        ("   ", True, 0),
        ("  ", True, 0),
        ("   ", False, 0),
        *(("  ", False, at) for at in range(len(counts))),
    ):
        words, marks = counts[: len(counts) - bare], counts[len(counts) - bare :]
        texts = [*(f"{one.text}{one.since if has_since else ''}" for one in words), *(one.short for one in marks)]
        groups = [Group([(text, one.color)], one.act, gap) for text, one in zip(texts, counts, strict=True)]
        if sum(group.size + len(gap) for group in groups) - len(gap) + 2 <= width:
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
