from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import textual._animator
import textual.app
import textual.pilot
import textual.screen
import textual.timer

from tests.checks import Checks
from tests.tui import idle, textual_caches
from tests.tui.evening import Jobs, with_agents
from tests.tui.plan import NOW, ZONE, Plan
from tests.tui.proven import name_of
from tests.tui.work.reviewing import make_keys_repository
from tests.work import repositories
from tests.work.repositories import Place
from tui_tasks.core.engine import commit_watch
from tui_tasks.core.operations.jobs import NamedCheck
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.store import Store
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.asks import answer_keys
from tui_tasks.tui.inbox import rows_and_detail
from tui_tasks.tui.keys import key_queue
from tui_tasks.tui.state import database_link
from tui_tasks.tui.state.context import LastInput
from tui_tasks.tui.state.database_link import DatabaseLink, Work, Writer
from tui_tasks.tui.tasks import task_guards


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person may have set changes every picture."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "COLORTERM", "EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _going_on_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test go on as soon as all that it has set to work is done."""
    put = Writer.put

    def noted(writer: Writer, work: Work) -> Future[Any]:
        future = put(writer, work)
        with contextlib.suppress(RuntimeError):  # no loop is running: a screen that ends
            loop = asyncio.get_running_loop()
            if isinstance(loop, idle.IdleLoop):
                loop.begin(future)
        return future

    monkeypatch.setattr(Writer, "put", noted)
    for module in (textual.app, textual.pilot):
        monkeypatch.setattr(module, "wait_for_idle", idle.wait_for_idle)
    monkeypatch.setattr(textual.pilot.Pilot, "_wait_for_screen", idle.wait_for_screen)
    monkeypatch.setattr(textual.app.App, "_press_keys", idle.press_keys)
    # What is due by these clocks is a timer of the loop.
    for module in (textual.timer, textual._animator):
        monkeypatch.setattr(module, "_time", SimpleNamespace(get_time=idle.monotonic))
    for module in (commit_watch, database_link):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=idle.monotonic))
    # Seconds from a change to its painting.
    monkeypatch.setattr(textual.screen, "UPDATE_PERIOD", 0.001)


@pytest.fixture(scope="session")
def closer() -> Iterator[Executor]:
    """A thread that closes what takes long to close."""
    with ThreadPoolExecutor(1) as thread:
        yield thread


@pytest.fixture(autouse=True)
def _closing_beside(monkeypatch: pytest.MonkeyPatch, closer: Executor) -> None:
    """Let no test wait until the kernel has ended a watch: 9 ms, which each screen would take at its end."""
    close = commit_watch._Inotify.close
    monkeypatch.setattr(commit_watch._Inotify, "close", lambda events: closer.submit(close, events))


@pytest.fixture(autouse=True)
def _looking_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    textual_caches.use(monkeypatch)


@pytest.fixture
def holding_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pilot not wait for threads, which the test holds up."""
    monkeypatch.setattr(idle, "thread_seconds", 0.0)


@pytest.fixture(scope="session")
def first_plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The plan that tests copy: it takes some forty commits."""
    return Plan(tmp_path_factory.mktemp("plan") / "auth.db")


@pytest.fixture(scope="session")
def first_jobs(first_plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    """The jobs that tests copy: they take some hundred commits."""
    return Jobs(first_plan.copied(tmp_path_factory.mktemp("jobs") / "auth.db"))


@pytest.fixture(scope="session")
def first_evening(first_plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The plan with agents and jobs."""
    made = with_agents(first_plan.copied(tmp_path_factory.mktemp("evening") / "auth.db"))
    Jobs(made)
    return made


@pytest.fixture(scope="session")
def first_keys(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Place]:
    """The repository of a branch that tests copy: it takes eleven processes of git."""
    return functools.cache(lambda branch: make_keys_repository(tmp_path_factory.mktemp("keys"), branch))


@pytest.fixture
def keys_repository(first_keys: Callable[[str], Place], tmp_path: Path) -> Callable[[str], Place]:
    """Make a repository whose worktree has a branch with two commits, and a file that is not committed."""
    return lambda branch: repositories.copy(first_keys(branch), tmp_path / "git")


@pytest.fixture
def evening(first_evening: Plan, tmp_path: Path) -> Plan:
    """A Saturday evening: nine tasks, five jobs, two questions."""
    return first_evening.copied(tmp_path / "auth.db")


@pytest.fixture
def plan(first_plan: Plan, tmp_path: Path) -> Plan:
    return first_plan.copied(tmp_path / "auth.db")


@pytest.fixture
def jobs(first_jobs: Jobs, plan: Plan) -> Jobs:
    """The jobs of an evening, beside the plan."""
    return first_jobs.copied(plan)


@pytest.fixture
def make_app() -> Callable[..., TaskApp]:
    """Make an App whose clock stands still at `NOW`."""

    def make(path: str | Path, *, read_only: bool = False, **options: object) -> TaskApp:
        bridge = DatabaseLink(str(path), read_only=read_only, clock=lambda: NOW)
        return TaskApp(bridge, zone=ZONE, **options)

    return make


@pytest.fixture
def app(plan: Plan, make_app: Callable[..., TaskApp]) -> TaskApp:
    """The screen on the plan."""
    return make_app(plan.path)


@pytest.fixture
def agent(plan: Plan) -> Iterator[Callable[..., list[Any]]]:
    """What another process commits, on a connection of its own."""
    with Store(plan.path) as store:
        yield lambda *operations: store.commit(*operations, actor="claude-1", now=NOW)


@pytest.fixture
def checks(plan: Plan) -> Iterator[Checks]:
    """Two checks of the plan's tasks: one that has them all, and one that has none."""
    named = (NamedCheck("tests", "1", lists=(plan.list_uid, name_of(plan))), NamedCheck("lint", "1"))
    with Store(plan.path) as store:
        yield Checks(store, lambda: NOW, *named)


@pytest.fixture
def report(checks: Checks) -> Callable[..., None]:
    """Let an agent report tasks done, and their checks end so."""

    def reported(uid: str, outcome: str = "", output: str = "", actor: str = "claude-1") -> None:
        done = EditTask(uid, {"status": "done"})
        checks.store.commit(done, actor=actor, now=NOW - 60_000_000)
        if outcome:
            checks.run(outcome, exit_code=int(outcome == "failed"), output=output)

    return reported


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine on a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    idle.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def _read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is on screen be answered at once: a test presses keys faster than a person reads.

    Tests of the time itself are in `test_reading.py`.
    """
    monkeypatch.setattr(answer_keys, "READ_SECONDS", -math.inf)


@pytest.fixture(autouse=True)
def _typing_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no time pass between two keys, however busy the machine is, unless a test sets `key_queue.clock`."""
    monkeypatch.setattr(key_queue, "monotonic", lambda: 0.0)


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch, _read_at_once: None) -> list[float]:
    """The seconds of the clock that counts how long something has stood on screen."""
    now = [1_000.0]
    for module in (answer_keys, rows_and_detail, task_guards):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(answer_keys, "READ_SECONDS", 0.5)
    return now


@pytest.fixture
def pressed_now(monkeypatch: pytest.MonkeyPatch, seconds: list[float]) -> None:
    """Let keys be pressed at these seconds."""
    monkeypatch.setattr(LastInput, "at", property(lambda _: seconds[0], lambda *_: None))
