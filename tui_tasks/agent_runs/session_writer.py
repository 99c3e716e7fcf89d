"""Writes what an agent program tells of its session, in order; what could not be written waits for the next time."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import msgspec

from tui_tasks import clock
from tui_tasks.core.operations.jobs import NoteRunAgent
from tui_tasks.core.operations.sessions import Heard, Process
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.hooks import discretion, intake, storable
from tui_tasks.settings import project
from tui_tasks.settings.config import SessionSettings
from tui_tasks.settings.project import ProjectRefused


class SessionWriter:
    """What is told of one session.

    Attributes:
        agent: the name under which the session speaks; None until something of it was written.
    """

    def __init__(self, store: Store, run_uid: str, settings: SessionSettings) -> None:
        self._store = store
        self._run_uid = run_uid
        self._settings = settings
        self._waiting: deque[Heard] = deque()
        self._process = Process()
        self._project: str | None = None
        self.agent: str | None = None

    def begin(self, process: Process, cwd: str) -> None:
        """Say whose process the agent is, and where it works."""
        self._process = process
        try:
            self._project = project.of_folder(Path(cwd))
        except (ProjectRefused, OSError, ValueError):
            self._project = None

    @property
    def is_pending(self) -> bool:
        """Whether there is something to write."""
        return bool(self._waiting)

    def add(self, heard: Heard) -> None:
        """Have something written, without what is not to be kept."""
        heard = storable.told(heard)
        facts = tuple(map(storable.bounded, heard.facts))
        whole = msgspec.structs.replace(
            heard, facts=facts, at=clock.now(), process=self._process, project=self._project
        )
        self._waiting.append(discretion.discreet(whole, self._settings))

    def write(self) -> None:
        """Write what waits, in one transaction.

        Raises:
            StorageFailed: all of it waits on.
        """
        if not self._waiting:
            return
        with self._store.transaction(clock.now()) as transaction:
            for heard in self._waiting:
                intake.take_one(transaction, "", heard, tasks=self._settings.tasks)
            named = sessions.by_session(transaction.db, heard.program, heard.session)
            if self.agent is None and named is not None:
                with transaction.change():
                    transaction.speak(SYSTEM)
                    transaction.run(NoteRunAgent(self._run_uid, named[0], heard.session))
        self._waiting.clear()
        self.agent = self.agent or (named[0] if named is not None else None)
