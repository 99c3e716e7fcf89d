"""How much needs the human, has failed, is stuck or late: a number with a word for each; and what has changed that they
have not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from tui_tasks.core.read.pages import list_pages
from tui_tasks.text.glyphs import Look, look, sign
from tui_tasks.text.safe import cell_len, safe_ends, safe_line
from tui_tasks.text.times import DAY, age, age_lasts, duration
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.layout import has_row_of_changes
from tui_tasks.tui.needs import open_needs
from tui_tasks.tui.needs.open_needs import (
    Kind,
    Need,
    Needs,
    came_by_time,
    counted,
    is_new,
    late_number,
    tally,
    trouble_text,
    visit,
)
from tui_tasks.tui.painting.styles import NEW, Act, Group, parts_width

if TYPE_CHECKING:
    from textual.geometry import Size

    from tui_tasks.core.read.job_lines import RunningJob
    from tui_tasks.tui.needs.changes_text import Way
    from tui_tasks.tui.painting.styles import Part
    from tui_tasks.tui.state.context import Context

# In cells: the longest names of a list and of an agent.
_LIST: Final = 16
_WHO: Final = 12
_DISMISSED: Final = "failures dismissed"
NONE_CHANGED: Final = ("0 changed",)
ZERO_CHANGED: Final = ("0",)


class Count(msgspec.Struct, frozen=True):
    """A number of things: the mark of what they are, the number with a word, and in `short` without, if possible.
    `named` names a single thing instead: `S3 late`; empty: the text does. `brief` stands for the text where there is
    little room; empty: nothing does.
    """

    mark: Part
    text: str
    short: str
    act: Act
    brief: str | None = None
    named: str = ""

    def group(self, words: str, gap: str) -> Group:
        """Return its mark and words; only the mark is coloured, and only where there is one of these at least."""
        return Group([self.mark, (words, "$muted")], self.act, gap)


class NeedCounts:
    """The counts, in the order of `vocab.NEEDS`. It calls `lasts` with how many microseconds they stay true."""

    def __init__(self, context: Context, lasts: Callable[[int], None]) -> None:
        self._context = context
        self._lasts = lasts

    def of(self, found: Sequence[Need], *, has_slow: bool = True) -> Iterator[Count]:
        """Yield the counts of what needs the human, and of the jobs that are slow."""
        of = {kind: [need for need in found if need.kind == kind] for kind in open_needs.ALL}
        asks = [need for need in of[Kind.ASKS] if not need.is_later]
        yield self._count(len(asks), "question", "needs_you")
        trouble = [need for need in of[Kind.AGENTS] if need.counted_as != "failed"]
        if self._context.state.members:
            yield self._stuck(trouble)
        yield self._failed([need for need in found if need.counted_as == "failed"])
        if slow := self._slow_jobs() if has_slow else []:
            yield self._slow(slow)
        if late := of[Kind.LATE_JOBS] + of[Kind.LATE]:
            looks, several = look("overdue"), late_number(late)
            named = self._named(late, "late")
            yield Count(self.mark(looks, looks.color), f"{several} late", several, self.visit(late), named=named)
        for kind, state in ((Kind.REVIEW, "reviewable"), (Kind.HELD, "held")):
            for word, number in tally(of[kind]).items():
                named = self._named(of[kind], word) if kind == Kind.REVIEW else ""
                yield replace(self._count(number, word, state), named=named)
        if later := len(of[Kind.ASKS]) - len(asks):
            mark = self.mark(look("needs_you"), "$muted")
            yield Count(mark, f"{later:,} later", f"{later:,}", lambda: self._context.do("asks"))

    def mark(self, looks: Look, color: str) -> Part:
        """Return a mark with a blank."""
        return f"{looks.mark(ascii_only=self._context.ascii_only)} ", color

    def visit(self, found: Sequence[Need]) -> Act:
        """Return what goes to the first of these."""
        return lambda: visit(self._context, found[0])

    def _count(self, number: int, word: str, kind: str) -> Count:
        looks = look(kind)
        mark = self.mark(looks, looks.color if number else "$muted")
        brief = f"{number:,}" if word == "question" else None
        return Count(mark, counted(number, word), f"{number:,}", lambda: self._context.do("asks"), brief)

    def _failed(self, found: Sequence[Need]) -> Count:
        """Return how many tasks, jobs and agents failed, or that those that did are dismissed: lists count them all the
        same.
        """
        shown, state = self._count(sum(need.count for need in found), "failed", "failed"), self._context.state
        if found:
            return replace(shown, text=f"{shown.text}{self._elsewhere(found)}", act=self.visit(found))
        return replace(shown, text=_DISMISSED) if state.failed or state.failing_jobs else shown

    def _elsewhere(self, found: Sequence[Need]) -> str:
        """Return ` in web` where only tasks of another list failed, which has a short name."""
        lists = {need.row.list_id if need.kind == Kind.FAILED and need.row is not None else 0 for need in found}
        home = self._context.state.lists.get(lists.pop()) if len(lists) == 1 else None
        if home is None or home.id == self._context.state.list_id or cell_len(home.name) > _LIST:
            return ""
        return f" in {safe_line(home.name, _LIST)}"

    def _stuck(self, found: Sequence[Need]) -> Count:
        """Return how many agents are stuck, gone or quiet."""
        numbers, looks = tally(found), look("stuck")
        mark = self.mark(looks, looks.color if numbers else "$muted")
        number = f"{sum(numbers.values()):,}"
        named = self._named(found[:1], next(iter(numbers))) if number == "1" else ""
        return Count(mark, trouble_text(numbers), number, lambda: self._context.do("agents"), named=named)

    def _named(self, found: Sequence[Need], word: str) -> str:
        """Return `S3 late`, `#10 to review`, `claude-3 stuck` for a single one; empty for several."""
        if len(found) != 1:
            return ""
        need, ascii_only = found[0], self._context.ascii_only
        if need.kind == Kind.LATE_JOBS:
            return f"S{need.row.number} {word}"
        if need.kind == Kind.AGENTS:
            return f"{safe_ends(agent_text.who(need.agent), _WHO, ascii_only=ascii_only)} {word}"
        task = list_pages.line(self._context.db, need.task) if need.task is not None else None
        return f"#{task.number} {word}" if task is not None else ""

    def _slow(self, jobs: Sequence[RunningJob]) -> Count:
        """Return which job is slow: `S1 slow: 41s, usually 9s`, `S1 slow`, `2 slow`."""
        mark, first = self.mark(look("running"), look("overdue").color), jobs[0]
        text = short = f"S{first.number} slow"
        named, now = "", self._context.clock.now()
        if len(jobs) > 1:
            text, short = f"{len(jobs):,} slow", f"{len(jobs):,}"
        else:
            self._lasts(age_lasts(first.began, now))
            named = f"{text}: {age(first.began, now)}, usually {duration(first.usual, 1)}"
        return Count(mark, text, short, lambda: self._show_job(first.name), "", named)

    def _slow_jobs(self) -> list[RunningJob]:
        """Return the jobs that have run for much longer than they usually do."""
        now, jobs = self._context.clock.now(), self._context.state.running_jobs
        if soon := [job.slow_from - now for job in jobs if job.slow_from > now]:
            self._lasts(min(soon))
        return [job for job in jobs if job.slow_from <= now]

    def _show_job(self, name: str) -> None:
        self._context.navigation.close_overlays()
        self._context.navigation.show_job(name)


class Changes:
    """What agents have done that the human has not seen, in words."""

    def __init__(self, context: Context, lasts: Callable[[int], None] = lambda span: None) -> None:
        self._context = context
        self._lasts = lasts
        self._needs = Needs(context)

    def are_there(self) -> bool:
        """Return whether there is any; in the past nothing is new."""
        state = self._context.state
        if self._context.link.as_of is not None:
            return False
        if state.seen.has_changes:
            return True
        needs, now = self._needs.all(), self._context.clock.now()
        if soon := [job.slow_from - now for job in state.running_jobs if job.slow_from > now]:
            self._lasts(min(soon))
        return any(is_new(state, need) for need in needs) or any(came_by_time(self._context, needs))

    def ways(self) -> list[Way]:
        """Return `failed #3, asked #4 #7, started #5`, then in fewer words, down to `4`; empty for none."""
        if not self.are_there():
            return []
        # Imported here, as nothing may have changed when a screen begins.
        from tui_tasks.tui.needs import changes_text

        return changes_text.change_ways(self._context, self._needs.all())

    def parts(self, words: Way) -> list[Part]:
        """Return these words behind their mark, which is coloured where there is a change."""
        mark = f"{sign('changed', ascii_only=self._context.ascii_only)} "
        if words in (NONE_CHANGED, ZERO_CHANGED):
            return [(mark, "$muted"), (", ".join(words), "$muted")]
        from tui_tasks.tui.needs import changes_text

        return [(mark, NEW), *changes_text.toned(self._context, words)]

    def within(self, room: int) -> list[Part]:
        """Return `• failed #3, asked #4 #7, +3` in so many cells; empty for none."""
        ways = [self.parts(way) for way in self.ways()]
        return next((way for way in ways if parts_width(way) <= room), ways[-1]) if ways else []

    def line(self, width: int, begins: int) -> list[Part]:
        """Return the same in a width as `row` has it, or that nothing has changed; nothing in the past. Where the
        screen says that it begins at the same instant, that is not said again.
        """
        none = [] if self._context.link.as_of is not None else [(" ", ""), *self.parts(NONE_CHANGED)]
        return self._since(width, has_since=begins != self._context.state.seen.since) or none

    def row(self, size: Size) -> list[Part]:
        """Return `• unseen since 19:58: failed #3, asked #4 #7`, on a screen that has a row for it."""
        return self._since(size.width) if has_row_of_changes(size) else []

    def _since(self, width: int, *, has_since: bool = True) -> list[Part]:
        if not (ways := [self.parts(way) for way in self.ways()]):
            return []
        # At midnight, "since 19:58" needs its day.
        self._lasts(DAY)
        since = f"unseen since {self._context.clock.time_of(self._context.state.seen.since)}: "
        # The time gives way before a word of a change does.
        fitting = (
            (begins, way)
            for way in ways
            for begins in ((since, "unseen: ") if has_since else ("",))
            if len(begins) + parts_width(way) + 2 <= width
        )
        begins, (mark, *text) = next(fitting, (since if has_since else "", ways[-1]))
        return [(" ", ""), mark, (begins, "$muted"), *text]
