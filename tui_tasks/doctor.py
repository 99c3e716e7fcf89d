"""`doctor`: what may be wrong with the database, its file, the clock and the settings, and what to do about it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from tui_tasks import config
from tui_tasks.core import backup, journal
from tui_tasks.core.database import Database, library_version, storage_errors
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.store import Store

# A clock that is behind the newest entry by less than this has drifted, which happens.
DRIFT = 2_000_000


def findings(store: Store, settings: Path, now: int) -> Iterator[str]:
    """Each thing that is wrong, a sentence or two; nothing when all is well. `now` is microseconds, UTC."""
    damage = list(backup.findings(store.db))
    yield from damage
    yield from _permissions(Path(store.path))
    if not damage:
        yield from _clock(store.db, now)
    yield from map(str, config.load(settings)[1])
    if settings.exists():
        yield from _writable(settings, "settings")


def summary(store: Store) -> str:
    """What was looked at."""
    try:
        with storage_errors(store.path):
            entries = f"{journal.newest(store.db):,} journal entries"
    except StorageFailed:
        entries = "a journal that cannot be read"
    return f"{store.path}: {entries}, SQLite {library_version()}"


def _permissions(path: Path) -> Iterator[str]:
    if path.is_symlink():
        yield f"{path} is a link: whoever can change it can put another database there. Name the file itself"
    for place, wanted in ((path, 0o600), (path.absolute().parent, 0o700)):
        mode = stat.S_IMODE(place.stat().st_mode)
        if mode & 0o077 & ~(0o055 if place != path and not mode & 0o022 else 0):
            yield f"{place} has mode {mode:04o}, so others can reach it: chmod {wanted:o} '{place}'"


def _writable(path: Path, what: str) -> Iterator[str]:
    for place in (path, path.absolute().parent):
        mode = stat.S_IMODE(place.stat().st_mode)
        if mode & 0o022:
            yield f"others can write the {what} at {place} (mode {mode:04o}): chmod go-w '{place}'"


def _clock(db: Database, now: int) -> Iterator[str]:
    for entry in journal.latest(db, 1):
        if entry.at - now > DRIFT:
            behind = timedelta(microseconds=entry.at - now)
            yield f"the clock is {behind} behind the newest entry: set it right, or ages and schedules will be wrong"
