"""Names that panes still reach for in the App; the context has what they stand for. Goes with the last of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tui_tasks.tui.widgets import breakpoints

if TYPE_CHECKING:
    from tui_tasks.tui.app.context import Context

_PATHS: Final = {
    "bridge": "link",
    "situation": "state",
    "config": "config",
    "ascii_only": "ascii_only",
    "frame_again": "redraw_frame",
    "flow": "run",
    "opening": "open_in_turn",
    "say": "say",
    "hint": "hint",
    "do": "do",
    "pane_name": "navigation.pane_name",
    "show_list": "navigation.show_list",
    "filter_by": "navigation.filter_by",
    "go_to": "navigation.go_to",
    "show_pane": "navigation.show_pane",
    "show_log": "navigation.show_log",
    "close_overlays": "navigation.close_overlays",
    "now": "clock.now",
    "zone": "clock.zone",
    "time_of": "clock.time_of",
    "key_of": "keymap.key_of",
    "keys_of": "keymap.keys_of",
    "list_id": "state.list_id",
    "current_list": "state.current_list",
    "place": "numbers.number",
    "place_of": "numbers.number_of",
}


class OldNames:
    """Mixed into the App."""

    context: Context

    if TYPE_CHECKING:
        bridge: Any
        situation: Any
        config: Any
        ascii_only: Any
        frame_again: Any
        flow: Any
        opening: Any
        say: Any
        hint: Any
        do: Any
        pane_name: Any
        show_list: Any
        filter_by: Any
        go_to: Any
        show_pane: Any
        show_log: Any
        close_overlays: Any
        now: Any
        zone: Any
        time_of: Any
        key_of: Any
        keys_of: Any
        list_id: Any
        current_list: Any
        place: Any
        place_of: Any
    else:

        def __getattr__(self, name: str) -> Any:
            if name not in _PATHS:
                raise AttributeError(name)
            found: Any = self.context
            for part in _PATHS[name].split("."):
                found = getattr(found, part)
            return found

    def number_here(self, uid: str) -> int:
        """The number of a task of the list that is shown."""
        return self.context.numbers.number_of(uid, self.context.state.list_id)

    def uid_at(self, number: int) -> str | None:
        """The task with a number in the list that is shown."""
        return self.context.numbers.at(self.context.state.list_id, number)

    @property
    def is_compact(self) -> bool:
        """See `breakpoints`."""
        return breakpoints.is_compact(self.size)  # type: ignore[attr-defined]

    @property
    def is_wide(self) -> bool:
        """See `breakpoints`."""
        return breakpoints.is_wide(self.size)  # type: ignore[attr-defined]
