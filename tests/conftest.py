"""What tests of every layer share: a clock that stands still, a database of one's own, a conversation on it."""

import compileall
import contextlib
import gc
import json
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.assertion import rewrite
from hypothesis import Phase, settings

import tui_tasks
from tests.on_server import IS_ON_SERVER, path_of
from tests.started import ending_what_is_started, hear_signals
from tui_tasks.channel.session import Session
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import TABLE

SECOND = 1_000_000
START = 1_767_352_934 * SECOND  # 2026-01-02T11:22:14Z

MEMORY = "/dev/shm"
MEMORY_NEEDED = 2 << 30

# pytest --hypothesis-profile=long --timeout=0: the same machines, many times longer. Shrinking would take minutes.
_ALWAYS = {"deadline": None, "print_blob": True, "phases": [Phase.explicit, Phase.reuse, Phase.generate]}
settings.register_profile("ordinary", derandomize=True, **_ALWAYS)
settings.register_profile("long", max_examples=500, stateful_step_count=50, **_ALWAYS)
settings.load_profile("ordinary")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--agents", metavar="FOLDER", help="run agent programs that npm has installed there")
    parser.addoption("--browser", action="store_true", help="look at the screen in a headless Chromium")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the program and its tests once: where no bytecode may be written, each of hundreds of processes would."""
    gc.disable()
    hear_signals()
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(tui_tasks.__path__[0], quiet=1)
        if _has_memory_for_folders():
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Prepare what is the same for all workers, which start after this."""
    config = session.config
    if config.getoption("numprocesses", 0) and not hasattr(config, "workerinput"):
        _prepare_workers(config)


def _prepare_workers(config: pytest.Config) -> None:
    """Do for a fresh clone what else each worker does at the same time, for every test; half of it in a process beside.

    What that one leaves undone, because it fails, the workers do.
    """
    files = [file for folder in (Path(__file__).parent, *tui_tasks.__path__) for file in Path(folder).rglob("*.py")]
    beside = os.fork()
    if beside == 0:
        try:
            _prepare(config, files[1::2])
        finally:
            os._exit(0)
    _prepare(config, files[::2])
    os.waitpid(beside, 0)


def _prepare(config: pytest.Config, files: list[Path]) -> None:
    """Rewrite the assertions of tests, and find the constants that Hypothesis tries."""
    with contextlib.suppress(ImportError):  # another version has it elsewhere
        from hypothesis.internal.constants_ast import constants_from_module

        for file in files:
            module = ModuleType(file.stem)
            module.__file__ = str(file)
            constants_from_module(module)
    if config.getoption("assertmode") != "rewrite":
        return
    state = config.stash[rewrite.assertstate_key]
    for file in files:
        if not file.name.startswith(("test_", "conftest.")):
            continue
        compiled = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(file, compiled) is None and rewrite.try_makedirs(compiled.parent):
            read, code = rewrite._rewrite_test(file, config)
            rewrite._write_pyc(state, code, read, compiled)


def _has_memory_for_folders() -> bool:
    """Whether the folders of tests can be in memory: there is room for them, and programs can be started there."""
    try:
        memory = os.statvfs(MEMORY)
    except OSError:
        return False
    free = memory.f_bavail * memory.f_frsize
    return free >= MEMORY_NEEDED and not memory.f_flag & os.ST_NOEXEC and os.access(MEMORY, os.W_OK)


def pytest_collection_finish() -> None:
    """Look for garbage less often, and never among what was imported: that took a sixth of the time of screen tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Look for garbage once at the end: pytest would five times, each time among all that was imported."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, which would go on alone at the end; skip what is Linux's own on other systems."""
    items.sort(key=lambda item: item.path.name != "test_promises.py")
    if sys.platform == "linux":
        return
    for item in items:
        if item.get_closest_marker("linux"):
            item.add_marker(pytest.mark.skip(reason="it is Linux's own"))


class Clock:
    """Microseconds since the epoch, moved by hand."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def forward(self, seconds: float) -> int:
        self.now += int(seconds * SECOND)
        return self.now


class Talk:
    """A conversation without a pipe: values in, decoded replies out."""

    def __init__(self, store: Store, clock: Clock, **identity: object) -> None:
        self.store = store
        self.clock = clock
        self.session = Session(store, TABLE, Identity(**identity), clock)

    def lines(self, *values: object) -> list:
        """Lines that came together; the replies that can be given now."""
        return [json.loads(line) for line in self.session.answer(list(values))]

    def one(self, value: object) -> object:
        (reply,) = (json.loads(line) for line in self.session.answer([value]))
        return reply

    def ask(self, tool: str, envelope: dict | None = None, /, **arguments: object) -> dict:
        """The reply to one request."""
        return self.one({"id": "?", "tool": tool, "arguments": arguments, **(envelope or {})})

    def ok(self, tool: str, envelope: dict | None = None, /, **arguments: object):
        """The result of a request that must be served."""
        reply = self.ask(tool, envelope, **arguments)
        assert reply["ok"], reply
        return reply["result"]

    def refused(self, tool: str, envelope: dict | None = None, /, **arguments: object) -> dict:
        """The error of a request that must be refused."""
        reply = self.ask(tool, envelope, **arguments)
        assert not reply["ok"], reply
        return reply["error"]

    def events(self) -> list[dict]:
        return [json.loads(line) for line in self.session.subscription.events(blocked=False)]

    def seq(self) -> int:
        """The seq of the state, which every reply has; `control:hello` would describe all tools, too."""
        return self.ask("control:lists")["seq"]


@pytest.fixture(autouse=True)
def _ending_what_is_started():
    with ending_what_is_started():
        yield


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test's database is, or will be."""
    named = tmp_path / "state" / "tasks.db"
    if IS_ON_SERVER:
        named.parent.mkdir(mode=0o700)
    return Path(path_of(str(named)))


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database, which tests copy: to make one takes ten times as long as to copy it."""
    made = tmp_path_factory.mktemp("empty") / "tasks.db"
    Store(str(made)).close()
    return made


@pytest.fixture
def store(path: Path, empty_database: Path):
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if not IS_ON_SERVER:
        shutil.copy(empty_database, path)
    with Store(str(path)) as opened:
        yield opened


@pytest.fixture
def talk(store: Store, clock: Clock) -> Talk:
    return Talk(store, clock)


@pytest.fixture
def other(path: Path, store: Store, clock: Clock):
    """Another process's conversation on the same database: a connection of its own."""
    with Store(str(path)) as second:
        yield Talk(second, clock, agent="other")


def pytest_xdist_auto_num_workers() -> int:
    """How many tests run at a time: twice as many as there are processors, since many wait for other processes."""
    return 2 * (os.cpu_count() or 1)
