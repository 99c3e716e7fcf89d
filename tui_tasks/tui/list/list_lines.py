"""The lines around the list: the rule above it with its name and how far it is, and the foot of a small screen; and how
wide the detail beside it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual.geometry import Size

from tui_tasks.core.read import work_queries
from tui_tasks.core.snapshots import TaskList
from tui_tasks.text.glyphs import BAR, LOOKS, shares, sign
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui import layout
from tui_tasks.tui.needs.agent_entries import one_line
from tui_tasks.tui.needs.need_counts import Changes
from tui_tasks.tui.needs.open_needs import Kind, Needs
from tui_tasks.tui.painting.line_painter import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part, parts_width
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.projects import is_dialects_own
from tui_tasks.tui.state.task_cache import FAILED_OTHERWISE
from tui_tasks.tui.tasks.filter_actions import ID_CHARS, sorted_by
from tui_tasks.tui.widgets.screen_head import end_of_rows

# In cells: the bar of what is done, and the least of it that is shown.
_BAR = 20
_LEAST_BAR = 6
# The fewest tasks that have a bar: it has a cell for each of four states.
_FEWEST = 4
# In cells: what stands around the words at both ends of a rule, with a little of the rule between them.
_AROUND = 8
# Other lists are counted up to this number.
_MAX_OTHERS = 99
# Columns of the terminal from which the detail stands beside the list; in cells, its least width, and the width with
# which the list shows all columns.
_BESIDE = 180
_LEAST_SIDE = 36
_LIST = 144
# The detail's greatest share of the width.
_SIDE = 5 / 12


def side_width(shown: TaskList | None, size: Size) -> int:
    """Return the width of the detail in cells; 0 when it is not beside the list, which gets what it needs first."""
    if size.width < _BESIDE or layout.is_compact(size) or shown is None or not shown.total:
        return 0
    return max(_LEAST_SIDE, min(size.width - _LIST, round(size.width * _SIDE)))


class ListLines:
    """The lines around the list: a rule with its name and how far it is, and on a small screen a foot."""

    def __init__(
        self, context: Context, size: Callable[[], Size], sort: Callable[[], str], marked: Callable[[], int]
    ) -> None:
        """`size` returns the terminal's, `sort` the order of the rows, and `marked` how many are marked."""
        self._context = context
        self._marked = marked
        self._sort = sort
        self._size = size
        self.rule = FrameLine(context, self._rule, id="list-rule")
        self.foot = FrameLine(context, self._number, self._changed, id="list-foot")

    def redraw(self) -> None:
        """Draw all again; only what differs is painted."""
        self.rule.redraw()
        self.foot.redraw()

    def _sign(self, name: str) -> str:
        return sign(name, ascii_only=self._context.ascii_only)

    def _rule(self, width: int) -> Sequence[Part]:
        """`─ Plan   9 tasks ──── 2/9 done ━━━─── ─`, with a tee where the divider to the detail meets it."""
        context, home = self._context, self._context.state.current_list
        if home is not None and layout.is_compact(self._size()):
            return rule_parts(context, width, [(one_line(home.name, width - _AROUND), "bold")])
        if home is None or (not home.total and is_dialects_own(home)):
            return end_of_rows(context, width)
        if not home.total:
            return rule_parts(context, width, [(one_line(home.name, width - _AROUND), "bold")])
        side = side_width(home, self._size())
        room = width - side
        name = self._name(home, room - 4)
        left = room - _AROUND - parts_width(name)
        above = rule_parts(context, room, name, self._progress(home, left))
        return [*above, (self._sign("tee") + self._sign("rule") * (side - 1), "$rule")] if side else above

    def _name(self, home: TaskList, width: int) -> Sequence[Part]:
        """`Plan  9 tasks  2 other lists: [ or ]`: the other lists and the keys to them, if they fit."""
        context = self._context
        name = one_line(home.name, max(8, width - 44))
        # Anybody can give a plan the name of another list.
        is_alike = home.kind == "plan" and any(
            other.name == home.name and other.id != home.id for other in context.state.active_lists
        )
        plan = f"   plan {home.uid[:ID_CHARS]}" if is_alike else ""
        archived = "   archived" if home.archived else ""
        sorted_ = f"   {word}" if (word := sorted_by(self._sort())) else ""
        parts = [(name, "bold"), (f"{plan}   {count(home.total, 'task')}{archived}{sorted_}", "$muted")]
        if marked := self._marked():
            parts.append((f"   {marked:,} marked", "$changed"))
        auto = context.state.autos.get(home.uid)
        if auto is not None and (text := work_queries.auto_text(auto)):
            if not auto.is_on:
                # Why it has stopped matters more than all that could stand beside it.
                room = width - sum(cell_len(part) for part, _ in parts) - 3
                return [*parts, (f"   {safe_line(text, max(12, room))}", "$state-overdue")]
            parts.append((f"   {safe_line(text, max(12, width - cell_len(name) - 44))}", "$muted"))
        others = context.state.others(context.state.list_id, _MAX_OTHERS + 1)
        if others and width >= cell_len(name) + 60:
            number = f"{_MAX_OTHERS}+ other lists" if others > _MAX_OTHERS else count(others, "other list")
            before, after = context.keymap.key_of("previous_list"), context.keymap.key_of("next_list")
            parts += [(f"   {number}: ", "$muted"), (before, "$key"), (" or ", "$muted"), (after, "$key")]
        return parts

    def _progress(self, home: TaskList, room: int) -> Sequence[Part]:
        """`2/9 done · 1 skipped · 3 failed, 2 dismissed ━━━━━────`, with as much of a bar as fits."""
        counts = self._context.state.counts.of(home)
        counts["failed"] += counts[FAILED_OTHERWISE]
        failed, are_dismissed = self._failed(home, counts)
        words: list[Part] = [(f"{counts['done']:,}/{home.total:,} done", "$muted")]
        for status, text, style in (
            ("skipped", f"{home.skipped:,} skipped", "$muted"),
            ("cancelled", f"{home.cancelled:,} cancelled", "$muted"),
            ("failed", failed, "$muted" if are_dismissed else LOOKS["failed"].color),
        ):
            words += [(" · ", "$muted"), (text, style)] if counts[status] else []
        left = min(_BAR, home.total, room - parts_width(words) - 1)
        has_bar = left >= max(_FEWEST, min(_LEAST_BAR, home.total))
        return [*words, (" ", ""), *self._bar(home, counts, left)] if has_bar else words

    def _bar(self, home: TaskList, counts: Mapping[str, int], cells: int) -> Sequence[Part]:
        """Return a bar: a cell a task where it is long enough, heavy and in the colour of its state for what is closed;
        those still open are last.
        """
        numbers = {
            "done": counts["done"],
            "skipped": counts["skipped"] + counts["cancelled"],
            "failed": counts["failed"],
        }
        *closed, left = shares((*numbers.values(), max(0, home.total - sum(numbers.values()))), cells)
        full, rest = BAR[self._context.ascii_only]
        bars = [(full * length, LOOKS[state].color) for state, length in zip(numbers, closed, strict=True)]
        return [*bars, (rest * left, "$rule")]

    def _failed(self, home: TaskList, counts: Mapping[str, int]) -> tuple[str, bool]:
        """Return `3 failed, 2 dismissed`, as the counts above leave those out, and whether all are dismissed."""
        failed = [need for need in Needs(self._context).all() if need.kind == Kind.FAILED]
        shown = sum(need.count for need in failed if need.row is None or need.row.list_id == home.id)
        shown += counts[FAILED_OTHERWISE]
        away = counts["failed"] - shown if not home.archived else 0
        words = f"{counts['failed']:,} failed"
        if away <= 0:
            return words, False
        return f"{words}, {f'{away:,} ' if shown else 'all ' if away > 1 else ''}dismissed", not shown

    def _number(self, width: int) -> Sequence[Part]:
        """` 9 tasks, by age`: the foot of a small screen, whose rule has no words."""
        home = self._context.state.current_list
        if home is None or not home.total:
            return ()
        ways, room = self._numbers(home), width - parts_width(self._changed(width)) - 1
        return next((way for way in ways if parts_width(way) < room), ways[-1])

    def _numbers(self, home: TaskList) -> list[list[Part]]:
        """Return how many tasks there are, and how many are marked or how they are sorted, the longest first."""
        tasks: Part = (f" {count(home.total, 'task')}", "$muted")
        if marked := self._marked():
            return [[tasks, (f", {marked:,} marked", "$changed")]]
        word = sorted_by(self._sort())
        return [*([tasks, (f", {each}", "$muted")] for each in (word, "sorted") if word), [tasks]]

    def _changed(self, width: int) -> Sequence[Part]:
        """Return `• failed #3, asked #4 #7, +3 ` beside the number of tasks; nothing where nothing has changed."""
        home = self._context.state.current_list
        beside = parts_width(self._numbers(home)[:2][-1]) if home is not None else 0
        return [*parts, (" ", "")] if (parts := Changes(self._context).within(width - beside - 3)) else ()
