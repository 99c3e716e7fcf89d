"""Starts an agent on a task: the state first, then git, then the program. A failure undoes the earlier steps."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tui_tasks import installation
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.file_writes import make_folder
from tui_tasks.core.errors import Conflict, Refusal
from tui_tasks.core.operations.asks import DeliverMessages
from tui_tasks.core.operations.sessions import EndSession
from tui_tasks.core.operations.work import FailWork, StartWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import work_refusals
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN, LIVE_WORK, SYSTEM
from tui_tasks.installation import data_folder
from tui_tasks.runner import processes
from tui_tasks.settings import live_settings, project
from tui_tasks.settings.project import ProjectRefused
from tui_tasks.settings.work_settings import WorkSettings
from tui_tasks.text.times import count
from tui_tasks.work import agent_terminals, agent_worktrees, clean_up, program_commands
from tui_tasks.work.agent_terminals import Terminals, is_there
from tui_tasks.work.agent_worktrees import Place
from tui_tasks.work.git import worktrees
from tui_tasks.work.launcher import LaunchFile, not_again
from tui_tasks.work.program_commands import prompt


class StartRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the human asks for.

    Attributes:
        program: the program; empty: that of the settings, else the one used last.
        here: in the checkout itself, not in a worktree of its own.
        words: extra words for the agent.
        base: the branch to begin on; empty: as set.
        branch: the name of the branch; empty: as set.
        race: beside another agent on the same task.
        share: in a folder in which another agent works.
        limits: limits of this agent by name, in place of those of the settings.
        beside: in the worktree of the newest work on the task: a reviewer, or another go after its agent has ended.
    """

    program: str = ""
    here: bool = False
    words: str = ""
    base: str = ""
    branch: str = ""
    race: bool = False
    share: bool = False
    limits: dict[str, float] = {}
    beside: bool = False


class Started(NamedTuple):
    """The result of a start: the work, and notes for the human."""

    work: Work
    notes: tuple[str, ...]


def is_full(db: Database, settings: WorkSettings) -> bool:
    """Return whether as many agents are at work as `[work] max_agents` allows."""
    return work_queries.count_busy(db) >= settings.max_agents


