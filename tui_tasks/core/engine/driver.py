"""Choose the SQLite driver, one that brings its own SQLite whatever the system has, and prepare its connections, with
the busy timeout (`BUSY_SECONDS`).

pysqlite3 is used where it is installed, else apsw, which has wheels where pysqlite3 has none (pip compiles pysqlite3
there against the system's SQLite). Python's own driver is the last resort.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, NamedTuple

from tui_tasks.core.errors import Busy, DatabaseRefused, StorageFailed

__all__ = ["connect", "driver_name", "library_version", "refuse_faulty_library", "sqlite3", "without_modules"]

_MODULES: Final = {
    "pysqlite3": "pysqlite3.dbapi2",
    "apsw": "tui_tasks.core.engine.apsw_driver",
    "sqlite3": "sqlite3",
}
DRIVER: Final = "TUI_TASKS_SQLITE_DRIVER"
"""Names the one driver to use, so that tests can run on each."""


@contextlib.contextmanager
def without_modules(*names: str) -> Iterator[None]:
    """Hide modules while another that would import them is imported, unless they are loaded already."""
    hidden = [name for name in names if name not in sys.modules]
    # None in sys.modules makes an import fail.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


class Driver(NamedTuple):
    """A driver and its module, or the reason why it cannot be used."""

    name: str
    module: Any
    problem: str = ""


def is_faulty(version: tuple[int, ...]) -> bool:
    """Return whether an SQLite has the WAL-reset bug, which can lose commits (fixed in 3.44.6, 3.50.7 and 3.51.3)."""
    return not (version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0))


def _load(name: str) -> Driver:
    try:
        return Driver(name, import_module(_MODULES[name]))
    except ModuleNotFoundError:
        return Driver(name, None, f"{name} is not installed")
    except (ImportError, AttributeError) as error:  # its shared library is missing, or its release is too old
        return Driver(name, None, f"{name} is installed and cannot be loaded ({error})")


def _choose(names: list[str]) -> tuple[Driver, list[Driver]]:
    """Return the first driver whose SQLite is sound, else the first that loads; and all that were tried."""
    tried = []
    for name in names:
        driver = _load(name)
        tried.append(driver)
        if driver.module is not None and not is_faulty(driver.module.sqlite_version_info):
            return driver, tried
    loaded = [driver for driver in tried if driver.module is not None]
    if not loaded:
        raise DatabaseRefused(refusal(tried))
    return loaded[0], tried


def refusal(tried: list[Driver]) -> str:
    """Return the message that tells what is wrong with each driver, and what to install."""
    problems = "; ".join(driver.problem or _linked(driver) for driver in tried)
    why = "there is no SQLite driver here that can be loaded"
    if any(driver.module is not None for driver in tried):
        why = "every SQLite here can lose commits when several processes write (the WAL-reset bug, fixed in 3.51.3)"
    return (
        f"{why}: {problems}. Install a driver that brings its own: "
        f"{sys.executable} -m pip install --upgrade --only-binary apsw 'apsw>=3.51.3'"
    )


def _linked(driver: Driver) -> str:
    version = ".".join(map(str, driver.module.sqlite_version_info))
    if driver.name == "sqlite3":
        return f"Python's own is linked to SQLite {version}"
    return f"{driver.name} is installed and linked to SQLite {version}"


_only = os.environ.get(DRIVER)
if _only and _only not in _MODULES:
    raise DatabaseRefused(f"{DRIVER}={_only}: no such driver; set one of {', '.join(_MODULES)}, or unset it")
_driver, _tried = _choose([_only] if _only else list(_MODULES))
sqlite3: Any = _driver.module
driver_name: Final = _driver.name


def connect(database: str | os.PathLike[str], *, timeout: float = 5.0, uri: bool = False) -> Any:
    """Open a database with the chosen driver; transactions begin only where a statement begins them.

    Args:
        timeout: seconds to wait for the locks of others.
        uri: `database` is a URI.
    """
    return sqlite3.connect(os.fspath(database), timeout=timeout, isolation_level=None, uri=uri, cached_statements=512)


def library_version() -> str:
    """Return the version of SQLite in use."""
    return str(sqlite3.sqlite_version)


def refuse_faulty_library() -> None:
    """Refuse an SQLite that can lose commits.

    Raises:
        DatabaseRefused: every driver that is installed has one.
    """
    if is_faulty(sqlite3.sqlite_version_info):
        raise DatabaseRefused(refusal(_tried))


# Translate the errors of SQLite into refusals of the channel (docs: protocol, section 3).


BUSY_SECONDS: Final = 5.0
"""The busy timeout: a writer waits so long for others."""

READ_ERRORS: Final = (StorageFailed, sqlite3.DatabaseError)
"""Raised where the database cannot be read; SQLite's own error where `storage_errors` does not translate it."""

