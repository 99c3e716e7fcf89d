"""The screen as a program: settings, terminal, the App, the channel beside it, and what is printed once it is left."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tui_tasks import clock, terminal
from tui_tasks.cli.streams import ProgressBar
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import storage_errors, without_modules
from tui_tasks.core.errors import Conflict, DatabaseRefused, NotFound, StorageFailed
from tui_tasks.core.vocab import SHELL
from tui_tasks.dialects.requests import Identity
from tui_tasks.installation import DEMO_FOLDER, is_replica
from tui_tasks.settings import config, paths
from tui_tasks.state import open_store
from tui_tasks.terminal import Claimed

# asyncio imports it for connections over TLS, of which it makes none here. It takes a thirtieth of the start.
with without_modules("ssl"):
    from tui_tasks.tui.state.database_link import DatabaseLink

if TYPE_CHECKING:
    from tui_tasks.channel.loop import ControlChannel
    from tui_tasks.tui.state.projects import ProjectChoice


_log = logging.getLogger(__name__)
# Seconds that the scheduler and the follower of hooks have to end after the screen has closed.
STOP_SECONDS = 2.0
OTHER_SETTINGS = "checks and reviewed lists come from {} (`tui-tasks config --use` uses your settings)"


def run(
    db: str | None,
    pane: str,
    identity: Identity,
    *,
    project: ProjectChoice,
    scheduler: bool,
    ascii_only: bool = False,
    at: str | None = None,
) -> int:
    """Show the screen until the human leaves; return the exit status.

    `identity` speaks on the control channel, if there is one. `pane` and `project` are shown first. `scheduler`: this
    process starts jobs. `ascii_only`: draw letters for glyphs, whatever the settings say. `at`: the moment to show.

    Raises:
        DatabaseRefused, StorageFailed: the database cannot be used or read.
        InvalidArgument, Conflict: the journal has no such moment.
    """
    path, file = paths.database(db), paths.configuration()
    settings, problems = _settings(file, ascii_only=ascii_only)
    # Problems are reported before the terminal is changed.
    link = _link(path, at, read_only=identity.read_only)
    if link is None:
        return 0
    shown, unclear = _named_list(link, identity.list)
    others = [*_who_else(path, file), *_other_settings(link, file, settings), *unclear]
    claimed = _claim_terminal()
    if claimed is None:
        link.stop()
        return 1
    _log_to(claimed.log_fd, (*problems, *others))
    from tui_tasks.tui.keys import user_keys

    problems += user_keys.problems(file, settings.keys)
    options = {"pane": pane, "list_name": shown, "project": project, "problems": (*problems, *others)}
    with _once_painted(path, settings.sessions.waits(), scheduler=scheduler, writes=not identity.read_only) as painted:
        app = _make_app(link, settings, file, painted=painted, **options)
        with _channel(claimed, path, identity):
            status = terminal.run(app)
    if status == 0 and at is None and not identity.read_only:
        print("".join(f"{line}\n" for line in quitting_lines(path)), end="")
    return status


def _named_list(link: DatabaseLink, name: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the uid of the list to show first, and what the screen says where it is not clear which one is named."""
    if name is None:
        return None, ()
    from tui_tasks.cli.tasks.lookup import find_list

    try:
        return find_list(link.db, name).uid, ()
    except NotFound as missing:
        # A channel beside the screen makes the list by its first task.
        return None, (missing.message,) if os.isatty(0) else ()
    except Conflict as unclear:
        return None, (unclear.message,)


def _make_app(link: DatabaseLink, settings: config.Config, file: Path, **options: Any) -> Any:
    """Return the App for a link; `file` holds the settings, with the human's own themes beside it."""
    from tui_tasks.tui.app.task_app import TaskApp

    with storage_errors(link.path, reading=True):
        return TaskApp(link, config=settings, settings=file, user_themes=file.parent / "themes", **options)


