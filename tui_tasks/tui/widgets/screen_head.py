"""How many tasks agents have changed since the human looked, in titles and rules; and the lines above a screen that
lies over the panes: its title, how the agents are, and the rule below.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len
from tui_tasks.text.times import DAY
from tui_tasks.tui.painting.line_painter import DrawParts, FrameLine, rule, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.state.app_state import MAX_NEW
from tui_tasks.tui.widgets.frame import NARROW, is_compact, next_parts
from tui_tasks.tui.widgets.needs_lines import NeedsLines
from tui_tasks.tui.widgets.now_line import NowLine

if TYPE_CHECKING:
    from textual.geometry import Size
    from textual.widget import Widget

    from tui_tasks.tui.state.context import Context

# In cells: the width under which the time since when is left out.
_WITH_TIME: Final = 50


def changed_part(context: Context) -> Part:
    """Return `• 4 changed`: how many tasks of all lists agents have changed since the human looked."""
    number = len(context.state.new) + len(context.state.deleted)
    mark = sign("changed", ascii_only=context.ascii_only)
    return (f"  {mark} {number:,} changed", "$changed") if number else ("", "")


def changed_parts(context: Context, line: FrameLine, width: int, list_id: int | None = None) -> list[Part]:
    """Return `• 4 changed, 1 deleted since 19:58`: what agents have done to the tasks of a list, or of all, that the
    human has not seen.
    """
    state, mark = context.state, sign("changed", ascii_only=context.ascii_only)
    new = len(state.new) if list_id is None else state.new_in(list_id)
    deleted = len(state.deleted) if list_id is None else state.deleted_in(list_id)
    counted = (new, "changed"), (deleted, "deleted")
    words = ", ".join(f"{number}{'+' if number >= MAX_NEW else ''} {word}" for number, word in counted if number)
    # At midnight, "since 19:58" needs its day.
    line.lasts(DAY)
    since = f" since {context.clock.time_of(state.looked.at)}" if words and width >= _WITH_TIME else ""
    return [(f"{mark} {words}{since}", "$changed")] if words else []


class ChangesRule(FrameLine):
    """A rule across the screen with what has changed at its right.

    `word` returns a word at its left; `list_id` returns the list whose tasks count, None: those of all lists.
    """

    def __init__(
        self,
        context: Context,
        word: Callable[[], str] = lambda: "",
        list_id: Callable[[], int | None] = lambda: None,
    ) -> None:
        super().__init__(context, self._rule)
        self._word = word
        self._list_id = list_id

    def _rule(self, width: int) -> list[Part]:
        title: list[Part] = [(word, "$muted")] if (word := self._word()) else []
        return rule_parts(self.context, width, title, changed_parts(self.context, self, width, self._list_id()))


TALL: Final = 30
"""The lines from which a screen has rows to spare for what needs the human elsewhere."""
_SHARE: Final = 10


class ScreenHead:
    """The title line, a `NowLine` of some kinds of entries, and the rule below them. On a tall screen, what
    needs the human and what has failed stands whole in lines of its own.

    The ids are `id-title`, `id-now`, `id-needs` and `id-rule`.
    """

    def __init__(
        self,
        context: Context,
        title: DrawParts,
        kinds: Collection[int],
        *,
        id: str,
        has_changes: bool = True,
    ) -> None:
        """`has_changes`: whether it counts what has changed."""
        self._context = context
        self._has_changes = has_changes
        self._title_parts = title
        self._title = FrameLine(context, title, self._right, id=f"{id}-title")
        self._needs = NeedsLines(context, id=f"{id}-needs", kinds=kinds, rows=self._spare_rows)
        self._now = NowLine(context, kinds, id=f"{id}-now", is_elsewhere=lambda: self._needs.is_shown)
        self._rule = rule(context, id=f"{id}-rule")

    def compose(self) -> Iterator[Widget]:
        """Compose the lines."""
        yield self._title
        yield self._now
        yield self._needs
        yield self._rule

    def height(self, screen: Size) -> int:
        """Return the number of lines on a screen of a size."""
        return 3 + self._needs.get_content_height(screen, screen, screen.width)

    def _spare_rows(self) -> int:
        """Return how many lines there are for what needs the human and what has failed."""
        screen = self._title.app.size
        return screen.height // _SHARE if screen.height >= TALL and not is_compact(screen) else 0

    def again(self) -> None:
        """Draw the lines again."""
        self._title.again()
        self._needs.again()
        self._now.again()

    def _right(self, width: int) -> Sequence[Part]:
        """`• 4 changed  next #8 Backup drill  ◷ audit in 12h`, as much as there is room for."""
        if width < NARROW:
            return ()
        context, room = self._context, width - sum(cell_len(text) for text, _ in self._title_parts(width)) - 2
        changed = changed_part(context) if self._has_changes else ("", "")
        both = next_parts(context, self._title, room - cell_len(changed[0]))
        alone = next_parts(context, self._title, room)
        if changed[0] and (both or not alone) and cell_len(changed[0]) < room:
            return [changed, *(both or [(" ", "")])]
        return alone
