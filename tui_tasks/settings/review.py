"""The review lane in the configuration file, as it is now (docs: protocol, section 11, `[review]`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.rules.tasks.review_policy import ReviewPolicy
from tui_tasks.settings import paths

if TYPE_CHECKING:
    from pathlib import Path


class ReviewSettings:
    """Returns the policy, and reads the file again when it has changed, so that changes apply at once."""

    def __init__(self, find: Callable[[], str | Path] = paths.configuration_path) -> None:
        """`find` returns the path of the file; it is called once, at the first use."""
        self._find = find
        self._file: str | Path | None = None
        self._stamp: tuple[int, ...] | None = None
        self._policy = ReviewPolicy()

    def __call__(self) -> ReviewPolicy:
        """Return the policy. A file with mistakes leaves the last one in force."""
        try:
            file = self._file = self._file or self._find()
            found = os.stat(file)
        except (OSError, DatabaseRefused):
            self._stamp, self._policy = None, ReviewPolicy()
            return self._policy
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
        if stamp != self._stamp:
            # Imported here, as few have such a file.
            from pathlib import Path

            from tui_tasks.settings import config

            settings, problems = config.load(Path(file))
            if not problems or settings.review != ReviewPolicy():
                self._policy = settings.review
            self._stamp = stamp
        return self._policy
