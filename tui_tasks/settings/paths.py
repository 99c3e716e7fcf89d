"""The paths of the program's files (docs: protocol, section 1), and who else can access them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.installation import NAME, default_configuration, default_database, is_replica

if TYPE_CHECKING:
    from pathlib import Path

MAX_SETTINGS_BYTES: Final = 1024 * 1024
"""The size above which a settings file is not read."""

_SERVERS: Final = ("postgresql://", "postgres://")


def database(given: str | None) -> str:
    """Return the path of the database: the given one, else `TUI_TASKS_DB`, else a file in the user's data folder.

    Of the URL of a server this is the path of the replica.

    Raises:
        DatabaseRefused: it is the URL of a database that is no SQLite file, or `~` of an unknown user.
    """
    if given == "":
        # A script's variable may be empty, which must not change another database.
        raise DatabaseRefused("--db is empty: name a file, or leave it out")
    named = given or os.environ.get("TUI_TASKS_DB")
    if not named:
        return default_database()
    if "://" not in named:
        if is_replica(named):
            raise DatabaseRefused(
                f"{named} is a replica: name its server by postgresql://, or rename the file to use it on this machine "
                "alone"
            )
        return expanded(named)
    from urllib.parse import unquote, urlsplit

    if named.startswith(_SERVERS):
        from tui_tasks.postgres.replica_files import replica_of

        return replica_of(named)
    url = urlsplit(named)
    if url.scheme not in ("sqlite", "file") or url.netloc:
        raise DatabaseRefused(f"{url.scheme} databases are not supported: name a file, or sqlite:///PATH")
    return unquote(url.path)


def url_or_path(given: str | None) -> str:
    """Return what names the same database to another process: the URL of a server's, else the path as `database`.

    Raises:
        DatabaseRefused: as `database`.
    """
    named = given or os.environ.get("TUI_TASKS_DB") or ""
    return named if named.startswith(_SERVERS) else database(given)


def configuration() -> Path:
    """Return the path of the configuration file: `TUI_TASKS_CONFIG`, else `config.toml` in the user's configuration
    folder.

    Raises:
        DatabaseRefused: it is `~` of an unknown user.
    """
    from pathlib import Path

    return Path(configuration_path())


def configuration_path() -> str:
    """Return `configuration` as text, for short commands that save the import of `pathlib`."""
    named = os.environ.get("TUI_TASKS_CONFIG")
    return expanded(named) if named else default_configuration()


def expanded(named: str) -> str:
    """Return a path with `~` and `~NAME` replaced by home folders.

    Raises:
        DatabaseRefused: there is no such user, or no folder of theirs.
    """
    path = os.path.expanduser(named)
    if named.startswith("~") and path == named:
        raise DatabaseRefused(f"{named}: no user of that name has a folder here")
    return path


_GROUP, _OTHERS = 0o020, 0o002


def findings_on_database(path: Path) -> Iterator[str]:
    """Yield why others can access a database, one sentence for each reason. It is used all the same; `path` is as it
    was named.
    """
    if path.is_symlink():
        yield f"{path} is a link: whoever can change it can put another database there. Name the file itself"
    yield from _of_others(path, "database")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        yield f"{path} has mode {mode:04o}, so others can reach it: chmod 600 '{path}'"
    # A readable folder is harmless when its files are private; in a sticky one others cannot replace them.
    folder = path.resolve().parent
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & (_GROUP | _OTHERS) and not mode & stat.S_ISVTX:
        yield f"{folder} has mode {mode:04o}, so others can put another database there: chmod go-w '{folder}'"


def findings_on_settings(path: Path, what: str = "settings") -> Iterator[str]:
    """Yield why others can write the settings or their folder, one sentence for each reason."""
    if path.is_symlink():
        yield f"{path} is a link: whoever can change it can put other {what} there"
    yield from _of_others(path, what)
    for place in _places(path):
        mode = stat.S_IMODE(place.stat().st_mode)
        if mode & (_GROUP | _OTHERS):
            yield f"others can write the {what} at {place} (mode {mode:04o}): chmod go-w '{place}'"


def findings_on_private_settings(path: Path) -> Iterator[str]:
    """Yield what `findings_on_settings` does, and why others can read files that are the user's alone."""
    yield from findings_on_settings(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077 and not mode & (_GROUP | _OTHERS):
        yield f"{path} has mode {mode:04o}, so others can read it: chmod 600 '{path}'"
    folder = path.absolute().parent
    mode = stat.S_IMODE(folder.stat().st_mode)
    # Only the program's own folder is checked, not for example a home.
    if folder.name == NAME and mode & 0o077 and not mode & (_GROUP | _OTHERS):
        yield f"{folder} has mode {mode:04o}, so others can look into it: chmod 700 '{folder}'"


def why_not_trusted(path: Path) -> str:
    """Return who else can write settings that name programs to run, for which they must not be used; empty: nobody."""
    for place in _places(path):
        stat_result = place.stat()
        if stat_result.st_mode & _OTHERS and not stat_result.st_mode & stat.S_ISVTX:
            return f"not used: everybody can write {place}; chmod go-w '{place}'"
        if stat_result.st_uid not in (os.getuid(), 0):
            return f"not used: {place} is another user's (id {stat_result.st_uid})"
    return ""


def _of_others(path: Path, what: str) -> Iterator[str]:
    owner = path.stat().st_uid
    if owner not in (os.getuid(), 0):
        yield f"the {what} at {path} are another user's (id {owner}), who can change them"


def _places(path: Path) -> tuple[Path, ...]:
    """Return a file and its folder, as given and with links resolved."""
    return tuple(dict.fromkeys(place for at in (path, path.resolve()) for place in (at, at.absolute().parent)))
