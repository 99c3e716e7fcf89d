"""How much needs the human, has failed, is stuck, late or changed, in a rule above every pane and screen.

On a small screen it is the only line, and shows what agents do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.schema import task_fields
from tui_tasks.text.glyphs import Look, look, sign
from tui_tasks.text.safe import cell_len, safe_ends, safe_line, safe_words
from tui_tasks.text.times import DAY, age_lasts, count, due
from tui_tasks.tui.layout import NARROW, WIDE, is_compact
from tui_tasks.tui.painting.styles import NEW
from tui_tasks.tui.widgets import open_needs
from tui_tasks.tui.widgets.agent_entries import AgentEntries, AgentEntry, one_line
from tui_tasks.tui.widgets.agent_line import agent_groups
from tui_tasks.tui.widgets.foot_line import Act, Group, GroupLine, as_of_words
from tui_tasks.tui.widgets.open_needs import Need, Needs, counted, is_new, late_number, tally, trouble_text, visit

if TYPE_CHECKING:
    from textual.geometry import Size

    from tui_tasks.core.read.job_lines import RunningJob
    from tui_tasks.tui.painting.styles import Part
    from tui_tasks.tui.state.context import Context

# In cells: the least of a rule around its title, and the shortest rule that is drawn.
_ENDS: Final = 4
_LEAST_RULE: Final = 8
# Between two counts: where there is room on a wide screen, and elsewhere.
_WIDE_GAP: Final = "   "
_GAP: Final = "  "
# In cells: the name of an agent in trouble on a small screen.
_SHORT_WHO: Final = 8


# In cells: the longest name of what is late or next on a small screen.
_SHORT_NAME: Final = 16


class _ShortStep(msgspec.Struct, frozen=True):
    """What a small screen shows: so many cells of the name of what is late or next, since when it is late, and the name
    of the agent at work.
    """

    name: int
    has_since: bool = True
    has_who: bool = True


_SHORT_STEPS: Final = (
    *(_ShortStep(name) for name in range(_SHORT_NAME, 4, -1)),
    _ShortStep(0),
    _ShortStep(0, has_since=False),
    _ShortStep(0, has_who=False),
)


class Count(msgspec.Struct, frozen=True):
    """A number of things: the mark of what they are, the number with a word, and in `short` without, if possible.
    `brief` stands for the text where there is little room for what has changed; empty: nothing does.
    """

    mark: Part
    text: str
    short: str
    act: Act
    brief: str | None = None

    def parts(self, words: str) -> list[Part]:
        """Return its mark and words; only the mark is coloured, and only where there is one of these at least."""
        return [self.mark, (words, "$muted")]


class Changes(msgspec.Struct, frozen=True):
    """What is new to the human: a mark, words for it, the longest first, and in `numbers` only how much it is."""

    mark: Part
    numbers: Sequence[str]
    words: Sequence[str] = ()
    marks: Sequence[str] = ()
    fewer_marks: Sequence[str] = ()

    def parts(self, words: str) -> list[Part]:
        """Return its mark and words."""
        return [self.mark, (words, "$muted")]


_PUT_AWAY: Final = "failures put away"


def counts_line(context: Context, *, id: str, own: Callable[[int], Sequence[Group]] | None = None) -> GroupLine:
    """Return the line of counts, on a small screen the only line, else the rule above what needs the human. `own`
    returns for a width what a screen counts itself instead.
    """

    def groups(width: int) -> Sequence[Group]:
        is_alone = is_compact(line.app.size)
        if own is None:
            return counts.groups(line.app.size)
        if is_alone or not (found := own(width - 2)):
            return own(width)
        return [Group([("  ", "")], gap=""), replace(found[0], gap=""), *found[1:]]

    line = GroupLine(context, groups, id=id)
    counts = Counts(context, line.lasts)
    return line


class Counts:
    """What that line shows, always in the same order."""

    def __init__(self, context: Context, lasts: Callable[[int], None]) -> None:
        self._context = context
        self._lasts = lasts
        self._agents = AgentEntries(context, lasts)
        self._needs = Needs(context, lasts)

    def groups(self, size: Size) -> list[Group]:
        """`─ ? 2 questions   ✗ 2 failed   ▲ 0 stuck   ◷ 1 late ───── • 0 changed ─`.

        Alone, it is no rule, and shows what agents do as well.
        """
        width = size.width
        if not is_compact(size):
            return self._rule(width)
        entries = self._agents.entries()
        if width < NARROW:
            return self._in_short(entries, width)
        found = self._needs.all()
        counts, changes = list(self._counts(found)), self._changed(found, 0)
        gap = _WIDE_GAP if width >= WIDE else _GAP
        for texts, words in _ways(counts, changes):
            groups = _titled(counts, texts, gap)
            groups += [Group(changes.parts(words), gap=gap)] if changes else []
            if _size(groups) < width:
                break
        if self._context.link.as_of is not None:
            groups.insert(0, self._moment())
        return _first_fitting(
            [*groups, *agent_groups(self._context, [one.with_reason for one in entries], width - _size(groups))], width
        )

    def _rule(self, width: int) -> list[Group]:
        found = self._needs.all()
        counts, changes = list(self._counts(found)), self._changed(found, width)
        ways = [(texts, words, _GAP) for texts, words in _ways(counts, changes)]
        if width >= WIDE:
            ways.insert(0, (*ways[0][:2], _WIDE_GAP))
        for texts, words, gap in ways:
            titles = _titled(counts, texts, gap)
            groups = _in_rule(self._context, width, titles, changes.parts(words) if changes else ())
            if _size(groups) <= width:
                return groups
        return _in_rule(self._context, width, _first_fitting(titles, width - _ENDS))

    def _counts(self, found: Sequence[Need], *, has_slow: bool = True) -> Iterator[Count]:
        of = {kind: [need for need in found if need.kind == kind] for kind in open_needs.ALL}
        yield self._count(len(of[open_needs.ASKS]), "question", "needs_you")
        yield self._failed([need for need in found if need.counted_as == "failed"])
        trouble = [need for need in of[open_needs.AGENTS] if need.counted_as != "failed"]
        if self._context.state.members:
            yield self._stuck(trouble)
        if slow := self._slow_jobs() if has_slow else []:
            yield self._slow(slow)
        if late := of[open_needs.LATE_JOBS] + of[open_needs.LATE]:
            looks, several = look("overdue"), late_number(late)
            yield Count(self._mark(looks, looks.color), f"{several} late", several, self._visit(late))
        for kind, state in ((open_needs.REVIEW, "reviewable"), (open_needs.HELD, "held")):
            for word, number in tally(of[kind]).items():
                yield self._count(number, word, state)

    def _visit(self, found: Sequence[Need]) -> Act:
        return lambda: visit(self._context, found[0])

    def _count(self, number: int, word: str, kind: str) -> Count:
        looks = look(kind)
        mark = self._mark(looks, looks.color if number else "$muted")
        brief = f"{number:,} ask" if word == "question" else None
        return Count(mark, counted(number, word), f"{number:,}", self._act("asks"), brief)

    def _failed(self, found: Sequence[Need]) -> Count:
        """Return how many tasks, jobs and agents failed, or that those that did are put away: lists count them all the
        same.
        """
        shown, state = self._count(sum(need.count for need in found), "failed", "failed"), self._context.state
        if found:
            return replace(shown, text=f"{shown.text}{self._elsewhere(found)}", act=self._visit(found))
        return replace(shown, text=_PUT_AWAY) if state.failed or state.failing_jobs else shown

    def _elsewhere(self, found: Sequence[Need]) -> str:
        """Return ` in web` where only tasks of another list failed, which has a short name."""
        lists = {need.row.list_id if need.kind == open_needs.FAILED and need.row is not None else 0 for need in found}
        home = self._context.state.lists.get(lists.pop()) if len(lists) == 1 else None
        if home is None or home.id == self._context.state.list_id or cell_len(home.name) > _SHORT_NAME:
            return ""
        return f" in {safe_line(home.name, _SHORT_NAME)}"

    def _stuck(self, found: Sequence[Need]) -> Count:
        """Return how many agents are stuck, gone or quiet."""
        numbers, looks = tally(found), look("stuck")
        mark = self._mark(looks, looks.color if numbers else "$muted")
        return Count(mark, trouble_text(numbers), f"{sum(numbers.values()):,}", self._act("agents"))

    def _slow(self, jobs: Sequence[RunningJob]) -> Count:
        """Return which job is slow: `S1 slow`, `2 slow`."""
        mark = self._mark(look("running"), look("overdue").color)
        text = f"S{jobs[0].number} slow" if len(jobs) == 1 else f"{len(jobs):,} slow"
        short = text if len(jobs) == 1 else f"{len(jobs):,}"
        return Count(mark, text, short, lambda: self._show_job(jobs[0].name), "")

    def _slow_jobs(self) -> list[RunningJob]:
        """Return the jobs that have run for much longer than they usually do."""
        now, jobs = self._context.clock.now(), self._context.state.running_jobs
        if soon := [job.slow_from - now for job in jobs if job.slow_from > now]:
            self._lasts(min(soon))
        return [job for job in jobs if job.slow_from <= now]

    def _show_job(self, name: str) -> None:
        self._context.navigation.close_overlays()
        self._context.navigation.show_job(name)

    def _changed(self, found: Sequence[Need], width: int) -> Changes | None:
        """Return `• since 19:58: failed #3 · started #5`, `• ✗#3 ◐#5`, down to `• 4`: what agents have done that the
        human has not seen; on a screen of `width` 0 only how many. None in the past.
        """
        state, mark = self._context.state, sign("changed", ascii_only=self._context.ascii_only)
        if self._context.link.as_of is not None:
            return None
        if not state.seen.has_changes and not any(is_new(state, need) for need in found):
            return Changes((f"{mark} ", "$muted"), ("0 changed", "0 changed", "0"))
        # Imported here, as nothing may have changed when a screen begins.
        from tui_tasks.tui.widgets import changes_text

        since = self._looked_at()
        text = changes_text.changed_words(self._context, found)
        numbers = (f"{text} since {since}", text, text.partition(" ")[0])
        news = changes_text.what_changed(self._context, found) if width else ()
        ways = changes_text.news_ways(news, since, is_wide=width >= WIDE, ascii_only=self._context.ascii_only)
        return Changes((f"{mark} ", NEW), numbers, *ways)

    def changed_parts(self, width: int) -> list[Part]:
        """Return what agents have done that the human has not seen, without since when, in as many words as fit in so
        many cells.
        """
        changes = self._changed(self._needs.all(), width)
        if changes is None:
            return []
        named = (words for words in changes.words if not words.startswith("since "))
        ways = (*named, *changes.marks, *changes.fewer_marks, *changes.numbers[1:])
        room = width - cell_len(changes.mark[0])
        return changes.parts(next((words for words in ways if cell_len(words) <= room), changes.numbers[-1]))

    def slow_parts(self) -> list[Part]:
        """Return which job is slow: `◐ S1 slow`; nothing where none is."""
        jobs = self._slow_jobs()
        slow = self._slow(jobs) if jobs else None
        return slow.parts(slow.text) if slow is not None else []

    def _looked_at(self) -> str:
        """Return since when changes are new."""
        # At midnight, "since 19:58" needs its day.
        self._lasts(DAY)
        return self._context.clock.time_of(self._context.state.seen.since)

    def _mark(self, looks: Look, color: str) -> Part:
        return f"{looks.mark(ascii_only=self._context.ascii_only)} ", color

    def _act(self, action: str) -> Act:
        return lambda: self._context.do(action)

    # With room for marks and numbers

    def _in_short(self, entries: Sequence[AgentEntry], width: int) -> list[Group]:
        """Return ` ◐ claude-1 #5  ? 2  ✗ 2  ◷ S3 late 25m`: the first agents, the counts, what is late or next."""
        groups: list[Group] = []
        found = self._needs.all()
        for step in _SHORT_STEPS:
            groups = [
                *self._short_agents(entries, step),
                *self._short_counts(found, has_agents=False),
                *self._short_job(found, step),
            ]
            groups = [replace(group, gap=_GAP) for group in groups]
            if _size(groups) - len(_GAP) + 1 <= width:
                return groups
        return _first_fitting(groups, width)

    def beside_title(self, room: int) -> list[Part]:
        """Return `? 2  ✗ 2  ◷ S3 late 25m`, as many as fit in so many cells: a small screen has no line for them."""
        found = self._needs.all()
        groups = [*self._short_counts(found, has_agents=True), *self._short_job(found, _ShortStep(0))]
        shown = _first_fitting([replace(group, gap="  ") for group in groups], room)
        return [part for group in shown for part in (*group.parts, ("  ", ""))]

    def _moment(self) -> Group:
        """Return the moment of the past: the line of the panes, which also shows it, is hidden."""
        assert self._context.link.as_of is not None
        return Group([(as_of_words(self._context, self._context.link.as_of, 0), "$state-overdue")])

    def _short_agents(self, entries: Sequence[AgentEntry], step: _ShortStep) -> Iterator[Group]:
        """Yield the agent in trouble and the one at work, else the one that waits, and of several how many they are."""
        if self._context.link.as_of is not None:
            yield self._moment()
        failed = [one for one in entries if one.state == "failed"]
        trouble = [one for one in entries if one.is_trouble and one not in failed] or failed
        work = [one for one in entries if one.state == "working"] or [one for one in entries if one.is_at_work]
        waiting = [] if trouble or work else [one for one in entries if one.state in ("waiting", "ready")]
        for others in filter(None, (trouble, work, waiting)):
            entry = others[0]
            who = safe_ends(entry.who, _SHORT_WHO) if step.has_who or entry.is_trouble or not entry.number else ""
            words = (who, _word(entry) * step.has_who if entry.is_trouble else entry.number)
            many = count(len(others), "agent") if step.has_who else f"{len(others):,}"
            text = " ".join(filter(None, words)) if len(others) == 1 else many
            if (others is waiting or others is failed) and len(others) > 1:
                continue  # their questions or failures are counted
            yield Group([(f"{entry.mark} ", entry.color), (text, "")], entry.act)
        if not work and not trouble and not waiting:
            yield Group([("idle", "$muted")])

    def _short_counts(self, found: Sequence[Need], *, has_agents: bool) -> Iterator[Group]:
        """Yield what the rule counts, but jobs that are slow, and what is late, which has words of its own, as agents
        in trouble have beside panes; all that has failed is counted.
        """
        own = (open_needs.LATE, open_needs.LATE_JOBS, *(() if has_agents else (open_needs.AGENTS,)))
        counts = [need for need in found if need.kind not in own or need.counted_as == "failed"]
        for one in self._counts(counts, has_slow=False):
            if one.short[0] in "123456789":
                yield Group([one.mark, (one.short, "")], one.act)

    def _short_job(self, found: Sequence[Need], step: _ShortStep) -> Iterator[Group]:
        """Yield `◷ S3 Restore test late 25m`, else the next job and when it runs."""
        context, now = self._context, self._context.clock.now()
        late = [need for need in found if need.kind in (open_needs.LATE, open_needs.LATE_JOBS)]
        if not late:
            yield from self._short_next(step.name, self._act("pane_schedule"))
            return
        first, looks = late[0], look("overdue")
        if first.kind == open_needs.LATE:
            number, name, how = self._late_task(first, now)
        else:
            job = first.row
            self._lasts(age_lasts(job.when, now))
            number, name, how = f"S{job.number}", job.name, due(job.when, now)
        others = len(late) - 1
        more = f"+{others}{'+' * late_number(late).endswith('+')}" if others else ""
        shown = safe_words(one_line(name), step.name, ascii_only=context.ascii_only)
        words = (number, shown, how if step.has_since else "late", more)
        yield Group([self._mark(looks, looks.color), (" ".join(filter(None, words)), "")], self._visit(late))

    def _short_next(self, cells: int, act: Act) -> Iterator[Group]:
        """Yield the next job, with up to so many cells of its name, and in how long it runs."""
        context, now = self._context, self._context.clock.now()
        for job in context.state.next_jobs[:1]:
            self._lasts(age_lasts(job.when, now))
            words = (
                safe_words(one_line(job.name), cells, ascii_only=context.ascii_only),
                due(job.when, now).removeprefix("in "),
            )
            mark = sign("scheduled", ascii_only=context.ascii_only)
            yield Group([(f"{mark} ", "$muted"), (" ".join(filter(None, words)), "")], act)

    def _late_task(self, need: Need, now: int) -> tuple[str, str, str]:
        """Return a late task's number and name, and `late 20h`."""
        task, field = list_pages.line(self._context.db, need.task or ""), task_fields.FIELDS["due"]
        how = field.short(need.row, task_fields.local_time(now, self._context.clock.zone))
        return (f"#{task.number}", task.name, how) if task is not None else ("", "", how)