_RETRYABLE: Final = ("full", "locked", "busy", "I/O", "readonly", "unable to open")


class storage_errors:
    """Translates errors of SQLite in a block; `reading`: nothing was to be written.

    A class, not a generator: it surrounds each transaction, and enters and leaves a block in half the calls.

    Raises:
        Busy: another connection held a lock for 5 s.
        StorageFailed: the database cannot be read or written.
    """

    __slots__ = ("_path", "_reading")

    def __init__(self, path: str, *, reading: bool = False) -> None:
        self._path, self._reading = path, reading

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and is_storage_error(error):
            raise _refusal(error, self._path, reading=self._reading) from error


def _refusal(error: BaseException, path: str, *, reading: bool) -> StorageFailed:
    """Return the refusal that tells what SQLite's error means for the database at a path."""
    text = str(error)
    if is_busy(error):
        return Busy(f"another process has held {path} for {BUSY_SECONDS:g} s; try again")
    if any(words in text for words in ("malformed", "JSON", "user-defined function")):
        # SQLite reports an unreadable disk as damage as well. JSON and functions fail on values of another type.
        text = "the database is damaged, or its disk cannot be read: see tui-tasks doctor"
    retryable = any(word in text for word in _RETRYABLE)
    if "readonly" in text:
        text = "you may not write to it or to its folder"
    # A copy made while reading may find its own disk full.
    is_read = reading and "full" not in text
    message = f"{path} cannot be read: {text}" if is_read else f"{path}: {text}; nothing was written"
    return StorageFailed(message, retryable=retryable)


def is_storage_error(error: BaseException) -> bool:
    """Return whether SQLite could not read or write; a broken constraint is a defect of this program instead."""
    return isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError)


def is_busy(error: BaseException) -> bool:
    """Return whether another connection holds a lock that was needed."""
    return any(word in str(error) for word in ("locked", "busy"))


def write_ahead(connection: Any) -> None:
    """Switch to a write-ahead log; wait for others who do so at the same moment, which SQLite does not.

    Raises:
        sqlite3.OperationalError: it is locked for longer than 5 s, or cannot be written.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = wal")
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.002)


def needs_opening(error: BaseException) -> bool:
    """Return whether only a new connection may work: one that could not write when it was opened never can.

    The error of SQLite may be the cause of the one that is given.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, sqlite3.Error):
        cause = cause.__cause__
    return cause is not None and not is_busy(cause) and "full" not in str(cause)


def close_without_checkpoint(connection: Any) -> None:
    """Close a connection without a checkpoint, which would write a log that is not the file's own or is not whole."""
    if hasattr(connection, "setconfig"):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        connection.close()
        return
    # pysqlite3 has no such setting: the connection is leaked, and ends with the process.
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def overwrite_log_end(connection: Any) -> None:
    """Write a transaction without effect over the end of the write-ahead log.

    A commit whose sync failed stands there whole, and would come back after a crash before the next commit.
    """
    with contextlib.suppress(sqlite3.Error):
        connection.execute("BEGIN IMMEDIATE")
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def prepare(connection: Any, *, read_only: bool) -> None:
    """Set a new connection's pragmas, and give it the functions that the program's SQL calls."""
    for name, value in _pragmas(read_only):
        connection.execute(f"PRAGMA {name} = {value}")
    connection.create_function("casefold", 1, _casefold, deterministic=True)
    connection.create_function("has_tag", 2, _has_tag, deterministic=True)


def _casefold(text: str | None) -> str | None:
    """Fold case for all of Unicode; SQLite's lower() folds ASCII alone."""
    return None if text is None else text.casefold()


def _has_tag(tags: str, tag: str) -> bool:
    import json

    return tag in json.loads(tags)


# Half a megabyte of cache for each connection: the system caches the file as well, once for all processes.
_CACHE: Final = -500
# Pages between checkpoints (16 MiB): each checkpoint copies the pages that every commit changes, so few are better.
CHECKPOINT: Final = 4_000
# Bytes to which a log is cut at its next start, where one large change has made it longer.
LOG_STAYS: Final = 64 << 20


def _pragmas(read_only: bool) -> list[tuple[str, Any]]:
    if read_only:
        return [("query_only", 1), ("cache_size", _CACHE)]
    return [
        ("synchronous", "full"),
        ("foreign_keys", 0),
        ("cache_size", _CACHE),
        ("wal_autocheckpoint", CHECKPOINT),
        ("journal_size_limit", LOG_STAYS),
        # On macOS fsync does not flush the drive's cache. Elsewhere these two change nothing.
        ("fullfsync", 1),
        ("checkpoint_fullfsync", 1),
    ]
