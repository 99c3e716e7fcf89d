"""The lines of the fleet: name, place, state and since when, what matters most, task, pulse, and what it has spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core.read.agents.fleet import MINUTE, PULSE_MINUTES, Member, pulse_at
from tui_tasks.text import times
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import fit, fit_ends
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.fleet import fleet_text
from tui_tasks.tui.painting.charts import spark
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.breakpoints import NARROW, WIDE
from tui_tasks.tui.widgets.frame import FrameLine

if TYPE_CHECKING:
    from tui_tasks.tui.fleet.fleet_screen import Fleet

_STATE: Final = 15
_SPENT: Final = 11


class Columns(NamedTuple):
    """The width of each column in cells, with the space after it; 0: not shown."""

    who: int
    state: int
    matter: int
    where: int
    task: int
    pulse: int
    spent: int


def columns(width: int, names: int) -> Columns:
    """Divide a width into columns; `names` is the width of the longest name."""
    if width < NARROW:
        who = min(max(names, 6), 10) + 1
        return Columns(who, 5, max(1, width - 3 - who - 5), 0, 0, 0, 0)
    if width < WIDE:
        who = min(max(names, 8), 15) + 1
        pulse, task = PULSE_MINUTES // 2 + 1, 6
        return Columns(who, _STATE, max(1, width - 3 - who - _STATE - task - pulse), 0, task, pulse, 0)
    who, where = min(max(names, 8), 20) + 1, 11
    rest = width - 3 - who - _STATE - where - PULSE_MINUTES - 1 - _SPENT
    task = rest * 2 // 5
    return Columns(who, _STATE, rest - task, where, task, PULSE_MINUTES + 1, _SPENT)


class FleetWindow(VirtualList[Member]):
    """The list of agents, one in each line."""

    def __init__(self, context: Context, fleet: Fleet, *, id: str) -> None:
        super().__init__(context, id=id)
        self._fleet = fleet

    def draw(self, row: Member, look_: RowLook, line: int) -> Sequence[Part]:
        """Draw the line of an agent in the columns that fit."""
        context, now = self.context, self.context.clock.now()
        ascii_only = context.ascii_only
        sizes = columns(look_.width, self._fleet.longest_name)
        state = self._fleet.state_of(row)
        shown = fleet_text.LOOKS_OF_STATES[state]
        matter, color = fleet_text.matter(row, context, state)
        self._tick(row, state, now)
        old = "$muted" if state == "gone" else ""
        since = age(row.since, now) if row.since is not None else ""
        head: list[Part] = [
            (sign("cursor") if look_.cursor else " ", "$primary bold" if look_.focused else "$muted"),
            (shown.mark(ascii_only=ascii_only), shown.color),
            (f" {fit_ends(row.name, sizes.who - 1)} ", old),
        ]
        if not sizes.task:
            return [
                *head,
                (f"{since:>{sizes.state - 1}} ", shown.color),
                (fit(matter or shown.word, sizes.matter), color),
            ]
        if not sizes.where and (projects := self.context.state.projects.of_member(row)):
            matter = f"{' '.join(projects)}: {matter}"
        told = f"{shown.word} {since}".rstrip()
        task = f"#{context.numbers.number(row.task)} {row.task.name}" if row.task is not None else "-"
        if sizes.task <= 6 and row.task is not None:
            task = task.partition(" ")[0]
        minutes = sizes.pulse - 1
        pulse = spark(pulse_at(row, now, minutes), ascii_only=ascii_only)
        parts = [
            *head,
            (fit(told, sizes.state - 1) + " ", shown.color),
            (fit(matter or "-", sizes.matter - 1) + " ", color),
        ]
        if sizes.where:
            parts.append((fit(fleet_text.where(row, context) or "-", sizes.where - 1) + " ", "$muted"))
        parts += [
            (fit(task, sizes.task - 1) + " ", old),
            (pulse + " ", "$muted" if state == "gone" else "$state-in-progress"),
        ]
        if sizes.spent:
            session = row.session
            spent = times.spent(session.tokens, session.cost_usd) if session is not None else ""
            parts.append((fit(spent or "-", sizes.spent - 1, "right") + " ", "$muted"))
        return parts

    def _tick(self, row: Member, state: str, now: int) -> None:
        """Set how long the line stays true: until an age, the pulse or the quiet state changes."""
        for then in (row.since, row.tool_since):
            if then is not None:
                self.lasts(age_lasts(then, now))
        if now - row.last_seen < (PULSE_MINUTES + 1) * MINUTE:
            self.lasts(MINUTE - now % MINUTE + 1)
        if state == "working" and row.session is None:
            self.lasts(max(1, row.last_seen + self._fleet.quiet_after + 1 - now))

    def draw_empty(self, line: int) -> Sequence[Part]:
        """Draw how an agent gets here."""
        text = (
            "   No agent has spoken yet.",
            "",
            "   tui-tasks setup claude --hooks   see what Claude Code does",
            "   tui-tasks setup claude           let it use this list",
        )
        return [(text[line - 1], "$muted" if line > 1 else "")] if 0 < line <= len(text) else ()


class FleetTitles(FrameLine):
    """The titles of the columns."""

    def __init__(self, context: Context, fleet: Fleet, *, id: str) -> None:
        super().__init__(context, id=id)
        self._fleet = fleet

    def left(self, width: int) -> Sequence[Part]:
        """The title of each column."""
        sizes = columns(width, self._fleet.longest_name)
        words = ("who", "state", "what", "where", "task", "pulse")
        titled = "".join(f"{word:<{size}}" for word, size in zip(words, sizes, strict=False) if size)
        return [(f"   {titled}" + (f"{'spent':>{sizes.spent - 1}}" if sizes.spent else ""), "$muted")]


class FleetHead(FrameLine):
    """` Agents   3 waiting for you   2 working`, and what all agents have spent."""

    def __init__(self, context: Context, fleet: Fleet, *, id: str) -> None:
        super().__init__(context, id=id)
        self._fleet = fleet

    def left(self, width: int) -> Sequence[Part]:
        """The title, and how many agents are in each state."""
        if width < NARROW:
            marks = fleet_text.LOOKS_OF_STATES
            parts: list[Part] = [(" Agents ", "bold")]
            for state, shown in marks.items():
                if count := self._fleet.states.count(state):
                    parts.append((f" {shown.mark(ascii_only=self.context.ascii_only)} {count} ", shown.color))
            return parts
        parts = [(" Agents  ", "bold"), *self.context.state.projects.told_alone()]
        for text, color in fleet_text.totals(self._fleet.states):
            parts.append((f" {text}  ", color))
        return parts

    def right(self, width: int) -> Sequence[Part]:
        """What all agents have spent, and their projects."""
        members = self._fleet.listed.rows
        spent = fleet_text.spent_by_all(members)
        # In the past, an agent's presence is known only from what it had open.
        unknown = "who was connected is not recorded" if self.context.link.as_of is not None else ""
        told = "   ".join(part for part in (spent, fleet_text.places(members, self.context), unknown) if part)
        return [(told + " ", "$muted")]
