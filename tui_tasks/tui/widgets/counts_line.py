"""How much needs the human, has failed, is stuck, late or changed: the line of counts above every pane and screen.

On a small screen it is the only line, and shows what agents do as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.unseen_changes import MAX_NEW, WORDS
from tui_tasks.core.schema import task_fields
from tui_tasks.text import times
from tui_tasks.text.glyphs import Look, look, sign
from tui_tasks.text.safe import safe_ends, safe_words
from tui_tasks.text.times import DAY, age, age_lasts, due
from tui_tasks.tui.layout import NARROW, is_compact
from tui_tasks.tui.widgets import open_needs
from tui_tasks.tui.widgets.agent_line import TROUBLE, AgentEntries, AgentEntry, agent_groups, one_line
from tui_tasks.tui.widgets.foot_line import Act, Group, GroupLine, as_of_words
from tui_tasks.tui.widgets.open_needs import Need, Needs, counted, is_new, late_number, tally, visit

if TYPE_CHECKING:
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
        is_calm = words in (_NOTHING, _PUT_AWAY, "0") or words.startswith("0 ")
        return [self.mark, (words, "$muted" if is_calm else "")]


_NOTHING: Final = "nothing needs you"
_PUT_AWAY: Final = "failures put away"
# The most ways in which it is said what has changed: a task can change in each of these words.
_MOST_WAYS: Final = len(WORDS) + 3
# What has happened to a task that its row of what needs the human says already; everything else is said beside it.
_SAID: Final[Mapping[int, Collection[str]]] = {
    open_needs.ASKS: ("commented", "edited"),
    open_needs.CHECKS: ("commented", "edited", "done"),
    open_needs.HELD: ("new",),
    open_needs.REVIEW: ("commented", "edited", "done"),
    open_needs.AGENTS: ("commented", "edited", "started", "reopened"),
    open_needs.FAILED: ("failed",),
}
_WAITING: Final = (open_needs.ASKS, open_needs.CHECKS, open_needs.HELD, open_needs.REVIEW, open_needs.AGENTS)


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
        self._needs = Needs(context, line.lasts)

    def groups(self, width: int, *, is_alone: bool) -> list[Group]:
        """`? 2 questions   ✗ 2 failed   ! 0 stuck   ◷ 1 late   • #5 started`; alone, what agents do as well."""
        entries = self._agents.entries()
        if is_alone and width < NARROW:
            return self._in_short(entries, width)
        groups = _fitting(list(self._counts(is_alone=is_alone)), width)
        if is_alone:
            if self._context.link.as_of is not None:
                groups.insert(0, self._moment())
            used = sum(group.size + len(group.gap) for group in groups)
            groups += agent_groups(self._context, [entry.with_reason for entry in entries], width - used)
        return _first_fitting(groups, width)

    def _counts(self, *, is_alone: bool) -> Iterator[Count]:
        every, is_known = self._needs.every(), self._context.link.as_of is None
        found = [need for need in every if not self._needs.is_hidden(need)]
        of = {kind: [need for need in found if need.kind == kind] for kind in open_needs.ALL}
        if any(of[kind] for kind in _WAITING):
            yield self._questions(len(of[open_needs.ASKS]))
        else:
            yield Count(("", ""), (_NOTHING,), _NOTHING, self._act("asks"))
        failed = [need for need in found if need.word == "failed"]
        shown = self._count(sum(need.count for need in failed), "failed", "failed", "asks")
        if failed:
            whole = _failed(failed)
            shown = shown._replace(forms=(whole, whole, *shown.forms), act=self._visit(failed))
        elif self._context.state.failed or self._context.state.failing or any(need.word == "failed" for need in every):
            # Lists count them all the same.
            shown = shown._replace(forms=(_PUT_AWAY,))
        yield shown
        if self._context.state.members:
            yield self._stuck(of[open_needs.AGENTS])
        if late := of[open_needs.LATE_JOBS] + of[open_needs.LATE]:
            looks, several = look("overdue"), late_number(late)
            yield Count(self._mark(looks, looks.color), (f"{several} late",), several, self._visit(late))
        for kind, state in ((open_needs.REVIEW, "reviewable"), (open_needs.HELD, "held")):
            for word, number in tally(of[kind]).items():
                yield self._count(number, word, state, "asks")
        if checks := len(of[open_needs.CHECKS]):
            words = f"check{'s' * (checks != 1)}"
            count = self._count(checks, f"{words} failed", "needs_you", "asks")
            yield count._replace(briefs=(f"{count.short} {words}",))
        if is_known:
            yield self._changed(every, is_alone=is_alone)

    def _visit(self, found: Sequence[Need]) -> Act:
        return lambda: visit(self._context, found[0])

    def _count(self, number: int, words: str, kind: str, action: str) -> Count:
        looks = look(kind)
        mark = self._mark(looks, looks.color if number else "$muted")
        return Count(mark, (counted(number, words),), f"{number:,}", self._act(action))

    def _questions(self, number: int) -> Count:
        """Return `? 2 questions`, or `? 2 ask` where what else has changed has room thus alone (`_changed`)."""
        shown = self._count(number, "questions", "needs_you", "asks")
        whole, brief = shown.forms[0], f"{number:,} {'questions' if not number else 'asks' if number == 1 else 'ask'}"
        return shown._replace(forms=(whole, whole, brief), briefs=(whole, brief) * _MOST_WAYS + (whole,))

    def _stuck(self, found: Sequence[Need]) -> Count:
        """Return how many agents are stuck, gone or quiet; those that failed are counted as such."""
        numbers = tally(need for need in found if need.word != "failed")
        text = ", ".join(f"{numbers[word]} {word}" for word in TROUBLE if word in numbers) or "0 stuck"
        looks, is_brief = look("stuck"), numbers.keys() <= {"stuck"}
        mark = self._mark(looks, looks.color if numbers else "$muted")
        return Count(mark, (text,), str(numbers.get("stuck", 0)) if is_brief else text, self._act("agents"))

    def _changed(self, every: Sequence[Need], *, is_alone: bool) -> Count:
        """Return `• since 19:58: #5 started, #6 #8 commented`, down to `• 3 changed`.

        It is what agents have done that the human has not seen, without what needs them: the rows of that are marked.
        On a small screen, which has no rows, it is how many tasks have changed.
        """
        state, mark = self._context.state, sign("changed", ascii_only=self._context.ascii_only)
        new = [] if is_alone else [need for need in every if is_new(state, need)]
        if not new and not state.seen.has_changes:
            return Count((f"{mark} ", "$muted"), ("0 changed",), "0")
        # Imported here, as nothing may have changed when a screen begins.
        from tui_tasks.tui.widgets.changes_text import changed_words, what_changed

        # At midnight, "since 19:58" needs its day.
        self._line.lasts(DAY)
        at = self._context.clock.time_of(state.seen.looked.at)
        if is_alone:
            text, long = (changed_words(self._context, is_long=is_long) for is_long in (False, True))
            forms, briefs = [f"{long} since {at}", f"{text} since {at}"], [long, text]
            return Count((f"{mark} ", "$changed"), forms, text.partition(" ")[0], briefs=briefs)
        words = dict(state.seen.named_changes())
        in_rows = {
            need.task for need in new if need.task is not None and words.get(need.task) in _SAID.get(need.kind, ())
        }
        others = state.seen.change_counts(in_rows).total() + len(state.seen.deleted)
        if not others:
            return Count((f"{mark} ", "$muted"), (f"nothing else since {at}", "nothing else"), "0")
        number = f"{others:,}{'+' * (others >= MAX_NEW)}"
        in_all = [f"{number} changed since {at}", f"{number} changed"]
        ways = what_changed(self._context, in_rows)
        # Each way twice: it is tried with fewer words for the questions before it gives way.
        forms = [f"since {at}: {ways[0]}", *[f"new: {ways[0]}"] * 2] if ways else in_all
        return Count(
            (f"{mark} ", "$changed"), forms, number, briefs=[way for way in (*ways, *in_all) for _ in range(2)]
        )

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
            groups = [*self._short_agents(entries, step), *self._short_counts(found), *self._short_job(found, step)]
            for gap in ("   ", "  "):
                if sum(group.size + len(gap) for group in groups) - len(gap) + 1 <= width:
                    return [group._replace(gap=gap) for group in groups]
        return _first_fitting(groups, width)

    def beside_title(self, room: int) -> list[Part]:
        """Return `? 2  ✗ 2  ◷ S3 late 25m`, as many as fit in so many cells: a small screen has no line for them."""
        found = self._needs.all()
        groups = [*self._short_counts(found), *self._short_job(found, _ShortStep(0))]
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

    def _short_counts(self, found: Sequence[Need]) -> Iterator[Group]:
        failed = [need for need in found if need.word == "failed"]
        for number, kind, act in (
            (self._context.state.need_you, "needs_you", self._act("asks")),
            (sum(need.kind == open_needs.REVIEW for need in found), "reviewable", self._act("asks")),
            (sum(need.count for need in found if need.kind == open_needs.HELD), "held", self._act("asks")),
            (sum(need.count for need in failed), "failed", self._visit(failed)),
        ):
            if number:
                looks = look(kind)
                yield Group([self._mark(looks, looks.color), (f"{number:,}", "")], act)

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
            self._line.lasts(age_lasts(job.when, now))
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
            self._line.lasts(age_lasts(job.when, now))
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


def _failed(found: Sequence[Need]) -> str:
    """Return `3 failed, 1 of them an agent`, or `1 agent failed` where nothing else has."""
    number, agents = sum(need.count for need in found), sum(need.kind == open_needs.AGENTS for need in found)
    if not agents:
        return f"{number:,} failed"
    if agents == number:
        return f"{times.count(agents, 'agent')} failed"
    return f"{number:,} failed, {agents:,} of them {'an agent' if agents == 1 else 'agents'}"


def _word(entry: AgentEntry) -> str:
    return "stuck" if entry.state == "stopped" else entry.state


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
