"""The line below every pane and screen, with its keys; and lines of groups that are clicked. `screen_head` has the
lines above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.timer import Timer
from typing_extensions import override

from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import SECOND, moment
from tui_tasks.tui.keys.action_table import ACTIONS
from tui_tasks.tui.layout import NARROW, is_compact
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Act, Group, Part, parts_width
from tui_tasks.tui.painting.text_lines import wrapped

if TYPE_CHECKING:
    from tui_tasks.core.maintenance.moments import Moment
    from tui_tasks.tui.state.context import Context

# In cells: what stands between two hints.
_HINT_GAP: Final = 2
_IN_TIME: Final[tuple[str, ...]] = ("past_change_back", "past_change_on", "past_hour_back", "past_hour_on")


class GroupLine(FrameLine):
    """A line of groups of parts, which `groups` returns for a width. A click on a group performs its action."""

    def __init__(
        self,
        context: Context,
        groups: Callable[[int], Sequence[Group]],
        *,
        id: str,
        classes: str | None = None,
    ) -> None:
        super().__init__(context, self._joined_groups, id=id, classes=classes)
        self._groups = groups
        self._acts: list[Act | None] = []

    def _joined_groups(self, width: int) -> Sequence[Part]:
        parts: list[Part] = []
        acts: list[Act | None] = []
        for group in self._groups(width):
            parts += [(group.gap if parts else group.gap[:1], ""), *group.parts]
            acts += [None, *([group.act] * len(group.parts))]
        self._acts = acts
        return parts

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        at = self.part_number(event.x)
        act = self._acts[at] if at is not None and at < len(self._acts) else None
        if act is not None:
            act()


def as_of_words(context: Context, as_of: Moment, room: int) -> str:
    """Return the moment of the past that is shown, with its last entry where all has room.

    From `auth.db  as it was Sun 22 Nov 18:00:03, journal entry 114` down to `was 18:00:03`.
    """
    when = moment(as_of.instant, context.clock.zone)
    seconds = f"{when}:{as_of.instant // SECOND % 60:02}"
    name = safe_line(context.link.name, 24)
    words = [
        f"{name}  as it was {seconds}, journal entry {as_of.seq:,}",
        f"{name}  as it was {seconds}",
        f"{name} was {seconds}",
        f"was {seconds}",
        f"was {seconds.rpartition(' ')[2]}",
    ]
    return next((one for one in words if cell_len(one) <= room), words[-1])


def _hint_size(hint: tuple[str, str, str]) -> int:
    """Return how many cells a key and its word take."""
    return cell_len(hint[0]) + 1 + cell_len(hint[1]) + _HINT_GAP


class FootLine(FrameLine):
    """The keys that work here, or for a moment a message: first what waits for the human, then by use."""

    def __init__(self, context: Context, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(context, self._keys, self._moment, id=id, classes=classes, is_bar=True)
        self._said = ""
        self._quiet: Timer | None = None
        self._hints: Sequence[tuple[str, str, str]] | None = None

    def say(self, text: str, seconds: float = 6.0) -> None:
        """Show a safe text instead of the keys for a moment, in two lines if it is too long for one."""
        text = self._said = self._readable(text)
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(seconds, self.hush) if text else None
        self.set_class(cell_len(text) > self.size.width - 2 > 0, "-two")
        self.redraw()
        if self.has_class("-two"):
            self.refresh(Region(0, 1, self.size.width, 1))

    def _readable(self, text: str) -> str:
        """Return a text with a word for the arrows where only ASCII is wanted: `^v` is another key."""
        return text.replace("↑↓", "up/down") if self.context.ascii_only else text

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
        self._hints = [(self._readable(key), word, act) for key, word, act in hints] or None
        self.redraw()

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
        return self.painted([(" ", ""), (self._message_lines(self.message, self.own_size.width)[-1], "$changed")])

    def _moment(self, width: int) -> Sequence[Part]:
        """The moment of the past that is shown, on screens without a line for it."""
        as_of = self.context.link.as_of
        if as_of is None or self.message or self.screen is self.app.screen_stack[0]:
            return ()
        if self.screen.query("TopLine") and not is_compact(self.app.size):
            return ()
        return [(f" {as_of_words(self.context, as_of, width // 2)} ", "$state-overdue")]

    def _shown_hints(self, width: int) -> list[tuple[str, str, str]]:
        """Return as many hints as fit, the first ones first; that of the help always does. Those of the way back and of
        the help end the line.
        """
        hints, used = self._possible_hints(width), 1 + parts_width(self._moment(width))
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
        return [*sorted(shown, key=lambda hint: hint[2] == "back"), *([last] if last else [])]

    def _possible_hints(self, width: int) -> list[tuple[str, str, str]]:
        """Return the hints, without actions that would do nothing, and in a read-only screen without those that
        write.
        """
        hints = self._hints if self._hints is not None else self._of_pane(width)
        read_only, has_key = self.context.link.read_only, self.context.keymap.has_key
        left_out = () if self.context.state.has_news and not read_only else ("seen",)
        # In the past nothing waits for the human.
        left_out = (*left_out, "asks") if self.context.link.as_of is not None else left_out
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
        words = {"asks": "Answer"} if self._can_answer(pane.target()) else {}
        keys = ((key_of(each), words.get(each) or pane.short(ACTIONS[each]), each) for each in ids)
        return [*pane.hints(), *(hint for hint in keys if hint[1])]

    def _can_answer(self, task: str | None) -> bool:
        """Return whether the human can answer a question about a task here: its program may take no answer any more."""
        state = self.context.state
        if task not in state.asking or self.context.link.read_only:
            return False
        asks = [ask for ask in state.asks if state.asked_about.get(ask.uid) == task]
        if any(ask.request is None for ask in asks):
            return True
        from tui_tasks.hooks.replies.reply_sender import why_unanswerable  # imported here, as few questions need it

        return any(why_unanswerable(self.context.db, ask) is None for ask in asks)

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
