"""What of the configuration file applies at once, without a restart: the checks, the runners, which lists are under
review, the standing answers, how many questions may wait.

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
    from tui_tasks.runner.runner_settings import CheckProfiles, Runners
    from tui_tasks.settings.config import Config
    from tui_tasks.settings.work_settings import WorkSettings


Value = TypeVar("Value")


class LiveValue(Generic[Value]):
    """Returns what is read from the file: the same object until the file has changed."""

    def __init__(
        self,
        read: Callable[[str, Value], Value],
        default: Callable[[str], Value],
        initial: Value,
        find: Callable[[], str | Path],
    ) -> None:
        """`read` is given the path of the file and the last value; `default` returns the value without a file.
        `initial` holds until the file was looked at. `find` returns the path of the file; it is called once, at the
        first use.
        """
        self._read = read
        self._default = default
        self._find = find
        self._file: str | None = None
        self._stamp: object = ()
        self._last = initial

    def __call__(self) -> Value:
        """Return the value; the last one while it is unknown what the file holds."""
        try:
            file = self._file = self._file or source_of(self._find())
            found = os.stat(file)
            stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        except FileNotFoundError:
            stamp = None
        except (OSError, DatabaseRefused):
            return self._last
        if stamp != self._stamp:
            self._last = self._default(file) if stamp is None else self._read(file, self._last)
            self._stamp = stamp
        return self._last


def source_of(file: str | Path) -> str:
    """Return the path by which a settings file is recorded with a database."""
    return os.path.abspath(file)


def check_profiles(find: Callable[[], str | Path] = paths.configuration_path) -> LiveValue[CheckProfiles]:
    """Return the checks as they are now, at each call."""
    return LiveValue(_read_checks, _checks_of, _checks_of("", is_known=False), find)


def _checks_of(source: str, *, is_known: bool = True) -> CheckProfiles:
    """Return what a file without checks has."""
    from tui_tasks.runner.runner_settings import CheckProfiles  # a short command has none

    return CheckProfiles(source, is_known=is_known)


def _read_checks(file: str, last: CheckProfiles) -> CheckProfiles:
    """Return the checks of a file; the last ones, as not known, if it is not TOML or may not be read."""
    # Imported here, as few have such a file.
    from pathlib import Path

    import msgspec

    from tui_tasks.settings import config, work_settings
    from tui_tasks.settings.run_tables import read_checks

    settings, problems = config.load(Path(file))
    if problems and not settings.check:
        return msgspec.structs.replace(last, source=file, unreadable=frozenset(), is_known=False)
    try:
        filters = work_settings.read(settings.work).filters
    except msgspec.ValidationError:
        filters = ()
    return read_checks(settings.check, file, filters)[0]


def _table(table: Callable[[Config], Value], default: Value, find: Callable[[], str | Path]) -> LiveValue[Value]:
    """Return a table of the file as it is now, at each call. A file with mistakes leaves the last one in force."""

    def read(file: str, last: Value) -> Value:
        # Imported here, as few have such a file.
        from pathlib import Path

        from tui_tasks.settings import config

        settings, problems = config.load(Path(file))
        given = table(settings)
        return last if problems and given == default else given

    return LiveValue(read, lambda _: default, default, find)


def review_settings(find: Callable[[], str | Path] = paths.configuration_path) -> LiveValue[ReviewPolicy]:
    """Return the lists under review, at each call."""
    return _table(lambda settings: settings.review, ReviewPolicy(), find)


def answer_rules(find: Callable[[], str | Path] = paths.configuration_path) -> LiveValue[tuple[AnswerRule, ...]]:
    """Return the standing answers, at each call."""
    return _table(lambda settings: settings.rule, (), find)


def ask_limits(find: Callable[[], str | Path] = paths.configuration_path) -> LiveValue[AskLimits]:
    """Return how many questions may wait for the human, at each call."""
    return _table(lambda settings: settings.asks, AskLimits(), find)


def work() -> WorkSettings:
    """Read the settings of work."""
    from tui_tasks.settings import config, work_settings

    return work_settings.read(config.load(paths.configuration())[0].work)


def work_problem() -> str:
    """Return why the settings of work are not used; empty where they are."""
    from tui_tasks.settings import config

    problems = config.load(paths.configuration())[1]
    whole = ("work:", "work.", "not TOML", "cannot be read")
    return next((f"Your [work] is not used. {each}" for each in problems if each.message.startswith(whole)), "")


def runners() -> Runners:
    """Read the configured runners; an edit of the file applies from the next start of a run."""
    from tui_tasks.settings import config, run_tables

    file = paths.configuration()
    settings, _ = config.load(file)
    return run_tables.read_runners(settings.runner, str(file))[0]
