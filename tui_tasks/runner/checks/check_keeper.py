"""Keeps the state of checks up to date from one process: the configured checks, and changes to their inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_tasks.core.read import checks
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner.checks.checks import CheckProfiles

if TYPE_CHECKING:
    from tui_tasks.runner.checks.input_watch import InputWatch


class CheckKeeper:
    """Writes the configured checks into the state, and makes passed checks stale when an input file changes.

    Args:
        settings: returns the configured checks; the same object as long as the configuration is unchanged.
        alone: whether the checks of all other configuration files are removed; set if the human's own file is read.
    """

    def __init__(self, settings: Callable[[], CheckProfiles], *, alone: bool = False) -> None:
        self._settings = settings
        self._alone = alone
        self._last_defined: CheckProfiles | None = None
        self._watch: InputWatch | None = None

    @property
    def profiles(self) -> CheckProfiles:
        """The configured checks."""
        return self._settings()

    @property
    def fds(self) -> list[int]:
        """The descriptors that become readable when an input file may have changed."""
        return self._watch.fds if self._watch is not None else []

    @property
    def polls(self) -> bool:
        """Whether `look` must be called periodically because the kernel does not report changes of every input."""
        return self._watch is not None and self._watch.polls

    def has_changed(self) -> bool:
        """Return whether the configuration differs from what was last written into the state."""
        return self._settings() is not self._last_defined

    def look(self, store: Store, now: int) -> None:
        """Write changes of the configuration and of input files into the state.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        found = self._settings()
        if found is not self._last_defined:
            if found.is_known:
                self._define(store, found, now)
            self._last_defined = found
        if found.profiles:
            self._input_watch().look(store, found, now)

    def _input_watch(self) -> InputWatch:
        if self._watch is None:
            # Imported on first use: few configurations have checks.
            from tui_tasks.runner.checks.input_watch import InputWatch

            self._watch = InputWatch()
        return self._watch

    def _define(self, store: Store, found: CheckProfiles, now: int) -> None:
        """Write the configured checks if the state differs; a useless write lock would keep other writers waiting."""
        known = {
            name: (each.digest, each.lists, each.gate)
            for name, each in checks.every_definition(store.db, found.source).items()
            if not each.deleted and name not in found.unreadable
        }
        wanted = {name: (each.digest, each.lists, each.gate) for name, each in found.profiles.items()}
        others = self._alone and any(each.source != found.source for each in checks.definitions(store.db))
        if known != wanted or others:
            store.commit(found.definition(alone=self._alone), actor=SYSTEM, now=now)

    def close(self) -> None:
        """Stop watching input files."""
        if self._watch is not None:
            self._watch.close()
