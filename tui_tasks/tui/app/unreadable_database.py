"""The App's part while the database cannot be read: it does not end, says so, and what is shown stays as it was.

A message that cannot be handled is dropped by `AppAccess`, a change that cannot be taken in is kept by the App, and the
bridge looks each second: once all can be read, all of it is read anew.
"""

from __future__ import annotations

from textual.app import App
from textual.worker import WorkerFailed

from tui_tasks.core.engine.storage_errors import READ_ERRORS
from tui_tasks.tui.app.database_link import DatabaseLink
from tui_tasks.tui.widgets.frame import FootLine


class UnreadableDatabase(App[None]):
    """Mixed into the App."""

    bridge: DatabaseLink

    def tell_of_reading(self) -> None:
        """Say at the foot whether the database cannot be read; once it can, draw what could not be drawn."""
        for screen in self.screen_stack:
            for foot in screen.query(FootLine):
                foot.again()
        if not self.bridge.unread:
            self.refresh()

    def _handle_exception(self, error: Exception) -> None:
        # Textual ends the App here, also for what happens outside of a message: in workers, timers and layouts.
        reason = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(reason, READ_ERRORS):
            self.bridge.cannot_read(reason)
        else:
            super()._handle_exception(error)
