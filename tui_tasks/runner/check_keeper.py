"""Keeping what is known of checks true, in one process: what is configured, and what has changed since it passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_tasks.core.read import checks
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner.checks import CheckProfiles

if TYPE_CHECKING:
    from tui_tasks.runner.input_watch import InputWatch


class CheckKeeper:
    """Tells the state of the configuration's checks, and that an input of what has passed was changed.

    settings: what the human has configured; the same object as long as that has not changed.
    alone: no other configuration file counts any more; for what the human looks at.
    """

    def __init__(self, settings: Callable[[], CheckProfiles], *, alone: bool = False) -> None:
        self._settings = settings
        self._alone = alone
        self._told: CheckProfiles | None = None
        self._watch: InputWatch | None = None

    @property
    def profiles(self) -> CheckProfiles:
        """What is configured."""
        return self._settings()

    @property
    def fds(self) -> list[int]:
        """What becomes readable when an input may have been changed."""
        return self._watch.fds if self._watch is not None else []

    @property
    def polls(self) -> bool:
        """Whether it is to be asked again and again, as the kernel does not tell of all inputs."""
        return self._watch is not None and self._watch.polls

    def has_changed(self) -> bool:
        """Whether the configuration is another than the state was told."""
        return self._settings() is not self._told

    def look(self, store: Store, now: int) -> None:
        """Tell the state what is so now.

        Raises:
            StorageFailed: it could not be written.
        """
        found = self._settings()
        if found is not self._told:
            if found.is_known:
                self._define(store, found, now)
            self._told = found
        if found.profiles:
            self._watched().look(store, found, now)

    def _watched(self) -> InputWatch:
        if self._watch is None:
            # Nearly nobody has checks.
            from tui_tasks.runner.input_watch import InputWatch

            self._watch = InputWatch()
        return self._watch

    def _define(self, store: Store, found: CheckProfiles, now: int) -> None:
        """Write what is configured, where the state has it otherwise: a write lock for nothing keeps others waiting."""
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
        """Watch nothing any more."""
        if self._watch is not None:
            self._watch.close()
