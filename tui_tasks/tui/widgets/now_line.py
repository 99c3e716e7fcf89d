"""The line above every pane: how the agents are, what each does, what needs the human, and what has failed.

Where a pane leaves rows free, `needs_lines` shows what needs the human in lines of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from textual import events

from tui_tasks.text.glyphs import Look, look, sign
from tui_tasks.text.safe import cell_len, safe_ends
from tui_tasks.text.times import age, age_lasts, count, due
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.widgets.frame import NARROW, WIDE, as_of_words, is_compact
from tui_tasks.tui.widgets.now_entries import Health, NowEntries
from tui_tasks.tui.widgets.now_entry import (
    ASKS,
    COUNTS,
    FAILED,
    JOBS,
    LATE,
    LEAST_NARROW,
    OTHERS,
    TROUBLE,
    WORK,
    Entry,
)

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# In cells: the least of a text that is worth showing on a wide screen.
_LEAST_WIDE: Final = 12
_NONE_STUCK: Final = ", 0 stuck"

NEEDS_YOU: Final = (ASKS, COUNTS, FAILED, JOBS, LATE)
"""The kinds that need the human, and what has failed or is late."""
AGENTS: Final = (TROUBLE, WORK, OTHERS)
"""The kinds of agents."""

Act = Callable[[], None]


class NowLine(FrameLine):
    """How the agents are and what each does; what needs the human, and what has failed.

    It is cut to the width; a click on a part goes to what it names.
    """

    def __init__(
        self, context: Context, kinds: Collection[int], *, id: str, is_elsewhere: Callable[[], bool] = lambda: False
    ) -> None:
        """Create a line of these kinds of entries. Where there is one line only, it shows all.

        `is_elsewhere` returns whether other lines show now what needs the human.
        """
        super().__init__(context, self._drawn, id=id)
        self._kinds = kinds
        self._is_elsewhere = is_elsewhere
        self._entries = NowEntries(context, self.lasts)
        self._acts: Sequence[Act | None] = []

    def _drawn(self, width: int) -> Sequence[Part]:
        return self._in_short(width) if width < NARROW else self._in_words(width)

    # With room for words

    def _in_words(self, width: int) -> list[Part]:
        """`? 2 ask   ? claude-1 #5 Ship auth flow "tests 14/22"   ? claude-2 waiting #7   ○ watcher idle`."""
        is_alone, is_elsewhere, line = is_compact(self.app.size), self._is_elsewhere(), Line()
        agents, health = self._entries.of_agents()
        kinds = (*NEEDS_YOU, *AGENTS) if is_alone else self._kinds
        needs = [] if is_elsewhere else [entry for entry in self._entries.of_needs() if entry.kind in kinds]
        # A question names its agent.
        asking = {ask.agent for ask in self.context.state.asks} if ASKS in kinds and not is_elsewhere else set()
        here = [one for one in agents if one.kind in kinds and not (one.kind == OTHERS and one.who in asking)]
        has_said = False
        if WORK in kinds:
            has_sums = is_elsewhere or (ASKS in kinds and not needs)
            has_said = self._add_health(line, health, has_sums=has_sums, has_needs=bool(needs))
        entries = sorted((*here, *needs), key=_kind)
        sums = len(line.parts)
        add_entries(line, entries, width, ascii_only=self.context.ascii_only)
        if health.total and has_said and not health.troubles and line.size + len(_NONE_STUCK) < width:
            line.insert(sums, (_NONE_STUCK, "$muted"))
        if ASKS in kinds and not is_elsewhere and not any(entry.kind in (ASKS, COUNTS) for entry in entries):
            is_bad = bool(health.troubles) or any(entry.kind in (FAILED, JOBS, LATE) for entry in entries)
            words = "no questions" if is_bad else "nothing needs you"
            if line.size + cell_len(words) + 3 < width:
                line.add([(words, "$muted")], None, gap_in(width))
        self._acts = line.acts
        return line.parts

    def _add_health(self, line: Line, health: Health, *, has_sums: bool, has_needs: bool) -> bool:
        """Add that all is well; else what is not, and return True. `has_needs`: the line shows that by itself."""
        is_past, act = self.context.link.as_of is not None, self._entries.act("agents")
        sums, agents = self._entries.sums(health.failed), count(health.total, "agent")
        if is_past and health.total:
            return False  # who was connected then is not known
        if not health.total:
            line.add([("no agent at work" if is_past else "no agent connected", "$muted")], act, "")
        elif not health.troubles and not sums:
            line.add([*self._mark(look("done")), (f"{agents}, all well", "$muted")], act, "")
        said = [*((words, look("overdue")) for words in health.troubles), *(sums if has_sums else [])]
        if said:
            parts = [part for words, looks in said for part in ((", ", "$muted"), (words, looks.color))]
            of_all = [(f" of {agents}", "$muted")] if not (has_sums and sums) else []
            line.add([*self._mark(said[0][1]), *parts[1:], *of_all], act, "   ")
        elif health.total and sums and not has_needs:
            line.add([(agents, "$muted")], act, "")
        return bool(said)

    def _mark(self, looks: Look) -> list[Part]:
        return [(f"{looks.mark(ascii_only=self.context.ascii_only)} ", looks.color)]

    # With room for marks and numbers

    def _in_short(self, width: int) -> list[Part]:
        """`◐ #5 40s   ? 2   ✗ 1   ◷ 12h`, of which the last that do not fit are left out."""
        context = self.context
        groups = list(self._short_groups())
        if context.link.as_of is not None and is_compact(self.app.size):
            # The line of the panes, which also shows it, is hidden.
            groups.insert(0, ([(as_of_words(context, context.link.as_of, 0), "$state-overdue")], None))
        line = Line()
        for parts, act in groups:
            if line.size + 3 + sum(cell_len(text) for text, _ in parts) <= width:
                line.add(parts, act, "   ")
        self._acts = line.acts
        return line.parts

    def _short_groups(self) -> Iterator[tuple[list[Part], Callable[[], None] | None]]:
        state, now = self.context.state, self.context.clock.now()
        entries, _ = self._entries.of_agents()
        trouble = [entry for entry in entries if entry.kind == TROUBLE]
        if trouble:
            more = f" +{len(trouble) - 1}" if len(trouble) > 1 else ""
            yield [(f"{trouble[0].mark} {safe_ends(trouble[0].name, 8)}{more}", trouble[0].color)], trouble[0].act
        work = [entry for entry in entries if entry.kind == WORK]
        if work:
            yield self._short_work(work)
        if not work and not trouble:
            yield [("idle", "$muted")], None
        if state.need_you:
            needs = look("needs_you")
            yield (
                [(f"{needs.mark(ascii_only=self.context.ascii_only)} {state.need_you}", needs.color)],
                self._entries.act("asks"),
            )
        if ready := len(state.reviewable):
            shown = look("reviewable")
            yield (
                [(f"{shown.mark(ascii_only=self.context.ascii_only)} {ready}", shown.color)],
                self._entries.act("asks"),
            )
        if state.held:
            held = look("held")
            yield (
                [(f"{held.mark(ascii_only=self.context.ascii_only)} {state.held}", held.color)],
                self._entries.act("asks"),
            )
        if total := state.failed + len(state.failing):
            failed = look("failed")
            act = self._entries.act("attention" if state.failed else "pane_schedule")
            yield [(f"{failed.mark(ascii_only=self.context.ascii_only)} {total:,}", failed.color)], act
        if state.next_jobs:
            when = state.next_jobs[0][1]
            self.lasts(age_lasts(when, now))
            mark, color = sign("scheduled", ascii_only=self.context.ascii_only), ""
            if when < now:
                mark, color = look("overdue").mark(ascii_only=self.context.ascii_only), "$state-overdue"
            words = due(when, now).removeprefix("in ").removeprefix("overdue ")
            yield [(f"{mark} {words}", color)], self._entries.act("pane_schedule")

    def _short_work(self, work: Sequence[Entry]) -> tuple[list[Part], Act | None]:
        """Return `◐ #5 40s +1`: the first agent at work, and how many others there are."""
        entry, now = work[0], self.context.clock.now()
        member = next(one for one in self.context.state.members if one.name == entry.who)
        self.lasts(age_lasts(member.last_seen, now))
        what = f"#{member.task.number}" if member.task is not None else safe_ends(entry.name, 8)
        more = f" +{len(work) - 1}" if len(work) > 1 else ""
        mark, ink = entry.mark, entry.color
        if entry.color == look("needs_you").color:
            # It works and asks. `? 2` counts its question, so this names its work.
            shown = look("in_progress")
            mark, ink = shown.mark(ascii_only=self.context.ascii_only), shown.color
        return [(f"{mark} ", ink), (f"{what} {age(member.last_seen, now)}{more}", "")], entry.act

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        at = self.part_number(event.x)
        act = self._acts[at] if at is not None and at < len(self._acts) else None
        if act is not None:
            act()


class Line:
    """A line that is put together from groups of parts, each with what a click on it does."""

    def __init__(self) -> None:
        self.parts: list[Part] = [(" ", "")]
        self.acts: list[Callable[[], None] | None] = [None]

    def add(self, parts: Sequence[Part], act: Callable[[], None] | None, gap: str) -> None:
        """Add parts with what a click on them does, after a gap."""
        if len(self.parts) > 1:
            self.parts.append((gap, ""))
            self.acts.append(None)
        self.parts += parts
        self.acts += [act] * len(parts)

    def insert(self, at: int, part: Part) -> None:
        """Add a part to the group that ends before an index; a click on it does the same."""
        self.parts.insert(at, part)
        self.acts.insert(at, self.acts[at - 1])

    @property
    def size(self) -> int:
        """The width in cells."""
        return sum(cell_len(text) for text, _ in self.parts)


def gap_in(width: int) -> str:
    """Return what stands between entries in a line of a width."""
    return "   " if width >= WIDE else "  "


def add_entries(line: Line, entries: Sequence[Entry], width: int, *, ascii_only: bool) -> None:
    """Add entries to a line as far as there is room in the width, and how many others there are of each kind."""
    gap, least = gap_in(width), _LEAST_WIDE if width >= WIDE else LEAST_NARROW
    # One cell at each side stays empty, as in all lines.
    room = width - 1 - line.size - (len(gap) if line.size > 1 else 0)
    kinds = [_OfKind(tuple(these)) for _, these in groupby(entries, _kind)]
    shown = _chosen(kinds, room, len(gap), least)
    few = [entry for kind, number in zip(kinds, shown, strict=True) for entry in kind.entries[:number]]
    widths = iter(_shared(few, room - _needed(kinds, shown, len(gap), least), least))
    for kind, number in zip(kinds, shown, strict=True):
        for entry in kind.entries[:number]:
            line.add(entry.parts(next(widths), ascii_only=ascii_only), entry.act, gap)
        if not number:
            line.add([(kind.counted, kind.entries[0].color or "$muted")], kind.entries[0].act, gap)
        elif left := kind.left(number):
            line.add([(f"+{left}", kind.entries[0].color)], kind.entries[number].act, " ")


class _OfKind:
    """The entries of one kind, and how many things they stand for."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self.counted = _counted(entries)
        self._number = _number(entries)

    def left(self, shown: int) -> int:
        """Return how many things are left beside the first entries."""
        return self._number - _number(self.entries[:shown])

    def least(self, shown: int, gap: int, least: int) -> int:
        """Return the least width in cells of the first entries, and of the number of the others."""
        if not shown:
            return cell_len(self.counted) + gap
        left = self.left(shown)
        return sum(entry.least(least) + gap for entry in self.entries[:shown]) + (2 + len(str(left)) if left else 0)


