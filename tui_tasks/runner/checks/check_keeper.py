"""Keeps the state of checks up to date from one process: the configured checks, and changes to their inputs. Starts the
check runs that wait, and records those whose supervisor has died.

Checks and reviewed lists are the database's. A person's screen, or a scheduler that a person started, writes them from
the settings file that is recorded with the database; a process with other settings changes nothing, and sees changed
inputs all the same (docs: protocol, section 11).
"""

from __future__ import annotations

import logging
import math
import subprocess
import time
from collections.abc import Callable, Container, Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from tui_tasks.core.agent_snapshots import CheckRun
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.jobs import AbandonCheck, ClaimCheck
from tui_tasks.core.read import check_queries
from tui_tasks.core.rules.recorded_settings import AskLimits, ReviewPolicy, recorded, recording
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import processes
from tui_tasks.runner.checks.input_watch import POLL_SECONDS, InputWatch
from tui_tasks.runner.run_holders import Leases, end_supervisor
from tui_tasks.runner.runner_settings import CheckProfile, CheckProfiles
from tui_tasks.runner.supervisor_launch import clear_away

if TYPE_CHECKING:
    from tui_tasks.core.rules.agents.standing_answers import AnswerRule

    # What is recorded of a settings file beside the checks.
    _Others = tuple[ReviewPolicy, tuple[AnswerRule, ...], AskLimits]

_log = logging.getLogger(__name__)


class Authority(IntEnum):
    """What a process may write of its settings.

    - LOOKS: nothing; it only notices changed inputs.
    - ADDS: its checks, as long as no settings file is recorded with the database.
    - UPDATES: also what has changed in the recorded file.
    - RECORDS: also which file that is, where none is recorded.
    """

    LOOKS = 0
    ADDS = 1
    UPDATES = 2
    RECORDS = 3


class CheckKeeper:
    """Writes the configured checks into the state, and makes passed checks stale when an input file changes.

    Args:
        settings: returns the configured checks; the same object as long as the configuration is unchanged.
        review: returns the configured policy for review, likewise.
        rules: returns the configured standing answers, likewise.
        asks: returns how many questions may wait by the configuration, likewise.
        authority: what of them this process may write.
        alone: whether the checks of all other configuration files are removed; set if the human's own file is read.
    """

    def __init__(
        self,
        settings: Callable[[], CheckProfiles],
        review: Callable[[], ReviewPolicy] = ReviewPolicy,
        rules: Callable[[], tuple[AnswerRule, ...]] = tuple,
        asks: Callable[[], AskLimits] = AskLimits,
        *,
        authority: Authority = Authority.ADDS,
        alone: bool = False,
    ) -> None:
        self._settings = settings
        self._review = review
        self._rules = rules
        self._asks = asks
        self._authority = authority
        self._alone = alone
        self._last_defined: CheckProfiles | None = None
        self._last_others: _Others | None = None
        self._watch: InputWatch | None = None
        self._refused: Operation | None = None

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
        return self._settings() is not self._last_defined or self._others() != self._last_others

    def _others(self) -> _Others:
        return self._review(), self._rules(), self._asks()

    def look(self, store: Store, now: int, *, reads_contents: bool = False) -> None:
        """Write changes of the configuration and of input files into the state.

        `reads_contents`: also read all contents now and then, as a scheduler does.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        profiles, others = self._settings(), self._others()
        if profiles is not self._last_defined or others != self._last_others:
            if profiles.is_known:
                self._write(store, profiles, others, now)
            self._last_defined, self._last_others = profiles, others
        if store.db.machine and profiles.is_known and self._authority >= Authority.UPDATES:
            self._place(store, profiles, now)
        if self._watch is not None or check_queries.has_passed(store.db):
            self._input_watch().look(store, profiles, now, reads_contents=reads_contents)

    def read_inputs(self, store: Store, run_uids: Iterable[str], now: int) -> dict[str, bool]:
        """Read the inputs of passed runs again; return of each run whether they are as they were.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        return self._input_watch().read(store, self._settings(), run_uids, now)

    def _input_watch(self) -> InputWatch:
        if self._watch is None:
            # Made on first use: few configurations have checks.
            self._watch = InputWatch()
        return self._watch

    def _write(self, store: Store, profiles: CheckProfiles, others: _Others, now: int) -> None:
        """Record the settings where they differ from what is recorded, as far as this process has the right. Where they
        do not, nothing is written, as a write makes others wait.
        """
        machine, known = store.db.machine, recorded(store.db)
        source = check_queries.source_on(machine, profiles.source)
        has_settings = bool(profiles.profiles or others != (ReviewPolicy(), (), AskLimits()))
        if known is None and (self._authority < Authority.RECORDS or not has_settings):
            if self._authority >= Authority.ADDS and not machine:
                self._define(store, profiles, now)
        elif known is None or (known.source == source and self._authority >= Authority.UPDATES):
            if known is None or (known.policy, known.rules, known.asks) != others:
                self._commit(store, recording(source, *others), now)
            self._define(store, profiles, now)

    def _define(self, store: Store, profiles: CheckProfiles, now: int) -> None:
        machine = store.db.machine
        source = check_queries.source_on(machine, profiles.source)
        known = {
            name: (each.digest, each.lists, each.gate, each.cwd, each.inputs)
            for name, each in check_queries.definitions_of(store.db, source).items()
            if not each.deleted and name not in profiles.unreadable
        }
        others = self._alone and any(each.source != source for each in check_queries.definitions(store.db))
        if known != profiles.defined(machine) or others:
            self._commit(store, profiles.definition(machine, alone=self._alone), now)

    def _place(self, store: Store, profiles: CheckProfiles, now: int) -> None:
        """Write how this machine runs the checks of a server; its settings file is the first that a person used."""
        definitions = check_queries.definitions(store.db)
        known = {each.name: place for each in definitions if (place := each.place(store.db.machine)) is not None}
        sources = {place.source for place in known.values()}
        if sources - {profiles.source} or (not sources and self._authority < Authority.RECORDS):
            return
        before = {name: (place.digest, place.cwd) for name, place in known.items()}
        wanted = {name: before[name] for name in profiles.unreadable & before.keys()} | profiles.places(definitions)
        if before != wanted:
            from tui_tasks.core.operations.jobs import PlaceChecks  # only a changed settings file needs it

            self._commit(store, PlaceChecks(profiles.source, wanted), now)

    def _commit(self, store: Store, operation: Operation, now: int) -> None:
        """Commit once what a server may refuse: to an agent's role it does."""
        if operation == self._refused:
            return
        try:
            store.commit(operation, actor=SYSTEM, now=now)
        except StorageFailed as failure:
            if failure.data.get("retryable", True):
                raise
            self._refused = operation
            _log.warning("checks of the settings are not recorded: %s", failure.message)

    def close(self) -> None:
        """Stop watching input files."""
        if self._watch is not None:
            self._watch.close()


