"""The lines of the fleet: name, place, state and since when, what matters most, task, pulse, and what it has spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

import msgspec

from tui_tasks.core.read.agents.fleet import MINUTE, PULSE_MINUTES, Member, pulse_at
from tui_tasks.text import times
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import fit, fit_ends
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents import agent_text, fleet_text
from tui_tasks.tui.painting.charts import spark
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.breakpoints import NARROW, WIDE

# As wide as `interrupted 40s`, and a space.
_STATE: Final = 16
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


class GoneAgents(msgspec.Struct, frozen=True):
    """Agents that are gone and have left nothing open, as one line. Their lines follow it if it `is_open`."""

    names: tuple[str, ...]
    is_open: bool

    name: ClassVar[str] = ""


FleetRow = Member | GoneAgents


class FleetRows(RowDrawing[FleetRow]):
    """Draws agents, one in each line, in the columns that fit.

    `longest_name` returns the width of the longest name in cells. An agent of the channel that has been silent for
    `quiet_after` microseconds is quiet.
    """

    def __init__(self, context: Context, longest_name: Callable[[], int], quiet_after: int) -> None:
        super().__init__(context)
        self._longest_name = longest_name
        self._quiet_after = quiet_after

    def draw(self, row: FleetRow, look: RowLook, line: int) -> Sequence[Part]:
        """Draw the line of an agent, or of several that are gone."""
        if isinstance(row, GoneAgents):
            return self._gone(row, look)
        context, now = self.context, self.context.clock.now()
        sizes = columns(look.width, self._longest_name())
        state = fleet_text.state_of(row, now, self._quiet_after)
        shown = fleet_text.LOOKS_OF_STATES[state]
        self._tick(row, state, now)
        old = "$muted" if state == "gone" else ""
        head: list[Part] = [
            (sign("cursor") if look.cursor else " ", "$primary bold" if look.focused else "$muted"),
            (shown.mark(ascii_only=context.ascii_only), shown.color),
            (f" {fit_ends(agent_text.who(row.name), sizes.who - 1)} ", old),
        ]
        since = age(row.since, now) if row.since is not None else ""
        matter, color = fleet_text.matter(row, context, state)
        if not sizes.task:
            what = fit(matter or shown.word, sizes.matter)
            return [*head, (f"{since:>{sizes.state - 1}} ", shown.color), (what, color)]
        place = fleet_text.where(row, context)
        if not sizes.where and place:
            matter = f"{place}: {matter or '-'}"
        head += [
            (fit(f"{shown.word} {since}".rstrip(), sizes.state - 1) + " ", shown.color),
            (fit(matter or "-", sizes.matter - 1) + " ", color),
        ]
        if sizes.where:
            head.append((fit(place or "-", sizes.where - 1) + " ", "$muted"))
        pulse = spark(pulse_at(row, now, sizes.pulse - 1), ascii_only=context.ascii_only)
        return [
            *head,
            (fit(self._task(row, sizes), sizes.task - 1) + " ", old),
            (pulse + " ", "$muted" if state == "gone" else "$state-in-progress"),
            *self._spent(row, sizes),
        ]

    def _gone(self, row: GoneAgents, look: RowLook) -> Sequence[Part]:
        shown = fleet_text.LOOKS_OF_STATES["gone"]
        key = self.context.keymap.key_of("agent_log")
        words = f"{key} {'folds' if row.is_open else 'shows'} them" if look.cursor else ", ".join(row.names)
        text = f" {len(row.names)} gone   "
        return [
            (sign("cursor") if look.cursor else " ", "$primary bold" if look.focused else "$muted"),
            (shown.mark(ascii_only=self.context.ascii_only), shown.color),
            (text, "$muted"),
            (fit(words, max(1, look.width - 2 - len(text))), "$muted"),
        ]

    def _task(self, row: Member, sizes: Columns) -> str:
        """Return the number of its task and, if there is room, the name."""
        if row.task is None:
            return "-"
        number = f"#{row.task.number}"
        return number if sizes.task <= 6 else f"{number} {row.task.name}"

    @staticmethod
    def _spent(row: Member, sizes: Columns) -> list[Part]:
        if not sizes.spent:
            return []
        spent = times.spent(row.session.tokens, row.session.cost_usd) if row.session is not None else ""
        return [(fit(spent or "-", sizes.spent - 1, "right") + " ", "$muted")]

    def _tick(self, row: Member, state: str, now: int) -> None:
        """Set how long the line stays true: until an age, the pulse or the quiet state changes."""
        for then in (row.since, row.tool_since):
            if then is not None:
                self.lasts(age_lasts(then, now))
        if now - row.last_seen < (PULSE_MINUTES + 1) * MINUTE:
            self.lasts(MINUTE - now % MINUTE + 1)
        if state == "working" and row.session is None:
            self.lasts(max(1, row.last_seen + self._quiet_after + 1 - now))

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw how an agent gets here."""
        text = (
            "   No agent has spoken yet.",
            "",
            "   tui-tasks setup claude --hooks   see what Claude Code does",
            "   tui-tasks setup claude           connect it to this list",
        )
        return [(text[line - 1], "$muted" if line > 1 else "")] if 0 < line <= len(text) else ()


def titles(width: int, names: int) -> list[Part]:
    """Return the titles of the columns; `names` is the width of the longest name."""
    sizes = columns(width, names)
    words = ("who", "state", "what", "where", "task", "pulse")
    titled = "".join(f"{word:<{size}}" for word, size in zip(words, sizes, strict=False) if size)
    return [(f"   {titled}" + (f"{'spent':>{sizes.spent - 1}}" if sizes.spent else ""), "$muted")]
