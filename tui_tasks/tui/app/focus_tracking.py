"""The App's part in calling the human: it knows whether the terminal has the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.app import App

from tui_tasks.text.safe import safe_copy
from tui_tasks.tui.app.database_link import Changes

if TYPE_CHECKING:
    from tui_tasks.tui.app.app import TaskApp
    from tui_tasks.tui.app.notifier import Alerts


class FocusTracking(App[None]):
    """Mixed into the App. A terminal that does not report its focus is taken to have it."""

    _alerts: Alerts | None = None

    def watch_app_focus(self, focus: bool) -> None:
        """The human looks elsewhere from now on, or is back."""
        if self._alerts is None:
            if focus or not self._calls:
                return
            from tui_tasks.tui.app.notifier import Alerts

            self._alerts = Alerts(cast("TaskApp", self))
        self._alerts.away(not focus)

    @property
    def _calls(self) -> bool:
        """Whether it calls at all: beside a screen that can be worked with, one that only shows would call twice."""
        host = cast("TaskApp", self)
        return not host.bridge.read_only or host.config.notify_read_only

    def call_for(self, changes: Changes) -> None:
        """Call the human for what was written, where that needs one who looks elsewhere."""
        if self._alerts is not None and not self.app_focus:
            self._alerts.take(changes)

    def copy_to_clipboard(self, text: str) -> None:
        """As `App.copy_to_clipboard`, made safe: what is copied here is pasted elsewhere."""
        super().copy_to_clipboard(safe_copy(text))

    def write_to_terminal(self, sequence: str) -> None:
        """Send a control sequence beside what is painted; everything in it that is not ours has been made safe."""
        # Textual has no public way to; its own clipboard goes this way.
        if sequence and not self.is_headless and self._driver is not None:
            self._driver.write(sequence)
