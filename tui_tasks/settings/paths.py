"""The paths of the program's files (docs: protocol, section 1)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.default_paths import default_configuration, default_database

if TYPE_CHECKING:
    from pathlib import Path

MAX_SETTINGS_BYTES: Final = 1024 * 1024
"""The size above which a settings file is not read."""


def database(given: str | None) -> str:
    """Return the path of the database: the given one, else `TUI_TASKS_DB`, else a file in the user's data folder.

    Raises:
        DatabaseRefused: it is the URL of a database that is no SQLite file, or `~` of an unknown user.
    """
    named = given or os.environ.get("TUI_TASKS_DB")
    if not named:
        return default_database()
    if "://" not in named:
        return expanded(named)
    from urllib.parse import unquote, urlsplit

    url = urlsplit(named)
    if url.scheme not in ("sqlite", "file") or url.netloc:
        raise DatabaseRefused(f"{url.scheme} databases are not supported: name a file, or sqlite:///PATH")
    return unquote(url.path)


def configuration() -> Path:
    """Return the path of the configuration file: `TUI_TASKS_CONFIG`, else `config.toml` in the user's configuration
    folder.

    Raises:
        DatabaseRefused: it is `~` of an unknown user.
    """
    from pathlib import Path

    return Path(configuration_path())


def configuration_path() -> str:
    """Return the same as text, for short commands that save the import of `pathlib`."""
    named = os.environ.get("TUI_TASKS_CONFIG")
    return expanded(named) if named else default_configuration()


def expanded(named: str) -> str:
    """Return a path with `~` and `~NAME` replaced by home folders.

    Raises:
        DatabaseRefused: there is no such user, or no folder of theirs.
    """
    found = os.path.expanduser(named)
    if named.startswith("~") and found == named:
        raise DatabaseRefused(f"{named}: no user of that name has a folder here")
    return found
