"""The review lane as the configuration file has it now (docs: protocol, section 11, `[review]`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.rules.tasks.review_policy import ReviewPolicy
from tui_tasks.settings import paths


class ReviewSettings:
    """Tells the policy, and reads the file anew once it has changed: what the human says there holds at once."""

    def __init__(self, find: Callable[[], Path] = paths.configuration) -> None:
        """`find` tells where the file is; it is asked once, when the policy is first wanted."""
        self._find = find
        self._file: Path | None = None
        self._stamp: tuple[int, ...] | None = None
        self._policy = ReviewPolicy()

    def __call__(self) -> ReviewPolicy:
        """Return what holds now. A file that is wrong changes nothing of what held before."""
        try:
            file = self._file = self._file or self._find()
            found = file.stat()
        except (OSError, DatabaseRefused):
            self._stamp, self._policy = None, ReviewPolicy()
            return self._policy
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
        if stamp != self._stamp:
            from tui_tasks.settings import config  # only now: nearly nobody has a file

            settings, problems = config.load(file)
            if not problems or settings.review != ReviewPolicy():
                self._policy = settings.review
            self._stamp = stamp
        return self._policy
