"""What the list pane shows: its rows, and the lines around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual.geometry import Size

from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.snapshots import TaskList
from tui_tasks.text.glyphs import bar, look, sign
from tui_tasks.text.safe import cell_len, fit, fit_ends, safe_line
from tui_tasks.text.times import DAY, age, age_lasts, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting.frame_line import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.app_state import MAX_NEW
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks.emptied_note import EmptiedNote
from tui_tasks.tui.tasks.task_note import field_parts, late_mark, notes
from tui_tasks.tui.widgets import breakpoints

# Other lists are counted up to this number.
_MAX_OTHERS = 99
# In cells: the width that a name gets before notes are shown beside it, and the least width of notes.
NAME = 44
LEAST_NOTE = 12
# The detail's share of the width, beside the list.
SIDE = 5 / 12


def side_width(shown: TaskList | None, size: Size) -> int:
    """Return the width of the detail in cells; 0 when it is not beside the list."""
    return round(size.width * SIDE) if breakpoints.is_wide(size) and shown is not None and shown.total else 0


class TaskRows(RowDrawing[TaskLine]):
    """Draws tasks, one in each line. `is_filtered`: a filter is why there are no rows."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.is_filtered = False
        self._emptied = EmptiedNote(context)

    def draw(self, row: TaskLine, look_: RowLook, line: int) -> Sequence[Part]:
        """`>•◐  5  Ship auth flow                    claude-1  40s`."""
        context, width = self.context, look_.width
        now, ascii_only, state = context.clock.now(), context.ascii_only, context.state
        status = look(state.status_of(row))
        number = look_.place or context.numbers.number(row)
        self.lasts(age_lasts(row.updated_at, now))
        cursor = sign("cursor", ascii_only=ascii_only) if look_.cursor else " "
        flag = "+" if look_.marked else sign("changed", ascii_only=ascii_only) if row.uid in state.new else " "
        head = f"{number:>3}  "
        who = f"  {fit_ends(self._who(row), 10 if width < 100 else 16, ascii_only=ascii_only)}" if width >= 50 else ""
        tail = f"{age(row.updated_at, now):>4} "
        room = max(1, width - 3 - len(head) - len(who) - 1 - len(tail))
        quiet = row.status in ("done", "skipped", "cancelled")
        under = " underline" if look_.drop else ""
        titled = self._titled(row, room, ("$muted" if quiet or look_.dragged else "") + under)
        late = late_mark(context, row) if len(titled) == 1 else None
        return (
            (cursor, "$primary bold" if look_.focused else "$muted"),
            (flag, "$changed"),
            (status.mark(ascii_only=ascii_only), status.color),
            (head, "$muted"),
            *titled,
            (who, "$muted"),
            late or (" ", "$muted"),
            (tail, "$muted"),
        )

    def _titled(self, row: TaskLine, room: int, ink: str) -> list[Part]:
        """Return the name and, if there is room, notes, which begin in the same column for all rows."""
        ascii_only = self.context.ascii_only
        column = min(NAME, room // 2)
        name = safe_line(row.name, room, ascii_only=ascii_only)
        left = room - max(column, cell_len(name)) - 2
        for _, lasts in field_parts(self.context, row):
            self.lasts(lasts)
        found = notes(self.context, row, self.context.state.status_of(row)) if left >= LEAST_NOTE else []
        if not found:
            return [(fit(row.name, room, ascii_only=ascii_only), ink)]
        parts: list[Part] = [(fit(row.name, room - left - 2, ascii_only=ascii_only), ink)]
        for text, its_ink in found:
            gap = 2 if len(parts) == 1 else 1
            if left + 2 - gap < min(cell_len(text), LEAST_NOTE):
                break
            shown = safe_line(text, left + 2 - gap, ascii_only=ascii_only)
            parts += [(" " * gap, ""), (shown, its_ink)]
            left -= cell_len(shown) + gap
        return [*parts, (" " * (left + 2), "")]

    def _who(self, row: TaskLine) -> str:
        if row.blocked and row.depends_on:
            numbers, list_id = self.context.numbers, self.context.state.list_id
            number = next((number for uid in row.depends_on if (number := numbers.number_of(uid, list_id))), 0)
            return f"after {number}" if number else "blocked"
        return agent_text.who(row.who)

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw what to do next."""
        if self.is_filtered:
            return [("   Nothing matches.", "$muted")] if line == 1 else ()
        context = self.context
        new, palette = context.keymap.key_of("new"), context.keymap.key_of("palette")
        ways = [
            (new, "add one"),
            (f"{palette} list", "another list"),
            ("tui-tasks demo", "look around"),
            ("tui-tasks setup claude", "let agents in"),
        ]
        if context.link.read_only:
            ways = [(f"{palette} list", "another list")]
        emptied = self._emptied.text()
        lines: list[Sequence[Part]] = [(), [(f"   {emptied or 'No tasks yet'}.", "bold")], ()]
        if emptied:
            ways = [(context.keymap.key_of("take_back"), "bring them back"), *ways[:2]]
        lines += [[(f"   {key:<23}", "$changed"), (words, "")] for key, words in ways]
        lines += [(), [("   db  ", "$muted"), (safe_line(_short_path(context.link.path), 60), "$muted")]]
        return lines[line] if line < len(lines) else ()


class ListLines:
    """The lines around the list: a rule, a head, a foot, and the foot of the detail."""

    def __init__(self, context: Context, size: Callable[[], Size]) -> None:
        """`size` returns the terminal's."""
        self._context = context
        self._size = size
        self.rule = FrameLine(context, self._rule, id="list-rule")
        self.head = FrameLine(context, self._name, self._new, id="list-head")
        self.foot = FrameLine(context, self._progress, self._new_below, id="list-foot")
        self.side_foot = FrameLine(context, self._under_detail, id="side-foot")

    def again(self) -> None:
        """Draw all again; only what differs is painted."""
        for line in (self.rule, self.head, self.foot, self.side_foot):
            line.again()

    def _sign(self, name: str) -> str:
        return sign(name, ascii_only=self._context.ascii_only)

    def _rule(self, width: int) -> Sequence[Part]:
        """Return the rule above the list, with a tee where the divider to the detail meets it."""
        side = side_width(self._context.state.current_list, self._size())
        if not side:
            return rule_parts(self._context, width)
        rule = self._sign("rule")
        return [(rule * (width - side) + self._sign("tee") + rule * (side - 1), "$rule")]

    def _name(self, width: int) -> Sequence[Part]:
        """` Plan   9 tasks   [ ] 2 other lists`: the number of other lists and the keys to them as far as they fit."""
        context = self._context
        found = context.state.current_list
        if found is None:
            return ()
        name = safe_line(found.name, max(8, width - 44))
        archived = "   archived" if found.archived else ""
        parts = [(f" {name}", "bold"), (f"   {count(found.total, 'task')}{archived}", "$muted")]
        others = context.state.others(context.state.list_id, _MAX_OTHERS + 1)
        if others and width >= cell_len(name) + 60:
            number = f"{_MAX_OTHERS}+ other lists" if others > _MAX_OTHERS else count(others, "other list")
            keys = f"{context.keymap.key_of('previous_list')} {context.keymap.key_of('next_list')}"
            parts += [(f"   {keys}", "$changed"), (f" {number}", "$muted")]
        return parts

    def _new(self, width: int) -> Sequence[Part]:
        """`• 4 changed since 19:58`: what is new to the human."""
        context = self._context
        new = _new_text(context)
        # At midnight, "since 19:58" needs its day.
        self.head.lasts(DAY)
        since = f" since {context.clock.time_of(context.state.looked.at)}" if new and width >= 50 else ""
        return [(f"{self._sign('changed')} {new}{since} ", "$changed")] if new else ()

    def _progress(self, width: int) -> Sequence[Part]:
        """` progress ███████░░░░░  2/9 done · 1 failed`; on a small screen the number of tasks."""
        found, ascii_only = self._context.state.current_list, self._context.ascii_only
        if found is None or not found.total:
            return ()
        if breakpoints.is_compact(self._size()):
            return [(f" {count(found.total, 'task')}", "$muted")]
        ended = found.done + found.skipped + found.cancelled
        parts: list[Part] = [
            (" progress ", "$muted"),
            (bar(ended / found.total, 20, ascii_only=ascii_only), "$state-done"),
            (f"  {found.done}/{found.total} done", "$muted"),
        ]
        return [*parts, (f" · {found.failed} failed", "$state-failed")] if found.failed else parts

    def _new_below(self, width: int) -> Sequence[Part]:
        """Return what is new to the human, on a small screen, which has no head."""
        new = _new_text(self._context)
        return [(f"{new} ", "$changed")] if new and breakpoints.is_compact(self._size()) else ()

    def _under_detail(self, width: int) -> Sequence[Part]:
        """`┴─────`."""
        return [(self._sign("foot") + self._sign("rule") * (width - 1), "$rule")]


def _new_text(context: Context) -> str:
    """Return what agents have done to the current list: `4 changed, 2 deleted`."""
    state = context.state
    counted = (state.new_in(state.list_id), "changed"), (state.deleted_in(state.list_id), "deleted")
    return ", ".join(f"{number}{'+' if number >= MAX_NEW else ''} {word}" for number, word in counted if number)


def _short_path(path: str) -> str:
    home = str(Path.home())
    return f"~{path.removeprefix(home)}" if path.startswith(home + "/") else path