def _link(path: str, at: str | None, *, read_only: bool) -> DatabaseLink | None:
    """Open the database as it is now, or at a past moment; None if the human left during the replay."""
    if is_replica(path):
        with ProgressBar() as progress:
            open_store.catch_up(path, progress.show)
    if at is None:
        return DatabaseLink(path, read_only=read_only, clock=clock.now)
    # Without Textual, whose import would hold up the progress line.
    from tui_tasks.tui.state.past_link import LeavingKeys, Left, PastLink

    with (
        contextlib.suppress(Left),
        LeavingKeys() as keys,
        ProgressBar("Replaying the journal (Esc leaves)") as progress,
    ):

        def report(done: int, total: int) -> None:
            keys.check()
            progress.report(done, total)

        return PastLink(path, at, clock=clock.now, report=report)
    return None


def _settings(file: Path, *, ascii_only: bool) -> tuple[config.Config, list[config.SettingsProblem]]:
    settings, problems = config.load(file)
    return (msgspec.structs.replace(settings, ascii=True) if ascii_only else settings), problems


def _who_else(path: str, file: Path) -> list[str]:
    """Return as sentences who else can access the database, the settings and the themes."""
    findings = list(paths.findings_on_database(Path(path)))
    for place, what in ((file, "settings"), (file.parent / "themes", "themes")):
        findings += paths.findings_on_settings(place, what) if place.exists() else ()
    return findings


def _other_settings(link: DatabaseLink, file: Path, settings: config.Config) -> list[str]:
    """Return as sentences whose checks and reviewed lists hold, if they are those of another file, and which checks of
    a server this machine cannot run.
    """
    from tui_tasks.core.read import check_queries
    from tui_tasks.core.rules.recorded_settings import other_source
    from tui_tasks.settings.live_settings import source_of

    if link.as_of is not None:
        return []
    with storage_errors(link.path, reading=True):
        other = other_source(link.db, source_of(file))
        lacking = check_queries.not_run_here(link.db, settings.check)
    text = None if other is None else OTHER_SETTINGS.format(other)
    return [line for line in (text, lacking) if line is not None]


def _claim_terminal() -> Claimed | None:
    try:
        return terminal.claim()
    except terminal.NoTerminal as refused:
        print(f"tui-tasks: {refused}", file=sys.stderr)
        return None


def _log_to(fd: int | None, start_of_day: Iterable[object]) -> None:
    """Set up logging, beginning with `start_of_day`; never to the screen: where that is all there is, to nowhere."""
    if fd is None:
        logging.basicConfig(handlers=[logging.NullHandler()])
    else:
        stream = os.fdopen(fd, "w", buffering=1, closefd=False)
        logging.basicConfig(stream=stream, level=logging.WARNING, format="tui-tasks: %(message)s")
    for problem in start_of_day:
        _log.warning("%s", problem)


@contextlib.contextmanager
def _once_painted(
    path: str, waits: Mapping[str, float], *, scheduler: bool, writes: bool
) -> Iterator[Callable[[], None]]:
    """Yield a function to call once the screen is painted: it starts what would delay that."""
    ended = threading.Event()

    def host() -> None:
        from tui_tasks.hooks import follower, screen_presence
        from tui_tasks.runner.checks.check_keeper import Authority
        from tui_tasks.state import hosting

        with (
            hosting.hosted(path, wanted=scheduler, alone=True, authority=Authority.RECORDS),
            follower.following(path, clock.now, wanted=writes),
            hosting.watching(path, clock.now, wanted=writes),
            screen_presence.announced(path, waits) if writes else contextlib.nullcontext(),
        ):
            ended.wait()

    thread = threading.Thread(target=host, name="hosting", daemon=True)

    def painted() -> None:
        # From now on garbage is collected, except the objects created at the start.
        gc.freeze()
        gc.enable()
        if scheduler or writes:
            thread.start()

    try:
        yield painted
    finally:
        ended.set()
        if thread.ident is not None:
            thread.join(STOP_SECONDS)


def _channel(claimed: Claimed, path: str, identity: Identity) -> contextlib.AbstractContextManager[None]:
    """Serve the pipe, if there is one, while the block runs."""
    if claimed.input_fd is None:
        return contextlib.nullcontext()
    return served(path, identity, claimed.input_fd, claimed.output_fd)


@contextlib.contextmanager
def served(path: str, identity: Identity, input_fd: int, output_fd: int | None) -> Iterator[None]:
    """Serve a pipe while the block runs, in a thread with a database connection of its own.

    `output_fd`: None where standard output is the screen: the agent is heard, but hears nothing.
    """
    output = os.open(os.devnull, os.O_WRONLY) if output_fd is None else output_fd
    thread = _ChannelThread(path, identity, input_fd, output)
    thread.start()
    try:
        yield
    finally:
        thread.stop()