StartCheck = Callable[[Store, CheckRun, CheckProfile], "subprocess.Popen[bytes] | None"]


class CheckStarter:
    """Runs the checks of this process's configuration file; a process with another file runs that file's checks."""

    def __init__(self, keeper: CheckKeeper, clock: Callable[[], int], lease: float, start: StartCheck) -> None:
        self.keeper = keeper
        self._clock = clock
        self._leases = Leases(lease)
        self._start = start

    def next_look(self, now: float) -> float:
        """Return when to run the next turn although nobody commits, in seconds of the monotonic clock."""
        return min(self._leases.next_look(now), now + POLL_SECONDS if self.keeper.polls else math.inf)

    def turn(self, store: Store, max_parallel: int, alive: Container[str]) -> dict[str, subprocess.Popen[bytes]]:
        """Update the checks' state, abandon dead runs and start waiting ones; return the supervisors started, by run.

        `alive`: the runs whose supervisors were started here and are alive.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        self.keeper.look(store, self._clock(), reads_contents=True)
        self._abandon_dead_runs(store, alive)
        return self._start_waiting_runs(store, max_parallel)

    def _commit(self, store: Store, operation: Operation) -> Any:
        return store.commit(operation, actor=SYSTEM, now=self._clock())[0]

    def _abandon_dead_runs(self, store: Store, alive: Container[str]) -> None:
        begun = check_queries.running_on(store.db, store.db.machine)
        self._leases.keep_only(run.uid for run in begun)
        for run in begun:
            heartbeat = heartbeats.heartbeat_of(store.db, run.uid)
            reason = self._leases.reason_to_abandon(run.uid, heartbeat, time.monotonic(), is_starting=run.uid in alive)
            if reason is not None and self._commit(store, AbandonCheck(run.uid, heartbeat)):
                end_supervisor(heartbeat)
                clear_away(run.uid)

    def _start_waiting_runs(self, store: Store, max_parallel: int) -> dict[str, subprocess.Popen[bytes]]:
        waiting = check_queries.runs_in(store.db, "waiting")
        if not waiting:
            return {}
        machine = store.db.machine
        known = {
            each.uid: found
            for each in check_queries.definitions(store.db)
            if (found := self.keeper.profiles.find(each, machine)) is not None
        }
        started = {}
        for run in waiting:
            profile = known.get(run.check_uid)
            # Reading first avoids a useless write lock, for which every other writer would wait.
            begun = check_queries.running_on(store.db, machine)
            if (
                profile is None
                or run.machine not in ("", machine)
                or len(begun) >= max_parallel
                or any((each.check_uid, each.cwd) == (run.check_uid, run.cwd) for each in begun)
            ):
                continue
            heartbeat = Heartbeat(run.uid, False, *processes.identity(machine=machine), at=self._clock())
            claimed = self._commit(store, ClaimCheck(run.uid, heartbeat, max_parallel))
            if claimed is None:
                continue
            self._leases.expect(heartbeat, time.monotonic())
            child = self._start(store, claimed, profile)
            if child is not None:
                started[run.uid] = child
        return started
