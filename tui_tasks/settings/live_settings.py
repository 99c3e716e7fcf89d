"""What of the configuration file applies at once, without a restart: the checks, the runners, the review lane, the
standing answers, how many questions may wait.

The file is read again when it has changed (docs: configuration, "Checks"; protocol, section 11, `[review]`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.rules.recorded_settings import AskLimits, ReviewPolicy
from tui_tasks.settings import paths

if TYPE_CHECKING:
    from pathlib import Path

    from tui_tasks.core.rules.agents.standing_answers import AnswerRule
    from tui_tasks.runner.checks.check_settings import CheckProfiles
    from tui_tasks.runner.runner_settings import Runners
    from tui_tasks.settings.config import Config


def source_of(file: str | Path) -> str:
    """Return the path by which a settings file is recorded with a database."""
    return os.path.abspath(file)


def _checks_of(source: str, *, is_known: bool = True) -> CheckProfiles:
    """Return the checks of a file without any."""
    from tui_tasks.runner.checks.check_settings import CheckProfiles  # a short command has none

    return CheckProfiles(source, is_known=is_known)


class CheckSettings:
    """Returns the checks, and reads the file again when it has changed; until then the result is the same object."""

    def __init__(self, find: Callable[[], str | Path] = paths.configuration_path) -> None:
        """`find` returns the path of the file; it is called once, at the first use."""
        self._find = find
        self._file: str | None = None
        self._stamp: object = ()
        self._known = _checks_of("", is_known=False)

    def __call__(self) -> CheckProfiles:
        """Return the checks. A file that cannot be read, or is not TOML, leaves the last ones in force."""
        try:
            file = self._file = self._file or source_of(self._find())
        except DatabaseRefused:
            return self._known
        try:
            stat_result = os.stat(file)
            stamp = (stat_result.st_mtime_ns, stat_result.st_ctime_ns, stat_result.st_size, stat_result.st_ino)
        except FileNotFoundError:
            stamp = None
        except OSError:
            return self._known
        if stamp != self._stamp:
            self._stamp = stamp
            self._known = self._read(file) if stamp is not None else _checks_of(file)
        return self._known

    def _read(self, file: str) -> CheckProfiles:
        # Imported here, as few have such a file.
        from pathlib import Path

        import msgspec

        from tui_tasks.runner.checks.check_settings import read_checks
        from tui_tasks.settings import config, work_settings

        settings, problems = config.load(Path(file))
        if problems and not settings.check:
            return msgspec.structs.replace(self._known, source=file, unreadable=frozenset(), is_known=False)
        try:
            filters = work_settings.read(settings.work).filters
        except msgspec.ValidationError:
            filters = ()
        return read_checks(settings.check, file, filters)[0]


Table = TypeVar("Table")


class CurrentTable(Generic[Table]):
    """Returns a table of the file, and reads the file again when it has changed, so that changes apply at once."""

    def __init__(
        self,
        table: Callable[[Config], Table],
        default: Table,
        find: Callable[[], str | Path] = paths.configuration_path,
    ) -> None:
        """`table` takes the table out of the settings; `find` returns the path of the file, and is called once, at the
        first use.
        """
        self._table = table
        self._default = default
        self._find = find
        self._file: str | Path | None = None
        self._stamp: tuple[int, ...] | None = None
        self._current = default

    def __call__(self) -> Table:
        """Return the table. A file with mistakes leaves the last one in force."""
        try:
            file = self._file = self._file or self._find()
            stat_result = os.stat(file)
        except (OSError, DatabaseRefused):
            self._stamp, self._current = None, self._default
            return self._current
        stamp = (stat_result.st_mtime_ns, stat_result.st_size, stat_result.st_ino, stat_result.st_mode)
        if stamp != self._stamp:
            # Imported here, as few have such a file.
            from pathlib import Path

            from tui_tasks.settings import config

            settings, problems = config.load(Path(file))
            if not problems or self._table(settings) != self._default:
                self._current = self._table(settings)
            self._stamp = stamp
        return self._current


def review_settings(find: Callable[[], str | Path] = paths.configuration_path) -> CurrentTable[ReviewPolicy]:
    """Return what returns the lists under review."""
    return CurrentTable(lambda settings: settings.review, ReviewPolicy(), find)


def answer_rules(find: Callable[[], str | Path] = paths.configuration_path) -> CurrentTable[tuple[AnswerRule, ...]]:
    """Return what returns the standing answers."""
    return CurrentTable(lambda settings: settings.rule, (), find)


def ask_limits(find: Callable[[], str | Path] = paths.configuration_path) -> CurrentTable[AskLimits]:
    """Return what returns how many questions may wait for the human."""
    return CurrentTable(lambda settings: settings.asks, AskLimits(), find)


def runners() -> Runners:
    """Read the configured runners; an edit of the file applies from the next start of a run."""
    from tui_tasks.runner import runner_settings
    from tui_tasks.settings import config

    file = paths.configuration()
    settings, _ = config.load(file)
    return runner_settings.read(settings.runner, str(file))[0]