def _word(entry: AgentEntry) -> str:
    return "stuck" if entry.state == "stopped" else entry.state


def _ways(counts: Sequence[Count], changes: Changes | None) -> Iterator[tuple[list[str], str]]:
    """Yield the words of the counts, empty for one that is left out, and those of the changes, the longest first.

    These give way in this order: the names of what has changed, as far as it does not need the human, and the word of
    the questions; jobs that are slow; the other names; the words of the counts, the last count's first; the word for
    what has changed.
    """
    changes = changes or Changes(("", ""), ("", "", ""))
    texts = [count.text for count in counts]
    briefs = [count.brief or count.text for count in counts]
    least = [count.text if count.brief is None else count.brief for count in counts]
    yield from ((texts, words) for words in changes.words or changes.numbers[:2])
    yield from ((each, words) for words in changes.marks for each in (texts, briefs))
    yield from ((least, words) for words in (*changes.marks[-1:], *changes.fewer_marks))
    shorts = [text and count.short for text, count in zip(least, counts, strict=True)]
    for at in range(len(counts), -1, -1):
        yield [*least[:at], *shorts[at:]], changes.numbers[1]
    yield shorts, changes.numbers[2]


def _titled(counts: Sequence[Count], texts: Sequence[str], gap: str) -> list[Group]:
    return [Group(count.parts(text), count.act, gap) for count, text in zip(counts, texts, strict=True) if text]


def _in_rule(context: Context, width: int, titles: Sequence[Group], end: Sequence[Part] = ()) -> list[Group]:
    """Return `─ ? 2 questions   ✗ 2 failed ──── • 3 changed ─`: groups as the title of a rule, and parts at its end;
    blanks where a rule would be a stump.
    """
    shown = [replace(group, gap=group.gap if at else "") for at, group in enumerate(titles)]
    room = width - 2 - _size(shown) - 1 - (1 + _cells(end) + 2 if end else 0)
    dash = sign("rule", ascii_only=context.ascii_only) if room >= _LEAST_RULE else " "
    return [
        Group([(f"{dash} ", "$rule")], gap=""),
        *shown,
        Group([(dash * max(1, room), "$rule")], gap=" "),
        *([Group([*end, (f" {dash}", "$rule")], gap=" ")] if end else []),
    ]


def _size(groups: Sequence[Group]) -> int:
    """Return the width in cells, with the gaps."""
    return sum(group.size + len(group.gap) for group in groups)


def _cells(parts: Sequence[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)


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
