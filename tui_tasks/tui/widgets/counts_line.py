"""The line of counts above every pane and screen, and what has changed since the human looked.

On a small screen it is the only line, and shows what agents do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.schema import task_fields
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import safe_ends
from tui_tasks.text.times import age_lasts, count, due
from tui_tasks.text.word_cuts import safe_words
from tui_tasks.tui.layout import NARROW, WIDE, has_row_of_changes, is_compact
from tui_tasks.tui.needs.agent_entries import AgentEntries, AgentEntry, one_line
from tui_tasks.tui.needs.need_counts import NONE_CHANGED, ZERO_CHANGED, Changes, Count, NeedCounts
from tui_tasks.tui.needs.open_needs import BY_TIME, Kind, Need, Needs, late_number
from tui_tasks.tui.painting.styles import Group
from tui_tasks.tui.rows.row_painter import GUTTER
from tui_tasks.tui.widgets.agent_line import agent_groups
from tui_tasks.tui.widgets.foot_line import GroupLine, as_of_words

if TYPE_CHECKING:
    from textual.geometry import Size

    from tui_tasks.tui.needs.changes_text import Way
    from tui_tasks.tui.painting.styles import Part
    from tui_tasks.tui.state.context import Context

# Between two counts: where there is room on a wide screen, and elsewhere.
_WIDE_GAP: Final = "   "
_GAP: Final = "  "
# In cells: the name of an agent in trouble on a small screen.
_SHORT_WHO: Final = 8
# In cells: the longest name of what is late or next on a small screen.
_SHORT_NAME: Final = 16


class _ShortStep(msgspec.Struct, frozen=True):
    """What a small screen shows: so many cells of the name of what is late or next, since when it is late, that it is
    late, the name of the agent at work and its task, who waits, and that no agent is stuck or gone; with `gap` between
    them.
    """

    name: int
    has_since: bool = True
    has_late: bool = True
    has_who: bool = True
    has_task: bool = True
    has_waiting: bool = False
    gap: str = _GAP


_SHORT_STEPS: Final = (
    *(_ShortStep(name, has_waiting=True) for name in (*range(_SHORT_NAME, 4, -1), 0)),
    _ShortStep(0, has_waiting=True, gap=" "),
    _ShortStep(0, has_since=False, has_waiting=True),
    _ShortStep(0, has_since=False, has_waiting=True, gap=" "),
    _ShortStep(0, has_since=False, has_task=False, has_waiting=True),
    _ShortStep(0, has_since=False, has_late=False, has_task=False, has_waiting=True),
    _ShortStep(0, has_since=False, has_late=False, has_task=False, has_waiting=True, gap=" "),
    _ShortStep(0, has_since=False, has_late=False, has_who=False, has_waiting=True),
    _ShortStep(0),
    _ShortStep(0, has_since=False),
    _ShortStep(0, has_who=False),
)


def counts_line(
    context: Context, *, id: str, own: Callable[[int], Sequence[Group]] | None = None, has_row: bool = True
) -> GroupLine:
    """Return the line of counts. `own` returns for a width what a screen counts itself instead. `has_row`: whether what
    has changed may have a row below.
    """

    def groups(width: int) -> Sequence[Group]:
        size = line.app.size
        if own is None:
            return counts.groups(size)
        return own(width) if is_compact(size) else _behind_blanks(own(width - 1))

    line = GroupLine(context, groups, id=id)
    counts = Counts(context, line.lasts, has_row=has_row)
    return line


class Counts:
    """What that line shows, always in the same order."""

    def __init__(self, context: Context, lasts: Callable[[int], None], *, has_row: bool = True) -> None:
        """`has_row`: whether what has changed may have a row below."""
        self._context = context
        self._has_row = has_row
        self._agents = AgentEntries(context, lasts)
        self._needs = Needs(context, lasts)
        self._counts = NeedCounts(context, lasts)
        self._changes = Changes(context, lasts)
        self._short = ShortCounts(context, lasts, self._counts)

    def groups(self, size: Size) -> list[Group]:
        """`  ? 2 questions   ▲ 0 stuck or gone   ✗ 2 failed   ◷ 1 late   • 0 changed`.

        Alone, it shows what agents do as well.
        """
        width, found = size.width, self._needs.all()
        if not is_compact(size):
            return self._line(found, size)
        entries = self._agents.entries()
        if width < NARROW:
            return self._short.groups(entries, found, width)
        counts = list(self._counts.of(found))
        gap = _WIDE_GAP if width >= WIDE else _GAP
        texts = next((texts for texts in _ways(counts) if _size(_titled(counts, texts, gap)) < width), ())
        groups = _titled(counts, texts, gap)
        if self._context.link.as_of is not None:
            groups.insert(0, _moment(self._context))
        return _first_fitting(
            [*groups, *agent_groups(self._context, [one.with_reason for one in entries], width - _size(groups))], width
        )

    def beside_title(self, room: int) -> list[Part]:
        """Return as many counts as fit in so many cells: a small screen has no line for them below a title."""
        return self._short.beside_title(self._needs.all(), room)

    def _line(self, found: Sequence[Need], size: Size) -> list[Group]:
        """Return the counts, and behind them what has changed where it has no row.

        These give way in this order: how slow a job is; the names of single things; the word of the questions; jobs
        that are slow; the names of what has changed; the words of the counts, the last count's first; the word for what
        has changed.
        """
        counts = list(self._counts.of(found))
        full, named_alone, counted, brief, least, *shorts = _ways(counts)
        *named, changed, number = self._changed(size)
        ways = [(full, named[0], _WIDE_GAP)] if size.width >= WIDE else []
        ways += [
            *((each, named[0], _GAP) for each in (full, named_alone, counted, brief)),
            *((least, words, _GAP) for words in named),
        ]
        ways += [*((texts, changed, _GAP) for texts in shorts), (shorts[-1], number, _GAP)]
        groups: list[Group] = []
        for texts, words, gap in ways:
            groups = _behind_blanks(_titled(counts, texts, gap))
            groups += [Group(self._changes.parts(words), gap=_WIDE_GAP)] if words else []
            if _size(groups) < size.width:
                return groups
        return _first_fitting(groups, size.width)

    def _changed(self, size: Size) -> Sequence[Way]:
        """Return what has changed in words, the longest first; empty ones where it has a row, and in the past."""
        if self._context.link.as_of is not None:
            return [()] * 3
        if not self._changes.are_there():
            return [NONE_CHANGED, NONE_CHANGED, ZERO_CHANGED]
        return [()] * 3 if self._has_row and has_row_of_changes(size) else self._changes.ways()


class ShortCounts:
    """The same where there is room for marks and numbers alone."""

    def __init__(self, context: Context, lasts: Callable[[int], None], counts: NeedCounts) -> None:
        self._context = context
        self._lasts = lasts
        self._counts = counts

    def groups(self, entries: Sequence[AgentEntry], found: Sequence[Need], width: int) -> list[Group]:
        """Return ` ◐ claude-1  ? claude-2  ? 2  ▲ 0  ✗ 2  ! 1`: the first agents, who waits, the counts, what is late
        or next.
        """
        is_calm = bool(self._context.state.members) and not any(one.is_trouble for one in entries)
        waiting = [one for one in entries if one.state == "waiting"]
        is_named = not any(one.is_trouble or one.is_at_work for one in entries)
        groups: list[Group] = []
        for step in _SHORT_STEPS:
            groups = [
                *self._agents(entries, step),
                *(self._who(one) for one in waiting[: step.has_waiting and not (is_named and len(waiting) == 1)]),
                *self._counted(found, step, has_agents=False, has_none=step.has_waiting and is_calm),
                *self._next(found, step),
            ]
            groups = [replace(group, gap=step.gap) for group in groups]
            if _size(groups) - len(step.gap) + 2 <= width:  # a blank at each side
                return groups
        return _first_fitting(groups, width)

    def beside_title(self, found: Sequence[Need], room: int) -> list[Part]:
        """Return `? 2  ✗ 2  ◷ S3 late 25m`, as many as fit in so many cells: a small screen has no line for them."""
        step = _ShortStep(0)
        groups = [*self._counted(found, step, has_agents=True), *self._next(found, step)]
        shown = _first_fitting([replace(group, gap=_GAP) for group in groups], room)
        return [part for group in shown for part in (*group.parts, (_GAP, ""))]

    def _agents(self, entries: Sequence[AgentEntry], step: _ShortStep) -> Iterator[Group]:
        """Yield the agent in trouble and the one at work, else the one that waits, and of several how many they are."""
        if self._context.link.as_of is not None:
            yield _moment(self._context)
        failed = [one for one in entries if one.state == "failed"]
        trouble = [one for one in entries if one.is_trouble and one not in failed] or failed
        work = [one for one in entries if one.state == "working"] or [one for one in entries if one.is_at_work]
        waiting = [] if trouble or work else [one for one in entries if one.state in ("waiting", "ready")]
        for others in filter(None, (trouble, work, waiting)):
            entry = others[0]
            who = safe_ends(entry.who, _SHORT_WHO) if step.has_who or entry.is_trouble or not entry.number else ""
            number = entry.number * (step.has_task or not who)
            words = (who, _word(entry) * step.has_who if entry.is_trouble else number)
            many = count(len(others), "agent") if step.has_who else f"{len(others):,}"
            text = " ".join(filter(None, words)) if len(others) == 1 else many
            if (others is waiting or others is failed) and len(others) > 1:
                continue  # their questions or failures are counted
            yield Group([(f"{entry.mark} ", entry.color), (text, "")], entry.act)
        if not work and not trouble and not waiting:
            yield Group([("idle", "$muted")])

    @staticmethod
    def _who(entry: AgentEntry) -> Group:
        return Group([(f"{entry.mark} ", entry.color), (safe_ends(entry.who, _SHORT_WHO), "")], entry.act)

    def _counted(
        self, found: Sequence[Need], step: _ShortStep, *, has_agents: bool, has_none: bool = False
    ) -> Iterator[Group]:
        """Yield what the rule counts, but jobs that are slow; what is late has words of its own, as agents in trouble
        have beside panes; all that has failed is counted. `has_none`: whether it is said that no agent is in trouble.
        """
        stuck, overdue = (look(kind).mark(ascii_only=self._context.ascii_only) for kind in ("stuck", "overdue"))
        counts = [need for need in found if has_agents or need.kind != Kind.AGENTS or need.counted_as == "failed"]
        counts = [need for need in counts if not need.is_later]
        for one in self._counts.of(counts, has_slow=False):
            mark, is_some = one.mark[0].strip(), one.short[0] in "123456789"
            if mark == overdue:
                yield self._late([need for need in counts if need.kind in BY_TIME], step)
            elif is_some or (has_none and mark == stuck):
                yield Group([one.mark, (one.short, "" if is_some else "$muted")], one.act)

    def _late(self, late: Sequence[Need], step: _ShortStep) -> Group:
        """Return `! S3 Restore test late 25m`."""
        context, now = self._context, self._context.clock.now()
        first, looks = late[0], look("overdue")
        if first.kind == Kind.LATE:
            number, name, how = self._late_task(first, now)
        else:
            job = first.row
            self._lasts(age_lasts(job.when, now))
            number, name, how = f"S{job.number}", job.name, due(job.when, now)
        others = len(late) - 1
        more = f"+{others}{'+' * late_number(late).endswith('+')}" if others else ""
        shown = safe_words(one_line(name), step.name, ascii_only=context.ascii_only)
        words = (number, shown, how if step.has_since else "late", more) if step.has_late else (late_number(late),)
        return Group(
            [self._counts.mark(looks, looks.color), (" ".join(filter(None, words)), "")], self._counts.visit(late)
        )

    def _next(self, found: Sequence[Need], step: _ShortStep) -> Iterator[Group]:
        """Yield the next job, with up to so many cells of its name, and in how long it runs, where nothing is late."""
        if any(need.kind in BY_TIME for need in found):
            return
        context, now = self._context, self._context.clock.now()
        for job in context.state.next_jobs[:1]:
            self._lasts(age_lasts(job.when, now))
            words = (
                safe_words(one_line(job.name), step.name, ascii_only=context.ascii_only),
                due(job.when, now).removeprefix("in "),
            )
            mark = sign("scheduled", ascii_only=context.ascii_only)
            yield Group(
                [(f"{mark} ", "$muted"), (" ".join(filter(None, words)), "")], lambda: context.do("pane_schedule")
            )

    def _late_task(self, need: Need, now: int) -> tuple[str, str, str]:
        """Return a late task's number and name, and `late 20h`."""
        task, field = list_pages.line(self._context.db, need.task or ""), task_fields.FIELDS["due"]
        how = field.short(need.row, task_fields.local_time(now, self._context.clock.zone))
        return (f"#{task.number}", task.name, how) if task is not None else ("", "", how)


