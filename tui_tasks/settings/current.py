"""What of the configuration file applies at once, without a restart: the checks and the review lane.

The file is read again when it has changed (docs: configuration, "Checks"; protocol, section 11, `[review]`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.rules.tasks.review_policy import ReviewPolicy
from tui_tasks.runner.checks.checks import CheckProfiles
from tui_tasks.settings import paths

if TYPE_CHECKING:
    from pathlib import Path


class CheckSettings:
    """Returns the checks, and reads the file again when it has changed; until then the result is the same object."""

    def __init__(self, find: Callable[[], str | Path] = paths.configuration_path) -> None:
        """`find` returns the path of the file; it is called once, at the first use."""
        self._find = find
        self._file: str | None = None
        self._stamp: object = ()
        self._known = CheckProfiles("", is_known=False)

    def __call__(self) -> CheckProfiles:
        """Return the checks. A file that cannot be read, or is not TOML, leaves the last ones in force."""
        try:
            file = self._file = self._file or os.path.abspath(self._find())
        except DatabaseRefused:
            return self._known
        try:
            found = os.stat(file)
            stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        except FileNotFoundError:
            stamp = None
        except OSError:
            return self._known
        if stamp != self._stamp:
            self._stamp = stamp
            self._known = self._read(file) if stamp is not None else CheckProfiles(file)
        return self._known

    def _read(self, file: str) -> CheckProfiles:
        # Imported here, as few have such a file.
        from pathlib import Path

        from tui_tasks.runner.checks.check_table import read
        from tui_tasks.settings import config

        settings, problems = config.load(Path(file))
        if problems and not settings.check:
            return CheckProfiles(file, self._known.profiles, is_known=False)
        return read(settings.check, file)[0]


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
