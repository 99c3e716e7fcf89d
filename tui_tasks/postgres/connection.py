"""Connections to a team's server. libpq reads service files, PGPASSFILE and TLS settings, as for every client of it."""

from __future__ import annotations

import re
from typing import Any, Final

import psycopg
from psycopg import conninfo

from tui_tasks.core.errors import DatabaseRefused, StorageFailed

# A cut cable is noticed, and a server that does not answer holds up nobody, for about two seconds.
_LIMITS: Final = {
    "connect_timeout": 2,
    "tcp_user_timeout": 2_000,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "application_name": "tui-tasks",
}
_SESSION: Final = "-c idle_in_transaction_session_timeout=2s -c lock_timeout=2s"


def connect(url: str) -> psycopg.Connection[Any]:
    """Open a connection without transactions of its own.

    Raises:
        DatabaseRefused: the URL is wrong, or has a password.
        StorageFailed: the server cannot be reached, or does not let this role in.
    """
    try:
        return open_connection(url)
    except psycopg.Error as error:
        raise StorageFailed(f"{place(url)}: {first_line(error)}", retryable=True) from None


def open_connection(url: str) -> psycopg.Connection[Any]:
    """As `connect`, with the error of psycopg.

    Raises:
        DatabaseRefused: the URL is wrong, or has a password.
        psycopg.Error: the server cannot be reached, or does not let this role in.
    """
    given = parameters(url)
    limits = {name: value for name, value in _LIMITS.items() if name not in given}
    options = f"{given.pop('options', '')} {_SESSION}".strip()
    fixed = {"options": options, "client_encoding": "utf8"}
    return psycopg.connect(**{**given, **limits, **fixed}, autocommit=True)


def parameters(url: str) -> dict[str, Any]:
    """Return what a URL says.

    Raises:
        DatabaseRefused: it is wrong, or has a password, which everybody could read in the list of processes.
    """
    try:
        options = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # libpq's own message repeats parts of the URL.
        raise DatabaseRefused("the URL of the database is wrong: postgresql://USER@HOST/NAME") from None
    if {"password", "sslpassword"} & options.keys() or "@" in str(options.get("host", "")):
        raise DatabaseRefused(
            "a URL with a password would be seen in the list of processes: put the password into ~/.pgpass, or a "
            "service into ~/.pg_service.conf"
        )
    return {name: value for name, value in options.items() if value is not None}


def place(url: str) -> str:
    """Return how messages name a server's database: without user and password."""
    options = parameters(url)
    if "service" in options:
        return f"the service {options['service']}"
    return f"the database {options.get('dbname', '')} at {options.get('host', 'this machine')}"


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return re.split(r"[\r\n]", str(error).strip())[0] or type(error).__name__