class Starter:
    """Starts agents on tasks of a database.

    Args:
        store: the database.
        folder: a folder in the repository.
        clock: returns the time of day, in microseconds since the epoch.
        environ: the human's environment, which agents get.
        show: is given each line that a setup command prints.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        clock: Callable[[], int],
        environ: Mapping[str, str] = os.environ,
        show: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._folder = folder
        self._clock = clock
        self._environ = environ
        self._show = show
        self._data = Path(data_folder(store.path))

    def start(self, task_uid: str, request: StartRequest) -> Started:
        """Start an agent on a task.

        Raises:
            Refusal: nothing was started, and nothing is left; the message says why.
        """
        settings = live_settings.work()
        program = request.program or program_commands.proposed(self._store, settings)
        program_commands.check(settings, program)
        task = task_queries.task(self._store.db, task_uid)
        self._refuse_too_many(settings)
        repository = agent_worktrees.find_repository(self._folder)
        place = self._place(task, request, repository, settings)
        if request.beside:
            request = msgspec.structs.replace(request, share=True, race=True)
        has_terminal = settings.terminal == "tmux" and is_there()
        folder = _below(place.path, self._folder, repository.root)
        work = self._begin(task, program, repository.root, place, folder, request, has_terminal=has_terminal)
        try:
            if place.is_new:
                agent_worktrees.make(repository, place, settings, self._show)
            self._launch(work, task, settings, [request.words])
        except (Refusal, OSError) as error:
            message = error.message if isinstance(error, Refusal) else str(error)
            if place.is_new:
                agent_worktrees.remove(repository.root, place)
            self._store.commit(FailWork(work.uid, message), actor=SYSTEM, now=self._clock())
            if isinstance(error, Refusal):
                raise
            raise Conflict(message) from error
        return Started(
            work_queries.find(self._store.db, work.uid),
            tuple(_notes(repository, place, folder, settings, program, self._data)),
        )

    def check_go_on(self, work: Work) -> None:
        """Refuse to start the program of a work again where that cannot be.

        Raises:
            Conflict: its worktree is gone, its program is not installed, or too many agents are at work.
        """
        work_refusals.check_here(self._store.db, work)
        if not Path(work.worktree).is_dir():
            raise Conflict(f"the worktree {work.worktree} is gone: discard the work", path=work.worktree)
        settings = live_settings.work()
        program_commands.check(settings, work.program)
        if work.state != "working":
            self._refuse_too_many(settings)

    def go_on(self, work: Work) -> None:
        """Start the program of a work again, as its process has ended: its prompt is all that waits for the agent.

        A program that can resume a session does so.

        Raises:
            Conflict: it cannot be started; what waits still does.
        """
        session = session_queries.find(self._store.db, work.agent)
        if session is not None and session.state != session_queries.GONE:
            self._store.commit(EndSession(work.agent, "its process has ended"), actor=SYSTEM, now=self._clock())
        messages = self._store.commit(DeliverMessages(work.agent), actor=work.agent, now=self._clock())[0]
        settings = live_settings.work()
        resumes = program_commands.resumes(settings, work, session)
        delivered = tuple(one.delivered_seq for one in messages if one.delivered_seq is not None)
        try:
            if work.terminal is not None:
                Terminals(self._store.path).end(work.terminal)
            task = task_queries.task(self._store.db, work.task_uid)
            words = [one.text for one in messages]
            self._launch(work, task, settings, words, resumes=resumes, delivered=delivered)
        except (Refusal, OSError) as error:
            message = error.message if isinstance(error, Refusal) else str(error)
            self._store.commit(*not_again(work, message, delivered), actor=SYSTEM, now=self._clock())
            raise Conflict(f"{work.agent} has ended and cannot be started again: {message}") from error

    def _place(
        self, task: Task, request: StartRequest, repository: agent_worktrees.Repository, settings: WorkSettings
    ) -> Place:
        """Return where the agent is to work.

        Raises:
            Refusal: it cannot work there.
        """
        if request.beside:
            return self._beside(task)
        if request.here:
            return agent_worktrees.checkout(repository, request.base)
        clean_up.remove_unchanged(self._store, task.uid, settings.copy)
        others = _count_places(work_queries.of_task(self._store.db, task.uid))
        return agent_worktrees.plan(
            repository,
            settings,
            task.number,
            task.name,
            self._data,
            base=request.base,
            branch=request.branch,
            nth=others + 1,
        )

    def _beside(self, task: Task) -> Place:
        """Return the place of the newest work on a task that is not over.

        Raises:
            Conflict: there is none, or its folder is gone.
        """
        works = [work for work in work_queries.of_task(self._store.db, task.uid) if work.state in LIVE_WORK]
        if works:
            work_refusals.check_here(self._store.db, works[-1])
        if not works or not Path(works[-1].worktree).is_dir():
            raise Conflict(f"no worktree is at work on #{task.number}: start an agent in a new one", id=task.uid)
        other = works[-1]
        folder = Path(other.worktree)
        return Place(folder, other.branch, other.base, worktrees.commit_of(folder, "HEAD") or "", is_new=False)

    def _refuse_too_many(self, settings: WorkSettings) -> None:
        if is_full(self._store.db, settings):
            busy, most = count(work_queries.count_busy(self._store.db), "agent"), settings.max_agents
            raise Conflict(f"{busy} at work, and [work] max_agents is {most}: wait, or raise it", limit=most)

    def _begin(
        self,
        task: Task,
        program: str,
        root: Path,
        place: Place,
        folder: Path,
        request: StartRequest,
        *,
        has_terminal: bool,
    ) -> Work:
        """Write what is about to be made."""
        operation = StartWork(
            task.uid,
            program,
            str(root),
            str(place.path),
            makes_worktree=place.is_new,
            branch=place.branch,
            base=place.base,
            base_commit=place.base_commit,
            has_terminal=has_terminal,
            is_shared=request.share,
            is_race=request.race,
            project=_project(root),
            folder=str(folder),
            limits=request.limits,
        )
        work: Work = self._store.commit(operation, actor=HUMAN, now=self._clock())[0]
        return work

    def _launch(
        self,
        work: Work,
        task: Task,
        settings: WorkSettings,
        words: Sequence[str],
        *,
        resumes: str | None = None,
        delivered: tuple[int, ...] | None = None,
    ) -> None:
        """Start the launcher, which runs the program: in a tmux terminal if the work has one, else in the background.

        `resumes`: the session that it resumes, with the words alone as its prompt (see `program_commands.command`).
        `delivered`: the entries that delivered these words, if it is started again.
        """
        folder = self._data / "work"
        make_folder(str(folder))
        starter = " ".join(installation.starter())
        cwd = _start_folder(self._store.db, work)
        whole = prompt(self._store.db, task, work, words, folder=cwd, command=starter)
        text = "\n\n".join(words) if resumes is not None else whole
        database = str(Path(self._store.path).resolve())
        address = self._store.db.address if self._store.db.machine else database
        command = program_commands.command(
            settings, work, text, address, folder, self._environ, is_headless=work.terminal is None, resumes=resumes
        )
        environment = command.environment | ({"TERM": "screen-256color"} if work.terminal is not None else {})
        prompt_to_record = "" if command.has_hooks else text
        path = folder / f"{work.uid}.launch"
        LaunchFile(database, work.uid, command.argv, cwd, environment, prompt_to_record, delivered).write(path)
        argv = [sys.executable, "-P", "-m", processes.LAUNCHER, str(path)]
        try:
            if work.terminal is not None:
                Terminals(database).start(work.terminal, argv, Path(cwd))
            else:
                _start_headless(argv, folder / f"{work.uid}.log", cwd, self._environ)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _below(place: Path, folder: Path, root: Path) -> Path:
    """Return the folder of a place of work that a folder is of the checkout: the same one below it, or the place itself
    where a name is not UTF-8, as no session can have it.
    """
    below = os.path.relpath(os.path.realpath(folder), os.path.realpath(root))
    return place / below if os.fsencode(below) == below.encode(errors="replace") else place


def _start_folder(db: Database, work: Work) -> str:
    """Return the folder in which the agent of a work starts: the one with which it began, if the worktree has it."""
    folder, worktree = session_queries.first_folder(db, work.agent) or work.worktree, os.path.realpath(work.worktree)
    is_there = Path(folder).is_dir() and f"{os.path.realpath(folder)}/".startswith(f"{worktree}/")
    return folder if is_there else work.worktree


def _count_places(works: Sequence[Work]) -> int:
    """Return how many works of a task there are, up to the last that is not a failure of which nothing is left."""
    places = (
        at
        for at, work in enumerate(works, 1)
        if work.state != "failed" or work.kept is not None or os.path.lexists(work.worktree)
    )
    return max(places, default=0)


def _start_headless(argv: list[str], log: Path, cwd: str, environ: Mapping[str, str]) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,
        )
    finally:
        os.close(handle)


def _project(root: Path) -> str | None:
    try:
        return project.of_folder(root)
    except (ProjectRefused, OSError, ValueError):
        return None


def _notes(
    repository: agent_worktrees.Repository, place: Place, folder: Path, settings: WorkSettings, program: str, data: Path
) -> list[str]:
    """Return what the human should know of the place of work."""
    notes = []
    if repository.why_no_identity:
        notes.append(f"To merge it later: {repository.why_no_identity}")
    if settings.terminal == "tmux" and not is_there():
        notes.append(f"Without a terminal: {agent_terminals.why_not()}")
    if not folder.is_dir():
        notes.append(f"It starts in {place.path}: {folder.relative_to(place.path)} has no committed file")
    if place.is_new and repository.has_changes:
        notes.append(f"The uncommitted changes of {repository.root} are not in the worktree")
    if place.is_new and repository.has_submodules:
        notes.append("Submodules are empty: a `setup` command can fetch them")
    if place.is_new and repository.has_lfs and "lfs" not in settings.filters:
        notes.append('LFS files are pointers: `filters = ["lfs"]` in [work] fetches them')
    if program == "gemini" and (open_one := _open_to_others(data)) is not None:
        notes.append(f"Gemini CLI reads no settings below {open_one}, as others may write there: it reports nothing")
    return notes


def _open_to_others(folder: Path) -> Path | None:
    """Return the nearest folder, of this one and those above it, that a group or everybody may write; None: none."""
    return next((one for one in (folder, *folder.parents) if one.stat().st_mode & 0o022), None)
