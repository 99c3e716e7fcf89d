"""The checks as the configuration file has them now (docs: configuration, "Checks")."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.runner.checks.checks import CheckProfiles
from tui_tasks.settings import paths

if TYPE_CHECKING:
    from pathlib import Path


class CheckSettings:
    """Tells the checks, and reads the file anew once it has changed; while it has not, what is told is the same."""

    def __init__(self, find: Callable[[], str | Path] = paths.configuration_path) -> None:
        """`find` tells where the file is; it is asked once, when the checks are first wanted."""
        self._find = find
        self._file: str | None = None
        self._stamp: object = ()
        self._known = CheckProfiles("", is_known=False)

    def __call__(self) -> CheckProfiles:
        """Return what the file says. One that cannot be read, or is no TOML, changes nothing of what held before."""
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
        # Only now: nearly nobody has a file.
        from pathlib import Path

        from tui_tasks.runner.checks.check_table import read
        from tui_tasks.settings import config

        settings, problems = config.load(Path(file))
        if problems and not settings.check:
            return CheckProfiles(file, self._known.profiles, is_known=False)
        return read(settings.check, file)[0]
