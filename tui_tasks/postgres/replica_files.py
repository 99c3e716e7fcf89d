"""Where a machine keeps its replicas: a file for each server's journal, found by the URL without a connection."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Final

from tui_tasks.core.engine.private_files import make_folder
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.default_paths import REPLICA, default_state_folder

SCHEMES: Final = ("postgresql", "postgres")


def is_server(named: str) -> bool:
    """Return whether a database is named by the URL of a server."""
    return named.partition("://")[0] in SCHEMES


def replica_of(url: str) -> str:
    """Return the path of this machine's replica of a server's journal; at the first use the server is asked for its id.

    Raises:
        DatabaseRefused: the URL has a password, or the server cannot be reached or used.
    """
    folder = Path(default_state_folder()) / "replicas"
    known = folder / f"url-{hashlib.sha256(url.encode()).hexdigest()[:32]}"
    try:
        return str(folder / f"{known.read_text()}{REPLICA}")
    except FileNotFoundError:
        pass
    # Only now: importing psycopg takes longer than a short command.
    try:
        from tui_tasks.postgres.journal_client import server_id
    except ImportError:
        raise DatabaseRefused(
            "a database on a server needs the extra `postgres`: pip install 'tui-tasks[postgres]'"
        ) from None

    found = server_id(url)
    make_folder(str(folder))
    path = str(folder / f"{found}{REPLICA}")
    _write(Path(f"{path}-server"), json.dumps({"url": url, "id": found}))
    _write(known, found)
    return path


def _write(path: Path, text: str) -> None:
    """Write a file whole: others see the old one or the new one."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text)
    part.chmod(0o600)
    part.replace(path)


def server_of(path: str) -> tuple[str, str]:
    """Return URL and id of the server whose journal a replica holds.

    Raises:
        DatabaseRefused: the file beside the replica that has them is missing.
    """
    try:
        held = json.loads(Path(f"{path}-server").read_text())
        return held["url"], held["id"]
    except (OSError, ValueError, KeyError):
        raise DatabaseRefused(
            f"{path} is a replica, and {path}-server, which names its server, is missing: open it by the server's URL, "
            "or rename the replica to use it as one machine's database"
        ) from None
