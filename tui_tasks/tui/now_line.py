"""The lines that frame every pane: tabs, the Now line, rules, the footer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual import events
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_tasks.tui.actions import ACTIONS, Hosted
from tui_tasks.tui.format import MINUTE, SECOND, age, age_lasts, cell_len, look, safe_line, sign
from tui_tasks.tui.ink import Ink, Part

if TYPE_CHECKING:
    pass

# An agent counts as here for so long after its last word.
HERE = 10 * MINUTE


class Line(Hosted, Widget):
    """One line, drawn from parts: left ones and right ones. It is painted again only when they differ."""

    DEFAULT_CSS = "Line { height: 1; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._parts: tuple[Sequence[Part], Sequence[Part]] | None = None
        self._tick: Timer | None = None
        self._tick_in = 0

    def left(self, width: int) -> Sequence[Part]:
        """What stands at the left."""
        return ()

    def right(self, width: int) -> Sequence[Part]:
        """What stands at the right; it gives way where there is not room for both."""
        return ()

    def lasts(self, span_us: int) -> None:
        """Say, while drawing, for how many microseconds what is drawn stays true."""
        self._tick_in = min(self._tick_in or span_us, span_us)

    def again(self) -> None:
        """Draw again; paint only where something differs."""
        if not self.size.width:
            return
        self._tick_in = 0
        parts = self.left(self.size.width), self.right(self.size.width)
        if parts != self._parts:
            self._parts = parts
            self.refresh()
        if self._tick is not None:
            self._tick.stop()
        self._tick = self.set_timer(max(self._tick_in, SECOND) / SECOND, self.again) if self._tick_in else None

    def on_resize(self) -> None:
        """Lay it out anew."""
        self._parts = None
        self.again()

    def part_at(self, x: int) -> Part | None:
        """The left part that is drawn at a column."""
        for text, ink in self._parts[0] if self._parts else ():
            x -= cell_len(text)
            if x < 0:
                return text, ink
        return None

    def render_line(self, y: int) -> Strip:
        """Paint it."""
        width = self.size.width
        if self._parts is None:
            self._parts = self.left(width), self.right(width)
        left, right = self._parts
        ink = Ink.of(self.app)
        used, wide = sum(cell_len(text) for text, _ in left), sum(cell_len(text) for text, _ in right)
        if used + wide > width:
            right, wide = (), 0
        gap = [(" " * max(0, width - used - wide), "")]
        segments = [Segment(text, ink.style(name)) for text, name in (*left, *gap, *right)]
        return Strip(segments).crop(0, width)


class Rule(Line):
    """A rule across the screen; `tees` are columns where a divider meets it."""

    def left(self, width: int) -> Sequence[Part]:
        """The rule."""
        return [(sign("rule", ascii_only=self.host.ascii_only) * width, "$rule")]


class TopLine(Line):
    """Panes at the left; file, mode and agents at the right."""

    def left(self, width: int) -> Sequence[Part]:
        """` [1 List]  2 Board ...`."""
        parts: list[Part] = []
        for number, (name, title) in enumerate(self.host.TABS.items(), 1):
            if name == self.host.pane_name:
                parts += [(" ", ""), (f"[{number} {title}]", "bold")]
            else:
                parts += [("  ", ""), (f"{number} {title}", "$muted")]
                if list(self.host.TABS)[number:][:1] != [self.host.pane_name]:
                    continue
            parts.append((" ", ""))
        return parts

    def right(self, width: int) -> Sequence[Part]:
        """`auth.db  live  2 agents`."""
        app = self.host
        here = len(app.situation.speaking(app.now() - HERE))
        mode = "read only" if app.bridge.read_only else "live"
        agents = f"{here} agent{'' if here == 1 else 's'}" if here else "no agent"
        name = safe_line(Path(app.bridge.store.path).name, 24)
        return [
            (name, "$muted"),
            ("  ", ""),
            (mode, "$state-overdue" if app.bridge.read_only else "$muted"),
            ("  ", ""),
            (f"{agents} ", "$muted"),
        ]

    def on_click(self, event: events.Click) -> None:
        """Go to the pane that was clicked."""
        part = self.part_at(event.x)
        for number, name in enumerate(self.host.TABS, 1):
            if part is not None and part[0].strip("[").startswith(str(number)):
                self.host.show_pane(name)


class NowLine(Line):
    """What is going on: who works on what, what needs the human, what failed, what runs next."""

    def left(self, width: int) -> Sequence[Part]:
        """As wide as there is room: at 100 columns with names and words."""
        app = self.host
        seen = app.situation
        full, small = width >= 100, width < 60
        parts: list[Part] = [(" ", "")]
        gap = ("      " if full else "   ", "")
        parts += self._active(width, full, small)
        waiting = len(seen.asks)
        if waiting or not small:
            words = f"{waiting}" if small else f"{waiting} need{'s' if waiting == 1 else ''} you"
            mark = look("needs_you").mark(ascii_only=app.ascii_only)
            part = (f"{mark} {words}", "$state-needs-you") if waiting else ("nothing needs you", "$muted")
            parts += [gap, part]
        if seen.failed:
            mark = look("failed").mark(ascii_only=app.ascii_only)
            parts += [
                gap if not full else ("    ", ""),
                (f"{mark} {seen.failed}" + ("" if small else " failed"), "$state-failed"),
            ]
        return parts

    def _active(self, width: int, full: bool, small: bool) -> list[Part]:
        app, task = self.host, self.host.situation.active
        if task is None:
            here = app.situation.speaking(app.now() - HERE)
            return (
                [("nothing in progress" if here else "no agent connected", "$muted")]
                if not small
                else [("idle", "$muted")]
            )
        now = app.now()
        mark = look("in_progress").mark(ascii_only=app.ascii_only)
        self.lasts(age_lasts(task.updated_at, now))
        number = f"#{app.place(task)}"
        old = age(task.updated_at, now)
        if small:
            return [(f"{mark} ", "$state-in-progress"), (f"{number} {old}", "")]
        parts: list[Part] = [(f"{mark} ", "$state-in-progress")]
        if full:
            parts.append((f"{safe_line(task.who, 12)}  ", "$muted"))
        room = 30 if full else 24
        parts.append((f"{number} {safe_line(task.name, room)}  ", ""))
        if full and app.situation.active_log is not None:
            parts.append((f'"{safe_line(app.situation.active_log.message, 24)}"  ', ""))
        parts.append((f"{old} ago" if full else old, "$muted"))
        return parts


class FootLine(Line):
    """What keys do here; for a moment what the program has to say."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._said = ""
        self._quiet: Timer | None = None
        self._hints: Sequence[tuple[str, str, str]] | None = None

    def say(self, text: str, seconds: float = 6.0) -> None:
        """Show a safe line in place of the keys, for a while."""
        self._said = text
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(seconds, self.hush) if text else None
        self.again()

    def hush(self) -> None:
        """Show the keys again."""
        if self._said:
            self.say("")

    @property
    def said(self) -> str:
        """What it says now."""
        return self._said

    def hint(self, *hints: tuple[str, str, str]) -> None:
        """Show these in place of the pane's: (key, word, id of the action or empty). None at all: the pane's again."""
        self._hints = hints or None
        self.again()

    def left(self, width: int) -> Sequence[Part]:
        """` ? Help  / Filter ...`, as many as there is room for."""
        if self._said:
            return [(" ", ""), (safe_line(self._said, width - 2), "$changed")]
        hints = self._hints if self._hints is not None else self._of_pane(width)
        parts: list[Part] = [(" ", "")]
        used = 1
        for key, word, _ in hints:
            size = cell_len(key) + 1 + cell_len(word) + 2
            if used + size - 2 > width:
                break
            used += size
            parts += [(key, "$changed"), (f" {word}  ", "$muted")]
        return parts

    def _of_pane(self, width: int) -> list[tuple[str, str, str]]:
        pane = self.host.pane
        ids = pane.FOOTER_SMALL if width < 60 else pane.FOOTER
        return [(self.host.key_of(each), ACTIONS[each].short, each) for each in ids]

    def on_click(self, event: events.Click) -> None:
        """Do what was clicked."""
        hints = self._hints if self._hints is not None else self._of_pane(self.size.width)
        x = event.x - 1
        for key, word, action in hints:
            x -= cell_len(key) + 1 + cell_len(word) + 2
            if x < 0:
                if action and not self._said:
                    self.host.do(action)
                return
