"""Machines that share a server: each is a state folder here."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from hashlib import sha256

from tests import fork_server
from tests.contract.client import ROOT
from tests.started import DEADLINE
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.schema.tables import STATE
from tui_tasks.state.open_state import State


def names(state: State) -> list[str]:
    state._session.store.db.catch_up()
    return [task["name"] for task in state.tasks("tasklist")]


def digest(path: str) -> str:
    """The hash of the tables of the state, and of the journal."""
    # By the program's own SQLite: a second one in this process would drop its locks when it closes the file.
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = [db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in (*STATE, "journal")]
    return sha256(repr(rows).encode()).hexdigest()


def run(*words: str, **named: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tui_tasks", *words]
    return fork_server.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=DEADLINE, **named)