def _chosen(kinds: Sequence[_OfKind], room: int, gap: int, least: int) -> list[int]:
    """Return how many entries of each kind there is room for: one of each first, then the most urgent, last other
    agents.
    """
    shown = [0] * len(kinds)
    order = sorted(range(len(kinds)), key=lambda at: kinds[at].entries[0].kind == OTHERS)
    for most in (1, room):
        for at in order:
            while shown[at] < min(most, len(kinds[at].entries)):
                shown[at] += 1
                if _needed(kinds, shown, gap, least) > room:
                    shown[at] -= 1
                    break
    return shown


def _needed(kinds: Sequence[_OfKind], shown: Sequence[int], gap: int, least: int) -> int:
    """Return the least width in cells of some entries of each kind, and of the number of all others."""
    return sum(kind.least(number, gap, least) for kind, number in zip(kinds, shown, strict=True)) - gap


def _kind(entry: Entry) -> int:
    return entry.kind


def _number(entries: Iterable[Entry]) -> int:
    return sum(entry.number for entry in entries)


def _counted(entries: Sequence[Entry]) -> str:
    """Return how many things the entries of a kind stand for: `? 2`, `✗ 1 job`, `1 waiting, 2 idle`."""
    if entries[0].kind == OTHERS:
        nouns = [entry.noun for entry in entries]
        return ", ".join(f"{nouns.count(noun)} {noun}" for noun in dict.fromkeys(nouns))
    mark = f"{entries[0].mark} " if entries[0].mark else ""
    return f"{mark}{entries[0].noun or _number(entries)}"


def _shared(entries: Sequence[Entry], room: int, least: int) -> list[int]:
    """Return the width of each entry: what it needs at least, and an equal share of `room` up to what it can use.

    Trouble is shown whole first. Reasons of failures, which rows show as well, get what the others leave; then agents
    that do nothing now, if all that there is to say of one fits.
    """
    widths = [entry.least(least) for entry in entries]
    for kinds in _SHARING:
        these = [at for at in range(len(entries)) if entries[at].kind in kinds]
        while room > 0 and (short := [at for at in these if widths[at] < entries[at].most]):
            for at in short:
                more = min(max(1, room // len(short)), entries[at].most - widths[at], room)
                widths[at] += more
                room -= more
    for at, entry in enumerate(entries):
        if entry.kind == OTHERS and entry.most - widths[at] <= room:
            room -= entry.most - widths[at]
            widths[at] = entry.most
    return widths


# The kinds that get room after each other.
_SHARING: Final = ((TROUBLE,), (ASKS, COUNTS, WORK), (FAILED, JOBS, LATE))
