"""The lines around every pane: the panes and what is next above it, the keys below; and the sizes of the terminal at
which the layout changes. `now_line` has the line between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from textual import events
from textual.geometry import Size
from textual.strip import Strip
from textual.timer import Timer
from typing_extensions import override

from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import SECOND, age, age_lasts, due, duration, moment
from tui_tasks.tui.keys.action_table import ACTIONS
from tui_tasks.tui.painting.line_painter import FrameLine, strip_of
from tui_tasks.tui.painting.styles import Part, StyleCache
from tui_tasks.tui.painting.text_lines import wrapped
from tui_tasks.tui.panes import PANES

if TYPE_CHECKING:
    from tui_tasks.core.maintenance.moments import Moment
    from tui_tasks.tui.state.context import Context

# In cells: the names of the task and of the job, from the most room to the least; 0: no name.
_NAME_STEPS: Final = ((40, 20), (24, 16), (16, 12), (10, 8), (0, 8), (0, 0))


def next_parts(context: Context, line: FrameLine, room: int) -> list[Part]:
    """Return `next #8 Backup drill │ ◷ Nightly audit in 12h` for the right of a line, as much as there is room for."""
    if context.link.as_of is not None:
        return []
    ways = ([*next_task(context, task), *next_job(context, line.lasts, job)] for task, job in _NAME_STEPS)
    fitting = (parts for parts in (*ways, next_task(context, 0)) if sum(cell_len(text) for text, _ in parts) < room)
    found = next(fitting, [])
    return [*found, (" ", "")] if found else []


def next_task(context: Context, cells: int) -> list[Part]:
    """Return the task that is suggested next, or that none of those that are left can start; its name takes up to so
    many cells, 0: none.
    """
    task = context.state.next_task
    if task is None:
        is_left = any(home.pending for home in context.state.of_project)
        return [("  no task is ready" if cells else "  next none", "$muted")] if is_left else []
    name = f" {safe_line(task.name, cells, ascii_only=context.ascii_only)}" if cells else ""
    return [("  next ", "$muted"), (f"#{task.number}{name}", "")]


def next_job(context: Context, lasts: Callable[[int], None], cells: int, *, has_time: bool = False) -> list[Part]:
    """Return the next job and when it is due; of jobs that are late the first, and how many there are more.

    Args:
        lasts: called with how many microseconds this stays true.
        cells: the most that the name takes; 0: none.
        has_time: whether the time of day is shown.
    """
    jobs = context.state.next_jobs
    if not jobs:
        return []
    (name, when), now, ascii_only = jobs[0], context.clock.now(), context.ascii_only
    lasts(min(age_lasts(when, now) for _, when in jobs))
    late = sum(when < now for _, when in jobs)
    mark = look("overdue").mark(ascii_only=ascii_only) if late else sign("scheduled", ascii_only=ascii_only)
    words = f"{age(when, now)} late{f' +{late - 1}' if late > 1 else ''}" if late else due(when, now)
    if has_time and not late:
        words = f"{context.clock.time_of(when)}, {words}"
    name = f"{safe_line(name, cells, ascii_only=ascii_only)} " if cells else ""
    gap: Part = (f" {sign('divider', ascii_only=ascii_only)} ", "$muted")
    if context.state.next_task is None:
        gap = ("  ", "")
    return [gap, (f"{mark} {name}{words}", "$state-overdue" if late else "$muted")]


NARROW: Final = 60
"""Columns under which there is room for one thing only."""
WIDE: Final = 100
"""Columns from which two things stand side by side."""
SHORT: Final = 16
"""Rows under which there is room for one thing only."""

AROUND: Final = 4
"""Lines around a pane where there is room for more than one thing: two above it, two at the foot."""

HORIZONTAL: Final = [(0, "-narrow"), (NARROW, "-stacked"), (WIDE, "-wide")]
VERTICAL: Final = [(0, "-short"), (SHORT, "-tall")]


def is_compact(size: Size) -> bool:
    """Return whether there is room only for one line and one pane."""
    return size.width < NARROW or size.height < SHORT


def is_wide(size: Size) -> bool:
    """Return whether there is room for two things side by side."""
    return not is_compact(size) and size.width >= WIDE


_BEHIND_SECONDS: Final = 2.0
"""After so long without its server a replica counts as behind."""
# In cells: what stands between two hints.
_HINT_GAP: Final = 2
_IN_TIME: Final[tuple[str, ...]] = ("past_change_back", "past_change_on", "past_hour_back", "past_hour_on")


class _Step(NamedTuple):
    """What the right side of the top line shows: the file, the mode, the time of the job.

    `task` and `job` are the widths of names in cells, 0: none.
    """

    has_file: bool
    has_mode: bool
    has_time: bool
    task: int
    job: int


_STEPS: Final = (
    _Step(True, True, True, 40, 24),
    _Step(True, True, True, 24, 20),
    _Step(True, True, False, 24, 20),
    _Step(True, True, False, 16, 16),
    _Step(False, False, False, 24, 16),
    _Step(False, False, False, 16, 16),
    _Step(False, False, False, 12, 12),
    _Step(False, False, False, 8, 12),
    _Step(False, False, False, 0, 12),
    _Step(False, False, False, 0, 8),
    _Step(False, False, False, 8, 0),
    _Step(False, False, False, 0, 0),
)


class TopLine(FrameLine):
    """The panes at the left; at the right the file, the mode, and what is next."""

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, self._panes, self._state, id=id)

    def _panes(self, width: int) -> Sequence[Part]:
        """` [1 List]  2 Board ...`."""
        parts: list[Part] = []
        for number, (name, title) in enumerate(PANES.items(), 1):
            here = name == self.context.navigation.pane_name
            parts.append((f" [{number} {title}]" if here else f"  {number} {title}", "bold" if here else "$muted"))
        return parts

    def _state(self, width: int) -> Sequence[Part]:
        """`auth.db  live  next #8 Backup drill │ ◷ audit 09:00, in 12h`, as much as there is room for.

        In the past, its moment.
        """
        context = self.context
        room = width - sum(cell_len(text) for text, _ in self._panes(width)) - 3
        if context.link.as_of is not None:
            return [(f"{as_of_words(context, context.link.as_of, room)} ", "$state-overdue")]
        least = self._place(_STEPS[-1])
        ways = (
            *(
                [
                    *self._place(step),
                    *next_task(context, step.task),
                    *next_job(context, self.lasts, step.job, has_time=step.has_time),
                ]
                for step in _STEPS
            ),
            [*least, *next_task(context, 0)],
        )
        fitting = (parts for parts in ways if sum(cell_len(text) for text, _ in parts) <= room)
        return [*next(fitting, least), (" ", "")]

    def _place(self, step: _Step) -> list[Part]:
        """Return the project, the file and the mode."""
        context = self.context
        parts: list[Part] = []
        if title := context.state.projects.title:
            parts.append((f"{title}  ", "bold"))
        if step.has_file:
            parts.append((f"{safe_line(context.link.name, 24)}  ", "$muted"))
        if (behind := context.link.db.seconds_behind()) is not None and behind > _BEHIND_SECONDS:
            since = f" {duration(int(behind * SECOND), 1)}" if behind < float("inf") else ""
            parts.append((f"server away{since}", "$state-overdue"))
        elif context.link.read_only:
            parts.append(("read only", "$state-overdue"))
        elif step.has_mode:
            parts.append(("live", "$muted"))
        return parts

    def on_click(self, event: events.Click) -> None:
        """Show the pane that was clicked."""
        at = self.part_number(event.x)
        if at is not None:
            self.context.navigation.show_pane(list(PANES)[at])


def as_of_words(context: Context, as_of: Moment, room: int) -> str:
    """Return the moment of the past that is shown, its last entry and the journal's hash, as far as there is room.

    From `auth.db  as it was Sun 22 Nov 18:00:03  entry 114 a3f9c2d1` down to `18:00 entry 114`.
    """
    when, entry, hashed = moment(as_of.instant, context.clock.zone), f"entry {as_of.seq}", as_of.hash.hex()[:8]
    seconds = f"{when}:{as_of.instant // SECOND % 60:02}"
    words = [
        f"{safe_line(context.link.name, 24)}  as it was {seconds}  {entry} {hashed}",
        f"as it was {seconds}  {entry} {hashed}",
        f"was {seconds} {entry} {hashed}",
        f"was {when} {entry} {hashed}",
        f"was {when.partition(' ')[2]} {entry} {hashed}",
        f"was {when} {entry}",
        f"{when.rpartition(' ')[2]} {entry}",
    ]
    return next((one for one in words if cell_len(one) <= room), words[-1])


def _hint_size(hint: tuple[str, str, str]) -> int:
    """Return how many cells a key and its word take."""
    return cell_len(hint[0]) + 1 + cell_len(hint[1]) + _HINT_GAP


class FootLine(FrameLine):
    """The keys that work here, or for a moment a message: first what waits for the human, then by use."""

    def __init__(self, context: Context, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(context, self._keys, self._moment, id=id, classes=classes)
        self._said = ""
        self._quiet: Timer | None = None
        self._hints: Sequence[tuple[str, str, str]] | None = None

    def say(self, text: str, seconds: float = 6.0) -> None:
        """Show a safe text instead of the keys for a moment, in two lines if it is too long for one."""
        self._said = text
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(seconds, self.hush) if text else None
        self.set_class(cell_len(text) > self.size.width - 2 > 0, "-two")
        self.again()

    def hush(self) -> None:
        """Show the keys again."""
        if self._said:
            self.say("")

    @property
    def message(self) -> str:
        """The message that is shown now; while the database cannot be read, that."""
        unread = self.context.link.unread
        return self._said or (f"The database cannot be read: {safe_line(unread)}" if unread else "")

    def hint(self, *hints: tuple[str, str, str]) -> None:
        """Show these hints instead of the pane's: (key, word, id of the action or empty). Without any, the pane's
        again.
        """
        self._hints = hints or None
        self.again()

    def _keys(self, width: int) -> Sequence[Part]:
        """` ? Help  / Filter ...`, as many hints as fit."""
        if message := self.message:
            return [(" ", ""), (self._message_lines(message, width)[0], "$changed")]
        parts: list[Part] = [(" ", "")]
        for key, word, _ in self._shown_hints(width):
            parts += [(key, "$key"), (f" {word}  ", "$muted")]
        return parts

    def _message_lines(self, message: str, width: int) -> list[str]:
        """Return a message as the lines that there is room for; the last one is cut."""
        if not self.has_class("-two"):
            return [safe_line(message, width - 2)]
        first = wrapped(message, width - 2)[0]
        return [first, safe_line(message.removeprefix(first).lstrip(), width - 2)]

    @override
    def render_line(self, y: int) -> Strip:
        """Paint a line."""
        if not y:
            return super().render_line(y)
        width = self.own_size.width
        parts = [(" ", ""), (self._message_lines(self.message, width)[-1], "$changed")]
        return strip_of(parts, width, StyleCache.of(self.app))

    def _moment(self, width: int) -> Sequence[Part]:
        """The moment of the past that is shown, on screens without the line of the panes."""
        as_of = self.context.link.as_of
        if as_of is None or self.message or self.screen is self.app.screen_stack[0]:
            return ()
        return [(f" {as_of_words(self.context, as_of, width // 2)} ", "$state-overdue")]

    def _shown_hints(self, width: int) -> list[tuple[str, str, str]]:
        """Return as many hints as fit; that of the help always does."""
        hints, used = self._possible_hints(width), 1 + sum(cell_len(text) for text, _ in self._moment(width))
        last = next((hint for hint in hints if hint[2] == "help"), None)
        used += _hint_size(last) if last else 0
        shown: list[tuple[str, str, str]] = []
        for hint in hints:
            if hint is last:
                continue
            used += _hint_size(hint)
            if used - _HINT_GAP > width:
                break
            shown.append(hint)
        return [*shown, last] if last else shown

    def _possible_hints(self, width: int) -> list[tuple[str, str, str]]:
        """Return the hints, without actions that would do nothing, and in a read-only screen without those that
        write.
        """
        hints = self._hints if self._hints is not None else self._of_pane(width)
        read_only, has_key = self.context.link.read_only, self.context.keymap.has_key
        left_out = () if (self.context.state.new or self.context.state.deleted) and not read_only else ("seen",)
        possible = (hint for hint in hints if not hint[2] or (has_key(hint[2]) and hint[2] not in left_out))
        return [hint for hint in possible if not (hint[2] and read_only and ACTIONS[hint[2]].writes)]

    def _of_pane(self, width: int) -> list[tuple[str, str, str]]:
        pane = self.context.navigation.pane
        key_of, small = self.context.keymap.key_of, width < NARROW
        state = self.context.state
        first: tuple[str, ...] = _IN_TIME if self.context.link.as_of is not None else ()
        if state.waits_for_you:
            first = (*first, "asks")
        ids = dict.fromkeys((*first, "seen", *pane.footer(small)))
        words = {"asks": "Answer"} if pane.target() in state.asking else {}
        keys = ((key_of(each), words.get(each) or pane.short(ACTIONS[each]), each) for each in ids)
        return [hint for hint in keys if hint[1]]

    def on_click(self, event: events.Click) -> None:
        """Perform the clicked action."""
        hints = self._shown_hints(self.size.width)
        x = event.x - 1
        for key, word, action in hints:
            x -= _hint_size((key, word, action))
            if x < 0:
                if action and not self.message:
                    self.context.do(action)
                return
