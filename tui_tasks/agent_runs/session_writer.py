"""Writes the reports of one session in order. What cannot be written now is written the next time."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import msgspec

from tui_tasks import clock
from tui_tasks.core.operations.jobs import NoteRunAgent
from tui_tasks.core.operations.sessions import Process, SessionReport
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.hooks import intake, storable
from tui_tasks.settings import project
from tui_tasks.settings.config import SessionSettings
from tui_tasks.settings.project import ProjectRefused


class SessionWriter:
    """Writes the reports of one session.

    Attributes:
        agent: the name of the session's agent; None until something was written.
    """

    def __init__(self, store: Store, run_uid: str, settings: SessionSettings) -> None:
        self._store = store
        self._run_uid = run_uid
        self._settings = settings
        self._waiting: deque[SessionReport] = deque()
        self._process = Process()
        self._project: str | None = None
        self.agent: str | None = None

    def begin(self, process: Process, cwd: str) -> None:
        """Set the process of the program and its working directory."""
        self._process = process
        try:
            self._project = project.of_folder(Path(cwd))
        except (ProjectRefused, OSError, ValueError):
            self._project = None

    @property
    def is_pending(self) -> bool:
        """Whether there is something to write."""
        return bool(self._waiting)

    def add(self, report: SessionReport) -> None:
        """Queue a report, without what the human has configured not to be kept."""
        report = storable.stored_form(report)
        events = tuple(map(storable.bounded, report.events))
        whole = msgspec.structs.replace(
            report, events=events, at=clock.now(), process=self._process, project=self._project
        )
        self._waiting.append(storable.discreet(whole, self._settings))

    def write(self) -> None:
        """Write the queue, in one transaction.

        Raises:
            StorageFailed: the queue is unchanged.
        """
        if not self._waiting:
            return
        with self._store.transaction(clock.now()) as transaction:
            for report in self._waiting:
                intake.record_report(transaction, "", report, tasks=self._settings.tasks)
            named = session_queries.by_session(transaction.db, report.program, report.session)
            if self.agent is None and named is not None:
                with transaction.change():
                    transaction.speak(SYSTEM)
                    transaction.run(NoteRunAgent(self._run_uid, named[0], report.session))
        self._waiting.clear()
        self.agent = self.agent or (named[0] if named is not None else None)
