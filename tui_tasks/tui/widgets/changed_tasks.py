"""How many tasks agents have changed since the human looked: in short for a title, in full for a rule or a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len
from tui_tasks.text.times import DAY
from tui_tasks.tui.painting.line_painter import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.state.app_state import MAX_NEW

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# In cells: the width under which the time since when is left out.
_WITH_TIME: Final = 50


def changed_part(context: Context) -> Part:
    """Return `• 4 changed`: how many tasks of all lists agents have changed since the human looked."""
    number = len(context.state.new) + len(context.state.deleted)
    mark = sign("changed", ascii_only=context.ascii_only)
    return (f"  {mark} {number:,} changed", "$changed") if number else ("", "")


def changed_parts(context: Context, line: FrameLine, width: int, list_id: int | None = None) -> list[Part]:
    """Return `• 4 changed, 1 deleted since 19:58 `: what agents have done to the tasks of a list, or of all, that the
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
    return [(f"{mark} {words}{since} ", "$changed")] if words else []


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
        changed = changed_parts(self.context, self, width, self._list_id())
        if not changed:
            return rule_parts(self.context, width, self._word())
        room = width - sum(cell_len(text) for text, _ in changed) - 2
        return [*rule_parts(self.context, room, self._word()), (" ", ""), *changed, *rule_parts(self.context, 1)]
