"""Where a machine keeps its replicas: a file for each journal, found by URL without a connection; how old one is."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from pathlib import Path

from tui_tasks.core.engine.file_writes import make_folder, replace
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.installation import REPLICA, known_replica, replica_pointer


def replica_of(url: str) -> str:
    """Return the path of this machine's replica of a server's journal; at the first use the server is asked for its id.

    Raises:
        DatabaseRefused: the URL has a password, or the server cannot be reached or used.
    """
    if (path := known_replica(url)) is not None:
        return path
    # Only now: importing psycopg takes longer than a short command.
    try:
        from tui_tasks.postgres.team_server import server_id
    except ImportError:
        raise DatabaseRefused(
            "a database on a server needs the extra `postgres`: pip install 'tui-tasks[postgres]'"
        ) from None

    id_, known = server_id(url), Path(replica_pointer(url))
    folder = known.parent
    make_folder(str(folder))
    path = str(folder / f"{id_}{REPLICA}")
    replace(Path(f"{path}-server"), json.dumps({"url": url, "id": id_}).encode())
    replace(known, id_.encode())
    return path


def this_machine() -> str:
    """Return the id of this machine, for the replicas of this user."""
    folder = Path(replica_pointer("")).parent
    make_folder(str(folder))
    return machine_in(folder)


def machine_in(folder: Path) -> str:
    """Return the id of this machine, whose replicas are in a folder; it begins with the host's first name.

    It stays when replicas are deleted. A folder that was copied to another host is another machine.
    """
    file = folder / "machine"
    if not file.exists():
        part = file.with_name(f"machine.{os.getpid()}")
        name = re.sub("[^a-z0-9-]", "", os.uname().nodename.lower())[:20] or "host"
        replace(part, f"{name} {os.urandom(16).hex()}".encode())
        # Of several processes the first one names it.
        with contextlib.suppress(FileExistsError):
            os.link(part, file)
        part.unlink()
    name, secret = file.read_text().split()
    with contextlib.suppress(OSError):
        secret += Path("/etc/machine-id").read_text().strip()
    return f"{name}-{hashlib.sha256(secret.encode()).hexdigest()[:8]}"


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
            f"{path} is a replica, and {path}-server, which names its server, is missing. Open the server's URL, "
            "or rename the replica to use it as this machine's database"
        ) from None


def note_contact(path: str) -> None:
    """Note that a replica is now as new as its server."""
    Path(f"{path}-heard").touch(mode=0o600)


def age_of(path: str) -> float | None:
    """Return the seconds since a replica was last as new as the server; None if it never was, or is not there."""
    try:
        return max(0.0, time.time() - Path(f"{path}-heard").stat().st_mtime) if Path(path).exists() else None
    except FileNotFoundError:
        return None