def _word(entry: AgentEntry) -> str:
    return "stuck" if entry.state == "stopped" else entry.state


def _ways(counts: Sequence[Count]) -> Iterator[list[str]]:
    """Yield the words of the counts, empty for one that is left out, the longest first: without how slow a job is,
    without the names of single things, without the word of the questions, without the jobs that are slow, and from the
    last count on without words.
    """
    yield [count.named or count.text for count in counts]
    yield [count.text if count.brief == "" else count.named or count.text for count in counts]
    yield [count.text for count in counts]
    yield [count.brief or count.text for count in counts]
    least = [count.text if count.brief is None else count.brief for count in counts]
    shorts = [text and count.short for text, count in zip(least, counts, strict=True)]
    for at in range(len(counts), -1, -1):
        yield [*least[:at], *shorts[at:]]


def _titled(counts: Sequence[Count], texts: Sequence[str], gap: str) -> list[Group]:
    return [count.group(text, gap) for count, text in zip(counts, texts, strict=True) if text]


def _behind_blanks(groups: Sequence[Group]) -> list[Group]:
    """Return the groups in the column of the marks of the rows below."""
    return [
        Group([(" " * (GUTTER - 2), "")], gap=""),
        *(replace(group, gap=group.gap if at else "") for at, group in enumerate(groups)),
    ]


def _moment(context: Context) -> Group:
    """Return the moment of the past: the line of the panes, which also shows it, is hidden."""
    assert context.link.as_of is not None
    return Group([(as_of_words(context, context.link.as_of, 0), "$state-overdue")])


def _size(groups: Sequence[Group]) -> int:
    """Return the width in cells, with the gaps."""
    return sum(group.size + len(group.gap) for group in groups)


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