class _ChannelThread(threading.Thread):
    def __init__(self, path: str, identity: Identity, input_fd: int, output_fd: int) -> None:
        super().__init__(name="channel", daemon=True)
        self._path = path
        self._identity = identity
        self._fds = input_fd, output_fd
        self._channel: ControlChannel | None = None
        self._ready = threading.Event()

    def run(self) -> None:
        """Serve until the input ends or `stop` is called."""
        # Imported in this thread, since the screen is painted meanwhile.
        from tui_tasks.channel.loop import ControlChannel
        from tui_tasks.dialects.tool_table import TABLE
        from tui_tasks.state.open_store import opened_store, session_for

        try:
            with opened_store(self._path, read_only=self._identity.read_only) as store:
                session = session_for(self._identity, store, TABLE, stays=True)
                self._channel = ControlChannel(session, *self._fds)
                self._ready.set()
                self._channel.run()
        except Exception:  # the screen continues without it
            _log.exception("the channel has ended")
        finally:
            self._ready.set()

    def stop(self) -> None:
        """End the channel after writing ready replies."""
        self._ready.wait(STOP_SECONDS)
        if self._channel is not None:
            self._channel.stop()
        self.join(STOP_SECONDS)


def quitting_lines(path: str) -> list[str]:
    """Return how many agents still run, how many questions wait, and what becomes of permissions that wait.

    There is a line for each that there is, with the command that shows more. The database of a demo has none: nobody
    waits once the demo has ended.
    """
    from tui_tasks.core.store import Store

    if DEMO_FOLDER in path:
        return []
    try:
        with Store(path, read_only=True) as store:
            return [*_running(store.db), *_waiting(store.db, path)]
    except (DatabaseRefused, StorageFailed):
        return []


def _running(db: Database) -> Iterator[str]:
    from tui_tasks.core.read import work_queries

    if number := work_queries.count_running(db):
        agents, them, one = ("agent still runs", "it", "it") if number == 1 else ("agents still run", "them", "one")
        yield f"{number} {agents}: `tui-tasks work ls` lists {them}, `work discard N` ends {one}."


def _waiting(db: Database, path: str) -> Iterator[str]:
    from tui_tasks.core.read import ask_queries
    from tui_tasks.core.unjournaled import local_values

    # A command that asks stands at a terminal of its own.
    asks = [ask for ask in ask_queries.open_asks(db) if ask.agent != SHELL]
    if not asks:
        return
    put_off = local_values.put_off(db, clock.now())
    later = sum(ask.uid in put_off for ask in asks)
    requests = [ask for ask in asks if _is_of_window(db, ask)]
    if len(asks) > len(requests):
        waiting = "1 question waits" if len(asks) - later == 1 else f"{len(asks) - later} questions wait"
        waiting += f", {later} later" * bool(later)
        them, one = ("it", "it") if len(asks) == 1 else ("them", "one")
        yield f"{waiting}: `tui-tasks asks` lists {them}, `asks answer` answers {one}."
    if not requests:
        return
    from tui_tasks.hooks import screen_presence

    number, is_one = len(requests), len(requests) == 1
    # A program also has its own questions.
    word = "permission" if all(ask.is_permission for ask in requests) else "request"
    if len(asks) == len(requests):
        permissions, waits = (f"1 {word} waits", "") if is_one else (f"{number} {word}s wait", "")
    else:
        permissions, waits = (f"1 is a {word}", ", and waits") if is_one else (f"{number} are {word}s", ", and wait")
    if screen_presence.is_open(path):
        yield f"{permissions}{waits} on another screen."
    else:
        asking = "its program asks for it in its" if is_one else "their programs ask for them in their"
        yield f"{permissions}: {asking} own window{'' if is_one else 's'} now."


def _is_of_window(db: Database, ask: Ask) -> bool:
    """Return whether a program asks that has a window: it reports by hooks, and no job has started it."""
    from tui_tasks.core.read import job_queries

    return ask.request is not None and job_queries.job_of_agent(db, ask.agent) is None
